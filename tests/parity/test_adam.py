"""Adam equals `torch.optim.Adam`, step after step, in weights and in all that it remembers."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from hypothesis import given, settings
from hypothesis import strategies as st

from stepformer.reference.adam import AdamSettings, adam, first_state

TOLERANCE = 1e-10


def of_torch(weight, gradients, rates, beta1, beta2, eps):
    """Weight, mean and mean square after each step of torch's Adam."""
    parameter = torch.nn.Parameter(torch.tensor(weight))
    optimiser = torch.optim.Adam([parameter], lr=1.0, betas=(beta1, beta2), eps=eps)
    for gradient, rate in zip(gradients, rates, strict=True):
        parameter.grad = torch.tensor(gradient)
        optimiser.param_groups[0]["lr"] = rate
        optimiser.step()
        state = optimiser.state[parameter]
        yield parameter.detach().numpy().copy(), state["exp_avg"].numpy().copy(), state["exp_avg_sq"].numpy().copy()


@pytest.mark.parametrize("shape", [(), (3,), (4, 7)])
@settings(max_examples=15)
@given(
    seed=st.integers(0, 1000),
    scale=st.sampled_from([1e-6, 1.0, 30.0]),
    betas=st.sampled_from([(0.9, 0.98), (0.9, 0.999), (0.0, 0.5)]),
    eps=st.sampled_from([1e-9, 1e-3]),
)
def test_steps_equal_those_of_torch(shape, seed, scale, betas, eps):
    rng = np.random.default_rng(seed)
    weight = np.asarray(rng.normal(size=shape))
    gradients = scale * rng.normal(size=(5, *shape))
    rates = rng.uniform(0.001, 0.5, size=5)
    state = first_state(weight)
    expected = of_torch(weight, gradients, rates, *betas, eps)
    for gradient, rate, (theirs, mean, square) in zip(gradients, rates, expected, strict=True):
        numbers = AdamSettings(*map(np.array, (rate, *betas, eps)))
        weight, state = adam(weight, np.asarray(gradient), state, numbers)
        assert_agree(weight, theirs, TOLERANCE)
        assert_agree(state.mean, mean, TOLERANCE)
        assert_agree(state.square, square, TOLERANCE)


def test_a_gradient_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"gradient has shape \(2,\); it must have that of weight, \(3,\)"):
        adam(np.zeros(3), np.zeros(2), first_state(np.zeros(3)), AdamSettings(*map(np.array, (0.1, 0.9, 0.98, 1e-9))))


def test_nothing_that_is_given_is_changed():
    weight, gradient, state = np.ones(3), np.ones(3), first_state(np.ones(3))
    adam(weight, gradient, state, AdamSettings(*map(np.array, (0.1, 0.9, 0.98, 1e-9))))
    assert (weight == 1).all()
    assert (gradient == 1).all()
    assert (state.mean == 0).all()
    assert state.mean_power == 1
