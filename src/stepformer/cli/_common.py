"""What the commands share."""

import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from stepformer.data.text import visible

__all__ = ["InputError", "UsageError", "check_path", "open_input", "print_json", "visible", "write_utf8"]


class InputError(Exception):
    """What a command was given to read is broken: the message is printed, the exit code is 1."""


class UsageError(Exception):
    """Options do not fit together: the message is printed, the exit code is 2."""


def print_json(value: Any) -> None:
    """Print a value as one line of strict JSON; control characters are escaped.

    Args:
        value: what JSON can hold.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    print("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text))


def write_utf8() -> None:
    """From here on the output is data: UTF-8 and line feeds, whatever the user's terminal is set to."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")


def check_path(argument: str, path: str | None, wanted: str = "the path of a file") -> None:
    """Refuse an empty path: a variable of the shell that was never set leaves one, and `Path` takes it for this folder.

    Args:
        argument: what the command line calls it.
        path: what was given, if anything.
        wanted: what to give instead.

    Raises:
        UsageError: the path is empty.
    """
    if path == "":
        raise UsageError(f"{argument} is empty; give {wanted}.")


@contextmanager
def open_input(name: str, argument: str = "file") -> Iterator[BinaryIO]:
    """Open what a command reads.

    Args:
        name: the path of a file, or - for standard input.
        argument: what the command line calls it.

    Yields:
        The open file, in bytes.

    Raises:
        InputError: it cannot be opened.
        UsageError: the name is empty.
    """
    check_path(argument, name, "the path of a file, or - for standard input")
    if name == "-":
        if sys.stdin is None:
            raise InputError("-: standard input is closed.")
        yield sys.stdin.buffer
        return
    try:
        file = Path(name).open("rb")  # noqa: SIM115 (only what fails here is a broken input)
    except OSError as error:
        raise InputError(f"{name}: {error.strerror or error}") from None
    with file:
        yield file
