"""The feed-forward network in NumPy, with a bend or with a gate. Torch twins: `nn.feed_forward`."""

from collections.abc import Mapping

import numpy as np

from stepformer.ops import gelu, linear, matmul, multiply, relu, sigmoid
from stepformer.recording import scope
from stepformer.reference._finite import check_finite

ACTIVATIONS = {"relu": relu, "gelu": gelu}


def feed_forward(x: np.ndarray, params: Mapping[str, np.ndarray], activation: str = "relu") -> np.ndarray:
    """Expand each row, bend it, contract it again; every row on its own, all with the same parameters.

    Formula: `activation(x @ w_1 + b_1) @ w_2 + b_2` (Vaswani et al. 2017, eq. 2, with ReLU).

    Args:
        x: (…, d_model) finite numbers, one token a row.
        params: "w_1.weight" (d_model, d_ff), "w_1.bias" (d_ff,), "w_2.weight" (d_ff, d_out) and "w_2.bias" (d_out,); in
            a Transformer d_out is d_model.
        activation: "relu", or "gelu" (the exact one, with the error function).

    Returns:
        (…, d_out).

    Raises:
        TypeError: `x` does not hold numbers.
        ValueError: shapes do not fit, a number is not finite, or there is no such activation.
    """
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation is {activation!r}; it must be one of {', '.join(ACTIVATIONS)}.")
    check_finite(x=x)
    with scope("feed_forward"):
        expanded = linear(x, params["w_1.weight"], params["w_1.bias"], name="expanded")
        hidden = ACTIVATIONS[activation](expanded, name="hidden")
        return linear(hidden, params["w_2.weight"], params["w_2.bias"], name="output")


def gated_feed_forward(x: np.ndarray, params: Mapping[str, np.ndarray]) -> np.ndarray:
    """A feed-forward network with a gate, SwiGLU: one expansion says how much of the other goes on.

    Formula: `(silu(x @ w_1) * (x @ w_3)) @ w_2`, `silu(z) = z * sigmoid(z)` (Shazeer 2020, eq. 6, where w_3 is V).
    Three matrices, no biases.

    Args:
        x: (…, d_model) finite numbers, one token a row.
        params: "w_1.weight" (d_model, d_ff), the gate; "w_3.weight" (d_model, d_ff), what is gated; "w_2.weight" (d_ff,
            d_out).

    Returns:
        (…, d_out).

    Raises:
        TypeError: `x` does not hold numbers.
        ValueError: shapes do not fit, or a number is not finite.
    """
    check_finite(x=x)
    with scope("feed_forward"):
        gate = matmul(x, params["w_1.weight"], name="gate")
        opened = multiply(gate, sigmoid(gate, name="share"), name="opened")
        expanded = matmul(x, params["w_3.weight"], name="expanded")
        return matmul(multiply(opened, expanded, name="hidden"), params["w_2.weight"], name="output")
