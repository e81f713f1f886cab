"""Every op of a recorded program as plain NumPy, for the code that the player's "Share" copies.

The player takes from here the imports and the functions that a program uses. What the package's own ops check
(`stepformer.ops`) is left out: a program that the player shows has passed these checks. A test compares each function
with its op.
"""

from math import erf

import numpy as np


def matmul(a, b):
    return a @ b


def transpose(x):
    return np.swapaxes(x, -1, -2)


def add(a, b):
    return a + b


def subtract(a, b):
    return a - b


def multiply(a, b):
    return a * b


def divide(a, b):
    return a / b


def scale(scores, query):
    return scores / np.sqrt(query.shape[-1])


def scale_up(x):
    return x * np.sqrt(x.shape[-1])


def linear(x, weight, bias):
    return x @ weight + bias


def add_pairs(a, b):
    return a[..., :, None, :] + b[..., None, :, :]


def total(x, *, axis):
    return x.sum(axis=axis)


def count_rows(x):
    return np.array(x.shape[-2])


def copy(x):
    return x.copy()


def causal_mask(query, key):
    n_q, n_k = query.shape[-2], key.shape[-2]
    return np.arange(n_k) <= np.arange(n_q)[:, None] + (n_k - n_q)


def padding_mask(tokens, *, pad_id):
    return (tokens != pad_id)[..., None, :]


def both(a, b):
    return a & b


def share_across_heads(allowed):
    return allowed[..., None, :, :]


def mask(scores, allowed):
    return np.where(allowed, scores, -np.inf)


def mask_with_zero(scores, allowed):
    return np.where(allowed, scores, 0.0)


def mask_opposite(scores, allowed):
    return np.where(allowed, -np.inf, scores)


def mask_transposed(scores, allowed):
    return np.where(np.swapaxes(allowed, -1, -2), scores, -np.inf)


def zero_masked(x, allowed):
    return np.where(allowed.any(axis=-2)[..., :, None], x, 0.0)


