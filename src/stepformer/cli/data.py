"""`stepformer data`: make, read, check and cut pairs of sentences."""

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from stepformer.cli._common import InputError, UsageError, check_path, open_input, print_json, visible, write_utf8

EXAMPLES = """examples:
  stepformer data grammar --n 1000 --seed 0 --script traditional > pairs.tsv
  stepformer data hsk --split dev
  stepformer data check pairs.tsv
  stepformer data clean pairs.tsv > good.tsv
  stepformer data tokenize pairs.tsv --column 2 --language zh --kind bpe --max-size 500

Pairs are lines of two columns, English, a tab, Chinese, in UTF-8. `stepformer data COMMAND --help` says more.

exit codes: 0 all well, 1 something that was to be read is missing or broken, or check has found a line that does not
fit, 2 options that do not fit"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command.

    Args:
        commands: where to.
    """
    parser = commands.add_parser(
        "data",
        help="make, read, check and cut pairs of sentences",
        description="Make, read, check and cut pairs of sentences.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_grammar(kinds)
    _add_hsk(kinds)
    _add_check(kinds)
    _add_clean(kinds)
    _add_tokenize(kinds)


def _parser(kinds: argparse._SubParsersAction, name: str, run: Callable, what: str, more: str, examples: str):
    parser = kinds.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}. {more}",
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


MOST = 1_000_000_000
"""No file and no vocabulary is larger, and the libraries below count as far."""


def _whole(least: int, most: int = MOST) -> Callable[[str], int]:
    def whole_number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"it is {value}; it must be {least} or more")
        if value > most:
            raise argparse.ArgumentTypeError(f"it is {value}; it must be at most {most:,}")
        return value

    return whole_number


def _add_grammar(kinds: argparse._SubParsersAction) -> None:
    parser = _parser(
        kinds,
        "grammar",
        _grammar,
        "make pairs of the controlled grammar",
        "The same seed gives the same pairs.",
        "  stepformer data grammar --n 5\n"
        "  stepformer data grammar --n 1000 --seed 1 --script traditional > pairs.tsv\n"
        "  stepformer data grammar --n 5 --phenomena negation --json",
    )
    parser.add_argument("--n", type=_whole(0), default=10, help="how many pairs (default: 10)")
    parser.add_argument("--seed", type=_whole(0, 2**63 - 1), default=0, help="another seed, other pairs (default: 0)")
    parser.add_argument("--script", choices=("simplified", "traditional"), default="simplified")
    parser.add_argument(
        "--phenomena",
        default="all",
        metavar="NAMES",
        help="all, core, or names with commas between them (default: all)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line, with words and their links")


def _grammar(options: argparse.Namespace) -> int:
    from stepformer.data import grammar

    names = {"all": grammar.ALL, "core": grammar.CORE}.get(options.phenomena)
    if names is None:
        names = frozenset(filter(None, (name.strip() for name in options.phenomena.split(","))))
        if odd := sorted(names - set(grammar.ALL)) or (not names and ["nothing"]):
            raise UsageError(f"--phenomena names {', '.join(odd)}; there are {', '.join(sorted(grammar.ALL))}.")
    stream = grammar.pairs(options.seed, script=options.script, phenomena=names)
    _print_pairs(itertools.islice(stream, options.n), options.json)
    return 0


def _add_hsk(kinds: argparse._SubParsersAction) -> None:
    parser = _parser(
        kinds,
        "hsk",
        _hsk,
        "print the real pairs of the package hsk-sentences-audio",
        "Cleaned, without duplicates, and split; licence and attribution are printed on standard error.",
        "  stepformer data hsk --split dev\n  stepformer data hsk --script traditional > train.tsv",
    )
    parser.add_argument("--split", choices=("train", "dev", "test"), default="train", help="(default: train)")
    parser.add_argument("--script", choices=("simplified", "traditional"), default="simplified")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, with the words")


def _hsk(options: argparse.Namespace) -> int:
    from stepformer.data import hsk

    try:
        splits = hsk.splits(options.script)
    except ImportError as error:
        raise InputError(str(error)) from None
    print(f"{hsk.ATTRIBUTION}. {hsk.LICENCE}.", file=sys.stderr)
    _print_pairs(getattr(splits, options.split), options.json)
    return 0


