"""The encoder in torch, as in `stepformer.reference.encoder`."""

import torch
from torch import nn

from stepformer.nn._layers import Dropout, add_and_norm, check_sizes, without_padding
from stepformer.nn.feed_forward import FeedForward
from stepformer.nn.multi_head_attention import MultiHeadAttention
from stepformer.nn.normalization import LayerNorm


class EncoderLayer(nn.Module):
    """Let the tokens look at one another, then change each on its own; both times add what came in, and normalise.

    Formula: `y = norm(x + self_attention(x))`, `out = norm(y + feed_forward(y))` (Vaswani et al. 2017, section 3.1);
    with `norm_first`: `y = x + self_attention(norm(x))`, `out = y + feed_forward(norm(y))` (Xiong et al. 2020, fig. 1).

    Args:
        d_model: width of the tokens, in and out.
        n_heads: number of heads, a divisor of d_model.
        d_ff: inner width of the feed-forward network.
        dropout: the share of numbers that is set to zero at random in training: of the attention weights, of the hidden
            units of the network and of what each sub-layer returns.
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
        self.feed_forward = FeedForward(d_model, d_ff, activation, dropout)
        self.feed_forward_norm = LayerNorm(d_model)
        self.dropout = Dropout(dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Run both sub-layers.

        Args:
            x: (…, n, d_model); rows masked for every query (padding) may hold anything.
            mask: booleans (…, n or 1, n), True = may attend; it hides padding.

        Returns:
            The shape of `x`. The rows of padding are computed like any other and are to be ignored.

        Raises:
            TypeError: the mask is not boolean.
            ValueError: shapes do not fit.
        """

        def look_around(rows: torch.Tensor) -> torch.Tensor:
            return self.self_attention.attend(rows, self.self_attention.project(rows, rows), mask).output

        x = without_padding(x, mask, self.d_model, "x")
        x = add_and_norm(x, look_around, self.self_attention_norm, self.dropout, self.norm_first)
        return add_and_norm(x, self.feed_forward, self.feed_forward_norm, self.dropout, self.norm_first)


class Encoder(nn.Module):
    """Layers upon one another, all of the same shape, each with parameters of its own.

    Formula: `x = layer[i](x)` for each layer, and `norm(x)` at the end where `final_norm` is set (Vaswani et al. 2017,
    section 3.1).

    Args:
        n_layers: number of layers.
        d_model: width of the tokens, in and out.
        n_heads: number of heads, a divisor of d_model.
        d_ff: inner width of the feed-forward networks.
        dropout: as in `EncoderLayer`.
        activation: "relu" or "gelu".
        norm_first: normalise what goes into a sub-layer, not the sum that comes after it.
        final_norm: normalise once more at the end; if not given, only with `norm_first`, where nothing else has
            normalised the last sum. (`torch.nn.Transformer` always does.)
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
        layers = (EncoderLayer(d_model, n_heads, d_ff, dropout, activation, norm_first) for _ in range(n_layers))
        self.layers = nn.ModuleList(layers)
        self.norm = LayerNorm(d_model) if (norm_first if final_norm is None else final_norm) else None

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Run the layers.

        Args:
            x: (…, n, d_model); rows masked for every query (padding) may hold anything.
            mask: booleans (…, n or 1, n), True = may attend.

        Returns:
            The shape of `x`: one vector for each token, with its context in it.
        """
        for layer in self.layers:
            x = layer(x, mask)
        return x if self.norm is None else self.norm(x)
