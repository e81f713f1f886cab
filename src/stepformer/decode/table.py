"""A language model that one can read: a table says what comes next, so every search can be checked with a pencil."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch


class Written(NamedTuple):
    """What each row has written so far: all that a table needs to know."""

    words: tuple[tuple[int, ...], ...]

    def select(self, rows: torch.Tensor) -> "Written":
        """What some of the rows have written.

        Args:
            rows: (n,) their numbers.

        Returns:
            The same for n rows.
        """
        return Written(tuple(self.words[row] for row in rows.tolist()))


class TableModel:
    """A model for `greedy`, `beam` and `sample` that looks its probabilities up; it does not look at the source.

    Args:
        vocabulary: the words; their positions are the ids.
        following: what was written, words with spaces between them -> the probability of each word that may come next.
            The start mark is not written. After what is not in the table comes what stands under "…".

    Raises:
        ValueError: a row does not sum to 1, or names a word that is not in the vocabulary.
    """

    def __init__(self, vocabulary: Sequence[str], following: Mapping[str, Mapping[str, float]]) -> None:
        self.vocabulary = list(vocabulary)
        self.rows = {}
        for written, row in following.items():
            if unknown := [word for word in row if word not in self.vocabulary]:
                raise ValueError(f"after {written!r} comes {unknown[0]!r}, which is not in the vocabulary.")
            if abs(sum(row.values()) - 1) > 1e-9:
                raise ValueError(f"the probabilities after {written!r} sum to {sum(row.values()):g}; they must to 1.")
            self.rows[written] = torch.tensor([row.get(word, 0.0) for word in self.vocabulary], dtype=torch.float64)

    def encode(self, src: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Read the source, of which nothing is needed.

        Args:
            src: (batch, n_src) token ids.

        Returns:
            Zeros (batch, 1, 1), and no mask.
        """
        return torch.zeros(len(src), 1, 1), None

    def decode(
        self, tgt: torch.Tensor, memory: torch.Tensor, memory_mask: None = None, cache: Written | None = None
    ) -> tuple[torch.Tensor, Written]:
        """Look up what comes next.

        Args:
            tgt: (n_rows, m) the newest words.
            memory: what `encode` returned.
            memory_mask: of no use here.
            cache: what the call before returned.

        Returns:
            Probabilities (n_rows, 1, vocab_size), and what is written now.
        """
        known = cache.words if cache else ((),) * len(tgt)
        written = Written(tuple((*old, *new) for old, new in zip(known, tgt.tolist(), strict=True)))
        texts = [" ".join(self.vocabulary[word] for word in words[1:]) for words in written.words]
        return torch.stack([self.rows.get(text, self.rows.get("…")) for text in texts]).unsqueeze(1), written

    def project(self, x: torch.Tensor) -> torch.Tensor:
        """Logits whose softmax is what `decode` looked up.

        Args:
            x: probabilities.

        Returns:
            Their logarithms.
        """
        return x.log()
