"""Inputs of every shape and mask for the parity tests of attention, and what it means that two of them agree."""

import itertools

import numpy as np
import torch
from agreement import assert_agree

VALUES = 1e-10
GRADIENTS = 1e-8
N_TGT, N_SRC, D_MODEL, D_K, D_V = 4, 3, 10, 5, 7

SHAPES = [((), ()), ((2,), ()), ((), (2,)), ((3, 2), (3, 2)), ((3, 1), (2,)), ((1,), (1,))]
"""Leading axes of the query, and of key and value."""
MASKS = ["none", "full rows", "some", "idle query", "hidden key", "nothing", "one row", "batch"]
CASES = list(itertools.product(SHAPES, MASKS))


def random_mask(kind, rng, n_q, n_k, leading):
    if kind == "none":
        return None
    mask = rng.random((n_q, n_k)) < 0.6
    if kind == "full rows":
        mask[:] = True
    if kind == "idle query":
        mask[1] = False
    if kind == "hidden key":
        mask[:, -1] = False
    if kind == "nothing":
        mask[:] = False
    if kind == "one row":
        mask = mask[:1]
    if kind == "batch" and leading:
        mask = rng.random((*leading, n_q, n_k)) < 0.5
    return mask


def inputs(leading_query, leading_key, kind, widths, seed=0):
    """Query, key, value and mask; a hidden key holds NaN, as padding may."""
    rng = np.random.default_rng([seed, len(leading_query), len(leading_key), MASKS.index(kind)])
    query = rng.normal(size=(*leading_query, N_TGT, widths[0]))
    key = rng.normal(size=(*leading_key, N_SRC, widths[1]))
    value = rng.normal(size=(*leading_key, N_SRC, widths[2]))
    mask = random_mask(kind, rng, N_TGT, N_SRC, np.broadcast_shapes(leading_query, leading_key))
    if kind == "hidden key":
        key[..., -1, 0] = np.nan
        value[..., -1, -1] = np.inf
    return query, key, value, mask


def tensors(*arrays):
    return [None if x is None else torch.as_tensor(x) for x in arrays]


def agree(attended, expected, tol=VALUES):
    assert_agree(attended.output, expected.output.detach().numpy(), tol, "output")
    assert_agree(attended.weights, expected.weights.detach().numpy(), tol, "weights")


def values_and_gradients(run, leaves):
    """The output of `run`, and the gradient of an uneven sum of it for each leaf."""
    leaves = [leaf.detach().clone().requires_grad_() for leaf in leaves]
    output = run(*leaves)
    factors = torch.linspace(-1, 2, output.numel(), dtype=output.dtype).reshape(output.shape)
    return output, torch.autograd.grad((output * factors).sum(), leaves)


def assert_same(run, oracle, leaves):
    output, gradients = values_and_gradients(run, leaves)
    expected, expected_gradients = values_and_gradients(oracle, leaves)
    assert_agree(output, expected.detach().numpy(), VALUES, "output")
    for i, (mine, theirs) in enumerate(zip(gradients, expected_gradients, strict=True)):
        assert_agree(mine, theirs.numpy(), GRADIENTS, f"gradient {i}")
