"""What the chapter on gradients shows: numbers by hand, slopes measured, the designed patterns, and what is refused."""

import numpy as np
import pytest
from agreement import assert_agree
from helpers import fault
from hypothesis import given, settings
from hypothesis import strategies as st

from stepformer import Edit, examples, exercises, leaf, ledger, ops, record
from stepformer.checks import CHECKS
from stepformer.reference import backward
from stepformer.reference.attention import scaled_dot_product_attention
from stepformer.reference.feed_forward import feed_forward
from stepformer.reference.multi_head_attention import multi_head_attention
from stepformer.reference.normalization import layer_norm
from stepformer.trace import Break

TOM, CHASE, JERRY = range(3)
PAD = 3
PROGRAMS = ("loss_backward", "feed_forward_backward", "layer_norm_backward", "attention_backward")
every_program = pytest.mark.parametrize("name", PROGRAMS)


def drawn(seed, *shapes):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


def slopes(function, array, nudge=1e-5):
    """The derivative of a number with respect to each cell of an array, by central differences."""
    found = np.zeros(array.shape)
    for cell in np.ndindex(array.shape):
        ends = []
        for step in (nudge, -nudge):
            moved = array.copy()
            moved[cell] += step
            ends.append(function(moved))
        found[cell] = (ends[0] - ends[1]) / (2 * nudge)
    return found


def assert_slopes(gradient, function, array):
    """The gradient is what finite differences measure, to a relative 1e-6."""
    measured = slopes(function, array)
    assert gradient.shape == array.shape
    assert np.abs(gradient - measured).max() <= 1e-6 * max(np.abs(measured).max(), 1e-3)


# ---- by hand --------------------------------------------------------------------------------------------------------


def test_linear_by_hand():
    back = backward.linear_backward(np.array([[1.0, 10.0]]), np.array([[2.0, 3.0, 5.0]]), np.arange(6.0).reshape(3, 2))
    assert_agree(back.x, np.array([[10.0, 32.0, 54.0]]), 1e-15)
    assert_agree(back.params["weight"], np.array([[2.0, 20.0], [3.0, 30.0], [5.0, 50.0]]), 1e-15)
    assert_agree(back.params["bias"], np.array([1.0, 10.0]), 1e-15)


def test_rows_that_share_a_parameter_add_up_what_they_want():
    x, g = drawn(0, (2, 3, 4), (2, 3, 5))
    back = backward.linear_backward(g, x, np.ones((4, 5)))
    alone = [backward.linear_backward(g[k, i : i + 1], x[k, i : i + 1], np.ones((4, 5))) for k, i in np.ndindex(2, 3)]
    assert_agree(back.params["weight"], sum(one.params["weight"] for one in alone), 1e-12)
    assert_agree(back.params["bias"], sum(one.params["bias"] for one in alone), 1e-12)


def test_softmax_by_hand():
    """The mean of the gradients under the weights is 0.8."""
    gradient = backward.softmax_backward(np.array([[2.0, 0.0, -1.0]]), np.array([[0.5, 0.3, 0.2]]))
    assert_agree(gradient, np.array([[0.6, -0.24, -0.36]]), 1e-15)


def test_softmax_equals_the_whole_matrix_of_derivatives():
    (scores, g) = drawn(1, (1, 5), (1, 5))
    w = ops.softmax(scores)[0]
    derivatives = np.diag(w) - np.outer(w, w)
    assert_agree(backward.softmax_backward(g, w[None])[0], derivatives @ g[0], 1e-12)


def test_a_layer_norm_of_two_numbers_passes_nothing_back():
    """Of two numbers only the order survives the norm: ±1, whatever they are. So there is no slope."""
    x, g = np.array([[3.0, 7.0]]), np.array([[0.3, -0.8]])
    back = backward.layer_norm_backward(g, np.array([[-1.0, 1.0]]), np.array([[2.0]]), np.ones(2))
    assert_agree(back.x, np.zeros((1, 2)), 1e-15)
    assert_agree(back.params["gain"], np.array([-0.3, -0.8]), 1e-15)
    assert_slopes(back.x, lambda x: (layer_norm(x, {"gain": np.ones(2), "bias": np.zeros(2)}, 1e-15) * g).sum(), x)


