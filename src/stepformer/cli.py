"""The command `stepformer`. For now it reads stored programs; data, training and translation join it later."""

import argparse
import json
import math
import os
import sys
from pathlib import Path

from stepformer import Trace, TraceError, __version__
from stepformer.formatting import format_cell


def main(arguments: list[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: the words after the command's name; those of the shell when not given.

    Returns:
        The exit code: 0 all well, 1 the input is broken. (Wrong usage exits with 2.)
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
        print(f"stepformer trace: {options.file}: {error}", file=sys.stderr)
        return 1
    if options.json:
        values = {name: [_json_cell(x) for x in array.ravel()] for name, array in trace.values.items()}
        shapes = {name: array.shape for name, array in trace.values.items()}
        print(json.dumps({name: {"shape": shapes[name], "data": values[name]} for name in values}, ensure_ascii=False))
        return 0
    for step in trace.steps:
        tensor, array = trace.tensors[step.output], trace.arrays[step.output]
        print(f"{tensor.name} = {step.op}({', '.join(trace.tensors[i].name for i in step.inputs)})  {array.shape}")
        for row in array.reshape(math.prod(array.shape[:-1]), array.shape[-1] if array.ndim else 1):
            print("  " + "  ".join(f"{format_cell(x, tensor.dtype):>7}" for x in row))
    return 0


def _json_cell(x):
    """Masked scores are −∞, which JSON can not hold: they become the text "-Infinity"."""
    x = x.item()
    return str(x).replace("inf", "Infinity") if isinstance(x, float) and abs(x) == float("inf") else x
