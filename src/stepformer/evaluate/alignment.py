"""Alignment error (Och & Ney 2003): do the words that attention joins translate each other?

A link `(i, j)` joins target word i with source word j, both counted from 0. People draw two kinds: a *sure* link, which
everybody would draw, and a *possible* one, which one may draw or leave.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

Links = Collection[tuple[int, int]]


class AlignmentError(NamedTuple):
    """Counts over one or more sentences, and the error rate that they give."""

    links: int
    sure: int
    sure_found: int
    possible_found: int

    @property
    def rate(self) -> float:
        """AER, from 0 (perfect) to 1: `1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)`."""
        return 1 - (self.sure_found + self.possible_found) / (self.links + self.sure)

    @property
    def precision(self) -> float:
        """The share of the links that are possible, `|A ∩ P| / |A|`; 1 if there are none."""
        return self.possible_found / self.links if self.links else 1.0

    @property
    def recall(self) -> float:
        """The share of the sure links that were found, `|A ∩ S| / |S|`; 1 if there are none."""
        return self.sure_found / self.sure if self.sure else 1.0


def links(weights: np.ndarray) -> frozenset[tuple[int, int]]:
    """Read an alignment off attention weights: each target word is joined with the source word it attends to most.

    Formula: `(i, argmax over j of weights[i, j])`; of equal weights the first counts.

    Row i must be the one that *predicts* target word i: its query has read the words before it, the first one `<bos>`.
    The row that predicts `<eos>` is left out by the caller. A last column beyond the source's words, that of `<eos>`,
    is left out too: the question is which *word* is attended to most.

    Args:
        weights: (n_tgt, n_src) one row for each target word, one column for each source word.

    Returns:
        n_tgt links (target position, source position); none if the source has no words.

    Raises:
        ValueError: it is no matrix.
    """
    weights = np.asarray(weights)
    if weights.ndim != 2:
        raise ValueError(f"weights have shape {weights.shape}; one head's matrix (n_tgt, n_src) is needed.")
    if not weights.shape[1]:
        return frozenset()
    return frozenset((i, int(j)) for i, j in enumerate(weights.argmax(axis=1)))


def diagonal(n_tgt: int, n_src: int) -> frozenset[tuple[int, int]]:
    """The alignment of somebody who knows no word of either language, only that word orders are alike.

    Formula: `(i, floor((i + 1/2) * n_src / n_tgt))`. A trained model must be better than this.

    Args:
        n_tgt: number of target words.
        n_src: number of source words.

    Returns:
        n_tgt links; none if the source has no words.
    """
    return frozenset((i, (2 * i + 1) * n_src // (2 * n_tgt)) for i in range(n_tgt) if n_src)


def alignment_error(found: Iterable[Links], sure: Iterable[Links], possible: Iterable[Links]) -> AlignmentError:
    """Compare alignments with those of people, over a corpus: counts are added over all sentences.

    Formula: `AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)` (Och & Ney 2003), with the links A that were
    found, the sure links S, and the possible links P, among which the sure ones are. A link that was found for a word
    to which people gave none is an error. Punctuation counts like words, if people have linked it.

    Args:
        found: for each sentence, the links that were found.
        sure: for each sentence, its sure links.
        possible: for each sentence, its possible links; the sure ones may be left out.

    Returns:
        The counts, with `rate`, `precision` and `recall`.

    Raises:
        ValueError: the numbers of sentences differ, or there is no link at all.
    """
    counts = np.zeros(4, dtype=int)
    for a, s, p in zip(map(set, found), map(set, sure), map(set, possible), strict=True):
        counts += len(a), len(s), len(a & s), len(a & (s | p))
    error = AlignmentError(*map(int, counts))
    if not error.links + error.sure:
        raise ValueError("There is no link, neither a found nor a sure one: an error rate has nothing to count.")
    return error


def without(
    links: Links, *, targets: Collection[int] = (), sources: Collection[int] = ()
) -> frozenset[tuple[int, int]]:
    """Links without those of some words, such as punctuation, which is easy to align and flatters a rate.

    Args:
        links: the links.
        targets: target positions whose links are left out.
        sources: source positions whose links are left out.

    Returns:
        The other links.
    """
    return frozenset((i, j) for i, j in links if i not in targets and j not in sources)


def punctuation(tokens: Sequence[str]) -> frozenset[int]:
    """Where a text has punctuation.

    Args:
        tokens: its tokens.

    Returns:
        The positions of the tokens without a letter or digit.
    """
    return frozenset(i for i, token in enumerate(tokens) if not any(c.isalnum() for c in token))
