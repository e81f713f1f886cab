"""The training loss in torch: torch's own cross-entropy over whole batches, with clear refusals."""

import torch
from torch.nn import functional as F

from stepformer.nn.masks import check_ids, check_pad_id


def cross_entropy(
    logits: torch.Tensor, targets: torch.Tensor, pad_id: int, label_smoothing: float = 0.0
) -> torch.Tensor:
    """The mean loss over the tokens of a batch that are not padding.

    Formula: `sum(q * -log_softmax(logits)) / number of tokens`, `q = (1 - ε) * one_hot(targets) + ε / vocab_size`
    (Vaswani et al. 2017, section 5.4). It takes logits, not probabilities.

    Args:
        logits: (…, n, vocab_size) numbers before softmax.
        targets: (…, n) token ids, the right answers.
        pad_id: the id of the padding token; a row with this target costs nothing and is not counted.
        label_smoothing: ε, from 0 to 1.

    Returns:
        One number, in nats.

    Raises:
        TypeError: `targets` or `pad_id` are not whole numbers.
        ValueError: the shapes do not fit, ε is out of range, a target is no column, or all targets are padding. torch
            itself gives NaN then, and one step with a NaN ruins every weight.
    """
    check_ids(targets, "targets")
    check_pad_id(pad_id)
    if targets.shape != logits.shape[:-1]:
        raise ValueError(
            f"targets has shape {tuple(targets.shape)}; for logits of shape {tuple(logits.shape)} it must be "
            f"{tuple(logits.shape[:-1])}: one right answer for each row."
        )
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"label_smoothing is {label_smoothing}; it must be from 0 to 1.")
    if not (targets != pad_id).any():
        raise ValueError("targets are all padding: there is nothing to predict, and no mean loss.")
    real = targets[targets != pad_id]
    if not (real.min() >= 0 and real.max() < logits.shape[-1]):
        raise ValueError(
            f"targets go from {real.min()} to {real.max()}, but there are the columns 0 … {logits.shape[-1] - 1}."
        )
    rows = logits.reshape(-1, logits.shape[-1])
    return F.cross_entropy(rows, targets.reshape(-1).long(), ignore_index=pad_id, label_smoothing=label_smoothing)
