"""The layers of table 1 of "Attention Is All You Need" as programs of any size, to be counted, not shown.

Each maps n vectors of width d to n vectors of width d. The numbers in them do not matter, so all are 1. In those that
look at words one by one, the inputs are x_0 … x_{n-1} and the outputs y_0 … y_{n-1}; self-attention has x and output,
which hold all words.
"""

from typing import NamedTuple

import numpy as np

from stepformer.ops import add, concat, matmul, scale, softmax, tanh, transpose
from stepformer.recording import leaf, record, scope
from stepformer.reference.attention import scaled_dot_product_attention
from stepformer.reference.self_attention import self_attention as _self_attention
from stepformer.trace import Trace


def _weight(name: str, rows: int, d: int) -> np.ndarray:
    return leaf(name, np.ones((rows, d)), (f"{rows}", f"{d}"))


def _words(n: int, d: int) -> list[np.ndarray]:
    return [leaf(f"x_{i}", np.ones((1, d)), ("one", "d")) for i in range(n)]


def self_attention(n: int, d: int) -> Trace:
    """Self-attention with queries, keys and values of width d.

    Args:
        n: number of words.
        d: width.

    Returns:
        The program.
    """
    with record() as trace:
        x = leaf("x", np.ones((n, d)), ("src", "d_model"))
        _self_attention(x, {name: _weight(name, d, d) for name in ("w_q.weight", "w_k.weight", "w_v.weight")})
    return trace


def recurrence(n: int, d: int) -> Trace:
    """A plain recurrent layer: y_t = tanh(x_t W + y_{t-1} U).

    Args:
        n: number of words.
        d: width.

    Returns:
        The program.
    """
    with record() as trace:
        w, u, state = _weight("w", d, d), _weight("u", d, d), leaf("start", np.zeros((1, d)), ("one", "d"))
        for t, x in enumerate(_words(n, d)):
            state = tanh(add(matmul(x, w), matmul(state, u)), name=f"y_{t}")
    return trace


def attention_over_recurrence(n: int, d: int) -> Trace:
    """Attention as it first was, on top of a recurrent layer: one query asks the states of all words.

    Args:
        n: number of words.
        d: width.

    Returns:
        The program.
    """
    with record() as trace:
        w, u, state = _weight("w", d, d), _weight("u", d, d), leaf("start", np.zeros((1, d)), ("one", "d"))
        states = []
        for x in _words(n, d):
            state = tanh(add(matmul(x, w), matmul(state, u)))
            states.append(state)
        memory = concat(*states, axis=0)
        scaled_dot_product_attention(leaf("query", np.ones((1, d)), ("one", "d")), memory, memory)
    return trace


def convolution(n: int, d: int, width: int = 3, layers: int = 1, dilated: bool = True) -> Trace:
    """Convolutions, each over `width` words: itself and those before it.

    Args:
        n: number of words.
        d: width of a word's vector.
        width: number of words that one output sees; the paper's k.
        layers: how many are stacked.
        dilated: the words that layer l sees are width^l apart, as in the paper; otherwise they are neighbours.

    Returns:
        The program.
    """
    with record() as trace:
        nothing, x = leaf("nothing", np.zeros((1, d)), ("one", "d")), _words(n, d)
        for layer in range(layers):
            kernel = _weight(f"kernel_{layer}", width * d, d)
            back = [k * width**layer if dilated else k for k in range(width)]
            with scope(f"layer_{layer}"):
                windows = [[x[i - b] if b <= i else nothing for b in back] for i in range(n)]
                x = [matmul(concat(*window), kernel, name=f"y_{i}") for i, window in enumerate(windows)]
    return trace


def restricted_self_attention(n: int, d: int, reach: int = 2, layers: int = 1) -> Trace:
    """Self-attention in which each word asks only the words at most `reach` away.

    Args:
        n: number of words.
        d: width.
        reach: how far a word sees to each side; the paper's r is 2 · reach + 1.
        layers: how many are stacked.

    Returns:
        The program.
    """
    with record() as trace:
        x = _words(n, d)
        for layer in range(layers):
            weights = [_weight(f"w_{role}_{layer}", d, d) for role in "qkv"]
            with scope(f"layer_{layer}"):
                query, key, value = ([matmul(word, weight) for word in x] for weight in weights)
                near = [slice(max(0, i - reach), i + reach + 1) for i in range(n)]
                x = [_attend(query[i], key[near[i]], value[near[i]], f"y_{i}") for i in range(n)]
    return trace


def _attend(query: np.ndarray, keys: list[np.ndarray], values: list[np.ndarray], name: str) -> np.ndarray:
    scores = matmul(query, transpose(concat(*keys, axis=0)))
    return matmul(softmax(scale(scores, query)), concat(*values, axis=0), name=name)


# ---- the rows of the table ----------------------------------------------------------------------------------------


class Row(NamedTuple):
    """One row of the table: a layer, and as few of them on top of each other as join the two ends of the sentence."""

    layer: Trace
    stack: Trace
    start: str
    """The tensor that holds the first word."""
    end: str
    """The result that must have heard of it: the last word's, in the highest layer."""


def _self_attention_row(n: int, d: int) -> Row:
    layer = self_attention(n, d)
    return Row(layer, layer, "x", "output")


def _recurrent_row(n: int, d: int) -> Row:
    layer = recurrence(n, d)
    return Row(layer, layer, "x_0", f"y_{n - 1}")


def _convolutional_row(n: int, d: int, width: int = 3) -> Row:
    layers = next(k for k in range(1, n + 1) if width**k >= n)
    return Row(convolution(n, d, width), convolution(n, d, width, layers), "x_0", f"layer_{layers - 1}.y_{n - 1}")


def _restricted_row(n: int, d: int, reach: int = 2) -> Row:
    layers = max(1, -(-(n - 1) // reach))
    stack = restricted_self_attention(n, d, reach, layers)
    return Row(restricted_self_attention(n, d, reach), stack, "x_0", f"layer_{layers - 1}.y_{n - 1}")


ROWS = {
    "self-attention": _self_attention_row,
    "recurrent": _recurrent_row,
    "convolutional": _convolutional_row,
    "self-attention, restricted": _restricted_row,
}
"""The rows by the names that the paper gives them: functions of the number of words and of the width. A convolution
sees 3 words, a restricted word up to 2 to each side."""
