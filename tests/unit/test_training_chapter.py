"""What the chapter on training shows: a step by hand, four weights under Adam, the schedule, the answers worked out."""

import numpy as np
import pytest
from agreement import assert_agree

from stepformer import examples, exercises, mistakes
from stepformer.reference.adam import AdamSettings, adam, first_state
from stepformer.train.schedule import inverse_sqrt

WORDS = examples.TARGET_WORDS


def numbers(rate, beta1=0.9, beta2=0.98, eps=1e-9):
    return AdamSettings(*map(np.array, (rate, beta1, beta2, eps)))


# ---- one step of training -------------------------------------------------------------------------------------------


def test_a_model_that_knows_nothing_pays_the_logarithm_of_the_number_of_words():
    trace = examples.training_step()
    assert_agree(trace["loss.losses"], np.array([np.log(6)] * 4 + [0.0]), 1e-15)
    assert_agree(trace["loss.mean"], np.array(np.log(6)), 1e-15)


def test_the_gradient_of_the_table_by_hand():
    """Each of the four words read wants its next word up by (1 - 1/6) / 4, and all others down by 1/6 / 4."""
    expected = np.zeros((6, 6))
    for read, answer in ((1, 3), (3, 4), (4, 5), (5, 2)):
        expected[read] = 1 / 24
        expected[read, answer] -= 1 / 4
    assert_agree(examples.training_step()["table_gradient"], expected, 1e-15)


def test_the_first_step_moves_each_weight_that_has_a_gradient_by_the_rate():
    trace = examples.training_step()
    assert_agree(trace["adam.weight"], -0.5 * np.sign(trace["table_gradient"]), 1e-6)
    assert round(float(trace["after.loss.mean"]), 2) == 1.04


def test_another_answer_changes_the_row_of_the_word_before_it_alone():
    trace = examples.training_step()
    again = trace.run({"tgt_out": "汤姆 追逐 汤姆 <eos> <pad>"})
    changed = (again["adam.weight"] != trace["adam.weight"]).any(axis=1)
    assert [WORDS[k] for k in np.flatnonzero(changed)] == ["追逐"]


def test_the_program_works_at_other_lengths():
    trace = examples.training_step().run({"tgt_in": "<bos>", "tgt_out": "杰瑞"})
    assert_agree(trace["loss.mean"], np.array(np.log(6)), 1e-15)
    longer = examples.training_step().run(
        {"tgt_in": "<bos> 汤姆 汤姆 汤姆 杰瑞 追逐 追逐", "tgt_out": "汤姆 汤姆 汤姆 杰瑞 追逐 追逐 <eos>"}
    )
    assert longer["loss.count"] == 7


# ---- Adam -----------------------------------------------------------------------------------------------------------


def test_two_steps_of_adam_by_hand():
    """The gradients 2 and -2: the mean is 0.2, then -0.02; corrected 2, then -0.02 / 0.19."""
    steps = [examples.adam_steps()[f"step_{k}.adam.step"][2] for k in (1, 2)]
    assert_agree(np.array(steps), np.array([0.1, 0.1 * (-0.02 / 0.19) / 2]), 1e-8)


def test_steady_gradients_move_by_the_rate_whatever_their_size():
    trace = examples.adam_steps()
    larger = trace.run({"gradients": 1000 * trace["gradients"]})
    for run in (trace, larger):
        assert_agree(run["step_2.adam.step"][:2], np.array([0.1, 0.1]), 1e-8)


def test_a_weight_goes_on_moving_when_its_gradient_has_gone():
    assert round(float(examples.adam_steps()["step_2.adam.step"][3]), 2) == 0.07


@pytest.mark.parametrize(("beta2", "first"), [(0.98, 0.07), (0.999, 0.32)])
def test_without_the_correction_the_first_step_depends_on_beta2(beta2, first):
    trace = examples.adam_steps().with_breaks(*mistakes.ADAM).broken("Forget the bias correction")
    step = trace.run({"beta2": np.array(beta2)})["step_1.adam.step"]
    assert step.round(2).tolist() == [first] * 4


def test_eps_stands_outside_the_root():
    """A gradient as small as eps moves its weight by half the rate; inside the root it would hardly move it."""
    weight, _ = adam(np.array(0.0), np.array(1e-9), first_state(np.array(0.0)), numbers(0.1))
    assert_agree(weight, np.array(-0.05), 1e-12)


@pytest.mark.parametrize(("mistake", "steps"), [("Divide by the mean square instead of its root", (0.002, 0.2))])
def test_the_steps_that_a_symptom_names(mistake, steps):
    trace = examples.adam_steps().with_breaks(*mistakes.ADAM).broken(mistake)
    assert trace["step_1.adam.step"][:2].round(4).tolist() == list(steps)


def test_a_lost_count_makes_the_second_step_too_long():
    trace = examples.adam_steps().with_breaks(*mistakes.ADAM)
    wrong = trace.broken("Resume after the first step, and count from 1 again")
    assert_agree(wrong["step_1.adam.step"], trace["step_1.adam.step"], 0)
    # The mean is 0.19 g and the mean square 0.0396 g²; they are divided by 0.1 and 0.02, the shares of a first step.
    assert_agree(wrong["step_2.adam.step"][:2], np.full(2, 0.1 * 1.9 / np.sqrt(1.98)), 1e-7)


# ---- the learning rate ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("warmup", "d_model"), [(4, 16), (3, 10), (1, 1), (50, 64)])
def test_the_program_of_the_schedule_is_the_schedule_of_the_trainer(warmup, d_model):
    steps = np.array([1.0, 2, 3, 4, 5, 49, 50, 51, 3000])
    trace = examples.paper_schedule().run({"step": steps, "warmup": float(warmup), "d_model": float(d_model)})
    assert_agree(trace["rate"], np.array([inverse_sqrt(int(k), d_model, warmup) for k in steps]), 1e-12)


# ---- exercises ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("pieces", 2),
        ("shift", 1),
        ("mean", 1.5),
        ("rate", [0.00625, 0.003125]),
        ("first", -0.01),
        ("floor", [0.91, 0.01, 0.5]),
        ("curves", 1),
    ],
)
def test_the_answers_are_those_worked_out_by_hand(name, answer):
    assert exercises.check(f"training.{name}", answer).right