def _print_pairs(pairs: Iterable, as_json: bool) -> None:
    from stepformer.data.pairs import pair_line

    write_utf8()
    for pair in pairs:
        if as_json:
            links = {"sure": sorted(map(list, pair.sure)), "possible": sorted(map(list, pair.possible))}
            print_json(pair._asdict() | links | {"phenomena": sorted(pair.phenomena)})
        else:
            sys.stdout.write(pair_line(pair.source, pair.target))


def _add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="a file of two columns; - reads standard input")
    parser.add_argument(
        "--max-characters", type=_whole(1), metavar="N", help="a side with more does not fit (default: 1,000)"
    )


def _add_check(kinds: argparse._SubParsersAction) -> None:
    parser = _parser(
        kinds,
        "check",
        _check,
        "check a file of pairs, line by line",
        "Prints every kind of problem with its line number; the exit code is 1 if there is any.",
        "  stepformer data check pairs.tsv\n  stepformer data check - --json < pairs.tsv",
    )
    _add_file(parser)
    parser.add_argument("--most", type=_whole(0), default=20, help="how many problems are printed (default: 20)")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def _check(options: argparse.Namespace) -> int:
    from stepformer.data.pairs import Report

    report = Report(most=options.most)
    seen: set[int] = set()
    twice = characters = longest = 0
    for source, target in _good_pairs(options, report):
        known = len(seen)
        seen.add(hash((source, target)))  # 64 bits: whole pairs would fill the memory
        twice += len(seen) == known
        characters += len(source) + len(target)
        longest = max(longest, len(source), len(target))
    skipped = report.skipped.total()
    if options.json:
        problems = [problem._asdict() for problem in report.problems]
        counts = {"lines": report.lines, "pairs": report.pairs, "skipped": dict(report.skipped), "twice": twice}
        print_json({**counts, "characters": characters, "longest": longest, "problems": problems})
        return int(skipped > 0)
    for problem in report.problems:
        print(visible(str(problem)))
    if skipped > len(report.problems):
        print(f"… and {skipped - len(report.problems):,} more")
    print(f"{report.lines:,} lines, {report.pairs:,} pairs, {twice:,} of them there before")
    for reason, n in report.skipped.most_common():
        print(f"{n:,} × {reason}")
    return int(skipped > 0)


