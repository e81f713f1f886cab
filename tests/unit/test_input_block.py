"""The input block: its programs, the padded batch, and what a decoder reads when it is used."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from helpers import fault

from stepformer import examples, exercises, nn, ops
from stepformer.data.batches import keep_mask, pad
from stepformer.reference.input_block import input_block

PARAMS = examples.TRANSFORMER_PARAMS


@pytest.mark.parametrize("side", ["src", "tgt"])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_program_rerun_at_another_length_equals_a_fresh_call(side, n):
    trace = examples.source_input() if side == "src" else examples.target_input()
    tokens = np.random.default_rng(n).integers(11, size=n)
    again = trace.run({side: tokens})
    assert_agree(again["with_positions"], input_block(tokens, PARAMS, side), 0)
    assert again["embedded"].shape == (n, 10)


def test_one_side_of_the_whole_model_gives_the_same_rows():
    whole, both = examples.transformer(), examples.both_inputs()
    for name in ("src_input.with_positions", "tgt_input.with_positions", "src_mask", "target_mask"):
        assert_agree(both[name], whole[name], 0, name)
    assert_agree(examples.source_input()["with_positions"], both["src_input.with_positions"], 0)
    assert_agree(examples.target_input()["with_positions"], both["tgt_input.with_positions"], 0)


def test_a_table_of_another_width_is_projected_before_it_is_scaled():
    table, projection = np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, -1.0]])
    params = {"src_embedding.weight": table, "src_projection.weight": projection}
    expected = [[2 * 0.5, 2 * -1 + 1, 2 * 1.0, 2 * 1.0 + 1]]
    assert_agree(input_block(np.array([1]), params, "src"), np.array(expected), 1e-12)


def test_the_embedding_does_not_know_the_place_and_the_sum_does():
    again = examples.source_input().run({"src": "Tom chase Tom"})
    assert_agree(again["scaled"][0], again["scaled"][2], 0)
    assert np.abs(again["with_positions"][0] - again["with_positions"][2]).max() > 0.5


def test_a_row_of_padding_is_not_empty():
    padded = examples.padded_input()
    assert np.linalg.norm(padded["with_positions"][1, 2]) > 1
    emptied = PARAMS["src_embedding.weight"].copy()
    emptied[0] = 0
    again = padded.run({"src_embedding.weight": emptied})
    assert np.isclose(np.linalg.norm(again["with_positions"][1, 2]), 5**0.5)


@fault("PE-09")
@pytest.mark.parametrize("d_model", [8, 128, 512])
def test_lengths_of_words_and_positions_at_the_start_of_training(d_model):
    block = nn.InputBlock(1000, d_model, generator=torch.Generator().manual_seed(0))
    rows = block.embedding.weight.detach().numpy()
    lengths = np.linalg.norm(rows, axis=1)
    assert abs(lengths.mean() - 1) < 0.05
    assert abs(np.linalg.norm(ops.scale_up(rows), axis=1).mean() - d_model**0.5) < 0.05 * d_model**0.5
    assert np.allclose(np.linalg.norm(ops.sinusoids(rows[:9]), axis=1), (d_model / 2) ** 0.5)


# ---- predicting: the output embedding is fed with what the model wrote -----------------------------------------------


def written(trace, read, steps=6):
    """What the toy model writes when the decoder reads `read(words so far)`."""
    words = ["<bos>"]
    while words[-1] != "<eos>" and len(words) <= steps:
        probabilities = trace.run({"tgt": " ".join(read(words))})["probabilities"][-1]
        words.append(examples.CHINESE_WORDS[probabilities.argmax()])
    return words[1:]


def test_the_model_translates_when_it_reads_its_own_words_and_not_without_them():
    trace = examples.transformer()
    assert written(trace, lambda words: words) == ["汤姆", "追逐", "杰瑞", "<eos>"]
    assert written(trace, lambda words: words[:1]) == ["汤姆"] * 6


# ---- sentences of different lengths ---------------------------------------------------------------------------------


@fault("TOK-10")
def test_lengths_become_a_mask_of_what_to_keep_also_for_length_0():
    expected = [[1, 1, 1, 1, 1], [1, 1, 1, 1, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    keep = keep_mask([5, 4, 1, 0])
    assert keep.dtype == bool
    assert keep.tolist() == np.array(expected, dtype=bool).tolist()
    assert keep_mask(np.array([1]), 3).tolist() == [[True, False, False]]
    assert keep_mask([]).shape == (0, 0)
    assert keep_mask([0, 0]).shape == (2, 0)


@fault("TOK-10")
@pytest.mark.parametrize("lengths", [[5, 4, 1, 0], [1], [2, 2], [0, 3]])
def test_the_mask_of_the_lengths_is_that_of_the_ids(lengths):
    tokens = pad([range(1, 1 + n) for n in lengths])
    assert tokens.shape == (len(lengths), max(lengths))
    assert_agree(keep_mask(lengths)[:, None], ops.padding_mask(tokens, pad_id=0), 0)


@pytest.mark.parametrize(
    ("lengths", "n", "error"),
    [
        ([3], 2, ValueError),
        ([-1], 2, ValueError),
        ([[1]], 2, ValueError),
        ([1.0], 2, TypeError),
        ([True], 2, TypeError),
    ],
)
def test_what_is_no_length_is_refused(lengths, n, error):
    with pytest.raises(error, match="lengths"):
        keep_mask(lengths, n)


def test_padding_fills_up_at_the_end_with_its_id():
    assert pad([[1, 3, 2], [2, 5]]).tolist() == examples.PADDED_IDS.tolist()
    assert pad([[4], [], [1, 2]], pad_id=9).tolist() == [[4, 9], [9, 9], [1, 2]]
    assert pad([]).shape == (0, 0)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("row", [1.84, -0.46]),
        ("lengths", [11.31, 8]),
        ("decoder_input", 1),
        ("same_place", 1),
        ("masked_places", [20, 10]),
        ("projection", 25_600),
    ],
)
def test_the_answers_are_those_worked_out_by_hand(name, answer):
    assert exercises.check(f"input_block.{name}", answer).right
