"""Writing step by step, many sentences at a time: what greedy search, beam search and sampling share.

A model is known by three methods alone: `encode(src) -> (memory, mask)`, `decode(ids, memory, mask, cache) -> (output,
cache)` and `project(output) -> logits`, and its cache by `cache.select(rows)`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import torch

from stepformer.nn._layers import writing

BOS, EOS = 1, 2
"""The ids of the start mark and of the end mark, unless others are given."""


class Writer:
    """A model that writes one or more rows for each sentence of a batch.

    Args:
        model: with encode, decode and project.
        src: (batch, n_src) token ids.
        never_ids: words that are never to be written; the probabilities of the others stay as the model gives them.
    """

    def __init__(self, model: Any, src: torch.Tensor, never_ids: Sequence[int] = ()) -> None:
        self.model = model
        self.never = torch.tensor(list(never_ids), dtype=torch.long, device=src.device)
        self.encoded = model.encode(src)
        self.memory, self.mask = self.encoded
        self.sentences = torch.arange(len(src), device=src.device)
        """Which sentence each row writes."""
        self.cache = None

    def step(self, ids: torch.Tensor) -> torch.Tensor:
        """Read the newest words of every row.

        Args:
            ids: (n_rows, m) token ids.

        Returns:
            (n_rows, vocab_size) logits of the word that comes next.
        """
        output, self.cache = self.model.decode(ids, self.memory, self.mask, self.cache)
        return self.model.project(output[:, -1:])[:, 0]

    def log_probabilities(self, logits: torch.Tensor) -> torch.Tensor:
        """Logarithms of the probabilities, −∞ for what is never to be written.

        Args:
            logits: (n_rows, vocab_size).

        Returns:
            The shape of `logits`.
        """
        logs = logits.log_softmax(dim=-1)
        return logs.index_fill(-1, self.never, -torch.inf) if len(self.never) else logs

    def keep(self, rows: torch.Tensor) -> None:
        """Go on with some of the rows, in another order, or several times.

        Args:
            rows: (n,) their numbers.
        """
        sentences = self.sentences[rows]
        self.cache = self.cache.select(rows)
        # A beam mixes the rows of a sentence at every step, and what was read stays where it is.
        if not torch.equal(sentences, self.sentences):
            memory, mask = self.encoded
            self.memory = memory.index_select(0, sentences)
            self.mask = None if mask is None else mask.index_select(0, sentences)
            self.sentences = sentences


@contextmanager
def at_work(model: Any) -> Iterator[None]:
    """Let a model write: in eval mode and without gradients; every part is afterwards in the mode it was in.

    Args:
        model: a torch module, or anything else that writes.

    Yields:
        Nothing.
    """
    with torch.inference_mode():
        if isinstance(model, torch.nn.Module):
            with writing(model):
                yield
        else:
            yield


def check_src(src: torch.Tensor) -> None:
    """Refuse what is no batch of sentences.

    Args:
        src: what was given.

    Raises:
        TypeError: it is no tensor of whole numbers.
        ValueError: it has not two axes.
    """
    if not isinstance(src, torch.Tensor) or src.dtype.is_floating_point or src.dtype == torch.bool:
        kind = src.dtype if isinstance(src, torch.Tensor) else type(src).__name__
        raise TypeError(f"src must be a tensor of token ids, whole numbers; it is {kind}.")
    if src.ndim != 2:
        raise ValueError(f"src has shape {tuple(src.shape)}; it must be (batch, n_src), also for one sentence.")


def limits_of(max_len: int | Sequence[int], batch: int) -> list[int]:
    """The greatest length of each sentence.

    Args:
        max_len: one number for all, or one for each sentence.
        batch: number of sentences.

    Returns:
        One number for each sentence.

    Raises:
        TypeError: a length is no whole number.
        ValueError: a length is below 1, or there are not as many as sentences.
    """
    limits = [max_len] * batch if isinstance(max_len, Integral) else list(max_len)
    for limit in [*limits, *([max_len] if isinstance(max_len, Integral) else [])]:
        if isinstance(limit, bool) or not isinstance(limit, Integral):
            raise TypeError(f"max_len is {limit!r}; it must be a whole number.")
        if limit < 1:
            raise ValueError(f"max_len is {limit}; it must be 1 or more.")
    if len(limits) != batch:
        raise ValueError(f"max_len has {len(limits)} numbers for {batch} sentences; it needs one, or one for each.")
    return [int(limit) for limit in limits]


def first_ids(prefix: Sequence[int], src: torch.Tensor) -> torch.Tensor:
    """What every row has read before it writes its first word.

    Args:
        prefix: token ids, the start mark first.
        src: (batch, n_src), for the number of rows and the device.

    Returns:
        (batch, m) token ids.

    Raises:
        ValueError: the prefix is empty.
    """
    if not len(prefix):
        raise ValueError("prefix is empty; it must hold the start mark at least.")
    return torch.tensor([list(prefix)] * len(src), dtype=torch.long, device=src.device)
