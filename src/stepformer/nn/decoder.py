"""The decoder in torch, as in `stepformer.reference.decoder`, and step by step with a cache."""

from typing import NamedTuple

import torch
from torch import nn

from stepformer.nn._cache import KeyValueCache
from stepformer.nn._layers import Dropout, add_and_norm, check_sizes, without_padding
from stepformer.nn.feed_forward import FeedForward
from stepformer.nn.masks import check_mask
from stepformer.nn.multi_head_attention import MultiHeadAttention
from stepformer.nn.normalization import LayerNorm


class LayerCache(NamedTuple):
    """Keys and values of one layer: of the target so far, and of the memory, which are computed once."""

    self_attention: KeyValueCache
    cross_attention: KeyValueCache


class DecodedLayer(NamedTuple):
    """What a layer returns: its output, and the keys and values for the tokens to come."""

    output: torch.Tensor
    cache: LayerCache


class DecodedLayers(NamedTuple):
    """What all layers return: the output of the last, and the keys and values of each."""

    output: torch.Tensor
    cache: tuple[LayerCache, ...]


class DecoderLayer(nn.Module):
    """Look at the target so far, then at the source, then change each token on its own; add and normalise each time.

    Formula: `y = norm(x + self_attention(x))`, `z = norm(y + cross_attention(y, memory))`,
    `out = norm(z + feed_forward(z))` (Vaswani et al. 2017, section 3.1); with `norm_first` each sub-layer is
    `x + sublayer(norm(x))`. The memory is not normalised again.

    Args:
        d_model: width of the tokens, in and out, and of the memory.
        n_heads: number of heads, a divisor of d_model.
        d_ff: inner width of the feed-forward network.
        dropout: as in `EncoderLayer`.
        activation: of the network, "relu" or "gelu".
        norm_first: normalise what goes into a sub-layer, not the sum that comes after it.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        check_sizes(d_model=d_model, n_heads=n_heads, d_ff=d_ff)
        self.d_model = d_model
        self.norm_first = norm_first
        self.self_attention = MultiHeadAttention(d_model, n_heads, dropout=dropout)
        self.self_attention_norm = LayerNorm(d_model)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, dropout=dropout)
        self.cross_attention_norm = LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, activation, dropout)
        self.feed_forward_norm = LayerNorm(d_model)
        self.dropout = Dropout(dropout)

    def forward(
        self,
        x: torch.Tensor,
        memory: torch.Tensor,
        tgt_mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
        cache: LayerCache | None = None,
    ) -> DecodedLayer:
        """Run the three sub-layers, on the whole target or, with a cache, on its newest tokens.

        Args:
            x: (…, m, d_model), all tokens of the target (m = n_tgt), or those that the cache does not hold yet; rows
                masked for every query (padding) may hold anything.
            memory: (…, n_src, d_model), what the encoder returned; likewise.
            tgt_mask: booleans (…, m or 1, n_tgt), True = may attend: causal, and no padding.
            memory_mask: booleans (…, m or 1, n_src), True = may attend: no padding of the source.
            cache: what the call before returned; None at the first. The memory is then not projected again.

        Returns:
            output (…, m, d_model), and the cache of all n_tgt tokens.

        Raises:
            TypeError: a mask is not boolean.
            ValueError: shapes do not fit.
        """
        own, other = (None, None) if cache is None else cache
        newest = None if tgt_mask is None else tgt_mask[..., max(0, tgt_mask.shape[-1] - x.shape[-2]) :]
        x = without_padding(x, newest, self.d_model, "x")
        if cache is None:  # otherwise it was looked at when its keys and values were made
            memory = without_padding(memory, memory_mask, self.d_model, "memory", query=x)
        elif memory_mask is not None:
            check_mask(memory_mask, x, memory)

        def look_back(rows: torch.Tensor) -> torch.Tensor:
            nonlocal own
            own = self.self_attention.project(rows, rows, own)
            if tgt_mask is not None:
                check_mask(tgt_mask, rows, own.key[..., 0, :, :])
            return self.self_attention.attend(rows, own, tgt_mask).output

        def look_across(rows: torch.Tensor) -> torch.Tensor:
            nonlocal other
            if other is None:
                other = self.cross_attention.project(memory, memory)
            elif other.key.shape[-2] != memory.shape[-2]:
                raise ValueError(
                    f"memory has {memory.shape[-2]} rows, and the cache was made with {other.key.shape[-2]}; a cache "
                    "belongs to one source."
                )
            return self.cross_attention.attend(rows, other, memory_mask).output

        x = add_and_norm(x, look_back, self.self_attention_norm, self.dropout, self.norm_first)
        x = add_and_norm(x, look_across, self.cross_attention_norm, self.dropout, self.norm_first)
        x = add_and_norm(x, self.feed_forward, self.feed_forward_norm, self.dropout, self.norm_first)
        return DecodedLayer(x, LayerCache(own, other))

    def step(
        self,
        x: torch.Tensor,
        own: KeyValueCache,
        read: KeyValueCache,
        stacked: tuple[torch.Tensor, torch.Tensor],
        others_hidden: torch.Tensor | None,
        padding_hidden: torch.Tensor,
        n_rows: int = 1,
    ) -> tuple[torch.Tensor, KeyValueCache]:
        """What `forward` does, for one token of every sentence that a model writes: without checks and padding.

        Args:
            x: (batch, 1, d_model).
            own: keys and values of the tokens before; those of n_rows sentences together.
            read: keys and values of the memory, of batch / n_rows sources.
            stacked: what `MultiHeadAttention.stacked` returned for the self-attention.
            others_hidden: (batch / n_rows · n_heads, n_rows, n_rows · n_tgt), 0 for the tokens of each sentence itself
                and −∞ for those of its neighbours; None, if each has its own.
            padding_hidden: (batch / n_rows · n_heads, 1, n_src), 0 for the rows of the memory and −∞ for padding.
            n_rows: how many sentences, one behind the other, have the same source.

        Returns:
            The output (batch, 1, d_model), and keys and values of one token more.
        """
        first = self.norm_first
        norm = self.self_attention_norm
        y = norm(x) if first else x
        y, own = self.self_attention.step_back(y, own, stacked, others_hidden, n_rows)
        x = x + y if first else norm(x + y)
        norm = self.cross_attention_norm
        y = self.cross_attention.step_across(norm(x) if first else x, read, padding_hidden, n_rows)
        x = x + y if first else norm(x + y)
        norm = self.feed_forward_norm
        y = self.feed_forward(norm(x) if first else x)
        return x + y if first else norm(x + y), own


class Decoder(nn.Module):
    """Layers upon one another; every one of them looks at the same memory, the encoder's last word.

    Formula: `x = layer[i](x, memory)` for each layer, and `norm(x)` at the end where `final_norm` is set (Vaswani
    et al. 2017, section 3.1).

    Args:
        n_layers: number of layers.
        d_model: width of the tokens, in and out, and of the memory.
        n_heads: number of heads, a divisor of d_model.
        d_ff: inner width of the feed-forward networks.
        dropout: as in `EncoderLayer`.
        activation: "relu" or "gelu".
        norm_first: normalise what goes into a sub-layer, not the sum that comes after it.
        final_norm: normalise once more at the end; if not given, only with `norm_first`.
    """

    def __init__(
        self,
        n_layers: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
        final_norm: bool | None = None,
    ) -> None:
        super().__init__()
        check_sizes(n_layers=n_layers)
        layers = (DecoderLayer(d_model, n_heads, d_ff, dropout, activation, norm_first) for _ in range(n_layers))
        self.layers = nn.ModuleList(layers)
        self.norm = LayerNorm(d_model) if (norm_first if final_norm is None else final_norm) else None

    def forward(
        self,
        x: torch.Tensor,
        memory: torch.Tensor,
        tgt_mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
        cache: tuple[LayerCache, ...] | None = None,
    ) -> DecodedLayers:
        """Run the layers, on the whole target or, with a cache, on its newest tokens.

        Args:
            x: (…, m, d_model), all tokens of the target, or those that the cache does not hold yet.
            memory: (…, n_src, d_model), what the encoder returned.
            tgt_mask: booleans (…, m or 1, n_tgt), True = may attend.
            memory_mask: booleans (…, m or 1, n_src), True = may attend.
            cache: what the call before returned; None at the first.

        Returns:
            output (…, m, d_model), and the cache of all n_tgt tokens.

        Raises:
            ValueError: the cache is of a decoder with another number of layers.
        """
        past = [None] * len(self.layers) if cache is None else cache
        if len(past) != len(self.layers):
            raise ValueError(f"cache holds {len(past)} layers; this decoder has {len(self.layers)}.")
        known = []
        for layer, layer_cache in zip(self.layers, past, strict=True):
            x, now = layer(x, memory, tgt_mask, memory_mask, layer_cache)
            known.append(now)
        return DecodedLayers(x if self.norm is None else self.norm(x), tuple(known))
