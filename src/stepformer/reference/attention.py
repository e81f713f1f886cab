"""Attention in NumPy: scaled dot-product and additive. Torch twins: `stepformer.nn.attention`."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from stepformer.ops import (
    add_pairs,
    matmul,
    scale,
    softmax,
    tanh,
    transpose,
    zero_masked,
)
from stepformer.ops import (
    mask as apply_mask,
)
from stepformer.recording import scope
from stepformer.reference import _finite as finite
from stepformer.reference.masks import check_mask
from stepformer.trace import given_array


class Attended(NamedTuple):
    """What attention returns: the output, and the weights with which it averaged the values."""

    output: np.ndarray
    weights: np.ndarray


def scaled_dot_product_attention(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray | None = None
) -> Attended:
    """For each query, the average of the values, weighted by how well their keys match it.

    Formula: `softmax(mask(query @ key.T / sqrt(d_k))) @ value` (Vaswani et al. 2017, eq. 1).

    Args:
        query: (…, n_q, d_k) finite numbers.
        key: (…, n_k, d_k) finite numbers, except at keys that are masked for every query, which may hold anything.
        value: (…, n_k, d_v), finite likewise.
        mask: booleans (…, n_q, n_k), True = may attend. A query that may attend to nothing gets zeros.

    Returns:
        output (…, n_q, d_v) and weights (…, n_q, n_k); each row of weights sums to 1, or to 0 if fully masked.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: shapes do not fit, or a number that counts is not finite.
    """
    check_lengths(query, key, value)
    if np.shape(query)[-1] != np.shape(key)[-1]:
        raise ValueError(f"query {np.shape(query)} and key {np.shape(key)} must have the same width d_k.")
    key, value = without_hidden_rows(query, key, value, mask)
    with scope("attention"):
        return attend(query, key, value, mask)


def additive_attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    params: Mapping[str, np.ndarray],
    mask: np.ndarray | None = None,
) -> Attended:
    """Attention whose scores come from a small network instead of a dot product.

    Formula: `scores[i, j] = v · tanh(query[i] @ w_query + key[j] @ w_key)`, then softmax and weighted sum
    (Bahdanau et al. 2015, section 3.1 and appendix A.1.2). Query and key may have different widths.

    Args:
        query: (…, n_q, d_q) finite numbers.
        key: (…, n_k, d_k) finite numbers, except at keys masked for every query.
        value: (…, n_k, d_v), finite likewise.
        params: "w_query" (d_q, d_a), "w_key" (d_k, d_a), "v" (d_a,).
        mask: booleans (…, n_q, n_k), True = may attend.

    Returns:
        output (…, n_q, d_v) and weights (…, n_q, n_k).

    Raises:
        TypeError: the mask is not boolean.
        ValueError: shapes do not fit, or a number that counts is not finite.
    """
    check_lengths(query, key, value)
    key, value = without_hidden_rows(query, key, value, mask)
    with scope("additive_attention"):
        projected_query = matmul(query, params["w_query"], name="projected_query")
        projected_key = matmul(key, params["w_key"], name="projected_key")
        hidden = tanh(add_pairs(projected_query, projected_key, name="pairs"), name="hidden")
        return _weigh(matmul(hidden, params["v"], name="scores"), value, mask)


def attend(query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray | None) -> Attended:
    """Scaled dot-product attention on inputs that were checked: for the layers that are made of it.

    Formula: `softmax(mask(query @ key.T / sqrt(d_k))) @ value` (Vaswani et al. 2017, eq. 1).

    Args:
        query: (…, n_q, d_k).
        key: (…, n_k, d_k).
        value: (…, n_k, d_v).
        mask: booleans (…, n_q, n_k), True = may attend, or None.

    Returns:
        output (…, n_q, d_v) and weights (…, n_q, n_k).
    """
    scores = matmul(query, transpose(key, name="key_transposed"), name="scores")
    return _weigh(scale(scores, query, name="scaled_scores"), value, mask)


def _weigh(scores: np.ndarray, value: np.ndarray, mask: np.ndarray | None) -> Attended:
    """Scores to weights to the weighted sum of the values: the half that all kinds of attention share."""
    if mask is not None:
        scores = apply_mask(scores, mask, name="masked_scores")
    weights = softmax(scores, name="weights")
    return Attended(matmul(weights, value, name="output"), weights)


def without_hidden_rows(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Check mask and numbers, and clear what no query may attend to.

    Formula: `key[j] = value[j] = 0` where `mask[i, j]` is False for every i.

    Args:
        query: (…, n_q, d_q).
        key: (…, n_k, d_k).
        value: (…, n_k, d_v).
        mask: booleans (…, n_q or 1, n_k), True = may attend, or None.

    Returns:
        key and value in their shapes.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: the mask does not fit, or a number that counts is not finite.
    """
    if mask is None:
        check_finite(query, key, value, None)
        return key, value
    check_mask(mask, query, key)
    check_finite(query, key, value, mask)
    same = value is key
    key = zero_masked(key, mask, name="visible_key")
    return key, key if same else zero_masked(value, mask, name="visible_value")


def check_lengths(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> None:
    """Every key needs one value; all three need rows and a width.

    Args:
        query: (…, n_q, width).
        key: (…, n_k, width).
        value: (…, n_k, width).

    Raises:
        ValueError: an input has fewer than two axes, or the numbers of keys and values differ.
    """
    given = {"query": query, "key": key, "value": value}
    shapes = {name: given_array(x, name).shape for name, x in given.items()}
    for name, shape in shapes.items():
        if len(shape) < 2:
            raise ValueError(f"{name} has shape {shape}; it must be (…, length, width).")
    if shapes["key"][-2] != shapes["value"][-2]:
        raise ValueError(
            f"key {shapes['key']} has {shapes['key'][-2]} rows and value {shapes['value']} has "
            f"{shapes['value'][-2]}; every key needs one value."
        )


def check_finite(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    mask: np.ndarray | None,
    names: tuple[str, str, str] = ("query", "key", "value"),
) -> None:
    """Refuse NaN and infinity, except in rows of key and value that the mask hides from every query.

    Args:
        query: (…, n_q, d_q).
        key: (…, n_k, d_k).
        value: (…, n_k, d_v).
        mask: booleans (…, n_q or 1, n_k), True = may attend, or None.
        names: what the message calls the three.

    Raises:
        TypeError: an input holds no numbers.
        ValueError: a number that counts is not finite.
    """
    hidden = None if mask is None else hidden_rows(mask)
    for name, x, may_hide in zip(names, (query, key, value), (None, hidden, hidden), strict=True):
        finite.check_finite(may_hide, **{name: x})


def hidden_rows(mask: np.ndarray) -> np.ndarray:
    """Which keys no query may attend to.

    Formula: `out[j, 0] = not any over i of mask[i, j]`.

    Args:
        mask: booleans (…, n_q or 1, n_k), True = may attend.

    Returns:
        (…, n_k, 1) booleans, True = hidden.
    """
    return ~np.asarray(mask, dtype=bool).any(axis=-2)[..., None]
