"""Hand a model the right translation and watch: teacher forcing over a test set, in batches, without gradients."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from stepformer.data.batches import pad
from stepformer.data.tokenizer import BOS, EOS, PAD

Ids = tuple[Sequence[int], Sequence[int]]
"""A pair as token ids, source and target, without <bos> and <eos>."""


class Batch(NamedTuple):
    """Some pairs as the model takes them, and which they are: their positions in the test set."""

    positions: list[int]
    src: torch.Tensor
    tgt_in: torch.Tensor
    tgt_out: torch.Tensor


def batches(pairs: Sequence[Ids], batch_size: int, device: torch.device | str = "cpu") -> Iterator[Batch]:
    """Cut a test set into batches of sentences of similar lengths.

    Args:
        pairs: token ids, without <bos> and <eos>.
        batch_size: sentences in a batch, 1 or more.
        device: where the tensors are to be.

    Yields:
        Source with <eos>, target with <bos> before it, and target with <eos> after it; each (batch, n), padded.

    Raises:
        ValueError: the batch size is below 1.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}; it must be 1 or more.")
    order = sorted(range(len(pairs)), key=lambda i: (len(pairs[i][1]), len(pairs[i][0]), i))
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        sources, targets = zip(*(pairs[i] for i in chosen), strict=True)
        rows = ([[*x, EOS] for x in sources], [[BOS, *x] for x in targets], [[*x, EOS] for x in targets])
        yield Batch(chosen, *(torch.as_tensor(pad(ids, PAD), device=device) for ids in rows))


def device_of(model: torch.nn.Module) -> torch.device:
    """Where a model's parameters are.

    Args:
        model: any module.

    Returns:
        The device of its first parameter; the CPU if it has none.
    """
    first = next(model.parameters(), None)
    return torch.device("cpu") if first is None else first.device


def as_array(x: torch.Tensor) -> np.ndarray:
    """A tensor as an array of float64, wherever it is.

    Args:
        x: any tensor.

    Returns:
        Its numbers.
    """
    return x.detach().to("cpu", torch.float64).numpy()