# ---- what holds for all numbers -------------------------------------------------------------------------------------


@given(st.integers(0, 1000))
def test_each_row_of_softmaxs_gradient_sums_to_0(seed):
    scores, g = drawn(seed, (3, 4), (3, 4))
    gradient = backward.softmax_backward(g, ops.softmax(scores))
    assert_agree(gradient.sum(axis=1), np.zeros(3), 1e-12)


@given(st.integers(0, 1000), st.floats(-50, 50))
def test_the_same_gradient_for_all_weights_moves_no_score(seed, number):
    (scores,) = drawn(seed, (3, 4))
    assert_agree(backward.softmax_backward(np.full((3, 4), number), ops.softmax(scores)), np.zeros((3, 4)), 1e-12)


@given(st.integers(0, 1000))
def test_masked_scores_get_exactly_0_and_so_does_a_row_without_keys(seed):
    scores, g = drawn(seed, (4, 5), (4, 5))
    allowed = np.random.default_rng(seed).random((4, 5)) < 0.6
    allowed[0] = False
    gradient = backward.softmax_backward(g, ops.softmax(ops.mask(scores, allowed)))
    assert np.isfinite(gradient).all()
    assert (gradient[~allowed] == 0).all()
    assert (gradient[0] == 0).all()


@given(st.integers(0, 1000))
def test_the_gradient_of_a_layer_norm_has_no_mean_and_is_at_right_angles_to_the_row(seed):
    x, gain, g = drawn(seed, (3, 5), (5,), (3, 5))
    centred = x - x.mean(axis=1, keepdims=True)
    deviation = np.sqrt(np.square(centred).mean(axis=1, keepdims=True))
    gradient = backward.layer_norm_backward(g, centred / deviation, deviation, gain).x
    assert_agree((gradient * deviation).sum(axis=1), np.zeros(3), 1e-12)
    assert_agree((gradient * centred).sum(axis=1), np.zeros(3), 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@given(seed=st.integers(0, 1000))
def test_feed_forward_equals_finite_differences(activation, seed):
    x, w_1, b_1, w_2, b_2, g = drawn(seed, (2, 3), (3, 4), (4,), (4, 2), (2,), (2, 2))
    params = {"w_1.weight": w_1, "w_1.bias": b_1, "w_2.weight": w_2, "w_2.bias": b_2}
    expanded = x @ w_1 + b_1
    if np.abs(expanded).min() < 1e-3:  # at a kink there is no slope to be measured
        return
    hidden = getattr(ops, activation)(expanded)
    back = backward.feed_forward_backward(g, x, expanded, hidden, params, activation)
    assert_slopes(back.x, lambda moved: (feed_forward(moved, params, activation) * g).sum(), x)
    for name, array in params.items():
        assert_slopes(
            back.params[name], lambda moved, n=name: (feed_forward(x, params | {n: moved}, activation) * g).sum(), array
        )


@pytest.mark.slow
@settings(max_examples=25)
@given(seed=st.integers(0, 1000))
def test_multi_head_attention_equals_finite_differences(seed):
    x, g = drawn(seed, (3, 4), (3, 4))
    params = dict(zip([f"w_{r}.weight" for r in "qkvo"], drawn([seed, 1], *[(4, 4)] * 4), strict=True))
    params |= dict(zip([f"w_{r}.bias" for r in "qkvo"], drawn([seed, 2], *[(4,)] * 4), strict=True))
    causal = np.tri(3, dtype=bool)

    def loss(x, params):
        return (multi_head_attention(x, x, x, params, 2, causal).output * g).sum()

    back = backward.multi_head_attention_backward(g, x, x, x, params, 2, causal)
    assert_slopes(back.query + back.key + back.value, lambda moved: loss(moved, params), x)
    for name in ("w_q.weight", "w_k.bias", "w_v.weight", "w_o.bias"):
        if name == "w_k.bias":  # it moves all scores of a query alike, so it has no slope at all
            assert_agree(back.params[name], np.zeros(4), 1e-12)
        else:
            assert_slopes(back.params[name], lambda moved, n=name: loss(x, params | {n: moved}), params[name])


def test_a_word_that_is_masked_for_one_query_still_learns_from_the_others():
    query, key, value, g = drawn(5, (4, 5), (4, 5), (4, 7), (4, 7))
    weights = scaled_dot_product_attention(query, key, value, np.tri(4, dtype=bool)).weights
    back = backward.attention_backward(g, query, key, value, weights)
    assert (np.abs(back.key[1:]).max(axis=1) > 0).all()
    first_only = g * (np.arange(4) == 0)[:, None]
    back = backward.attention_backward(first_only, query, key, value, weights)
    assert (back.key[1:] == 0).all()
    assert (back.value[1:] == 0).all()


@fault("ATT-07")
def test_nan_in_padding_does_not_reach_the_gradients_of_multi_head_attention():
    x, memory, g = drawn(7, (3, 4), (5, 4), (3, 4))
    params = dict(zip([f"w_{r}.weight" for r in "qkvo"], drawn(8, *[(4, 4)] * 4), strict=True))
    params |= dict(zip([f"w_{r}.bias" for r in "qkvo"], drawn(9, *[(4,)] * 4), strict=True))
    words = np.array([[True, True, True, False, False]])
    padded = memory.copy()
    padded[3:] = np.nan
    back = backward.multi_head_attention_backward(g, x, padded, padded, params, 2, words)
    without = backward.multi_head_attention_backward(g, x, memory[:3], memory[:3], params, 2)
    assert_agree(back.query, without.query, 1e-12)
    for mine, shorter in ((back.key, without.key), (back.value, without.value)):
        assert_agree(mine[:3], shorter, 1e-12)
        assert (mine[3:] == 0).all()
    for name, gradient in without.params.items():
        assert_agree(back.params[name], gradient, 1e-12, name)


def test_far_out_scores_pass_back_next_to_nothing_and_never_nan():
    query, key, value, g = drawn(6, (3, 5), (4, 5), (4, 7), (3, 7))
    weights = scaled_dot_product_attention(1e4 * query, key, value).weights
    back = backward.attention_backward(g, 1e4 * query, key, value, weights)
    assert all(np.isfinite(x).all() for x in back[:3])
    assert np.abs(back.query).max() < 1e-6


# ---- the programs ---------------------------------------------------------------------------------------------------


@every_program
def test_the_gradients_of_a_program_are_its_slopes(name):
    trace = examples.EXAMPLES[name]()
    CHECKS["gradient_agrees_with_finite_differences"](trace)
    CHECKS["every_gradient_has_the_shape_of_its_tensor"](trace)


@pytest.mark.parametrize(
    ("name", "gradients"),
    [
        ("loss_backward", ["x", "weight", "bias"]),
        ("feed_forward_backward", ["x", "w_1.weight", "w_1.bias", "w_2.weight", "w_2.bias"]),
        ("layer_norm_backward", ["x", "gain", "bias"]),
        ("attention_backward", ["query", "key", "value"]),
    ],
)
def test_one_wrong_cell_of_any_gradient_is_seen(name, gradients):
    trace = examples.EXAMPLES[name]()
    for leaf_name in gradients:
        full = trace.tensors[trace.find(f"{leaf_name}_gradient")].name
        wrong = trace[full].copy()
        wrong.flat[-1] += 1e-6
        broken = trace.with_breaks(Break("wrong", Edit(full, value=wrong), "…", "…")).broken("wrong")
        with pytest.raises(AssertionError, match=f"The {leaf_name}_gradient is up to"):
            CHECKS["gradient_agrees_with_finite_differences"](broken)


@pytest.mark.slow
@every_program
@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_program_rerun_at_another_length_has_the_right_slopes(name, n):
    trace = examples.EXAMPLES[name]()
    others = {}
    for key in ("x", "query", "output_gradient"):
        if key in trace.values:
            (others[key],) = drawn(n, (n, trace[key].shape[1]))
    if "targets" in trace.values:
        others["targets"] = np.arange(1, n + 1) % 6
    again = trace.run(others)
    CHECKS["gradient_agrees_with_finite_differences"](again)


def test_recording_changes_no_bit():
    trace = examples.attention_backward()
    seen = trace["visible_key"], trace["visible_value"]
    back = backward.attention_backward(trace["output_gradient"], trace["query"], *seen, trace["weights"])
    for name in ("query", "key", "value"):
        assert np.array_equal(getattr(back, name), trace[f"{name}_gradient"])


@every_program
def test_designed_numbers_have_at_most_two_decimals(name):
    trace = examples.EXAMPLES[name]()
    for i in trace.leaves:
        assert np.array_equal(trace.arrays[i], trace.arrays[i].round(2))


def test_multi_head_attention_can_be_recorded_with_its_backward_pass():
    x, g = drawn(0, (3, 4), (3, 4))
    params = dict(zip([f"w_{r}.weight" for r in "qkvo"], drawn(1, *[(4, 4)] * 4), strict=True))
    params |= dict(zip([f"w_{r}.bias" for r in "qkvo"], drawn(2, *[(4,)] * 4), strict=True))
    with record("multi-head, backwards") as trace:
        leaves = {name: leaf(name, array, [f"{name} {k}" for k in range(array.ndim)]) for name, array in params.items()}
        x_leaf, g_leaf = leaf("x", x, ("n", "d_model")), leaf("g", g, ("n", "d_model"))
        backward.multi_head_attention_backward(g_leaf, x_leaf, x_leaf, x_leaf, leaves, 2)
    back = backward.multi_head_attention_backward(g, x, x, x, params, 2)
    assert np.array_equal(trace["w_q.weight_gradient"], back.params["w_q.weight"])
    assert np.array_equal(trace["w_k.key_gradient"], back.key)


def test_each_word_is_told_to_look_more_at_its_own_word():
    """Where a gradient is negative, a larger number would lower the loss: 汤姆–Tom, 追逐–chase, 杰瑞–Jerry."""
    trace = examples.attention_backward()
    towards = np.where(np.eye(3, 4, dtype=bool), -1.0, 1.0)
    towards[:, PAD] = 0
    assert np.array_equal(np.sign(trace["scores_gradient"]), towards)
    assert (trace["key_gradient"][PAD] == 0).all()
    assert (trace["value_gradient"][PAD] == 0).all()


def test_one_unit_of_the_example_is_silent_and_learns_nothing():
    trace = examples.feed_forward_backward()
    learned = [
        np.abs(trace[f"{name}_gradient"]).max(axis=axis) > 0 for name, axis in (("w_1.weight", 0), ("w_2.weight", 1))
    ]
    for units in learned:
        assert units.tolist() == [True] * 5 + [False]


def test_no_number_of_the_example_stands_at_a_kink():
    assert np.abs(examples.feed_forward_backward()["expanded"]).min() > 0.4


def test_large_rows_get_small_gradients():
    trace = examples.layer_norm_backward()
    sizes = np.linalg.norm(trace["x_gradient"], axis=1)
    assert sizes.argmin() == JERRY
    doubled = trace["x"].copy()
    doubled[JERRY] *= 2
    again = trace.run({"x": doubled})
    assert_agree(again["layer_norm.output"][JERRY], trace["layer_norm.output"][JERRY], 1e-5)
    assert_agree(2 * again["x_gradient"][JERRY], trace["x_gradient"][JERRY], 1e-5)


@pytest.mark.parametrize(("name", "forward"), [("feed_forward_backward", 144), ("attention_backward", 144)])
def test_the_backward_pass_costs_two_forward_passes(name, forward):
    trace = examples.EXAMPLES[name]()
    assert ledger.multiplications(trace) == 3 * forward


# ---- the checks can fail, in each of their parts --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "name", "tensor", "cell"),
    [
        ("padding_sends_no_gradient", "loss_backward", "logits_gradient", (4, 0)),
        ("switched_off_units_pass_nothing_back", "feed_forward_backward", "expanded_gradient", (TOM, 5)),
        ("switched_off_units_pass_nothing_back", "feed_forward_backward", "expanded_gradient", (TOM, 0)),
        ("shifting_a_row_has_no_slope", "layer_norm_backward", "x_gradient", (JERRY, 0)),
        ("rows_of_the_scores_gradient_sum_to_zero", "attention_backward", "scaled_scores_gradient", (CHASE, 0)),
    ],
)
def test_a_check_sees_one_wrong_cell(check, name, tensor, cell):
    trace = examples.EXAMPLES[name]()
    CHECKS[check](trace)
    wrong = trace[tensor].copy()
    wrong[cell] += 1e-6
    with pytest.raises(AssertionError):
        CHECKS[check](trace.run({tensor: wrong}))


