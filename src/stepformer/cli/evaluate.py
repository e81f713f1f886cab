"""`stepformer evaluate`: judge a model on a test set."""

import argparse
import functools
import sys
from collections.abc import Sequence
from typing import Any

from stepformer.cli._common import InputError, UsageError, open_input, print_json, visible

EXAMPLES = """examples:
  stepformer evaluate
  stepformer evaluate --model base --data grammar --split longer --beam 4
  stepformer evaluate --split negation --limit 200 --json
  stepformer evaluate --model runs/hsk/model --data hsk --report report
  stepformer evaluate --model small --model gru --report comparison
  stepformer evaluate --data pairs.tsv

A file of pairs has two columns, English and Chinese, with a tab between them; - reads it from standard input.
Exit codes: 0 all well; 1 a file or a model cannot be read; 2 settings that do not fit."""


MOST, MOST_SAMPLES, WIDEST = 1_000_000_000, 100_000, 1000
"""The largest of all numbers; of test sets that are drawn at a time; and of a beam. More would fill the memory."""


def add(commands: Any) -> None:
    """Add the command.

    Args:
        commands: the subparsers of `stepformer`.
    """
    parser = commands.add_parser(
        "evaluate",
        help="translate a test set and score it: BLEU, chrF, exact match, perplexity, alignment error",
        description="Translate a test set with a model and score what comes out: BLEU and chrF by sacrebleu, the share "
        "that is exactly right by phenomenon, length and clauses, perplexity, the alignment error of cross-attention, "
        "and how far chance could move a score.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--model",
        action="append",
        metavar="MODEL",
        help="small, base, gru, gru_attention, or the folder of a model; given "
        "again, another one to compare the first with (default: small)",
    )
    parser.add_argument("--data", default="grammar", help="grammar, hsk, or a file of pairs (default: grammar)")
    parser.add_argument(
        "--split",
        help="of grammar: random, unseen_pairs, subject_only, longer, clauses_1 … clauses_6, "
        "dev, or a phenomenon such as negation (default: random); of hsk: test, dev or train (default: "
        "test)",
    )
    parser.add_argument("--limit", type=_positive, metavar="N", help="take the first N pairs only")
    parser.add_argument("--beam", type=_width, default=1, metavar="K", help="size of the beam (default: 1, greedy)")
    parser.add_argument("--batch-size", type=_positive, default=64, metavar="N", help="sentences at once (default: 64)")
    parser.add_argument(
        "--samples",
        type=_samples,
        default=1000,
        metavar="N",
        help="test sets that the bootstrap draws (default: 1000)",
    )
    parser.add_argument("--seed", type=_seed, default=0, metavar="S", help="of the bootstrap (default: 0)")
    parser.add_argument("--report", metavar="DIR", help="write report.md, its figures and report.json there")
    parser.add_argument("--json", action="store_true", help="print everything as JSON, each sentence included")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command.

    Args:
        options: the parsed options.

    Returns:
        The exit code.

    Raises:
        InputError: a file or a model cannot be read.
        UsageError: settings do not fit.
    """
    try:
        import numpy as np

        from stepformer.checkpoint import CheckpointError, load_model
        from stepformer.evaluate import evaluation, report, summary
    except ImportError as error:
        raise UsageError(f"evaluate needs the package {error.name}: pip install stepformer[evaluate]") from None
    names = options.model or ["small"]
    if len(set(names)) < len(names):
        raise UsageError(f"--model names {', '.join(names)}; a model can be compared with other ones only.")
    try:
        loaded = {name: load_model(name) for name in names}
    except CheckpointError as error:
        raise InputError(str(error)) from None
    pairs, data = _pairs(options, loaded[names[0]].record)
    found = [_evaluate(name, model, pairs, data, options) for name, model in loaded.items()]
    differences = [
        evaluation.compare(found[0], other, np.random.default_rng(options.seed), n_samples=options.samples)
        for other in found[1:]
    ]
    if options.report:
        try:
            path = report.write_report(options.report, found, differences, _example(loaded[names[0]], pairs, found[0]))
        except OSError as error:
            raise InputError(f"--report {options.report}: {error.strerror or error}") from None
        print(f"wrote {path}", file=sys.stderr)
    if options.json:
        print_json(summary.to_json(found, differences))
    else:
        for line in report.plain_text(found, differences).splitlines():
            print(visible(line))
    return 0


def _pairs(options: argparse.Namespace, record: dict[str, Any]) -> tuple[list, str]:
    """The test set, and what to call it. The grammar's is that of the corpus that the first model was trained on."""
    from stepformer.data.pairs import PairError
    from stepformer.evaluate import test_sets

    grammar = functools.partial(test_sets.of_grammar, record=record)
    named = {"grammar": (grammar, "random"), "hsk": (test_sets.of_hsk, "test")}
    if options.data in named:
        read, usual = named[options.data]
        split = options.split or usual
        try:
            pairs = read(split)
        except ImportError as error:
            raise UsageError(str(error)) from None
        except ValueError as error:
            raise UsageError(f"--split: {error}") from None
        return test_sets.first(pairs, options.limit), f"{options.data}, split {split}"
    if options.split:
        raise UsageError(f"--split is of grammar and hsk; {options.data} is a file of pairs and has no splits.")
    with open_input(options.data, "--data") as file:
        try:
            pairs = test_sets.of_file(file, options.limit)
        except (PairError, OSError) as error:
            raise InputError(str(error)) from None
    name = "standard input" if options.data == "-" else options.data
    if not pairs:
        raise InputError(f"{name}: it holds no pairs.")
    return pairs, name


