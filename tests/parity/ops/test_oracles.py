"""Every op against an independent way to compute it in float64: torch's where there is one, else a plain formula."""

import functools
import itertools
import math
import re

import numpy as np
import pytest
import torch
from agreement import assert_agree
from calls import EDGES, random_calls
from torch.nn import functional as F

from stepformer import ops
from stepformer.ops import OPS

TOLERANCE = 1e-12
ALL = slice(None)


def t(x):
    return torch.as_tensor(x).double()


def loop(shape, cell, dtype=float):
    """A tensor of a shape, each cell computed on its own from its index."""
    result = np.empty(shape, dtype=dtype)
    for index in np.ndindex(*shape):
        result[index] = cell(index)
    return result


def matmul(a, b):
    if a.ndim > 1 and b.ndim > 1:
        return np.einsum("...ik,...kj->...ij", a.astype(float), b.astype(float))
    return np.tensordot(a, b, (-1, -2 if b.ndim > 1 else 0)).astype(float)


def add_pairs(a, b):
    leading = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = np.broadcast_to(a, leading + a.shape[-2:])
    b = np.broadcast_to(b, leading + b.shape[-2:])
    shape = (*leading, a.shape[-2], b.shape[-2], a.shape[-1])
    return loop(shape, lambda i: float(a[*i[:-3], i[-3], i[-1]]) + b[*i[:-3], i[-2], i[-1]])


def causal_mask(query, key):
    n_q, n_k = query.shape[-2], key.shape[-2]
    return loop((n_q, n_k), lambda i: n_k - i[1] >= n_q - i[0], dtype=bool)


def zero_masked(x, allowed):
    leading = np.broadcast_shapes(x.shape[:-2], allowed.shape[:-2])
    x = np.broadcast_to(x, leading + x.shape[-2:])
    allowed = np.broadcast_to(allowed, leading + allowed.shape[-2:])
    return loop(x.shape, lambda i: float(x[i]) if any(allowed[*i[:-2], :, i[-2]]) else 0.0)


def masked(fill_true, fill_false):
    def where(scores, allowed):
        allowed = np.broadcast_to(allowed, scores.shape)
        return loop(scores.shape, lambda i: fill_true(scores[i]) if allowed[i] else fill_false(scores[i]))

    return where


def softmax(x, axis=-1):
    return torch.nan_to_num(t(x).softmax(dim=axis)).numpy()


def hardmax(x, axis=-1):
    lines = np.moveaxis(np.asarray(x, dtype=float), axis, -1)
    result = np.zeros(lines.shape)
    for index in np.ndindex(*lines.shape[:-1]):
        line = lines[index].tolist()
        if line and max(line) > -np.inf:
            result[(*index, line.index(max(line)))] = 1.0
    return np.moveaxis(result, -1, axis)


def cross_entropy(logits, targets):
    rows = t(logits).reshape(-1, logits.shape[-1])
    return F.cross_entropy(rows, torch.as_tensor(targets).flatten(), reduction="none").numpy().reshape(targets.shape)


def keep_top_k(x, k):
    """Cell by cell: how many of its row are larger, or equal and earlier."""

    def kept(index):
        *row, j = index
        row = x[tuple(row)]
        return sum(bool(other > row[j] or (other == row[j] and i < j)) for i, other in enumerate(row)) < k

    return loop(x.shape, kept, dtype=bool)


def keep_top_p(probabilities, p):
    """Row by row, as one reads it: take the largest that is left until p is reached."""
    kept = np.zeros(probabilities.shape, dtype=bool)
    for row in np.ndindex(probabilities.shape[:-1]):
        left, total = dict(enumerate(probabilities[row])), 0.0
        while left and total < p:
            best = max(left, key=left.get)
            kept[(*row, best)] = True
            total += left.pop(best)
    return kept


def soft_cross_entropy(logits, probabilities):
    """torch takes distributions for targets as well; it makes NaN of 0 times infinity."""
    logits = t(np.where(np.isneginf(logits), -1e6, logits))
    rows = logits.reshape(-1, logits.shape[-1]), t(probabilities).reshape(-1, logits.shape[-1])
    return F.cross_entropy(*rows, reduction="none").numpy().reshape(logits.shape[:-1])


def join_pair(x, counts, column):
    """The rows as a text, one sign for each; a regular expression finds the pair in it, from the left."""
    width = x.shape[1]
    best = max(itertools.product(range(width), repeat=2), key=lambda cell: (counts[cell], -cell[0], -cell[1]))
    if counts[best] <= 0 or not len(x):
        return x
    # A row stands for itself: is the first of the pair in it, the second, both, or neither?
    signs = "".join("nfsb"[bool(row[best[0]]) + 2 * bool(row[best[1]])] for row in x)
    rows = []
    for found in re.finditer("[fb][sb]|.", signs):
        joined = len(found.group()) == 2
        rows.append(x[found.start(), best[0]] * np.eye(width)[column] if joined else x[found.start()])
    return np.vstack([rows, np.zeros((len(x) - len(rows), width))])