def test_a_forgotten_transpose_is_refused_because_all_sizes_differ():
    trace = examples.attention_backward()
    for tensor, inputs in (("key_gradient", ("scores_gradient", "query")), ("query_gradient", ("scores", "query"))):
        with pytest.raises(ValueError, match="matmul"):
            trace.with_breaks(Break("wrong", Edit(tensor, inputs=inputs), "…", "…"))


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_errors_name_what_is_wrong():
    x, w, g = drawn(0, (3, 4), (4, 5), (3, 5))
    with pytest.raises(
        ValueError, match=r"output_gradient has shape \(5, 3\); it must have that of x @ weight, \(3, 5\)"
    ):
        backward.linear_backward(g.T, x, w)
    with pytest.raises(ValueError, match=r"x is \(4, 3\) and weight is \(4, 5\)"):
        backward.linear_backward(g, x.T, w)
    with pytest.raises(ValueError, match=r"output_gradient has shape \(5,\)"):
        backward.linear_backward(g[0], x[0], w)
    with pytest.raises(
        ValueError, match=r"weights_gradient has shape \(3, 5\); it must have that of weights, \(5, 3\)"
    ):
        backward.softmax_backward(g, g.T)
    with pytest.raises(ValueError, match=r"x is not finite at \(0, 0\)"):
        backward.linear_backward(g, np.where(x == x[0, 0], np.nan, x), w)
    with pytest.raises(ValueError, match="activation is 'tanh'; it must be one of relu, gelu"):
        backward.feed_forward_backward(g, x, x, x, {}, "tanh")
    with pytest.raises(ValueError, match=r"expanded has shape \(3, 5\); it must have that of hidden, \(3, 4\)"):
        backward.feed_forward_backward(g, x, g, x, {})
    with pytest.raises(ValueError, match=r"deviation has shape \(3,\); it must have that of one column"):
        backward.layer_norm_backward(g, g, np.ones(3), np.ones(5))
    with pytest.raises(ValueError, match=r"gain has shape \(3,\); it must be \(5,\)"):
        backward.layer_norm_backward(g, g, np.ones((3, 1)), np.ones(3))
    with pytest.raises(ValueError, match="divide: 'b' holds a zero"):
        backward.layer_norm_backward(g, g, np.zeros((3, 1)), np.ones(5))


