"""Self-attention: the reference equals the torch twin, and the twin equals torch's own module with one head."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from torch.nn import functional as F

from stepformer import examples, nn, params
from stepformer.ops import causal_mask, padding_mask
from stepformer.reference.self_attention import self_attention

VALUES = 1e-10
GRADIENTS = 1e-8
N, D_MODEL, D_K, D_V = 4, 10, 5, 7
MASKS = ["none", "causal", "padding", "an idle token", "nothing"]


def mask_of(kind, x):
    if kind == "none":
        return None
    if kind == "padding":
        return padding_mask(np.arange(x.shape[-2])[::-1], pad_id=0)
    allowed = causal_mask(x, x).copy()
    allowed[1 if kind == "an idle token" else slice(0)] = False
    return np.zeros_like(allowed) if kind == "nothing" else allowed


def twin_and_input(leading=(), n=N, scale=1.0, d_v=D_V):
    torch.manual_seed(0)
    twin = nn.SelfAttention(D_MODEL, D_K, d_v).double()
    return twin, scale * np.random.default_rng(n).normal(size=(*leading, n, D_MODEL))


@pytest.mark.parametrize("leading", [(), (3,), (2, 1)])
@pytest.mark.parametrize("kind", MASKS)
def test_the_reference_agrees_with_its_twin(leading, kind):
    twin, x = twin_and_input(leading)
    mask = mask_of(kind, x)
    mine = self_attention(x, params.to_arrays(twin.state_dict()), mask)
    given = [torch.as_tensor(x), None if mask is None else torch.as_tensor(mask)]
    with_weights = twin(*given, need_weights=True)
    assert_agree(mine.output, with_weights.output, VALUES, "output")
    assert_agree(mine.weights, with_weights.weights, VALUES, "weights")
    assert_agree(mine.output, twin(*given).output, VALUES, "output of the fused kernel")


@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_other_lengths_and_sizes_of_numbers_agree(n, scale):
    twin, x = twin_and_input(n=n, scale=scale)
    mine = self_attention(x, params.to_arrays(twin.state_dict()), causal_mask(x, x))
    theirs = twin(torch.as_tensor(x), torch.as_tensor(causal_mask(x, x)))
    assert_agree(mine.output, theirs.output, VALUES)


@pytest.mark.parametrize("name", ["self_attention", "causal_self_attention", "padded_self_attention"])
def test_the_examples_of_the_chapter_agree_with_torchs_function(name):
    trace = examples.EXAMPLES[name]()
    x, weights = trace["x"], examples.SELF_ATTENTION_PARAMS
    query, key, value = (torch.as_tensor(x @ weights[f"w_{role}.weight"]) for role in "qkv")
    mask = torch.as_tensor(trace["src"] != 0)[None] if name.startswith("padded") else None
    causal = name.startswith("causal")
    assert_agree(
        trace["attention.output"], F.scaled_dot_product_attention(query, key, value, mask, is_causal=causal), VALUES
    )


def torch_multihead(twin):
    """torch's own module with one head, no biases, and an output projection that changes nothing."""
    own = torch.nn.MultiheadAttention(D_MODEL, 1, bias=False, batch_first=True, dtype=torch.float64)
    state = twin.state_dict()
    packed = torch.cat([state[f"w_{role}.weight"] for role in "qkv"])
    own.load_state_dict({"in_proj_weight": packed, "out_proj.weight": torch.eye(D_MODEL, dtype=torch.float64)})
    return own


def values_and_gradients(run, module, x):
    x = torch.as_tensor(x).requires_grad_()
    output = run(module, x)
    factors = torch.linspace(-1, 2, output.numel(), dtype=output.dtype).reshape(output.shape)
    return output, torch.autograd.grad((output * factors).sum(), [x, *module.parameters()])


@pytest.mark.parametrize("kind", ["none", "causal", "padding"])
def test_the_twin_equals_torchs_module_with_one_head_in_values_and_gradients(kind):
    torch.manual_seed(0)
    twin = nn.SelfAttention(D_MODEL, D_MODEL).double()
    x = np.random.default_rng(5).normal(size=(3, N, D_MODEL))
    mask = mask_of(kind, x)
    allowed = None if mask is None else torch.as_tensor(np.broadcast_to(mask, (N, N)).copy())
    hidden = None if allowed is None else ~allowed  # torch's module means the opposite
    output, (x_gradient, *mine) = values_and_gradients(lambda m, x: m(x, allowed).output, twin, x)
    own = torch_multihead(twin)
    expected, (x_expected, packed, _) = values_and_gradients(
        lambda m, x: m(x, x, x, attn_mask=hidden, need_weights=False)[0], own, x
    )
    assert_agree(output, expected, VALUES, "output")
    assert_agree(x_gradient, x_expected, GRADIENTS, "gradient of x")
    assert_agree(torch.cat(mine), packed, GRADIENTS, "gradient of the projections")


def test_a_token_that_may_attend_to_nothing_gets_zeros_and_finite_gradients():
    twin, x = twin_and_input()
    mask = torch.as_tensor(mask_of("an idle token", x))
    output, gradients = values_and_gradients(lambda m, x: m(x, mask).output, twin, x)
    assert not output[1].any()
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_the_parameters_are_three_matrices_without_bias():
    twin, _ = twin_and_input()
    shapes = {name: tuple(tensor.shape) for name, tensor in twin.state_dict().items()}
    assert shapes == {"w_q.weight": (D_K, D_MODEL), "w_k.weight": (D_K, D_MODEL), "w_v.weight": (D_V, D_MODEL)}
    assert nn.SelfAttention(D_MODEL, D_K).w_v.weight.shape == (D_K, D_MODEL)
