"""Positions in NumPy: sinusoidal, learned, rotary, linear biases. Torch twins: `stepformer.nn.positional_encoding`."""

from collections.abc import Mapping

import numpy as np

from stepformer.ops import add, distance_bias, first_rows, rotate_pairs, sinusoids
from stepformer.reference._finite import check_finite


def positional_encoding(x: np.ndarray, base: float = 10000.0) -> np.ndarray:
    """The sinusoidal positions for a sequence: the same rows whatever the tokens are.

    Formula: `out[pos, 2i] = sin(pos / base^(2i/d))`, `out[pos, 2i + 1] = cos(pos / base^(2i/d))` (Vaswani et al. 2017,
    section 3.5). Nothing in it is learned.

    Args:
        x: (…, n, d_model) finite numbers; only their length and width are used.
        base: the wavelengths grow from 2π towards 2π · base, in tokens.

    Returns:
        (n, d_model), each in −1 … 1.

    Raises:
        ValueError: `x` has fewer than two axes or is not finite, or `base` is not positive.
    """
    check_finite(x=x)
    return sinusoids(x, base=base, name="positions")


def add_positions(x: np.ndarray, base: float = 10000.0) -> np.ndarray:
    """Add to each row of a sequence the sinusoidal row of its position.

    Formula: `out = x + positional_encoding(x)` (Vaswani et al. 2017, section 3.5).

    Args:
        x: (…, n, d_model) embeddings, finite.
        base: as for `positional_encoding`.

    Returns:
        The shape of `x`.

    Raises:
        ValueError: `x` has fewer than two axes or is not finite, or `base` is not positive.
    """
    return add(x, positional_encoding(x, base), name="with_positions")


def add_learned_positions(x: np.ndarray, params: Mapping[str, np.ndarray]) -> np.ndarray:
    """Add to each row of a sequence the row that was learned for its position.

    Formula: `out = x + table[:n]` (Gehring et al. 2017, section 3.1).

    Args:
        x: (…, n, d_model) embeddings, finite.
        params: "embedding.weight" (max_len, d_model).

    Returns:
        The shape of `x`.

    Raises:
        ValueError: n is larger than max_len, the widths differ, or a number is not finite.
    """
    check_finite(x=x, table=params["embedding.weight"])
    return add(x, first_rows(params["embedding.weight"], x, name="positions"), name="with_positions")


def rotary(query: np.ndarray, key: np.ndarray, base: float = 10000.0) -> tuple[np.ndarray, np.ndarray]:
    """Rotary positions: turn queries and keys, so that their scores depend on distances only. Values stay as they are.

    Formula: pair i of row pos turns by the angle `pos / base^(2i/d_k)` (Su et al. 2021, section 3.2.2).

    Args:
        query: (…, n_q, d_k) finite numbers, d_k even.
        key: (…, n_k, d_k) finite numbers.
        base: the slowest pair turns once in about 2π · base tokens.

    Returns:
        The turned query and key, in their shapes.

    Raises:
        ValueError: the width is odd, or a number is not finite.
    """
    check_finite(query=query, key=key)
    return rotate_pairs(query, base=base, name="rotated_query"), rotate_pairs(key, base=base, name="rotated_key")


def alibi(scaled_scores: np.ndarray, query: np.ndarray, key: np.ndarray, slope: float) -> np.ndarray:
    """Attention with linear biases (ALiBi): scores lose in proportion to the distance of query and key.

    Formula: `out[i, j] = scaled_scores[i, j] − slope * |i + (n_k − n_q) − j|` (Press et al. 2022, section 3).
    Nothing is added to the embeddings.

    Args:
        scaled_scores: (…, n_q, n_k) finite numbers, after the division by √d_k.
        query: (…, n_q, d); only its length is used.
        key: (…, n_k, d); only its length is used.
        slope: penalty per token of distance, positive; `alibi_slopes` gives one for each head.

    Returns:
        The shape of `scaled_scores`.

    Raises:
        ValueError: shapes do not fit, a number is not finite, or `slope` is not positive.
    """
    check_finite(scaled_scores=scaled_scores)
    return add(scaled_scores, distance_bias(query, key, slope=slope, name="distance_bias"), name="biased_scores")


def alibi_slopes(n_heads: int) -> np.ndarray:
    """The slopes of ALiBi: from steep, for a head that looks near, to flat, for one that looks far.

    Formula: `slope[k] = 2^(−8 (k + 1) / n_heads)`, k = 0 … n_heads − 1 (Press et al. 2022, section 3): 1/2 … 1/256 for
    8 heads.

    Args:
        n_heads: number of heads, 1 or more.

    Returns:
        (n_heads,) positive numbers.

    Raises:
        ValueError: there is no head.
    """
    if n_heads < 1:
        raise ValueError(f"n_heads is {n_heads}; it must be 1 or more.")
    return 2.0 ** (-8.0 * np.arange(1, n_heads + 1) / n_heads)