def _evaluate(name: str, loaded: Any, pairs: Sequence, data: str, options: argparse.Namespace) -> Any:
    import numpy as np
    from tqdm import tqdm

    from stepformer.evaluate.evaluation import evaluate
    from stepformer.translator import Translator

    translator = Translator(loaded.model, loaded.src_tokenizer, loaded.tgt_tokenizer)
    how = "greedy" if options.beam == 1 else f"beam {options.beam}"
    with tqdm(total=len(pairs), desc=name, unit=" sentences", file=sys.stderr, disable=None) as bar:
        return evaluate(
            loaded.model,
            loaded.src_tokenizer,
            loaded.tgt_tokenizer,
            pairs,
            lambda texts: translator.translate(texts, beam=options.beam),
            np.random.default_rng(options.seed),
            batch_size=options.batch_size,
            on_progress=bar.update,
            system=f"{name}, {how}",
            data=data,
            n_samples=options.samples,
        )


def _example(loaded: Any, pairs: Sequence, found: Any) -> tuple | None:
    """A sentence to draw: the longest of the first that fits a figure, if the model has attention to be compared."""
    from stepformer.evaluate.attention import cross_attention

    fitting = [pair for pair in pairs[:50] if pair.sure and len(pair.source_tokens) <= 12]
    if not found.attention or not fitting:
        return None
    pair = max(fitting, key=lambda pair: len(pair.source_tokens))
    ids = loaded.src_tokenizer.encode(pair.source), loaded.tgt_tokenizer.encode(pair.target)
    if (len(ids[0]), len(ids[1])) != (len(pair.source_tokens), len(pair.target_tokens)):
        return None
    ((_, weights),) = cross_attention(loaded.model, [ids])
    return pair, weights


def _positive(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    if number > MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is more than {MOST:,}")
    return number


def _width(text: str) -> int:
    return _at_most(text, WIDEST)


def _samples(text: str) -> int:
    return _at_most(text, MOST_SAMPLES)


def _at_most(text: str, most: int) -> int:
    if _positive(text) > most:
        raise argparse.ArgumentTypeError(f"{text!r} is more than {most:,}, and would fill the memory")
    return int(text)


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 0 or more")
    return int(text)
