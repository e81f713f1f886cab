"""Attention in torch: scaled dot-product and additive, as in `stepformer.reference.attention`.

Unlike the reference, these functions do not look for NaN and infinity in what counts: that would cost every
training step. What stands at keys that are masked for every query (padding) may be anything, here too: it
reaches neither the output nor a gradient.
"""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from stepformer.nn._layers import check_dropout, check_sizes, drop
from stepformer.nn.masks import check_mask


class Attended(NamedTuple):
    """What attention returns: the output, and the weights if they were asked for, without dropout."""

    output: torch.Tensor
    weights: torch.Tensor | None


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
    dropout: float = 0.0,
    need_weights: bool = False,
) -> Attended:
    """For each query, the average of the values, weighted by how well their keys match it.

    Formula: `softmax(mask(query @ key.T / sqrt(d_k))) @ value` (Vaswani et al. 2017, eq. 1).

    Args:
        query: (…, n_q, d_k).
        key: (…, n_k, d_k).
        value: (…, n_k, d_v).
        mask: booleans (…, n_q, n_k), True = may attend. A query that may attend to nothing gets zeros.
        dropout: the share of weights that is set to zero at random; 0 outside training.
        need_weights: also return the weights; torch's fused kernel, which never holds them, is then not used.

    Returns:
        output (…, n_q, d_v), and weights (…, n_q, n_k) or None.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: shapes do not fit.
    """
    check_dropout(dropout)
    check_lengths(query, key, value)
    if query.shape[-1] != key.shape[-1]:
        shapes = f"query {tuple(query.shape)} and key {tuple(key.shape)}"
        raise ValueError(f"{shapes} must have the same width d_k.")
    if query.shape[-1] == 0:
        raise ValueError(f"query has shape {tuple(query.shape)}; its width must be 1 or more.")
    key, value = without_hidden_rows(query, key, value, mask)
    return attend(query, key, value, mask, dropout, need_weights)


class AdditiveAttention(nn.Module):
    """Attention whose scores come from a small network instead of a dot product.

    Formula: `scores[i, j] = v · tanh(query[i] @ w_query + key[j] @ w_key)`, then softmax and weighted sum
    (Bahdanau et al. 2015, section 3.1 and appendix A.1.2). The three parameters multiply row vectors; unlike
    the weights of linear layers they have the same shape in the reference.

    Args:
        d_query: width of a query.
        d_key: width of a key; it may differ from that of a query.
        d_attention: number of hidden units.
    """

    def __init__(self, d_query: int, d_key: int, d_attention: int) -> None:
        super().__init__()
        check_sizes(d_query=d_query, d_key=d_key, d_attention=d_attention)
        self.w_query = nn.Parameter(torch.empty(d_query, d_attention))
        self.w_key = nn.Parameter(torch.empty(d_key, d_attention))
        self.v = nn.Parameter(torch.empty(d_attention))
        for matrix in (self.w_query, self.w_key, self.v.unsqueeze(-1)):
            nn.init.xavier_uniform_(matrix.data)

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> Attended:
        """Score every pair, then average the values.

        Args:
            query: (…, n_q, d_query).
            key: (…, n_k, d_key).
            value: (…, n_k, d_v).
            mask: booleans (…, n_q, n_k), True = may attend. A query that may attend to nothing gets zeros.

        Returns:
            output (…, n_q, d_v) and weights (…, n_q, n_k).
        """
        check_lengths(query, key, value)
        key, value = without_hidden_rows(query, key, value, mask)
        # (…, n_q, 1, d_attention) + (…, 1, n_k, d_attention) -> (…, n_q, n_k, d_attention)
        pairs = (query @ self.w_query).unsqueeze(-2) + (key @ self.w_key).unsqueeze(-3)
        allowed, idle = (None, None) if mask is None else _without_idle_queries(mask)
        weights = _cleared(_masked_softmax(torch.tanh(pairs) @ self.v, allowed), idle)
        return Attended(weights @ value, weights)


