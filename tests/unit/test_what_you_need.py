"""What the first chapter shows: numbers by hand, a loss and its gradient, one step, and that its checks can fail."""

import numpy as np
import pytest
from agreement import assert_agree
from helpers import fault
from hypothesis import given
from hypothesis import strategies as st

from stepformer import Edit, examples, exercises, leaf, mistakes, record
from stepformer.checks import CHECKS
from stepformer.ops import softmax
from stepformer.reference.loss import cross_entropy, cross_entropy_gradient
from stepformer.trace import Break

TOM, CHASE, JERRY = range(3)
CHASE_NEXT, EOS = 1, 3


def drawn(seed, n=3, vocab_size=5, scale=1.0):
    rng = np.random.default_rng(seed)
    return scale * rng.normal(size=(n, vocab_size)), rng.integers(vocab_size, size=n)


# ---- by hand --------------------------------------------------------------------------------------------------------


def test_the_loss_is_the_mean_of_minus_the_logarithms():
    """Exponentials 1, 2, 5 and 6, 1, 1: the right answers have the probabilities 5/8 and 1/8."""
    logits = np.log([[1.0, 2.0, 5.0], [6.0, 1.0, 1.0]])
    assert_agree(cross_entropy(logits, np.array([2, 1])), np.array((np.log(8 / 5) + np.log(8)) / 2), 1e-12)


def test_the_gradient_is_probability_minus_one_hot_over_n():
    logits = np.log([[1.0, 2.0, 5.0], [6.0, 1.0, 1.0]])
    expected = np.array([[1, 2, 5 - 8], [6, 1 - 8, 1]]) / 8 / 2
    assert_agree(cross_entropy_gradient(logits, np.array([2, 1])), expected, 1e-12)


def test_guessing_blindly_costs_the_logarithm_of_the_size_of_the_vocabulary():
    assert_agree(cross_entropy(np.full((2, 4), 0.7), np.array([0, 3])), np.array(np.log(4)), 1e-12)


# ---- what holds for all numbers -------------------------------------------------------------------------------------


@given(st.integers(0, 1000), st.floats(-50, 50))
def test_adding_a_number_to_all_logits_of_a_row_changes_nothing(seed, number):
    logits, targets = drawn(seed)
    assert_agree(cross_entropy(logits + number, targets), cross_entropy(logits, targets), 1e-12)
    assert_agree(softmax(logits + number), softmax(logits), 1e-12)


@given(st.integers(0, 1000))
def test_each_row_of_the_gradient_sums_to_0_and_only_the_right_answer_is_negative(seed):
    logits, targets = drawn(seed)
    gradient = cross_entropy_gradient(logits, targets)
    assert_agree(gradient.sum(axis=1), np.zeros(3), 1e-12)
    assert np.array_equal(gradient < 0, np.arange(5) == targets[:, None])


@given(st.integers(0, 1000))
def test_the_gradient_is_the_slope_of_the_loss(seed):
    logits, targets = drawn(seed)
    slopes, nudge = np.zeros(logits.shape), 1e-5
    for cell in np.ndindex(logits.shape):
        moved = np.zeros(logits.shape)
        moved[cell] = nudge
        rise = cross_entropy(logits + moved, targets) - cross_entropy(logits - moved, targets)
        slopes[cell] = rise / (2 * nudge)
    assert_agree(cross_entropy_gradient(logits, targets), slopes, 1e-8)


@fault("LS-03")
def test_a_right_answer_that_looks_impossible_costs_much_but_not_infinitely_much():
    logits, targets = np.array([[0.0, 800.0], [0.0, 0.0]]), np.array([0, 1])
    assert softmax(logits)[0, 0] == 0
    assert_agree(cross_entropy(logits, targets), np.array(400 + np.log(2) / 2), 1e-12)
    assert_agree(cross_entropy_gradient(logits, targets)[0], np.array([-0.5, 0.5]), 1e-12)


# ---- the examples are as designed -----------------------------------------------------------------------------------


def test_tom_and_jerry_are_alike_and_chase_is_not():
    similarity = examples.similarity()["similarity"]
    assert similarity[TOM, JERRY] > 0.5
    assert max(similarity[TOM, CHASE], similarity[JERRY, CHASE]) < 0


def test_the_model_is_half_trained():
    """Right after Tom and after chase; after Jerry it expects to chase once more."""
    probabilities = examples.next_word()["probabilities"]
    assert probabilities.argmax(axis=1).tolist() == [1, 2, CHASE_NEXT]
    assert probabilities[JERRY, EOS] < 0.25


def test_one_step_helps_most_where_the_model_was_most_wrong():
    trace = examples.gradient_step()
    gain = trace["loss.losses"] - trace["after.loss.losses"]
    assert gain.argmax() == JERRY
    assert gain[TOM] < 0 < gain[CHASE]


@pytest.mark.parametrize(("rate", "falls"), [(0.01, True), (0.5, True), (3.0, True), (15.0, False), (20.0, False)])
def test_the_loss_falls_unless_the_step_is_too_long(rate, falls):
    trace = examples.gradient_step().run({"learning_rate": rate})
    assert (trace["after.loss.mean"] < trace["loss.mean"]) == falls


