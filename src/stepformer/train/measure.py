"""How well a model does on pairs that it does not learn from."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import nn

from stepformer.data.batches import Batches, EncodedPair
from stepformer.data.tokenizer import PAD
from stepformer.nn import cross_entropy
from stepformer.nn._layers import writing
from stepformer.train.distributed import ALONE, Workers


class Measured(NamedTuple):
    """What was measured.

    Attributes:
        loss: mean cross-entropy of a token, in nats, without smoothing.
        exact: share of the pairs of which greedy decoding writes the target exactly, from 0 to 1.
    """

    loss: float
    exact: float


class Tensors(NamedTuple):
    """One batch, as torch takes it."""

    src: torch.Tensor
    tgt_in: torch.Tensor
    tgt_out: torch.Tensor


def tensors(batch) -> Tensors:
    """Turn a batch of `stepformer.data.batches` into tensors, without copying.

    Args:
        batch: with src, tgt_in and tgt_out.

    Returns:
        The same numbers.
    """
    return Tensors(*(torch.from_numpy(array) for array in batch[:3]))


class Dev:
    """Pairs to measure on, again and again.

    Args:
        pairs: encoded pairs.
        batch_size: how many are measured at once.
    """

    def __init__(self, pairs: Sequence[EncodedPair], batch_size: int = 128) -> None:
        self.n_pairs = len(pairs)
        self._batches = [tensors(batch) for batch in Batches(pairs, batch_size=batch_size).epoch()]

    def measure(self, model: nn.Module, workers: Workers = ALONE) -> Measured:
        """Measure a model; it is afterwards in the mode that it was in.

        Formula: greedy decoding writes the target exactly when, at every position of the target, the most probable
        token is the right one. So one pass over the given targets is enough: nothing needs to be decoded.

        Args:
            model: with forward(src, tgt) → logits.
            workers: the processes, each of which measures on some of the batches; all get the same result.

        Returns:
            Loss and exact match.

        Raises:
            WorkerError: another process has ended.
        """
        loss = tokens = exact = 0.0
        device = next(model.parameters()).device
        with writing(model):
            for batch in self._batches[workers.rank :: workers.size]:
                src, tgt_in, tgt_out = (x.to(device) for x in batch)
                logits = model(src, tgt_in)
                real = tgt_out != PAD
                n = int(real.sum())
                loss += float(cross_entropy(logits, tgt_out, PAD)) * n
                tokens += n
                exact += int(((logits.argmax(dim=-1) == tgt_out) | ~real).all(dim=-1).sum())
        loss, tokens, exact = workers.total(loss, tokens, exact)
        return Measured(loss / tokens, exact / self.n_pairs)
