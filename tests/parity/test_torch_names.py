"""Our names and torch's: every parameter is carried over, either way, and lands where it belongs."""

import pytest
import torch
from transformer_cases import D_FF, D_MODEL, N_HEADS, model

from stepformer import nn


def encoder_layer():
    return nn.EncoderLayer(D_MODEL, N_HEADS, D_FF)


def decoder_layer():
    return nn.DecoderLayer(D_MODEL, N_HEADS, D_FF)


PAIRS = {
    "encoder layer": (encoder_layer, lambda: torch.nn.TransformerEncoderLayer(D_MODEL, N_HEADS, D_FF)),
    "decoder layer": (decoder_layer, lambda: torch.nn.TransformerDecoderLayer(D_MODEL, N_HEADS, D_FF)),
    "whole model": (
        lambda: nn.Transformer(11, 13, D_MODEL, N_HEADS, 2, D_FF, final_norm=True),
        lambda: torch.nn.Transformer(D_MODEL, N_HEADS, 2, 2, D_FF, batch_first=True),
    ),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_there_and_back_gives_every_parameter_of_torchs_module(kind):
    ours, theirs = (make() for make in PAIRS[kind])
    state = theirs.state_dict()
    named = nn.from_torch_names(state)
    missing = set(ours.state_dict()) - set(named)
    assert all(name.startswith(("src_", "tgt_", "output.")) for name in missing)
    assert not set(named) - set(ours.state_dict())
    back = nn.to_torch_names(named)
    assert back.keys() == state.keys()
    for name, tensor in state.items():
        assert torch.equal(back[name], tensor), name
    for name, tensor in named.items():
        assert tensor.shape == ours.state_dict()[name].shape, name


def test_query_key_and_value_are_the_three_thirds_of_torchs_matrix():
    state = encoder_layer().state_dict()
    whole = nn.to_torch_names(state)["self_attn.in_proj_weight"]
    for third, role in zip(whole.chunk(3), "qkv", strict=True):
        assert torch.equal(third, state[f"self_attention.w_{role}.weight"])


def test_the_norms_are_numbered_in_the_order_of_the_sub_layers():
    state = {name: torch.full_like(x, k) for k, (name, x) in enumerate(decoder_layer().state_dict().items())}
    theirs = nn.to_torch_names(state)
    for k, name in enumerate(("self_attention", "cross_attention", "feed_forward"), start=1):
        assert torch.equal(theirs[f"norm{k}.weight"], state[f"{name}_norm.gain"])
        assert torch.equal(theirs[f"norm{k}.bias"], state[f"{name}_norm.bias"])


def test_what_is_carried_over_is_a_copy():
    ours = model()
    own = ours.to_torch()
    before = {name: tensor.clone() for name, tensor in ours.state_dict().items()}
    with torch.no_grad():
        for parameter in own.parameters():
            parameter.zero_()
    assert all(torch.equal(tensor, before[name]) for name, tensor in ours.state_dict().items())
