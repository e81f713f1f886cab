"""The closed list of recorded ops: plain functions on plain arrays, in sections.

Each op has exactly one NumPy forward and one formula here, and one twin with an explanation of every cell in
`web/ops.js` and `web/explain.js`. Positional parameters are tensors, keyword-only ones are attributes; every op
also takes `name=` and `axes=` (see `stepformer.recording.op`). "…" in a shape means any leading axes; they
broadcast as NumPy's do. Arithmetic is float64.
"""

import math

import numpy as np

from stepformer.recording import op
from stepformer.trace import OPS, given_array

__all__ = [
    "OPS", "add", "add_batch_positions", "add_pairs", "both", "causal_mask", "clear_padding", "concat",
    "convolve_1d", "convolve_1d_flipped", "convolve_2d", "convolve_2d_flipped", "copy",
    "count_rows", "count_tokens", "cross_entropy", "distance_bias", "divide", "embed", "exp", "first_rows", "gelu",
    "gelu_slope", "hardmax", "hold", "join_pair", "keep_top_k", "keep_top_p", "layer_norm", "linear", "mask",
    "mask_opposite", "mask_transposed", "mask_with_zero", "matmul", "mean", "mean_square", "merge_heads", "multiply",
    "one_hot", "padding_mask", "positive", "relu", "reshape_heads", "root", "rotate_pairs", "row", "row_norm",
    "row_total", "scale", "scale_up", "share_across_heads", "sigmoid", "sinusoids", "sinusoids_exponent_slip",
    "sinusoids_in_blocks", "smooth", "soft_cross_entropy", "softmax", "softmax_averaged", "split_heads", "stack",
    "subtract", "tanh", "total", "transpose", "trim", "zero_masked",
]  # fmt: skip

Axes = tuple[str, ...]


# ---- what the ops share: checked inputs, named axes ---------------------------------------------------------------


def _floats(op_name: str, argument: str, x, ndim: int = 0) -> np.ndarray:
    x = given_array(x, f"{op_name}: {argument!r}")
    if x.dtype.kind not in "fiu":
        raise TypeError(f"{op_name}: {argument!r} must hold numbers; it is {x.dtype} of shape {x.shape}.")
    if x.ndim < ndim:
        raise ValueError(f"{op_name}: {argument!r} has shape {x.shape}; it needs at least {ndim} axes.")
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes an infinity
        return x.astype(np.float64, copy=False)


def _ids(op_name: str, argument: str, x) -> np.ndarray:
    x = given_array(x, f"{op_name}: {argument!r}")
    if x.dtype.kind not in "iu" or x.ndim < 1:
        raise TypeError(f"{op_name}: {argument!r} must be token ids, whole numbers along an axis; it is {x.dtype} of "
                        f"shape {x.shape}.")  # fmt: skip
    return x


def _bools(op_name: str, argument: str, x, ndim: int = 0) -> np.ndarray:
    x = given_array(x, f"{op_name}: {argument!r}")
    if x.dtype != np.bool_:
        raise TypeError(
            f"{op_name}: {argument!r} must be boolean, True = may attend; it is {x.dtype} of shape {x.shape}. "
            "For a mask of 0 and 1 pass mask == 1; added to the scores it would mask nothing."
        )
    if x.ndim < ndim:
        raise ValueError(f"{op_name}: {argument!r} has shape {x.shape}; it needs at least {ndim} axes.")
    return x


def _must_broadcast(op_name: str, **arrays: np.ndarray) -> None:
    try:
        np.broadcast_shapes(*(a.shape for a in arrays.values()))
    except ValueError:
        shapes = " and ".join(f"{name} {a.shape}" for name, a in arrays.items())
        raise ValueError(f"{op_name}: {shapes} do not fit; from the right, sizes must be equal or 1.") from None


def _is_whole(value) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _check_positive(op_name: str, attribute: str, value) -> None:
    if not isinstance(value, (int, float, np.number)) or not 0 < value < np.inf:
        raise ValueError(f"{op_name}: {attribute} is {value!r}; it must be positive and finite.")


def _along(op_name: str, x: np.ndarray, axis: int) -> int:
    if not _is_whole(axis):
        raise TypeError(f"{op_name}: axis is {axis!r}; it must be a whole number.")
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"{op_name}: axis {axis} does not exist in shape {x.shape}.")
    return axis


def _check_columns(op_name: str, argument: str, ids: np.ndarray, width: int) -> None:
    if ids.size and not (ids.min() >= 0 and ids.max() < width):
        raise ValueError(
            f"{op_name}: {argument} go from {ids.min()} to {ids.max()}, but there are the columns 0 … {width - 1}."
        )


def _first(x: Axes, *_: Axes, **__) -> Axes:
    """The result has the axes of the first input."""
    return x


def _longest(*axes: Axes, **__) -> Axes:
    """The result of broadcasting has the axes of the input with the most, the first of them if several have."""
    return max(axes, key=len)


# ---- arithmetic ---------------------------------------------------------------------------------------------------


def _matmul_axes(a: Axes, b: Axes) -> Axes:
    if len(a) == 1 or len(b) == 1:
        return a[:-1] + b[:-2] + (b[-1:] if len(b) > 1 else ())
    leading = a[:-2] if len(a) >= len(b) else b[:-2]
    return (*leading, a[-2], b[-1])


@op(latex=r"(ab)_{ij} = \sum_k a_{ik}\, b_{kj}", axes=_matmul_axes)
def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Matrix product: each cell is the dot product of a row of `a` and a column of `b`.

    Formula: `out[i, j] = sum over k of a[i, k] * b[k, j]`.

    Args:
        a: (…, n, k) numbers, or a vector (k,).
        b: (…, k, m) numbers, or a vector (k,).

    Returns:
        (…, n, m); the axis of a vector is dropped.

    Raises:
        ValueError: the inner sizes differ, or the leading axes do not broadcast.
    """
    a, b = _floats("matmul", "a", a, 1), _floats("matmul", "b", b, 1)
    inner = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if a.shape[-1] != inner:
        raise ValueError(
            f"matmul: a is {a.shape} and b is {b.shape}; the last axis of a ({a.shape[-1]}) must have the size of the "
            f"{'second-last' if b.ndim > 1 else 'only'} axis of b ({inner})."
        )
    try:
        np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ValueError(
            f"matmul: a is {a.shape} and b is {b.shape}; before the last two axes, sizes must be equal or 1."
        ) from None
    return np.matmul(a, b)


@op(latex=r"(x^\top)_{ij} = x_{ji}", axes=lambda x: (*x[:-2], x[-1], x[-2]))
def transpose(x: np.ndarray) -> np.ndarray:
    """Swap the last two axes: rows become columns.

    Formula: `out[i, j] = x[j, i]`.

    Args:
        x: (…, n, m) numbers.

    Returns:
        (…, m, n).

    Raises:
        ValueError: `x` has fewer than two axes.
    """
    return np.swapaxes(_floats("transpose", "x", x, 2), -1, -2)


@op(latex=r"(a + b)_{ij} = a_{ij} + b_{ij}", axes=_longest)
def add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Add cell by cell.

    Formula: `out[i, j] = a[i, j] + b[i, j]`; a size of 1 is repeated.

    Args:
        a: numbers of any shape.
        b: numbers whose shape broadcasts with that of `a`.

    Returns:
        The broadcast shape.

    Raises:
        ValueError: the shapes do not broadcast.
    """
    a, b = _floats("add", "a", a), _floats("add", "b", b)
    _must_broadcast("add", a=a, b=b)
    return np.add(a, b)


