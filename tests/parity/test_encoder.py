"""The encoder: the reference equals the torch twin, the twin torch's own layers, in values and gradients."""

import pytest
import torch
from agreement import assert_agree
from attention_cases import GRADIENTS, VALUES, assert_same
from transformer_cases import D_FF, D_MODEL, N_HEADS, ORDERS, arrays, torchs_layer, uneven

from stepformer import nn
from stepformer.reference.encoder import encoder, encoder_layer

MASKS = {
    "none": None,
    "padding": [[[True, True, True, True]], [[True, True, False, False]], [[True, False, False, False]]],
    "each its own": [[True, False, True, True], [True, True, True, False], [False, False, True, True], [True] * 4],
    "idle token": [[True, False, True, True], [False] * 4, [True, True, True, True], [True] * 4],
    "nothing": [[False] * 4],
}


def inputs(kind, *leading):
    generator = torch.Generator().manual_seed(len(leading))
    x = torch.randn(*leading, 4, D_MODEL, dtype=torch.float64, generator=generator)
    return x, None if MASKS[kind] is None else torch.tensor(MASKS[kind])


def layer(norm_first=False, activation="relu", dropout=0.1):
    return uneven(nn.EncoderLayer(D_MODEL, N_HEADS, D_FF, dropout, activation, norm_first))


def stack(norm_first=False, activation="relu", final_norm=None):
    return uneven(nn.Encoder(3, D_MODEL, N_HEADS, D_FF, 0.1, activation, norm_first, final_norm))


# ---- the reference and the twin -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("norm_first", "activation"), ORDERS)
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("final_norm", [None, True, False])
def test_the_encoder_agrees_with_its_twin(kind, norm_first, activation, final_norm):
    module = stack(norm_first, activation, final_norm)
    x, mask = inputs(kind, 3)
    mine = encoder(x.numpy(), arrays(module), N_HEADS, None if mask is None else mask.numpy(), norm_first, activation)
    assert_agree(mine, module(x, mask), VALUES)


@pytest.mark.parametrize("leading", [(), (1,), (2, 3)])
def test_a_layer_agrees_with_its_twin_whatever_stands_before(leading):
    module = layer()
    x, _ = inputs("none", *leading)
    assert_agree(encoder_layer(x.numpy(), arrays(module), N_HEADS), module(x), VALUES)


@pytest.mark.parametrize("norm_first", [False, True])
def test_nan_in_padding_is_the_same_nothing_on_both_sides(norm_first):
    module = stack(norm_first)
    x, mask = inputs("padding", 3)
    x[1, 2:] = torch.nan
    x[2, 3, 0] = torch.inf
    mine = encoder(x.numpy(), arrays(module), N_HEADS, mask.numpy(), norm_first)
    assert_agree(mine, module(x, mask), VALUES)


# ---- the twin and torch's own ---------------------------------------------------------------------------------------


def in_torchs_words(mask):
    """torch: True = may not attend; a padding mask is one row for each sentence, another mask one matrix."""
    if mask is None:
        return {}
    return {"src_key_padding_mask": ~mask[:, 0]} if mask.ndim == 3 else {"src_mask": ~mask}


@pytest.mark.parametrize(("norm_first", "activation"), ORDERS)
@pytest.mark.parametrize("kind", ["none", "padding", "each its own"])
def test_a_layer_equals_torchs_layer(kind, norm_first, activation):
    module = layer(norm_first, activation)
    own = torchs_layer(torch.nn.TransformerEncoderLayer, module)
    x, mask = inputs(kind, 3)
    assert_same(lambda rows: module(rows, mask), lambda rows: own(rows, **in_torchs_words(mask)), [x])


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("length", [1, 2, 7])
def test_a_layer_equals_torchs_layer_at_any_length(norm_first, length):
    module = layer(norm_first)
    own = torchs_layer(torch.nn.TransformerEncoderLayer, module)
    assert_same(module, own, [torch.randn(1, length, D_MODEL, dtype=torch.float64)])


@pytest.mark.parametrize("norm_first", [False, True])
def test_gradients_of_the_parameters_equal_those_of_torchs_layer(norm_first):
    module = layer(norm_first)
    own = torchs_layer(torch.nn.TransformerEncoderLayer, module)
    x, mask = inputs("padding", 3)
    factors = torch.linspace(-1, 2, x.numel(), dtype=torch.float64).reshape(x.shape)
    (module(x, mask) * factors).sum().backward()
    (own(x, **in_torchs_words(mask)) * factors).sum().backward()
    mine = nn.to_torch_names({name: parameter.grad for name, parameter in module.named_parameters()})
    for name, parameter in own.named_parameters():
        assert_agree(mine[name], parameter.grad.numpy(), GRADIENTS, name)


@pytest.mark.parametrize(("norm_first", "activation"), ORDERS)
@pytest.mark.parametrize("final_norm", [True, False])
def test_the_encoder_equals_torchs_encoder(norm_first, activation, final_norm):
    module = stack(norm_first, activation, final_norm)
    norm = torch.nn.LayerNorm(D_MODEL, dtype=torch.float64) if final_norm else None
    first = torchs_layer(torch.nn.TransformerEncoderLayer, module.layers[0])
    own = torch.nn.TransformerEncoder(first, 3, norm, enable_nested_tensor=False)
    own.load_state_dict(nn.to_torch_names(module.state_dict()))
    x, mask = inputs("padding", 3)
    assert_same(lambda rows: module(rows, mask), lambda rows: own(rows, **in_torchs_words(mask)), [x])


@pytest.mark.parametrize("norm_first", [False, True])
def test_gradients_are_finite_and_right_where_torchs_layer_gives_nan(norm_first):
    """A token that may attend to nothing, and a sentence of nothing but padding."""
    module = layer(norm_first)
    for kind in ("idle token", "nothing"):
        x, mask = inputs(kind)
        leaf = x.clone().requires_grad_()

        def run(rows, mask=mask):
            return module(rows, mask)

        assert torch.autograd.gradcheck(run, [leaf], rtol=1e-6, fast_mode=True), kind


def test_the_shape_stays_through_every_layer():
    module = stack()
    x, mask = inputs("padding", 3)
    for one in module.layers:
        assert one(x, mask).shape == x.shape
    assert module(x, mask).isfinite().all()