def check_lengths(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> None:
    """Every key needs one value, which torch's own function does not check; all three need rows and a width.

    Args:
        query: (…, n_q, width).
        key: (…, n_k, width).
        value: (…, n_k, width).

    Raises:
        ValueError: an input has fewer than two axes, or the numbers of keys and values differ.
    """
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.ndim < 2:
            raise ValueError(f"{name} has shape {tuple(x.shape)}; it must be (…, length, width).")
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"key {tuple(key.shape)} has {key.shape[-2]} rows and value {tuple(value.shape)} has "
            f"{value.shape[-2]}; every key needs one value."
        )


def without_hidden_rows(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Check the mask, and clear what no query may attend to, so that NaN there reaches neither output nor gradient.

    Args:
        query: (…, n_q, d_q); only its length is used.
        key: (…, n_k, d_k).
        value: (…, n_k, d_v).
        mask: booleans (…, n_q or 1, n_k), True = may attend, or None.

    Returns:
        key and value in their shapes.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: the mask does not fit.
    """
    if mask is None:
        return key, value
    check_mask(mask, query, key)
    hidden = ~mask.any(dim=-2).unsqueeze(-1)  # (…, n_k, 1)
    cleared = torch.where(hidden, 0.0, key)
    return cleared, cleared if value is key else torch.where(hidden, 0.0, value)


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    dropout: float,
    need_weights: bool,
) -> Attended:
    """Scaled dot-product attention on inputs that were checked: for the modules that are made of it.

    Args:
        query: (…, n_q, d_k).
        key: (…, n_k, d_k).
        value: (…, n_k, d_v).
        mask: booleans (…, n_q or 1, n_k), True = may attend, or None.
        dropout: the share of weights that is set to zero at random.
        need_weights: also return the weights.

    Returns:
        output (…, n_q, d_v), and weights (…, n_q, n_k) or None.
    """
    allowed, idle = (None, None) if mask is None else _without_idle_queries(mask)
    # On the CPU torch's fused kernel can not drop weights, and what takes its place is slower than these two lines; so
    # is the kernel itself for a few keys.
    on_cpu, few = query.device.type == "cpu", 1 < key.shape[-2] < VECTOR and query.shape[-2] > 1
    if need_weights or (on_cpu and (dropout or few)):
        # The query is scaled, not the product: in half precision the product could overflow.
        weights = _masked_softmax((query * query.shape[-1] ** -0.5) @ key.mT, allowed)
        output = drop(weights, dropout) @ value
    else:
        query, key, value = _same_leading_axes(query, key, value)
        output = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed, dropout_p=dropout)
    output = _cleared(output, idle)
    return Attended(output, _cleared(weights, idle) if need_weights else None)


VECTOR = 16
"""Numbers that a processor takes at once. torch's softmax over fewer takes them one by one, six times as slowly."""


def _masked_softmax(scores: torch.Tensor, allowed: torch.Tensor | None) -> torch.Tensor:
    """The weights, where every query may attend to something."""
    n_k = scores.shape[-1]
    scores = scores if allowed is None else torch.where(allowed, scores, -torch.inf)
    if not 1 < n_k < VECTOR or scores.device.type != "cpu":
        return scores.softmax(dim=-1)
    return F.pad(scores, (0, VECTOR - n_k), value=-torch.inf).softmax(dim=-1)[..., :n_k]


def _cleared(x: torch.Tensor, idle: torch.Tensor | None) -> torch.Tensor:
    """Zeros for the queries that may attend to nothing."""
    return x if idle is None else x.masked_fill(idle, 0.0)


def _without_idle_queries(mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Let idle queries, which may attend to nothing, attend to everything; and tell which those are.

    A softmax over nothing is 0/0, and its gradient is NaN even where the result is not used. So what comes out
    for idle queries is computed first and then set to zero, which also sends a gradient of zero back.
    """
    idle = ~mask.any(dim=-1, keepdim=True)  # (…, n_q, 1)
    return (mask | idle, idle) if idle.any() else (mask, None)


def _same_leading_axes(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Broadcast what comes before the last two axes, which torch's attention leaves to the caller."""
    leading = tensors[0].shape[:-2]
    if all(x.shape[:-2] == leading for x in tensors):
        return tensors  # nearly always; working out the shape takes longer than attending
    leading = torch.broadcast_shapes(*(x.shape[:-2] for x in tensors))
    return tuple(x.expand(*leading, *x.shape[-2:]) for x in tensors)
