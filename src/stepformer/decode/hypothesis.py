"""What a search returns, and how hypotheses of different lengths are compared."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

LengthPenalty = float | Callable[[int], float]
"""α of the formula of Wu et al., or a function from a length to what the score is divided by."""

ALPHA = 0.6
"""The paper's (Vaswani et al. 2017, section 6.1)."""


class Hypothesis(NamedTuple):
    """A sentence that was written, with what the model thinks of it.

    Attributes:
        ids: the words, without start mark and end mark.
        score: the natural logarithm of its probability: the sum of `log_probabilities`.
        normalised: the score divided by the length penalty of as many words as were written; the start mark is never
            counted, the end mark is wherever the model wrote one.
        finished: the model wrote the end mark; otherwise the sentence was cut at its greatest length.
        log_probabilities: of every word that was written, the end mark's last if there is one.
    """

    ids: tuple[int, ...]
    score: float
    normalised: float
    finished: bool
    log_probabilities: tuple[float, ...]


def length_penalties(length_penalty: LengthPenalty, max_len: int) -> list[float]:
    """What the score of a hypothesis is divided by, so that long ones can win.

    Formula: `((5 + n) / 6) ** α` for n written words (Wu et al. 2016, section 7, eq. 14, without the coverage). α = 0
    compares the probabilities themselves.

    Args:
        length_penalty: α, 0 or more; or a function from n to a positive number, such as `float` for the mean
            logarithm of a word.
        max_len: the greatest length.

    Returns:
        The divisors of the lengths 1 … max_len.

    Raises:
        ValueError: α is negative, not finite or far too large, or the function gave a number that is not positive.
    """
    if callable(length_penalty):
        divisors = [float(length_penalty(n)) for n in range(1, max_len + 1)]
        if not all(0 < divisor < float("inf") for divisor in divisors):
            raise ValueError(f"length_penalty gave {min(divisors)}; what a score is divided by must be positive.")
        return divisors
    if not 0 <= length_penalty < float("inf"):
        raise ValueError(f"length_penalty is {length_penalty}; α must be 0 or more, and finite.")
    try:
        return [((5 + n) / 6) ** length_penalty for n in range(1, max_len + 1)]
    except OverflowError:
        raise ValueError(
            f"length_penalty is {length_penalty}; for {max_len} words ((5 + n) / 6) ** α is too large. The usual "
            "α is between 0 and 1."
        ) from None


def hypothesis(
    written: Sequence[int], log_probabilities: Sequence[float], eos_id: int, divisors: Sequence[float]
) -> Hypothesis:
    """Make one of what was written.

    Args:
        written: the words, the end mark last if the model wrote it.
        log_probabilities: one for each.
        eos_id: the end mark.
        divisors: what `length_penalties` returned.

    Returns:
        The hypothesis.

    Raises:
        ValueError: the score is no number.
    """
    score = float(sum(log_probabilities))
    if score != score:
        raise ValueError("the model's probabilities are NaN; its weights, or its inputs, are not finite.")
    finished = written[-1] == eos_id
    ids = tuple(written[:-1] if finished else written)
    return Hypothesis(ids, score, score / divisors[len(written) - 1], finished, tuple(log_probabilities))
