"""The command `stepformer`: one module a command; what a command needs is imported when it runs.

A command is a module of this package with a function `add(commands)`, named in `COMMANDS`. It adds a parser and sets
its `run`, a function of the parsed options that returns the exit code. Exit codes are the same everywhere: 0 all well,
1 the input is broken, 2 wrong usage or settings that do not fit.
"""

import argparse
import importlib
import os
import sys

from stepformer import __version__
from stepformer.cli._common import InputError, UsageError, visible

COMMANDS = ("data", "evaluate", "export", "ledger", "trace", "train", "translate")
"""The modules of this package that are commands, in the order of the help."""


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
        epilog="Every command explains itself: stepformer trace --help",
    )
    parser.add_argument("--version", action="version", version=f"stepformer {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in COMMANDS:
        importlib.import_module(f"stepformer.cli.{name}").add(commands)
    options = parser.parse_args(arguments)
    for name in ("stdout", "stderr"):  # Python has None for a stream that was closed before it began
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (it lasts as long as the process)
    for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show a sign gets its code instead of a crash
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output, such as `head`, has enough
        _discard_output()
        return 0
    except (InputError, UsageError) as error:
        print(f"stepformer: {visible(str(error))}", file=sys.stderr)
        return 1 if isinstance(error, InputError) else 2
    except OSError as error:  # what a command reads it names itself: this is the output, such as a disk that is full
        _discard_output()
        print(f"stepformer: {visible(str(error.filename or 'the output'))}: {error.strerror or error}", file=sys.stderr)
        return 1
    except MemoryError as error:
        print(f"stepformer: there is not enough memory. {visible(str(error))}".rstrip(), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stepformer: stopped.", file=sys.stderr)
        return 130
    return code


def _discard_output() -> None:
    """Let what was not written yet go nowhere, so that the end of the process does not fail on it once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
