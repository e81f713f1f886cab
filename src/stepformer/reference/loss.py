"""Cross-entropy in NumPy, the loss of predicting a word, and its gradient. torch's own is the twin."""

import numpy as np

from stepformer.ops import count_rows, divide, one_hot, softmax, subtract, total
from stepformer.ops import cross_entropy as cross_entropy_of_each_row
from stepformer.recording import scope


def cross_entropy(logits: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The mean over the rows of minus the logarithm of the probability of the right answer.

    Formula: `mean over i of -log(softmax(logits)[i, targets[i]])`, as `torch.nn.functional.cross_entropy`.

    Args:
        logits: (…, n, vocab_size) numbers before softmax, one row for each prediction.
        targets: (…, n) token ids, the right answers.

    Returns:
        One number in nats for each of the leading axes: (…).

    Raises:
        TypeError: `targets` are not whole numbers.
        ValueError: the shapes do not fit, an id is no column, a logit is NaN or +inf, or there is no row.
    """
    with scope("loss"):
        losses = cross_entropy_of_each_row(logits, targets, name="losses")
        count = count_rows(logits, name="count")
        return divide(total(losses, name="total"), count, name="mean")


def cross_entropy_gradient(logits: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """How fast the mean loss grows with each logit.

    Formula: `(softmax(logits) - one_hot(targets)) / n`. Each row sums to 0.

    Args:
        logits: (…, n, vocab_size) numbers before softmax.
        targets: (…, n) token ids, the right answers.

    Returns:
        (…, n, vocab_size), in nats for each unit of a logit.

    Raises:
        TypeError: `targets` are not whole numbers.
        ValueError: the shapes do not fit, an id is no column, a logit is NaN or +inf, or there is no row.
    """
    if np.shape(targets) != np.shape(logits)[:-1]:
        raise ValueError(
            f"targets has shape {np.shape(targets)}; for logits of shape {np.shape(logits)} it must be "
            f"{np.shape(logits)[:-1]}: one right answer for each row."
        )
    with scope("gradient"):
        probabilities = softmax(logits, name="probabilities")
        right = one_hot(targets, vocab_size=np.shape(logits)[-1], name="right_answer")
        error = subtract(probabilities, right, name="error")
        return divide(error, count_rows(logits, name="count"), name="logits_gradient")
