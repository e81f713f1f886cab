"""Grouped-query attention: the reference equals the twin, the twin torch's function, in values and gradients."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from attention_cases import CASES, GRADIENTS, VALUES, agree, assert_same, inputs, tensors
from torch.nn import functional as F

from stepformer import nn, params
from stepformer.reference.grouped_query_attention import grouped_query_attention
from stepformer.reference.multi_head_attention import multi_head_attention

D_MODEL, N_HEADS = 12, 6
GROUPS = [1, 2, 3, 6]


def twin_of(n_kv_heads):
    torch.manual_seed(n_kv_heads)
    return nn.GroupedQueryAttention(D_MODEL, N_HEADS, n_kv_heads).double()


@pytest.mark.parametrize(("shapes", "kind"), CASES)
@pytest.mark.parametrize("n_kv_heads", [1, 2, 3])
def test_the_reference_agrees_with_its_twin(shapes, kind, n_kv_heads):
    twin = twin_of(n_kv_heads)
    given = inputs(*shapes, kind, (D_MODEL, D_MODEL, D_MODEL))
    arrays = params.to_arrays(twin.state_dict())
    mine = grouped_query_attention(*given[:3], arrays, N_HEADS, n_kv_heads, given[3])
    agree(mine, twin(*tensors(*given), need_weights=True))
    assert_agree(mine.output, twin(*tensors(*given)).output, VALUES)


def torchs(twin, query, key, value):
    """torch's function with its own sharing of keys and values, between the projections of ours."""
    heads = [w(x).unflatten(-1, (-1, D_MODEL // N_HEADS)).transpose(-2, -3)
             for w, x in ((twin.w_q, query), (twin.w_k, key), (twin.w_v, value))]  # fmt: skip
    output = F.scaled_dot_product_attention(*heads, enable_gqa=True)
    return twin.w_o(output.transpose(-2, -3).flatten(-2))


@pytest.mark.parametrize("n_kv_heads", GROUPS)
def test_the_twin_equals_torchs_function_in_values_and_gradients(n_kv_heads):
    twin = twin_of(n_kv_heads)
    leaves = [torch.randn(2, n, D_MODEL, dtype=torch.float64) for n in (4, 3, 3)]
    assert_same(lambda *x: twin(*x).output, lambda *x: torchs(twin, *x), leaves)
    gradients = []
    for run in (lambda *x: twin(*x).output, lambda *x: torchs(twin, *x)):
        twin.zero_grad()
        (run(*leaves) * torch.linspace(-1, 2, 96, dtype=torch.float64).reshape(2, 4, 12)).sum().backward()
        gradients.append([p.grad.clone() for p in twin.parameters()])
    for mine, theirs in zip(*gradients, strict=True):
        assert_agree(mine, theirs.numpy(), GRADIENTS)


def test_as_many_groups_as_heads_are_multi_head_attention():
    twin = twin_of(N_HEADS)
    arrays = params.to_arrays(twin.state_dict())
    x = np.random.default_rng(0).normal(size=(3, D_MODEL))
    grouped = grouped_query_attention(x, x, x, arrays, N_HEADS, N_HEADS)
    plain = multi_head_attention(x, x, x, arrays, N_HEADS)
    assert_agree(grouped.output, plain.output, 1e-12)
    assert_agree(grouped.weights[:, 0], plain.weights, 1e-12)


@pytest.mark.parametrize("n_kv_heads", [0, 4, 5])
def test_groups_that_can_not_be_dealt_out_evenly_are_refused(n_kv_heads):
    x = np.zeros((3, D_MODEL))
    with pytest.raises(ValueError, match=r"n_kv_heads"):
        nn.GroupedQueryAttention(D_MODEL, N_HEADS, n_kv_heads)
    with pytest.raises(ValueError, match="dealt out evenly"):
        grouped_query_attention(x, x, x, {}, N_HEADS, n_kv_heads)
