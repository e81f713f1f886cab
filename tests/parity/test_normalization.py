"""Layer norm and RMS norm: the reference equals the twin, the twin torch's module, in values and gradients."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from attention_cases import GRADIENTS, VALUES, assert_same

from stepformer import nn, ops
from stepformer.params import to_arrays
from stepformer.reference.normalization import layer_norm, rms_norm

SHAPES = [(4, 10), (10,), (2, 3, 4, 10), (1, 1), (5, 1), (0, 10)]


def twin_of(width, eps=1e-5):
    torch.manual_seed(width)
    module = nn.LayerNorm(width, eps).double()
    with torch.no_grad():
        module.gain.normal_()
        module.bias.normal_()
    return module


def torchs(module):
    own = torch.nn.LayerNorm(len(module.gain), module.eps, dtype=torch.float64)
    own.load_state_dict({"weight": module.gain, "bias": module.bias})
    return own


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("eps", [1e-5, 0.1])
def test_layer_norm_agrees_with_its_twin_and_with_the_op(shape, scale, eps):
    module = twin_of(shape[-1], eps)
    x = np.random.default_rng(0).normal(size=shape) * scale + scale
    params = to_arrays(module.state_dict())
    assert sorted(params) == ["bias", "gain"]
    mine = layer_norm(x, params, eps)
    assert_agree(mine, module(torch.as_tensor(x)), VALUES)
    assert_agree(mine, ops.layer_norm(x, params["gain"], params["bias"], eps=eps), 1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_twin_equals_torchs_module(shape):
    module = twin_of(shape[-1])
    assert_same(module, torchs(module), [torch.randn(shape, dtype=torch.float64)])


def assert_same_gradients(module, own, names):
    """The gradients of a layer's parameters are those of torch's own module, whose names stand on the right."""
    x = torch.randn(4, 10, dtype=torch.float64)
    factors = torch.linspace(-1, 2, 40, dtype=torch.float64).reshape(4, 10)
    for one in (module, own):
        (one(x) * factors).sum().backward()
    for ours, theirs in names.items():
        assert_agree(getattr(module, ours).grad, getattr(own, theirs).grad.numpy(), GRADIENTS)


def test_gradients_of_the_parameters_equal_those_of_torchs_module():
    module = twin_of(10)
    assert_same_gradients(module, torchs(module), {"gain": "weight", "bias": "bias"})


# ---- RMS norm -------------------------------------------------------------------------------------------------------


def rms_twin(width, eps=1e-5):
    torch.manual_seed(width)
    module = nn.RMSNorm(width, eps).double()
    with torch.no_grad():
        module.gain.normal_()
    return module


def torchs_rms(module):
    own = torch.nn.RMSNorm(len(module.gain), module.eps, dtype=torch.float64)
    own.load_state_dict({"weight": module.gain})
    return own


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("eps", [1e-5, 0.1])
def test_rms_norm_agrees_with_its_twin(shape, scale, eps):
    module = rms_twin(shape[-1], eps)
    x = np.random.default_rng(0).normal(size=shape) * scale + scale
    params = to_arrays(module.state_dict())
    assert sorted(params) == ["gain"]
    assert_agree(rms_norm(x, params, eps), module(torch.as_tensor(x)), VALUES)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_twin_of_rms_norm_equals_torchs_module(shape):
    module = rms_twin(shape[-1])
    assert_same(module, torchs_rms(module), [torch.randn(shape, dtype=torch.float64)])


def test_the_gradient_of_the_gain_of_rms_norm_is_that_of_torchs_module():
    module = rms_twin(10)
    assert_same_gradients(module, torchs_rms(module), {"gain": "weight"})


def test_rms_norm_of_centred_rows_is_layer_norm_without_bias():
    x = np.random.default_rng(0).normal(size=(4, 10))
    centred, gain = x - x.mean(axis=-1, keepdims=True), np.linspace(0.5, 2, 10)
    assert_agree(rms_norm(centred, {"gain": gain}), layer_norm(x, {"gain": gain, "bias": np.zeros(10)}), 1e-12)


def test_rms_norm_refuses_what_does_not_fit():
    for x, params, eps in ((np.ones((2, 3)), {"gain": np.ones(4)}, 1e-5), (np.ones((2, 3)), {"gain": np.ones(3)}, 0.0)):
        with pytest.raises(ValueError, match=r"gain must be as wide|eps is"):
            rms_norm(x, params, eps)
    with pytest.raises(ValueError, match="its width must be d_model = 3"):
        nn.RMSNorm(3)(torch.ones(2, 4))
    with pytest.raises(ValueError, match="eps is"):
        nn.RMSNorm(3, eps=0.0)
