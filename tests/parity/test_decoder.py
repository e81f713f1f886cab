"""The decoder: the reference equals the torch twin, the twin torch's own layers, in values and gradients."""

import pytest
import torch
from agreement import assert_agree
from attention_cases import GRADIENTS, VALUES, assert_same
from transformer_cases import D_FF, D_MODEL, N_HEADS, N_SRC, N_TGT, ORDERS, arrays, torchs_layer, uneven

from stepformer import nn
from stepformer.reference.decoder import decoder, decoder_layer

LENGTHS = torch.tensor([N_TGT, 2, 1])
SRC_LENGTHS = torch.tensor([N_SRC, 1, 2])
MASKS = ["none", "causal", "causal and padding", "nothing to read"]


def inputs(kind, *leading):
    """Target, memory and their masks; with padding three sentences of different lengths."""
    generator = torch.Generator().manual_seed(len(leading))
    x, memory = (torch.randn(*leading, n, D_MODEL, dtype=torch.float64, generator=generator) for n in (N_TGT, N_SRC))
    if kind == "none":
        return x, memory, None, None
    causal = nn.causal_mask(x, x)
    if kind == "causal":
        return x, memory, causal, None
    if kind == "nothing to read":
        return x, memory, causal, torch.zeros(1, N_SRC, dtype=torch.bool)
    real, src_real = (torch.arange(n) < lengths[:, None] for n, lengths in ((N_TGT, LENGTHS), (N_SRC, SRC_LENGTHS)))
    return x, memory, causal & real[:, None], src_real[:, None]


def numpys(*tensors):
    return [None if x is None else x.numpy() for x in tensors]


def layer(norm_first=False, activation="relu"):
    return uneven(nn.DecoderLayer(D_MODEL, N_HEADS, D_FF, 0.1, activation, norm_first))


def stack(norm_first=False, activation="relu", final_norm=None):
    return uneven(nn.Decoder(3, D_MODEL, N_HEADS, D_FF, 0.1, activation, norm_first, final_norm))


# ---- the reference and the twin -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("norm_first", "activation"), ORDERS)
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("final_norm", [None, True, False])
def test_the_decoder_agrees_with_its_twin(kind, norm_first, activation, final_norm):
    module = stack(norm_first, activation, final_norm)
    x, memory, *masks = inputs(kind, 3)
    mine = decoder(*numpys(x, memory), arrays(module), N_HEADS, *numpys(*masks), norm_first, activation)
    assert_agree(mine, module(x, memory, *masks).output, VALUES)


@pytest.mark.parametrize("leading", [(), (1,), (2, 3)])
def test_a_layer_agrees_with_its_twin_whatever_stands_before(leading):
    module = layer()
    x, memory, *masks = inputs("causal", *leading)
    mine = decoder_layer(*numpys(x, memory), arrays(module), N_HEADS, *numpys(*masks))
    assert_agree(mine, module(x, memory, *masks).output, VALUES)


@pytest.mark.parametrize("norm_first", [False, True])
def test_nan_in_padding_is_the_same_nothing_on_both_sides(norm_first):
    module = stack(norm_first)
    x, memory, *masks = inputs("causal and padding", 3)
    x[1, 2:], memory[1, 1:], memory[2, 2, 0] = torch.nan, torch.nan, torch.inf
    mine = decoder(*numpys(x, memory), arrays(module), N_HEADS, *numpys(*masks), norm_first)
    assert_agree(mine, module(x, memory, *masks).output, VALUES)


# ---- the twin and torch's own ---------------------------------------------------------------------------------------


def in_torchs_words(kind):
    if kind == "none":
        return {}
    causal = {"tgt_mask": torch.ones(N_TGT, N_TGT, dtype=torch.bool).triu(1)}
    if kind == "causal":
        return causal
    hidden = {"tgt_key_padding_mask": (N_TGT, LENGTHS), "memory_key_padding_mask": (N_SRC, SRC_LENGTHS)}
    return causal | {name: torch.arange(n) >= lengths[:, None] for name, (n, lengths) in hidden.items()}


@pytest.mark.parametrize(("norm_first", "activation"), ORDERS)
@pytest.mark.parametrize("kind", ["none", "causal", "causal and padding"])
def test_a_layer_equals_torchs_layer(kind, norm_first, activation):
    module = layer(norm_first, activation)
    own = torchs_layer(torch.nn.TransformerDecoderLayer, module)
    x, memory, *masks = inputs(kind, 3)
    assert_same(
        lambda x, memory: module(x, memory, *masks).output,
        lambda x, memory: own(x, memory, **in_torchs_words(kind)),
        [x, memory],
    )


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize(("n_tgt", "n_src"), [(1, 1), (1, 7), (7, 1), (2, 5)])
def test_a_layer_equals_torchs_layer_at_any_lengths(norm_first, n_tgt, n_src):
    module = layer(norm_first)
    own = torchs_layer(torch.nn.TransformerDecoderLayer, module)
    x, memory = (torch.randn(1, n, D_MODEL, dtype=torch.float64) for n in (n_tgt, n_src))
    future = torch.ones(n_tgt, n_tgt, dtype=torch.bool).triu(1)
    assert_same(
        lambda x, memory: module(x, memory, ~future).output,
        lambda x, memory: own(x, memory, tgt_mask=future),
        [x, memory],
    )


@pytest.mark.parametrize("norm_first", [False, True])
def test_gradients_of_the_parameters_equal_those_of_torchs_layer(norm_first):
    module = layer(norm_first)
    own = torchs_layer(torch.nn.TransformerDecoderLayer, module)
    x, memory, *masks = inputs("causal and padding", 3)
    factors = torch.linspace(-1, 2, x.numel(), dtype=torch.float64).reshape(x.shape)
    (module(x, memory, *masks).output * factors).sum().backward()
    (own(x, memory, **in_torchs_words("causal and padding")) * factors).sum().backward()
    mine = nn.to_torch_names({name: parameter.grad for name, parameter in module.named_parameters()})
    for name, parameter in own.named_parameters():
        assert_agree(mine[name], parameter.grad.numpy(), GRADIENTS, name)


@pytest.mark.parametrize(("norm_first", "activation"), ORDERS)
@pytest.mark.parametrize("final_norm", [True, False])
def test_the_decoder_equals_torchs_decoder(norm_first, activation, final_norm):
    module = stack(norm_first, activation, final_norm)
    norm = torch.nn.LayerNorm(D_MODEL, dtype=torch.float64) if final_norm else None
    own = torch.nn.TransformerDecoder(torchs_layer(torch.nn.TransformerDecoderLayer, module.layers[0]), 3, norm)
    own.load_state_dict(nn.to_torch_names(module.state_dict()))
    kind = "causal and padding"
    x, memory, *masks = inputs(kind, 3)
    assert_same(
        lambda x, memory: module(x, memory, *masks).output,
        lambda x, memory: own(x, memory, **in_torchs_words(kind)),
        [x, memory],
    )


@pytest.mark.parametrize("norm_first", [False, True])
def test_gradients_are_finite_and_right_where_there_is_nothing_to_read(norm_first):
    """torch's layer gives NaN there."""
    module = layer(norm_first)
    x, memory, *masks = inputs("nothing to read")
    leaves = [x.clone().requires_grad_(), memory.clone().requires_grad_()]

    def run(x, memory):
        return module(x, memory, *masks).output

    assert torch.autograd.gradcheck(run, leaves, rtol=1e-6, fast_mode=True)
