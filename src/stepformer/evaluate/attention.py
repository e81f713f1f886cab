"""Read alignments off a model's cross-attention, by layer and head, and compare them with those of people."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from stepformer.data.pair import Pair
from stepformer.evaluate.alignment import (
    AlignmentError,
    Links,
    alignment_error,
    diagonal,
    links,
    punctuation,
    without,
)
from stepformer.evaluate.forced import Ids, as_array, batches, device_of


class LayerError(NamedTuple):
    """The error of one layer: of each head alone, and of the mean of the weights of its heads."""

    name: str
    heads: tuple[AlignmentError, ...]
    average: AlignmentError


class AttentionError(NamedTuple):
    """The error of every layer and head, of the mean over all of them, and of the diagonal, which knows no words."""

    layers: tuple[LayerError, ...]
    average: AlignmentError
    diagonal: AlignmentError


def cross_attention(
    model: torch.nn.Module, pairs: Sequence[Ids], batch_size: int = 64
) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
    """The weights with which a model looks at the words of the source while it is handed the right translation.

    Row i is that of the position which predicts target word i: it has read `<bos>` and the words before. Left out are
    the row that predicts <eos>, the column of the source's <eos>, and padding. So rows may sum to less than 1.

    Args:
        model: a model with cross-attention.
        pairs: token ids, without <bos> and <eos>.
        batch_size: sentences in a batch.

    Yields:
        The position of a pair, and for each layer, the first one first, weights (n_heads, n_tgt, n_src). The pairs come
        sorted by length.

    Raises:
        ValueError: the model has no cross-attention, or a sentence is too long for it.
    """
    from stepformer.nn.attention_weights import attention_weights

    for batch in batches(pairs, batch_size, device_of(model)):
        found = attention_weights(model, batch.src, batch.tgt_in)
        names = sorted((name for name in found if "cross_attention" in name), key=_natural)
        if not names:
            raise ValueError("This model has no cross-attention, so it has no alignment.")
        weights = {name: as_array(found[name]) for name in names}
        for row, position in enumerate(batch.positions):
            n_src, n_tgt = map(len, pairs[position])
            yield position, {name: x[row, :, :n_tgt, :n_src] for name, x in weights.items()}


def attention_error(
    model: torch.nn.Module,
    pairs: Sequence[Pair],
    ids: Sequence[Ids],
    batch_size: int = 64,
    with_punctuation: bool = True,
) -> AttentionError:
    """How well attention finds the words that translate each other.

    Formula: `alignment_error(links(weights), sure, possible)`, for each head, for the mean of the heads of each layer,
    and for the mean over all layers.

    Args:
        model: a model with cross-attention.
        pairs: n pairs with links; each token of theirs is one id.
        ids: the same n pairs as token ids, without <bos> and <eos>.
        batch_size: sentences in a batch.
        with_punctuation: also count the links of punctuation. They are easy; without them rates are a little higher.

    Returns:
        The errors.

    Raises:
        ValueError: no pair has links, the tokens are not those of the ids, or as `cross_attention`.
    """
    if not any(pair.sure for pair in pairs):
        raise ValueError("No pair has a sure link, so there is nothing to compare attention with.")
    for i, (pair, (source, target)) in enumerate(zip(pairs, ids, strict=True)):
        if (len(pair.source_tokens), len(pair.target_tokens)) != (len(source), len(target)):
            raise ValueError(
                f"Pair {i}, {pair.source!r}, has links between {len(pair.source_tokens)} and {len(pair.target_tokens)} "
                f"words, but the model reads {len(source)} and {len(target)} tokens. Links need a tokenizer of words."
            )
    found: dict[str, list[list[Links]]] = {}
    order = []
    for position, layers in cross_attention(model, ids, batch_size):
        order.append(position)
        every_head = np.concatenate(list(layers.values()))
        for name, weights in [*layers.items(), ("", every_head)]:
            # The mean comes last: whoever averages asks all heads at once.
            found.setdefault(name, []).append([links(x) for x in (*weights, weights.mean(axis=0))])

    def error(alignments: Sequence[Links]) -> AlignmentError:
        chosen = [pairs[i] for i in order]
        sets = [alignments, [pair.sure for pair in chosen], [pair.possible for pair in chosen]]
        if not with_punctuation:
            marks = [(punctuation(pair.target_tokens), punctuation(pair.source_tokens)) for pair in chosen]
            sets = [
                [without(x, targets=t, sources=s) for x, (t, s) in zip(links_of, marks, strict=True)]
                for links_of in sets
            ]
        return alignment_error(*sets)

    def column(name: str, k: int) -> list[Links]:
        return [sentence[k] for sentence in found[name]]

    layers = [
        LayerError(name, tuple(error(column(name, k)) for k in range(len(found[name][0]) - 1)), error(column(name, -1)))
        for name in found
        if name
    ]
    guess = [diagonal(len(pairs[i].target_tokens), len(pairs[i].source_tokens)) for i in order]
    return AttentionError(tuple(layers), error(column("", -1)), error(guess))


def _natural(name: str) -> list[tuple[int, str]]:
    """Layer 10 comes after layer 9."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
