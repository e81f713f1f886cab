"""Choosing the next word in NumPy: which words may be chosen, with which probability, and a draw."""

import numpy as np

from stepformer.ops import keep_top_k, keep_top_p, mask, softmax
from stepformer.recording import scope


def top_k(logits: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Probabilities of the k most probable words only: the others get 0, and the k share what these had.

    Formula: `softmax(mask(logits, the k largest))` (Fan et al. 2018).

    Args:
        logits: (…, vocab_size) numbers before softmax.
        k: one number above 0, how many words to keep.

    Returns:
        The shape of `logits`; each row sums to 1.

    Raises:
        ValueError: `k` is not one number above 0, or a logit is NaN or +inf.
    """
    with scope("top_k"):
        kept = keep_top_k(logits, k, name="kept")
        return softmax(mask(logits, kept, name="kept_logits"), name="probabilities")


def top_p(logits: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Probabilities of the nucleus only: the fewest words that together have the probability p.

    Formula: `softmax(mask(logits, the largest until their probabilities reach p))` (Holtzman et al. 2020, section 3.1).

    Args:
        logits: (…, vocab_size) numbers before softmax.
        p: one number above 0 and at most 1.

    Returns:
        The shape of `logits`; each row sums to 1.

    Raises:
        ValueError: `p` is not one number above 0 and at most 1, or a logit is NaN or +inf.
    """
    with scope("top_p"):
        kept = keep_top_p(softmax(logits, name="all_probabilities"), p, name="kept")
        return softmax(mask(logits, kept, name="kept_logits"), name="probabilities")


def draw(probabilities: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Draw one word from each row, each as often as its probability says.

    Formula: the first j with `probabilities[0] + … + probabilities[j] > u`, u drawn evenly from 0 … 1 for each row.

    Args:
        probabilities: (…, vocab_size); each row sums to 1.
        generator: where the chance comes from; the same generator state gives the same words.

    Returns:
        (…), whole numbers: the ids of the words.

    Raises:
        ValueError: a row is negative somewhere or does not sum to 1.
    """
    probabilities = np.asarray(probabilities, dtype=np.float64)
    if probabilities.ndim and probabilities.shape[-1] == 0:
        raise ValueError(f"draw: probabilities have shape {probabilities.shape}; there is no word to draw.")
    upto = np.cumsum(probabilities, axis=-1)
    if probabilities.ndim == 0 or not (probabilities >= 0).all() or not np.allclose(upto[..., -1], 1, atol=1e-6):
        raise ValueError("draw: each row of probabilities must be 0 or more and sum to 1.")
    # Scaled by the last sum, so that rounding can not leave u beyond it.
    u = generator.random(probabilities.shape[:-1]) * upto[..., -1]
    return np.argmax(upto > u[..., None], axis=-1)
