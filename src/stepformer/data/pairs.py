"""Your own pairs: a text file with two columns and a tab between them, of any size.

Each line holds an English sentence, a tab and its translation, in UTF-8. Quotation marks are part of the sentence, not
of the format. A file is read line by line and never held in memory: `read_pairs` streams it, `PairFile` remembers where
each line begins and fetches pairs in any order.

A line that does not fit is never lost without a word. Reading stops at it with its number and the reason; on request
it is skipped, and counted in a `Report`.
"""

import hashlib
import os
import weakref
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from stepformer.data.batches import EncodedPair
from stepformer.data.text import normalise, visible
from stepformer.data.tokenizer import Tokenizer

MAX_CHARACTERS = 1000
"""A side with more characters is taken for a mistake, unless another limit is given."""

BOM = b"\xef\xbb\xbf"

REASONS = ("bad encoding", "missing column", "extra column", "empty side", "over-long")
"""Everything that can be wrong with a line."""


class Problem(NamedTuple):
    """A line that does not fit.

    Attributes:
        line: its number, from 1.
        reason: one of `REASONS`.
        detail: what was found and what is expected.
    """

    line: int
    reason: str
    detail: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}: {self.detail}"


class PairError(ValueError):
    """A line of a file of pairs does not fit.

    Attributes:
        problem: which line, and why.
    """

    def __init__(self, name: str, problem: Problem) -> None:
        self.problem = problem
        super().__init__(f"{name}, {problem}")


@dataclass
class Report:
    """What was read, and what was skipped. It grows while the file is read.

    Attributes:
        lines: the number of lines so far.
        pairs: how many of them were pairs.
        skipped: reason -> number of lines.
        problems: the first problems, at most `most`.
        most: how many problems are kept.
    """

    lines: int = 0
    pairs: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    most: int = 20

    def add(self, problem: Problem) -> None:
        """Count a line that is skipped.

        Args:
            problem: what is wrong with it.
        """
        self.skipped[problem.reason] += 1
        if len(self.problems) < self.most:
            self.problems.append(problem)


def read_pairs(
    file: str | os.PathLike | BinaryIO,
    *,
    skip: bool = False,
    max_characters: int = MAX_CHARACTERS,
    report: Report | None = None,
) -> Iterator[tuple[str, str]]:
    """Stream the pairs of a file with two columns.

    Args:
        file: a path, or a file that is open for reading bytes.
        skip: leave out the lines that do not fit, and count them in the report.
        max_characters: a longer side does not fit.
        report: where lines and problems are counted.

    Yields:
        Source and target of each line, normalised.

    Raises:
        PairError: a line does not fit, and `skip` is False.
        OSError: the file cannot be read.
    """
    if isinstance(file, str | os.PathLike):
        with Path(file).open("rb") as opened:
            yield from read_pairs(opened, skip=skip, max_characters=max_characters, report=report)
        return
    name = str(getattr(file, "name", "input"))
    for pair in _lines(file, name, skip, max_characters, report if report is not None else Report()):
        yield pair.source, pair.target


class _Line(NamedTuple):
    source: str
    target: str
    offset: int


def _lines(file: BinaryIO, name: str, skip: bool, max_characters: int, report: Report) -> Iterator[_Line]:
    # A character has at most four bytes. What is longer is no pair, and is passed over without being held.
    most = 8 * max_characters + 64
    offset = 0
    while line := file.readline(most):
        report.lines += 1
        start, offset = offset, offset + len(line)
        found = _parse(line, report.lines, max_characters)
        if len(line) == most and not line.endswith(b"\n"):
            found = Problem(report.lines, "over-long", f"a line of more than {most:,} bytes; is a line break missing?")
            while (rest := file.readline(1 << 16)) and not rest.endswith(b"\n"):
                offset += len(rest)
            offset += len(rest)
        if not isinstance(found, Problem):
            report.pairs += 1
            yield _Line(*found, start)
        elif skip:
            report.add(found)
        else:
            raise PairError(name, found)


