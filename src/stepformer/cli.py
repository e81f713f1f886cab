"""The command `stepformer`: reads stored programs and counts what a model costs. Data and training join it later."""

import argparse
import json
import math
import os
import sys
from pathlib import Path

from stepformer import Trace, TraceError, __version__
from stepformer.formatting import format_cell
from stepformer.model_ledger import FIELDS, PRESETS, ConfigurationError, ledger, write_number


def main(arguments: list[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: the words after the command's name; those of the shell when not given.

    Returns:
        The exit code: 0 all well, 1 the input is broken, 2 settings that do not fit. (Wrong usage exits with 2.)
    """
    parser = argparse.ArgumentParser(
        prog="stepformer",
        description="The Transformer you can put your hands in.",
        epilog="example: stepformer trace attention.json",
    )
    parser.add_argument("--version", action="version", version=f"stepformer {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    trace = commands.add_parser("trace", help="check a stored program, run it and print every result")
    trace.add_argument("file", help="a file that Trace.to_json wrote; - reads standard input")
    trace.add_argument("--json", action="store_true", help="print the results as JSON")
    trace.set_defaults(run=_trace)
    _add_ledger(commands)
    options = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show a sign gets its code instead of a crash
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output, such as `head`, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _trace(options: argparse.Namespace) -> int:
    try:
        text = sys.stdin.read() if options.file == "-" else Path(options.file).read_text(encoding="utf-8")
        trace = Trace.from_json(text)
    except (OSError, UnicodeDecodeError, TraceError) as error:
        print(_visible(f"stepformer trace: {options.file}: {error}"), file=sys.stderr)
        return 1
    if options.json:
        values = {name: [_json_cell(x) for x in array.ravel()] for name, array in trace.values.items()}
        shapes = {name: array.shape for name, array in trace.values.items()}
        text = json.dumps({name: {"shape": shapes[name], "data": values[name]} for name in values}, ensure_ascii=False)
        print("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text))
        return 0
    for step in trace.steps:
        tensor, array = trace.tensors[step.output], trace.arrays[step.output]
        inputs = ", ".join(trace.tensors[i].name for i in step.inputs)
        print(_visible(f"{tensor.name} = {step.op}({inputs})  {array.shape}"))
        for row in array.reshape(math.prod(array.shape[:-1]), array.shape[-1] if array.ndim else 1):
            print("  " + "  ".join(f"{format_cell(x, tensor.dtype):>7}" for x in row))
    return 0


def _add_ledger(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        "ledger",
        help="count the parameters and FLOPs of a Transformer, block by block",
        description="Count the parameters and FLOPs of a Transformer, block by block. A setting that is not given is "
        "that of the preset. Base and big are the paper's, with the vocabulary that its table 3 implies for each.",
        epilog="examples:\n"
        "  stepformer ledger --preset big\n"
        "  stepformer ledger --d-model 256 --n-heads 4 --n-layers 4 --json\n"
        "  stepformer ledger --src-vocab-size 8000 --tgt-vocab-size 6000 --no-share-embeddings\n\n"
        "FLOPs are those of one forward pass over a pair of sentences, for each token of the target; a product of\n"
        "(n, k) and (k, m) takes 2·n·k·m. A training step takes about three times as many.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--preset", choices=PRESETS, default="base", help="where to start from (default: base)")
    for field in FIELDS:
        flag = "--" + field.name.replace("_", "-")
        if field.is_switch:
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, help=field.meaning)
        else:
            parser.add_argument(flag, type=int, metavar="N", help=field.meaning)
    parser.add_argument("--json", action="store_true", help="print the count as JSON")
    parser.set_defaults(run=_ledger)


def _ledger(options: argparse.Namespace) -> int:
    given = {field.name: getattr(options, field.name) for field in FIELDS}
    try:
        count = ledger(PRESETS[options.preset] | {name: int(x) for name, x in given.items() if x is not None})
    except ConfigurationError as error:
        print(f"stepformer ledger: {error}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(vars(count)))
        return 0
    print("  ".join(f"{name}={value}" for name, value in count.configuration.items()))
    total = {"block": "all", "parameters": count.parameters, "flops_per_token": count.flops_per_token}
    print(f"\n{'block':<24}{'parameters':>20}{'FLOPs per token':>20}")
    for row in [*count.by_block, total]:
        print(f"{row['block']:<24}{write_number(row['parameters']):>20}{write_number(row['flops_per_token']):>20}")
    return 0


def _visible(text: str) -> str:
    """The text with its control characters written out: a name in a file must not steer the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _json_cell(x):
    """Masked scores are −∞, which JSON can not hold: they become the text "-Infinity"."""
    x = x.item()
    return str(x).replace("inf", "Infinity") if isinstance(x, float) and abs(x) == float("inf") else x
