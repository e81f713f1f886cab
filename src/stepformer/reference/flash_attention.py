"""Attention tile by tile in NumPy, as FlashAttention computes it. Its twin is torch's own kernel."""

from collections.abc import Sequence

import numpy as np

from stepformer.ops import add, divide, exp, hardmax, matmul, multiply, relu, row_total, scale, subtract, transpose
from stepformer.recording import axes_of, scope
from stepformer.reference._finite import check_finite
from stepformer.reference.attention import check_lengths


def flash_attention(query: np.ndarray, keys: Sequence[np.ndarray], values: Sequence[np.ndarray]) -> np.ndarray:
    """Scaled dot-product attention over keys that come tile by tile: the scores of one tile at a time, never all.

    Formula: for each tile, with scores s and its values v,
    `new_max = max(old_max, max(s))`, `shrink = exp(old_max - new_max)`, `w = exp(s - new_max)`,
    `sum = old_sum * shrink + sum(w)`, `output = old_output * shrink + w @ v`; at the end `output / sum`
    (Milakov & Gimelshein 2018, algorithm 3; Dao 2023, section 3.1, divides once at the end; Dao et al. 2022 after
    every tile). It equals
    `softmax(query @ key.T / sqrt(d_k)) @ value` with all tiles below one another.

    Args:
        query: (…, n_q, d_k) finite numbers.
        keys: tiles (…, n_tile, d_k), one or more; each may have its own length.
        values: tiles (…, n_tile, d_v), one for each tile of keys.

    Returns:
        (…, n_q, d_v).

    Raises:
        ValueError: there is no tile, one is empty, keys and values do not belong together, or a number is not finite.
    """
    if len(keys) == 0 or len(keys) != len(values):
        raise ValueError(
            f"{len(keys)} tiles of keys and {len(values)} of values; one or more are needed, as many of each."
        )
    kept = None
    for k, (key, value) in enumerate(zip(keys, values, strict=True), start=1):
        check_lengths(query, key, value)
        if np.shape(key)[-2] == 0:
            raise ValueError(f"tile {k} is empty; each has one key or more.")
        if (width := np.shape(value)[-1]) != (first := np.shape(values[0])[-1]):
            raise ValueError(f"tile {k} has values of the width {width}; those of tile 1 have {first}.")
        check_finite(query=query, key=key, value=value)
        with scope(f"tile_{k}"):
            kept = _read_tile(query, key, value, kept)
    _, total, output = kept
    return divide(output, total, name="output")


Kept = tuple[np.ndarray, np.ndarray, np.ndarray]


def _read_tile(query: np.ndarray, key: np.ndarray, value: np.ndarray, kept: Kept | None) -> Kept:
    """What is kept after a tile: for each query the largest score, the sum of the weights, and the weighted values."""
    scores = scale(matmul(query, transpose(key, name="key_transposed"), name="scores"), query, name="scaled_scores")
    names = axes_of(query)
    axes = None if names is None else (*names[:-1], "every key")  # one number, whatever was in the tile
    only_largest = multiply(scores, hardmax(scores, name="where_largest"), name="only_largest")
    largest = row_total(only_largest, name="tile_max", axes=axes)
    if kept is None:
        weights = exp(subtract(scores, largest, name="below_max"), name="weights")
        return largest, row_total(weights, name="sum", axes=axes), matmul(weights, value, name="weighted_values")
    old_max, old_sum, old_values = kept
    # The larger of the two: the old one, and what the new one is above it.
    new_max = add(old_max, relu(subtract(largest, old_max, name="above_old"), name="rise"), name="max")
    # All weights so far were measured from the old maximum; this factor measures them from the new one.
    shrink = exp(subtract(old_max, new_max, name="fall"), name="shrink")
    weights = exp(subtract(scores, new_max, name="below_max"), name="weights")
    total = add(multiply(old_sum, shrink, name="old_sum"), row_total(weights, name="tile_sum", axes=axes), name="sum")
    found = matmul(weights, value, name="tile_values")
    return new_max, total, add(multiply(old_values, shrink, name="old_values"), found, name="weighted_values")
