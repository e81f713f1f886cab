"""`stepformer translate`: English in, Chinese out."""

import argparse
import itertools
import math
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from stepformer.cli import _drawing
from stepformer.cli._common import InputError, UsageError, open_input, print_json, visible, write_utf8

if TYPE_CHECKING:
    from stepformer.translator import Translation, Translator

LONGEST_LINE = 2**20
"""Bytes; what is longer is no sentence, and is not even held in memory."""
LINES_AT_A_TIME = 64
DIRECTION_MARKS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
WIDEST = 1000
"""The most sentences that are kept or drawn at a time: what is larger would fill the memory."""
DEFAULT_BEAM = 4
"""Of a search that is to return several sentences."""


class Line(NamedTuple):
    """One text that is to be translated: where it stands, and why it can not be, or ""."""

    place: str
    text: str
    problem: str = ""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command.

    Args:
        commands: where to.
    """
    parser = commands.add_parser(
        "translate",
        help="translate sentences with a trained model",
        description="Translate sentences with a trained model. Each text, or each line, is one sentence and gives one "
        "line; what the model does not know is named on standard error.",
        epilog="examples:\n"
        '  stepformer translate "Tom chases Jerry."\n'
        '  stepformer translate "Tom chases Jerry." --alignment --n-best 3 --scores\n'
        "  stepformer translate - < english.txt > chinese.txt\n"
        "  stepformer translate --file english.txt --json\n"
        '  stepformer translate "The cat is sleeping." --sample --temperature 1.5 --seed 7\n\n'
        "The package's models know the words of the grammar only (stepformer data grammar shows some sentences), and\n"
        "each sentence with its full stop or question mark: without one they often say everything twice.\n\n"
        "exit codes: 0 all well, unknown words included; 1 the model or the file can not be read; 2 wrong usage, or a\n"
        "line that could not be read as it is: no UTF-8, too long, control characters, unknown signs. Such a line is\n"
        "named on standard error, gives an empty line if nothing of it can be read, and the others are translated.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="a sentence; - reads standard input, line by line")
    parser.add_argument("--file", metavar="FILE", help="read sentences from a file, line by line; UTF-8")
    parser.add_argument(
        "--model",
        default="small",
        metavar="MODEL",
        help="the folder of a model, or small, base, gru or gru_attention (default: small)",
    )
    parser.add_argument("--beam", type=_width, metavar="N",
                        help="beam size; 1 is greedy search (default: 1; with --n-best, at least 4)")  # fmt: skip
    parser.add_argument("--length-penalty", type=_penalty, metavar="A",
                        help="0 compares mere probabilities, more favours long sentences (default: 0.6)")  # fmt: skip
    parser.add_argument("--n-best", type=_width, default=1, metavar="N",
                        help="print N sentences, a line each: place, rank, text")  # fmt: skip
    parser.add_argument("--scores", action="store_true",
                        help="print each logarithm of the probability; ranks weigh the length too")  # fmt: skip
    parser.add_argument("--alignment", action="store_true", help="draw where the model looked as it wrote each word")
    parser.add_argument("--max-len", type=_whole, metavar="N", help="write at most N words, the end mark included")
    parser.add_argument("--sample", action="store_true", help="draw the words by their probabilities")
    parser.add_argument("--temperature", type=_positive, metavar="T", help="below 1 surer, above 1 wilder (default: 1)")
    parser.add_argument("--top-k", type=_whole, metavar="K", help="draw among the K most probable words")
    parser.add_argument("--top-p", type=_share, metavar="P",
                        help="draw among the words that together have probability P")  # fmt: skip
    parser.add_argument("--seed", type=int, metavar="N",
                        help="of the drawing: the same seed draws the same (default: 0)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.set_defaults(run=_translate)


def _translate(options: argparse.Namespace) -> int:
    settings = _settings(options)
    # What is wrong with the options is said before torch is loaded.
    from stepformer.checkpoint import CheckpointError
    from stepformer.translator import Translator

    write_utf8()
    try:
        translator = Translator.load(options.model)
    except CheckpointError as error:
        raise InputError(str(error)) from None
    if options.alignment and not any("cross_attention" in name for name, _ in translator.model.named_modules()):
        told = "--alignment: the model has no cross-attention, so there is nothing to draw"
        print(f"stepformer translate: {told}", file=sys.stderr)
    is_whole = True
    for lines in _chunks(_lines(options)):
        is_whole &= _translate_some(translator, lines, options, settings)
        sys.stdout.flush()
    return 0 if is_whole else 2


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """What `Translator.translate` is called with."""
    if not options.texts and options.file is None:
        raise UsageError("translate: give a text, - for standard input, or --file FILE.")
    if options.texts and options.file is not None:
        raise UsageError("translate: texts and --file do not go together; give one of them.")
    if "-" in options.texts and len(options.texts) > 1:
        raise UsageError("translate: - stands alone: either texts, or lines of standard input.")
    given = {name: getattr(options, name) for name in ("temperature", "top_k", "top_p", "seed")}
    drawing = {name: value for name, value in given.items() if value is not None}
    if drawing and not options.sample:
        flags = ", ".join("--" + name.replace("_", "-") for name in drawing)
        raise UsageError(f"translate: {flags} belongs to --sample.")
    if options.sample and (options.beam is not None or options.length_penalty is not None):
        raise UsageError("translate: --sample draws, --beam and --length-penalty search; give one of them.")
    beam = options.beam or (1 if options.n_best == 1 else max(DEFAULT_BEAM, options.n_best))
    if options.n_best > beam and not options.sample:
        raise UsageError(f"translate: a beam of {beam} can not return {options.n_best} sentences.")
    settings = {"beam": 1 if options.sample else beam, "n_best": options.n_best, "sample": options.sample,
                "alignment": options.alignment, "max_len": options.max_len}  # fmt: skip
    if options.length_penalty is not None:
        settings["length_penalty"] = options.length_penalty
    return settings | drawing


def _lines(options: argparse.Namespace) -> Iterator[Line]:
    if options.texts and options.texts != ["-"]:
        for number, text in enumerate(options.texts, 1):
            yield Line(f"text {number}", text)
        return
    with open_input("-" if options.file is None else options.file, "--file") as stream:
        yield from _lines_of(stream)


def _lines_of(stream: BinaryIO) -> Iterator[Line]:
    for number in itertools.count(1):
        content = stream.readline(LONGEST_LINE + 1)
        if not content:
            return
        place = f"line {number}"
        if len(content) > LONGEST_LINE:
            while content and not content.endswith(b"\n"):
                content = stream.readline(LONGEST_LINE)
            yield Line(place, "", f"it has more than {LONGEST_LINE:,} bytes")
            continue
        try:
            yield Line(place, content.decode("utf-8").removesuffix("\n").removesuffix("\r"))
        except UnicodeDecodeError as error:
            yield Line(place, "", f"it is not UTF-8 (byte 0x{content[error.start]:02x} at position {error.start})")


def _chunks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """So many lines together as are quick to translate; whoever types gets an answer to every line."""
    lines, size = iter(lines), 1 if sys.stdin and sys.stdin.isatty() else LINES_AT_A_TIME
    while chunk := list(itertools.islice(lines, size)):
        yield chunk


def _translate_some(
    translator: "Translator", lines: list[Line], options: argparse.Namespace, settings: dict[str, Any]
) -> bool:
    """Print what becomes of some lines; tell whether all could be read as they are."""
    is_whole = True
    translations = translator.translate([line.text for line in lines], **settings)
    for line, translation in zip(lines, translations, strict=True):
        problem = line.problem or translation.notice
        remarks = list(_remarks(line.text, translation))
        for remark in [f"not translated: {problem}"] if problem else [remark for remark, _ in remarks]:
            sys.stdout.flush()  # so that in a terminal a remark stands where it belongs
            print(visible(f"stepformer translate: {line.place}: {remark}"), file=sys.stderr)
        is_whole &= not problem and not any(is_damage for _, is_damage in remarks)
        if options.json:
            print_json(_as_json(line, translation, problem))
        else:
            _print(line, translation, options)
    return is_whole


def _remarks(text: str, translation: "Translation") -> Iterator[tuple[str, bool]]:
    """What a reader must know of a translation, and whether the text was not read as it is."""
    left_out = [c for c in text if _steers(c)]
    if left_out:
        yield f"left out: {_listed(left_out)}", True
    words = [word for word in translation.unknown if any(c.isalnum() for c in word)]
    signs = [word for word in translation.unknown if not any(c.isalnum() for c in word)]
    if words:
        yield f"unknown {'word' if len(set(words)) == 1 else 'words'}: {_listed(words)}", False
    if signs:
        yield f"unknown {'sign' if len(set(signs)) == 1 else 'signs'}: {_listed(signs)}", True
    if not translation.finished and not translation.notice:
        yield f"the translation was cut after {len(translation.tokens)} words; the model put no end", False


def _steers(character: str) -> bool:
    """Whether a character is none that is read, but one that does something: white space is not among them."""
    return character in DIRECTION_MARKS or (
        unicodedata.category(character) in ("Cc", "Cs") and not character.isspace()
    )


def _listed(words: Iterable[str]) -> str:
    """Each once, with what is unseen written out, and not without end."""
    different = list(dict.fromkeys(words))
    shown = [visible(word if len(word) <= 40 else word[:40] + "…") for word in different[:20]]
    return ", ".join(shown) + (f" and {len(different) - 20:,} more" if len(different) > 20 else "")


def _print(line: Line, translation: "Translation", options: argparse.Namespace) -> None:
    candidates = translation.hypotheses or [translation]
    for rank, candidate in enumerate(candidates, 1):
        row = [candidate.text]
        if options.n_best > 1:
            row = [re.sub(r"\D", "", line.place), str(rank), *row]
        if options.scores:
            row.append(f"{candidate.score:.4f}")
        print("\t".join(visible(cell) for cell in row))
    if options.alignment and translation.alignment is not None:
        drawn = _drawing.alignment(translation.tokens, translation.source_tokens, translation.alignment)
        print(drawn + "\n" if drawn else "", end="")


def _as_json(line: Line, translation: "Translation", problem: str) -> dict[str, Any]:
    content = translation._asdict() | {"notice": problem, "finished": translation.finished and not problem}
    hypotheses = [candidate._asdict() for candidate in translation.hypotheses]
    return {"place": line.place} | content | {"hypotheses": hypotheses}


def _whole(text: str) -> int:
    return _number(text, int, lambda x: x >= 1, "a whole number, 1 or more")


def _width(text: str) -> int:
    return _number(text, int, lambda x: 1 <= x <= WIDEST, f"a whole number from 1 to {WIDEST:,}")


def _positive(text: str) -> float:
    return _number(text, float, lambda x: 0 < x < math.inf, "a number above 0")


def _penalty(text: str) -> float:
    return _number(text, float, lambda x: 0 <= x <= 100, "a number from 0 to 100")


def _share(text: str) -> float:
    return _number(text, float, lambda x: 0 < x <= 1, "a number above 0 and at most 1")


def _number(text: str, kind, fits, what: str):
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not fits(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
    return value
