"""The chapter on the decoder: what its layer was designed to do, its re-runs, its symptoms, the shifted target."""

import numpy as np
import pytest
from agreement import assert_agree
from hypothesis import given
from hypothesis import strategies as st

from stepformer import examples, exercises, ledger, mistakes
from stepformer.checks import CHECKS
from stepformer.examples import CHINESE_WORDS, STREAM_COLUMNS, TRANSFORMER_PARAMS
from stepformer.ops import softmax
from stepformer.params import select
from stepformer.reference.decoder import decoder_layer
from stepformer.reference.masks import causal_mask
from stepformer.reference.transformer import decode, project

LAYER = "decoder.layers.0"
LEFT = "self_attention.attention.weights"
ACROSS = "cross_attention.attention.weights"
BOS, TOM, CHASE, JERRY = range(4)


def said(trace):
    return " ".join(CHINESE_WORDS[i] for i in trace["probabilities"].argmax(axis=-1))


def broken(name):
    return examples.padded_decoder().with_breaks(*mistakes.DECODER).broken(name)


def test_the_layer_does_what_it_was_designed_for():
    trace = examples.decoder()
    end, being = STREAM_COLUMNS.index("end"), STREAM_COLUMNS.index("being")
    back, across = trace[f"{LAYER}.{LEFT}"], trace[f"{LAYER}.{ACROSS}"]
    assert back[0, JERRY].argmax() == CHASE  # was there an action before me?
    assert (np.diagonal(back[1])[1:] > 0.9).all()  # the row's own word …
    assert trace[f"{LAYER}.self_attention.output"][TOM, being] < -1  # … is cleared away
    assert trace[f"{LAYER}.self_attention.output"][:, end].argmax() == JERRY
    for head in across:
        assert head[:3].argmax(axis=1).tolist() == [0, 1, 2]  # each row asks for the word at its place
        assert head[:3].max(axis=1).min() > 0.95
    assert trace["probabilities"].max(axis=1).min() > 0.9


@pytest.mark.parametrize(
    ("src", "expected"),
    [
        ("Tom chase Jerry", "汤姆 追逐 杰瑞 <eos>"),
        ("Jerry chase Tom", "杰瑞 追逐 汤姆 <eos>"),
        ("Jerry see Tom", "杰瑞 看见 汤姆 <eos>"),
        ("Tom see Jerry <pad> <pad>", "汤姆 看见 杰瑞 <eos>"),
    ],
)
def test_it_translates_all_at_once_and_word_by_word(src, expected):
    trace = examples.decoder(src)
    words, rows = ["<bos>"], []
    while words[-1] != "<eos>":
        rows.append(trace.run({"tgt": " ".join(words)})["probabilities"][-1])
        words.append(CHINESE_WORDS[rows[-1].argmax()])
    assert " ".join(words[1:]) == expected
    at_once = trace.run({"tgt": " ".join(words[:-1])})
    assert said(at_once) == expected
    assert_agree(np.array(rows), at_once["probabilities"], 1e-12)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_program_rerun_at_another_length_equals_a_fresh_call(n):
    tgt = np.arange(n) % len(CHINESE_WORDS)
    trace = examples.padded_decoder().run({"tgt": tgt})
    x = decode(tgt, trace["memory"], TRANSFORMER_PARAMS, 2, trace["memory_mask"])
    assert (trace["probabilities"] == softmax(project(x, TRANSFORMER_PARAMS))).all()


def test_padding_of_the_target_at_the_end_needs_no_mask_of_its_own():
    trace = examples.padded_decoder()
    x, memory, memory_mask = (trace[name] for name in ("tgt_input.with_positions", "memory", "memory_mask"))
    params = select(TRANSFORMER_PARAMS, LAYER)
    alone = decoder_layer(x, memory, params, 2, causal_mask(x, x), memory_mask)
    words = trace["tgt"] != 0
    assert_agree(alone[words], trace[f"{LAYER}.feed_forward_norm.output"][words], 1e-12)


def test_the_symptoms_of_the_chapter():
    right = examples.padded_decoder()
    assert said(right).startswith("汤姆 追逐 杰瑞 <eos>")

    peek = broken("Forget the causal mask")
    assert peek[f"{LAYER}.{LEFT}"][0, TOM, CHASE].round(2) == 0.83
    assert said(peek).split()[TOM] == "<eos>"
    assert (peek[f"{LAYER}.{LEFT}"][..., 4] == 0).all()  # the padding is masked

    turned = broken("Turn the mask over")[f"{LAYER}.{LEFT}"]
    assert (np.tril(turned[0], -1) == 0).all()
    assert (turned[0, 4] == 0).all()

    deaf = broken("Let cross-attention ask the target")
    other = deaf.run({"src": "Jerry see Tom <pad> <pad>"})
    assert (other["probabilities"] == deaf["probabilities"]).all()

    lost = broken("Forget the memory's mask")
    assert lost[f"{LAYER}.{ACROSS}"][0, JERRY, 3:].sum().round(2) == 0.99
    assert said(lost).split()[JERRY] == "<eos>"
    name = f"{LAYER}.cross_attention.output"
    less_padding = lost.run({"src": "Tom chase Jerry <pad>"})
    assert np.abs(less_padding[name][JERRY] - lost[name][JERRY]).max() > 0.01
    same = right.run({"src": "Tom chase Jerry <pad>"})["probabilities"]
    assert_agree(same[:4], right["probabilities"][:4], 1e-12)

    shift = examples.shifted_target().with_breaks(*mistakes.SHIFT)
    not_shifted, other_way = (shift.broken(switch.name) for switch in mistakes.SHIFT)
    assert (not_shifted["tgt_in"] == not_shifted["tgt_out"]).all()
    assert (other_way["tgt_in"][:, :-1] == other_way["tgt_out"][:, 1:]).all()
    assert (other_way["tgt_out"] == 2).any(axis=1).tolist() == [True, False]


def test_the_check_of_the_shift_looks_at_both_halves():
    trace = examples.shifted_target()
    for name in ("tgt_in", "tgt_out"):
        with pytest.raises(AssertionError, match="the target is"):
            CHECKS["the_input_is_one_step_behind"](trace.run({name: np.ones((2, 4), dtype=int)}))


@given(st.lists(st.integers(0, 6), min_size=1, max_size=4), st.integers(0, 3))
def test_any_batch_is_shifted_and_its_answers_counted(lengths, extra):
    target = np.zeros((len(lengths), max(lengths) + 2 + extra), dtype=int)
    for row, n in zip(target, lengths, strict=True):
        row[: n + 2] = [1, *[3] * n, 2]
    trace = examples.shifted_target().run({"target": target})
    assert trace["count"] == sum(lengths) + len(lengths)
    n = target.shape[1] - 1
    expected = [[[j <= i and row[j] != 0 for j in range(n)] for i in range(n)] for row in target]
    assert trace["target_mask"].tolist() == expected


def test_the_chain_of_the_decoder_does_not_grow_with_its_target():
    assert {ledger.sequential_steps(examples.decoder(tgt="汤姆 " * n)) for n in (1, 4, 8)} == {52}


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("shapes", [8, 8, 8, 6]),
        ("answers", [3, 5, 2, 0]),
        ("counted", 13),
        ("leak", [4, 6]),
        ("updates", 1),
        ("passes", [1, 20, 210, 20]),
    ],
)
def test_the_answers_are_those_worked_out_by_hand(name, answer):
    assert exercises.check(f"decoder.{name}", answer).right
