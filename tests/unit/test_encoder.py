"""The chapter on the encoder: its examples do what they were designed for, its answers are those worked out by hand."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from helpers import fault

from stepformer import examples, exercises, mistakes, nn
from stepformer.checks import CHECKS
from stepformer.reference.encoder import encoder, encoder_layer

PARAMS = examples.ENCODER_LAYER_PARAMS
OUTPUT = "feed_forward_norm.output"
TOM, CHASE, JERRY = range(3)
ACTS, ACTED_ON, HUNT = (examples.LAYER_COLUMNS.index(name) for name in ("acts", "acted on", "hunt"))


def x_of(ids):
    return examples.HUNTERS_TABLE[ids] + examples.THREE_PLACES[: len(ids)]


# ---- the sum --------------------------------------------------------------------------------------------------------


def test_averaging_twice_makes_two_words_one_and_the_way_around_keeps_them_apart():
    trace = examples.residual().with_breaks(*mistakes.RESIDUAL)
    x, weights = trace["x"], trace["weights"]
    assert_agree(weights.sum(axis=1), np.ones(3), 1e-12)
    around = np.eye(3) + weights
    assert_agree(trace["layer_2.residual"], around @ around @ x, 1e-12)
    lost = trace.broken("Forget the residual")["layer_2.residual"]
    assert_agree(lost, weights @ weights @ x, 1e-12)
    assert np.abs(lost[TOM] - lost[JERRY]).max() < 0.02
    assert np.abs(trace["layer_2.residual"][TOM] - trace["layer_2.residual"][JERRY]).max() > 1


@pytest.mark.parametrize("norm_first", [False, True])
def test_through_the_way_around_a_gradient_arrives_however_deep_the_stack_is(norm_first):
    """Without it, with the same weights, next to nothing does."""
    generator = torch.Generator().manual_seed(0)
    layers = [nn.FeedForward(16, 32) for _ in range(24)]
    norm = nn.LayerNorm(16)
    arrived = []
    for kind in ("without", "with"):
        x = bottom = torch.randn(4, 16, generator=generator, requires_grad=True)
        for layer in layers:
            nn.init_parameters(layer, generator)
            x = layer(x) if kind == "without" else x + layer(norm(x)) if norm_first else norm(x + layer(x))
        x.backward(torch.randn(4, 16, generator=generator))
        arrived.append(float(bottom.grad.norm()) / 8)  # a random gradient (4, 16) is about 8 long
    assert arrived[0] < 1e-3
    assert 0.02 < arrived[1] < 50


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_stack_that_finds_nothing_hands_on_x_with_pre_norm_and_only_there(norm_first):
    params = {f"layers.{i}.{name}": array for i in (0, 1) for name, array in PARAMS.items()}
    params = {n: 0 * a if "w_o" in n or "w_2" in n else a for n, a in params.items()}
    x = x_of([1, 2, 3])
    assert np.array_equal(encoder(x, params, 2, norm_first=norm_first), x) is norm_first


# ---- the layer ------------------------------------------------------------------------------------------------------


def test_the_heads_of_the_layer_look_back_and_ahead():
    back, ahead = examples.encoder_layer()["weights"]
    assert back.argmax(axis=1).tolist() == [TOM, TOM, CHASE]
    assert ahead.argmax(axis=1).tolist() == [CHASE, JERRY, JERRY]
    assert min(back.max(axis=1).min(), ahead.max(axis=1).min()) > 0.95


def test_attention_writes_who_acts_into_columns_that_were_empty():
    trace = examples.encoder_layer()
    assert not trace["x"][:, ACTS:].any()
    found = trace["self_attention.output"]
    assert found[:, ACTS].argmax() == TOM
    assert found[:, ACTED_ON].argmax() == JERRY
    assert not found[:, HUNT].any()


@pytest.mark.parametrize("make", [examples.encoder_layer, examples.encoder_with_pre_norm])
@pytest.mark.parametrize(
    ("sentence", "hunt"), [("Tom chase Jerry", 1), ("Jerry chase Tom", -1), ("Jerry chase Jerry", None)]
)
def test_all_words_conclude_whether_there_is_a_hunt(make, sentence, hunt):
    trace = make().run({"src": sentence})
    column = trace["norm.output" if make is examples.encoder_with_pre_norm else OUTPUT][:, HUNT]
    if hunt is not None:
        assert (column * hunt > 1).all()
    else:
        assert column[TOM] < 0  # a mouse that acts hunts nobody


def test_each_hidden_unit_answers_to_what_its_name_says():
    hidden = examples.encoder_layer()["hidden"]
    for word, units in ((TOM, ["cat acts", "being", "is 1st", "cat"]), (JERRY, ["mouse acted on", "is 3rd", "mouse"])):
        for unit in units:
            assert hidden[word, examples.LAYER_UNITS.index(unit)] > 0, unit
    assert hidden[CHASE].argmax() == examples.LAYER_UNITS.index("cat, deed, mouse")


@pytest.mark.parametrize("ids", [[1], [3, 2], [1, 2, 0]])
def test_a_layer_rerun_on_other_words_equals_a_fresh_call(ids):
    x, mask = x_of(ids), np.array([ids]) != 0
    again = examples.encoder_layer().run({"src": np.array(ids)})
    assert np.array_equal(again[OUTPUT], encoder_layer(x, PARAMS, 2, mask))
    stack = {f"layers.0.{name}": array for name, array in PARAMS.items()}
    stack |= {f"norm.{name}": array for name, array in examples.FINAL_NORM_PARAMS.items()}
    again = examples.encoder_with_pre_norm().run({"src": np.array(ids)})
    assert np.array_equal(again["norm.output"], encoder(x, stack, 2, mask, norm_first=True))


def test_padding_changes_no_real_word():
    trace = examples.encoder_layer()
    two, three = (trace.run({"src": np.array(ids)})[OUTPUT] for ids in ([1, 2], [1, 2, 0]))
    assert_agree(three[:2], two, 1e-12)


@pytest.mark.parametrize(
    "array", [examples.MIXING, examples.HUNTERS_TABLE, examples.THREE_PLACES, *PARAMS.values()], ids=lambda a: a.shape
)
def test_designed_numbers_have_at_most_two_decimals_and_are_no_identity(array):
    assert np.array_equal(array, array.round(2))
    assert array.ndim == 1 or not np.array_equal(array, array.T)


def test_the_sizes_of_the_layer_differ_so_that_a_wrong_transpose_can_not_pass():
    assert PARAMS["feed_forward.w_1.weight"].shape == (10, 14) == (10, len(examples.LAYER_UNITS))
    assert examples.encoder_layer()["x"].shape == (3, 10)


@fault("LN-04")
def test_over_the_words_chase_loses_its_hunt_and_tom_sees_who_comes_later():
    trace = examples.encoder_layer().with_breaks(*mistakes.ENCODER_LAYER)
    wrong = trace.broken("Normalise over the words")
    assert wrong[OUTPUT][CHASE, HUNT] < -1
    norm = examples.normalization().with_breaks(*mistakes.NORMALIZATION)
    later = norm["x"].copy()
    later[JERRY] = [1, 2, 3, 4, 5]
    assert np.array_equal(norm.run({"x": later})["output"][:JERRY], norm["output"][:JERRY])
    leaking = norm.broken("Normalise over the words")
    assert np.abs(leaking.run({"x": later})["output"][TOM] - leaking["output"][TOM]).max() > 0.1


@fault("LN-01")
def test_the_sample_variance_is_a_quarter_too_large_here():
    trace = examples.normalization().with_breaks(*mistakes.NORMALIZATION)
    wrong = trace.broken("Divide by one less than the width")
    assert_agree(wrong["variance"], 1.25 * trace["variance"], 1e-12)
    with pytest.raises(AssertionError, match="not divided by the width"):
        CHECKS["variance_divides_by_the_width"](wrong)


def test_without_the_root_the_largest_row_becomes_the_smallest():
    trace = examples.normalization().with_breaks(*mistakes.NORMALIZATION)
    size = np.abs(trace.broken("Divide by the variance")["normalised"]).max(axis=1)
    assert size.argmin() == np.abs(trace["x"]).max(axis=1).argmax() == JERRY


# ---- exercises ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "answer"),
    [("normalise", [-1.41421, 1.41421]), ("who_notices", 1), ("shape", [7, 512]), ("parameters", 2_099_712),
     ("nothing_found", 0), ("copies", 1)],
)  # fmt: skip
def test_the_answers_are_those_worked_out_by_hand(name, answer):
    assert exercises.check(f"encoder.{name}", answer).right
