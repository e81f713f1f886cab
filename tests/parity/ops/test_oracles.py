"""Every op against an independent way to compute it in float64: torch's where there is one, else a plain formula."""

import math

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


def layer_norm(x, gain, bias, eps=1e-5):
    return F.layer_norm(t(x), x.shape[-1:], t(gain), t(bias), eps).numpy()


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


ORACLES = {
    "matmul": matmul,
    "transpose": lambda x: t(x).mT.numpy(),
    "add": lambda a, b: (t(a) + t(b)).numpy(),
    "subtract": lambda a, b: (t(a) - t(b)).numpy(),
    "multiply": lambda a, b: (t(a) * t(b)).numpy(),
    "total": lambda x, axis=-1: t(x).sum(dim=axis).numpy(),
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
    "layer_norm": layer_norm,
    "sinusoids": lambda x, base=10000.0: sinusoids(*x.shape[-2:], base),
    "sinusoids_in_blocks": sinusoids_in_blocks,
    "sinusoids_exponent_slip": lambda x, base=10000.0: sinusoids(*x.shape[-2:], base, power=lambda j: 2 * j),
    "add_batch_positions": lambda x, base=10000.0: x + sinusoids(x.shape[-3], x.shape[-1], base)[:, None],
    "first_rows": lambda table, x: t(table).narrow(0, 0, x.shape[-2]).numpy(),
    "rotate_pairs": rotate_pairs,
    "distance_bias": distance_bias,
    "embed": embed,
    "split_heads": split_heads,
    "reshape_heads": reshape_heads,
    "merge_heads": merge_heads,
    "concat": lambda *parts, axis=-1: torch.cat([t(part) for part in parts], dim=axis).numpy(),
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
