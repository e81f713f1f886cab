"""Masks in torch: which query may attend to which key. Boolean everywhere, True = may attend."""

from numbers import Integral

import torch


def causal_mask(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """Each position may attend to itself and to what came before, never to what comes later.

    Formula: `out[i, j] = j <= i + (n_k - n_q)`: aligned at the bottom right, so the last query sees all keys.

    Args:
        query: (…, n_q, d); only its length is used.
        key: (…, n_k, d); only its length is used.

    Returns:
        (n_q, n_k) booleans on the device of `query`.
    """
    n_q, n_k = query.shape[-2], key.shape[-2]
    return torch.ones(n_q, n_k, dtype=torch.bool, device=query.device).tril(n_k - n_q)


def padding_mask(tokens: torch.Tensor, pad_id: int) -> torch.Tensor:
    """No query may attend to a padding token.

    Formula: `out[0, j] = tokens[j] != pad_id`, one row for all queries.

    Args:
        tokens: (…, n) token ids of the keys.
        pad_id: the id of the padding token.

    Returns:
        (…, 1, n) booleans.

    Raises:
        TypeError: `tokens` or `pad_id` are not whole numbers.
    """
    check_ids(tokens)
    check_pad_id(pad_id)
    return (tokens != pad_id).unsqueeze(-2)


def target_mask(tokens: torch.Tensor, x: torch.Tensor, pad_id: int) -> torch.Tensor:
    """The mask of a decoder's self-attention: no future position, no padding.

    Formula: `causal_mask(x, x) and padding_mask(tokens)`.

    Args:
        tokens: (…, n) token ids of the target.
        x: (…, n, d) the embedded target; only its length is used.
        pad_id: the id of the padding token.

    Returns:
        (…, n, n) booleans.

    Raises:
        ValueError: the lengths of `tokens` and `x` differ.
    """
    if tokens.shape[-1:] != x.shape[-2:-1]:
        raise ValueError(
            f"target_mask: tokens is {tuple(tokens.shape)} and x is {tuple(x.shape)}; each row of x needs one token."
        )
    return padding_mask(tokens, pad_id) & causal_mask(x, x)


def check_ids(tokens: torch.Tensor, name: str = "tokens") -> None:
    """Refuse what is no tensor of token ids.

    Args:
        tokens: what was given.
        name: what a message calls them.

    Raises:
        TypeError: it is no tensor, or not of whole numbers.
    """
    if not isinstance(tokens, torch.Tensor):
        raise TypeError(f"{name} must be a tensor of token ids; this is {type(tokens).__name__}.")
    if tokens.is_floating_point() or tokens.is_complex() or tokens.dtype == torch.bool:
        raise TypeError(f"{name} must be token ids, whole numbers; they are {tokens.dtype}.")


def check_pad_id(pad_id: int) -> None:
    """Refuse what is no token id.

    Args:
        pad_id: what was given.

    Raises:
        TypeError: it is no whole number.
    """
    if not isinstance(pad_id, Integral) or isinstance(pad_id, bool):
        raise TypeError(f"pad_id is {pad_id!r}; it must be a token id, a whole number.")


def check_mask(mask: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> None:
    """Refuse what is often passed as a mask but is not one.

    Args:
        mask: what was given; must be boolean and (…, n_q or 1, n_k).
        query: (…, n_q, d_k).
        key: (…, n_k, d_k).

    Raises:
        TypeError: the mask is not boolean. torch itself *adds* a float mask to the scores, and one of 0 and 1
            then masks nothing.
        ValueError: its last two sizes do not fit the numbers of queries and keys, or those before do not broadcast.
    """
    if not isinstance(mask, torch.Tensor):
        raise TypeError(f"mask must be a tensor of booleans, True = may attend; this is {type(mask).__name__}.")
    if mask.dtype != torch.bool:
        raise TypeError(
            f"mask must be boolean, True = may attend; it is {mask.dtype} of shape {tuple(mask.shape)}. "
            "For a mask of 0 and 1 pass mask == 1."
        )
    n_q, n_k = query.shape[-2], key.shape[-2]
    if mask.ndim < 2 or mask.shape[-1] != n_k or mask.shape[-2] not in (1, n_q):
        raise ValueError(
            f"mask has shape {tuple(mask.shape)}; for {n_q} queries and {n_k} keys it must be (…, {n_q}, {n_k})."
        )
    for name, x in (("query", query), ("key", key)):
        sizes = zip(reversed(mask.shape[:-2]), reversed(x.shape[:-2]), strict=False)
        if any(a != b and 1 not in (a, b) for a, b in sizes):
            raise ValueError(
                f"mask has shape {tuple(mask.shape)} and the {name} {tuple(x.shape)}; before the last two, sizes must "
                "be equal or 1."
            )
