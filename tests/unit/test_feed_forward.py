"""The feed-forward network: each token alone, two layers that do not collapse, and what is refused."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from hypothesis import given
from hypothesis import strategies as st

from stepformer import examples, exercises, leaf, nn, ops, record
from stepformer.reference.feed_forward import feed_forward

TOM, CHASE, JERRY = range(3)


def drawn(seed=0, n=4, d_model=5, d_ff=7):
    rng = np.random.default_rng(seed)
    shapes = {"w_1.weight": (d_model, d_ff), "w_1.bias": d_ff, "w_2.weight": (d_ff, d_model), "w_2.bias": d_model}
    return rng.normal(size=(n, d_model)), {name: rng.normal(size=shape) for name, shape in shapes.items()}


# ---- the formula ----------------------------------------------------------------------------------------------------


def test_expand_bend_contract_by_hand():
    """Hidden units 3 + 1 and 3 − 4, of which ReLU leaves 4 and 0; then 4 · 0.5 + 10."""
    params = {"w_1.weight": np.array([[1.0, 1.0]]), "w_1.bias": np.array([1.0, -4.0]),
              "w_2.weight": np.array([[0.5], [100.0]]), "w_2.bias": np.array([10.0])}  # fmt: skip
    assert feed_forward(np.array([[3.0]]), params).tolist() == [[12.0]]


def test_gelu_is_the_number_times_the_share_of_a_normal_distribution_below_it():
    """68.27 % of it lie within 1 of the mean, so 84.13 % lie below 1; the approximation by tanh is 0.8412."""
    assert_agree(ops.gelu([1.0, -1.0, 0.0]), np.array([0.8413447460685429, -0.15865525393145707, 0.0]), 1e-15)
    assert np.abs(ops.gelu([5.0]) - 5.0) < 1e-5
    x = np.linspace(-4, 4, 81)
    assert np.abs(ops.gelu(x) - torch.nn.functional.gelu(torch.as_tensor(x), approximate="tanh").numpy()).max() > 1e-4


@given(st.integers(0, 1000), st.permutations(range(4)), st.sampled_from(["relu", "gelu"]))
def test_each_token_is_changed_alone(seed, order, activation):
    x, params = drawn(seed)
    output = feed_forward(x, params, activation)
    assert_agree(feed_forward(x[order], params, activation), output[order], 1e-12)
    for i, row in enumerate(x):
        assert_agree(feed_forward(row, params, activation), output[i], 1e-12)
    other = x.copy()
    other[2] += 1.0
    assert np.array_equal(feed_forward(other, params, activation)[[0, 1, 3]], output[[0, 1, 3]])


@given(st.integers(0, 1000))
def test_without_an_activation_the_two_layers_are_one(seed):
    x, params = drawn(seed)
    straight = (x @ params["w_1.weight"] + params["w_1.bias"]) @ params["w_2.weight"] + params["w_2.bias"]
    weight = params["w_1.weight"] @ params["w_2.weight"]
    assert_agree(straight, x @ weight + params["w_1.bias"] @ params["w_2.weight"] + params["w_2.bias"], 1e-12)
    assert np.abs(feed_forward(x, params) - straight).max() > 1e-3


def test_hidden_units_that_bend_at_every_sample_reach_every_sample():
    """The construction of the chapter: one unit for each piece, as high as the slope changes there."""
    x = np.linspace(-3, 3, 31)
    y = np.sin(2 * x)
    slopes = np.diff(y) / np.diff(x)
    params = {
        "w_1.weight": np.ones((1, 30)),
        "w_1.bias": -x[:-1],
        "w_2.weight": np.diff(slopes, prepend=0.0)[:, None],
        "w_2.bias": y[:1],
    }
    assert_agree(feed_forward(x[:, None], params)[:, 0], y, 1e-12)


# ---- the example ----------------------------------------------------------------------------------------------------


def test_units_answer_where_two_features_come_together():
    hidden = examples.feed_forward()["hidden"]
    answers = [[name for name, x in zip(examples.HIDDEN_UNITS, row, strict=True) if x > 0] for row in hidden]
    assert answers == [["a cat", "a being"], ["moving", "no being", "quick"], ["a mouse", "a being"]]
    sleep = examples.feed_forward().run({"src": "sleep"})["hidden"][0]
    assert [name for name, x in zip(examples.HIDDEN_UNITS, sleep, strict=True) if x > 0] == ["at rest", "no being"]


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_program_rerun_at_another_length_is_a_fresh_call(n):
    tokens = np.arange(n) % 4
    again = examples.feed_forward().run({"src": tokens})
    fresh = feed_forward(examples.FOUR_VECTORS[tokens], examples.EXPANSION_PARAMS)
    assert_agree(again["feed_forward.output"], fresh, 1e-12)


def test_recording_changes_no_bit():
    x, params = drawn()
    for activation in ("relu", "gelu"):
        with record() as trace:
            leaves = {name: leaf(name, array, list("ab")[: array.ndim]) for name, array in params.items()}
            feed_forward(leaf("x", x, ("n", "d")), leaves, activation)
        assert np.array_equal(trace["feed_forward.output"], feed_forward(x, params, activation))


def test_designed_numbers_have_at_most_two_decimals_and_are_no_identity():
    for array in (*examples.EXPANSION_PARAMS.values(), examples.FOUR_VECTORS):
        assert np.array_equal(array, array.round(2))
        assert array.ndim == 1 or not np.array_equal(array, np.eye(*array.shape))


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_errors_name_what_is_wrong():
    x, params = drawn()
    with pytest.raises(ValueError, match=r"^activation is 'tanh'; it must be one of relu, gelu\."):
        feed_forward(x, params, "tanh")
    with pytest.raises(ValueError, match=r"x is \(4, 3\), weight is \(5, 7\)"):
        feed_forward(x[:, :3], params)
    with pytest.raises(TypeError, match="x must hold numbers; it is bool"):
        feed_forward(x > 0, params)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"^x is not finite at \(1, 2\)"):
            feed_forward(np.where(np.arange(20).reshape(4, 5) == 7, bad, x), params)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 7), "d_model is 0; it must be 1 or more"),
        ((5, -1), "d_ff is -1; it must be 1 or more"),
        ((5, 7, "tanh"), "activation is 'tanh'"),
        ((5, 7, "relu", 1.0), "dropout is 1.0; it is a share"),
        ((5, 7, "relu", -0.1), "dropout is -0.1"),
    ],
)
def test_a_bad_configuration_is_refused_at_construction(arguments, message):
    with pytest.raises(ValueError, match=message):
        nn.FeedForward(*arguments)


def test_inputs_are_not_changed():
    x, params = drawn()
    copies = {"x": x.copy(), **{name: array.copy() for name, array in params.items()}}
    feed_forward(x, params)
    assert all(np.array_equal(copies[name], array) for name, array in {"x": x, **params}.items())


# ---- exercises ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("hidden", [-0.6, 0]),
        ("parameters", 1_048_576 + 2048 + 1_048_576 + 512),
        ("window", [1 - 3, 2 - 4]),
        ("size", 4),
        ("receptive_field", [3 + 2 + 2, 3 + 4 + 4]),
        ("parallel", 1),
        ("alone", 1),
    ],
)
def test_the_answers_are_those_worked_out_by_hand(name, answer):
    assert exercises.check(f"feed_forward_and_convolution.{name}", answer).right