def test_too_long_a_step_sweeps_tom_along_with_jerry():
    after = examples.gradient_step().run({"learning_rate": 20.0})["after.logits"]
    assert after[JERRY].argmax() == after[TOM].argmax() == EOS


@pytest.mark.parametrize("array", [examples.THREE_VECTORS, *examples.NEXT_WORD_PARAMS.values()])
def test_designed_numbers_have_at_most_two_decimals_and_are_no_identity(array):
    assert np.array_equal(array, array.round(2))
    assert not np.array_equal(array, np.eye(*array.shape)) if array.ndim == 2 else True


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_program_rerun_with_other_words_equals_a_fresh_call(n):
    logits, targets = drawn(n, n, 4)
    x = logits[:, :1] * np.arange(1.0, 6.0)
    again = examples.gradient_step().run({"x": x, "targets": targets})
    weight, bias = examples.NEXT_WORD_PARAMS.values()
    assert np.array_equal(again["loss.mean"], cross_entropy(x @ weight + bias, targets))
    assert np.array_equal(again["logits_gradient"], cross_entropy_gradient(x @ weight + bias, targets))


def test_recording_changes_no_bit():
    logits, targets = drawn(2)
    with record() as trace:
        leaves = leaf("logits", logits, ("n", "v")), leaf("targets", targets, "n")
        cross_entropy(*leaves)
        cross_entropy_gradient(*leaves)
    assert np.array_equal(trace["loss.mean"], cross_entropy(logits, targets))
    assert np.array_equal(trace["logits_gradient"], cross_entropy_gradient(logits, targets))


# ---- the checks can fail, in each of their parts --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["weight_gradient", "bias_gradient"])
def test_the_check_of_the_gradient_sees_one_wrong_cell(name):
    trace = examples.gradient_step()
    CHECKS["gradient_agrees_with_finite_differences"](trace)
    wrong = trace[name].copy()
    wrong.flat[-1] += 1e-6
    broken = trace.with_breaks(Break("wrong", Edit(name, value=wrong), "…", "…")).broken("wrong")
    with pytest.raises(AssertionError, match=f"The {name} is up to"):
        CHECKS["gradient_agrees_with_finite_differences"](broken)


def test_the_check_of_the_losses_sees_the_probability_of_another_class():
    trace = examples.next_word()
    other = -np.log(trace["probabilities"][range(3), [0, 1, 2]])
    with pytest.raises(AssertionError, match="are not −log"):
        CHECKS["losses_are_minus_the_log_of_the_right_probability"](trace.run({"losses": other}))


def test_a_forgotten_transpose_is_refused_because_all_sizes_differ():
    wrong = Break("wrong", Edit("weight_gradient", inputs=("x", "logits_gradient")), "…", "…")
    with pytest.raises(ValueError, match=r"matmul: a is \(3, 5\) and b is \(3, 4\)"):
        examples.gradient_step().with_breaks(wrong)


def test_softmax_twice_can_not_get_below_a_floor():
    """Of four words, even a perfect prediction would cost log(1 + 3/e) = 0.74."""
    trace = examples.next_word().with_breaks(*mistakes.LOSS).broken("Softmax before the loss, which has its own")
    perfect = trace.run({"probabilities": np.eye(4)[[1, 2, 3]]})
    assert_agree(perfect["loss.mean"], np.array(np.log(1 + 3 / np.e)), 1e-12)
    assert round(float(perfect["loss.mean"]), 2) == 0.74


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_errors_name_what_is_wrong():
    logits, targets = drawn(0)
    with pytest.raises(ValueError, match=r"logits is \(3, 5\) and targets is \(2,\)"):
        cross_entropy(logits, targets[:2])
    with pytest.raises(ValueError, match=r"targets has shape \(1,\); for logits of shape \(3, 5\) it must be \(3,\)"):
        cross_entropy_gradient(logits, targets[:1])
    with pytest.raises(ValueError, match="targets go from 5 to 5, but there are the columns 0 … 4"):
        cross_entropy(logits, np.full(3, 5))
    with pytest.raises(ValueError, match="tokens go from 5 to 5"):
        cross_entropy_gradient(logits, np.full(3, 5))
    with pytest.raises(TypeError, match="token ids"):
        cross_entropy(logits, targets.astype(float))
    for function in (cross_entropy, cross_entropy_gradient):
        with pytest.raises(ValueError, match="NaN"):
            function(np.where(logits == logits.max(), np.nan, logits), targets)
        with pytest.raises(ValueError, match="holds a zero"):
            function(logits[:0], targets[:0])


def test_inputs_are_not_changed():
    logits, targets = drawn(0)
    copies = logits.copy(), targets.copy()
    cross_entropy(logits, targets)
    cross_entropy_gradient(logits, targets)
    assert np.array_equal(logits, copies[0])
    assert np.array_equal(targets, copies[1])


# ---- exercises ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("dot_product", -0.26),
        ("logit", 1.73),
        ("softmax", [0.665, 0.245, 0.09]),
        ("loss", 2 * 0.693),
        ("error", [0.15, 0.55, 0.06, -0.76]),
        ("learning_rate", 1),
        ("shape", 1),
    ],
)
def test_the_answers_are_those_worked_out_by_hand(name, answer):
    assert exercises.check(f"what_you_need.{name}", answer).right
