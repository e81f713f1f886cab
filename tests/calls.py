"""Calls of every op: random ones that are legal, edge cases, and calls that must be refused."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Call = tuple[list[np.ndarray], dict[str, Any]]
"""The inputs of an op and its attributes."""

LEADING = [(), (), (), (2,), (3, 2), (1,)]
INF = math.inf


class Draw:
    """Random sizes and tensors for one call. Sizes are drawn so that two axes of a call rarely have the same one."""

    def __init__(self, rng: np.random.Generator, scale: float) -> None:
        self.rng = rng
        self.scale = scale

    def sizes(self, count: int, smallest: int = 1) -> list[int]:
        return [int(n) for n in self.rng.permutation([1, 2, 3, 5, 7])[:count].clip(smallest)]

    def leading(self) -> tuple[int, ...]:
        return LEADING[self.rng.integers(len(LEADING))]

    def floats(self, *shape: int) -> np.ndarray:
        return self.rng.normal(size=shape) * self.scale

    def numbers(self, *shape: int) -> np.ndarray:
        """Mostly floats; sometimes whole numbers, which ops take as well."""
        return self.floats(*shape) if self.rng.random() < 0.9 else self.rng.integers(-5, 6, size=shape)

    def bools(self, *shape: int) -> np.ndarray:
        return self.rng.random(size=shape) < self.rng.choice([0.2, 0.5, 0.9])

    def broadcast(self, shape: tuple[int, ...], keep: int = 0) -> tuple[int, ...]:
        """A shape that stretches to `shape`: some sizes become 1, some leading axes vanish, the last `keep` stay."""
        cut = int(self.rng.integers(0, len(shape) - keep + 1))
        free = [1 if self.rng.random() < 0.3 else n for n in shape[cut : len(shape) - keep]]
        return (*free, *shape[len(shape) - keep :])

    def pair(self, shape: tuple[int, ...], keep: int = 0) -> list[tuple[int, ...]]:
        """Two shapes, at least one of them `shape`, that broadcast to it."""
        shapes = [shape, self.broadcast(shape, keep)]
        return shapes if self.rng.random() < 0.5 else shapes[::-1]


def _matmul(draw: Draw) -> Call:
    n, k, m = draw.sizes(3)
    a, b = (shape for shape in draw.pair(draw.leading()))
    kind = draw.rng.random()
    if kind < 0.1:
        return [draw.numbers(k), draw.numbers(*b, k, m)], {}
    if kind < 0.2:
        return [draw.numbers(*a, n, k), draw.numbers(k)], {}
    if kind < 0.25:
        return [draw.numbers(k), draw.numbers(k)], {}
    return [draw.numbers(*a, n, k), draw.numbers(*b, k, m)], {}


def _one(draw: Draw) -> Call:
    return [draw.numbers(*draw.leading(), *draw.sizes(int(draw.rng.integers(0, 4))))], {}


def _matrix(draw: Draw) -> Call:
    return [draw.numbers(*draw.leading(), *draw.sizes(2))], {}


def _cell_by_cell(draw: Draw) -> Call:
    a, b = draw.pair((*draw.leading(), *draw.sizes(2)))
    return [draw.numbers(*a), draw.numbers(*b)], {}


def _divide(draw: Draw) -> Call:
    (a, b), _ = _cell_by_cell(draw)
    return [a, np.where(b == 0, 1, b)], {}


def _total(draw: Draw) -> Call:
    x = draw.numbers(*draw.leading(), *draw.sizes(int(draw.rng.integers(1, 3))))
    axis = int(draw.rng.integers(-x.ndim, x.ndim))
    return [x], {"axis": axis} if axis != -1 else {}


def _scale(draw: Draw) -> Call:
    n_q, n_k, d_k = draw.sizes(3)
    leading = draw.leading()
    return [draw.numbers(*leading, n_q, n_k), draw.numbers(*leading, n_q, d_k)], {}


def _sinusoids(draw: Draw) -> Call:
    attributes = {"base": 100.0} if draw.rng.random() < 0.3 else {}
    return [draw.numbers(*draw.leading(), *draw.sizes(2))], attributes


def _add_batch_positions(draw: Draw) -> Call:
    attributes = {"base": 100.0} if draw.rng.random() < 0.3 else {}
    return [draw.numbers(*draw.leading(), *draw.sizes(3))], attributes


def _first_rows(draw: Draw) -> Call:
    n, more, d, d_x = draw.sizes(4)
    return [draw.numbers(n + more - 1, d), draw.numbers(*draw.leading(), n, d_x)], {}


def _rotate_pairs(draw: Draw) -> Call:
    attributes = {"base": 100.0} if draw.rng.random() < 0.3 else {}
    n, half = draw.sizes(2)
    return [draw.numbers(*draw.leading(), n, 2 * half)], attributes


def _distance_bias(draw: Draw) -> Call:
    inputs, _ = _causal_mask(draw)
    return inputs, {"slope": float(draw.rng.choice([0.5, 2.0, 1 / 256]))}


def _linear(draw: Draw) -> Call:
    n, d_in, d_out = draw.sizes(3)
    shape = (d_in,) if draw.rng.random() < 0.1 else (*draw.leading(), n, d_in)
    return [draw.numbers(*shape), draw.numbers(d_in, d_out), draw.numbers(d_out)], {}


def _add_pairs(draw: Draw) -> Call:
    n, m, d = draw.sizes(3)
    a, b = draw.pair(draw.leading())
    return [draw.numbers(*a, n, d), draw.numbers(*b, m, d)], {}


def _copy(draw: Draw) -> Call:
    x = _one(draw)[0][0]
    return [x > 0 if draw.rng.random() < 0.2 else x], {}


def _causal_mask(draw: Draw) -> Call:
    n_q, n_k, d = draw.sizes(3)
    return [draw.numbers(*draw.leading(), n_q, d), draw.numbers(n_k, d)], {}


def _padding_mask(draw: Draw) -> Call:
    return [draw.rng.integers(0, 3, size=(*draw.leading(), *draw.sizes(1)))], {"pad_id": int(draw.rng.integers(0, 3))}


def _both(draw: Draw) -> Call:
    a, b = draw.pair((*draw.leading(), *draw.sizes(2)))
    return [draw.bools(*a), draw.bools(*b)], {}


def _share_across_heads(draw: Draw) -> Call:
    return [draw.bools(*draw.leading(), *draw.sizes(2))], {}


def _mask(draw: Draw) -> Call:
    shape = (*draw.leading(), *draw.sizes(2))
    return [draw.numbers(*shape), draw.bools(*draw.broadcast(shape))], {}


def _mask_transposed(draw: Draw) -> Call:
    (scores, allowed), _ = _mask(draw)
    allowed = allowed.reshape((1,) * (2 - allowed.ndim) + allowed.shape)
    return [scores, np.swapaxes(allowed, -1, -2).copy()], {}


def _zero_masked(draw: Draw) -> Call:
    n_q, n_k, d = draw.sizes(3)
    a, b = draw.pair(draw.leading())
    x, allowed = draw.numbers(*a, n_k, d), draw.bools(*b, n_q, n_k)
    allowed[..., 0] = False
    return [x, allowed], {}


def _along_an_axis(draw: Draw) -> Call:
    x = draw.numbers(*draw.leading(), *draw.sizes(int(draw.rng.integers(1, 3))))
    axis = int(draw.rng.integers(-x.ndim, x.ndim))
    if x.dtype.kind == "f":
        x = np.where(draw.rng.random(x.shape) < 0.3, -INF, x)
    return [x], {"axis": axis} if axis != -1 else {}


def _scores_of_heads(draw: Draw) -> Call:
    x = draw.numbers(*draw.leading(), *draw.sizes(3))
    return [np.where(draw.rng.random(x.shape) < 0.3, -INF, x) if x.dtype.kind == "f" else x], {}


def _cross_entropy(draw: Draw) -> Call:
    n, words = draw.sizes(2)
    logits = draw.numbers(*draw.leading(), n, words)
    targets = draw.rng.integers(0, words, size=logits.shape[:-1])
    others = np.arange(words) != targets[..., None]
    if logits.dtype.kind == "f":
        logits = np.where(others & (draw.rng.random(logits.shape) < 0.2), -INF, logits)
    return [logits, targets], {}


def _keep_top_k(draw: Draw) -> Call:
    (x,), _ = _scores_of_heads(draw)
    return [x, np.array(draw.rng.choice([0.5, 1, 2, 2.5, 4, 9]))], {}


def _shares(draw: Draw, shape: tuple[int, ...]) -> np.ndarray:
    """Rows that sum to 1 or are zero, some of them with zeros."""
    x = draw.rng.random(shape) * (draw.rng.random(shape) < 0.7)
    total = x.sum(axis=-1, keepdims=True)
    return x / np.where(total == 0, 1, total)


def _keep_top_p(draw: Draw) -> Call:
    probabilities = _shares(draw, (*draw.leading(), *draw.sizes(2)))
    return [probabilities, np.array(draw.rng.choice([1e-3, 0.3, 0.6, 0.9, 1]))], {}


def _smooth(draw: Draw) -> Call:
    return [draw.numbers(*draw.leading(), *draw.sizes(2)), np.array(draw.rng.choice([0, 0.1, 0.4, 1]))], {}


def _soft_cross_entropy(draw: Draw) -> Call:
    logits = draw.numbers(*draw.leading(), *draw.sizes(2))
    probabilities = _shares(draw, logits.shape)
    if logits.dtype.kind == "f":
        logits = np.where((probabilities == 0) & (draw.rng.random(logits.shape) < 0.3), -INF, logits)
    return [logits, probabilities], {}


def _clear_padding(draw: Draw) -> Call:
    (tokens,), attributes = _padding_mask(draw)
    return [draw.numbers(*tokens.shape, *draw.sizes(int(draw.rng.integers(0, 2)))), tokens], attributes


def _trim(draw: Draw) -> Call:
    front, back = (int(n) for n in draw.rng.integers(0, 3, size=2))
    n = draw.sizes(1)[0] + front + back
    return [draw.rng.integers(0, 9, size=(*draw.leading(), draw.sizes(1)[0], n))], {"front": front, "back": back}


def _layer_norm(draw: Draw) -> Call:
    d = draw.sizes(1)[0]
    attributes = {"eps": 0.01} if draw.rng.random() < 0.3 else {}
    return [draw.numbers(*draw.leading(), *draw.sizes(1), d), draw.numbers(d), draw.numbers(d)], attributes


def _mean_square(draw: Draw) -> Call:
    inputs, attributes = _total(draw)
    axis = attributes.get("axis", -1)
    return inputs, attributes | ({"correction": 1} if inputs[0].shape[axis] > 1 and draw.rng.random() < 0.5 else {})


def _root(draw: Draw) -> Call:
    return [np.square(_one(draw)[0][0])], {"eps": 1e-5} if draw.rng.random() < 0.5 else {}


def _convolve_1d(draw: Draw) -> Call:
    width, d_in, d_out = draw.sizes(3)
    least = {"before": 0, "after": 0, "stride": 1, "dilation": 1}
    drawn = {name: start + int(draw.rng.integers(0, 4)) for name, start in least.items()}
    shortest = max(0, drawn["dilation"] * (width - 1) + 1 - drawn["before"] - drawn["after"])
    x = draw.numbers(*draw.leading(), shortest + int(draw.rng.integers(0, 6)), d_in)
    attributes = {name: value for name, value in drawn.items() if value != least[name]}
    return [x, draw.numbers(width, d_in, d_out), draw.numbers(d_out)], attributes


def _convolve_2d(draw: Draw) -> Call:
    channels, out = draw.sizes(2)
    rows, columns = (int(n) for n in draw.rng.integers(1, 4, size=2))
    height, width = rows + int(draw.rng.integers(0, 4)), columns + int(draw.rng.integers(0, 4))
    attributes = {"padding": int(draw.rng.integers(0, 3)), "stride": int(draw.rng.integers(1, 4))}
    x, weight = draw.numbers(*draw.leading(), channels, height, width), draw.numbers(out, channels, rows, columns)
    return [x, weight, draw.numbers(out)], attributes


def _embed(draw: Draw) -> Call:
    n, words, d = draw.sizes(3)
    return [draw.rng.integers(0, words, size=(*draw.leading(), n)), draw.numbers(words, d)], {}


def _one_hot(draw: Draw) -> Call:
    n, words = draw.sizes(2)
    return [draw.rng.integers(0, words, size=(*draw.leading(), n))], {"vocab_size": words}


def _split(draw: Draw) -> Call:
    n, n_heads, d_k = draw.sizes(3)
    return [draw.numbers(*draw.leading(), n, n_heads * d_k)], {"n_heads": n_heads}


def _merge_heads(draw: Draw) -> Call:
    return [draw.numbers(*draw.leading(), *draw.sizes(3))], {}


def _concat(draw: Draw) -> Call:
    shape = (*draw.leading(), *draw.sizes(2))
    axis = int(draw.rng.integers(-len(shape), len(shape)))
    parts = []
    for size in draw.sizes(int(draw.rng.integers(1, 4))):
        one = list(shape)
        one[axis] = size
        parts.append(draw.numbers(*one))
    return parts, {"axis": axis} if axis != -1 else {}


def _row(draw: Draw) -> Call:
    n, d = draw.sizes(2)
    return [draw.numbers(*draw.leading(), n, d)], {"index": int(draw.rng.integers(n))}


def _stack(draw: Draw) -> Call:
    shape = (*draw.leading(), *draw.sizes(1))
    return [draw.numbers(*shape) for _ in range(draw.rng.integers(1, 4))], {}


def _join_pair(draw: Draw) -> Call:
    n, d = draw.sizes(2)
    pieces = np.eye(d)[draw.rng.integers(d, size=n)] * draw.rng.integers(0, 4, size=(n, 1))  # with gaps between words
    counts = draw.rng.integers(-1, 4, size=(d, d)) if draw.rng.random() < 0.5 else draw.floats(d, d)
    return [pieces, counts], {"column": int(draw.rng.integers(d))}


def _hold(draw: Draw) -> Call:
    n, d = draw.sizes(2)
    leading = draw.leading()
    states = [draw.numbers(*leading, d) for _ in range(2)]
    return [*states, draw.bools(*leading, 1, n)], {"index": int(draw.rng.integers(n))}


RANDOM: dict[str, Callable[[Draw], Call]] = {
    "matmul": _matmul,
    "transpose": _matrix,
    "add": _cell_by_cell,
    "subtract": _cell_by_cell,
    "multiply": _cell_by_cell,
    "divide": _divide,
    "scale": _scale,
    "scale_up": _matrix,
    "linear": _linear,
    "add_pairs": _add_pairs,
    "copy": _copy,
    "causal_mask": _causal_mask,
    "padding_mask": _padding_mask,
    "both": _both,
    "share_across_heads": _share_across_heads,
    "mask": _mask,
    "mask_with_zero": _mask,
    "mask_opposite": _mask,
    "mask_transposed": _mask_transposed,
    "zero_masked": _zero_masked,
    "softmax": _along_an_axis,
    "softmax_averaged": _scores_of_heads,
    "total": _total,
    "row_norm": _matrix,
    "row_total": _matrix,
    "positive": _one,
    "gelu_slope": _one,
    "count_rows": _matrix,
    "cross_entropy": _cross_entropy,
    "one_hot": _one_hot,
    "hardmax": _along_an_axis,
    "relu": _one,
    "tanh": _one,
    "exp": _one,
    "keep_top_k": _keep_top_k,
    "keep_top_p": _keep_top_p,
    "smooth": _smooth,
    "soft_cross_entropy": _soft_cross_entropy,
    "clear_padding": _clear_padding,
    "count_tokens": _padding_mask,
    "trim": _trim,
    "gelu": _one,
    "mean": _total,
    "mean_square": _mean_square,
    "root": _root,
    "layer_norm": _layer_norm,
    "sinusoids": _sinusoids,
    "sinusoids_in_blocks": _sinusoids,
    "sinusoids_exponent_slip": _sinusoids,
    "add_batch_positions": _add_batch_positions,
    "first_rows": _first_rows,
    "rotate_pairs": _rotate_pairs,
    "distance_bias": _distance_bias,
    "convolve_1d": _convolve_1d,
    "convolve_1d_flipped": _convolve_1d,
    "convolve_2d": _convolve_2d,
    "convolve_2d_flipped": _convolve_2d,
    "embed": _embed,
    "split_heads": _split,
    "reshape_heads": _split,
    "merge_heads": _merge_heads,
    "concat": _concat,
    "sigmoid": _one,
    "row": _row,
    "stack": _stack,
    "hold": _hold,
    "join_pair": _join_pair,
}
"""One maker of random calls for each op; a test compares the names with the list of ops."""


def random_calls(name: str, count: int, scale: float = 1.0, seed: int = 0) -> list[Call]:
    """Return `count` legal calls of the op, the same ones for the same seed."""
    rng = np.random.default_rng([seed, *name.encode(), round(scale * 1000)])
    return [RANDOM[name](Draw(rng, scale)) for _ in range(count)]


def f(*shape: int) -> np.ndarray:
    """Distinct, uneven numbers of a shape."""
    return (np.arange(math.prod(shape)) ** 1.5 - 3.0).reshape(shape)


NO_KEYS = np.zeros((3, 0))
TIES = np.array([[2.0, 2.0, 1.0], [-INF, 0.5, 0.5], [0.0, -0.0, 0.0]])

EDGES: dict[str, list[Call]] = {
    "matmul": [([f(3, 0), f(0, 2)], {}), ([f(0, 3), f(3, 2)], {}), ([f(2, 3, 0), f(2, 0, 5)], {}),
               ([f(2, 0, 3), f(2, 3, 5)], {}), ([f(1, 1), f(1, 1)], {}), ([f(3, 1, 2, 5), f(2, 5, 3)], {})],
    "transpose": [([f(1, 1)], {}), ([f(0, 3)], {})],
    "add": [([f(0, 3), f(3)], {}), ([f(), f(2, 3)], {}), ([f(), f()], {}), ([f(2, 1), f(1, 3)], {})],
    "subtract": [([f(), f(2, 3)], {}), ([f(2, 1), f(1, 3)], {}), ([f(0, 3), f(3)], {})],
    "multiply": [([f(), f(2, 3)], {}), ([f(2, 1), f(1, 3)], {})],
    "total": [([f(3)], {}), ([f(0)], {}), ([f(3, 0)], {}), ([f(3, 0)], {"axis": 0}), ([f(2, 3, 5)], {"axis": -2})],
    "row_norm": [([f(3)], {}), ([f(0)], {}), ([f(3, 0)], {}), ([f(0, 3)], {}),
                 ([np.array([[0.0, 0.0], [-3.0, 4.0]])], {})],
    "row_total": [([f(3)], {}), ([f(0)], {}), ([f(3, 0)], {}), ([f(0, 3)], {}), ([f(2, 3, 5)], {})],
    "positive": [([np.array([-0.0, 0.0, 1e-300, -1e-300])], {}), ([f(0)], {}), ([f()], {})],
    "gelu_slope": [([np.array([-0.0, 1e-300, 800.0, -800.0, 8.4, 8.5, -8.5])], {}), ([f(0)], {}), ([f()], {})],
    "count_rows": [([f(1, 3)], {}), ([f(0, 3)], {}), ([f(7, 5, 0)], {})],
    "cross_entropy": [([TIES, np.array([2, 1, 0])], {}), ([f(1, 1), np.array([0])], {}),
                      ([np.array([[0.0, 1e4, -1e4]]), np.array([2])], {}),
                      ([np.array([[-1e300, 1e300]]), np.array([1])], {}), ([f(0, 3), np.zeros(0, dtype=int)], {})],
    "one_hot": [([np.zeros(0, dtype=int)], {"vocab_size": 3}), ([np.array([2, 2, 0])], {"vocab_size": 3}),
                ([np.array([0])], {"vocab_size": 1})],
    "divide": [([f(2, 3), np.array(4.0)], {}), ([f(0), f(0)], {}), ([f(2, 3), np.array([[-2.0], [0.5]])], {})],
    "scale": [([f(3, 0), f(3, 5)], {}), ([f(), f(1)], {}), ([f(2, 3), f(7)], {})],
    "linear": [([f(0, 3), f(3, 2), f(2)], {}), ([f(3, 0), f(0, 2), f(2)], {}), ([f(1, 1), f(1, 1), f(1)], {})],
    "add_pairs": [([f(1, 1), f(1, 1)], {}), ([f(0, 3), f(2, 3)], {}), ([f(2, 3), f(5, 2, 3)], {})],
    "copy": [([np.array([3, 1])], {}), ([np.array([[True, False]])], {}), ([f()], {}), ([TIES], {})],
    "causal_mask": [([f(2, 1), f(5, 1)], {}), ([f(5, 1), f(2, 1)], {}), ([f(1, 1), f(1, 1)], {}),
                    ([f(1, 1), f(7, 1)], {}), ([f(3, 1), f(0, 1)], {}), ([f(0, 1), f(3, 1)], {})],
    "padding_mask": [([np.array([0, 0])], {"pad_id": 0}), ([np.array([4])], {"pad_id": 0}),
                     ([np.zeros(0, dtype=int)], {"pad_id": 0}), ([np.array([[3, -1], [-1, 3]])], {"pad_id": -1})],
    "both": [([np.array([True]), np.array([[True], [False]])], {}), ([np.array(True), np.array(False)], {})],
    "share_across_heads": [([np.array([[True]])], {}), ([np.zeros((2, 0), dtype=bool)], {})],
    "mask": [([f(2, 3), np.array([[True, False, True], [False, False, False]])], {}), ([f(2, 3), np.array(True)], {}),
             ([TIES, np.array([True, False, True])], {}), ([NO_KEYS, np.zeros((1, 0), dtype=bool)], {})],
    "mask_with_zero": [([f(2, 3), np.array([[True, False, True], [False, False, False]])], {})],
    "mask_opposite": [([f(2, 3), np.array([[True, False, True], [False, False, False]])], {})],
    "mask_transposed": [([f(3, 3), np.array([[True, False, True]])], {}), ([f(3, 2), np.eye(2, 3, dtype=bool)], {})],
    "zero_masked": [([f(3, 2), np.zeros((4, 3), dtype=bool)], {}), ([f(3, 2), np.array([[True, False, False]])], {}),
                    ([f(3, 2), np.zeros((0, 3), dtype=bool)], {}), ([f(2, 2), np.eye(2, dtype=bool)[None]], {})],
    "softmax": [([np.full((2, 3), -INF)], {}), ([TIES], {}), ([f(1)], {}), ([np.array([-INF])], {}),
                ([np.array([1e4, 9999.0, -1e4])], {}), ([np.array([[1.0, -10.0, 1000.0]])], {}), ([TIES], {"axis": 0}),
                ([TIES], {"axis": -2}), ([NO_KEYS], {}), ([np.array([-1e300, 1e300])], {})],
    "softmax_averaged": [([np.stack([TIES, TIES + 1])], {}), ([np.full((2, 1, 3), -INF)], {}), ([f(1, 1, 1)], {}),
                         ([np.array([[[1e4, -1e4]], [[-1e300, 1e300]]])], {}), ([f(0, 2, 3)], {}), ([f(2, 3, 0)], {})],
    "hardmax": [([np.full((2, 3), -INF)], {}), ([TIES], {}), ([f(1)], {}), ([TIES], {"axis": 0}), ([NO_KEYS], {})],
    "relu": [([np.array([-0.0, 0.0, -1.0])], {}), ([f(0)], {}), ([f()], {})],
    "tanh": [([np.array([-0.0, 1e-300, 800.0, -800.0])], {}), ([f(0)], {}), ([f()], {})],
    "gelu": [([np.array([-0.0, 1e-300, 800.0, -800.0, 8.4, 8.5, -8.5])], {}), ([f(0)], {}), ([f()], {}),
             ([np.linspace(-9, 9, 181)], {})],
    "mean": [([f(1)], {}), ([f(0, 3)], {}), ([np.full(3, 0.1)], {}), ([f(2, 3, 5)], {"axis": -2}),
             ([f(3, 2)], {"axis": 0})],
    "mean_square": [([f(1)], {}), ([f(0, 3)], {}), ([f(2)], {"correction": 1}), ([f(2, 3, 5)], {"axis": -2})],
    "root": [([np.array([0.0, -0.0, 1e-300, 1e300])], {}), ([np.array(-1.0)], {"eps": 1.0}), ([np.zeros((0, 3))], {})],
    "exp": [([np.array([-0.0, -INF, 800.0, -800.0])], {}), ([f(0)], {}), ([f()], {})],
    "keep_top_k": [([TIES, np.array(2.0)], {}), ([TIES, np.array(1)], {}), ([f(1), np.array(5.0)], {}),
                   ([NO_KEYS, np.array(1.0)], {}), ([np.full((2, 3), -INF), np.array(2.0)], {})],
    "keep_top_p": [([np.array([[0.25, 0.5, 0.25], [0.5, 0.0, 0.5]]), np.array(0.75)], {}), ([NO_KEYS, np.array(1)], {}),
                   ([np.array([0.5, 0.5]), np.array(0.5)], {}), ([np.zeros((2, 3)), np.array(0.5)], {})],
    "smooth": [([np.eye(3, 5), np.array(0.1)], {}), ([f(0, 3), np.array(1)], {}), ([f(1, 1), np.array(0.0)], {})],
    "soft_cross_entropy": [([TIES, np.array([[0, 0, 1.0], [0, 0.5, 0.5], [0, 0, 0]])], {}), ([f(1), np.ones(1)], {}),
                           ([np.full((1, 3), -INF), np.zeros((1, 3))], {}), ([f(0, 3), np.zeros((0, 3))], {}),
                           ([np.array([[0.0, 1e4, -1e4]]), np.array([[0.1, 0.2, 0.7]])], {}),
                           ([f(2, 2), np.array([[2.0, 0.5], [0.1, 0.1]])], {})],
    "clear_padding": [([f(2), np.array([0, 4])], {"pad_id": 0}), ([f(0, 3), np.zeros(0, dtype=int)], {"pad_id": 0}),
                      ([f(2, 3, 5), np.array([[1, 1, 0], [0, 1, 1]])], {"pad_id": 1})],
    "count_tokens": [([np.array([0, 0])], {"pad_id": 0}), ([np.zeros(0, dtype=int)], {"pad_id": 0}),
                     ([np.array([[3, -1], [-1, 3]])], {"pad_id": -1})],
    "join_pair": [([np.eye(2), -np.ones((2, 2))], {"column": 0}), ([np.ones((5, 1)), np.ones((1, 1))], {"column": 0}),
                  ([np.zeros((0, 2)), np.ones((2, 2))], {"column": 1}),
                  ([f(4, 3), np.full((3, 3), -np.inf)], {"column": 1})],
    "trim": [([np.array([[1, 4, 5, 2, 0], [1, 4, 5, 6, 2]])], {"back": 1}), ([np.array([1, 2])], {}),
             ([np.array([[1, 2], [3, 4]])], {"front": 1, "back": 1}), ([np.zeros((0, 3), dtype=int)], {"front": 2})],
    "layer_norm": [([np.full((2, 3), 4.0), f(3), f(3)], {}), ([f(2, 1), f(1), f(1)], {}), ([f(5), f(5), f(5)], {}),
                   ([np.array([1.0, 0.0, 0.0, 0.0]), np.ones(4), np.zeros(4)], {}), ([f(0, 3), f(3), f(3)], {})],
    "scale_up": [([f(3, 0)], {}), ([f(1)], {}), ([f(2, 2)], {})],
    "sinusoids": [([f(1, 1)], {}), ([f(0, 3)], {}), ([f(3, 0)], {}), ([f(2, 3)], {}), ([f(7, 2, 5)], {}),
                  ([f(300, 4)], {}), ([f(3, 4)], {"base": 0.5})],
    "sinusoids_in_blocks": [([f(1, 1)], {}), ([f(0, 3)], {}), ([f(3, 0)], {}), ([f(3, 2)], {}), ([f(3, 5)], {})],
    "sinusoids_exponent_slip": [([f(1, 1)], {}), ([f(0, 3)], {}), ([f(3, 0)], {}), ([f(3, 5)], {})],
    "add_batch_positions": [([f(1, 1, 1)], {}), ([f(2, 0, 3)], {}), ([f(0, 2, 3)], {}), ([f(2, 3, 5, 7)], {})],
    "first_rows": [([f(3, 2), f(3, 5)], {}), ([f(3, 2), f(0, 5)], {}), ([f(3, 0), f(2, 2)], {})],
    "rotate_pairs": [([f(1, 2)], {}), ([f(0, 4)], {}), ([f(3, 0)], {}), ([f(2, 3, 6)], {})],
    "distance_bias": [([f(2, 1), f(5, 1)], {"slope": 0.5}), ([f(5, 1), f(2, 1)], {"slope": 1.0}),
                      ([f(0, 1), f(3, 1)], {"slope": 1.0}), ([f(3, 1), f(0, 1)], {"slope": 1.0})],
    "convolve_1d": [([f(3, 2), f(3, 2, 5), f(5)], {}), ([f(1, 1), f(1, 1, 1), f(1)], {}),
                    ([f(0, 2), f(3, 2, 5), f(5)], {"before": 2, "after": 1}), ([f(3, 0), f(2, 0, 5), f(5)], {}),
                    ([f(3, 2), f(2, 2, 0), f(0)], {}), ([f(0, 3, 2), f(2, 2, 5), f(5)], {}),
                    ([f(3, 2), f(2, 2, 5), f(5)], {"before": 9, "stride": 7, "dilation": 4}),
                    ([f(7, 1), f(3, 1, 2), f(2)], {"stride": 2, "dilation": 3})],
    "convolve_1d_flipped": [([f(5, 2), f(3, 2, 5), f(5)], {}), ([f(5, 2), f(2, 2, 1), f(1)], {"dilation": 3})],
    "convolve_2d": [([f(1, 3, 2), f(2, 1, 3, 2), f(2)], {}), ([f(2, 1, 1), f(1, 2, 1, 1), f(1)], {}),
                    ([f(2, 0, 0), f(3, 2, 2, 2), f(3)], {"padding": 1}), ([f(0, 3, 3), f(2, 0, 2, 2), f(2)], {}),
                    ([f(2, 2, 5, 4), f(3, 2, 2, 3), f(3)], {"padding": 2, "stride": 5})],
    "convolve_2d_flipped": [([f(1, 5, 4), f(2, 1, 3, 2), f(2)], {}), ([f(2, 1, 1), f(1, 2, 1, 1), f(1)], {})],
    "embed": [([np.zeros(0, dtype=int), f(3, 2)], {}), ([np.array([2, 2, 0]), f(3, 1)], {})],
    "split_heads": [([f(1, 1)], {"n_heads": 1}), ([f(0, 6)], {"n_heads": 3}), ([f(4, 6)], {"n_heads": 6})],
    "reshape_heads": [([f(1, 1)], {"n_heads": 1}), ([f(4, 6)], {"n_heads": 3})],
    "merge_heads": [([f(1, 1, 1)], {}), ([f(3, 0, 2)], {})],
    "concat": [([f(2, 0), f(2, 3)], {}), ([f(3)], {}), ([f(2, 3), f(5, 3)], {"axis": 0}),
               ([f(2, 3), f(2, 1), f(2, 2)], {"axis": 1})],
    "sigmoid": [([np.array([-0.0, 1e-300, 800.0, -800.0, -40.0])], {}), ([f(0)], {}), ([f()], {})],
    "row": [([f(1, 1)], {"index": 0}), ([f(3, 0)], {"index": 2}), ([f(0, 3, 2)], {"index": 1})],
    "stack": [([f(1)], {}), ([f(0), f(0)], {}), ([f(2, 3), -f(2, 3)], {})],
    "hold": [([f(3), -f(3), np.array([[True, False]])], {"index": 0}),
             ([f(3), -f(3), np.array([[True, False]])], {"index": 1}),
             ([f(0), f(0), np.array([[True]])], {"index": 0})],
}  # fmt: skip
"""Calls at the edges of what is legal: empty axes, size 1, ties, everything masked, more queries than keys."""

T = np.array([[True, False, True]])

REFUSED: dict[str, list[tuple[list[np.ndarray], dict[str, Any], str]]] = {
    "matmul": [([f(2, 3), f(2, 3)], {}, r"matmul: a is \(2, 3\) and b is \(2, 3\); the last axis of a \(3\)"),
               ([f(3), f(2)], {}, r"only axis of b \(2\)"), ([f(), f(2)], {}, r"'a' has shape \(\)"),
               ([f(2, 3, 5), f(3, 5, 2)], {}, r"matmul: a is \(2, 3, 5\) and b is \(3, 5, 2\); before the last"),
               ([T, f(3, 2)], {}, "matmul: 'a' must hold numbers; it is bool")],
    "transpose": [([f(3)], {}, r"transpose: 'x' has shape \(3,\); it needs at least 2 axes"), ([T], {}, "numbers")],
    "add": [([f(2, 3), f(2)], {}, r"add: a \(2, 3\) and b \(2,\) do not fit"), ([T, f(3)], {}, "'a' must hold numbers"),
            ([f(3), T], {}, "'b' must hold numbers")],
    "subtract": [([f(2, 3), f(3, 2)], {}, r"subtract: a \(2, 3\) and b \(3, 2\)"), ([f(3), T], {}, "'b' must hold")],
    "total": [([f()], {}, r"'x' has shape \(\)"), ([f(2, 3)], {"axis": 2}, "total: axis 2 does not"),
              ([T], {}, "total: 'x' must hold numbers")],
    "row_norm": [([f()], {}, r"row_norm: 'x' has shape \(\); it needs"), ([T], {}, "must hold numbers")],
    "row_total": [([f()], {}, r"row_total: 'x' has shape \(\); it needs at least 1 axes"),
                  ([T], {}, "must hold numbers")],
    "positive": [([T], {}, "positive: 'x' must hold numbers")],
    "gelu_slope": [([T], {}, "gelu_slope: 'x' must hold numbers")],
    "count_rows": [([f(3)], {}, r"count_rows: 'x' has shape \(3,\); it needs at least 2 axes"), ([T], {}, "numbers")],
    "cross_entropy": [([f(2, 3), np.array([0, 3])], {}, r"targets go from 0 to 3, but there are the columns 0 … 2"),
                      ([f(2, 3), np.array([0, -1])], {}, "targets go from -1"),
                      ([f(2, 3), np.array([0, 1, 2])], {}, r"logits is \(2, 3\) and targets is \(3,\); each row"),
                      ([f(2, 3), np.array([[0], [1]])], {}, "each row of logits needs one target"),
                      ([f(2, 3), f(2)], {}, "'targets' must be token ids"),
                      ([f(3), np.array([0])], {}, "'logits' has shape"),
                      ([np.array([[-INF, 1.0]]), np.array([0])], {}, "the logit −infinity; its loss would be infinite"),
                      ([np.array([[math.nan, 1.0]]), np.array([1])], {}, "'logits' holds NaN")],
    "one_hot": [([np.array([0, 3])], {"vocab_size": 3}, "tokens go from 0 to 3, but there are the columns 0 … 2"),
                ([np.array([-1])], {"vocab_size": 3}, "tokens go from -1"),
                ([f(2)], {"vocab_size": 3}, "'tokens' must be token ids, whole numbers"),
                ([np.array([0])], {"vocab_size": 0}, "vocab_size is 0"),
                ([np.array([0])], {"vocab_size": 1.5}, "vocab_size is 1.5")],
    "multiply": [([f(2, 3), f(3, 2)], {}, r"multiply: a \(2, 3\) and b \(3, 2\)"), ([f(3), T], {}, "'b' must hold")],
    "divide": [([f(2), np.array([1.0, 0.0])], {}, "divide: 'b' holds a zero"), ([f(2, 3), f(2)], {}, "do not fit"),
               ([T, f(3)], {}, "'a' must hold")],
    "scale": [([f(2, 3), f()], {}, "'query' has shape"), ([f(2, 3), f(2, 0)], {}, "width must be 1 or more"),
              ([T, f(3)], {}, "'scores' must hold")],
    "linear": [([f(2, 3), f(2, 3), f(3)], {}, r"x is \(2, 3\), weight is \(2, 3\), bias is \(3,\); the rule is"),
               ([f(2, 3), f(3, 5), f(3)], {}, r"bias is \(3,\)"), ([f(2, 3), f(3), f(3)], {}, "weight"),
               ([f(2, 3), f(3, 5), f(1)], {}, "bias"), ([f(2, 3), f(3, 5), f(1, 5)], {}, "bias"),
               ([f(), f(1, 1), f(1)], {}, "'x' has shape")],
    "add_pairs": [([f(2, 3), f(2, 5)], {}, r"add_pairs: a is \(2, 3\) and b is \(2, 5\); both must"),
                  ([f(3), f(2, 3)], {}, "'a' has shape"), ([f(2, 5, 3), f(3, 5, 3)], {}, "do not fit")],
    "copy": [],
    "causal_mask": [([f(3), f(2, 3)], {}, "'query' has shape"), ([f(2, 3), f(3)], {}, "'key' has shape")],
    "padding_mask": [([f(3)], {"pad_id": 0}, "'tokens' must be token ids, whole numbers along an axis; it is float64"),
                     ([T], {"pad_id": 0}, "it is bool"), ([np.array(3)], {"pad_id": 0}, r"of shape \(\)")],
    "both": [([T, np.ones((1, 3))], {}, "both: 'b' must be boolean, True = may attend; it is float64"),
             ([T, np.ones(2, dtype=bool)], {}, r"a \(1, 3\) and b \(2,\)"), ([np.ones(3, dtype=int), T], {}, "int64")],
    "share_across_heads": [([f(2, 3)], {}, "boolean"), ([np.ones(3, dtype=bool)], {}, "at least 2 axes")],
    "mask": [([f(2, 3), np.ones((2, 3))], {}, "mask: 'allowed' must be boolean.*added to the scores"),
             ([f(2, 3), np.ones((3, 2), dtype=bool)], {}, r"scores \(2, 3\) and allowed \(3, 2\)"),
             ([f(2, 3), np.ones((5, 2, 3), dtype=bool)], {}, r"allowed \(5, 2, 3\) is larger than scores \(2, 3\)"),
             ([f(1, 3), np.ones((2, 3), dtype=bool)], {}, "larger"), ([T, T], {}, "'scores' must hold numbers")],
    "mask_with_zero": [([f(2, 3), np.ones((2, 3))], {}, "boolean"), ([f(3), T[0, :2]], {}, "do not fit")],
    "mask_opposite": [([f(2, 3), np.ones((2, 3))], {}, "boolean"), ([f(3), T[0, :2]], {}, "do not fit")],
    "mask_transposed": [([f(3, 2), np.ones((2, 3))], {}, "boolean"), ([f(3, 3), T[0]], {}, "at least 2 axes"),
                        ([f(2, 3), np.ones((2, 3), dtype=bool)], {}, r"scores \(2, 3\) and allowed \(3, 2\)")],
    "zero_masked": [([f(3, 2), np.ones((4, 3))], {}, "boolean"), ([f(2, 2), T], {}, r"x is \(2, 2\), 2 keys, but"),
                    ([f(2, 2), np.ones((3, 1), dtype=bool)], {}, r"allowed is \(3, 1\)"),
                    ([f(3), T], {}, "'x' has shape"), ([f(3, 2), T[0]], {}, "'allowed' has shape"),
                    ([f(2, 3, 2), np.ones((5, 4, 3), dtype=bool)], {}, "do not fit")],
    "softmax": [([np.array([math.nan, 1.0])], {}, "softmax: 'x' holds NaN"), ([np.array([INF, 1.0])], {}, "infinity"),
                ([f(2, 3)], {"axis": 2}, r"axis 2 does not exist in shape \(2, 3\)"), ([f(3)], {"axis": -2}, "axis -2"),
                ([f()], {}, "at least 1 axes"), ([T], {}, "must hold numbers")],
    "softmax_averaged": [([f(2, 3)], {}, "at least 3 axes"), ([np.full((1, 1, 1), math.nan)], {}, "holds NaN")],
    "hardmax": [([np.array([math.nan, 1.0])], {}, "hardmax: 'x' holds NaN"), ([f(2, 3)], {"axis": 2}, "axis 2"),
                ([T], {}, "must hold numbers")],
    "relu": [([T], {}, "relu: 'x' must hold numbers")],
    "tanh": [([T], {}, "tanh: 'x' must hold numbers")],
    "gelu": [([T], {}, "gelu: 'x' must hold numbers")],
    "mean": [([f()], {}, r"'x' has shape \(\)"), ([f(2, 3)], {"axis": 2}, "mean: axis 2 does not"),
             ([f(2, 0)], {}, r"mean: x has shape \(2, 0\); along axis -1 it needs at least 1"),
             ([T], {}, "must hold numbers")],
    "mean_square": [([f(2, 1)], {"correction": 1}, r"mean_square: x has shape \(2, 1\).*needs at least 2"),
                    ([f(2, 0)], {}, "needs at least 1"), ([f(3)], {"correction": 0.5}, "correction is 0.5"),
                    ([T], {}, "must hold numbers")],
    "root": [([np.array([4.0, -1.0])], {}, "root: x .* holds -1.0; a negative number"), ([T], {}, "must hold numbers"),
             ([np.array([-2.0])], {"eps": 1.0}, "holds -1.0"), ([np.array([1.0, math.nan])], {}, "no square root")],
    "exp": [([T], {}, "exp: 'x' must hold numbers")],
    "keep_top_k": [([f(3), np.array(0.0)], {}, "'k' is 0.0; it must be one number, above 0"),
                   ([f(3), np.array(-1.0)], {}, "'k' is -1.0"), ([f(3), f(3)], {}, r"'k' is \(3,\)"),
                   ([np.array([math.nan, 1.0]), np.array(1.0)], {}, "'x' holds NaN")],
    "keep_top_p": [([np.array([0.5, 0.5]), np.array(0.0)], {}, "'p' is 0.0; it must be one number, above 0 and at"),
                   ([np.array([0.5, 0.5]), np.array(1.5)], {}, "'p' is 1.5"),
                   ([np.array([0.5, -0.5]), np.array(0.5)], {}, "'probabilities' holds a negative number"),
                   ([np.array([0.5, math.nan]), np.array(0.5)], {}, "'probabilities' holds a negative number or NaN")],
    "smooth": [([f(2, 3), np.array(-0.1)], {}, "'smoothing' is -0.1; it must be one number, from 0 to 1"),
               ([f(2, 3), np.array(1.1)], {}, "'smoothing' is 1.1"), ([f(2, 0), np.array(0.1)], {}, "its width must"),
               ([f(2, 3), np.array([0.1])], {}, r"'smoothing' is \(1,\)")],
    "soft_cross_entropy": [([f(2, 3), np.zeros((3, 2))], {}, r"logits is \(2, 3\) and probabilities is \(3, 2\)"),
                           ([f(2, 3), np.zeros(3)], {}, "the same shape"),
                           ([f(1, 2), np.array([[1.5, -0.5]])], {}, "holds a negative number"),
                           ([np.array([[-INF, 1.0]]), np.array([[0.1, 0.9]])], {}, "the logit −infinity"),
                           ([np.array([[math.nan, 1.0]]), np.zeros((1, 2))], {}, "'logits' holds NaN")],
    "clear_padding": [([f(2, 3), np.array([0, 1, 2])], {"pad_id": 0}, r"x is \(2, 3\) and tokens is \(3,\); x must"),
                      ([f(3), f(3)], {"pad_id": 0}, "'tokens' must be token ids"),
                      ([f(3), np.array([[1, 2, 3]])], {"pad_id": 0}, "begin with the shape of tokens")],
    "count_tokens": [([f(3)], {"pad_id": 0}, "'tokens' must be token ids"), ([T], {"pad_id": 0}, "it is bool")],
    "join_pair": [([f(2, 3), f(3, 2)], {"column": 0}, r"x \(2, 3\) and counts \(3, 2\)"),
                  ([f(2), f(2, 2)], {"column": 0}, "at least 2 axes"),
                  ([f(1, 2, 2), f(2, 2)], {"column": 0}, "must be"),
                  ([f(2, 3), f(3, 3)], {"column": 3}, "column is 3; x .* has the columns 0 … 2"),
                  ([f(2, 3), f(3, 3)], {"column": -1}, "column is -1"), ([T, f(2, 2)], {"column": 0}, "hold numbers"),
                  ([f(2, 3), np.full((3, 3), np.nan)], {"column": 0}, "NaN")],
    "trim": [([f(3)], {}, "'tokens' must be token ids"), ([np.array([1, 2])], {"front": -1}, "front is -1; it must be"),
             ([np.array([1, 2])], {"back": 1.5}, "back is 1.5; it must be a whole number, 0 or more"),
             ([np.array([1, 2])], {"front": 1, "back": 2}, r"tokens is \(2,\); of 2 tokens 1 \+ 2 can not")],
    "layer_norm": [([f(2, 3), f(2), f(3)], {}, r"gain is \(2,\), bias is \(3,\); gain and bias must be \(3,\)"),
                   ([f(2, 3), f(3), f(1)], {}, "bias"), ([f(2, 3), f(3), f(3)], {"eps": 0.0}, "eps is 0.0"),
                   ([f(2, 3), f(3), f(3)], {"eps": -1.0}, "eps is -1.0"),
                   ([f(2, 0), f(0), f(0)], {}, r"x has shape \(2, 0\); its width")],
    "scale_up": [([f()], {}, "'x' has shape"), ([T], {}, "scale_up: 'x' must hold numbers")],
    "sinusoids": [([f(3)], {}, "'x' has shape"), ([T], {}, "must hold numbers"),
                  ([f(2, 3)], {"base": 0.0}, "base is 0.0; it must be positive"),
                  ([f(2, 3)], {"base": -2.0}, "base is -2.0")],
    "sinusoids_in_blocks": [([f(3)], {}, "'x' has shape"), ([f(2, 3)], {"base": 0.0}, "base is 0.0")],
    "sinusoids_exponent_slip": [([f(3)], {}, "'x' has shape"), ([f(2, 3)], {"base": 0.0}, "base is 0.0")],
    "add_batch_positions": [([f(2, 3)], {}, r"'x' has shape \(2, 3\); it needs at least 3 axes"),
                            ([f(2, 2, 3)], {"base": 0.0}, "base is 0.0")],
    "first_rows": [([f(4, 3), f(5, 3)], {}, r"5 tokens are too many for a table with max_len = 4: 5 > 4"),
                   ([f(4), f(2, 3)], {}, r"table has shape \(4,\)"), ([f(4, 3), f(3)], {}, "'x' has shape")],
    "rotate_pairs": [([f(2, 3)], {}, r"x has shape \(2, 3\); its width 3 is odd"), ([f(4)], {}, "'x' has shape"),
                     ([f(2, 4)], {"base": 0.0}, "base is 0.0")],
    "distance_bias": [([f(2, 3), f(2, 3)], {"slope": 0.0}, "slope is 0.0; it must be positive"),
                      ([f(3), f(2, 3)], {"slope": 1.0}, "'query' has shape"),
                      ([f(2, 3), f(3)], {"slope": 1.0}, "'key' has shape")],
    "convolve_1d": [([f(4, 2), f(3, 5, 2), f(2)], {}, r"x is \(4, 2\), weight is \(3, 5, 2\), bias is \(2,\); the"),
                    ([f(4, 2), f(2, 5), f(5)], {}, r"weight is \(2, 5\)"), ([f(2), f(1, 2, 5), f(5)], {}, "x is"),
                    ([f(4, 2), f(3, 2, 5), f(2)], {}, r"bias is \(2,\)"), ([T, f(3, 3, 5), f(5)], {}, "'x' must hold"),
                    ([f(2, 2), f(3, 2, 5), f(5)], {}, "a window of 3 does not fit into 2 places"),
                    ([f(4, 2), f(3, 2, 5), f(5)], {"dilation": 2}, "a window of 5 does not fit into 4 places"),
                    ([f(4, 2), f(0, 2, 5), f(5)], {}, "a window of 0 does not fit"),
                    ([f(4, 2), f(3, 2, 5), f(5)], {"stride": 0}, "stride is 0; it must be a whole number, 1 or more"),
                    ([f(4, 2), f(3, 2, 5), f(5)], {"before": -1}, "before is -1; it must be a whole number, 0 or"),
                    ([f(4, 2), f(3, 2, 5), f(5)], {"after": 1.5}, "after is 1.5"),
                    ([f(4, 2), f(3, 2, 5), f(5)], {"dilation": 0}, "dilation is 0")],
    "convolve_1d_flipped": [([f(2, 2), f(3, 2, 5), f(5)], {}, "convolve_1d_flipped: a window of 3")],
    "convolve_2d": [([f(3, 4, 4), f(2, 1, 3, 3), f(2)], {}, r"x is \(3, 4, 4\), weight is \(2, 1, 3, 3\)"),
                    ([f(4, 4), f(2, 1, 3, 3), f(2)], {}, "x is"), ([f(1, 4, 4), f(1, 3, 3), f(1)], {}, "weight is"),
                    ([f(1, 4, 4), f(2, 1, 3, 3), f(3)], {}, r"bias is \(3,\)"),
                    ([f(1, 4, 2), f(2, 1, 3, 3), f(2)], {}, "a window of 3 does not fit into 2 places, padding incl"),
                    ([f(1, 2, 4), f(2, 1, 3, 3), f(2)], {}, "a window of 3 does not fit into 2 places"),
                    ([f(1, 4, 4), f(2, 1, 3, 3), f(2)], {"padding": -1}, "padding is -1"),
                    ([f(1, 4, 4), f(2, 1, 3, 3), f(2)], {"stride": 0}, "stride is 0")],
    "convolve_2d_flipped": [([f(1, 2, 4), f(2, 1, 3, 3), f(2)], {}, "convolve_2d_flipped: a window of 3")],
    "embed": [([np.array([0, 3]), f(3, 2)], {}, r"ids go from 0 to 3, but the table has the rows 0 … 2"),
              ([np.array([-1]), f(3, 2)], {}, "ids go from -1"), ([f(2), f(3, 2)], {}, "whole numbers"),
              ([np.array([0]), f(2, 3, 2)], {}, r"table has shape \(2, 3, 2\)")],
    "split_heads": [([f(4, 10)], {"n_heads": 3}, r"the width 10 of x \(4, 10\) can not be split into 3 equal heads"),
                    ([f(4, 6)], {"n_heads": 0}, "n_heads is 0"), ([f(4, 6)], {"n_heads": 1.5}, "n_heads is 1.5"),
                    ([f(6)], {"n_heads": 2}, "at least 2 axes")],
    "reshape_heads": [([f(4, 10)], {"n_heads": 3}, "3 equal heads"), ([f(4, 6)], {"n_heads": 0}, "n_heads is 0")],
    "merge_heads": [([f(2, 3)], {}, "at least 3 axes")],
    "concat": [([f(2, 3), f(3, 3)], {}, r"shapes \(2, 3\), \(3, 3\) must agree on every axis but -1"),
               ([f(2, 3), f(2, 5)], {"axis": 0}, "axis but 0"), ([f(2, 3)], {"axis": 2}, "axis 2 does not exist"),
               ([f(2, 3), f(3)], {}, "must agree"), ([T, T], {}, "must hold numbers")],
    "sigmoid": [([T], {}, "sigmoid: 'x' must hold numbers")],
    "row": [([f(2, 3)], {"index": 2}, r"row 2 does not exist; x \(2, 3\) has the rows 0 … 1"),
            ([f(2, 3)], {"index": -1}, "row -1 does not exist"), ([f(2, 3)], {"index": 0.5}, "index is 0.5"),
            ([f(3)], {"index": 0}, "at least 2 axes"), ([T], {"index": 0}, "must hold numbers")],
    "stack": [([f(2), f(3)], {}, r"given \(2,\), \(3,\); one vector or more"), ([f()], {}, "at least 1 axes"),
              ([T, T], {}, "must hold numbers")],
    "hold": [([f(3), f(2), T], {"index": 0}, r"new \(3,\), old \(2,\)"),
             ([f(3), f(3), T], {"index": 3}, "row 3 does not exist"),
             ([f(3), f(3), np.ones((1, 3))], {"index": 0}, "boolean"),
             ([f(3), f(3), np.ones((2, 3), dtype=bool)], {"index": 0}, r"allowed \(2, 3\) do not fit")],
}  # fmt: skip
"""Calls that must be refused, with what the message must say."""
