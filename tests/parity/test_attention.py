"""Attention: the reference equals the torch twin, and the twin equals torch's own modules, in values and gradients."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from attention_cases import CASES, D_K, D_V, VALUES, agree, assert_same, inputs, tensors
from torch.nn import functional as F

from stepformer import nn, params
from stepformer.reference import attention as reference

# ---- the reference and the twin -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("shapes", "kind"), CASES)
def test_scaled_dot_product_agrees_with_its_twin(shapes, kind):
    given = inputs(*shapes, kind, (D_K, D_K, D_V))
    mine = reference.scaled_dot_product_attention(*given)
    agree(mine, nn.scaled_dot_product_attention(*tensors(*given), need_weights=True))
    fused = nn.scaled_dot_product_attention(*tensors(*given))
    assert_agree(mine.output, fused.output, VALUES)


@pytest.mark.parametrize(("shapes", "kind"), CASES)
def test_additive_attention_agrees_with_its_twin(shapes, kind):
    torch.manual_seed(0)
    twin = nn.AdditiveAttention(2, 3, 5).double()
    given = inputs(*shapes, kind, (2, 3, 7))
    mine = reference.additive_attention(*given[:3], params.to_arrays(twin.state_dict()), given[3])
    agree(mine, twin(*tensors(*given)))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("lengths", [(1, 1), (1, 7), (7, 1), (2, 5), (5, 2), (11, 13), (5, 15), (3, 16), (19, 17)])
def test_other_lengths_and_sizes_of_numbers_agree(scale, lengths):
    rng = np.random.default_rng(0)
    n_q, n_k = lengths
    query, key, value = (scale * rng.normal(size=(n, d)) for n, d in ((n_q, 5), (n_k, 5), (n_k, 7)))
    mask = rng.random((n_q, n_k)) < 0.5
    mine = reference.scaled_dot_product_attention(query, key, value, mask)
    agree(mine, nn.scaled_dot_product_attention(*tensors(query, key, value, mask), need_weights=True))
    fused = nn.scaled_dot_product_attention(*tensors(query, key, value, mask))
    assert_agree(mine.output, fused.output, VALUES)


# ---- the twin and torch's own -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["none", "full rows", "some", "idle query", "nothing", "one row", "batch"])
@pytest.mark.parametrize("need_weights", [False, True])
def test_scaled_dot_product_equals_torchs_function(kind, need_weights):
    query, key, value, mask = tensors(*inputs((3, 2), (3, 2), kind, (D_K, D_K, D_V)))
    assert_same(
        lambda q, k, v: nn.scaled_dot_product_attention(q, k, v, mask, need_weights=need_weights).output,
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, mask),
        [query, key, value],
    )


@pytest.mark.parametrize(("n_q", "n_k"), [(1, 9), (4, 15), (4, 16), (17, 19)])
@pytest.mark.parametrize("need_weights", [False, True])
def test_few_keys_and_many_have_the_same_values_and_gradients_as_torchs_function(n_q, n_k, need_weights, monkeypatch):
    """Few keys go another way than through torch's fused kernel, and many do not."""
    rng, fused, calls = np.random.default_rng(0), F.scaled_dot_product_attention, []
    given = tensors(*(rng.normal(size=(2, n, d)) for n, d in ((n_q, 5), (n_k, 5), (n_k, 7))))
    mask = torch.from_numpy(rng.random((2, n_q, n_k)) < 0.5)
    mask[..., 0] = True
    monkeypatch.setattr(F, "scaled_dot_product_attention", lambda *a, **k: calls.append(1) or fused(*a, **k))
    assert_same(
        lambda q, k, v: nn.scaled_dot_product_attention(q, k, v, mask, need_weights=need_weights).output,
        lambda q, k, v: fused(q, k, v, mask),
        given,
    )
    assert bool(calls) == (not need_weights and (n_q == 1 or n_k >= 16))


# ---- gradients where torch has no module of its own ---------------------------------------------------------------


@pytest.mark.parametrize("kind", ["none", "some", "idle query", "nothing"])
def test_gradients_of_additive_attention_equal_finite_differences(kind):
    torch.manual_seed(0)
    twin = nn.AdditiveAttention(2, 3, 5).double()
    query, key, value, mask = tensors(*inputs((2,), (2,), kind, (2, 3, 2)))
    leaves = [x.detach().clone().requires_grad_() for x in (query, key, value, *twin.parameters())]

    def run(q, k, v, *weights):
        names = [name for name, _ in twin.named_parameters()]
        attended = torch.func.functional_call(twin, dict(zip(names, weights, strict=True)), (q, k, v, mask))
        return attended.output, attended.weights

    assert torch.autograd.gradcheck(run, leaves, rtol=1e-6)
