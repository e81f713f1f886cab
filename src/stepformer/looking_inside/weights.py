"""Put other attention weights in the place of a model's own, and see whether it minds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from stepformer.nn.attention import Attended, attend
from stepformer.nn.multi_head_attention import KeyValueCache, MultiHeadAttention, merge_heads, split_heads

Change = Callable[[torch.Tensor], torch.Tensor]
"""From weights (…, n_heads, n_q, n_k) to others of that shape. Masked keys have the weight 0 and must keep it."""


@contextmanager
def with_weights(attention: MultiHeadAttention, change: Change) -> Iterator[None]:
    """Let an attention fetch with other weights than its own while this is open.

    Formula: `output = w_o(merge(change(weights) @ value))`.

    Args:
        attention: one attention of a model. Its values and all other parts of the model stay as they are.
        change: from its weights to those that are used.

    Yields:
        Nothing; afterwards the attention is as it was.

    Raises:
        TypeError: the attention is of another kind.
    """
    if not isinstance(attention, MultiHeadAttention):
        raise TypeError(f"{type(attention).__name__} is no multi-head attention, whose weights could be replaced.")

    def attend_otherwise(
        query: torch.Tensor, known: KeyValueCache, mask: torch.Tensor | None, need_weights: bool = False
    ) -> Attended:
        heads = split_heads(attention.w_q(query), attention.n_heads)
        own = attend(heads, *known, None if mask is None else mask.unsqueeze(-3), 0.0, need_weights=True).weights
        weights = change(own)
        return Attended(attention.w_o(merge_heads(weights @ known.value)), weights if need_weights else None)

    before = vars(attention).get("attend")  # what another change has put there, if this one stands within it
    attention.attend = attend_otherwise  # the layers call it by this name
    try:
        yield
    finally:
        if before is None:
            del attention.attend
        else:
            attention.attend = before


def uniform(weights: torch.Tensor) -> torch.Tensor:
    """The same weight for every key that is not masked.

    Formula: `1 / number of keys with a weight above 0`.

    Args:
        weights: (…, n_heads, n_q, n_k).

    Returns:
        The same shape.
    """
    allowed = (weights > 0).to(weights.dtype)
    return allowed / allowed.sum(-1, keepdim=True).clamp(min=1)


def only_best(weights: torch.Tensor) -> torch.Tensor:
    """All weight for the key that had most of it.

    Formula: `one_hot(argmax(weights))`.

    Args:
        weights: (…, n_heads, n_q, n_k).

    Returns:
        The same shape.
    """
    best = torch.zeros_like(weights).scatter(-1, weights.argmax(-1, keepdim=True), 1.0)
    return best * (weights > 0)  # a query that may attend to nothing still gets nothing


def permuted(generator: torch.Generator) -> Change:
    """The same weights, dealt out to other keys by chance, anew for every query and head (Jain and Wallace 2019).

    Args:
        generator: where the chance comes from.

    Returns:
        The change. Masked keys keep their 0.
    """

    def change(weights: torch.Tensor) -> torch.Tensor:
        chance = torch.rand(weights.shape, generator=generator).masked_fill(weights == 0, torch.inf)
        # Both orders put the masked keys last, so weights above 0 meet keys that may be attended to.
        order, places = weights.argsort(dim=-1, descending=True), chance.argsort(dim=-1)
        return torch.zeros_like(weights).scatter(-1, places, weights.gather(-1, order))

    return change
