"""How far could chance move a score? Draw the test sentences anew, many times, and look (Koehn 2004)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Score = Callable[[np.ndarray], float]
"""From the sum of the statistics of some sentences to the score of these sentences."""


class Interval(NamedTuple):
    """A score, and the ends between which the middle `level` of the drawn test sets lies."""

    value: float
    low: float
    high: float
    level: float = 0.95


class Comparison(NamedTuple):
    """How much better a than b is: the interval of the difference, and the share of drawn test sets on which a wins."""

    difference: Interval
    share_better: float


def bootstrap(
    statistics: np.ndarray, score: Score, generator: np.random.Generator, n_samples: int = 1000, level: float = 0.95
) -> Interval:
    """The confidence interval of a score of a test set.

    Formula: n sentences are drawn from the n with replacement, `n_samples` times, and scored; the ends are the
    percentiles `(1 - level) / 2` and `(1 + level) / 2` (Koehn 2004).

    Args:
        statistics: (n, k) what the score needs to know of each sentence; a test set has the sum.
        score: from a sum (k,) to the score.
        generator: where the chance comes from.
        n_samples: how many test sets are drawn.
        level: the share that lies between the ends, above 0 and below 1.

    Returns:
        The score of the test set itself, and the interval.

    Raises:
        ValueError: there are no sentences or samples, or the level is out of range.
    """
    statistics = _checked(statistics, "statistics", n_samples, level)
    drawn = np.array([score(total) for total in _draws(len(statistics), generator, n_samples) @ statistics])
    return _interval(score(statistics.sum(axis=0)), drawn, level)


def paired_bootstrap(
    a: np.ndarray,
    b: np.ndarray,
    score: Score,
    generator: np.random.Generator,
    n_samples: int = 1000,
    level: float = 0.95,
) -> Comparison:
    """Compare two systems on the same sentences: each drawn test set is scored for both.

    Formula: the differences `score(a) - score(b)` over the drawn test sets (Koehn 2004). Hard sentences are
    hard for both, so a difference is surer than either score.

    Args:
        a: (n, k) the statistics of the sentences under the first system.
        b: (n, k) those of the same sentences under the second.
        score: as for `bootstrap`.
        generator: as for `bootstrap`.
        n_samples: as for `bootstrap`.
        level: as for `bootstrap`.

    Returns:
        The difference with its interval, and the share of the test sets on which `a` is better; a draw counts half.

    Raises:
        ValueError: the shapes differ, or as for `bootstrap`.
    """
    a, b = (_checked(x, name, n_samples, level) for x, name in ((a, "a"), (b, "b")))
    if a.shape != b.shape:
        raise ValueError(f"a has shape {a.shape} and b {b.shape}; both must be about the same sentences.")
    draws = _draws(len(a), generator, n_samples)
    pairs = zip(draws @ a, draws @ b, strict=True)
    drawn = np.array([score(of_a) - score(of_b) for of_a, of_b in pairs])
    difference = score(a.sum(axis=0)) - score(b.sum(axis=0))
    better = float(((drawn > 0) + 0.5 * (drawn == 0)).mean())
    return Comparison(_interval(difference, drawn, level), better)


def share(total: np.ndarray) -> float:
    """The share of sentences that have a property: the score for statistics with the rows (1 or 0, 1).

    Args:
        total: (2,) how many have it, and how many there are.

    Returns:
        From 0 to 1.
    """
    return float(total[0] / total[1])


def _draws(n: int, generator: np.random.Generator, n_samples: int) -> np.ndarray:
    """(n_samples, n): how often each sentence is drawn. Counts are enough, as statistics are added up."""
    return generator.multinomial(n, np.full(n, 1 / n), size=n_samples)


def _interval(value: float, drawn: np.ndarray, level: float) -> Interval:
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(value), float(low), float(high), level)


def _checked(statistics: np.ndarray, name: str, n_samples: int, level: float) -> np.ndarray:
    statistics = np.asarray(statistics)
    if statistics.ndim != 2 or not len(statistics):
        raise ValueError(f"{name} has shape {statistics.shape}; it must be (n, k), a row for each of n ≥ 1 sentences.")
    if n_samples < 1:
        raise ValueError(f"n_samples is {n_samples}; it must be 1 or more.")
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; it must be above 0 and below 1.")
    return statistics
