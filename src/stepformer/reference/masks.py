"""Masks: which query may attend to which key. Boolean everywhere, True = may attend."""

import numpy as np

from stepformer.ops import both, causal_mask, padding_mask

__all__ = ["both", "causal_mask", "check_mask", "padding_mask", "target_mask"]


def target_mask(tokens: np.ndarray, x: np.ndarray, pad_id: int) -> np.ndarray:
    """The mask of a decoder's self-attention: no future position, no padding.

    Formula: `causal_mask(x, x) and padding_mask(tokens)`.

    Args:
        tokens: (…, n) token ids of the target.
        x: (…, n, d) the embedded target; only its length is used.
        pad_id: the id of the padding token.

    Returns:
        (…, n, n) booleans, True = may attend.

    Raises:
        TypeError: `tokens` are not whole numbers.
        ValueError: the lengths of `tokens` and `x` differ.
    """
    if np.shape(tokens)[-1:] != np.shape(x)[-2:-1]:
        raise ValueError(
            f"target_mask: tokens is {np.shape(tokens)} and x is {np.shape(x)}; each row of x needs one token."
        )
    return both(padding_mask(tokens, pad_id=pad_id), causal_mask(x, x), name="target_mask")


def check_mask(mask: np.ndarray, query: np.ndarray, key: np.ndarray) -> None:
    """Refuse what is often passed as a mask but is not one.

    Args:
        mask: what was given; must be boolean and (…, n_q or 1, n_k).
        query: (…, n_q, d_k).
        key: (…, n_k, d_k).

    Raises:
        TypeError: the mask is not boolean. A float mask of 0 and 1 would be *added* to the scores elsewhere and
            mask nothing.
        ValueError: its last two sizes do not fit the numbers of queries and keys.
    """
    mask = np.asarray(mask)
    if mask.dtype != np.bool_:
        raise TypeError(
            f"mask must be boolean, True = may attend; it is {mask.dtype} of shape {mask.shape}. For a mask of 0 and 1 "
            "pass mask == 1."
        )
    n_q, n_k = np.shape(query)[-2], np.shape(key)[-2]
    if mask.ndim < 2 or mask.shape[-1] != n_k or mask.shape[-2] not in (1, n_q):
        raise ValueError(f"mask has shape {mask.shape}; for {n_q} queries and {n_k} keys it must be (…, {n_q}, {n_k}).")
