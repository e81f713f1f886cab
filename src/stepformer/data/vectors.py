"""Real word vectors: a small table of GloVe, the words of newspapers and an encyclopaedia as rows of 50 numbers.

The file `files/vectors.bin` is made by `scripts/make_vectors.py`; `files/README.md` says where the numbers come from.
It holds one line of JSON (format, number of words, width, digest, and the plane of the word map), one line with all
words, and the numbers row by row as little-endian float16.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from stepformer.data.spelling import plain, suggestions

FORMAT = "stepformer.vectors/1"
PATH = Path(__file__).parent / "files" / "vectors.bin"
REBUILD = "python scripts/make_vectors.py"


class VectorsError(RuntimeError):
    """The table of vectors is missing or damaged; the message says how to make it again."""


class UnknownWordError(KeyError):
    """A word is not in the table; the message suggests near spellings."""

    def __init__(self, word: str, near: Sequence[str], n_words: int) -> None:
        self.word, self.near = word, list(near)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        shown = word if len(word) <= 60 else f"{word[:60]}…"
        super().__init__(f"{shown!r} is not among the {n_words:,} words of the table.{hint}")

    def __str__(self) -> str:
        return self.args[0]  # a KeyError would put it in quotation marks


@dataclass(frozen=True)
class Plane:
    """A flat picture of the table: which words it was made for, and how a vector becomes a point.

    Attributes:
        words: the words that the map shows at first.
        centre: (d,), what is subtracted from a vector.
        directions: (d, 2), the two directions along which those words differ most.
    """

    words: tuple[str, ...]
    centre: np.ndarray
    directions: np.ndarray


@dataclass(frozen=True, eq=False)
class Vectors:
    """Words and their vectors, most frequent words first.

    Attributes:
        words: the vocabulary, in small letters.
        table: (n, d) float64, read-only; every number is exactly a float16.
        plane: the map that `stepformer.word_map` draws, or None.
    """

    words: tuple[str, ...]
    table: np.ndarray
    plane: Plane | None = field(default=None, repr=False)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    @cached_property
    def _units(self) -> np.ndarray:
        return self.table / np.linalg.norm(self.table, axis=1, keepdims=True)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and plain(word) in self._ids

    def __repr__(self) -> str:
        return f"Vectors({len(self.words)} words, {self.table.shape[1]} dimensions)"

    def id(self, word: str) -> int:
        """The row of a word.

        Args:
            word: in any letters; "King" and "ｋｉｎｇ" are "king".

        Returns:
            Its position in `words`.

        Raises:
            UnknownWordError: it is not in the table; near spellings are suggested. It is a KeyError.
        """
        if not isinstance(word, str):
            raise TypeError(f"A word is a text; this is {word!r}.")
        known = plain(word)
        if known not in self._ids:
            raise UnknownWordError(word, suggestions(known, self.words), len(self.words))
        return self._ids[known]

    def __getitem__(self, word: str) -> np.ndarray:
        """The vector of a word, (d,)."""
        return self.table[self.id(word)]

    def similarity(self, a: str, b: str) -> float:
        """The cosine of the angle between the vectors of two words.

        Formula: `a · b / (|a| |b|)`.

        Args:
            a: a word.
            b: another word.

        Returns:
            A number from −1 to 1.

        Raises:
            UnknownWordError: a word is not in the table.
        """
        return float(self._units[self.id(a)] @ self._units[self.id(b)])

    def nearest(
        self, query: str | np.ndarray, n: int = 5, exclude: Iterable[str] | None = None
    ) -> list[tuple[str, float]]:
        """The words whose vectors point most nearly the way of a word or of a vector.

        Args:
            query: a word, or a vector (d,) that is not zero.
            n: how many.
            exclude: words, or one, that may not be an answer. If it is not given: the word itself, for a word; none,
                for a vector.

        Returns:
            Pairs of word and cosine, the largest cosine first.

        Raises:
            UnknownWordError: a word is not in the table.
            ValueError: the vector has another width, is zero, or is not finite; or `n` is no whole number, 0 or more.
        """
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise ValueError(f"n is {n!r}; it must be a whole number, 0 or more.")
        if isinstance(exclude, str):
            exclude = (exclude,)
        if isinstance(query, str):
            exclude = (query,) if exclude is None else exclude
            query = self[query]
        vector = np.asarray(query, dtype=float)
        if vector.shape != self.table.shape[1:] or not np.isfinite(vector).all() or not vector.any():
            raise ValueError(
                f"query has shape {vector.shape}; it must be a vector {self.table.shape[1:]} of finite numbers, "
                "not all of them 0."
            )
        if not 1e-150 < np.abs(vector).max() < 1e150:  # its length could not be told from 0, or from infinity
            vector = vector / np.abs(vector).max()
        cosines = self._units @ (vector / np.linalg.norm(vector))
        left_out = {self.id(word) for word in exclude or ()}
        order = [i for i in np.argsort(-cosines, kind="stable") if i not in left_out]
        return [(self.words[i], float(cosines[i])) for i in order[:n]]

    def analogy(self, a: str, b: str, c: str, n: int = 5, exclude_inputs: bool = True) -> list[tuple[str, float]]:
        """The words nearest to `a − b + c`: "king" − "man" + "woman" asks what is to woman as king is to man.

        Args:
            a: the word to start from.
            b: the word that is taken away.
            c: the word that is added.
            n: how many answers.
            exclude_inputs: the usual rule, that none of the three words may be an answer.

        Returns:
            Pairs of word and cosine, the largest cosine first.

        Raises:
            UnknownWordError: a word is not in the table.
            ValueError: the three vectors cancel out.
        """
        return self.nearest(self[a] - self[b] + self[c], n, (a, b, c) if exclude_inputs else ())


def load(path: str | Path = PATH) -> Vectors:
    """Read the table that comes with the package.

    Args:
        path: another file of the same format.

    Returns:
        The table.

    Raises:
        VectorsError: the file is missing or damaged; the message holds the command that makes it again.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise VectorsError(f"The table of word vectors, {path.name}, is missing. Make it again: {REBUILD}") from None
    header_line, _, body = content.partition(b"\n")
    try:
        header = json.loads(header_line)
        if header["format"] != FORMAT:
            raise ValueError(f"its format is {header['format']!r}, and {FORMAT!r} is read")
        if hashlib.sha256(body).hexdigest() != header["sha256"]:
            raise ValueError("its content has another digest than its first line says")
        word_line, _, numbers = body.partition(b"\n")
        words = tuple(word_line.decode("utf-8").split(" "))
        table = np.frombuffer(numbers, "<f2").reshape(header["words"], header["width"]).astype(float)
        if len(words) != len(table) or len(set(words)) != len(words):
            raise ValueError(f"it has {len(words)} words for {len(table)} rows, or a word twice")
        plane = Plane(
            tuple(header["plane"]["words"]),
            np.array(header["plane"]["centre"]),
            np.array(header["plane"]["directions"]),
        )
        width = table.shape[1]
        if not set(plane.words) <= set(words) or plane.centre.shape != (width,) or plane.directions.shape != (width, 2):
            raise ValueError("its plane does not fit its words or their width")
    # Bytes that are no JSON, and no UTF-8, are a ValueError.
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise VectorsError(f"The table of word vectors, {path.name}, is damaged: {error}. "
                           f"Make it again: {REBUILD}") from None  # fmt: skip
    table.flags.writeable = False
    return Vectors(words, table, plane)


