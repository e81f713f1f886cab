"""The feed-forward network in torch, with a bend or with a gate. NumPy: `reference.feed_forward`."""

import torch
from torch import nn
from torch.nn import functional as F

from stepformer.nn._layers import Dropout, check_sizes

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu}


class FeedForward(nn.Module):
    """Expand each row, bend it, contract it again; every row on its own, all with the same parameters.

    Formula: `w_2(dropout(activation(w_1(x))))` (Vaswani et al. 2017, eq. 2, with ReLU).

    Args:
        d_model: width of the rows, in and out.
        d_ff: width in between, 1 or more; in the paper 4 · d_model.
        activation: "relu", or "gelu" (the exact one, with the error function, which is torch's default too).
        dropout: the share of hidden numbers that is set to zero at random in training, as `nn.TransformerEncoderLayer`
            does; the paper has none here.
    """

    def __init__(self, d_model: int, d_ff: int, activation: str = "relu", dropout: float = 0.0) -> None:
        super().__init__()
        check_sizes(d_model=d_model, d_ff=d_ff)
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation is {activation!r}; it must be one of {', '.join(ACTIVATIONS)}.")
        self.activation = activation
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.dropout = Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Change each row on its own.

        Args:
            x: (…, d_model).

        Returns:
            The shape of `x`.
        """
        return self.w_2(self.dropout(ACTIVATIONS[self.activation](self.w_1(x))))


class GatedFeedForward(nn.Module):
    """A feed-forward network with a gate, SwiGLU: one expansion says how much of the other goes on.

    Formula: `w_2(silu(w_1(x)) * w_3(x))` (Shazeer 2020, eq. 6, where w_3 is V). No biases.

    Args:
        d_model: width of the rows, in and out.
        d_ff: width in between, 1 or more; 2/3 of that of a network with two matrices gives as many
            parameters.
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        check_sizes(d_model=d_model, d_ff=d_ff)
        self.w_1 = nn.Linear(d_model, d_ff, bias=False)
        self.w_2 = nn.Linear(d_ff, d_model, bias=False)
        self.w_3 = nn.Linear(d_model, d_ff, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Change each row on its own.

        Args:
            x: (…, d_model).

        Returns:
            The shape of `x`.
        """
        return self.w_2(F.silu(self.w_1(x)) * self.w_3(x))
