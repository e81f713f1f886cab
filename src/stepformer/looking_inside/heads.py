"""What does a head do for the translation? Take it away and count what goes wrong (Michel et al. 2019)."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch

from stepformer.evaluate.forced import Ids
from stepformer.looking_inside.reading import Reading, read
from stepformer.nn.multi_head_attention import MultiHeadAttention


class Head(NamedTuple):
    """One head of one attention, such as ("decoder.layers.0.cross_attention", 2)."""

    path: str
    number: int


def heads_of(model: torch.nn.Module) -> list[Head]:
    """All heads of a model.

    Args:
        model: any module.

    Returns:
        The heads of every multi-head attention, in the order in which the model lists its parts.
    """
    attentions = [(path, part) for path, part in model.named_modules() if isinstance(part, MultiHeadAttention)]
    return [Head(path, number) for path, part in attentions for number in range(part.n_heads)]


@contextmanager
def without_heads(model: torch.nn.Module, heads: Iterable[Head]) -> Iterator[None]:
    """Let a model work without some of its heads while this is open.

    Formula: the rows of `w_o` that multiply what the head has fetched are 0, so it adds nothing.

    Args:
        model: any module.
        heads: which heads; afterwards they are back, also after an error.

    Yields:
        Nothing.

    Raises:
        ValueError: the model has no such head.
    """
    heads = list(heads)
    if missing := set(heads) - set(heads_of(model)):
        raise ValueError(f"The model has no head {sorted(missing)[0]}; it has {len(heads_of(model))} others.")
    weights = {path: model.get_submodule(path).w_o.weight for path, _ in heads}
    kept = {path: weight.detach().clone() for path, weight in weights.items()}
    try:
        with torch.no_grad():
            for path, number in heads:
                width = weights[path].shape[1] // model.get_submodule(path).n_heads
                weights[path][:, number * width : (number + 1) * width] = 0  # torch stores (out, in)
        yield
    finally:
        with torch.no_grad():
            for path, weight in weights.items():
                weight.copy_(kept[path])


def read_without_each(model: torch.nn.Module, ids: Sequence[Ids], batch_size: int = 64) -> dict[Head, Reading]:
    """Read a test set once for every head, without that head.

    Args:
        model: a model with multi-head attention.
        ids: pairs of token ids, without <bos> and <eos>.
        batch_size: sentences in a batch.

    Returns:
        Each head with what is left without it.
    """
    readings = {}
    for head in heads_of(model):
        with without_heads(model, [head]):
            readings[head] = read(model, ids, batch_size)
    return readings