@op(latex=r"(a - b)_{ij} = a_{ij} - b_{ij}", axes=_longest)
def subtract(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Subtract cell by cell.

    Formula: `out[i, j] = a[i, j] - b[i, j]`; a size of 1 is repeated.

    Args:
        a: numbers of any shape.
        b: numbers whose shape broadcasts with that of `a`.

    Returns:
        The broadcast shape.

    Raises:
        ValueError: the shapes do not broadcast.
    """
    a, b = _floats("subtract", "a", a), _floats("subtract", "b", b)
    _must_broadcast("subtract", a=a, b=b)
    return np.subtract(a, b)


@op(latex=r"(a \odot b)_{ij} = a_{ij}\, b_{ij}", axes=_longest)
def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Multiply cell by cell (not the matrix product).

    Formula: `out[i, j] = a[i, j] * b[i, j]`; a size of 1 is repeated.

    Args:
        a: numbers of any shape.
        b: numbers whose shape broadcasts with that of `a`.

    Returns:
        The broadcast shape.

    Raises:
        ValueError: the shapes do not broadcast.
    """
    a, b = _floats("multiply", "a", a), _floats("multiply", "b", b)
    _must_broadcast("multiply", a=a, b=b)
    return np.multiply(a, b)


@op(latex=r"(a / b)_{ij} = a_{ij} / b_{ij}", axes=_longest)
def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Divide cell by cell.

    Formula: `out[i, j] = a[i, j] / b[i, j]`; a size of 1 is repeated.

    Args:
        a: numbers of any shape.
        b: numbers without a zero, whose shape broadcasts with that of `a`.

    Returns:
        The broadcast shape.

    Raises:
        ValueError: `b` holds a zero, or the shapes do not broadcast.
    """
    a, b = _floats("divide", "a", a), _floats("divide", "b", b)
    _must_broadcast("divide", a=a, b=b)
    if not np.all(b):
        raise ValueError("divide: 'b' holds a zero; nothing can be divided by it.")
    return np.divide(a, b)


@op(latex=r"\mathrm{scale}(s, q)_{ij} = \frac{s_{ij}}{\sqrt{d_k}}, \quad d_k = \text{width of } q", axes=_first)
def scale(scores: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Divide scores by the square root of the query's width.

    Formula: `out[i, j] = scores[i, j] / sqrt(d_k)`, `d_k = query.shape[-1]` (Vaswani et al. 2017, section 3.2.1).

    Args:
        scores: numbers of any shape.
        query: (…, d_k); only its width is used.

    Returns:
        The shape of `scores`.

    Raises:
        ValueError: `query` has no width.
    """
    scores, query = _floats("scale", "scores", scores), _floats("scale", "query", query, 1)
    if query.shape[-1] == 0:
        raise ValueError(f"scale: query has shape {query.shape}; its width must be 1 or more.")
    return scores / np.sqrt(query.shape[-1])


@op(latex=r"\mathrm{scaleup}(x)_{ij} = \sqrt{d}\; x_{ij}, \quad d = \text{width of } x", axes=_first)
def scale_up(x: np.ndarray) -> np.ndarray:
    """Multiply rows by the square root of their width, as the paper does with embeddings.

    Formula: `out = x * sqrt(d_model)`, `d_model = x.shape[-1]` (Vaswani et al. 2017, section 3.4).

    Args:
        x: (…, d_model) numbers.

    Returns:
        The shape of `x`.

    Raises:
        ValueError: `x` has no axis.
    """
    x = _floats("scale_up", "x", x, 1)
    return x * np.sqrt(x.shape[-1])


@op(latex=r"\mathrm{linear}(x)_{ij} = \sum_k x_{ik}\, W_{kj} + b_j", axes=lambda x, w, b: (*x[:-1], w[-1]))
def linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Linear layer on row vectors.

    Formula: `out = x @ weight + bias`. torch stores `weight` transposed; `stepformer.params` turns it round.

    Args:
        x: (…, d_in) numbers.
        weight: (d_in, d_out).
        bias: (d_out,).

    Returns:
        (…, d_out).

    Raises:
        ValueError: a size does not fit.
    """
    x, weight, bias = _floats("linear", "x", x, 1), _floats("linear", "weight", weight), _floats("linear", "bias", bias)
    if weight.ndim != 2 or x.shape[-1] != weight.shape[0] or bias.shape != weight.shape[1:]:
        raise ValueError(
            f"linear: x is {x.shape}, weight is {weight.shape}, bias is {bias.shape}; the rule is x (…, d_in), "
            "weight (d_in, d_out), bias (d_out,)."
        )
    return x @ weight + bias


def _pair_axes(a: Axes, b: Axes) -> Axes:
    return (*_longest(a[:-2], b[:-2]), a[-2], b[-2], a[-1])


@op(latex=r"\mathrm{pairs}(a, b)_{ijk} = a_{ik} + b_{jk}", axes=_pair_axes)
def add_pairs(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Add every row of `a` to every row of `b`: the first step of additive attention.

    Formula: `out[i, j, k] = a[i, k] + b[j, k]` (Bahdanau et al. 2015, appendix A.1.2).

    Args:
        a: (…, n, d) numbers.
        b: (…, m, d) numbers.

    Returns:
        (…, n, m, d).

    Raises:
        ValueError: the widths differ, or the leading axes do not broadcast.
    """
    a, b = _floats("add_pairs", "a", a, 2), _floats("add_pairs", "b", b, 2)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"add_pairs: a is {a.shape} and b is {b.shape}; both must have the same last size.")
    left, right = a[..., :, None, :], b[..., None, :, :]
    _must_broadcast("add_pairs", a=left, b=right)
    return left + right


def _without(x: Axes, axis: int) -> Axes:
    """The axes that are left when one has been added up."""
    return x[: axis % len(x)] + x[axis % len(x) + 1 :]


