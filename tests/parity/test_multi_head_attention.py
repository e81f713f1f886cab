"""Multi-head attention: the reference equals the torch twin, the twin torch's module, in values and gradients."""

import pytest
import torch
from agreement import assert_agree
from attention_cases import (
    CASES,
    D_MODEL,
    GRADIENTS,
    N_SRC,
    N_TGT,
    VALUES,
    agree,
    assert_same,
    inputs,
    tensors,
)

from stepformer import nn, params
from stepformer.reference.multi_head_attention import multi_head_attention

# ---- the reference and the twin -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("shapes", "kind"), CASES)
@pytest.mark.parametrize(("n_heads", "d_k", "d_v"), [(2, None, None), (1, None, None), (3, 5, 7)])
def test_multi_head_attention_agrees_with_its_twin(shapes, kind, n_heads, d_k, d_v):
    torch.manual_seed(0)
    twin = nn.MultiHeadAttention(D_MODEL, n_heads, d_k, d_v).double().eval()
    given = inputs(*shapes, kind, (D_MODEL, D_MODEL, D_MODEL))
    arrays = params.to_arrays(twin.state_dict())
    mine = multi_head_attention(*given[:3], arrays, n_heads, given[3])
    agree(mine, twin(*tensors(*given), need_weights=True))
    assert_agree(mine.output, twin(*tensors(*given)).output, VALUES)


# ---- the twin and torch's own -------------------------------------------------------------------------------------


def torch_multihead(twin, n_heads):
    """torch's own module with the weights of ours."""
    own = torch.nn.MultiheadAttention(D_MODEL, n_heads, batch_first=True, dtype=torch.float64)
    state = twin.state_dict()
    own.load_state_dict(
        {
            "in_proj_weight": torch.cat([state[f"w_{r}.weight"] for r in "qkv"]),
            "in_proj_bias": torch.cat([state[f"w_{r}.bias"] for r in "qkv"]),
            "out_proj.weight": state["w_o.weight"],
            "out_proj.bias": state["w_o.bias"],
        }
    )
    return own


def usable_mask(kind):
    """A mask for torch's module, which gives NaN for a query without keys: every query keeps its first key."""
    query, key, value, mask = tensors(*inputs((2,), (2,), kind, (D_MODEL, D_MODEL, D_MODEL)))
    if mask is not None:
        mask[..., 0] = True
    return query, key, value, mask


def opposite(mask, n_heads):
    """torch's module wants True = may not attend, and one matrix for each sentence and head."""
    if mask is None:
        return None
    return ~mask.expand(2, N_TGT, N_SRC).repeat_interleave(n_heads, dim=0)


@pytest.mark.parametrize("kind", ["none", "full rows", "some", "one row", "batch"])
@pytest.mark.parametrize("n_heads", [1, 2, 5])
@pytest.mark.parametrize("need_weights", [False, True])
def test_multi_head_attention_equals_torchs_module(kind, n_heads, need_weights):
    torch.manual_seed(0)
    twin = nn.MultiHeadAttention(D_MODEL, n_heads).double()
    own = torch_multihead(twin, n_heads)
    query, key, value, mask = usable_mask(kind)
    theirs = opposite(mask, n_heads)
    assert_same(
        lambda q, k, v: twin(q, k, v, mask, need_weights=need_weights).output,
        lambda q, k, v: own(q, k, v, attn_mask=theirs)[0],
        [query, key, value],
    )
    own.eval()
    mean = own(query, key, value, attn_mask=theirs)[1]
    each = own(query, key, value, attn_mask=theirs, average_attn_weights=False)[1]
    weights = twin(query, key, value, mask, need_weights=True).weights
    assert_agree(weights, each.detach().numpy(), VALUES, "weights")
    assert_agree(weights.mean(dim=1), mean.detach().numpy(), VALUES, "mean of the weights over the heads")


@pytest.mark.parametrize("kind", ["none", "some"])
def test_gradients_of_the_parameters_equal_those_of_torchs_module(kind):
    torch.manual_seed(0)
    twin = nn.MultiHeadAttention(D_MODEL, 2).double()
    own = torch_multihead(twin, 2)
    query, key, value, mask = usable_mask(kind)
    outputs = twin(query, key, value, mask).output, own(query, key, value, attn_mask=opposite(mask, 2))[0]
    factors = torch.linspace(-1, 2, outputs[0].numel(), dtype=torch.float64).reshape(outputs[0].shape)
    for output in outputs:
        (output * factors).sum().backward()
    for kind_of in ("weight", "bias"):
        mine = torch.cat([getattr(getattr(twin, f"w_{r}"), kind_of).grad for r in "qkv"])
        assert_agree(mine, getattr(own, f"in_proj_{kind_of}").grad.numpy(), GRADIENTS, kind_of)
        mine = getattr(twin.w_o, kind_of).grad
        assert_agree(mine, getattr(own.out_proj, kind_of).grad.numpy(), GRADIENTS, f"out {kind_of}")


# ---- gradients where torch's module gives NaN ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["some", "idle query", "hidden key", "nothing"])
@pytest.mark.parametrize("need_weights", [False, True])
def test_gradients_of_multi_head_attention_equal_finite_differences_where_torchs_module_gives_nan(kind, need_weights):
    torch.manual_seed(0)
    twin = nn.MultiHeadAttention(4, 2, d_v=3).double()
    query, key, value, mask = tensors(*inputs((), (), kind, (4, 4, 4)))
    visible = [x[..., : N_SRC - 1, :] if kind == "hidden key" else x for x in (key, value)]
    leaves = [x.detach().clone().requires_grad_() for x in (query, *visible)]

    def run(q, k, v):
        if kind == "hidden key":
            k, v = (torch.cat([x, torch.full((1, 4), torch.nan, dtype=x.dtype)]) for x in (k, v))
        attended = twin(q, k, v, mask, need_weights=need_weights)
        return tuple(x for x in attended if x is not None)

    assert torch.autograd.gradcheck(run, leaves, rtol=1e-6)
