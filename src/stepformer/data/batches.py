"""Sentences of different lengths in one array: fill them up, say which places hold words, and go through all of them.

`Batches` gives every pair of a corpus exactly once an epoch, in an order that follows from a seed and the number of the
epoch alone. So a place in it is two numbers, and a training that stops can go on as if it had not.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from stepformer.data.tokenizer import BOS, EOS, PAD

EncodedPair = tuple[Sequence[int], Sequence[int]]
"""The token ids of a source and of its target, without `<bos>` and `<eos>`."""


def pad(sentences: Sequence[Sequence[int]], pad_id: int = 0) -> np.ndarray:
    """Fill sentences up to the length of the longest, so that they fit into one array.

    Formula: `out[i] = sentences[i] + [pad_id] * (n - len(sentences[i]))`.

    Args:
        sentences: lists of token ids; a list may be empty.
        pad_id: the id of padding.

    Returns:
        (batch, n) token ids.
    """
    n = max(map(len, sentences), default=0)
    return np.array([[*ids, *[pad_id] * (n - len(ids))] for ids in sentences], dtype=int).reshape(len(sentences), n)


def keep_mask(lengths: Sequence[int], n: int | None = None) -> np.ndarray:
    """Which places of a padded batch hold words. The name says what True means: keep.

    Formula: `out[i, j] = j < lengths[i]`. `keep_mask(lengths)[:, None]` is the padding mask of the batch, as
    `ops.padding_mask` computes it from the ids.

    Args:
        lengths: (batch,) number of words of each sentence, 0 or more.
        n: length of the filled-up sentences; the largest of `lengths` if not given.

    Returns:
        (batch, n) booleans, True = a word.

    Raises:
        TypeError: lengths are not whole numbers.
        ValueError: a length is negative or larger than n.
    """
    counts = np.asarray(lengths)
    if counts.size and counts.dtype.kind not in "iu":
        raise TypeError(f"lengths must be whole numbers; they are {counts.dtype}.")
    n = int(counts.max(initial=0)) if n is None else n
    if counts.ndim != 1 or (counts < 0).any() or (counts > n).any():
        raise ValueError(f"lengths are {counts.tolist()}; one number for each sentence is needed, from 0 to n = {n}.")
    return np.arange(n) < counts[:, None]


class Batch(NamedTuple):
    """Pairs of sentences as a model takes them, filled up with padding.

    Attributes:
        src: (batch, n_src) ids of the sources, each ending in `<eos>`.
        tgt_in: (batch, n_tgt) what the decoder reads: `<bos>` and the target.
        tgt_out: (batch, n_tgt) what it must answer: the target and `<eos>`. Padding is not an answer.
        rows: (batch,) which pairs of the corpus these are.
    """

    src: np.ndarray
    tgt_in: np.ndarray
    tgt_out: np.ndarray
    rows: np.ndarray

    @property
    def n_tokens(self) -> int:
        """The number of answers: every target's tokens and its `<eos>`."""
        return int((self.tgt_out != PAD).sum())


class Position(NamedTuple):
    """A place in the endless row of batches.

    Attributes:
        epoch: how many times the corpus has been gone through.
        batch: how many batches of this epoch are done.
    """

    epoch: int = 0
    batch: int = 0


def batch(pairs: Sequence[EncodedPair], rows: Sequence[int] | None = None) -> Batch:
    """Put pairs into one batch: add `<bos>` and `<eos>`, shift the target by one, fill up.

    Formula: source `[a, b]` and target `[c, d]` give `src = [a, b, EOS]`, `tgt_in = [BOS, c, d]` and
    `tgt_out = [c, d, EOS]`: position i of the decoder has read `tgt_in[:i + 1]` and answers `tgt_out[i]`.

    Args:
        pairs: token ids of sources and targets, without `<bos>` and `<eos>`.
        rows: which pairs of the corpus they are; 0, 1, … if not given.

    Returns:
        The batch.
    """
    return Batch(
        pad([[*source, EOS] for source, _ in pairs], PAD),
        pad([[BOS, *target] for _, target in pairs], PAD),
        pad([[*target, EOS] for _, target in pairs], PAD),
        np.arange(len(pairs)) if rows is None else np.asarray(rows),
    )


