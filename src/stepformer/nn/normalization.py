"""Layer norm and RMS norm in torch, as in `stepformer.reference.normalization`."""

import torch
from torch import nn

from stepformer.nn._layers import check_sizes


class LayerNorm(nn.Module):
    """Bring each row to mean 0 and variance 1, then stretch and shift each column.

    Formula: `gain * (x - mean) / sqrt(variance + eps) + bias`; mean and variance are those of one row, and the variance
    divides by the width (Ba et al. 2016, eq. 4). `torch.nn.LayerNorm` names the gain `weight`.

    Args:
        d_model: width of a row, 1 or more.
        eps: keeps the root away from zero; in units of the variance.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        check_sizes(d_model=d_model)
        if not 0 < eps < float("inf"):
            raise ValueError(f"eps is {eps}; it must be positive and finite.")
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise each row on its own.

        Args:
            x: (…, d_model).

        Returns:
            The shape of `x`.

        Raises:
            ValueError: the width is not d_model.
        """
        gain = self.gain
        shape = gain.shape
        if x.shape[-1:] != shape:
            raise ValueError(f"x has shape {tuple(x.shape)}; its width must be d_model = {len(gain)}.")
        return torch.layer_norm(x, shape, gain, self.bias, self.eps)


class RMSNorm(nn.Module):
    """Bring each row to a mean square of 1, then stretch each column: a layer norm without mean and bias.

    Formula: `gain * x / sqrt(mean of x² + eps)`, the mean over one row (Zhang & Sennrich 2019, section 4).
    `torch.nn.RMSNorm` names the gain `weight`.

    Args:
        d_model: width of a row, 1 or more.
        eps: keeps the root away from zero; in units of the mean square.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        check_sizes(d_model=d_model)
        if not 0 < eps < float("inf"):
            raise ValueError(f"eps is {eps}; it must be positive and finite.")
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(d_model))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise each row on its own.

        Args:
            x: (…, d_model).

        Returns:
            The shape of `x`.

        Raises:
            ValueError: the width is not d_model.
        """
        if x.shape[-1:] != self.gain.shape:
            raise ValueError(f"x has shape {tuple(x.shape)}; its width must be d_model = {len(self.gain)}.")
        # The square of 300 is no longer a number in half precision, so that computes in float32.
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        return (wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + self.eps) * self.gain).to(x.dtype)
