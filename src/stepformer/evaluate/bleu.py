"""BLEU by hand (Papineni et al. 2002): every number on the way is kept, and the last one is sacrebleu's.

Texts come as lists of tokens here. Which tokens is no detail: for Chinese, every character is one
(`stepformer.evaluate.scores`).
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

MAX_ORDER = 4
"""BLEU counts runs of 1, 2, 3 and 4 tokens."""
SMOOTHING = ("exp", "none")


class NgramRow(NamedTuple):
    """How often one n-gram stands in the hypothesis and in the reference, and how often that counts."""

    ngram: tuple[str, ...]
    in_hypothesis: int
    in_reference: int
    clipped: int


class OrderCount(NamedTuple):
    """What came out for the n-grams of one length: `matches` of `total` count, a share of `precision` (smoothed)."""

    order: int
    matches: int
    total: int
    precision: float


class Bleu(NamedTuple):
    """A BLEU score, from 0 to 100, and the numbers that it is made of."""

    score: float
    brevity_penalty: float
    orders: tuple[OrderCount, ...]
    hypothesis_length: int
    reference_length: int


def ngrams(tokens: Sequence[str], order: int) -> list[tuple[str, ...]]:
    """The n-grams of a text: all runs of n tokens, in their order.

    Tuples, not joined texts: joined without a space, `ab c` and `a bc` would be the same.

    Args:
        tokens: n tokens.
        order: how many tokens a run has, 1 or more.

    Returns:
        n - order + 1 runs; none if the text is shorter.
    """
    return [tuple(tokens[i : i + order]) for i in range(len(tokens) - order + 1)]


def ngram_table(hypothesis: Sequence[str], reference: Sequence[str], order: int) -> list[NgramRow]:
    """Every n-gram of the hypothesis with its counts: what a person would write down to compute BLEU.

    Formula: `clipped = min(count in the hypothesis, count in the reference)` (Papineni et al. 2002, section 2.1).

    Args:
        hypothesis: the tokens of the translation.
        reference: the tokens of the translation that it is compared with.
        order: the length of the n-grams.

    Returns:
        One row for each different n-gram of the hypothesis, in the order in which they first occur.
    """
    wanted = Counter(ngrams(reference, order))
    counts = Counter(ngrams(hypothesis, order))
    return [NgramRow(ngram, count, wanted[ngram], min(count, wanted[ngram])) for ngram, count in counts.items()]


def brevity_penalty(hypothesis_length: int, reference_length: int) -> float:
    """The price of saying too little: whoever writes only what is certain has a high precision.

    Formula: `1 if c >= r else exp(1 - r / c)` (Papineni et al. 2002, section 2.3).

    Args:
        hypothesis_length: c, tokens.
        reference_length: r, tokens.

    Returns:
        A factor from 0 to 1.
    """
    if hypothesis_length >= reference_length:
        return 1.0
    return math.exp(1 - reference_length / hypothesis_length) if hypothesis_length else 0.0


def statistics(hypothesis: Sequence[str], reference: Sequence[str], max_order: int = MAX_ORDER) -> np.ndarray:
    """All that BLEU needs to know of one sentence. Those of a corpus are the sums: that is why they are kept apart.

    Formula: `(c, r, matches of order 1 …, totals of order 1 …)`.

    Args:
        hypothesis: the tokens of the translation.
        reference: the tokens of the translation that it is compared with.
        max_order: the length of the longest n-grams.

    Returns:
        (2 + 2 · max_order,) whole numbers.

    Raises:
        TypeError: a text was given instead of its tokens.
        ValueError: `max_order` is below 1.
    """
    for name, tokens in (("hypothesis", hypothesis), ("reference", reference)):
        if isinstance(tokens, str):
            raise TypeError(f"{name} is the text {tokens!r}; give its tokens, for Chinese list(text) or scores.split.")
    if max_order < 1:
        raise ValueError(f"max_order is {max_order}; it must be 1 or more.")
    orders = range(1, max_order + 1)
    matches = [sum(row.clipped for row in ngram_table(hypothesis, reference, order)) for order in orders]
    totals = [max(len(hypothesis) - order + 1, 0) for order in orders]
    return np.array([len(hypothesis), len(reference), *matches, *totals])


def from_statistics(statistics: np.ndarray, smoothing: str = "exp", effective_order: bool = False) -> Bleu:
    """BLEU of the statistics of a sentence, or of the sum over a corpus.

    Formula: `100 * brevity_penalty * (p_1 * p_2 * … * p_N) ** (1 / N)`, `p_n = matches_n / total_n`
    (Papineni et al. 2002, section 2.3).

    One order without a match would make the product 0. Smoothing "exp", sacrebleu's default, gives the first such order
    `1 / (2 * total)`, the next `1 / (4 * total)`, and so on (Chen & Cherry 2014, method 3). "none" leaves the 0. Where
    nothing matches at all, the score is 0 in any case.

    Args:
        statistics: (2 + 2 · N,) what `statistics` returned, or sums of it.
        smoothing: "exp" or "none".
        effective_order: leave out the orders for which the hypothesis is too short, instead of scoring 0. This is for
            single sentences.

    Returns:
        The score with its parts.

    Raises:
        ValueError: the number of statistics is odd, or the smoothing is unknown.
    """
    if smoothing not in SMOOTHING:
        raise ValueError(f"smoothing is {smoothing!r}; it is one of {', '.join(SMOOTHING)}.")
    if len(statistics) < 4 or len(statistics) % 2:
        raise ValueError(f"statistics holds {len(statistics)} numbers; it must be 2 + 2 · N, with N orders.")
    hypothesis_length, reference_length, *counts = map(int, statistics)
    n_orders = len(counts) // 2
    matches, totals = counts[:n_orders], counts[n_orders:]
    orders, without_match = [], 0
    for order, (matched, total) in enumerate(zip(matches, totals, strict=True), start=1):
        precision = matched / total if total else 0.0
        if total and not matched and smoothing == "exp" and any(matches):
            without_match += 1
            precision = 1 / (2**without_match * total)
        orders.append(OrderCount(order, matched, total, precision))
    used = [row.precision for row in orders if row.total or not effective_order]
    penalty = brevity_penalty(hypothesis_length, reference_length)
    mean = math.exp(sum(map(math.log, used)) / len(used)) if used and all(used) else 0.0
    return Bleu(100 * penalty * mean, penalty, tuple(orders), hypothesis_length, reference_length)


def bleu(
    hypotheses: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    max_order: int = MAX_ORDER,
    smoothing: str = "exp",
    effective_order: bool = False,
) -> Bleu:
    """BLEU of a corpus: counts are added over all sentences before anything is divided.

    Formula: as `from_statistics`. It is not the mean of the scores of the sentences.

    Args:
        hypotheses: n translations, each a list of tokens.
        references: n lists of tokens, what they are compared with.
        max_order: the length of the longest n-grams.
        smoothing: as for `from_statistics`.
        effective_order: as for `from_statistics`.

    Returns:
        The score with its parts.

    Raises:
        ValueError: there are no sentences, or not as many translations as references.
    """
    if len(hypotheses) != len(references) or not references:
        raise ValueError(
            f"There are {len(hypotheses)} hypotheses and {len(references)} references; each sentence needs one of both."
        )
    pairs = zip(hypotheses, references, strict=True)
    total = sum(statistics(hypothesis, reference, max_order) for hypothesis, reference in pairs)
    return from_statistics(total, smoothing, effective_order)
