"""The log of a training: JSON lines, one for each step and each measurement, appended and never rewritten.

A checkpoint notes how long the log was; who resumes from it cuts the log to that length, so that no step appears twice.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

from stepformer.checkpoint import CheckpointError


class Memory:
    """Rows that are kept in memory alone."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def write(self, row: dict[str, Any]) -> None:
        """Append one row.

        Args:
            row: anything JSON can hold.
        """
        self.rows.append(row)

    def to_disk(self) -> int:
        """There is no disk.

        Returns:
            0.
        """
        return 0

    def close(self) -> None:
        """There is nothing to close."""

    def leave(self) -> None:
        """There is nothing to leave behind."""


class Log(Memory):
    """Rows in a file and in memory. One process at a time may have a file open.

    Args:
        path: the file; it is made if need be.

    Raises:
        CheckpointError: another process has it open.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._is_new = not path.exists()
        self._file = path.open("ab+")
        try:
            _lock(self._file, path)
        except BaseException:
            self._file.close()
            raise
        self._flushed = time.monotonic()

    def cut(self, length: int) -> None:
        """Keep the rows up to a length, and forget what comes after: steps that are done again.

        Args:
            length: in bytes.

        Raises:
            CheckpointError: the file is shorter, or is no log.
        """
        self.rows[:] = self.check(length)
        self._file.truncate(length)

    def check(self, length: int) -> list[dict[str, Any]]:
        """Read the rows up to a length, and change nothing.

        Args:
            length: in bytes.

        Returns:
            The rows.

        Raises:
            CheckpointError: the file is shorter, or is no log.
        """
        size = os.fstat(self._file.fileno()).st_size
        if size < length:
            found = "is missing" if self._is_new else f"has {size} bytes"
            raise CheckpointError(
                f"{self._path} {found}, and the checkpoint was written when it had {length} bytes: rows are lost. "
                "Put the whole log back."
            )
        self._file.seek(0)
        lines = self._file.read(length).split(b"\n")
        if lines[-1] == b"":  # after the last line feed
            del lines[-1]
        return [_row(line, f"{self._path}, line {number}") for number, line in enumerate(lines, start=1)]

    def write(self, row: dict[str, Any]) -> None:
        """Append one row; whoever follows the file sees it about a second later.

        Args:
            row: anything JSON can hold.
        """
        super().write(row)
        self._file.write(json.dumps(row, allow_nan=False).encode() + b"\n")
        if time.monotonic() - self._flushed > 1:
            self._file.flush()
            self._flushed = time.monotonic()

    def to_disk(self) -> int:
        """Wait until all rows have reached the disk.

        Returns:
            The length of the file in bytes.
        """
        self._file.flush()
        os.fsync(self._file.fileno())
        return os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        """Write what is left, and let others write."""
        self._file.close()

    def leave(self) -> None:
        """Close, and delete the file if there was none before."""
        self.close()
        if self._is_new:
            self._path.unlink(missing_ok=True)


def read_log(path: str | Path) -> list[dict[str, Any]]:
    """Read a log, also of a training that is running or was killed.

    Args:
        path: the file.

    Returns:
        Its rows; a last line that was cut off is left out.
    """
    lines = Path(path).read_bytes().split(b"\n")
    return [json.loads(line) for line in lines[:-1]]


def _row(line: bytes, where: str) -> dict[str, Any]:
    """Read a row with suspicion: whoever draws the curves relies on its step and its loss."""
    try:
        row = json.loads(line)
        told = _odd(row)
    except (ValueError, RecursionError):
        told = f"{line.decode(errors='replace')!r:.60} is not JSON"
    if told:
        raise CheckpointError(
            f"{where} is no row of the log of a training: {told}. Put the log back as it was, or go on from a "
            "checkpoint that was written before this line."
        )
    return row


def _odd(row: Any) -> str:
    """What is wrong with a row; nothing, if it is one."""
    if not isinstance(row, dict):
        return f"{row!r:.60} is not an object"
    step = row.get("step")
    if type(step) is not int or step < 1:  # isinstance would take True for 1
        return f"step is {step!r:.60}; it must be a whole number from 1"
    for name in ("loss", "dev_loss"):
        if type(row.get(name)) in (int, float):
            return ""
    return "it has neither a loss nor a dev_loss that is a number"


def _lock(file: Any, path: Path) -> None:
    """Keep a second training out; the system opens the lock when the process ends, however it ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise CheckpointError(f"{path.parent} is in use: another process trains there.") from None
