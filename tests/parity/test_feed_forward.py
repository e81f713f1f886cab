"""The feed-forward network: the reference equals the torch twin, and the twin what torch's own layers make of it."""

import numpy as np
import pytest
import torch
from agreement import assert_agree

from stepformer import nn, params
from stepformer.reference.feed_forward import feed_forward, gated_feed_forward

VALUES = 1e-10
GRADIENTS = 1e-8
D_MODEL, D_FF = 10, 14
SHAPES = [(4,), (1,), (0,), (2, 3), (1, 1), (3, 2, 4), ()]


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def twin(activation):
    torch.manual_seed(0)
    return nn.FeedForward(D_MODEL, D_FF, activation).double()


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_the_reference_agrees_with_its_twin(shape, activation, scale):
    x = scale * draw(*shape, D_MODEL)
    layer = twin(activation)
    arrays = params.to_arrays(layer.state_dict())
    assert {name: array.shape for name, array in arrays.items()} == {
        "w_1.weight": (D_MODEL, D_FF), "w_1.bias": (D_FF,), "w_2.weight": (D_FF, D_MODEL), "w_2.bias": (D_MODEL,)
    }  # fmt: skip
    assert_agree(feed_forward(x, arrays, activation), layer(torch.as_tensor(x)), VALUES)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_values_and_gradients_are_those_of_torchs_layers(activation):
    layer = twin(activation)
    bend = {"relu": torch.nn.ReLU(), "gelu": torch.nn.GELU()}[activation]
    own = torch.nn.Sequential(torch.nn.Linear(D_MODEL, D_FF), bend, torch.nn.Linear(D_FF, D_MODEL)).double()
    renamed = {name.replace("w_1", "0").replace("w_2", "2"): tensor for name, tensor in layer.state_dict().items()}
    own.load_state_dict(renamed)
    upstream = torch.as_tensor(draw(2, 3, D_MODEL, seed=1))
    inputs = [torch.as_tensor(draw(2, 3, D_MODEL)).requires_grad_() for _ in range(2)]
    outputs = [module(x) for module, x in zip((layer, own), inputs, strict=True)]
    assert_agree(outputs[0], outputs[1].detach().numpy(), VALUES)
    for output in outputs:
        output.backward(upstream)
    assert_agree(inputs[0].grad, inputs[1].grad.numpy(), GRADIENTS)
    for mine, theirs in zip(layer.parameters(), own.parameters(), strict=True):
        assert_agree(mine.grad, theirs.grad.numpy(), GRADIENTS)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_it_is_the_feed_forward_network_of_torchs_encoder_layer(activation):
    """The rest of that layer is taken away: attention gives zeros, the norms are left out by hand."""
    own = torch.nn.TransformerEncoderLayer(D_MODEL, 2, D_FF, dropout=0.0, activation=activation, dtype=torch.float64)
    layer = twin(activation)
    own.linear1.load_state_dict(layer.w_1.state_dict())
    own.linear2.load_state_dict(layer.w_2.state_dict())
    x = torch.as_tensor(draw(3, D_MODEL))
    assert_agree(layer(x), own._ff_block(x).detach().numpy(), VALUES)


def test_dropout_acts_in_training_only_and_between_the_layers():
    layer = nn.FeedForward(D_MODEL, 1000, dropout=0.5)
    x = torch.as_tensor(draw(1, D_MODEL)).float()
    seen = []
    layer.w_2.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    torch.manual_seed(0)
    layer.train()(x)
    layer.eval()(x)
    training, evaluating = (hidden[hidden.ne(0) | seen[1].ne(0)] for hidden in seen)
    dropped = training.eq(0)
    assert 0.4 < dropped.float().mean() < 0.6
    assert torch.allclose(training[~dropped], 2 * evaluating[~dropped])


# ---- with a gate ----------------------------------------------------------------------------------------------------


def gated_twin():
    torch.manual_seed(0)
    return nn.GatedFeedForward(D_MODEL, D_FF).double()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_the_gated_reference_agrees_with_its_twin(shape, scale):
    x = scale * draw(*shape, D_MODEL)
    layer = gated_twin()
    arrays = params.to_arrays(layer.state_dict())
    assert {name: array.shape for name, array in arrays.items()} == {
        "w_1.weight": (D_MODEL, D_FF), "w_2.weight": (D_FF, D_MODEL), "w_3.weight": (D_MODEL, D_FF)
    }  # fmt: skip
    assert_agree(gated_feed_forward(x, arrays), layer(torch.as_tensor(x)), VALUES)


def test_values_and_gradients_with_a_gate_are_those_of_torchs_glu():
    """torch.nn.functional.glu multiplies one half by the sigmoid of the other; silu(z) is z times that sigmoid."""
    layer = gated_twin()
    w_1, w_2, w_3 = (getattr(layer, name).weight for name in ("w_1", "w_2", "w_3"))

    def by_glu(x):
        gate = x @ w_1.T
        return torch.nn.functional.glu(torch.cat([gate * (x @ w_3.T), gate], dim=-1)) @ w_2.T

    upstream, results = torch.as_tensor(draw(2, 3, D_MODEL, seed=1)), []
    for run in (layer, by_glu):
        layer.zero_grad()
        x = torch.as_tensor(draw(2, 3, D_MODEL)).requires_grad_()
        output = run(x)
        output.backward(upstream)
        results.append([output.detach(), x.grad, *(p.grad.clone() for p in layer.parameters())])
    for mine, theirs in zip(*results, strict=True):
        assert_agree(mine, theirs.numpy(), GRADIENTS)
