"""Grouped-query attention in torch, as in `stepformer.reference.grouped_query_attention`."""

import torch
from torch import nn

from stepformer.nn._layers import check_sizes
from stepformer.nn.attention import Attended, attend, check_lengths, without_hidden_rows
from stepformer.nn.multi_head_attention import split_heads


class GroupedQueryAttention(nn.Module):
    """Multi-head attention in which groups of heads share their keys and values.

    Formula: head h asks with its own query, `attention(query[h], key[g], value[g])`, `g = h // (n_heads / n_kv_heads)`
    (Ainslie et al. 2023, section 2.2).

    Args:
        d_model: width of the inputs and of the output.
        n_heads: number of heads, a divisor of `d_model`.
        n_kv_heads: number of groups, a divisor of `n_heads`; `n_heads` gives multi-head attention, 1 multi-query
            attention (Shazeer 2019).
    """

    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int) -> None:
        super().__init__()
        check_sizes(d_model=d_model, n_heads=n_heads, n_kv_heads=n_kv_heads)
        if d_model % n_heads or n_heads % n_kv_heads:
            raise ValueError(
                f"d_model = {d_model}, n_heads = {n_heads}, n_kv_heads = {n_kv_heads}: each must be a multiple of the "
                "next."
            )
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        d_k = d_model // n_heads
        self.w_q = nn.Linear(d_model, n_heads * d_k)
        self.w_k = nn.Linear(d_model, n_kv_heads * d_k)
        self.w_v = nn.Linear(d_model, n_kv_heads * d_k)
        self.w_o = nn.Linear(n_heads * d_k, d_model)

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
        need_weights: bool = False,
    ) -> Attended:
        """Project, attend in every head, merge and project back.

        Args:
            query: (…, n_q, d_model).
            key: (…, n_k, d_model).
            value: (…, n_k, d_model).
            mask: booleans (…, n_q, n_k), True = may attend; the same for every head.
            need_weights: also return the weights.

        Returns:
            output (…, n_q, d_model), and weights (…, n_kv_heads, heads of a group, n_q, n_k) or None.
        """
        check_lengths(query, key, value)
        key, value = without_hidden_rows(query, key, value, mask)
        per_group = self.n_heads // self.n_kv_heads
        query_heads = split_heads(self.w_q(query), self.n_heads).unflatten(-3, (self.n_kv_heads, per_group))
        # One head in each group: an axis of size 1, along which all queries of the group meet it.
        key_heads, value_heads = (
            split_heads(w(x), self.n_kv_heads).unsqueeze(-3) for w, x in ((self.w_k, key), (self.w_v, value))
        )
        for_heads = None if mask is None else mask[..., None, None, :, :]
        attended = attend(query_heads, key_heads, value_heads, for_heads, 0.0, need_weights)
        merged = attended.output.flatten(-4, -3).transpose(-2, -3).flatten(-2)
        return Attended(self.w_o(merged), attended.weights)
