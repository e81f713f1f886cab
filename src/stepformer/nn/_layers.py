"""What the layers of encoder and decoder are made of, and the checks of their sizes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real

import torch
from torch import nn

from stepformer.nn.masks import check_mask


class Dropout(nn.Module):
    """Set a share of the numbers to zero at random in training, and enlarge the others; afterwards do nothing.

    Formula: `x * (u >= share) / (1 - share)`, u uniform in 0 … 1 for each number (Srivastava et al. 2014, section 4;
    scaled in training, as torch does). On the CPU this takes a fifth of the time of torch's own.

    Args:
        share: from 0 to below 1.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        check_dropout(share)
        self.share = share

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Drop, in training.

        Args:
            x: numbers of any shape.

        Returns:
            The shape of `x`.
        """
        return drop(x, self.share) if self.training else x


def drop(x: torch.Tensor, share: float) -> torch.Tensor:
    """Set a share of the numbers to zero at random, and enlarge the others, so that their mean stays.

    Args:
        x: numbers of any shape.
        share: from 0 to below 1; it is rounded to 1 / 65,536.

    Returns:
        The shape of `x`.
    """
    if not share:
        return x
    # A random whole number of 64 bits serves four numbers, which takes a quarter of the time of four draws.
    dropped = min(round(share * 2**16), 2**16 - 1)
    bits = torch.empty((x.numel() + 3) // 4, dtype=torch.int64, device=x.device).random_(-(2**63), None)
    uniform = bits.view(torch.int16)[: x.numel()].view(x.shape).to(torch.float32)  # −32,768 … 32,767
    kept = uniform.ge_(dropped - 2**15).to(x.dtype)
    return x * kept.mul_(1 / (1 - share))


@contextmanager
def writing(model: nn.Module) -> Iterator[None]:
    """Let a model write: without dropout and without gradients, and leave every part in the mode it was in.

    Args:
        model: what is to write; parts of it may be in training while others are frozen.

    Yields:
        Nothing; the modes come back also after an error.
    """
    modes = {module: module.training for module in model.modules()}
    if any(modes.values()):
        model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes.items():
            if module.training != training:
                module.training = training


def add_and_norm(
    x: torch.Tensor,
    sublayer: Callable[[torch.Tensor], torch.Tensor],
    norm: nn.Module,
    dropout: nn.Module,
    norm_first: bool,
) -> torch.Tensor:
    """Run a sub-layer beside a way around it, and normalise: the sum, or what goes into the sub-layer.

    Formula: `norm(x + dropout(sublayer(x)))` (Vaswani et al. 2017, sections 3.1 and 5.4), or with `norm_first`
    `x + dropout(sublayer(norm(x)))`.

    Args:
        x: (…, n, d_model).
        sublayer: takes and returns that shape.
        norm: the layer norm of the sub-layer.
        dropout: applied to what the sub-layer returns.
        norm_first: normalise what goes in.

    Returns:
        The shape of `x`.
    """
    if norm_first:
        return x + dropout(sublayer(norm(x)))
    return norm(x + dropout(sublayer(x)))


def without_padding(
    x: torch.Tensor, mask: torch.Tensor | None, d_model: int, name: str, query: torch.Tensor | None = None
) -> torch.Tensor:
    """Check a sequence and its mask; put 0 for what is not finite in rows that nobody may attend to.

    NaN in padding then spreads neither to other rows nor, as 0 · NaN, to the gradients of the weights.

    Args:
        x: (…, n, d_model).
        mask: booleans (…, n_q or 1, n), True = may attend, or None.
        d_model: the width that `x` must have.
        name: what a message calls the sequence.
        query: (…, n_q, d_model) what asks; x itself if not given.

    Returns:
        The shape of `x`.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: shapes do not fit.
    """
    if x.ndim < 2 or x.shape[-1] != d_model:
        raise ValueError(f"{name} has shape {tuple(x.shape)}; it must be (…, n, d_model) with d_model = {d_model}.")
    if mask is None:
        return x
    check_mask(mask, x if query is None else query, x)
    # One number that is not finite makes the sum not finite: almost always this is all there is to do.
    if x.detach().sum().isfinite():
        return x
    hidden = ~mask.any(dim=-2).unsqueeze(-1)
    return torch.where(hidden & ~x.isfinite(), 0.0, x)


def check_dropout(dropout: float) -> None:
    """Refuse what is no share of numbers to set to zero.

    Args:
        dropout: from 0 to below 1.

    Raises:
        TypeError: it is no number.
        ValueError: it is negative, or 1 or more.
    """
    if isinstance(dropout, bool) or not isinstance(dropout, Real):
        raise TypeError(f"dropout is {dropout!r}; it must be a number, a share from 0 to below 1.")
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout is {dropout}; it is a share, from 0 to below 1.")


def check_sizes(**sizes: int) -> None:
    """Refuse what is no size.

    Args:
        **sizes: whole numbers, 1 or more, each under the name that the message is to use.

    Raises:
        TypeError: a size is no whole number.
        ValueError: a size is 0 or negative.
    """
    for name, size in sizes.items():
        if not isinstance(size, Integral) or isinstance(size, bool):
            raise TypeError(f"{name} is {size!r}; it must be a whole number.")
        if size < 1:
            raise ValueError(f"{name} is {size}; it must be 1 or more.")


def init_parameters(module: nn.Module, generator: torch.Generator | None = None) -> None:
    """Give all parameters of a module the values from which training starts, each matrix its own.

    Formula: matrices from the uniform distribution of Glorot and Bengio (2010, eq. 16), tables of embeddings from
    N(0, 1 / d_model), biases 0, gains 1.

    Args:
        module: a model or a part of one; changed in place.
        generator: where random numbers come from; torch's own if not given.
    """
    for name, parameter in module.named_parameters():
        if name.endswith("embedding.weight"):
            nn.init.normal_(parameter, std=parameter.shape[-1] ** -0.5, generator=generator)
        elif parameter.ndim > 1:
            nn.init.xavier_uniform_(parameter, generator=generator)
        else:
            nn.init.constant_(parameter, 1.0 if name.endswith("gain") else 0.0)
