"""Choosing the next word in torch, as in `stepformer.reference.sampling`."""

import torch
from torch.nn import functional as F


def top_k(logits: torch.Tensor, k: int) -> torch.Tensor:
    """Probabilities of the k most probable words only; of equal ones the first.

    Formula: `softmax(logits, all but the k largest set to -inf)` (Fan et al. 2018).

    Args:
        logits: (…, vocab_size).
        k: how many words to keep, 1 or more.

    Returns:
        The shape of `logits`; each row sums to 1.

    Raises:
        ValueError: `k` is below 1.
    """
    if not k >= 1:  # NaN too
        raise ValueError(f"k is {k}; it must be 1 or more.")
    ranks = _ranks(logits)
    return logits.masked_fill(ranks >= min(k, logits.shape[-1]), -torch.inf).softmax(dim=-1)


def top_p(logits: torch.Tensor, p: float) -> torch.Tensor:
    """Probabilities of the nucleus only: the fewest words that together have the probability p.

    Formula: `softmax(logits, all after the largest that reach p set to -inf)` (Holtzman et al. 2020, section 3.1).

    Args:
        logits: (…, vocab_size).
        p: the probability to be reached, above 0 and at most 1.

    Returns:
        The shape of `logits`; each row sums to 1.

    Raises:
        ValueError: `p` is out of range.
    """
    if not 0 < p <= 1:
        raise ValueError(f"p is {p}; it must be above 0 and at most 1.")
    probabilities, order = logits.softmax(dim=-1).sort(dim=-1, descending=True, stable=True)
    # The first always stays, also where p is so small that it becomes 0 in float32.
    before = F.pad(probabilities.cumsum(dim=-1)[..., :-1], (1, 0), value=-1.0)
    left_out = torch.zeros_like(before, dtype=torch.bool).scatter(-1, order, before >= p)
    return logits.masked_fill(left_out, -torch.inf).softmax(dim=-1)


def draw(probabilities: torch.Tensor, generator: torch.Generator | None = None) -> torch.Tensor:
    """Draw one word from each row, each as often as its probability says.

    Args:
        probabilities: (…, vocab_size); each row sums to 1.
        generator: where the chance comes from; torch's own if not given.

    Returns:
        (…), the ids of the words.
    """
    rows = probabilities.reshape(-1, probabilities.shape[-1])
    return torch.multinomial(rows, 1, generator=generator).reshape(probabilities.shape[:-1])


def _ranks(logits: torch.Tensor) -> torch.Tensor:
    """How many of its row come before each number, the largest first."""
    order = logits.argsort(dim=-1, descending=True, stable=True)
    return order.argsort(dim=-1)