def save(vectors: Vectors, path: str | Path = PATH) -> None:
    """Write a table in the format that `load` reads.

    Args:
        vectors: with a plane; the numbers are stored as float16.
        path: the file.

    Raises:
        ValueError: a word holds a space, or there is no plane.
    """
    if vectors.plane is None or any(not word or word.split() != [word] for word in vectors.words):
        raise ValueError("A table is stored with its plane, and its words without spaces.")
    body = " ".join(vectors.words).encode("utf-8") + b"\n" + vectors.table.astype("<f2").tobytes()
    plane = vectors.plane
    header = {
        "format": FORMAT,
        "words": len(vectors.words),
        "width": vectors.table.shape[1],
        "sha256": hashlib.sha256(body).hexdigest(),
        "plane": {
            "words": list(plane.words),
            "centre": plane.centre.tolist(),
            "directions": plane.directions.tolist(),
        },
    }
    Path(path).write_bytes(json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n" + body)


def for_the_page(vectors: Vectors | None = None) -> dict[str, Any]:
    """The whole table as the page reads it: words, shape, and the numbers as base64 of little-endian float16.

    Args:
        vectors: a table; the one of the package if it is not given.

    Returns:
        What JSON can hold.
    """
    vectors = vectors or load()
    return {
        "words": " ".join(vectors.words),
        "shape": list(vectors.table.shape),
        "data": {"base64": base64.b64encode(vectors.table.astype("<f2").tobytes()).decode("ascii"), "type": "float16"},
    }
