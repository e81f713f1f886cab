"""`stepformer trace`: check a stored program, run it and print every result."""

import argparse
import math
import sys
from pathlib import Path

from stepformer import Trace, TraceError
from stepformer.cli._common import check_path, print_json, visible
from stepformer.formatting import format_cell


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command.

    Args:
        commands: where to.
    """
    trace = commands.add_parser(
        "trace",
        help="check a stored program, run it and print every result",
        description="Check a stored program, run it and print every result: the step, its shape, its rows.",
        epilog="examples:\n"
        "  stepformer trace attention.json\n"
        "  stepformer export small --out - | stepformer trace - --json\n\n"
        "exit codes: 0 all well; 1 the file can not be read, or is no such program; 2 wrong usage.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    trace.add_argument("file", help="a file that Trace.to_json wrote; - reads standard input")
    trace.add_argument("--json", action="store_true", help="print the results as JSON")
    trace.set_defaults(run=_trace)


def _trace(options: argparse.Namespace) -> int:
    check_path("file", options.file, "the path of a file, or - for standard input")
    try:
        text = sys.stdin.read() if options.file == "-" else Path(options.file).read_text(encoding="utf-8")
        trace = Trace.from_json(text)
    except (OSError, UnicodeDecodeError, TraceError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        print(visible(f"stepformer trace: {options.file}: {reason}"), file=sys.stderr)
        return 1
    if options.json:
        values = {name: [_json_cell(x) for x in array.ravel()] for name, array in trace.values.items()}
        shapes = {name: array.shape for name, array in trace.values.items()}
        print_json({name: {"shape": shapes[name], "data": values[name]} for name in values})
        return 0
    for step in trace.steps:
        tensor, array = trace.tensors[step.output], trace.arrays[step.output]
        inputs = ", ".join(trace.tensors[i].name for i in step.inputs)
        print(visible(f"{tensor.name} = {step.op}({inputs})  {array.shape}"))
        for row in array.reshape(math.prod(array.shape[:-1]), array.shape[-1] if array.ndim else 1):
            print("  " + "  ".join(f"{format_cell(x, tensor.dtype):>7}" for x in row))
    return 0


def _json_cell(x):
    """Masked scores are −∞, which JSON can not hold: they become the text "-Infinity"."""
    x = x.item()
    return str(x).replace("inf", "Infinity") if isinstance(x, float) and abs(x) == float("inf") else x
