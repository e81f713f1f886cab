"""Several models as one: each reads the sentence, and the mean of their probabilities chooses the next word.

Models that began with other random weights make different mistakes; what they agree on is more often right. All of them
are computed, so that an ensemble of three takes the time of three.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import nn


class EnsembleCache(NamedTuple):
    """What the decoders of all members know of the tokens so far."""

    members: tuple[Any, ...]

    def select(self, rows: torch.Tensor) -> "EnsembleCache":
        """The caches of some sentences of a batch, in another order, or several times.

        Args:
            rows: (m,) their numbers.

        Returns:
            The caches of m sentences.
        """
        return EnsembleCache(tuple(cache.select(rows) for cache in self.members))


class Ensemble(nn.Module):
    """Models with the same vocabularies, asked together. Greedy search, beam search and sampling take it as a model.

    Formula: `log p(y[t]) = log(mean of p_k(y[t]) over the members k)` (as in Sutskever et al. 2014, section 3.6).

    Args:
        members: models with encode, decode, project and forward; vectors of all of them as wide.

    Raises:
        ValueError: there is no member.
    """

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        if not members:
            raise ValueError("members is empty; an ensemble needs one model or more.")
        self.members = nn.ModuleList(members)

    def forward(self, src: torch.Tensor, tgt: torch.Tensor) -> torch.Tensor:
        """The mean of the members' probabilities for every position of a target that is given.

        Args:
            src: (…, n_src) token ids.
            tgt: (…, n_tgt) token ids, `<bos>` first.

        Returns:
            Log-probabilities (…, n_tgt, tgt_vocab_size). As logits they give themselves again.
        """
        return _log_mean([member(src, tgt) for member in self.members])

    def encode(self, src: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Let every member read the source.

        Args:
            src: (…, n_src) token ids.

        Returns:
            What the members return, side by side along the last axis, and the mask, which is the same for all.
        """
        memories, masks = zip(*(member.encode(src) for member in self.members), strict=True)
        return torch.cat(memories, dim=-1), masks[0]

    def decode(
        self,
        tgt: torch.Tensor,
        memory: torch.Tensor,
        memory_mask: torch.Tensor | None = None,
        cache: EnsembleCache | None = None,
    ) -> tuple[torch.Tensor, EnsembleCache]:
        """Let every member write.

        Args:
            tgt: (…, m) token ids: the whole target, or with a cache those that it does not hold yet.
            memory: what `encode` returned.
            memory_mask: the mask that `encode` returned.
            cache: what the call before returned; None at the first.

        Returns:
            The members' vectors side by side along the last axis, and the cache.
        """
        caches = [None] * len(self.members) if cache is None else cache.members
        decoded = [
            member.decode(tgt, part, memory_mask, known)
            for member, part, known in zip(self.members, self._parts(memory), caches, strict=True)
        ]
        outputs, caches = zip(*decoded, strict=True)
        return torch.cat(outputs, dim=-1), EnsembleCache(caches)

    def project(self, x: torch.Tensor) -> torch.Tensor:
        """The mean of the members' probabilities of the next word.

        Args:
            x: what `decode` returned.

        Returns:
            Log-probabilities (…, tgt_vocab_size).
        """
        return _log_mean([member.project(part) for member, part in zip(self.members, self._parts(x), strict=True)])

    def _parts(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """What belongs to each member."""
        return x.chunk(len(self.members), dim=-1)


def _log_mean(logits: list[torch.Tensor]) -> torch.Tensor:
    """The logarithm of the mean of the probabilities."""
    logs = torch.stack([x.log_softmax(dim=-1) for x in logits])
    return logs.logsumexp(dim=0) - math.log(len(logits))