def _add_clean(kinds: argparse._SubParsersAction) -> None:
    parser = _parser(
        kinds,
        "clean",
        _clean,
        "print the good pairs of a file, normalised",
        "Every line that is left out is counted, on standard error; the first ones are shown.",
        "  stepformer data clean pairs.tsv > good.tsv\n  stepformer data clean pairs.tsv --json > good.jsonl",
    )
    _add_file(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object a line: source, target")


def _clean(options: argparse.Namespace) -> int:
    from stepformer.data.pairs import Report, pair_line

    report = Report()
    write_utf8()
    for source, target in _good_pairs(options, report):
        if options.json:
            print_json({"source": source, "target": target})
        else:
            sys.stdout.write(pair_line(source, target))
    for problem in report.problems:
        print(visible(str(problem)), file=sys.stderr)
    print(f"{report.lines:,} lines, {report.pairs:,} pairs, {report.skipped.total():,} left out", file=sys.stderr)
    return 0


def _good_pairs(options: argparse.Namespace, report) -> Iterable[tuple[str, str]]:
    from stepformer.data.pairs import MAX_CHARACTERS, read_pairs

    with open_input(options.file) as file:
        yield from read_pairs(file, skip=True, max_characters=options.max_characters or MAX_CHARACTERS, report=report)


def _add_tokenize(kinds: argparse._SubParsersAction) -> None:
    parser = _parser(
        kinds,
        "tokenize",
        _tokenize,
        "cut sentences into tokens",
        "Without --load, a vocabulary is learnt from the sentences first.",
        "  stepformer data tokenize sentences.txt --language en\n"
        "  stepformer data tokenize pairs.tsv --column 2 --language zh --kind bpe --max-size 500 --save zh.json\n"
        "  echo 汤姆追逐杰瑞。 | stepformer data tokenize - --load zh.json --ids",
    )
    parser.add_argument("file", help="one sentence a line, or with --column a file of pairs; - reads standard input")
    parser.add_argument("--column", type=int, choices=(1, 2), help="of a file of pairs, the column to cut")
    parser.add_argument("--language", choices=("en", "zh"), help="how text is cut (default: en)")
    parser.add_argument("--kind", choices=("word", "character", "bpe"), help="what a token is (default: word)")
    parser.add_argument("--max-size", type=_whole(4), metavar="N", help="the size of the vocabulary; bpe needs it")
    parser.add_argument("--min-count", type=_whole(1), metavar="N", help="leave out what is rarer")
    parser.add_argument("--lower", action="store_true", help="make capital letters small")
    parser.add_argument("--load", metavar="FILE", help="a tokenizer that --save wrote")
    parser.add_argument("--save", metavar="FILE", help="write the tokenizer here, as JSON")
    parser.add_argument("--ids", action="store_true", help="print ids instead of tokens")
    parser.add_argument("--json", action="store_true", help="one JSON object a line: tokens, ids, unknown")


def _tokenize(options: argparse.Namespace) -> int:
    from stepformer.data.tokenizer import UNK

    check_path("--load", options.load)
    check_path("--save", options.save)
    learning = ("language", "kind", "max_size", "min_count", "lower")
    if options.load and (given := [name for name in learning if getattr(options, name)]):
        raise UsageError(f"--load brings its own settings: leave out --{given[0].replace('_', '-')}.")
    if options.kind == "bpe" and not options.max_size:
        raise UsageError("--kind bpe needs --max-size, the size of the vocabulary.")
    with open_input(options.file) as file:
        sentences = _sentences(file, options)
        if not options.load:
            sentences = list(sentences)  # they are gone through twice, and standard input comes once
        tokenizer = _load(options.load) if options.load else _learn(sentences, options)
        if options.save:
            text = json.dumps(tokenizer.to_json(), ensure_ascii=False, indent=1)
            _write(options.save, text + "\n")
        write_utf8()
        tokens_in_all = unknown_in_all = 0
        for sentence in sentences:
            tokens, ids = tokenizer.tokens(sentence), tokenizer.encode(sentence)
            unknown = [token for token, i in zip(tokens, ids, strict=True) if i == UNK]
            tokens_in_all, unknown_in_all = tokens_in_all + len(tokens), unknown_in_all + len(unknown)
            if options.json:
                print_json({"tokens": tokens, "ids": ids, "unknown": unknown})
            else:
                print(*(ids if options.ids else (token.replace(" ", "▁") for token in tokens)))
    print(
        f"{tokens_in_all:,} tokens, {unknown_in_all:,} unknown, {len(tokenizer):,} in the vocabulary", file=sys.stderr
    )
    return 0


def _sentences(file, options: argparse.Namespace) -> Iterable[str]:
    from stepformer.data.pairs import PairError, read_pairs

    if options.column:
        try:
            yield from (pair[options.column - 1] for pair in read_pairs(file))
        except PairError as error:
            raise InputError(f"{error} (`stepformer data clean` leaves such lines out)") from None
        return
    for number, line in enumerate(file, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{options.file}, line {number}: bad encoding: it is not UTF-8") from None


def _learn(sentences: list[str], options: argparse.Namespace):
    from stepformer.data.tokenizer import BpeTokenizer, CharacterTokenizer, WordTokenizer

    kinds = {"word": WordTokenizer, "character": CharacterTokenizer, "bpe": BpeTokenizer}
    settings = {"max_size": options.max_size, "min_count": options.min_count, "lower": options.lower}
    given = {name: value for name, value in settings.items() if value}
    try:
        return kinds[options.kind or "word"].learn(sentences, options.language or "en", **given)
    except ImportError as error:
        raise InputError(str(error)) from None


def _load(path: str):
    from stepformer.data.tokenizer import tokenizer_from_json

    try:
        return tokenizer_from_json(json.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError, ImportError) as error:
        raise InputError(f"{path}: {error}") from None


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
