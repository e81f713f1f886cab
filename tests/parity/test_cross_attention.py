"""Cross-attention: the reference equals the torch twin, and the twin equals torch's own module with one head."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from helpers import fault
from torch.nn import functional as F

from stepformer import examples, nn, params
from stepformer.ops import padding_mask
from stepformer.reference.cross_attention import cross_attention

VALUES = 1e-10
GRADIENTS = 1e-8
N_TGT, N_SRC, D_MODEL, D_K, D_V = 4, 3, 10, 5, 7
MASKS = ["none", "padding", "one mask for each query", "an idle query", "nothing"]


def mask_of(kind, n_tgt=N_TGT, n_src=N_SRC):
    if kind == "none":
        return None
    if kind == "padding":
        return padding_mask(np.arange(n_src)[::-1], pad_id=0)
    allowed = np.random.default_rng(n_src).random((n_tgt, n_src)) < 0.6
    allowed[:, 0] = True
    if kind == "an idle query":
        allowed[1] = False
    return np.zeros_like(allowed) if kind == "nothing" else allowed


def twin_and_inputs(leading=(), n_tgt=N_TGT, n_src=N_SRC, scale=1.0, d_k=D_K, d_v=D_V):
    torch.manual_seed(0)
    twin = nn.CrossAttention(D_MODEL, d_k, d_v).double()
    rng = np.random.default_rng([n_tgt, n_src])
    return twin, *(scale * rng.normal(size=(*leading, n, D_MODEL)) for n in (n_tgt, n_src))


def tensors(*arrays):
    return [None if x is None else torch.as_tensor(x) for x in arrays]


@pytest.mark.parametrize("leading", [(), (3,), (2, 1)])
@pytest.mark.parametrize("kind", MASKS)
def test_the_reference_agrees_with_its_twin(leading, kind):
    twin, x, memory = twin_and_inputs(leading)
    mask = mask_of(kind)
    if kind == "padding":
        memory[..., -1, :] = np.nan
    mine = cross_attention(x, memory, params.to_arrays(twin.state_dict()), mask)
    with_weights = twin(*tensors(x, memory, mask), need_weights=True)
    assert_agree(mine.output, with_weights.output, VALUES, "output")
    assert_agree(mine.weights, with_weights.weights, VALUES, "weights")
    fused = twin(*tensors(x, memory, mask))
    assert_agree(mine.output, fused.output, VALUES, "output of the fused kernel")
    assert fused.weights is None


@pytest.mark.parametrize("lengths", [(1, 1), (1, 7), (7, 1), (2, 7), (11, 5)])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_other_lengths_and_sizes_of_numbers_agree(lengths, scale):
    twin, x, memory = twin_and_inputs((), *lengths, scale)
    mine = cross_attention(x, memory, params.to_arrays(twin.state_dict()))
    assert_agree(mine.output, twin(*tensors(x, memory)).output, VALUES)


def test_a_batch_of_targets_may_share_one_memory():
    twin, x, memory = twin_and_inputs((3,))
    mine = cross_attention(x, memory[0], params.to_arrays(twin.state_dict()))
    assert_agree(mine.output, twin(*tensors(x, memory[0])).output, VALUES)


@pytest.mark.parametrize("name", [name for name in examples.EXAMPLES if "cross_attention" in name])
def test_the_examples_of_the_chapter_agree_with_torchs_function(name):
    trace, weights = examples.EXAMPLES[name](), examples.CROSS_ATTENTION_PARAMS
    sides = ("x", "q"), ("memory", "k"), ("memory", "v")
    projected = (torch.as_tensor(trace[side] @ weights[f"w_{role}.weight"]) for side, role in sides)
    mask = None if name == "cross_attention" else torch.as_tensor(trace["src"] != 0).unsqueeze(-2)
    assert_agree(trace["attention.output"], F.scaled_dot_product_attention(*projected, mask), VALUES)


# ---- the twin and torch's own ---------------------------------------------------------------------------------------


def torch_multihead(twin):
    """torch's own module with one head, no biases, and an output projection that changes nothing."""
    own = torch.nn.MultiheadAttention(D_MODEL, 1, bias=False, batch_first=True, dtype=torch.float64)
    state = twin.state_dict()
    packed = torch.cat([state[f"w_{role}.weight"] for role in "qkv"])
    own.load_state_dict({"in_proj_weight": packed, "out_proj.weight": torch.eye(D_MODEL, dtype=torch.float64)})
    return own


