"""The encoder in NumPy: layers of self-attention and feed-forward network. Torch twin: `stepformer.nn.encoder`.

A layer names its results as its parameters lie: "self_attention.output" comes from "self_attention.w_o.weight". Who
uses a layer opens the scope around it.
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


def encoder_layer(
    x: np.ndarray,
    params: Mapping[str, np.ndarray],
    n_heads: int,
    mask: np.ndarray | None = None,
    norm_first: bool = False,
    activation: str = "relu",
) -> np.ndarray:
    """Let the tokens look at one another, then change each on its own; both times add what came in, and normalise.

    Formula: `y = norm(x + self_attention(x))`, `out = norm(y + feed_forward(y))` (Vaswani et al. 2017, section 3.1);
    with `norm_first`: `y = x + self_attention(norm(x))`, `out = y + feed_forward(norm(y))` (Xiong et al. 2020, fig. 1).

    Args:
        x: (…, n, d_model) numbers, one row for each token; finite, except in rows masked for every query (padding).
        params: "self_attention.w_q.weight" and so on, "self_attention_norm.gain" and ".bias",
            "feed_forward.w_1.weight" and so on, "feed_forward_norm.gain" and ".bias".
        n_heads: number of heads.
        mask: booleans (…, n or 1, n), True = may attend; it hides padding.
        norm_first: normalise what goes into a sub-layer, not the sum that comes after it.
        activation: of the feed-forward network, "relu" or "gelu".

    Returns:
        The shape of `x`. The rows of padding are computed like any other and are to be ignored.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: shapes do not fit, or a number that counts is not finite.
    """
    x = without_padding(x, mask, "x")
    x = attend_add_and_norm("self_attention", x, None, params, n_heads, mask, norm_first)
    return feed_add_and_norm(x, params, norm_first, activation)


def encoder(
    x: np.ndarray,
    params: Mapping[str, np.ndarray],
    n_heads: int,
    mask: np.ndarray | None = None,
    norm_first: bool = False,
    activation: str = "relu",
) -> np.ndarray:
    """Layers upon one another, all of the same shape, each with parameters of its own.

    Formula: `x = layer[i](x)` for each layer; at the end `norm(x)` if there are parameters for it: pre-norm needs it,
    because nothing has normalised the last sum (Vaswani et al. 2017, section 3.1).

    Args:
        x: (…, n, d_model) numbers, finite except in rows masked for every query.
        params: "layers.0.self_attention.w_q.weight" and so on, for as many layers as there are; "norm.gain" and
            "norm.bias", if there is a norm at the end.
        n_heads: number of heads.
        mask: booleans (…, n or 1, n), True = may attend.
        norm_first: normalise what goes into a sub-layer, not the sum that comes after it.
        activation: of the feed-forward networks, "relu" or "gelu".

    Returns:
        The shape of `x`: one vector for each token, with its context in it.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: shapes do not fit, or a number that counts is not finite.
    """
    for i in range(count_layers(params)):
        with scope(f"layers.{i}"):
            x = encoder_layer(x, select(params, f"layers.{i}"), n_heads, mask, norm_first, activation)
    return final_norm(x, params)
