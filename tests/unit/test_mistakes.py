"""Every known mistake that a reader can switch on changes a result, and the check that it names catches it."""

import numpy as np
import pytest

from stepformer import mistakes
from stepformer.checks import CHECKS
from stepformer.examples import EXAMPLES, VOCABULARY, attention, attention_over_words

SHOWN_IN = {
    "ATTENTION": "attention",
    "MASKS": "padded_attention",
    "SELF_ATTENTION": "self_attention",
    "CAUSAL": "causal_self_attention",
    "PADDED_SELF_ATTENTION": "padded_self_attention",
    "CROSS_ATTENTION": "cross_attention",
    "PADDED_CROSS_ATTENTION": "padded_cross_attention",
    "MULTI_HEAD": "multi_head_attention",
    "SPLIT_HEADS": "split_and_merge",
    "WORD_ORDER": "attention_with_positions",
    "POSITIONS": "positions_in_a_batch",
    "ROTARY": "rotary_positions",
    "LOOK_UP": "look_up",
    "COSINE": "cosine_similarity",
    "ANALOGY": "analogy",
    "FEED_FORWARD": "feed_forward",
    "CENTRED_CONVOLUTION": "convolution_over_words",
    "CAUSAL_CONVOLUTION": "causal_convolution",
    "IMAGE_CONVOLUTION": "edges_and_corners",
    "LOSS": "next_word",
    "GRADIENT_STEP": "gradient_step",
    "RECURRENT": "recurrent_network",
    "PADDED_RECURRENT": "padded_recurrent_network",
    "LSTM_GATES": "pronoun",
    "AGREEMENT": "agreement",
    "GRU_GATES": "gated_recurrent_unit",
    "SAMPLING": "sampling",
    "PADDED_LOSS": "padded_loss",
    "SMOOTHED_LOSS": "smoothed_loss",
    "RESIDUAL": "residual",
    "NORMALIZATION": "normalization",
    "ENCODER_LAYER": "encoder_layer",
    "PRE_NORM": "encoder_with_pre_norm",
    "LOSS_BACKWARD": "loss_backward",
    "FEED_FORWARD_BACKWARD": "feed_forward_backward",
    "LAYER_NORM_BACKWARD": "layer_norm_backward",
    "ATTENTION_BACKWARD": "attention_backward",
    "TRANSFORMER": "transformer",
    "INPUT_BLOCK": "both_inputs",
    "PADDED_INPUT": "padded_input",
    "TEACHER_FORCING": "teacher_forcing",
    "FEEDING_BACK": "feeding_back",
    "READ_PADDING": "read_a_padded_sentence",
    "DECODER": "padded_decoder",
    "SHIFT": "shifted_target",
    "CACHE": "cached_step",
    "TRAINING_STEP": "training_step",
    "ADAM": "adam_steps",
    "SCHEDULE": "paper_schedule",
    "ALIGNMENT": "alignment_error",
}
"""The example in which the reader switches on a group of mistakes."""

MISTAKES = [(group, mistake) for group in SHOWN_IN for mistake in getattr(mistakes, group, ())]
EACH = pytest.mark.parametrize(("group", "mistake"), MISTAKES, ids=lambda value: getattr(value, "name", value))


def test_every_group_of_mistakes_is_shown_in_an_example():
    assert sorted(SHOWN_IN) == sorted(mistakes.__all__)


@EACH
def test_a_mistake_changes_a_result_and_its_check_catches_it(group, mistake):
    trace = EXAMPLES[SHOWN_IN[group]]().with_breaks(*getattr(mistakes, group))
    broken = trace.broken(mistake.name)
    assert any(a.shape != b.shape or (a != b).any() for a, b in zip(broken.arrays, trace.arrays, strict=True))
    check = CHECKS[mistake.caught_by]
    check(trace)
    with pytest.raises(AssertionError, match=r".{20,}"):
        check(broken)


@EACH
def test_a_mistake_says_what_to_look_for(group, mistake):
    assert len(mistake.symptom) > 30
    assert mistake.symptom[-1] in ".”"
    assert mistake.name[0].isupper()


def test_every_check_has_a_mistake_that_it_catches():
    assert sorted(CHECKS) == sorted({mistake.caught_by for _, mistake in MISTAKES})


def test_the_weights_of_the_running_example_are_as_designed():
    """汤姆 attends to Tom, 追逐 to chase and 杰瑞 to Jerry."""
    assert attention()["weights"][:3].argmax(axis=1).tolist() == [0, 1, 2]
    assert (attention()["weights"][:3].max(axis=1) > 0.5).all()


def test_another_sentence_moves_the_attention_with_its_words():
    again = attention_over_words().run({"src": "Jerry chase Tom"})
    assert again["weights"][:3].argmax(axis=1).tolist() == [2, 1, 0]
    assert again.axis_labels("weights")[1] == ["Jerry", "chase", "Tom"]
    assert "Spike" not in VOCABULARY


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_the_same_each_time_and_shares_nothing(name):
    first, second = EXAMPLES[name](), EXAMPLES[name]()
    assert first == second
    assert not any(np.shares_memory(a, b) for a, b in zip(first.arrays, second.arrays, strict=True) if a.size)
    assert type(first).from_json(first.to_json()) == first
    assert first.title