def values_and_gradients(run, module, *inputs):
    inputs = [torch.as_tensor(x).clone().requires_grad_() for x in inputs]
    output = run(module, *inputs)
    factors = torch.linspace(-1, 2, output.numel(), dtype=output.dtype).reshape(output.shape)
    return output, torch.autograd.grad((output * factors).sum(), [*inputs, *module.parameters()])


@pytest.mark.parametrize("kind", ["none", "padding", "one mask for each query"])
@pytest.mark.parametrize("need_weights", [False, True])
def test_the_twin_equals_torchs_module_with_one_head_in_values_and_gradients(kind, need_weights):
    twin, x, memory = twin_and_inputs((3,), d_k=D_MODEL, d_v=None)
    mask = mask_of(kind)
    allowed = None if mask is None else torch.as_tensor(np.broadcast_to(mask, (N_TGT, N_SRC)).copy())
    hidden = None if allowed is None else ~allowed  # torch's module means the opposite
    output, (*mine, w_q, w_k, w_v) = values_and_gradients(
        lambda m, x, memory: m(x, memory, allowed, need_weights).output, twin, x, memory
    )
    expected, (*theirs, packed, _) = values_and_gradients(
        lambda m, x, memory: m(x, memory, memory, attn_mask=hidden, need_weights=need_weights)[0],
        torch_multihead(twin),
        x,
        memory,
    )
    assert_agree(output, expected, VALUES, "output")
    for name, a, b in zip(("x", "memory"), mine, theirs, strict=True):
        assert_agree(a, b, GRADIENTS, f"gradient of {name}")
    assert_agree(torch.cat([w_q, w_k, w_v]), packed, GRADIENTS, "gradient of the projections")


@pytest.mark.parametrize("kind", ["an idle query", "nothing"])
@pytest.mark.parametrize("need_weights", [False, True])
def test_a_query_that_may_attend_to_nothing_gets_zeros_and_finite_gradients(kind, need_weights):
    twin, x, memory = twin_and_inputs()
    mask = torch.as_tensor(mask_of(kind))
    output, gradients = values_and_gradients(
        lambda m, x, memory: m(x, memory, mask, need_weights).output, twin, x, memory
    )
    assert not output[1].any()
    assert all(gradient.isfinite().all() for gradient in gradients)


@fault("ATT-07")
@pytest.mark.parametrize("need_weights", [False, True])
def test_junk_in_padding_reaches_no_output_and_no_gradient(need_weights):
    twin, x, memory = twin_and_inputs()
    mask = torch.as_tensor(mask_of("padding"))
    results = []
    for junk in (0.0, np.nan, np.inf):
        memory[-1] = junk
        output, gradients = values_and_gradients(
            lambda m, x, memory: m(x, memory, mask, need_weights).output, twin, x, memory
        )
        results.append([output, *gradients])
    for other in results[1:]:
        for a, b in zip(other, results[0], strict=True):
            assert torch.isfinite(a).all()
            assert torch.equal(a, b)


def test_errors_name_what_is_wrong():
    twin, x, memory = twin_and_inputs()
    with pytest.raises(TypeError, match="mask must be boolean"):
        twin(*tensors(x, memory), torch.ones(1, N_SRC))
    with pytest.raises(ValueError, match=r"mask has shape \(1, 4\); for 4 queries and 3 keys"):
        twin(*tensors(x, memory), torch.ones(1, N_TGT, dtype=torch.bool))


def test_the_parameters_are_three_matrices_without_bias():
    twin, _, _ = twin_and_inputs()
    shapes = {name: tuple(tensor.shape) for name, tensor in twin.state_dict().items()}
    assert shapes == {"w_q.weight": (D_K, D_MODEL), "w_k.weight": (D_K, D_MODEL), "w_v.weight": (D_V, D_MODEL)}
    assert nn.CrossAttention(D_MODEL, D_K).w_v.weight.shape == (D_K, D_MODEL)
