"""Convolution in NumPy, over the words of a sentence and over images. Torch twins: `nn.convolution`."""

from collections.abc import Mapping

import numpy as np

from stepformer.ops import convolve_1d, convolve_2d
from stepformer.recording import scope
from stepformer.reference._finite import check_finite


def convolution_1d(
    x: np.ndarray, params: Mapping[str, np.ndarray], padding: str = "same", stride: int = 1, dilation: int = 1
) -> np.ndarray:
    """Slide a window over the words of a sentence: each result is made of a few neighbours, wherever they stand.

    Formula: `out[i] = sum over k of x[i * stride + k * dilation - before] @ weight[k] + bias`, zeros outside of x.

    Args:
        x: (…, n, d_in) finite numbers, one word a row.
        params: "weight" (width, d_in, d_out), a matrix for each place of the window; "bias" (d_out,).
        padding: "same": the window is centred on each word (one of even width looks further ahead than back);
            "causal": it ends at each word and sees nothing later; "none": only places where it fits.
        stride: how far the window moves from one result to the next.
        dilation: how far apart the words are that the window sees.

    Returns:
        (…, n_out, d_out); n_out is n with stride 1, and with padding "none" less by dilation * (width - 1).

    Raises:
        TypeError: `x` does not hold numbers.
        ValueError: shapes or attributes do not fit, a number is not finite, or there is no such padding.
    """
    check_finite(x=x)
    before, after = margins(padding, len(params["weight"]), dilation)
    with scope("convolution"):
        weight, bias = params["weight"], params["bias"]
        margin = {"before": before, "after": after}
        return convolve_1d(x, weight, bias, **margin, stride=stride, dilation=dilation, name="output")


def margins(padding: str, width: int, dilation: int = 1) -> tuple[int, int]:
    """How many rows of zeros a padding puts before the first word and after the last.

    Formula: with `reach = dilation * (width - 1)`, "same" has (reach // 2, reach - reach // 2), as torch; "causal" has
    (reach, 0) and "none" (0, 0).

    Args:
        padding: "same", "causal" or "none".
        width: how many words the window sees.
        dilation: how far apart they are.

    Returns:
        The numbers of rows before and after.

    Raises:
        ValueError: there is no such padding.
    """
    reach = dilation * (width - 1)
    known = {"same": (reach // 2, reach - reach // 2), "causal": (reach, 0), "none": (0, 0)}
    if padding not in known:
        raise ValueError(f"padding is {padding!r}; it must be one of {', '.join(known)}.")
    return known[padding]


def convolution_2d(x: np.ndarray, params: Mapping[str, np.ndarray], padding: int = 0, stride: int = 1) -> np.ndarray:
    """Slide small windows over an image: each kernel looks for one local pattern, wherever it stands.

    Formula: `out[o, i, j] = sum over c, k, l of x[c, i * stride + k - padding, j * stride + l - padding] *
    weight[o, c, k, l] + bias[o]`, zeros outside of x.

    Args:
        x: (…, c_in, height, width) finite numbers, one picture for each channel.
        params: "weight" (c_out, c_in, window height, window width); "bias" (c_out,).
        padding: how many rows and columns of zeros are put around the image.
        stride: how far the window moves from one result to the next, down and to the right.

    Returns:
        (…, c_out, rows, columns).

    Raises:
        TypeError: `x` does not hold numbers.
        ValueError: shapes or attributes do not fit, or a number is not finite.
    """
    check_finite(x=x)
    with scope("convolution"):
        return convolve_2d(x, params["weight"], params["bias"], padding=padding, stride=stride, name="output")
