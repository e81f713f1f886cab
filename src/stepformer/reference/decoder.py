"""The decoder in NumPy: layers that look back and at the encoder's memory. Torch twin: `stepformer.nn.decoder`.

As in the encoder, a layer names its results as its parameters lie, and who uses it opens the scope around it.
"""

from collections.abc import Mapping

import numpy as np

from stepformer.params import select
from stepformer.recording import scope
from stepformer.reference._layers import (
    attend_add_and_norm,
    count_layers,
    feed_add_and_norm,
    final_norm,
    without_padding,
)


def decoder_layer(
    x: np.ndarray,
    memory: np.ndarray,
    params: Mapping[str, np.ndarray],
    n_heads: int,
    tgt_mask: np.ndarray | None = None,
    memory_mask: np.ndarray | None = None,
    norm_first: bool = False,
    activation: str = "relu",
) -> np.ndarray:
    """Look at the target so far, then at the source, then change each token on its own; add and normalise each time.

    Formula: `y = norm(x + self_attention(x))`, `z = norm(y + cross_attention(y, memory))`,
    `out = norm(z + feed_forward(z))` (Vaswani et al. 2017, section 3.1); with `norm_first` each sub-layer is
    `x + sublayer(norm(x))`. The memory is not normalised again.

    Args:
        x: (…, n_tgt, d_model) numbers, one row for each token of the target; finite, except in rows masked for every
            query (padding).
        memory: (…, n_src, d_model), what the encoder returned; finite likewise.
        params: those of an encoder layer, and "cross_attention.w_q.weight" and so on, "cross_attention_norm.gain" and
            ".bias".
        n_heads: number of heads.
        tgt_mask: booleans (…, n_tgt or 1, n_tgt), True = may attend: causal, and no padding (`masks.target_mask`).
        memory_mask: booleans (…, n_tgt or 1, n_src), True = may attend: no padding of the source.
        norm_first: normalise what goes into a sub-layer, not the sum that comes after it.
        activation: of the feed-forward network, "relu" or "gelu".

    Returns:
        The shape of `x`.

    Raises:
        TypeError: a mask is not boolean.
        ValueError: shapes do not fit, or a number that counts is not finite.
    """
    x = without_padding(x, tgt_mask, "x")
    memory = without_padding(memory, memory_mask, "memory", query=x)
    if np.shape(memory)[-1] != np.shape(x)[-1]:
        raise ValueError(f"memory has shape {np.shape(memory)} and x {np.shape(x)}; both must be d_model wide.")
    x = attend_add_and_norm("self_attention", x, None, params, n_heads, tgt_mask, norm_first)
    x = attend_add_and_norm("cross_attention", x, memory, params, n_heads, memory_mask, norm_first)
    return feed_add_and_norm(x, params, norm_first, activation)


def decoder(
    x: np.ndarray,
    memory: np.ndarray,
    params: Mapping[str, np.ndarray],
    n_heads: int,
    tgt_mask: np.ndarray | None = None,
    memory_mask: np.ndarray | None = None,
    norm_first: bool = False,
    activation: str = "relu",
) -> np.ndarray:
    """Layers upon one another; every one of them looks at the same memory, the encoder's last word.

    Formula: `x = layer[i](x, memory)` for each layer; at the end `norm(x)` if there are parameters for it (Vaswani
    et al. 2017, section 3.1).

    Args:
        x: (…, n_tgt, d_model) numbers, finite except in rows masked for every query.
        memory: (…, n_src, d_model), finite likewise.
        params: "layers.0.self_attention.w_q.weight" and so on, for as many layers as there are; "norm.gain" and
            "norm.bias", if there is a norm at the end.
        n_heads: number of heads.
        tgt_mask: booleans (…, n_tgt or 1, n_tgt), True = may attend.
        memory_mask: booleans (…, n_tgt or 1, n_src), True = may attend.
        norm_first: normalise what goes into a sub-layer, not the sum that comes after it.
        activation: of the feed-forward networks, "relu" or "gelu".

    Returns:
        The shape of `x`.

    Raises:
        TypeError: a mask is not boolean.
        ValueError: shapes do not fit, or a number that counts is not finite.
    """
    for i in range(count_layers(params)):
        with scope(f"layers.{i}"):
            layer = select(params, f"layers.{i}")
            x = decoder_layer(x, memory, layer, n_heads, tgt_mask, memory_mask, norm_first, activation)
    return final_norm(x, params)
