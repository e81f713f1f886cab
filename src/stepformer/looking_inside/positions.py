"""Let a sentence stand further back than it does: the same words in the same order, at later positions."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def further_back(model: torch.nn.Module, src: int = 0, tgt: int = 0) -> Iterator[None]:
    """Let a model count positions from another number than 0 while this is open.

    Formula: `x + table[start + k : start + k + n]` where there was `x + table[start : start + n]`.

    Args:
        model: with `src_positions` and `tgt_positions`.
        src: how much later the source stands.
        tgt: how much later the target stands.

    Yields:
        Nothing; afterwards positions count from 0 again.

    Raises:
        TypeError: the model has no positions, as a recurrent one.
    """
    if not (hasattr(model, "src_positions") and hasattr(model, "tgt_positions")):
        raise TypeError(f"{type(model).__name__} has no positions; only a Transformer counts them.")
    hooks = [
        positions.register_forward_pre_hook(_later(by))
        for positions, by in ((model.src_positions, src), (model.tgt_positions, tgt))
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _later(by: int):
    def hook(_module: torch.nn.Module, inputs: tuple) -> tuple:
        x, *start = inputs
        return x, (start[0] if start else 0) + by

    return hook
