"""Sentences of different lengths in one array: fill them up, and say which places hold words."""

from collections.abc import Sequence

import numpy as np


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
