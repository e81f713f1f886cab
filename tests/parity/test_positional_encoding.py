"""Positions: the reference equals the torch twin, and both equal the formula cell by cell; gradients too."""

import cmath
import math

import numpy as np
import pytest
import torch
from agreement import assert_agree

from stepformer import nn, params
from stepformer.reference import positional_encoding as reference

VALUES = 1e-10
GRADIENTS = 1e-8
LEADING = [(), (2,), (3, 2)]
N_TGT, N_SRC, D_MODEL, D_K = 4, 3, 10, 6


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def closed_form(n, d, base=10000.0):
    """Sine and cosine as the two parts of a point on the unit circle."""
    rows = [[cmath.exp(1j * pos * base ** -(2 * (j // 2) / d)) for j in range(d)] for pos in range(n)]
    return np.array([[z.real if j % 2 else z.imag for j, z in enumerate(row)] for row in rows]).reshape(n, d)


@pytest.mark.parametrize("base", [10000.0, 100.0])
@pytest.mark.parametrize("d", [1, 2, 5, D_MODEL])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 300])
@pytest.mark.parametrize("leading", LEADING)
def test_sinusoidal_positions_agree(leading, n, d, base):
    x = draw(*leading, n, d)
    expected = x + closed_form(n, d, base)
    twin = nn.SinusoidalPositions(d, max_len=300, base=base).double()
    assert_agree(reference.positional_encoding(x, base), closed_form(n, d, base), VALUES)
    assert_agree(reference.add_positions(x, base), expected, VALUES)
    assert_agree(twin(torch.as_tensor(x)), expected, VALUES)


@pytest.mark.parametrize("n", [0, 1, 2, 7])
@pytest.mark.parametrize("leading", LEADING)
def test_learned_positions_agree_and_share_their_parameters(leading, n):
    x = draw(*leading, n, D_MODEL)
    twin = nn.LearnedPositions(7, D_MODEL).double()
    arrays = params.to_arrays(twin.state_dict())
    assert list(arrays) == ["embedding.weight"]
    assert arrays["embedding.weight"].shape == (7, D_MODEL)
    expected = x + twin.embedding(torch.arange(n)).detach().numpy()
    assert_agree(reference.add_learned_positions(x, arrays), expected, VALUES)
    assert_agree(twin(torch.as_tensor(x)), expected, VALUES)


def by_complex_numbers(x, base):
    """A pair of columns as one complex number, times a number on the unit circle."""
    result = np.empty_like(x)
    *_, n, d = x.shape
    for pos in range(n):
        for i in range(d // 2):
            turned = (x[..., pos, 2 * i] + 1j * x[..., pos, 2 * i + 1]) * cmath.exp(1j * pos * base ** -(2 * i / d))
            result[..., pos, 2 * i], result[..., pos, 2 * i + 1] = turned.real, turned.imag
    return result


@pytest.mark.parametrize("base", [10000.0, 100.0])
@pytest.mark.parametrize(("n_q", "n_k"), [(N_TGT, N_SRC), (1, 7), (0, 2)])
@pytest.mark.parametrize("leading", LEADING)
def test_rotary_positions_agree(leading, n_q, n_k, base):
    query, key = draw(*leading, n_q, D_K), draw(n_k, D_K, seed=1)
    twin = nn.Rotary(D_K, base)
    for x, turned in zip((query, key), reference.rotary(query, key, base), strict=True):
        assert_agree(turned, by_complex_numbers(x, base), VALUES)
        assert_agree(twin(torch.as_tensor(x)), by_complex_numbers(x, base), VALUES)


@pytest.mark.parametrize(("n_q", "n_k"), [(N_TGT, N_SRC), (2, 7), (1, 1), (0, 3)])
def test_linear_biases_agree(n_q, n_k):
    query, key = draw(n_q, D_K), draw(n_k, D_K, seed=1)
    rule = np.array([[-0.5 * abs((n_k - j) - (n_q - i)) for j in range(n_k)] for i in range(n_q)]).reshape(n_q, n_k)
    scores = draw(2, n_q, n_k, seed=2)
    assert_agree(reference.alibi(scores, query, key, 0.5), scores + rule, VALUES)
    assert_agree(nn.distance_bias(torch.as_tensor(query), torch.as_tensor(key), 0.5), rule, VALUES)


# ---- gradients ----------------------------------------------------------------------------------------------------


def test_the_gradient_passes_through_added_positions_unchanged():
    x = torch.as_tensor(draw(2, N_TGT, D_MODEL)).requires_grad_()
    upstream = torch.as_tensor(draw(2, N_TGT, D_MODEL, seed=1))
    nn.SinusoidalPositions(D_MODEL, 7).double()(x).backward(upstream)
    assert_agree(x.grad, upstream.numpy(), GRADIENTS)


def test_the_gradient_of_a_learned_table_is_that_of_torchs_embedding():
    twin = nn.LearnedPositions(7, D_MODEL).double()
    own = torch.nn.Embedding(7, D_MODEL, _weight=twin.embedding.weight.detach().clone()).double()
    x, upstream = torch.as_tensor(draw(2, N_TGT, D_MODEL)), torch.as_tensor(draw(2, N_TGT, D_MODEL, seed=1))
    twin(x).backward(upstream)
    (x + own(torch.arange(N_TGT))).backward(upstream)
    assert_agree(twin.embedding.weight.grad, own.weight.grad.numpy(), GRADIENTS)
    assert (twin.embedding.weight.grad[N_TGT:] == 0).all()


def test_the_gradient_of_a_turned_row_is_turned_back():
    x, upstream = torch.as_tensor(draw(N_TGT, D_K)).requires_grad_(), draw(N_TGT, D_K, seed=1)
    nn.Rotary(D_K)(x).backward(torch.as_tensor(upstream))
    flipped = upstream * np.tile([1, -1], D_K // 2)  # turning back is turning the mirror image and mirroring again
    assert_agree(x.grad, by_complex_numbers(flipped, 10000.0) * np.tile([1, -1], D_K // 2), GRADIENTS)
    assert torch.autograd.gradcheck(nn.Rotary(D_K), torch.as_tensor(draw(N_TGT, D_K)).requires_grad_())


def test_closed_form_is_the_formula():
    """The oracle itself, at numbers that can be checked by hand."""
    assert_agree(closed_form(2, 4)[1], np.array([math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]), 1e-15)