class Batches:
    """All pairs of a corpus in batches of similar length, in another order in each epoch.

    Pairs are shuffled; every `pool` batches' worth of them are sorted by length and cut into batches; the batches are
    shuffled. A small pool mixes better, a large one needs less padding.

    Attributes:
        pairs: the encoded pairs.
        lengths: (n, 2) numbers of tokens of each source and target, without `<bos>` and `<eos>`.
    """

    def __init__(
        self,
        pairs: Sequence[EncodedPair],
        *,
        batch_size: int | None = None,
        tokens_per_batch: int | None = None,
        seed: int = 0,
        pool: int = 100,
        shuffle: bool = True,
    ) -> None:
        """Say how a corpus is cut into batches.

        Args:
            pairs: encoded pairs; anything with a length and an index. If it has `lengths`, they are not counted again.
            batch_size: pairs in a batch. Either this or `tokens_per_batch` is given.
            tokens_per_batch: the most places that a batch may have on either side, padding and marks included.
            seed: of the order, a whole number, 0 or more.
            pool: how many batches are sorted together.
            shuffle: False keeps the order of the corpus, the same in each epoch and not sorted.

        Raises:
            ValueError: a number does not fit, there are no pairs, or a pair alone has more tokens than a batch may.
        """
        if (batch_size is None) == (tokens_per_batch is None):
            raise ValueError("Give either batch_size or tokens_per_batch.")
        numbers = {"batch_size": batch_size, "tokens_per_batch": tokens_per_batch, "pool": pool}
        for name, value in numbers.items():
            if value is not None and (not isinstance(value, int | np.integer) or value < 1):
                raise ValueError(f"{name} is {value!r}; it must be a whole number, 1 or more.")
        if not isinstance(seed, int | np.integer) or seed < 0:
            raise ValueError(f"seed is {seed!r}; it must be a whole number, 0 or more.")
        if not len(pairs):
            raise ValueError("pairs is empty; a batch needs at least one pair.")
        self.pairs = pairs
        self.batch_size, self.tokens_per_batch = batch_size, tokens_per_batch
        self.seed, self.pool, self.shuffle = seed, pool, shuffle
        given = getattr(pairs, "lengths", None)
        self.lengths = np.array([[len(a), len(b)] for a, b in pairs]) if given is None else np.asarray(given)
        self._places = self.lengths.max(axis=1) + 1  # the longer side, with its mark
        if tokens_per_batch is not None and self._places.max() > tokens_per_batch:
            row = int(self._places.argmax())
            raise ValueError(
                f"Pair {row} has {self._places[row]} tokens with its mark; a batch may have {tokens_per_batch} "
                "(tokens_per_batch)."
            )

    def rows(self, epoch: int = 0) -> list[np.ndarray]:
        """Which pairs are in which batch.

        Args:
            epoch: how many times the corpus has been gone through.

        Returns:
            For each batch of the epoch the rows of its pairs. Each row of the corpus is in exactly one.
        """
        n = len(self.pairs)
        if not self.shuffle:
            return self._cut(np.arange(n))
        generator = np.random.default_rng([self.seed, epoch])
        order = generator.permutation(n)
        size = self.batch_size or max(1, self.tokens_per_batch // int(np.ceil(self._places.mean())))
        batches = []
        for start in range(0, n, size * self.pool):
            part = order[start : start + size * self.pool]
            source, target = self.lengths[part].T
            batches += self._cut(part[np.lexsort((source, target))])  # equal lengths stay as they were shuffled
        return [batches[k] for k in generator.permutation(len(batches))]

    def _cut(self, order: np.ndarray) -> list[np.ndarray]:
        if self.batch_size is not None:
            return [order[k : k + self.batch_size] for k in range(0, len(order), self.batch_size)]
        cuts, longest, first = [], 0, 0
        for k, places in enumerate(self._places[order]):
            longest = max(longest, places)
            if longest * (k + 1 - first) > self.tokens_per_batch:
                cuts.append(k)
                longest, first = places, k
        return np.split(order, cuts)

    def epoch(self, epoch: int = 0, start: int = 0) -> Iterator[Batch]:
        """Go through the corpus once.

        Args:
            epoch: how many times it has been gone through.
            start: how many batches of this epoch are done.

        Yields:
            The batches that are left.
        """
        for rows in self.rows(epoch)[start:]:
            yield batch([self.pairs[int(row)] for row in rows], rows)

    def stream(self, position: Position = Position()) -> Iterator[tuple[Position, Batch]]:  # noqa: B008
        """Go through the corpus without end.

        Args:
            position: where to begin.

        Yields:
            Each batch with the position after it: give that to `stream`, and it goes on with the next batch.
        """
        for after, rows in self.walk(position):
            yield after, batch([self.pairs[int(row)] for row in rows], rows)

    def walk(self, position: Position = Position()) -> Iterator[tuple[Position, np.ndarray]]:  # noqa: B008
        """Go through the corpus without end, without reading it: for those who read a part of each batch.

        Args:
            position: where to begin.

        Yields:
            The position after each batch, and which pairs are in it.
        """
        epoch, done = position
        while True:
            order = self.rows(epoch)
            for k in range(done, len(order)):
                yield Position(epoch, k + 1) if k + 1 < len(order) else Position(epoch + 1, 0), order[k]
            epoch, done = epoch + 1, 0