def clear_padding(x, tokens, pad_id):
    return loop(x.shape, lambda i: 0.0 if tokens[i[: tokens.ndim]] == pad_id else float(x[i]))


def layer_norm(x, gain, bias, eps=1e-5):
    return F.layer_norm(t(x), x.shape[-1:], t(gain), t(bias), eps).numpy()


def mean_square(x, axis=-1, correction=0):
    n = x.shape[axis]
    return (t(x) ** 2).mean(dim=axis, keepdim=True).numpy() * (n / (n - correction))


def embed(tokens, table):
    one_hot = (tokens[..., None] == np.arange(len(table))).astype(float)
    return one_hot @ table.astype(float)


def split_heads(x, n_heads):
    return np.stack(np.split(np.asarray(x, dtype=float), n_heads, axis=-1), axis=-3)


def reshape_heads(x, n_heads):
    *leading, n, d = x.shape
    matrices = np.asarray(x, dtype=float).reshape(-1, n * d)
    return np.array([list(matrix) for matrix in matrices]).reshape(*leading, n_heads, n, d // n_heads)


def merge_heads(x):
    return np.concatenate([np.asarray(x[..., h, ALL, ALL], dtype=float) for h in range(x.shape[-3])], axis=-1)


def sinusoids(n, d, base, power=lambda j: j - j % 2, cosine=lambda j: j % 2 == 1):
    """Cell by cell, with the exponential of the logarithm instead of a power."""

    def cell(index):
        position, j = index
        return (math.cos if cosine(j) else math.sin)(position * math.exp(-math.log(base) * power(j) / d))

    return loop((n, d), cell)


def sinusoids_in_blocks(x, base=10000.0):
    n, d = x.shape[-2:]
    table = sinusoids(n, d, base)
    return table[:, [*range(0, d, 2), *range(1, d, 2)]]


def rotate_pairs(x, base=10000.0):
    """A pair of columns as one complex number, multiplied by a number on the unit circle."""
    *_, n, d = x.shape
    frequencies = t(base) ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angles = torch.arange(n, dtype=torch.float64)[:, None] * frequencies
    pairs = torch.view_as_complex(t(x).unflatten(-1, (d // 2, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2).numpy()


def distance_bias(query, key, slope):
    from_the_end = [np.arange(x.shape[-2], 0, -1) for x in (query, key)]
    return -slope * np.abs(np.subtract.outer(*from_the_end)).astype(float)


def slopes(function, x):
    """The slope of a function of one number, by torch's autograd."""
    x = t(x).clone().requires_grad_()
    return torch.autograd.grad(function(x).sum(), x)[0].numpy()


def convolve_1d(x, weight, bias, before=0, after=0, stride=1, dilation=1, flip=False):
    """torch's own, which wants channels before places; where something is empty, only the bias is left."""
    *leading, n, d_in = x.shape
    width, _, d_out = weight.shape
    if not x.size * weight.size:
        n_out = (before + n + after - dilation * (width - 1) - 1) // stride + 1
        return np.broadcast_to(bias.astype(float), (*leading, n_out, d_out))
    rows = F.pad(t(x).reshape(-1, n, d_in).mT, (before, after))
    kernel = t(weight[::-1].copy() if flip else weight).permute(2, 1, 0)
    result = F.conv1d(rows, kernel, t(bias), stride=stride, dilation=dilation).mT
    return result.reshape(*leading, *result.shape[1:]).numpy()


def convolve_2d(x, weight, bias, padding=0, stride=1, flip=False):
    *leading, channels, height, width = x.shape
    if not x.size:
        sizes = [(n + 2 * padding - k) // stride + 1 for n, k in zip(x.shape[-2:], weight.shape[2:], strict=True)]
        return np.broadcast_to(bias[:, None, None].astype(float), (*leading, len(weight), *sizes))
    kernel = t(weight).flip(-1, -2) if flip else t(weight)
    result = F.conv2d(t(x).reshape(-1, channels, height, width), kernel, t(bias), stride=stride, padding=padding)
    return result.reshape(*leading, *result.shape[1:]).numpy()


ORACLES = {
    "matmul": matmul,
    "transpose": lambda x: t(x).mT.numpy(),
    "add": lambda a, b: (t(a) + t(b)).numpy(),
    "subtract": lambda a, b: (t(a) - t(b)).numpy(),
    "multiply": lambda a, b: (t(a) * t(b)).numpy(),
    "total": lambda x, axis=-1: t(x).sum(dim=axis).numpy(),
    "row_norm": lambda x: t(x).norm(dim=-1, keepdim=True).numpy(),
    "row_total": lambda x: t(x).sum(dim=-1, keepdim=True).numpy(),
    "positive": lambda x: slopes(F.relu, x),
    "gelu_slope": lambda x: slopes(F.gelu, x),
    "count_rows": lambda x: np.array(sum(1 for _ in np.moveaxis(x, -2, 0))),
    "cross_entropy": cross_entropy,
    "one_hot": lambda tokens, vocab_size: F.one_hot(torch.as_tensor(tokens), vocab_size).double().numpy(),
    "divide": lambda a, b: (t(a) / t(b)).numpy(),
    "scale": lambda scores, query: (t(scores) / query.shape[-1] ** 0.5).numpy(),
    "scale_up": lambda x: (t(x) * x.shape[-1] ** 0.5).numpy(),
    "linear": lambda x, weight, bias: F.linear(t(x), t(weight).T, t(bias)).numpy(),
    "add_pairs": add_pairs,
    "copy": lambda x: x,
    "causal_mask": causal_mask,
    "padding_mask": lambda tokens, pad_id: ~np.isin(np.expand_dims(tokens, -2), [pad_id]),
    "both": lambda a, b: (torch.as_tensor(a) & torch.as_tensor(b)).numpy(),
    "share_across_heads": lambda allowed: np.stack([allowed], axis=-3),
    "mask": masked(float, lambda _: -np.inf),
    "mask_with_zero": masked(float, lambda _: 0.0),
    "mask_opposite": masked(lambda _: -np.inf, float),
    "mask_transposed": lambda scores, allowed: t(scores).masked_fill(~torch.as_tensor(allowed).mT, -torch.inf).numpy(),
    "zero_masked": zero_masked,
    "softmax": softmax,
    "softmax_averaged": lambda x: np.stack([softmax(x).mean(axis=-3)] * x.shape[-3], axis=-3) if x.size else x,
    "hardmax": hardmax,
    "relu": lambda x: F.relu(t(x)).numpy(),
    "tanh": lambda x: t(x).tanh().numpy(),
    "exp": lambda x: t(x).exp().numpy(),
    "keep_top_k": keep_top_k,
    "keep_top_p": keep_top_p,
    "smooth": lambda x, smoothing: t(x).lerp(t(np.ones(x.shape)) / x.shape[-1], float(smoothing)).numpy(),
    "soft_cross_entropy": soft_cross_entropy,
    "clear_padding": clear_padding,
    "count_tokens": lambda tokens, pad_id: np.array(sum(int(token) != pad_id for token in tokens.flat)),
    "join_pair": join_pair,
    "trim": lambda tokens, front=0, back=0: (
        torch.as_tensor(tokens).narrow(-1, front, tokens.shape[-1] - front - back).numpy()
    ),
    "gelu": lambda x: F.gelu(t(x)).numpy(),
    "mean": lambda x, axis=-1: t(x).mean(dim=axis, keepdim=True).numpy(),
    "mean_square": mean_square,
    "root": lambda x, eps=0.0: (t(x) + eps).sqrt().numpy(),
    "layer_norm": layer_norm,
    "sinusoids": lambda x, base=10000.0: sinusoids(*x.shape[-2:], base),
    "sinusoids_in_blocks": sinusoids_in_blocks,
    "sinusoids_exponent_slip": lambda x, base=10000.0: sinusoids(*x.shape[-2:], base, power=lambda j: 2 * j),
    "add_batch_positions": lambda x, base=10000.0: x + sinusoids(x.shape[-3], x.shape[-1], base)[:, None],
    "first_rows": lambda table, x: t(table).narrow(0, 0, x.shape[-2]).numpy(),
    "rotate_pairs": rotate_pairs,
    "distance_bias": distance_bias,
    "convolve_1d": convolve_1d,
    "convolve_1d_flipped": functools.partial(convolve_1d, flip=True),
    "convolve_2d": convolve_2d,
    "convolve_2d_flipped": functools.partial(convolve_2d, flip=True),
    "embed": embed,
    "split_heads": split_heads,
    "reshape_heads": reshape_heads,
    "merge_heads": merge_heads,
    "concat": lambda *parts, axis=-1: torch.cat([t(part) for part in parts], dim=axis).numpy(),
    "sigmoid": lambda x: t(x).sigmoid().numpy(),
    "row": lambda x, index: t(x).select(-2, index).numpy(),
    "stack": lambda *rows: torch.stack([t(one) for one in rows], dim=-2).numpy(),
    "hold": lambda new, old, allowed, index: t(old).where(~torch.as_tensor(allowed[..., index]), t(new)).numpy(),
}


def test_every_op_has_an_oracle():
    assert sorted(ORACLES) == sorted(OPS)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("name", OPS)
def test_an_op_agrees_with_its_oracle_on_random_inputs(name, scale):
    for inputs, attributes in random_calls(name, 60, scale, seed=5):
        assert_agree(getattr(ops, name)(*inputs, **attributes), ORACLES[name](*inputs, **attributes), TOLERANCE, name)


@pytest.mark.parametrize("name", OPS)
def test_an_op_agrees_with_its_oracle_at_the_edges(name):
    for inputs, attributes in EDGES[name]:
        assert_agree(getattr(ops, name)(*inputs, **attributes), ORACLES[name](*inputs, **attributes), TOLERANCE, name)