@op(latex=r"\mathrm{total}(x)_i = \sum_j x_{ij}", axes=_without)
def total(x: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """Add up along one axis, which is then gone.

    Formula: `out[i] = sum over j of x[i, j]`.

    Args:
        x: numbers, at least one axis.
        axis: the axis that is added up; -1 is the last.

    Returns:
        The shape of `x` without that axis.

    Raises:
        ValueError: the axis does not exist.
    """
    x = _floats("total", "x", x, 1)
    return x.sum(axis=_along("total", x, axis))


@op(latex=r"\mathrm{rows}(x) = n \quad \text{for } x \text{ of shape } n \times d", axes=lambda x: ())
def count_rows(x: np.ndarray) -> np.ndarray:
    """Count the rows: what a total over the rows is divided by to make a mean of it.

    Formula: `out = n`.

    Args:
        x: (…, n, d) numbers; only their length is used.

    Returns:
        One whole number, n.

    Raises:
        ValueError: `x` has fewer than two axes.
    """
    return np.array(_floats("count_rows", "x", x, 2).shape[-2])


@op(latex=r"\mathrm{copy}(x)_{ij} = x_{ij}", axes=_first)
def copy(x: np.ndarray) -> np.ndarray:
    """Hand the input on unchanged. Breaks use it to leave a step out.

    Formula: `out = x`.

    Args:
        x: numbers, ids or booleans of any shape.

    Returns:
        A copy, same shape and kind.

    Raises:
        TypeError: `x` holds something else, such as texts.
    """
    x = given_array(x, "copy: 'x'")
    if x.dtype.kind not in "biuf":
        raise TypeError(f"copy: 'x' must hold numbers or booleans; it is {x.dtype} of shape {x.shape}.")
    return x.copy()


# ---- masks: True = may attend -------------------------------------------------------------------------------------


@op(
    latex=r"\mathrm{causal}_{ij} = \left[\, j \le i + (n_k - n_q) \,\right]",
    axes=lambda query, key: (query[-2], key[-2]),
)
def causal_mask(query: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Each position may attend to itself and to what came before, never to what comes later.

    Formula: `out[i, j] = j <= i + (n_k - n_q)`: aligned at the bottom right, so that the last query sees all keys,
    as decoding with a cache needs. (torch's `is_causal=True` aligns at the top left.)

    Args:
        query: (…, n_q, d); only its length is used.
        key: (…, n_k, d); only its length is used.

    Returns:
        (n_q, n_k) booleans.

    Raises:
        ValueError: an input has fewer than two axes.
    """
    n_q, n_k = (_floats("causal_mask", name, x, 2).shape[-2] for name, x in (("query", query), ("key", key)))
    return np.arange(n_k) <= np.arange(n_q)[:, None] + (n_k - n_q)


@op(
    latex=r"\mathrm{padding}_{1j} = \left[\, t_j \ne \mathrm{pad} \,\right]",
    axes=lambda tokens, pad_id: (*tokens[:-1], "any query", tokens[-1]),
)
def padding_mask(tokens: np.ndarray, *, pad_id: int) -> np.ndarray:
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
    tokens = _ids("padding_mask", "tokens", tokens)
    if not _is_whole(pad_id):
        raise TypeError(f"padding_mask: pad_id is {pad_id!r}; it must be a token id, a whole number.")
    return (tokens != pad_id)[..., None, :]


@op(latex=r"(a \wedge b)_{ij} = a_{ij} \text{ and } b_{ij}", axes=_longest)
def both(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Allow a pair only where both masks allow it.

    Formula: `out[i, j] = a[i, j] and b[i, j]`; a size of 1 is repeated.

    Args:
        a: booleans of any shape.
        b: booleans whose shape broadcasts with that of `a`.

    Returns:
        The broadcast shape, booleans.

    Raises:
        TypeError: an input is not boolean.
        ValueError: the shapes do not broadcast.
    """
    a, b = _bools("both", "a", a), _bools("both", "b", b)
    _must_broadcast("both", a=a, b=b)
    return np.logical_and(a, b)


@op(latex=r"\mathrm{shared}_{1ij} = m_{ij}", axes=lambda allowed: (*allowed[:-2], "every head", *allowed[-2:]))
def share_across_heads(allowed: np.ndarray) -> np.ndarray:
    """Put an axis of size 1 where the heads are, so that one mask serves every head.

    Formula: `out[0, i, j] = allowed[i, j]`.

    Args:
        allowed: (…, n_q, n_k) booleans.

    Returns:
        (…, 1, n_q, n_k) booleans.

    Raises:
        TypeError: `allowed` is not boolean.
        ValueError: it has fewer than two axes.
    """
    return _bools("share_across_heads", "allowed", allowed, 2)[..., None, :, :]


@op(latex=r"\mathrm{mask}(s, m)_{ij} = s_{ij} \text{ if } m_{ij} \text{ else } -\infty", axes=_first)
def mask(scores: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Set the scores of forbidden pairs to minus infinity, so that softmax gives them the weight 0.

    Formula: `out[i, j] = scores[i, j] if allowed[i, j] else -inf` (Vaswani et al. 2017, section 3.2.3).

    Args:
        scores: (…, n_q, n_k) numbers.
        allowed: booleans that broadcast to the shape of `scores`, True = may attend.

    Returns:
        The shape of `scores`.

    Raises:
        TypeError: `allowed` is not boolean.
        ValueError: its shape does not broadcast to that of `scores`.
    """
    return np.where(*_mask_inputs("mask", scores, allowed), -np.inf)


@op(latex=r"\mathrm{mask}'(s, m)_{ij} = s_{ij} \text{ if } m_{ij} \text{ else } 0", axes=_first)
def mask_with_zero(scores: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """The known wrong way to mask: a score of zero still gets a weight, because exp(0) is 1.

    Formula: `out[i, j] = scores[i, j] if allowed[i, j] else 0`. Kept so that the mistake can be switched on and seen.

    Args:
        scores: (…, n_q, n_k) numbers.
        allowed: booleans that broadcast to the shape of `scores`.

    Returns:
        The shape of `scores`.

    Raises:
        TypeError: `allowed` is not boolean.
        ValueError: its shape does not broadcast to that of `scores`.
    """
    return np.where(*_mask_inputs("mask_with_zero", scores, allowed), 0.0)


@op(latex=r"\mathrm{mask}''(s, m)_{ij} = -\infty \text{ if } m_{ij} \text{ else } s_{ij}", axes=_first)
def mask_opposite(scores: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Masking with the opposite meaning, True = may *not* attend, as `torch.nn.MultiheadAttention` reads a mask.

    Formula: `out[i, j] = -inf if allowed[i, j] else scores[i, j]`. Kept so that the mix-up can be switched on and seen.

    Args:
        scores: (…, n_q, n_k) numbers.
        allowed: booleans that broadcast to the shape of `scores`.

    Returns:
        The shape of `scores`.

    Raises:
        TypeError: `allowed` is not boolean.
        ValueError: its shape does not broadcast to that of `scores`.
    """
    allowed, scores = _mask_inputs("mask_opposite", scores, allowed)
    return np.where(allowed, -np.inf, scores)


@op(latex=r"\mathrm{mask}^\top(s, m)_{ij} = s_{ij} \text{ if } m_{ji} \text{ else } -\infty", axes=_first)
def mask_transposed(scores: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """The mask laid along the wrong axis: it hides queries where it should hide keys.

    Formula: `out[i, j] = scores[i, j] if allowed[j, i] else -inf`. Kept so that the mistake can be seen.

    Args:
        scores: (…, n_q, n_k) numbers.
        allowed: (…, n_q, n_k) booleans; its last two axes are swapped before it is used.

    Returns:
        The shape of `scores`.

    Raises:
        TypeError: `allowed` is not boolean.
        ValueError: it has fewer than two axes, or does not broadcast to the shape of `scores` once it is swapped.
    """
    swapped = np.swapaxes(_bools("mask_transposed", "allowed", allowed, 2), -1, -2)
    return np.where(*_mask_inputs("mask_transposed", scores, swapped), -np.inf)


def _mask_inputs(op_name: str, scores, allowed) -> tuple[np.ndarray, np.ndarray]:
    scores, allowed = _floats(op_name, "scores", scores), _bools(op_name, "allowed", allowed)
    _must_broadcast(op_name, scores=scores, allowed=allowed)
    if np.broadcast_shapes(scores.shape, allowed.shape) != scores.shape:
        raise ValueError(f"{op_name}: allowed {allowed.shape} is larger than scores {scores.shape}.")
    return allowed, scores


def _cleared_axes(x: Axes, allowed: Axes) -> Axes:
    return (*_longest(x[:-2], allowed[:-2]), *x[-2:])


@op(latex=r"\mathrm{clear}(x, m)_{jk} = x_{jk} \text{ if some } m_{ij} \text{ else } 0", axes=_cleared_axes)
def zero_masked(x: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Set rows to zero that no query may attend to, so that whatever padding holds cannot leak.

    Formula: `out[j, k] = x[j, k] if any(allowed[:, j]) else 0`. Needed because `0 * NaN` is NaN: a weight of zero
    alone does not keep a NaN out of the weighted sum.

    Args:
        x: (…, n_k, d) keys or values; rows that are masked for every query may hold anything, even NaN.
        allowed: (…, n_q, n_k) booleans, True = may attend.

    Returns:
        The shape of `x`, or with the leading axes of `allowed` where it has more.

    Raises:
        TypeError: `allowed` is not boolean.
        ValueError: the number of rows differs from the number of keys in the mask.
    """
    x, allowed = _floats("zero_masked", "x", x, 2), _bools("zero_masked", "allowed", allowed, 2)
    if allowed.shape[-1] != x.shape[-2]:
        raise ValueError(f"zero_masked: x is {x.shape}, {x.shape[-2]} keys, but allowed is {allowed.shape}.")
    seen = allowed.any(axis=-2)[..., :, None]
    _must_broadcast("zero_masked", x=x, allowed=seen)
    return np.where(seen, x, 0.0)


# ---- positions: what tells a model where a token stands ------------------------------------------------------------


def _angles(n: int, exponents: np.ndarray, base: float) -> np.ndarray:
    """(n, d): how far each column has turned at each position, in radians."""
    return np.arange(n)[:, None] / base**exponents


def _check_base(op_name: str, base: float) -> None:
    _check_positive(op_name, "base", base)


def _pair_exponents(d: int) -> np.ndarray:
    """2i/d for each column: both columns of pair i, 2i and 2i + 1, have the same."""
    return np.arange(d) // 2 * 2 / d


def _sine_then_cosine(angles: np.ndarray) -> np.ndarray:
    table = np.sin(angles)
    table[:, 1::2] = np.cos(angles[:, 1::2])
    return table


@op(
    latex=r"\begin{aligned}"
    r"\mathrm{PE}_{\mathrm{pos},\, 2i} &= \sin\!\left(\mathrm{pos} / \mathrm{base}^{2i/d}\right) \\"
    r"\mathrm{PE}_{\mathrm{pos},\, 2i+1} &= \cos\!\left(\mathrm{pos} / \mathrm{base}^{2i/d}\right)"
    r"\end{aligned}",
    axes=lambda x, base: ("position", x[-1]),
)
def sinusoids(x: np.ndarray, *, base: float = 10000.0) -> np.ndarray:
    """Sinusoidal positions: one row of sines and cosines for each position, whatever stands there.

    Formula: `out[pos, 2i] = sin(pos / base^(2i/d))`, `out[pos, 2i + 1] = cos(pos / base^(2i/d))`: pos counts tokens, i
    counts pairs of columns (Vaswani et al. 2017, section 3.5). An odd width lacks the last cosine.

    Args:
        x: (…, n, d) numbers; only their length and width are used.
        base: the wavelengths grow from 2π towards 2π · base, in tokens.

    Returns:
        (n, d), each in −1 … 1.

    Raises:
        ValueError: `x` has fewer than two axes, or `base` is not positive.
    """
    n, d = _floats("sinusoids", "x", x, 2).shape[-2:]
    _check_base("sinusoids", base)
    return _sine_then_cosine(_angles(n, _pair_exponents(d), base))


@op(
    latex=r"\mathrm{PE}'_{\mathrm{pos},\, j} = \begin{cases}"
    r"\sin\!\left(\mathrm{pos} / \mathrm{base}^{2j/d}\right) & j < m \\"
    r"\cos\!\left(\mathrm{pos} / \mathrm{base}^{2(j - m)/d}\right) & j \ge m"
    r"\end{cases}, \quad m = \lceil d/2 \rceil",
    axes=lambda x, base: ("position", x[-1]),
)
def sinusoids_in_blocks(x: np.ndarray, *, base: float = 10000.0) -> np.ndarray:
    """The columns of `sinusoids` in another order: all sines first, then all cosines.

    Formula: `out[pos, i] = sin(pos / base^(2i/d))`, `out[pos, m + i] = cos(pos / base^(2i/d))`, with `m = ceil(d/2)`.
    As good as the paper's order where it is used throughout; weights trained with one order do not fit the other.

    Args:
        x: (…, n, d) numbers; only their length and width are used.
        base: as for `sinusoids`.

    Returns:
        (n, d), each in −1 … 1.

    Raises:
        ValueError: `x` has fewer than two axes, or `base` is not positive.
    """
    n, d = _floats("sinusoids_in_blocks", "x", x, 2).shape[-2:]
    _check_base("sinusoids_in_blocks", base)
    angles = _angles(n, np.arange(0, d, 2) / d, base)
    return np.concatenate([np.sin(angles), np.cos(angles[:, : d // 2])], axis=-1)


@op(
    latex=r"\mathrm{PE}''_{\mathrm{pos},\, j} = \begin{cases}"
    r"\sin\!\left(\mathrm{pos} / \mathrm{base}^{2j/d}\right) & j \text{ even} \\"
    r"\cos\!\left(\mathrm{pos} / \mathrm{base}^{2j/d}\right) & j \text{ odd}"
    r"\end{cases}",
    axes=lambda x, base: ("position", x[-1]),
)
def sinusoids_exponent_slip(x: np.ndarray, *, base: float = 10000.0) -> np.ndarray:
    """The known slip in the formula: the exponent doubles the number of the column instead of that of the pair.

    Formula: `out[pos, j] = sin or cos of pos / base^(2j/d)`, j the column. Sine and cosine of a pair then have
    different wavelengths, and half of the columns hardly move. Kept so that the mistake can be switched on and seen.

    Args:
        x: (…, n, d) numbers; only their length and width are used.
        base: as for `sinusoids`.

    Returns:
        (n, d), not what `sinusoids` gives.

    Raises:
        ValueError: `x` has fewer than two axes, or `base` is not positive.
    """
    n, d = _floats("sinusoids_exponent_slip", "x", x, 2).shape[-2:]
    _check_base("sinusoids_exponent_slip", base)
    return _sine_then_cosine(_angles(n, 2 * np.arange(d) / d, base))


@op(
    latex=r"\mathrm{add}'(x)_{b,\, \mathrm{pos},\, j} = x_{b,\, \mathrm{pos},\, j} + \mathrm{PE}_{b,\, j}",
    axes=_first,
)
def add_batch_positions(x: np.ndarray, *, base: float = 10000.0) -> np.ndarray:
    """The known wrong axis: positions are counted along the sentences of a batch instead of along the tokens.

    Formula: `out[b, pos] = x[b, pos] + sinusoids[b]`, b the number of the sentence. All tokens of a sentence get the
    same row. Kept so that the mistake can be switched on and seen.

    Args:
        x: (…, batch, n, d) numbers.
        base: as for `sinusoids`.

    Returns:
        The shape of `x`.

    Raises:
        ValueError: `x` has fewer than three axes, or `base` is not positive.
    """
    x = _floats("add_batch_positions", "x", x, 3)
    _check_base("add_batch_positions", base)
    batch, _, d = x.shape[-3:]
    return x + _sine_then_cosine(_angles(batch, _pair_exponents(d), base))[:, None, :]


@op(
    latex=r"\mathrm{first}(P, x)_{ij} = P_{ij}, \quad 0 \le i < n = \text{length of } x",
    axes=_first,
)
def first_rows(table: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Learned positions: row i of a table for position i, as many as there are tokens.

    Formula: `out = table[:n]`, n the length of `x` (Gehring et al. 2017, section 3.1).

    Args:
        table: (max_len, d) numbers, one row per position.
        x: (…, n, d_x) numbers; only their length is used.

    Returns:
        (n, d).

    Raises:
        ValueError: there are more tokens than rows, or a number of axes does not fit.
    """
    table, x = _floats("first_rows", "table", table), _floats("first_rows", "x", x, 2)
    if table.ndim != 2:
        raise ValueError(f"first_rows: table has shape {table.shape}; it must be (max_len, d).")
    n, max_len = x.shape[-2], len(table)
    if n > max_len:
        raise ValueError(f"first_rows: {n} tokens are too many for a table with max_len = {max_len}: {n} > {max_len}.")
    return table[:n].copy()


@op(
    latex=r"\begin{aligned}"
    r"\mathrm{rotate}(x)_{\mathrm{pos},\, 2i} &= x_{2i} \cos\theta - x_{2i+1} \sin\theta \\"
    r"\mathrm{rotate}(x)_{\mathrm{pos},\, 2i+1} &= x_{2i} \sin\theta + x_{2i+1} \cos\theta"
    r"\end{aligned}, \quad \theta = \mathrm{pos} / \mathrm{base}^{2i/d}",
    axes=_first,
)
def rotate_pairs(x: np.ndarray, *, base: float = 10000.0) -> np.ndarray:
    """Rotary positions: turn each pair of columns by an angle that grows with the position.

    Formula: `(out[2i], out[2i + 1]) = (x[2i] cos θ − x[2i + 1] sin θ, x[2i] sin θ + x[2i + 1] cos θ)`,
    `θ = pos / base^(2i/d)`, in each row pos (Su et al. 2021, section 3.2.2). No length changes; the dot product of two
    turned rows depends on their distance only.

    Args:
        x: (…, n, d) queries or keys of one head, d even.
        base: the slowest pair turns once in about 2π · base tokens.

    Returns:
        The shape of `x`.

    Raises:
        ValueError: the width is odd, `x` has fewer than two axes, or `base` is not positive.
    """
    x = _floats("rotate_pairs", "x", x, 2)
    n, d = x.shape[-2:]
    if d % 2:
        raise ValueError(f"rotate_pairs: x has shape {x.shape}; its width {d} is odd, and columns turn in pairs.")
    _check_base("rotate_pairs", base)
    angles = _angles(n, np.arange(0, d, 2) / d, base)
    cosine, sine = np.cos(angles), np.sin(angles)
    even, odd = x[..., 0::2], x[..., 1::2]
    return np.stack([even * cosine - odd * sine, even * sine + odd * cosine], axis=-1).reshape(x.shape)


@op(
    latex=r"\mathrm{bias}_{ij} = -\,\mathrm{slope} \cdot \left| i + (n_k - n_q) - j \right|",
    axes=lambda query, key, slope: (query[-2], key[-2]),
)
def distance_bias(query: np.ndarray, key: np.ndarray, *, slope: float) -> np.ndarray:
    """Attention with linear biases: a penalty for each pair, in proportion to how far apart the two stand.

    Formula: `out[i, j] = −slope * |i + (n_k − n_q) − j|`, to be added to the scaled scores. For keys that a causal mask
    allows this is the paper's formula (Press et al. 2022, section 3); later keys get the same penalty as earlier ones.
    Positions are aligned at the bottom right, as in `causal_mask`.

    Args:
        query: (…, n_q, d); only its length is used.
        key: (…, n_k, d); only its length is used.
        slope: penalty per token of distance, positive; each head has its own.

    Returns:
        (n_q, n_k), 0 or negative.

    Raises:
        ValueError: an input has fewer than two axes, or `slope` is not positive.
    """
    n_q, n_k = (_floats("distance_bias", name, x, 2).shape[-2] for name, x in (("query", query), ("key", key)))
    _check_positive("distance_bias", "slope", slope)
    return slope * -np.abs(np.arange(n_q)[:, None] + (n_k - n_q) - np.arange(n_k))


# ---- functions of one tensor --------------------------------------------------------------------------------------


def _softmax_input(op_name: str, x, axis: int, argument: str = "x") -> np.ndarray:
    x = _floats(op_name, argument, x, 1)
    _along(op_name, x, axis)
    if np.isnan(x).any() or np.isposinf(x).any():
        raise ValueError(
            f"{op_name}: {argument!r} holds NaN or +infinity; only finite scores and −infinity (masked) have a place."
        )
    return x


@op(
    latex=r"\mathrm{softmax}(x)_{ij} = \frac{e^{x_{ij} - m_i}}{\sum_k e^{x_{ik} - m_i}}, \quad m_i = \max_k x_{ik}",
    axes=_first,
)
def softmax(x: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """Turn scores into weights that are positive and sum to 1.

    Formula: `out = exp(x - max) / sum(exp(x - max))` along `axis`. Subtracting the maximum changes nothing but
    keeps exp from overflowing. A slice that is masked throughout (all -inf) gets weights of zero, never NaN.

    Args:
        x: numbers, -inf allowed, at least one axis.
        axis: the axis along which the weights sum to 1; -1 is the last.

    Returns:
        The shape of `x`, each in 0 … 1.

    Raises:
        ValueError: `x` holds NaN or +inf, or the axis does not exist.
    """
    x = _softmax_input("softmax", x, axis)
    largest = x.max(axis=axis, keepdims=True, initial=-np.inf)
    with np.errstate(over="ignore"):  # scores further apart than any number: the smaller ones weigh 0
        shifted = np.exp(x - np.where(np.isneginf(largest), 0.0, largest))
    total = shifted.sum(axis=axis, keepdims=True)
    return np.divide(shifted, total, out=np.zeros_like(shifted), where=total > 0)


@op(
    latex=r"\mathrm{averaged}(x)_{hij} = \frac{1}{n_{\text{heads}}} \sum_g \mathrm{softmax}(x)_{gij}",
    axes=_first,
)
def softmax_averaged(x: np.ndarray) -> np.ndarray:
    """The known wrong way to use several heads: each gets the mean of the weights of all of them.

    Formula: `out[h, i, j] = mean over g of softmax(x)[g, i, j]`, the same for every head h. Kept so that the mistake
    can be switched on and seen.

    Args:
        x: (…, n_heads, n_q, n_k) numbers, -inf allowed.

    Returns:
        The shape of `x`, each in 0 … 1.

    Raises:
        ValueError: `x` holds NaN or +inf, or has fewer than three axes.
    """
    x = _softmax_input("softmax_averaged", _floats("softmax_averaged", "x", x, 3), -1)
    weights = OPS["softmax"].function(x)
    mean = weights.sum(axis=-3, keepdims=True) / max(1, x.shape[-3])
    return np.broadcast_to(mean, x.shape).copy()


@op(latex=r"\mathrm{hardmax}(x)_{ij} = \left[\, j = \text{first } \arg\max_k x_{ik} \,\right]", axes=_first)
def hardmax(x: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """All weight on the largest score: the hard look-up that softmax softens.

    Formula: `out[i, j] = 1 if j is the first position of max(x[i]) else 0` along `axis`; a slice that is all -inf
    gets zeros.

    Args:
        x: numbers, -inf allowed, at least one axis.
        axis: the axis along which one weight is 1.

    Returns:
        The shape of `x`, each 0 or 1.

    Raises:
        ValueError: `x` holds NaN or +inf, or the axis does not exist.
    """
    x = _softmax_input("hardmax", x, axis)
    if x.shape[axis] == 0:
        return np.zeros_like(x)
    weights = np.zeros_like(x)
    winner = np.expand_dims(x.argmax(axis=axis), axis)
    np.put_along_axis(weights, winner, 1.0, axis)
    return np.where(np.isneginf(x), 0.0, weights)


@op(
    latex=r"\mathrm{crossentropy}(z, t)_i = -\log \mathrm{softmax}(z)_{i\, t_i} = \log \sum_j e^{z_{ij}} - z_{i\, t_i}",
    axes=lambda logits, targets: logits[:-1],
)
def cross_entropy(logits: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The loss of each row: minus the logarithm of the probability that softmax gives to the right answer.

    Formula: `out[i] = log(sum over j of exp(logits[i, j])) - logits[i, targets[i]]`, with the maximum of each row
    subtracted first, so that nothing overflows and a tiny probability is not taken for 0.

    Args:
        logits: (…, n, vocab_size) numbers before softmax; -inf allowed, except for a right answer.
        targets: (…, n) token ids, the right answer of each row.

    Returns:
        (…, n), in nats, 0 or more.

    Raises:
        TypeError: `targets` are not whole numbers.
        ValueError: the shapes do not fit, an id is no column, or a number is not one that softmax takes.
    """
    logits = _floats("cross_entropy", "logits", logits, 2)
    logits = _softmax_input("cross_entropy", logits, -1, "logits")
    targets = _ids("cross_entropy", "targets", targets)
    if targets.shape != logits.shape[:-1]:
        raise ValueError(
            f"cross_entropy: logits is {logits.shape} and targets is {targets.shape}; each row of logits needs one "
            f"target, {logits.shape[:-1]}."
        )
    _check_columns("cross_entropy", "targets", targets, logits.shape[-1])
    right = np.take_along_axis(logits, targets[..., None], axis=-1)
    if np.isneginf(right).any():
        raise ValueError("cross_entropy: a right answer has the logit −infinity; its loss would be infinite.")
    largest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    return np.log(np.exp(logits - largest).sum(axis=-1)) - (right - largest)[..., 0]


@op(latex=r"\mathrm{ReLU}(x)_{ij} = \max(0, x_{ij})", axes=_first)
def relu(x: np.ndarray) -> np.ndarray:
    """Keep what is positive, set the rest to zero.

    Formula: `out = max(0, x)`.

    Args:
        x: numbers of any shape.

    Returns:
        The shape of `x`.
    """
    return np.maximum(_floats("relu", "x", x), 0.0)


@op(latex=r"\tanh(x)_{ij} = \frac{e^{x_{ij}} - e^{-x_{ij}}}{e^{x_{ij}} + e^{-x_{ij}}}", axes=_first)
def tanh(x: np.ndarray) -> np.ndarray:
    """Squash each number into −1 … 1.

    Formula: `out = tanh(x)`.

    Args:
        x: numbers of any shape.

    Returns:
        The shape of `x`.
    """
    return np.tanh(_floats("tanh", "x", x))


_erf = np.vectorize(math.erf, otypes=[np.float64])  # NumPy has none


@op(latex=r"\mathrm{GELU}(x)_{ij} = x_{ij}\, \frac{1 + \mathrm{erf}(x_{ij} / \sqrt{2})}{2}", axes=_first)
def gelu(x: np.ndarray) -> np.ndarray:
    """A ReLU with a round corner: each number times the probability that a normal random number is smaller.

    Formula: `out = x * (1 + erf(x / sqrt(2))) / 2` (Hendrycks and Gimpel 2016, section 2), the exact form, which is
    torch's default; its approximation by tanh is another function.

    Args:
        x: numbers of any shape.

    Returns:
        The shape of `x`.
    """
    x = _floats("gelu", "x", x)
    return x * ((1.0 + _erf(x / np.sqrt(2.0))) / 2.0)  # halved first: x times 2 may be too large


@op(
    latex=r"\mathrm{LN}(x)_{ij} = g_j\, \frac{x_{ij} - \mu_i}{\sqrt{\sigma_i^2 + \varepsilon}} + b_j",
    axes=lambda x, gain, bias, eps: x,
)
def layer_norm(x: np.ndarray, gain: np.ndarray, bias: np.ndarray, *, eps: float = 1e-5) -> np.ndarray:
    """Normalise each row to mean 0 and variance 1, then stretch and shift each column.

    Formula: `out = gain * (x - mean) / sqrt(variance + eps) + bias`, mean and variance over the last axis; the
    variance divides by n (biased) and eps is inside the root, as in `torch.nn.LayerNorm` (Ba et al. 2016, eq. 4).

    Args:
        x: (…, d) numbers.
        gain: (d,) numbers.
        bias: (d,) numbers.
        eps: keeps the root away from zero; in units of the variance.

    Returns:
        The shape of `x`.

    Raises:
        ValueError: a width does not fit, or `eps` is not positive.
    """
    x, gain, bias = (_floats("layer_norm", n, a, 1) for n, a in (("x", x), ("gain", gain), ("bias", bias)))
    if x.shape[-1] == 0:
        raise ValueError(f"layer_norm: x has shape {x.shape}; its width must be 1 or more.")
    if gain.shape != x.shape[-1:] or bias.shape != x.shape[-1:]:
        raise ValueError(
            f"layer_norm: x is {x.shape}, gain is {gain.shape}, bias is {bias.shape}; gain and bias must be "
            f"({x.shape[-1]},)."
        )
    _check_positive("layer_norm", "eps", eps)
    # The mean of the differences from the first value: a row of equal numbers is then centred to exactly 0. With the
    # plain mean it would keep a last-bit error, which 1 / sqrt(eps) magnifies.
    centred = x - x[..., :1]
    centred = centred - centred.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + eps) * gain + bias


# ---- word vectors -------------------------------------------------------------------------------------------------


@op(latex=r"\mathrm{norm}(x)_{i1} = \sqrt{\textstyle\sum_k x_{ik}^2}", axes=lambda x: (*x[:-1], "length"))
def row_norm(x: np.ndarray) -> np.ndarray:
    """The length of each row as an arrow, kept as one column, so that the rows can be divided by it.

    Formula: `out[i, 0] = sqrt(sum over k of x[i, k] ** 2)`, the Euclidean norm.

    Args:
        x: (…, d) numbers.

    Returns:
        (…, 1), each 0 or more.

    Raises:
        ValueError: `x` has no axis.
    """
    x = _floats("row_norm", "x", x, 1)
    return np.sqrt(np.square(x).sum(axis=-1, keepdims=True))


# ---- gradients: what the backward pass needs besides products and sums ------------------------------------------


@op(latex=r"\mathrm{rowtotal}(x)_{i1} = \sum_j x_{ij}", axes=lambda x: (*x[:-1], f"every {x[-1]}"))
def row_total(x: np.ndarray) -> np.ndarray:
    """Add up each row, and keep the sums as one column, so that they can be taken from every number of their rows.

    Formula: `out[i, 0] = sum over j of x[i, j]`.

    Args:
        x: (…, d) numbers.

    Returns:
        (…, 1).

    Raises:
        ValueError: `x` has no axis.
    """
    return _floats("row_total", "x", x, 1).sum(axis=-1, keepdims=True)


@op(latex=r"\mathrm{positive}(x)_{ij} = \left[\, x_{ij} > 0 \,\right]", axes=_first)
def positive(x: np.ndarray) -> np.ndarray:
    """Mark what is above zero: the slope of ReLU, 1 where it lets a number through and 0 where it does not.

    Formula: `out = 1 if x > 0 else 0`; at 0 itself, where ReLU has a kink and no slope, 0, as in torch.

    Args:
        x: numbers of any shape.

    Returns:
        The shape of `x`, each 0 or 1.
    """
    return (_floats("positive", "x", x) > 0).astype(np.float64)


@op(
    latex=r"\mathrm{GELU}'(x)_{ij} = \Phi(x_{ij}) + x_{ij}\, \varphi(x_{ij})",
    axes=_first,
)
def gelu_slope(x: np.ndarray) -> np.ndarray:
    """How steeply GELU rises at each number.

    Formula: `out = (1 + erf(x / sqrt(2))) / 2 + x * exp(-x**2 / 2) / sqrt(2 * pi)`: the probability that a normal
    random number is smaller than x, and x times their density there.

    Args:
        x: numbers of any shape.

    Returns:
        The shape of `x`, each between −0.13 and 1.13.
    """
    x = _floats("gelu_slope", "x", x)
    with np.errstate(over="ignore"):  # the square of a huge number: its density is 0
        return (1.0 + _erf(x / np.sqrt(2.0))) / 2.0 + x * np.exp(-np.square(x) / 2.0) / np.sqrt(2.0 * np.pi)


# ---- output: choosing the next word, and the loss of a whole target ---------------------------------------------


def _single(op_name: str, argument: str, x, rule: str, fits) -> np.ndarray:
    x = _floats(op_name, argument, x)
    if x.ndim or not fits(x):
        raise ValueError(f"{op_name}: {argument!r} is {x if x.ndim == 0 else x.shape}; it must be one number, {rule}.")
    return x


def _shares(op_name: str, argument: str, x) -> np.ndarray:
    x = _floats(op_name, argument, x, 1)
    if not np.all(x >= 0):
        raise ValueError(f"{op_name}: {argument!r} holds a negative number or NaN; they must be probabilities.")
    return x


@op(latex=r"\exp(x)_{ij} = e^{x_{ij}}", axes=_first)
def exp(x: np.ndarray) -> np.ndarray:
    """The number e to the power of each number. Of a mean loss in nats this is the perplexity.

    Formula: `out = e^x`.

    Args:
        x: numbers of any shape; beyond 709 the result is infinite.

    Returns:
        The shape of `x`, 0 or more.
    """
    with np.errstate(over="ignore"):
        return np.exp(_floats("exp", "x", x))


def _keep_largest(x: np.ndarray, weights: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """From the largest number of each row downwards: keep while what came before weighs less than the limit."""
    order = np.argsort(-x, axis=-1, kind="stable")
    before = np.cumsum(np.take_along_axis(weights, order, axis=-1), axis=-1)
    before = np.concatenate([np.zeros_like(before[..., :1]), before[..., :-1]], axis=-1)
    kept = np.zeros(x.shape, dtype=bool)
    np.put_along_axis(kept, order, before < limit, axis=-1)
    return kept


@op(
    latex=r"\mathrm{topk}(x, k)_{ij} = \left[\, \text{fewer than } k \text{ numbers of row } i"
    r" \text{ come before } x_{ij} \,\right]",
    axes=lambda x, k: x,
)
def keep_top_k(x: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Mark the k largest numbers of each row: what top-k sampling chooses from.

    Formula: `out[i, j] = (how many numbers of row i come before x[i, j]) < k`, the largest first and of equal ones the
    first (Fan et al. 2018).

    Args:
        x: (…, n) logits or probabilities, -inf allowed.
        k: one number above 0, how many to keep; of 2.5, three are kept.

    Returns:
        The shape of `x`, booleans, True = may be chosen.

    Raises:
        ValueError: `x` holds NaN or +inf, or `k` is not one number above 0.
    """
    x = _softmax_input("keep_top_k", x, -1)
    k = _single("keep_top_k", "k", k, "above 0", lambda k: k > 0)
    return _keep_largest(x, np.ones_like(x), k)


@op(
    latex=r"\mathrm{topp}(P, p)_{ij} = \left[\, \text{the numbers of row } i \text{ before } P_{ij}"
    r" \text{ add up to less than } p \,\right]",
    axes=lambda probabilities, p: probabilities,
)
def keep_top_p(probabilities: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Mark the fewest words of each row that together reach the probability p: what nucleus sampling chooses from.

    Formula: `out[i, j] = (sum of the probabilities of row i that come before it) < p`, the largest first and of equal
    ones the first (Holtzman et al. 2020, section 3.1).

    Args:
        probabilities: (…, n), 0 or more.
        p: one number above 0 and at most 1, the probability to be reached.

    Returns:
        The shape of `probabilities`, booleans, True = may be chosen; at least one in each row.

    Raises:
        ValueError: a probability is negative or NaN, or `p` is not one number above 0 and at most 1.
    """
    probabilities = _shares("keep_top_p", "probabilities", probabilities)
    p = _single("keep_top_p", "p", p, "above 0 and at most 1", lambda p: 0 < p <= 1)
    return _keep_largest(probabilities, probabilities, p)


@op(
    latex=r"\mathrm{smooth}(q, \varepsilon)_{ij} = (1 - \varepsilon)\, q_{ij} + \frac{\varepsilon}{V},"
    r" \quad V = \text{width of } q",
    axes=lambda x, smoothing: x,
)
def smooth(x: np.ndarray, smoothing: np.ndarray) -> np.ndarray:
    """Label smoothing: take a little from the right answer of each row and share it among all words, itself included.

    Formula: `out = (1 - ε) * x + ε / V`, V the width of `x` (Szegedy et al. 2016, section 7; as in torch).

    Args:
        x: (…, n, vocab_size), a one-hot row for each target.
        smoothing: ε, one number from 0 to 1.

    Returns:
        The shape of `x`; a row that summed to 1 still does.

    Raises:
        ValueError: `x` has no width, or `smoothing` is not one number from 0 to 1.
    """
    x = _floats("smooth", "x", x, 1)
    smoothing = _single("smooth", "smoothing", smoothing, "from 0 to 1", lambda s: 0 <= s <= 1)
    if x.shape[-1] == 0:
        raise ValueError(f"smooth: x has shape {x.shape}; its width must be 1 or more.")
    return (1 - smoothing) * x + smoothing / x.shape[-1]


@op(
    latex=r"H(q, z)_i = \sum_j q_{ij} \left( \log \sum_k e^{z_{ik}} - z_{ij} \right)",
    axes=lambda logits, probabilities: logits[:-1],
)
def soft_cross_entropy(logits: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """The loss of each row when the target is a distribution over the words instead of one word.

    Formula: `out[i] = sum over j of probabilities[i, j] * -log(softmax(logits)[i, j])`. A one-hot row gives
    `cross_entropy`, a row of zeros gives 0.

    Args:
        logits: (…, n, vocab_size) numbers before softmax; -inf only where the target is 0.
        probabilities: the same shape, 0 or more; each row sums to 1, or is all 0 and does not count.

    Returns:
        (…, n), in nats.

    Raises:
        ValueError: the shapes differ, a number is not one that softmax takes, a probability is negative or NaN, or a
            word with a share in the target has the logit -inf.
    """
    logits = _softmax_input("soft_cross_entropy", _floats("soft_cross_entropy", "logits", logits, 1), -1, "logits")
    probabilities = _shares("soft_cross_entropy", "probabilities", probabilities)
    if logits.shape != probabilities.shape:
        raise ValueError(
            f"soft_cross_entropy: logits is {logits.shape} and probabilities is {probabilities.shape}; both must have "
            "the same shape."
        )
    counts = probabilities > 0
    if np.isneginf(logits[counts]).any():
        raise ValueError(
            "soft_cross_entropy: a word with a share in the target has the logit −infinity; its loss would be infinite."
        )
    largest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    below = logits - np.where(np.isneginf(largest), 0.0, largest)
    total = np.exp(below).sum(axis=-1, keepdims=True)
    log_total = np.log(np.where(total > 0, total, 1.0))
    return (probabilities * (log_total - np.where(counts, below, 0.0))).sum(axis=-1)


@op(
    latex=r"\mathrm{clear}(x, t)_{ij} = x_{ij} \text{ if } t_i \ne \mathrm{pad} \text{ else } 0",
    axes=lambda x, tokens, pad_id: x,
)
def clear_padding(x: np.ndarray, tokens: np.ndarray, *, pad_id: int) -> np.ndarray:
    """Set to zero what belongs to padding, so that it does not count in a sum.

    Formula: `out[i] = x[i] if tokens[i] != pad_id else 0`, a number or a whole row.

    Args:
        x: (…, n) or (…, n, d) numbers.
        tokens: (…, n) token ids.
        pad_id: the id of the padding token.

    Returns:
        The shape of `x`.

    Raises:
        TypeError: `tokens` or `pad_id` are not whole numbers.
        ValueError: `x` does not have one entry for each token.
    """
    x, real = _floats("clear_padding", "x", x), _real_tokens("clear_padding", tokens, pad_id)
    if x.shape[: real.ndim] != real.shape:
        raise ValueError(
            f"clear_padding: x is {x.shape} and tokens is {real.shape}; x must begin with the shape of tokens."
        )
    return np.where(real.reshape(real.shape + (1,) * (x.ndim - real.ndim)), x, 0.0)


@op(latex=r"\mathrm{count}(t) = \sum_i \left[\, t_i \ne \mathrm{pad} \,\right]", axes=lambda tokens, pad_id: ())
def count_tokens(tokens: np.ndarray, *, pad_id: int) -> np.ndarray:
    """Count the tokens that are not padding: what a sum over them is divided by to make a mean of it.

    Formula: `out = how many tokens are not pad_id`, in all sentences together.

    Args:
        tokens: (…, n) token ids.
        pad_id: the id of the padding token.

    Returns:
        One whole number.

    Raises:
        TypeError: `tokens` or `pad_id` are not whole numbers.
    """
    return np.array(_real_tokens("count_tokens", tokens, pad_id).sum())


def _real_tokens(op_name: str, tokens, pad_id: int) -> np.ndarray:
    tokens = _ids(op_name, "tokens", tokens)
    if not _is_whole(pad_id):
        raise TypeError(f"{op_name}: pad_id is {pad_id!r}; it must be a token id, a whole number.")
    return tokens != pad_id


# ---- decoder: the target, shifted -----------------------------------------------------------------------------------


@op(latex=r"\mathrm{trim}(t)_j = t_{j + \mathrm{front}}", axes=lambda tokens, **_: tokens)
def trim(tokens: np.ndarray, *, front: int = 0, back: int = 0) -> np.ndarray:
    """Leave out token ids at the ends: without the last, the input of a decoder, without the first, its answers.

    Formula: `out = tokens[front : n - back]`.

    Args:
        tokens: (…, n) token ids.
        front: how many to leave out at the beginning, 0 or more.
        back: how many to leave out at the end, 0 or more.

    Returns:
        (…, n - front - back) token ids.

    Raises:
        TypeError: `tokens` are not whole numbers.
        ValueError: `front` or `back` is no whole number, 0 or more, or there are not so many tokens.
    """
    tokens = _ids("trim", "tokens", tokens)
    _check_least("trim", 0, front=front, back=back)
    n = tokens.shape[-1]
    if front + back > n:
        raise ValueError(f"trim: tokens is {tokens.shape}; of {n} tokens {front} + {back} can not be left out.")
    return tokens[..., front : n - back].copy()


# ---- byte-pair encoding: join the most frequent pair ----------------------------------------------------------------


@op(latex=r"\mathrm{join}(x, c): \text{rows } a, b \to \text{one row}, \; (a, b) = \arg\max_{ij} c_{ij}", axes=_first)
def join_pair(x: np.ndarray, counts: np.ndarray, *, column: int) -> np.ndarray:
    """Join two neighbours into one piece, wherever the most frequent pair stands: one step of byte-pair encoding.

    Formula: `(a, b)` is the first largest cell of `counts`. From the top, where `x[i, a] != 0` and `x[i + 1, b] != 0`
    the two rows become one row that holds `x[i, a]` in `column` and 0 elsewhere; the rows below move up, and rows of 0
    fill the end. If no count is above 0, nothing is joined (Sennrich, Haddow and Birch 2016, section 3.2).

    Args:
        x: (n, d), each row a piece: not 0 in the column of that piece. A row of 0 is a gap between words.
        counts: (d, d), how often a piece (row) has another (column) after it.
        column: the column of the new piece.

    Returns:
        (n, d).

    Raises:
        ValueError: a shape does not fit, there is no such column, or `counts` holds NaN or +inf.
    """
    x, counts = _floats("join_pair", "x", x, 2), _softmax_input("join_pair", counts, -1, "counts")
    width = x.shape[-1]
    if x.ndim != 2 or counts.shape != (width, width):
        raise ValueError(f"join_pair: x {x.shape} and counts {counts.shape} must be (n, d) and (d, d).")
    if not _is_whole(column) or not 0 <= column < width:
        raise ValueError(f"join_pair: column is {column!r}; x {x.shape} has the columns 0 … {width - 1}.")
    first, second = divmod(int(counts.argmax()), width)
    if counts[first, second] <= 0:
        return x.copy()
    joined, i, place = np.zeros_like(x), 0, 0
    while i < len(x):
        if i + 1 < len(x) and x[i, first] and x[i + 1, second]:
            joined[place, column] = x[i, first]
            i += 2
        else:
            joined[place] = x[i]
            i += 1
        place += 1
    return joined


# ---- layer norm, step by step -------------------------------------------------------------------------------------


def _one_of(x: Axes, axis: int, **_) -> Axes:
    """The axes of the input; along one of them there is now one number, which stands for all."""
    k = axis % len(x)
    return (*x[:k], f"every {x[k]}", *x[k + 1 :])


@op(latex=r"\mathrm{mean}(x)_{i1} = \frac{1}{n} \sum_{j=1}^{n} x_{ij}", axes=_one_of)
def mean(x: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """Average along one axis, and keep the axis with size 1, so that the mean can be taken from every number.

    Formula: `out[i, 0] = sum over j of x[i, j] / n`.

    Args:
        x: numbers, at least one along the axis.
        axis: the axis that is averaged; -1, the last, gives the mean of each row.

    Returns:
        The shape of `x`, with 1 along the axis.

    Raises:
        ValueError: the axis does not exist, or is empty.
    """
    x = _floats("mean", "x", x, 1)
    _count_along("mean", x, axis)
    # The first number plus the mean distance from it: for equal numbers that is exactly the number. The plain mean
    # may miss it in the last bit, which layer norm, dividing by almost nothing, then blows up.
    first = x.take([0], axis=axis)
    return first + (x - first).mean(axis=axis, keepdims=True)


@op(latex=r"\mathrm{meansquare}(x)_{i1} = \frac{1}{n} \sum_{j=1}^{n} x_{ij}^2", axes=_one_of)
def mean_square(x: np.ndarray, *, axis: int = -1, correction: int = 0) -> np.ndarray:
    """Square and average along one axis, which is kept with size 1. Of centred numbers that is their variance.

    Formula: `out[i, 0] = sum over j of x[i, j] ** 2 / (n - correction)`.

    Args:
        x: numbers.
        axis: the axis that is averaged.
        correction: 0 for the biased variance, which divides by n and which layer norm uses; 1 for the sample variance,
            which divides by n − 1.

    Returns:
        The shape of `x`, with 1 along the axis; each 0 or more.

    Raises:
        TypeError: `correction` is no whole number.
        ValueError: the axis does not exist, or has too few numbers.
    """
    x = _floats("mean_square", "x", x, 1)
    count = _count_along("mean_square", x, axis, correction)
    return np.square(x).sum(axis=axis, keepdims=True) / count


def _count_along(op_name: str, x: np.ndarray, axis: int, correction: int = 0) -> int:
    if not _is_whole(correction):
        raise TypeError(f"{op_name}: correction is {correction!r}; it must be a whole number.")
    count = x.shape[_along(op_name, x, axis)] - correction
    if count < 1:
        raise ValueError(f"{op_name}: x has shape {x.shape}; along axis {axis} it needs at least {1 + correction}.")
    return count


@op(latex=r"\mathrm{root}(x)_{ij} = \sqrt{x_{ij} + \varepsilon}", axes=_first)
def root(x: np.ndarray, *, eps: float = 0.0) -> np.ndarray:
    """The square root of each number, after a small one was added.

    Formula: `out = sqrt(x + eps)`.

    Args:
        x: numbers, each −eps or more.
        eps: keeps the root of a variance away from zero, so that it can be divided by; in units of `x`.

    Returns:
        The shape of `x`.

    Raises:
        ValueError: a number is too small, or `eps` is negative or not finite.
    """
    x = _floats("root", "x", x)
    if eps != 0:
        _check_positive("root", "eps", eps)
    if not np.all(x + eps >= 0):
        raise ValueError(f"root: x + eps holds {np.min(x + eps)}; a negative number has no square root.")
    return np.sqrt(x + eps)


# ---- convolution: a small window that slides -----------------------------------------------------------------------


def _check_least(op_name: str, least: int, **attributes: int) -> None:
    for attribute, value in attributes.items():
        if not _is_whole(value) or value < least:
            raise ValueError(f"{op_name}: {attribute} is {value!r}; it must be a whole number, {least} or more.")


def _check_window(op_name: str, x: np.ndarray, window: int, places: int) -> None:
    if not 1 <= window <= places:
        raise ValueError(
            f"{op_name}: a window of {window} does not fit into {places} places, padding included; x is {x.shape}."
        )


def _slide_along_rows(
    op_name: str, x, weight, bias, *, before: int, after: int, stride: int, dilation: int, flip: bool = False
) -> np.ndarray:
    x, weight, bias = (_floats(op_name, n, a) for n, a in (("x", x), ("weight", weight), ("bias", bias)))
    if x.ndim < 2 or weight.ndim != 3 or x.shape[-1] != weight.shape[1] or bias.shape != weight.shape[2:]:
        raise ValueError(
            f"{op_name}: x is {x.shape}, weight is {weight.shape}, bias is {bias.shape}; the rule is x (…, n, d_in), "
            "weight (width, d_in, d_out), bias (d_out,)."
        )
    _check_least(op_name, 0, before=before, after=after)
    _check_least(op_name, 1, stride=stride, dilation=dilation)
    reach, places = dilation * (len(weight) - 1) + 1, before + x.shape[-2] + after
    _check_window(op_name, x, reach if len(weight) else 0, places)
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(before, after), (0, 0)])
    starts = np.arange(0, places - reach + 1, stride)
    matrices = weight[::-1] if flip else weight
    return sum((padded[..., starts + k * dilation, :] @ matrix for k, matrix in enumerate(matrices)), start=bias)


def _slide_over_image(op_name: str, x, weight, bias, *, padding: int, stride: int, flip: bool = False) -> np.ndarray:
    x, weight, bias = (_floats(op_name, n, a) for n, a in (("x", x), ("weight", weight), ("bias", bias)))
    if x.ndim < 3 or weight.ndim != 4 or x.shape[-3] != weight.shape[1] or bias.shape != weight.shape[:1]:
        raise ValueError(
            f"{op_name}: x is {x.shape}, weight is {weight.shape}, bias is {bias.shape}; the rule is x (…, c_in, "
            "height, width), weight (c_out, c_in, window height, window width), bias (c_out,)."
        )
    _check_least(op_name, 0, padding=padding)
    _check_least(op_name, 1, stride=stride)
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(padding, padding)] * 2)
    for window, places in zip(weight.shape[2:], padded.shape[-2:], strict=True):
        _check_window(op_name, x, window, places)
    rows, columns = (np.arange(0, padded.shape[k] - weight.shape[k] + 1, stride) for k in (-2, -1))
    result = bias[:, None, None]
    for i, j in np.ndindex(weight.shape[2:]):
        matrix = weight[:, :, -1 - i, -1 - j] if flip else weight[:, :, i, j]
        seen = padded[..., rows[:, None] + i, columns + j]  # what each place of the result sees here
        result = result + np.einsum("oc,...cyx->...oyx", matrix, seen)
    return result


def _slide_axes(x: Axes, weight: Axes, bias: Axes, **_) -> Axes:
    return (*x[:-1], weight[-1])


def _image_axes(x: Axes, weight: Axes, bias: Axes, **_) -> Axes:
    return (*x[:-3], weight[0], *x[-2:])


@op(latex=r"\mathrm{conv}(x)_{ij} = \sum_{k} \sum_{c} x_{i + k,\, c}\, W_{kcj} + b_j", axes=_slide_axes)
def convolve_1d(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    *,
    before: int = 0,
    after: int = 0,
    stride: int = 1,
    dilation: int = 1,
) -> np.ndarray:
    """Slide a window along the rows: one matrix for each place of the window, and the products are added.

    Formula: `out[i, j] = sum over k, c of x[i * stride + k * dilation - before, c] * weight[k, c, j] + bias[j]`, where
    rows outside of x are 0. That is cross-correlation, which deep learning calls convolution, as `torch.nn.Conv1d`; it
    has (d_out, d_in, width), which `stepformer.params` turns round.

    Args:
        x: (…, n, d_in) numbers.
        weight: (width, d_in, d_out), a matrix for each place of the window.
        bias: (d_out,).
        before: rows of zeros put before x; with (width - 1) * dilation of them, and none after, it sees no future.
        after: rows of zeros put after x.
        stride: how far the window moves from one result to the next.
        dilation: how far apart the rows are that the window sees.

    Returns:
        (…, n_out, d_out), `n_out = (before + n + after - dilation * (width - 1) - 1) // stride + 1`.

    Raises:
        ValueError: a size or an attribute does not fit, or the window is longer than the rows.
    """
    attributes = {"before": before, "after": after, "stride": stride, "dilation": dilation}
    return _slide_along_rows("convolve_1d", x, weight, bias, **attributes)


@op(
    latex=r"\mathrm{flipped}(x)_{ij} = \sum_{k} \sum_{c} x_{i + k,\, c}\, W_{w - 1 - k,\, cj} + b_j",
    axes=_slide_axes,
)
def convolve_1d_flipped(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    *,
    before: int = 0,
    after: int = 0,
    stride: int = 1,
    dilation: int = 1,
) -> np.ndarray:
    """The other convolution, that of mathematics: the window is turned round before it slides.

    Formula: `convolve_1d` with `weight[::-1]`, as `numpy.convolve` has it. Kept so that the mistake of taking one for
    the other can be switched on and seen.

    Args:
        x: (…, n, d_in) numbers.
        weight: (width, d_in, d_out).
        bias: (d_out,).
        before: rows of zeros put before x.
        after: rows of zeros put after x.
        stride: how far the window moves from one result to the next.
        dilation: how far apart the rows are that the window sees.

    Returns:
        (…, n_out, d_out), as `convolve_1d`.

    Raises:
        ValueError: a size or an attribute does not fit, or the window is longer than the rows.
    """
    attributes = {"before": before, "after": after, "stride": stride, "dilation": dilation}
    return _slide_along_rows("convolve_1d_flipped", x, weight, bias, flip=True, **attributes)


@op(
    latex=r"\mathrm{conv}(x)_{oij} = \sum_{c} \sum_{k,\, l} x_{c,\, i + k,\, j + l}\, W_{ockl} + b_o",
    axes=_image_axes,
)
def convolve_2d(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, *, padding: int = 0, stride: int = 1
) -> np.ndarray:
    """Slide a small window over an image: at each place multiply pixel by pixel with the kernel, and add up.

    Formula: `out[o, i, j] = sum over c, k, l of x[c, i * stride + k - padding, j * stride + l - padding] *
    weight[o, c, k, l] + bias[o]`, where pixels outside of x are 0. That is cross-correlation, as `torch.nn.Conv2d`.

    Args:
        x: (…, c_in, height, width) numbers, one picture for each channel.
        weight: (c_out, c_in, window height, window width), a kernel for each pair of channels.
        bias: (c_out,).
        padding: how many rows and columns of zeros are put around x.
        stride: how far the window moves from one result to the next, down and to the right.

    Returns:
        (…, c_out, rows, columns), `rows = (height + 2 * padding - window height) // stride + 1`.

    Raises:
        ValueError: a size or an attribute does not fit, or the window is larger than the image.
    """
    return _slide_over_image("convolve_2d", x, weight, bias, padding=padding, stride=stride)


@op(
    latex=r"\mathrm{flipped}(x)_{oij} = \sum_{c,\, k,\, l} x_{c,\, i + k,\, j + l}\, W_{oc,\, h-1-k,\, w-1-l} + b_o",
    axes=_image_axes,
)
def convolve_2d_flipped(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, *, padding: int = 0, stride: int = 1
) -> np.ndarray:
    """The other convolution, that of mathematics: the kernel is turned by half a turn before it slides.

    Formula: `convolve_2d` with `weight[:, :, ::-1, ::-1]`. Kept so that the mistake of taking one for the other can be
    switched on and seen.

    Args:
        x: (…, c_in, height, width) numbers.
        weight: (c_out, c_in, window height, window width).
        bias: (c_out,).
        padding: how many rows and columns of zeros are put around x.
        stride: how far the window moves from one result to the next.

    Returns:
        (…, c_out, rows, columns), as `convolve_2d`.

    Raises:
        ValueError: a size or an attribute does not fit, or the window is larger than the image.
    """
    return _slide_over_image("convolve_2d_flipped", x, weight, bias, padding=padding, stride=stride, flip=True)


# ---- structure: look-up, heads, joining ---------------------------------------------------------------------------


@op(latex=r"\mathrm{embed}(t)_{ik} = E_{t_i k}", axes=lambda tokens, table: (*tokens, table[-1]))
def embed(tokens: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Look up one row of the table for each token id.

    Formula: `out[i] = table[tokens[i]]`, the same as a one-hot row times the table.

    Args:
        tokens: (…, n) token ids.
        table: (vocab_size, d) numbers, one row per word.

    Returns:
        (…, n, d).

    Raises:
        TypeError: `tokens` are not whole numbers.
        ValueError: an id is not a row of the table.
    """
    tokens, table = _ids("embed", "tokens", tokens), _floats("embed", "table", table, 2)
    if table.ndim != 2:
        raise ValueError(f"embed: table has shape {table.shape}; it must be (vocab_size, d).")
    if tokens.size and not (tokens.min() >= 0 and tokens.max() < len(table)):
        raise ValueError(
            f"embed: ids go from {tokens.min()} to {tokens.max()}, but the table has the rows 0 … {len(table) - 1}."
        )
    return table[tokens]


@op(
    latex=r"\mathrm{onehot}(t)_{ij} = \left[\, j = t_i \,\right]",
    axes=lambda tokens, vocab_size: (*tokens, "vocabulary"),
)
def one_hot(tokens: np.ndarray, *, vocab_size: int) -> np.ndarray:
    """A row for each token: 1 in the column of the token, 0 in all others.

    Formula: `out[i, j] = 1 if j == tokens[i] else 0`.

    Args:
        tokens: (…, n) token ids.
        vocab_size: number of columns, one for each word.

    Returns:
        (…, n, vocab_size), each 0 or 1.

    Raises:
        TypeError: `tokens` are not whole numbers.
        ValueError: an id is no column, or `vocab_size` is not a whole number, 1 or more.
    """
    tokens = _ids("one_hot", "tokens", tokens)
    if not _is_whole(vocab_size) or vocab_size < 1:
        raise ValueError(f"one_hot: vocab_size is {vocab_size!r}; it must be a whole number, 1 or more.")
    _check_columns("one_hot", "tokens", tokens, vocab_size)
    return (tokens[..., None] == np.arange(vocab_size)).astype(np.float64)


def _check_heads(op_name: str, x: np.ndarray, n_heads: int) -> None:
    if not _is_whole(n_heads) or n_heads < 1:
        raise ValueError(f"{op_name}: n_heads is {n_heads!r}; it must be a whole number, 1 or more.")
    if x.shape[-1] % n_heads:
        raise ValueError(
            f"{op_name}: the width {x.shape[-1]} of x {x.shape} can not be split into {n_heads} equal heads."
        )


def _split_axes(x: Axes, n_heads: int) -> Axes:
    return (*x[:-2], "head", x[-2], f"{x[-1]} of a head")


@op(latex=r"\mathrm{split}(x)_{hik} = x_{i,\; h d_k + k}", axes=_split_axes)
def split_heads(x: np.ndarray, *, n_heads: int) -> np.ndarray:
    """Cut the width of every token into heads: head h gets the h-th block of columns.

    Formula: `out[h, i, k] = x[i, h * d_k + k]`, `d_k = d / n_heads`. First reshape, then move the head axis forward;
    a bare reshape would mix tokens (see `reshape_heads`).

    Args:
        x: (…, n, d) numbers.
        n_heads: number of heads, a divisor of d.

    Returns:
        (…, n_heads, n, d / n_heads).

    Raises:
        ValueError: `n_heads` does not divide the width.
    """
    x = _floats("split_heads", "x", x, 2)
    _check_heads("split_heads", x, n_heads)
    *leading, n, d = x.shape
    return np.swapaxes(x.reshape(*leading, n, n_heads, d // n_heads), -2, -3)


@op(
    latex=r"\mathrm{merge}(x)_{i,\; h d_k + k} = x_{hik}",
    axes=lambda x: (*x[:-3], x[-2], x[-1].removesuffix(" of a head")),
)
def merge_heads(x: np.ndarray) -> np.ndarray:
    """Put the heads of every token side by side again: the inverse of `split_heads`.

    Formula: `out[i, h * d_k + k] = x[h, i, k]`.

    Args:
        x: (…, n_heads, n, d_k) numbers.

    Returns:
        (…, n, n_heads * d_k).

    Raises:
        ValueError: `x` has fewer than three axes.
    """
    x = _floats("merge_heads", "x", x, 3)
    *leading, n_heads, n, d_k = x.shape
    return np.swapaxes(x, -2, -3).reshape(*leading, n, n_heads * d_k)


@op(
    latex=r"\mathrm{reshape}(x)_{hik} = \text{cell } (h n + i)\, d_k + k \text{ of } x \text{ read row by row}",
    axes=_split_axes,
)
def reshape_heads(x: np.ndarray, *, n_heads: int) -> np.ndarray:
    """The known wrong way to make heads: the right shape, but rows of different tokens are mixed.

    Formula: `out = x.reshape(n_heads, n, d / n_heads)`. Kept so that the mistake can be switched on and seen.

    Args:
        x: (…, n, d) numbers.
        n_heads: number of heads, a divisor of d.

    Returns:
        (…, n_heads, n, d / n_heads), not what `split_heads` gives.

    Raises:
        ValueError: `n_heads` does not divide the width.
    """
    x = _floats("reshape_heads", "x", x, 2)
    _check_heads("reshape_heads", x, n_heads)
    *leading, n, d = x.shape
    return x.reshape(*leading, n_heads, n, d // n_heads)


@op(latex=r"\mathrm{concat}(a, b, \dots) = [\,a \;|\; b \;|\; \dots\,]", axes=_first)
def concat(*parts: np.ndarray, axis: int = -1) -> np.ndarray:
    """Put tensors side by side along one axis.

    Formula: `out = [parts[0] | parts[1] | …]` along `axis`.

    Args:
        *parts: one or more tensors of numbers with equal sizes on every other axis.
        axis: the axis along which they are joined.

    Returns:
        The common shape, with the sum of the sizes along `axis`.

    Raises:
        ValueError: nothing is given, or the other sizes differ.
    """
    parts = [_floats("concat", f"parts[{i}]", part, 1) for i, part in enumerate(parts)]
    if not parts:
        raise ValueError("concat: nothing to join; give one tensor or more.")
    shapes = [list(part.shape) for part in parts]
    for part, shape in zip(parts, shapes, strict=True):
        shape[_along("concat", part, axis)] = 0
    if any(shape != shapes[0] for shape in shapes):
        given = ", ".join(str(part.shape) for part in parts)
        raise ValueError(f"concat: shapes {given} must agree on every axis but {axis}.")
    return np.concatenate(parts, axis=axis)


# ---- recurrent networks: gates, one step after the other -----------------------------------------------------------


@op(latex=r"\sigma(x)_{ij} = \frac{1}{1 + e^{-x_{ij}}}", axes=_first)
def sigmoid(x: np.ndarray) -> np.ndarray:
    """The logistic sigmoid, cell by cell: a gate between 0, shut, and 1, open.

    Formula: `out = 1 / (1 + exp(-x))`.

    Args:
        x: numbers of any shape.

    Returns:
        The shape of `x`, each between 0 and 1.
    """
    with np.errstate(over="ignore"):  # exp(800) is an infinity here, and 1 / (1 + ∞) is the right answer, 0
        return 1.0 / (1.0 + np.exp(-_floats("sigmoid", "x", x)))


def _row_axes(x: Axes, index: int) -> Axes:
    return (*x[:-2], x[-1])


@op(latex=r"\mathrm{row}(x)_j = x_{tj} \quad \text{for one } t", axes=_row_axes)
def row(x: np.ndarray, *, index: int) -> np.ndarray:
    """Take one row of a sequence: what a recurrent network reads at one step.

    Formula: `out[j] = x[index, j]`.

    Args:
        x: (…, n, d) numbers.
        index: the row, 0 … n − 1.

    Returns:
        (…, d).

    Raises:
        TypeError: `index` is no whole number.
        ValueError: there is no such row.
    """
    x = _floats("row", "x", x, 2)
    _check_row("row", index, x.shape[-2], f"x {x.shape}")
    return x[..., index, :].copy()


def _check_row(op_name: str, index: int, n: int, of: str) -> None:
    if not _is_whole(index):
        raise TypeError(f"{op_name}: index is {index!r}; it must be a whole number.")
    if not 0 <= index < n:
        raise ValueError(f"{op_name}: row {index} does not exist; {of} has the rows 0 … {n - 1}.")


@op(latex=r"\mathrm{stack}(a, b, \dots)_{tj} = j\text{-th number of the } t\text{-th vector}",
    axes=lambda first, *_: (*first[:-1], "step", first[-1]))  # fmt: skip
def stack(*rows: np.ndarray) -> np.ndarray:
    """Put vectors below one another: they become the rows of a matrix.

    Formula: `out[t, j] = rows[t][j]`.

    Args:
        *rows: one or more (…, d), all of one shape.

    Returns:
        (…, n, d) for n vectors.

    Raises:
        ValueError: nothing is given, or the shapes differ.
    """
    rows = [_floats("stack", f"rows[{i}]", one, 1) for i, one in enumerate(rows)]
    if not rows or any(one.shape != rows[0].shape for one in rows):
        given = ", ".join(str(one.shape) for one in rows) or "nothing"
        raise ValueError(f"stack: given {given}; one vector or more, all of one shape, are needed.")
    return np.stack(rows, axis=-2)


@op(latex=r"\mathrm{hold}(h', h, m)_j = h'_j \text{ if } m_t \text{ else } h_j \quad \text{for one } t", axes=_first)
def hold(new: np.ndarray, old: np.ndarray, allowed: np.ndarray, *, index: int) -> np.ndarray:
    """Take the new state where there is a word; keep the old one over padding.

    Formula: `out = new if allowed[0, index] else old`.

    Args:
        new: (…, d) the state after the step.
        old: (…, d) the state before it.
        allowed: booleans (…, 1, n), True = a word, as `padding_mask` gives them.
        index: the step, 0 … n − 1.

    Returns:
        (…, d), the shape of `new`.

    Raises:
        TypeError: `allowed` is not boolean, or `index` no whole number.
        ValueError: the shapes do not fit, or there is no such step.
    """
    new, old = _floats("hold", "new", new, 1), _floats("hold", "old", old, 1)
    allowed = _bools("hold", "allowed", allowed, 2)
    if new.shape != old.shape or allowed.shape[:-1] != (*new.shape[:-1], 1):
        raise ValueError(
            f"hold: new {new.shape}, old {old.shape} and allowed {allowed.shape} do not fit; they must be (…, d), "
            "(…, d) and (…, 1, n)."
        )
    _check_row("hold", index, allowed.shape[-1], f"allowed {allowed.shape}")
    return np.where(allowed[..., index], new, old)
