"""Hand a model the right translations and keep what it says to every word of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from stepformer.data.pair import Pair
from stepformer.data.tokenizer import BOS, PAD
from stepformer.evaluate.forced import Ids, as_array, batches, device_of
from stepformer.nn._layers import writing

if TYPE_CHECKING:
    from stepformer.translator import Translator


class Reading(NamedTuple):
    """What a model says to the right words of n translations, each with its <eos>, in the order of the pairs.

    Attributes:
        log_p: for each sentence, the natural logarithm of the probability of every right word.
        right: for each sentence, whether the right word was the most probable one. Nobody may write <pad> or <bos>, so
            these two are left out, as they are when a model translates.
    """

    log_p: list[np.ndarray]
    right: list[np.ndarray]

    @property
    def loss(self) -> float:
        """The mean of -log p over all words, in nats."""
        return -float(np.concatenate(self.log_p).mean())

    @property
    def exact(self) -> float:
        """The share of the sentences that greedy search gets exactly right.

        It does if and only if the most probable word is the right one after each right beginning, so one reading tells
        what many steps of writing would.
        """
        return float(np.mean([row.all() for row in self.right]))


def ids_of(translator: "Translator", pairs: Sequence[Pair]) -> list[Ids]:
    """Pairs as token ids.

    Args:
        translator: whose tokenizers are used.
        pairs: n pairs.

    Returns:
        n pairs (source, target), without <bos> and <eos>.
    """
    source, target = translator.src_tokenizer, translator.tgt_tokenizer
    return [(source.encode(pair.source), target.encode(pair.target)) for pair in pairs]


def read(model: torch.nn.Module, ids: Sequence[Ids], batch_size: int = 64) -> Reading:
    """Let a model predict each word of the right translations.

    Formula: `log_p[i] = log softmax(model(src, tgt))[i, tgt[i + 1]]`.

    Args:
        model: from `src` and `tgt` to logits; it is run without dropout.
        ids: n pairs of token ids, without <bos> and <eos>.
        batch_size: sentences in a batch; it changes the time alone.

    Returns:
        The reading, (n_tgt + 1) numbers for each sentence.

    Raises:
        ValueError: there are no pairs, or a sentence is longer than the model can read.
    """
    if not len(ids):
        raise ValueError("ids is empty: there is nothing to read.")
    log_p, right = [None] * len(ids), [None] * len(ids)
    with writing(model):
        for batch in batches(ids, batch_size, device_of(model)):
            logits = model(batch.src, batch.tgt_in)
            said = logits.double().log_softmax(-1).gather(-1, batch.tgt_out.unsqueeze(-1)).squeeze(-1)
            logits[..., [PAD, BOS]] = -torch.inf
            best = logits.argmax(-1) == batch.tgt_out
            for row, position in enumerate(batch.positions):
                n = len(ids[position][1]) + 1
                log_p[position] = as_array(said[row, :n])
                right[position] = best[row, :n].cpu().numpy()
    return Reading(log_p, right)
