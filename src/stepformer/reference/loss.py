"""Cross-entropy in NumPy, the loss of predicting words: plain, over padded sentences, with label smoothing."""

import numpy as np

from stepformer.ops import (
    clear_padding,
    count_rows,
    count_tokens,
    divide,
    one_hot,
    smooth,
    soft_cross_entropy,
    softmax,
    subtract,
    total,
)
from stepformer.ops import cross_entropy as cross_entropy_of_each_row
from stepformer.recording import scope


def cross_entropy(logits: np.ndarray, targets: np.ndarray, pad_id: int | None = None) -> np.ndarray:
    """The mean over the rows of minus the logarithm of the probability of the right answer.

    Formula: `mean over i of -log(softmax(logits)[i, targets[i]])`, as `torch.nn.functional.cross_entropy`. With
    `pad_id`, rows whose target is padding cost nothing and are not counted.

    Args:
        logits: (…, n, vocab_size) numbers before softmax, one row for each prediction.
        targets: (…, n) token ids, the right answers.
        pad_id: the id of the padding token; None if every row counts.

    Returns:
        In nats. Without `pad_id` one number for each of the leading axes: (…). With it one number, the mean over all
        the tokens of a batch: sentences count by their length.

    Raises:
        TypeError: `targets` are not whole numbers.
        ValueError: the shapes do not fit, an id is no column, a logit is NaN or +inf, or there is nothing to predict.
    """
    if pad_id is not None:
        return _loss_over_tokens(logits, targets, None, pad_id)
    with scope("loss"):
        losses = cross_entropy_of_each_row(logits, targets, name="losses")
        count = count_rows(logits, name="count")
        return divide(total(losses, name="total"), count, name="mean")


def smoothed_cross_entropy(logits: np.ndarray, targets: np.ndarray, smoothing: np.ndarray, pad_id: int) -> np.ndarray:
    """The mean loss over the tokens that are not padding, against targets with label smoothing.

    Formula: `q = (1 - ε) * one_hot(targets) + ε / vocab_size`, with rows of zeros for padding, and
    `sum(q * -log(softmax(logits))) / number of tokens` (Vaswani et al. 2017, section 5.4, with ε = 0.1).

    Args:
        logits: (…, n, vocab_size) numbers before softmax, one row for each prediction.
        targets: (…, n) token ids, the right answers.
        smoothing: ε, one number from 0 to 1; 0 gives `cross_entropy`.
        pad_id: the id of the padding token.

    Returns:
        One number in nats, the mean over all the tokens of a batch.

    Raises:
        TypeError: `targets` are not whole numbers.
        ValueError: the shapes do not fit, an id is no column, a logit is NaN or infinite, `smoothing` is out of range,
            or all targets are padding.
    """
    return _loss_over_tokens(logits, targets, smoothing, pad_id)


def _loss_over_tokens(logits: np.ndarray, targets: np.ndarray, smoothing: np.ndarray | None, pad_id: int) -> np.ndarray:
    _check_rows(logits, targets)
    with scope("loss"):
        rows = one_hot(targets, vocab_size=np.shape(logits)[-1], name="right_answer")
        if smoothing is not None:
            rows = smooth(rows, smoothing, name="smoothed")
        rows = clear_padding(rows, targets, pad_id=pad_id, name="target_rows")
        losses = soft_cross_entropy(logits, rows, name="losses")
        count = count_tokens(targets, pad_id=pad_id, name="count")
        if not count:
            raise ValueError("targets are all padding: there is nothing to predict, and no mean loss.")
        while losses.ndim > 1:
            losses = total(losses)
        return divide(total(losses, name="total"), count, name="mean")


def cross_entropy_gradient(logits: np.ndarray, targets: np.ndarray, pad_id: int | None = None) -> np.ndarray:
    """How fast the mean loss grows with each logit.

    Formula: `(softmax(logits) - one_hot(targets)) / n`. Each row sums to 0. With `pad_id`, the rows of padding are 0,
    and n is the number of the other tokens in the whole batch.

    Args:
        logits: (…, n, vocab_size) numbers before softmax.
        targets: (…, n) token ids, the right answers.
        pad_id: the id of the padding token; None if every row counts.

    Returns:
        (…, n, vocab_size), in nats for each unit of a logit.

    Raises:
        TypeError: `targets` are not whole numbers.
        ValueError: the shapes do not fit, an id is no column, a logit is NaN or +inf, or there is nothing to predict.
    """
    _check_rows(logits, targets)
    with scope("gradient"):
        probabilities = softmax(logits, name="probabilities")
        right = one_hot(targets, vocab_size=np.shape(logits)[-1], name="right_answer")
        if pad_id is None:
            error, count = subtract(probabilities, right, name="error"), count_rows(logits, name="count")
        else:
            error = subtract(probabilities, right, name="error_with_padding")
            error = clear_padding(error, targets, pad_id=pad_id, name="error")
            count = count_tokens(targets, pad_id=pad_id, name="count")
        return divide(error, count, name="logits_gradient")


def _check_rows(logits: np.ndarray, targets: np.ndarray) -> None:
    if np.shape(targets) != np.shape(logits)[:-1]:
        raise ValueError(
            f"targets has shape {np.shape(targets)}; for logits of shape {np.shape(logits)} it must be "
            f"{np.shape(logits)[:-1]}: one right answer for each row."
        )
