"""Convolution in torch, over the words of a sentence and over images, as in `stepformer.reference.convolution`."""

import torch
from torch import nn
from torch.nn import functional as F

from stepformer.nn._layers import check_sizes


class Convolution1d(nn.Module):
    """Slide a window over the words of a sentence, which are rows here; `torch.nn.Conv1d` wants them as columns.

    Formula: `out[i] = sum over k of x[i * stride + k * dilation - before] @ weight[k] + bias`, zeros outside of x. The
    parameter `weight` is (d_out, d_in, width) as in torch; the reference has (width, d_in, d_out).

    Args:
        d_in: width of a word's vector.
        d_out: width of a result.
        width: how many words the window sees, 1 or more.
        padding: "same": centred on each word; "causal": ends at each word and sees nothing later; "none".
        stride: how far the window moves from one result to the next.
        dilation: how far apart the words are that the window sees.
    """

    def __init__(
        self, d_in: int, d_out: int, width: int, padding: str = "same", stride: int = 1, dilation: int = 1
    ) -> None:
        super().__init__()
        check_sizes(d_in=d_in, d_out=d_out, width=width, stride=stride, dilation=dilation)
        reach = dilation * (width - 1)
        known = {"same": (reach // 2, reach - reach // 2), "causal": (reach, 0), "none": (0, 0)}
        if padding not in known:
            raise ValueError(f"padding is {padding!r}; it must be one of {', '.join(known)}.")
        self.margins = known[padding]
        self.stride, self.dilation = stride, dilation
        fresh = nn.Conv1d(d_in, d_out, width)  # torch's way to draw the first weights
        self.weight, self.bias = fresh.weight, fresh.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Slide the window.

        Args:
            x: (…, n, d_in).

        Returns:
            (…, n_out, d_out).

        Raises:
            ValueError: the width of `x` is not d_in, or the window does not fit.
        """
        if x.ndim < 2 or x.shape[-1] != self.weight.shape[1]:
            shape, d_in = tuple(x.shape), self.weight.shape[1]
            raise ValueError(f"x has shape {shape}; it must be (…, n, d_in) with d_in = {d_in}.")
        n, d_in = x.shape[-2:]
        _check_fits(x, n + sum(self.margins), self.dilation * (self.weight.shape[-1] - 1) + 1)
        columns = F.pad(x.reshape(-1, n, d_in).mT, self.margins)
        result = F.conv1d(columns, self.weight, self.bias, stride=self.stride, dilation=self.dilation).mT
        return result.reshape(*x.shape[:-2], *result.shape[-2:])


class Convolution2d(nn.Module):
    """Slide small windows over an image, as `torch.nn.Conv2d` does, with any leading axes.

    Formula: `out[o, i, j] = sum over c, k, l of x[c, i * stride + k - padding, j * stride + l - padding] *
    weight[o, c, k, l] + bias[o]`, zeros outside of x.

    Args:
        c_in: channels of the image.
        c_out: channels of the result, one kernel for each.
        window: height and width of the window, 1 or more.
        padding: how many rows and columns of zeros are put around the image.
        stride: how far the window moves from one result to the next.
    """

    def __init__(self, c_in: int, c_out: int, window: int, padding: int = 0, stride: int = 1) -> None:
        super().__init__()
        check_sizes(c_in=c_in, c_out=c_out, window=window, stride=stride)
        if isinstance(padding, bool) or not isinstance(padding, int) or padding < 0:
            raise ValueError(f"padding is {padding!r}; it must be a whole number, 0 or more.")
        self.padding, self.stride = padding, stride
        fresh = nn.Conv2d(c_in, c_out, window)  # torch's way to draw the first weights
        self.weight, self.bias = fresh.weight, fresh.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Slide the windows.

        Args:
            x: (…, c_in, height, width).

        Returns:
            (…, c_out, rows, columns).

        Raises:
            ValueError: `x` has other channels than c_in, or the window does not fit.
        """
        if x.dim() < 3 or x.shape[-3] != self.weight.shape[1]:
            raise ValueError(
                f"x has shape {tuple(x.shape)}; it must be (…, {self.weight.shape[1]} channels, height, width)."
            )
        for n in x.shape[-2:]:
            _check_fits(x, n + 2 * self.padding, self.weight.shape[-1])
        images = x.reshape(-1, *x.shape[-3:])
        result = F.conv2d(images, self.weight, self.bias, stride=self.stride, padding=self.padding)
        return result.reshape(*x.shape[:-3], *result.shape[-3:])


def _check_fits(x: torch.Tensor, places: int, window: int) -> None:
    if window > places:
        raise ValueError(
            f"A window of {window} does not fit into {places} places, padding included; x is {tuple(x.shape)}."
        )
