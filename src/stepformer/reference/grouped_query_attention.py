"""Grouped-query attention in NumPy. Torch twin: `stepformer.nn.grouped_query_attention`."""

from collections.abc import Mapping

import numpy as np

from stepformer.ops import linear, merge_heads, share_across_heads, split_heads
from stepformer.recording import axes_of, scope
from stepformer.reference.attention import Attended, attend, check_lengths, without_hidden_rows


def grouped_query_attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    params: Mapping[str, np.ndarray],
    n_heads: int,
    n_kv_heads: int,
    mask: np.ndarray | None = None,
) -> Attended:
    """Multi-head attention in which groups of heads share their keys and values.

    Formula: head h asks with its own query, `attention(query[h], key[g], value[g])`, `g = h // (n_heads / n_kv_heads)`
    (Ainslie et al. 2023, section 2.2). As many groups as heads give multi-head attention, one group gives multi-query
    attention (Shazeer 2019).

    Args:
        query: (…, n_q, d_model) finite numbers.
        key: (…, n_k, d_model), finite except at keys masked for every query.
        value: (…, n_k, d_model), finite likewise.
        params: "w_q.weight" (d_model, n_heads * d_k), "w_k.weight" (d_model, n_kv_heads * d_k), "w_v.weight" (d_model,
            n_kv_heads * d_v), "w_o.weight" (n_heads * d_v, d_model), and their biases.
        n_heads: number of heads.
        n_kv_heads: number of groups, a divisor of `n_heads`.
        mask: booleans (…, n_q, n_k), True = may attend; the same for every head.

    Returns:
        output (…, n_q, d_model) and weights (…, n_kv_heads, heads of a group, n_q, n_k).

    Raises:
        TypeError: the mask is not boolean.
        ValueError: shapes do not fit, the heads can not be dealt out evenly, or a number that counts is not finite.
    """
    if n_kv_heads < 1 or n_heads % n_kv_heads:
        raise ValueError(f"{n_heads} heads can not be dealt out evenly to n_kv_heads = {n_kv_heads} groups.")
    check_lengths(query, key, value)
    key, value = without_hidden_rows(query, key, value, mask)
    with scope("grouped_query_attention"):
        if mask is not None:
            mask = share_across_heads(share_across_heads(mask, name="mask_for_groups"), name="mask_for_heads")
        # Keys and values have one head in each group: an axis of size 1, along which all queries of the group meet it.
        heads = {
            role: _in_groups(role, x, params, n_kv_heads, n)
            for role, x, n in (("query", query, n_heads // n_kv_heads), ("key", key, 1), ("value", value, 1))
        }
        with scope("attention"):
            attended = attend(heads["query"], heads["key"], heads["value"], mask)
        merged = merge_heads(merge_heads(attended.output, name="merged_heads"), name="merged_groups")
        return Attended(linear(merged, params["w_o.weight"], params["w_o.bias"], name="output"), attended.weights)


def _in_groups(role: str, x: np.ndarray, params: Mapping[str, np.ndarray], n_groups: int, n_heads: int) -> np.ndarray:
    """Project, cut the columns into groups and each group into heads: (…, n_groups, n_heads, n, width of a head)."""
    letter = role[0]
    projected = linear(x, params[f"w_{letter}.weight"], params[f"w_{letter}.bias"], name=f"projected_{role}")
    names = axes_of(projected)
    axes = None if names is None else (*names[:-2], "group", *names[-2:])
    groups = split_heads(projected, n_heads=n_groups, name=f"{role}_groups", axes=axes)
    return split_heads(groups, n_heads=n_heads, name=f"{role}_heads")
