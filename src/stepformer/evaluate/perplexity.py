"""Perplexity: how unsure is a model of the right translation, word by word?"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch

from stepformer.data.tokenizer import PAD
from stepformer.evaluate.forced import Ids, batches, device_of
from stepformer.nn._layers import writing


class Perplexity(NamedTuple):
    """`value = exp(loss)`; the loss in nats is the mean over all `tokens` of the targets, each with its <eos>."""

    value: float
    loss: float
    tokens: int


def perplexity(model: torch.nn.Module, pairs: Sequence[Ids], batch_size: int = 64) -> Perplexity:
    """The perplexity of a model on a test set: among how many equally probable words it seems to choose.

    Formula: `exp(sum of -log p(word | words before it, source) / number of words)` over the whole set. Every word
    counts the same, in a short sentence or a long one, and so does each <eos>; padding never counts. The batch size is
    of no account. An unknown word counts as <unk>, so sets with other vocabularies do not compare.

    Args:
        model: from `src` and `tgt` to logits. It is run without dropout, and left in its mode.
        pairs: token ids, without <bos> and <eos>.
        batch_size: sentences in a batch.

    Returns:
        Perplexity, loss and number of tokens.

    Raises:
        ValueError: there are no pairs, or a sentence is longer than the model can read.
    """
    if not len(pairs):
        raise ValueError("pairs is empty: there is nothing to predict, and no mean.")
    total, tokens = 0.0, 0
    with writing(model):
        for _, src, tgt_in, tgt_out in batches(pairs, batch_size, device_of(model)):
            log_p = model(src, tgt_in).double().log_softmax(dim=-1)
            right = log_p.gather(-1, tgt_out.unsqueeze(-1)).squeeze(-1)
            real = tgt_out != PAD
            total -= float(right[real].sum())
            tokens += int(real.sum())
    loss = total / tokens
    return Perplexity(math.exp(loss), loss, tokens)