def _parse(line: bytes, number: int, max_characters: int) -> tuple[str, str] | Problem:
    if number == 1:
        line = line.removeprefix(BOM)
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        hint = " It looks like UTF-16: save the file as UTF-8." if line[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        return Problem(number, "bad encoding", f"byte {error.start + 1}, {line[error.start]:#04x}, is not UTF-8.{hint}")
    columns = text.rstrip("\r\n").split("\t")
    if len(columns) < 2:
        return Problem(number, "missing column", f"two columns with a tab between them are needed: '{_shown(text)}'")
    if len(columns) > 2:
        return Problem(number, "extra column", f"{len(columns)} columns instead of two: '{_shown(text)}'")
    source, target = map(normalise, columns)
    for side, sentence in (("source", source), ("target", target)):
        if not sentence:
            return Problem(number, "empty side", f"the {side} is empty: '{_shown(text)}'")
        if len(sentence) > max_characters:
            return Problem(
                number, "over-long", f"the {side} has {len(sentence):,} characters; at most {max_characters:,} fit"
            )
    return source, target


def _shown(text: str) -> str:
    text = text.rstrip("\r\n")
    return visible(text if len(text) <= 60 else f"{text[:60]}…")


class PairFile(Sequence[EncodedPair]):
    """The pairs of a file as token ids, in any order, without holding them: for `stepformer.data.batches.Batches`.

    The file is read once to note where each line begins and how many tokens it has, 16 bytes for each pair. After that
    a pair is read and encoded when it is asked for.

    Attributes:
        lengths: (n, 2) numbers of tokens of each source and target.
        report: what was read and what was skipped.
        sha256: the digest of the file's content, to tell whether it is still the same.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        src_tokenizer: Tokenizer,
        tgt_tokenizer: Tokenizer,
        *,
        skip: bool = False,
        max_characters: int = MAX_CHARACTERS,
    ) -> None:
        """Read a file once.

        Args:
            path: the file.
            src_tokenizer: cuts the first column.
            tgt_tokenizer: cuts the second.
            skip: leave out the lines that do not fit, and count them in the report.
            max_characters: a longer side does not fit.

        Raises:
            PairError: a line does not fit, and `skip` is False.
            OSError: the file cannot be read.
        """
        self.path = Path(path)
        self.src_tokenizer, self.tgt_tokenizer = src_tokenizer, tgt_tokenizer
        self.report = Report()
        offsets, lengths = array("q"), array("i")
        self._file = self.path.open("rb")
        weakref.finalize(self, self._file.close)  # whoever forgets to close it leaves nothing open
        self._state = self._file_state()
        try:
            for line in _lines(self._file, str(path), skip, max_characters, self.report):
                offsets.append(line.offset)
                lengths.append(len(src_tokenizer.encode(line.source)))
                lengths.append(len(tgt_tokenizer.encode(line.target)))
        except BaseException:
            self.close()
            raise
        self._offsets = np.frombuffer(offsets, dtype=np.int64) if offsets else np.zeros(0, dtype=np.int64)
        self.lengths = (np.frombuffer(lengths, dtype=np.int32) if lengths else np.zeros(0, np.int32)).reshape(-1, 2)
        self._file.seek(0)
        self.sha256 = hashlib.file_digest(self._file, "sha256").hexdigest()

    def _file_state(self) -> tuple[int, int]:
        state = os.fstat(self._file.fileno())
        return state.st_size, state.st_mtime_ns

    def __len__(self) -> int:
        return len(self._offsets)

    def text(self, index: int) -> tuple[str, str]:
        """Read one pair.

        Args:
            index: its number among the pairs, from 0.

        Returns:
            Source and target, normalised.

        Raises:
            IndexError: there is no such pair.
            RuntimeError: the file has changed since it was read.
        """
        if not -len(self) <= index < len(self):
            raise IndexError(f"index is {index}; the file has {len(self)} pairs.")
        if self._file_state() != self._state:
            raise RuntimeError(f"{self.path} has changed since it was read; read it again.")
        offset = int(self._offsets[index])
        self._file.seek(offset)
        line = self._file.readline()
        source, target = line.removeprefix(BOM if offset == 0 else b"").decode("utf-8").rstrip("\r\n").split("\t")
        return normalise(source), normalise(target)

    def __getitem__(self, index: int) -> EncodedPair:
        source, target = self.text(index)
        return self.src_tokenizer.encode(source), self.tgt_tokenizer.encode(target)

    def close(self) -> None:
        """Close the file. The pairs can no longer be read."""
        self._file.close()

    def __enter__(self) -> "PairFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def pair_line(source: str, target: str) -> str:
    """A pair as one line of a file.

    Args:
        source: a sentence.
        target: its translation.

    Returns:
        Both, normalised, with a tab between them and a line feed.

    Raises:
        ValueError: a side is empty.
    """
    columns = normalise(source), normalise(target)
    if not all(columns):
        raise ValueError(f"source is {source!r} and target is {target!r}; neither may be empty.")
    return "\t".join(columns) + "\n"


def write_pairs(pairs: Iterable[Sequence[str]], path: str | os.PathLike) -> None:
    """Write a file that `read_pairs` reads.

    Args:
        pairs: sources and targets; of a `Pair`, the first two fields.
        path: the file.

    Raises:
        ValueError: a side is empty.
    """
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(pair_line(pair[0], pair[1]) for pair in pairs)
