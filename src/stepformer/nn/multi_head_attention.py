"""Multi-head attention in torch, as in `stepformer.reference.multi_head_attention`, and step by step with a cache."""

from numbers import Integral

import torch
from torch import nn
from torch.nn import functional as F

from stepformer.nn._cache import KeyValueCache
from stepformer.nn._layers import check_dropout, check_sizes
from stepformer.nn.attention import Attended, attend, check_lengths, without_hidden_rows
from stepformer.nn.masks import causal_mask


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each on its own projection of the inputs.

    Formula: `merge(attention(split(w_q(query)), split(w_k(key)), split(w_v(value))))`, then `w_o`
    (Vaswani et al. 2017, section 3.2.2).

    Three things differ from `torch.nn.MultiheadAttention`: True in a mask means "may attend"; weights are
    returned for each head and before dropout; a query that may attend to nothing gives zeros before `w_o` in
    every mode.

    Args:
        d_model: width of the inputs and of the output.
        n_heads: number of heads.
        d_k: width of the queries and keys of one head; d_model / n_heads if not given.
        d_v: width of the values of one head; d_k if not given.
        dropout: the share of weights that is set to zero at random in training.
    """

    def __init__(
        self, d_model: int, n_heads: int, d_k: int | None = None, d_v: int | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__()
        check_dropout(dropout)
        check_sizes(d_model=d_model)
        if not isinstance(n_heads, Integral) or n_heads < 1 or (d_k is None and d_model % n_heads):
            raise ValueError(f"d_model = {d_model} can not be split into n_heads = {n_heads!r} equal heads.")
        d_k = d_model // n_heads if d_k is None else d_k
        d_v = d_k if d_v is None else d_v
        check_sizes(d_k=d_k, d_v=d_v)
        self.n_heads = n_heads
        self.dropout = dropout
        self.w_q = nn.Linear(d_model, n_heads * d_k)
        self.w_k = nn.Linear(d_model, n_heads * d_k)
        self.w_v = nn.Linear(d_model, n_heads * d_v)
        self.w_o = nn.Linear(n_heads * d_v, d_model)

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
            output (…, n_q, d_model), and weights (…, n_heads, n_q, n_k) or None.
        """
        check_lengths(query, key, value)
        # Before the projections: 0 · NaN in a gradient of their weights would be NaN.
        key, value = without_hidden_rows(query, key, value, mask)
        return self.attend(query, self.project(key, value), mask, need_weights)

    def step(
        self, x: torch.Tensor, cache: KeyValueCache | None = None, need_weights: bool = False
    ) -> tuple[Attended, KeyValueCache]:
        """Self-attention of new tokens to all tokens so far, without projecting the earlier ones again.

        What comes out are the last rows of `forward` with a causal mask. For one new token after n others it
        costs O(n), where `forward` costs O(n²).

        Args:
            x: (…, m, d_model), the new tokens; one, when a model writes token by token.
            cache: what the step before returned; None at the first.
            need_weights: also return the weights.

        Returns:
            The output (…, m, d_model) of the new tokens with weights (…, n_heads, m, n + m) or None; and the cache,
            which now holds the new tokens as well.
        """
        known = self.project(x, x, cache)
        # One new token may attend to everything; of several, none to a later one.
        mask = None if x.shape[-2] == 1 else causal_mask(x, known.key)
        return self.attend(x, known, mask, need_weights), known

    def project(self, key: torch.Tensor, value: torch.Tensor, cache: KeyValueCache | None = None) -> KeyValueCache:
        """The keys and values of every head, after those that are known already.

        Args:
            key: (…, n_k, d_model), without anything that is not finite.
            value: (…, n_k, d_model), likewise.
            cache: keys and values of earlier tokens, if there are any.

        Returns:
            Keys (…, n_heads, n, d_k) and values (…, n_heads, n, d_v) of all tokens.

        Raises:
            ValueError: the cache is one of other sentences.
        """
        key_heads = split_heads(self.w_k(key), self.n_heads)  # (…, n_heads, n_k, d_k)
        value_heads = split_heads(self.w_v(value), self.n_heads)  # (…, n_heads, n_k, d_v)
        if cache is not None:
            if cache.key.shape[:-2] != key_heads.shape[:-2]:
                raise ValueError(
                    f"cache holds keys of shape {tuple(cache.key.shape)}, and those of the new tokens are "
                    f"{tuple(key_heads.shape)}; it must come from the same sentences and the same module."
                )
            return cache.extended(key_heads, value_heads)
        return KeyValueCache(key_heads, value_heads)

    def stacked(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The parameters of `w_q`, `w_k` and `w_v` upon one another, so that a step needs one product for all three.

        Returns:
            Weight (3 · n_heads · d_k, d_model) and bias (3 · n_heads · d_k,), copies; d_v must be d_k.
        """
        parts = (self.w_q, self.w_k, self.w_v)
        return torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts])

    def step_back(
        self,
        x: torch.Tensor,
        known: KeyValueCache,
        stacked: tuple[torch.Tensor, torch.Tensor],
        hidden: torch.Tensor | None = None,
        n_rows: int = 1,
    ) -> tuple[torch.Tensor, KeyValueCache]:
        """What `step` does, for one new token of every sentence that a model writes: without checks.

        Args:
            x: (batch, 1, d_model).
            known: keys and values of the tokens before.
            stacked: what `stacked` returned.
            hidden: as for `step_across`; None, if each row has its own keys and values.
            n_rows: how many rows of x, one behind the other, have their keys and values together
                (`KeyValueCache.together`).

        Returns:
            The output (batch, 1, d_model), and keys and values of one token more.
        """
        n_rows = 1 if hidden is None else n_rows
        projected = F.linear(x, *stacked).view(-1, n_rows, 3, self.n_heads, x.shape[-1] // self.n_heads)
        query, key, value = projected.permute(2, 0, 3, 1, 4).unbind(0)  # each (batch / n_rows, n_heads, n_rows, d_k)
        known = known.extended(key, value)
        if hidden is not None:
            return self._merged(self._attend_together(query, known, hidden), x), known
        return self._merged(F.scaled_dot_product_attention(query, *known), x), known

    def step_across(self, x: torch.Tensor, known: KeyValueCache, hidden: torch.Tensor, n_rows: int = 1) -> torch.Tensor:
        """What `attend` does, for one new token of every sentence that a model writes: without checks.

        Args:
            x: (batch, 1, d_model).
            known: keys and values, of batch / n_rows sentences.
            hidden: (batch / n_rows · n_heads, n_rows or 1, n), what is added to the scores: 0 where a row may attend,
                which must be to one key at least, and −∞ elsewhere.
            n_rows: how many rows of x, one behind the other, attend to the same keys: together they are one product.

        Returns:
            (batch, 1, d_model).
        """
        query = self.w_q(x).view(-1, n_rows, self.n_heads, x.shape[-1] // self.n_heads).transpose(1, 2)
        return self._merged(self._attend_together(query, known, hidden), x)

    def _attend_together(self, query: torch.Tensor, known: KeyValueCache, hidden: torch.Tensor) -> torch.Tensor:
        """Attention as three calls. torch's kernel is slower for few queries, since it works through them in blocks."""
        key, value = (x.flatten(0, 1) for x in known)
        scores = torch.baddbmm(hidden, query.flatten(0, 1), key.mT, alpha=query.shape[-1] ** -0.5)
        return torch.bmm(scores.softmax(dim=-1), value).view(query.shape)

    def _merged(self, output: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return self.w_o(output.transpose(1, 2).reshape(x.shape))

    def attend(
        self, query: torch.Tensor, known: KeyValueCache, mask: torch.Tensor | None, need_weights: bool = False
    ) -> Attended:
        """Let queries attend to keys and values that were projected, in every head; merge the heads and project back.

        Args:
            query: (…, n_q, d_model).
            known: what `project` returned.
            mask: booleans (…, n_q or 1, n), True = may attend, or None.
            need_weights: also return the weights.

        Returns:
            output (…, n_q, d_model), and weights (…, n_heads, n_q, n) or None.
        """
        query_heads = split_heads(self.w_q(query), self.n_heads)  # (…, n_heads, n_q, d_k)
        for_heads = None if mask is None else mask.unsqueeze(-3)  # (…, 1, n_q, n)
        dropout = self.dropout if self.training else 0.0
        attended = attend(query_heads, *known, for_heads, dropout, need_weights)
        return Attended(self.w_o(merge_heads(attended.output)), attended.weights)


def split_heads(x: torch.Tensor, n_heads: int) -> torch.Tensor:
    """Cut the width of every token into heads: reshape first, then move the head axis forward.

    Args:
        x: (…, n, d).
        n_heads: number of heads, a divisor of d.

    Returns:
        (…, n_heads, n, d / n_heads).
    """
    return x.unflatten(-1, (n_heads, -1)).transpose(-2, -3)


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    """Put the heads of every token side by side again: the inverse of `split_heads`.

    Args:
        x: (…, n_heads, n, d_v).

    Returns:
        (…, n, n_heads * d_v).
    """
    return x.transpose(-2, -3).flatten(-2)