def test_attention_refuses_what_does_not_fit():
    q, k, v, g = drawn(0, (3, 5), (4, 5), (4, 7), (3, 7))
    weights = scaled_dot_product_attention(q, k, v).weights
    with pytest.raises(ValueError, match="must have the same leading axes"):
        backward.attention_backward(g, q, k[None], v, weights)
    with pytest.raises(ValueError, match=r"weights has shape \(4, 3\)"):
        backward.attention_backward(g, q, k, v, weights.T)
    with pytest.raises(ValueError, match=r"output_gradient has shape \(7, 3\)"):
        backward.attention_backward(g.T, q, k, v, weights)
    with pytest.raises(TypeError, match="mask must be boolean"):
        backward.multi_head_attention_backward(g, q, k, v, {}, 1, weights)


def test_inputs_are_not_changed():
    arrays = drawn(0, (3, 7), (3, 5), (4, 5), (4, 7))
    g, q, k, v = arrays
    weights = scaled_dot_product_attention(q, k, v).weights
    copies = [x.copy() for x in (*arrays, weights)]
    backward.attention_backward(g, q, k, v, weights)
    assert all(np.array_equal(a, b) for a, b in zip((*arrays, weights), copies, strict=True))


# ---- exercises ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("softmax", [0.6, -0.24, -0.36]),
        ("relu", [0, -0.8, 0, 0.1]),
        ("bias", [0.6, 0.3]),
        ("kink", 0.5),
        ("shape", 2),
        ("norm", 1),
        ("twice", 2),
    ],
)
def test_the_answers_are_those_worked_out_by_hand(name, answer):
    assert exercises.check(f"gradients.{name}", answer).right
