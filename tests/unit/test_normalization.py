"""Layer norm, in NumPy and in torch: by hand, what it leaves alone, and what others got wrong."""

import math

import numpy as np
import pytest
import torch
from agreement import assert_agree
from helpers import fault
from hypothesis import given
from hypothesis import strategies as st

from stepformer import Break, Edit, leaf, nn, record
from stepformer.reference.normalization import layer_norm

PLAIN = {"gain": np.ones(4), "bias": np.zeros(4)}


def twin(x, params):
    module = nn.LayerNorm(len(params["gain"])).double()
    module.load_state_dict({name: torch.as_tensor(array) for name, array in params.items()})
    return module(torch.as_tensor(np.asarray(x, dtype=float))).detach().numpy()


BOTH = pytest.mark.parametrize("norm", [layer_norm, twin], ids=["numpy", "torch"])


def recorded(x, params=PLAIN):
    with record() as trace:
        given_x = leaf("x", x, ("src", "d_model"))
        layer_norm(given_x, {name: leaf(name, array, "d_model") for name, array in params.items()})
    return trace


@fault("LN-01")
@BOTH
def test_it_divides_by_n_and_puts_eps_inside_the_root(norm):
    """The sample variance, or eps outside the root, would give 1.5 instead of 1.73 and 1.16 instead of 1.34."""
    first = 0.75 / math.sqrt(0.1875 + 1e-5)
    assert_agree(norm([1.0, 0.0, 0.0, 0.0], PLAIN), np.array([first, *[-first / 3] * 3]), 1e-12)
    assert round(first, 7) == 1.7320046
    last = 1.5 / math.sqrt(1.25 + 1e-5)
    assert_agree(norm([1.0, 2.0, 3.0, 4.0], PLAIN), np.array([-last, -last / 3, last / 3, last]), 1e-12)
    assert round(last, 7) == 1.3416354


@fault("LN-04")
@BOTH
def test_a_row_does_not_look_at_other_rows(norm):
    x = np.random.default_rng(0).normal(size=(5, 4))
    other = x.copy()
    other[3] = 100.0 + np.arange(4)
    before, after = norm(x, PLAIN), norm(other, PLAIN)
    assert np.array_equal(before[[0, 1, 2, 4]], after[[0, 1, 2, 4]])
    assert not np.array_equal(before[3], after[3])


@BOTH
@given(st.integers(0, 100), st.floats(0.1, 50), st.floats(-50, 50))
def test_shifting_and_stretching_a_row_changes_nothing(norm, seed, factor, shift):
    """But for eps, which is why the rows here are not small."""
    x = np.random.default_rng(seed).normal(size=(3, 4)) * 1e4
    assert_agree(norm(factor * x + shift, PLAIN), norm(x, PLAIN), 1e-7)


@BOTH
def test_a_row_of_equal_numbers_becomes_the_bias_and_nothing_else(norm):
    params = {"gain": np.array([3.0, 5.0, 7.0, 9.0]), "bias": np.array([0.1, 0.2, 0.3, 0.4])}
    assert_agree(norm(np.full((2, 4), 0.1), params), np.stack([params["bias"]] * 2), 1e-12)


def test_the_steps_are_those_of_the_formula():
    x = np.array([[1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 2.0, 6.0]])
    trace = recorded(x, {"gain": np.array([1.0, 2.0, 3.0, 4.0]), "bias": np.array([0.5, 0.0, 0.0, 1.0])})
    names = ["mean", "centred", "variance", "deviation", "normalised", "stretched", "output"]
    assert [trace.tensors[step.output].name for step in trace.steps] == [f"layer_norm.{name}" for name in names]
    assert trace["mean"].tolist() == [[2.5], [3.0]]
    assert trace["variance"].tolist() == [[1.25], [3.0]]
    assert_agree(trace["normalised"].mean(axis=-1), np.zeros(2), 1e-12)
    assert_agree(trace["normalised"].std(axis=-1), np.ones(2), 1e-5)
    assert_agree(trace["output"], trace["normalised"] * [1, 2, 3, 4] + [0.5, 0, 0, 1], 1e-12)
    assert trace.tensors[trace.steps[0].output].axes == ("src", "every d_model")


@fault("LN-04")
def test_over_positions_the_switch_lets_a_later_token_change_an_earlier_row():
    """The mistake as two edits, of the kind that a chapter shows: the axis of the mean and of the variance."""
    x = np.random.default_rng(0).normal(size=(5, 4)).round(2)
    over_positions = Break("over positions", [Edit(n, attributes={"axis": -2}) for n in ("mean", "variance")], "", "")
    sample = Break("sample variance", [Edit("variance", attributes={"correction": 1})], "", "")
    trace = recorded(x).with_breaks(over_positions, sample)
    other = x.copy()
    other[3] += np.arange(1, 5)
    wrong = trace.broken("over positions")
    assert np.array_equal(trace["output"][:3], trace.run({"x": other})["output"][:3])
    assert (np.abs(wrong["output"][:3] - wrong.run({"x": other})["output"][:3]) > 0.01).all()
    assert_agree(trace.broken("sample variance")["variance"], x.var(axis=-1, ddof=1, keepdims=True), 1e-12)


@pytest.mark.parametrize(
    ("x", "params", "eps", "message"),
    [
        (np.ones((2, 3)), PLAIN, 1e-5, r"x is \(2, 3\), gain is \(4,\)"),
        (np.ones((2, 4)), {"gain": np.ones(1), "bias": np.zeros(4)}, 1e-5, r"gain is \(1,\)"),
        (np.ones(()), {"gain": np.ones(()), "bias": np.zeros(())}, 1e-5, r"x is \(\)"),
        (np.ones((2, 4)), PLAIN, 0.0, "eps is 0.0"),
        (np.full((2, 4), np.nan), PLAIN, 1e-5, r"x is not finite at \(0, 0\)"),
    ],
)
def test_what_does_not_fit_is_refused(x, params, eps, message):
    with pytest.raises(ValueError, match=message):
        layer_norm(x, params, eps)


def test_the_twin_refuses_bad_sizes():
    with pytest.raises(ValueError, match="d_model is 0"):
        nn.LayerNorm(0)
    with pytest.raises(ValueError, match="eps is -1"):
        nn.LayerNorm(4, -1.0)
    with pytest.raises(ValueError, match=r"x has shape \(2, 3\); its width must be d_model = 4"):
        nn.LayerNorm(4)(torch.ones(2, 3))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("factor", [1.0, 300.0])
def test_rms_norm_in_half_precision_does_not_overflow_and_keeps_the_precision(dtype, factor):
    x = torch.tensor([[1.0, -2.0, 3.0, 0.5]]) * factor
    exact = nn.RMSNorm(4)(x)
    for module in (nn.RMSNorm(4), nn.RMSNorm(4).to(dtype)):
        half = module(x.to(dtype))
        assert half.dtype == dtype
        torch.testing.assert_close(half.float(), exact, rtol=2 * torch.finfo(dtype).eps, atol=0)
