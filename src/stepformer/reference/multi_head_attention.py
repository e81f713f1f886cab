"""Multi-head attention in NumPy. Torch twin: `stepformer.nn.multi_head_attention`."""

from collections.abc import Mapping

import numpy as np

from stepformer.ops import linear, merge_heads, share_across_heads, split_heads
from stepformer.recording import scope
from stepformer.reference.attention import Attended, attend, check_lengths, without_hidden_rows


def multi_head_attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    params: Mapping[str, np.ndarray],
    n_heads: int,
    mask: np.ndarray | None = None,
) -> Attended:
    """Several attentions side by side, each on its own projection of the inputs.

    Formula: `merge(attention(split(query @ w_q + b_q), split(key @ w_k + b_k), split(value @ w_v + b_v))) @ w_o + b_o`
    (Vaswani et al. 2017, section 3.2.2). One head gives plain attention between two linear layers.

    Args:
        query: (…, n_q, d_model) finite numbers.
        key: (…, n_k, d_model), finite except at keys masked for every query.
        value: (…, n_k, d_model), finite likewise.
        params: "w_q.weight" (d_model, n_heads * d_k), "w_q.bias"; the same for w_k, w_v and w_o.
        n_heads: number of heads.
        mask: booleans (…, n_q, n_k), True = may attend; the same for every head.

    Returns:
        output (…, n_q, d_model) and weights (…, n_heads, n_q, n_k), one matrix for each head.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: shapes do not fit, `n_heads` does not divide a width, or a number that counts is not finite.
    """
    check_lengths(query, key, value)
    # Before the projections, so that padding which holds NaN does not reach them.
    key, value = without_hidden_rows(query, key, value, mask)
    with scope("multi_head_attention"):
        return attend_in_heads(query, key, value, params, n_heads, mask)


def attend_in_heads(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    params: Mapping[str, np.ndarray],
    n_heads: int,
    mask: np.ndarray | None,
) -> Attended:
    """Multi-head attention on inputs that were checked: for the layers that are made of it, which open their own scope.

    Formula: as `multi_head_attention` (Vaswani et al. 2017, section 3.2.2).

    Args:
        query: (…, n_q, d_model).
        key: (…, n_k, d_model).
        value: (…, n_k, d_model).
        params: "w_q.weight", "w_q.bias"; the same for w_k, w_v and w_o.
        n_heads: number of heads.
        mask: booleans (…, n_q or 1, n_k), True = may attend, or None.

    Returns:
        output (…, n_q, d_model) and weights (…, n_heads, n_q, n_k).
    """
    mask = None if mask is None else share_across_heads(mask, name="mask_for_heads")
    heads = {}
    for role, x in (("query", query), ("key", key), ("value", value)):
        letter = role[0]
        projected = linear(x, params[f"w_{letter}.weight"], params[f"w_{letter}.bias"], name=f"projected_{role}")
        heads[role] = split_heads(projected, n_heads=n_heads, name=f"{role}_heads")
    with scope("attention"):
        attended = attend(heads["query"], heads["key"], heads["value"], mask)
    merged = merge_heads(attended.output, name="merged_heads")
    return Attended(linear(merged, params["w_o.weight"], params["w_o.bias"], name="output"), attended.weights)
