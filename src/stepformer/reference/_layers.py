"""What the layers of encoder and decoder are made of, on inputs that were checked, and the check of the inputs."""

from collections.abc import Callable, Mapping

import numpy as np

from stepformer.ops import add
from stepformer.params import select
from stepformer.recording import scope
from stepformer.reference._finite import check_finite
from stepformer.reference.attention import hidden_rows
from stepformer.reference.feed_forward import feed_forward
from stepformer.reference.masks import check_mask
from stepformer.reference.multi_head_attention import attend_in_heads
from stepformer.reference.normalization import normalise


def add_and_norm(
    x: np.ndarray,
    sublayer: Callable[[np.ndarray], np.ndarray],
    params: Mapping[str, np.ndarray],
    name: str,
    norm_first: bool = False,
) -> np.ndarray:
    """Run a sub-layer beside a way around it, and normalise: the sum, or what goes into the sub-layer.

    Formula: `norm(x + sublayer(x))` (Vaswani et al. 2017, section 3.1), or with `norm_first` `x + sublayer(norm(x))`.

    Args:
        x: (…, n, d_model).
        sublayer: takes and returns that shape.
        params: those of the layer; "<name>_norm.gain" and "<name>_norm.bias" are used.
        name: of the sub-layer; the sum is called "<name>_residual".
        norm_first: normalise what goes in.

    Returns:
        The shape of `x`.
    """

    def norm(rows: np.ndarray) -> np.ndarray:
        with scope(f"{name}_norm"):
            return normalise(rows, select(params, f"{name}_norm"))

    if norm_first:
        return add(x, sublayer(norm(x)), name=f"{name}_residual")
    return norm(add(x, sublayer(x), name=f"{name}_residual"))


def attend_add_and_norm(
    name: str,
    x: np.ndarray,
    memory: np.ndarray | None,
    params: Mapping[str, np.ndarray],
    n_heads: int,
    mask: np.ndarray | None,
    norm_first: bool,
) -> np.ndarray:
    """The sub-layer of attention, on inputs that were checked.

    Formula: `add_and_norm` of `multi_head_attention(x, memory, memory)`, or of `multi_head_attention(x, x, x)`.

    Args:
        name: "self_attention" or "cross_attention".
        x: (…, n, d_model), the tokens that ask.
        memory: (…, n_src, d_model), the tokens that are asked; None for x itself.
        params: those of the layer.
        n_heads: number of heads.
        mask: booleans (…, n or 1, n or n_src), True = may attend, or None.
        norm_first: normalise what goes in.

    Returns:
        The shape of `x`.
    """

    def attend(rows: np.ndarray) -> np.ndarray:
        asked = rows if memory is None else memory
        with scope(name):
            return attend_in_heads(rows, asked, asked, select(params, name), n_heads, mask).output

    return add_and_norm(x, attend, params, name, norm_first)


def feed_add_and_norm(
    x: np.ndarray, params: Mapping[str, np.ndarray], norm_first: bool, activation: str
) -> np.ndarray:
    """The sub-layer of the feed-forward network.

    Formula: `add_and_norm` of `feed_forward(x)`.

    Args:
        x: (…, n, d_model).
        params: those of the layer.
        norm_first: normalise what goes in.
        activation: "relu" or "gelu".

    Returns:
        The shape of `x`.
    """
    network = select(params, "feed_forward")
    return add_and_norm(x, lambda rows: feed_forward(rows, network, activation), params, "feed_forward", norm_first)


def count_layers(params: Mapping[str, np.ndarray]) -> int:
    """How many layers the parameters are for.

    Formula: the i of "layers.i.…" go from 0 to the result − 1.

    Args:
        params: those of an encoder or decoder.

    Returns:
        1 or more.

    Raises:
        ValueError: there is no layer, or a number is missing between them.
    """
    numbers = {int(name.split(".")[1]) for name in params if name.startswith("layers.")}
    if not numbers or numbers != set(range(len(numbers))):
        raise ValueError(f"The parameters hold the layers {sorted(numbers)}; they must be numbered 0, 1, 2, ….")
    return len(numbers)


def final_norm(x: np.ndarray, params: Mapping[str, np.ndarray]) -> np.ndarray:
    """The norm after the last layer, if there are parameters for it.

    Formula: `norm(x)`, or `x`.

    Args:
        x: (…, n, d_model).
        params: those of an encoder or decoder; "norm.gain" and "norm.bias" are used.

    Returns:
        The shape of `x`.
    """
    if "norm.gain" not in params:
        return x
    with scope("norm"):
        return normalise(x, select(params, "norm"))


def without_padding(
    x: np.ndarray, mask: np.ndarray | None, name: str, query: np.ndarray | None = None
) -> np.ndarray:
    """Check a sequence and its mask; put 0 for what is not finite in rows that nobody may attend to.

    Formula: `out[j, k] = 0` where x[j, k] is not finite and `mask[i, j]` is False for every i, else `x[j, k]`.

    Args:
        x: (…, n, d_model).
        mask: booleans (…, n_q or 1, n), True = may attend, or None.
        name: what the message calls the sequence.
        query: (…, n_q, d_model) what asks; x itself if not given.

    Returns:
        The shape of `x`, finite. In a recorded program everything is finite, so nothing is recorded here.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: shapes do not fit, or a number that counts is not finite.
    """
    if np.ndim(x) < 2:
        raise ValueError(f"{name} has shape {np.shape(x)}; it must be (…, n, d_model).")
    if mask is None:
        check_finite(**{name: x})
        return x
    check_mask(mask, x if query is None else query, x)
    check_finite(hidden_rows(mask), **{name: x})
    finite = np.isfinite(x)
    return x if finite.all() else np.where(finite, x, 0.0)