def sinusoids(x, *, base):
    n, d = x.shape[-2:]
    angles = np.arange(n)[:, None] / base ** (np.arange(d) // 2 * 2 / d)
    return np.where(np.arange(d) % 2, np.cos(angles), np.sin(angles))


def sinusoids_in_blocks(x, *, base):
    n, d = x.shape[-2:]
    angles = np.arange(n)[:, None] / base ** (np.arange(0, d, 2) / d)
    return np.concatenate([np.sin(angles), np.cos(angles[:, : d // 2])], axis=-1)


def sinusoids_exponent_slip(x, *, base):
    n, d = x.shape[-2:]
    angles = np.arange(n)[:, None] / base ** (2 * np.arange(d) / d)
    return np.where(np.arange(d) % 2, np.cos(angles), np.sin(angles))


def add_batch_positions(x, *, base):
    batch, _, d = x.shape[-3:]
    angles = np.arange(batch)[:, None] / base ** (np.arange(d) // 2 * 2 / d)
    return x + np.where(np.arange(d) % 2, np.cos(angles), np.sin(angles))[:, None, :]


def first_rows(table, x):
    return table[: x.shape[-2]]


def rotate_pairs(x, *, base):
    n, d = x.shape[-2:]
    angles = np.arange(n)[:, None] / base ** (np.arange(0, d, 2) / d)
    cosine, sine = np.cos(angles), np.sin(angles)
    even, odd = x[..., 0::2], x[..., 1::2]
    return np.stack([even * cosine - odd * sine, even * sine + odd * cosine], axis=-1).reshape(x.shape)


def distance_bias(query, key, *, slope):
    n_q, n_k = query.shape[-2], key.shape[-2]
    return -slope * np.abs(np.arange(n_q)[:, None] + (n_k - n_q) - np.arange(n_k))


def softmax(x, *, axis):
    largest = x.max(axis=axis, keepdims=True, initial=-np.inf)
    weights = np.exp(x - np.where(np.isneginf(largest), 0.0, largest))
    sums = weights.sum(axis=axis, keepdims=True)
    return np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)


def softmax_averaged(x):
    largest = x.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(x - np.where(np.isneginf(largest), 0.0, largest))
    sums = weights.sum(axis=-1, keepdims=True)
    weights = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    return np.broadcast_to(weights.sum(axis=-3, keepdims=True) / max(1, x.shape[-3]), x.shape)


def hardmax(x, *, axis):
    if x.shape[axis] == 0:
        return np.zeros_like(x)
    weights = np.zeros_like(x)
    np.put_along_axis(weights, np.expand_dims(x.argmax(axis=axis), axis), 1.0, axis)
    return np.where(np.isneginf(x), 0.0, weights)


def cross_entropy(logits, targets):
    right = np.take_along_axis(logits, targets[..., None], axis=-1)
    largest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    return np.log(np.exp(logits - largest).sum(axis=-1)) - (right - largest)[..., 0]


def relu(x):
    return np.maximum(x, 0.0)


def tanh(x):
    return np.tanh(x)


def gelu(x):
    return x * (1 + np.vectorize(erf, otypes=[float])(x / np.sqrt(2))) / 2


def gelu_slope(x):
    bell = np.exp(-np.square(x) / 2) / np.sqrt(2 * np.pi)
    return (1 + np.vectorize(erf, otypes=[float])(x / np.sqrt(2))) / 2 + x * bell


def layer_norm(x, gain, bias, *, eps):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + eps) * gain + bias


def row_norm(x):
    return np.sqrt(np.square(x).sum(axis=-1, keepdims=True))


def row_total(x):
    return x.sum(axis=-1, keepdims=True)


def positive(x):
    return (x > 0).astype(float)


def exp(x):
    return np.exp(x)


def keep_top_k(x, k):
    places = np.argsort(np.argsort(-x, axis=-1, kind="stable"), axis=-1, kind="stable")
    return places < k


def keep_top_p(probabilities, p):
    order = np.argsort(-probabilities, axis=-1, kind="stable")
    ordered = np.take_along_axis(probabilities, order, axis=-1)
    before = np.concatenate([np.zeros_like(ordered[..., :1]), np.cumsum(ordered, axis=-1)[..., :-1]], axis=-1)
    kept = np.zeros(probabilities.shape, dtype=bool)
    np.put_along_axis(kept, order, before < p, axis=-1)
    return kept


def smooth(x, smoothing):
    return (1 - smoothing) * x + smoothing / x.shape[-1]


def soft_cross_entropy(logits, probabilities):
    largest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    below = logits - np.where(np.isneginf(largest), 0.0, largest)
    sums = np.exp(below).sum(axis=-1, keepdims=True)
    log_sums = np.log(np.where(sums > 0, sums, 1.0))
    return (probabilities * (log_sums - np.where(probabilities > 0, below, 0.0))).sum(axis=-1)


def clear_padding(x, tokens, *, pad_id):
    real = tokens != pad_id
    return np.where(real.reshape(real.shape + (1,) * (x.ndim - real.ndim)), x, 0.0)


def count_tokens(tokens, *, pad_id):
    return np.array((tokens != pad_id).sum())


def trim(tokens, *, front, back):
    return tokens[..., front : tokens.shape[-1] - back]


def join_pair(x, counts, *, column):
    first, second = divmod(int(counts.argmax()), x.shape[-1])
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


def mean(x, *, axis):
    return x.mean(axis=axis, keepdims=True)


def mean_square(x, *, axis, correction):
    return np.square(x).sum(axis=axis, keepdims=True) / (x.shape[axis] - correction)


def root(x, *, eps):
    return np.sqrt(x + eps)


def convolve_1d(x, weight, bias, *, before, after, stride, dilation):
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(before, after), (0, 0)])
    starts = np.arange(0, padded.shape[-2] - dilation * (len(weight) - 1), stride)
    return bias + sum(padded[..., starts + k * dilation, :] @ matrix for k, matrix in enumerate(weight))


def convolve_1d_flipped(x, weight, bias, *, before, after, stride, dilation):
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(before, after), (0, 0)])
    starts = np.arange(0, padded.shape[-2] - dilation * (len(weight) - 1), stride)
    return bias + sum(padded[..., starts + k * dilation, :] @ matrix for k, matrix in enumerate(weight[::-1]))


def convolve_2d(x, weight, bias, *, padding, stride):
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(padding, padding)] * 2)
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], axis=(-2, -1))
    seen = windows[..., ::stride, ::stride, :, :]
    return np.einsum("ockl,...cyxkl->...oyx", weight, seen) + bias[:, None, None]


def convolve_2d_flipped(x, weight, bias, *, padding, stride):
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(padding, padding)] * 2)
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], axis=(-2, -1))
    seen = windows[..., ::stride, ::stride, :, :]
    return np.einsum("ockl,...cyxkl->...oyx", weight[:, :, ::-1, ::-1], seen) + bias[:, None, None]


def embed(tokens, table):
    return table[tokens]


def one_hot(tokens, *, vocab_size):
    return (tokens[..., None] == np.arange(vocab_size)).astype(float)


def split_heads(x, *, n_heads):
    *leading, n, d = x.shape
    return np.swapaxes(x.reshape(*leading, n, n_heads, d // n_heads), -2, -3)


def merge_heads(x):
    *leading, n_heads, n, d_k = x.shape
    return np.swapaxes(x, -2, -3).reshape(*leading, n, n_heads * d_k)


def reshape_heads(x, *, n_heads):
    *leading, n, d = x.shape
    return x.reshape(*leading, n_heads, n, d // n_heads)


def concat(*parts, axis):
    return np.concatenate(parts, axis=axis)


def sigmoid(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def row(x, *, index):
    return x[..., index, :]


def stack(*rows):
    return np.stack(rows, axis=-2)


def hold(new, old, allowed, *, index):
    return np.where(allowed[..., index], new, old)
