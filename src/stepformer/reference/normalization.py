"""Layer norm and RMS norm in NumPy, step by step. Torch twins: `stepformer.nn.normalization`."""

from collections.abc import Mapping

import numpy as np

from stepformer.ops import add, divide, mean, mean_square, multiply, root, subtract
from stepformer.recording import scope
from stepformer.reference._finite import check_finite


def layer_norm(x: np.ndarray, params: Mapping[str, np.ndarray], eps: float = 1e-5) -> np.ndarray:
    """Bring each row to mean 0 and variance 1, then stretch and shift each column.

    Formula: `gain * (x - mean) / sqrt(variance + eps) + bias`; mean and variance are those of one row, and the variance
    divides by the width (Ba et al. 2016, eq. 4; torch.nn.LayerNorm). No row looks at another.

    Args:
        x: (…, d_model) finite numbers, one token a row.
        params: "gain" (d_model,) and "bias" (d_model,).
        eps: keeps the root away from zero; in units of the variance.

    Returns:
        The shape of `x`.

    Raises:
        TypeError: `x` does not hold numbers.
        ValueError: a width does not fit, a number is not finite, or `eps` is not positive.
    """
    check_finite(x=x)
    gain, bias, d_model = np.shape(params["gain"]), np.shape(params["bias"]), np.shape(x)[-1:]
    if not gain == bias == d_model != ():
        raise ValueError(f"x is {np.shape(x)}, gain is {gain}, bias is {bias}; gain and bias must be as wide as x.")
    if not eps > 0:
        raise ValueError(f"eps is {eps}; it must be positive.")
    with scope("layer_norm"):
        return normalise(x, params, eps)


def normalise(x: np.ndarray, params: Mapping[str, np.ndarray], eps: float = 1e-5) -> np.ndarray:
    """Layer norm on inputs that were checked: for the layers that are made of it, which open a scope of their own.

    Formula: `gain * (x - mean) / sqrt(variance + eps) + bias` (Ba et al. 2016, eq. 4).

    Args:
        x: (…, d_model).
        params: "gain" (d_model,) and "bias" (d_model,).
        eps: keeps the root away from zero; in units of the variance.

    Returns:
        The shape of `x`.
    """
    centred = subtract(x, mean(x, name="mean"), name="centred")
    variance = mean_square(centred, name="variance")
    normalised = divide(centred, root(variance, eps=eps, name="deviation"), name="normalised")
    return add(multiply(normalised, params["gain"], name="stretched"), params["bias"], name="output")


def rms_norm(x: np.ndarray, params: Mapping[str, np.ndarray], eps: float = 1e-5) -> np.ndarray:
    """Bring each row to a mean square of 1, then stretch each column: a layer norm without mean and bias.

    Formula: `gain * x / sqrt(mean of x² + eps)`, the mean over one row (Zhang & Sennrich 2019, section
    4; torch.nn.RMSNorm).

    Args:
        x: (…, d_model) finite numbers, one token a row.
        params: "gain" (d_model,).
        eps: keeps the root away from zero; in units of the mean square.

    Returns:
        The shape of `x`.

    Raises:
        TypeError: `x` does not hold numbers.
        ValueError: a width does not fit, a number is not finite, or `eps` is not positive.
    """
    check_finite(x=x)
    gain, d_model = np.shape(params["gain"]), np.shape(x)[-1:]
    if not gain == d_model != ():
        raise ValueError(f"x is {np.shape(x)} and gain is {gain}; the gain must be as wide as x.")
    if not eps > 0:
        raise ValueError(f"eps is {eps}; it must be positive.")
    with scope("rms_norm"):
        size = root(mean_square(x, name="mean_square"), eps=eps, name="root_mean_square")
        return multiply(divide(x, size, name="normalised"), params["gain"], name="output")
