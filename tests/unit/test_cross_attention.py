"""Cross-attention: one sequence asks another. Numbers by hand, who depends on whom, padding, examples, errors."""

import numpy as np
import pytest
from agreement import assert_agree
from helpers import fault
from hypothesis import given
from hypothesis import strategies as st

from stepformer import Edit, Trace, examples, exercises, leaf, mistakes, ops, record
from stepformer.checks import CHECKS
from stepformer.reference.attention import scaled_dot_product_attention
from stepformer.reference.cross_attention import cross_attention
from stepformer.reference.self_attention import self_attention
from stepformer.trace import Break

PARAMS = examples.CROSS_ATTENTION_PARAMS
EXAMPLES = [name for name in examples.EXAMPLES if "cross_attention" in name]
TOM, CHASE, JERRY = range(3)


def drawn(n_tgt=4, n_src=3, leading=(), seed=0):
    rng = np.random.default_rng([seed, n_tgt, n_src])
    widths = {"w_q.weight": 5, "w_k.weight": 5, "w_v.weight": 7}
    weights = {name: rng.normal(size=(10, width)) for name, width in widths.items()}
    # So small that no weight vanishes.
    x, memory = (0.3 * rng.normal(size=(*leading, n, 10)) for n in (n_tgt, n_src))
    return x, memory, weights


# ---- by hand --------------------------------------------------------------------------------------------------------


def test_one_query_and_two_keys_by_hand():
    """All widths are 1: the scores are 2 · log 3 / 2 and 0, so the weights are 3 : 1."""
    params = {name: np.array([[w]]) for name, w in zip(PARAMS, (2.0, 0.5, 4.0), strict=True)}
    attended = cross_attention(np.array([[np.log(3)]]), np.array([[1.0], [0.0]]), params)
    assert_agree(attended.weights, np.array([[0.75, 0.25]]), 1e-12)
    assert_agree(attended.output, np.array([[3.0]]), 1e-12)


@pytest.mark.parametrize("n_tgt", [1, 4, 7])
@pytest.mark.parametrize("n_src", [1, 3, 6])
def test_rows_are_those_who_ask_and_columns_those_who_are_asked(n_tgt, n_src):
    x, memory, params = drawn(n_tgt, n_src)
    attended = cross_attention(x, memory, params)
    assert attended.output.shape == (n_tgt, 7)
    assert attended.weights.shape == (n_tgt, n_src)
    query, key, value = x @ params["w_q.weight"], memory @ params["w_k.weight"], memory @ params["w_v.weight"]
    powers = np.exp(query @ key.T / 5**0.5)
    assert_agree(attended.weights, powers / powers.sum(axis=1, keepdims=True), 1e-12)
    assert_agree(attended.output, attended.weights @ value, 1e-12)


def test_a_sequence_that_asks_itself_is_self_attention():
    x, _, params = drawn()
    assert np.array_equal(cross_attention(x, x, params).output, self_attention(x, params).output)


def test_leading_axes_are_independent_pairs_of_sentences():
    x, memory, params = drawn(leading=(2,))
    together = cross_attention(x, memory, params).output
    assert together.shape == (2, 4, 7)
    for k in range(2):
        assert_agree(together[k], cross_attention(x[k], memory[k], params).output, 1e-12)
    one_source = cross_attention(x, memory[0], params).output
    assert_agree(one_source[1], cross_attention(x[1], memory[0], params).output, 1e-12)


# ---- who depends on whom --------------------------------------------------------------------------------------------


def test_each_target_word_asks_for_itself_alone():
    """No row of x touches another row: words can be written one by one with the keys and values of the beginning."""
    x, memory, params = drawn()
    together = cross_attention(x, memory, params).output
    key, value = memory @ params["w_k.weight"], memory @ params["w_v.weight"]
    for t in range(4):
        alone = scaled_dot_product_attention(x[t : t + 1] @ params["w_q.weight"], key, value).output
        assert_agree(together[t : t + 1], alone, 1e-12)
        changed = x.copy()
        changed[t] += 1
        moved = (cross_attention(changed, memory, params).output != together).any(axis=1)
        assert moved.tolist() == [row == t for row in range(4)]


def test_every_source_word_reaches_every_target_word():
    x, memory, params = drawn()
    plain = cross_attention(x, memory, params).output
    for j in range(3):
        changed = memory.copy()
        changed[j] += 1
        assert (cross_attention(x, changed, params).output != plain).all()


@given(st.permutations(range(6)), st.integers(0, 100))
def test_the_order_of_the_source_does_not_matter_to_the_output(order, seed):
    x, memory, params = drawn(4, 6, seed=seed)
    plain, shuffled = cross_attention(x, memory, params), cross_attention(x, memory[list(order)], params)
    assert_agree(shuffled.output, plain.output, 1e-12, "output")
    assert_agree(shuffled.weights, plain.weights[:, list(order)], 1e-12, "weights")


# ---- padding --------------------------------------------------------------------------------------------------------


@fault("ATT-07")
@pytest.mark.parametrize("junk", [0.0, np.nan, np.inf])
def test_whatever_the_memory_holds_at_padding_changes_nothing(junk):
    x, memory, params = drawn(4, 5)
    allowed = ops.padding_mask(np.array([1, 2, 3, 0, 0]), pad_id=0)
    memory[3:] = junk
    attended = cross_attention(x, memory, params, allowed)
    short = cross_attention(x, memory[:3], params)
    assert_agree(attended.output, short.output, 1e-12)
    assert not attended.weights[:, 3:].any()


@fault("ATT-22")
def test_the_mask_hides_keys_and_leaves_the_rows_of_a_padded_target_finite():
    trace = examples.padded_cross_attention()
    assert not trace["weights"][:, 3:].any()
    assert_agree(trace["weights"].sum(axis=1), np.ones(5), 1e-12)
    assert np.isfinite(trace["attention.output"]).all()
    # Masked along the wrong axis, the row of <eos>, which counts, is empty.
    wrong = trace.with_breaks(*mistakes.PADDED_CROSS_ATTENTION).broken("Mask the queries instead of the keys")
    assert not wrong["weights"][3].any()
    assert (wrong["weights"][:3, 3:] > 0).all()


@fault("ATT-01")
def test_a_source_of_padding_gives_zeros():
    with np.errstate(all="raise"):
        trace = examples.padded_cross_attention().run({"src": np.zeros(5, dtype=int)})
    assert not trace["weights"].any()
    assert not trace["attention.output"].any()


def test_in_a_batch_each_sentence_is_as_it_is_alone():
    batch, alone = examples.cross_attention_in_a_batch(), examples.cross_attention()
    assert_agree(batch["attention.output"][0], alone["attention.output"], 1e-12)
    short = alone.run({"tgt": "汤姆 跑 <eos>", "src": "Tom run"})
    assert_agree(batch["attention.output"][1, :3], short["attention.output"], 1e-12)
    assert not batch["weights"][1, :, 2].any()


# ---- the examples are as designed -----------------------------------------------------------------------------------


def test_each_target_word_finds_its_source_word_and_the_end_finds_none():
    weights = examples.cross_attention()["weights"]
    assert weights[:3].argmax(axis=1).tolist() == [TOM, CHASE, JERRY]
    assert (weights[:3].max(axis=1) > 0.8).all()
    assert np.abs(weights[3] - 1 / 3).max() < 0.02


@pytest.mark.parametrize(
    ("target", "source", "found"),
    [
        ("杰瑞 追逐 汤姆 <eos>", "Jerry chase Tom", [0, 1, 2]),
        ("汤姆 追逐 杰瑞 <eos>", "Jerry chase Tom", [2, 1, 0]),
        ("汤姆 跑 <eos>", "Tom run", [0, 1]),
        ("杰瑞 跑 <eos>", "run Jerry", [1, 0]),
    ],
)
def test_the_alignment_follows_the_words(target, source, found):
    trace = examples.cross_attention().run({"tgt": target, "src": source})
    assert trace["weights"][: len(found)].argmax(axis=1).tolist() == found
    assert (trace["weights"][: len(found)].max(axis=1) > 0.8).all()


@fault("VIZ-06")
@pytest.mark.parametrize("name", ["cross_attention", "padded_cross_attention"])
def test_rows_are_labelled_with_the_target_and_columns_with_the_source(name):
    trace = examples.EXAMPLES[name]().run({"tgt": "杰瑞 跑", "src": "Jerry run <pad>"})
    for matrix in ("scores", "scaled_scores", "weights"):
        assert trace.axis_labels(matrix) == [["杰瑞", "跑"], ["Jerry", "run", "<pad>"]]
    assert trace.axis_labels("attention.output")[0] == ["杰瑞", "跑"]
    assert trace.axis_labels("value")[0] == ["Jerry", "run", "<pad>"]


def test_easy_needs_both_characters():
    trace = examples.easy_course()
    an, easy, course = range(3)
    water, easily, a_course = range(3)
    assert_agree(trace["weights"][easy].round(2), np.array([0.67, 0.33]), 1e-12)
    assert trace["weights"][course].argmax() == 1
    assert np.abs(trace["weights"][an] - 0.5).max() < 0.02
    assert trace["attention.output"][easy].argmax() == easily
    assert trace["attention.output"][course].argmax() == a_course
    assert trace.run({"src": "水"})["attention.output"][easy].argmax() == water
    assert trace.run({"src": "课"})["attention.output"][easy].argmax() == a_course
    assert_agree(trace.run({"src": "课水"})["attention.output"], trace["attention.output"], 1e-12)


@pytest.mark.parametrize(
    "array",
    [
        examples.MEMORY_TABLE,
        examples.WRITTEN_TABLE,
        *PARAMS.values(),
        examples.EASY_QUERY,
        examples.CHARACTER_KEYS,
        examples.CHARACTER_VALUES,
    ],
)
def test_designed_numbers_have_at_most_two_decimals_and_are_no_identity(array):
    assert np.array_equal(array, array.round(2))
    assert not all(row.sum() == row.max() == 1 for row in array)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize(("tgt", "src"), [([3], [2]), ([5, 1], [1, 4, 0]), ([2, 3, 4, 1, 0, 0, 5], [0, 3])])
def test_a_program_rerun_at_other_lengths_equals_a_fresh_call(name, tgt, src):
    trace = examples.EXAMPLES[name]()
    batch = [tgt, tgt[::-1]], [src, src[::-1]]
    tgt, src = (np.array(ids) for ids in (batch if trace["tgt"].ndim == 2 else (tgt, src)))
    again = trace.run({"tgt": tgt, "src": src})
    mask = None if name == "cross_attention" else ops.padding_mask(src, pad_id=0)
    fresh = cross_attention(examples.WRITTEN_TABLE[tgt], examples.MEMORY_TABLE[src], PARAMS, mask)
    assert np.array_equal(again["attention.output"], fresh.output)
    assert np.array_equal(again["weights"], fresh.weights)


def test_recording_changes_no_bit():
    x, memory, params = drawn()
    with record() as trace:
        leaves = {name: leaf(name, array, ("d_model", name)) for name, array in params.items()}
        cross_attention(leaf("x", x, ("tgt", "d_model")), leaf("memory", memory, ("src", "d_model")), leaves)
    assert np.array_equal(trace["attention.output"], cross_attention(x, memory, params).output)
    assert [tensor.name for tensor in trace.tensors][5:8] == [f"cross_attention.{r}" for r in ("query", "key", "value")]


# ---- the checks can fail --------------------------------------------------------------------------------------------


def broken(name: str, *edits: Edit) -> Trace:
    return examples.EXAMPLES[name]().with_breaks(Break("wrong", edits, "…", "…")).broken("wrong")


@pytest.mark.parametrize(
    ("tensor", "inputs", "caught"),
    [
        ("query", ("x", "w_k.weight"), ("queries_come_from_the_target", "The query is not x times w_q")),
        ("key", ("memory", "w_q.weight"), ("keys_and_values_come_from_the_source", "The key is not the memory times")),
        ("value", ("x", "w_v.weight"), ("keys_and_values_come_from_the_source", "The value is not the memory times")),
    ],
)
def test_the_checks_tell_which_projection_is_wrong(tensor, inputs, caught):
    check, message = caught
    wrong = broken("padded_cross_attention", Edit(tensor, inputs=inputs))
    with pytest.raises(AssertionError, match=message):
        CHECKS[check](wrong)
    others = {"queries_come_from_the_target", "keys_and_values_come_from_the_source"} - {check}
    for other in others:
        CHECKS[other](wrong)


def test_where_the_lengths_differ_keys_of_the_source_and_values_of_the_target_do_not_fit():
    with pytest.raises(ValueError, match=r"matmul: a is \(4, 3\) and b is \(4, 7\)"):
        broken("cross_attention", Edit("value", inputs=("x", "w_v.weight")))


def test_where_the_lengths_differ_a_mask_along_the_wrong_axis_does_not_fit():
    with pytest.raises(ValueError, match="mask_transposed"):
        broken("cross_attention_in_a_batch", Edit("masked_scores", op="mask_transposed"))


def test_a_target_that_asks_itself_never_sees_the_source():
    trace = examples.cross_attention().with_breaks(*mistakes.CROSS_ATTENTION)
    wrong = trace.broken("Let the target ask itself")
    other = wrong.run({"src": "Jerry run"})
    assert np.array_equal(other["attention.output"], wrong["attention.output"])
    assert not np.array_equal(trace.run({"src": "Jerry run"})["attention.output"], trace["attention.output"])


def test_a_causal_mask_between_two_sentences_blinds_the_first_words():
    trace = examples.padded_cross_attention().with_breaks(*mistakes.PADDED_CROSS_ATTENTION)
    assert trace.broken("Use a causal mask")["weights"][0].tolist() == [1, 0, 0, 0, 0]
    x, memory, params = drawn(4, 3)
    assert not cross_attention(x, memory, params, ops.causal_mask(x, memory)).output[0].any()


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_errors_name_what_is_wrong():
    x, memory, params = drawn()
    allowed = np.ones((1, 3), dtype=bool)
    with pytest.raises(ValueError, match=r"memory has shape \(10,\); it must be"):
        cross_attention(x, memory[0], params)
    with pytest.raises(ValueError, match=r"x has shape \(10,\); it must be"):
        cross_attention(x[0], memory, params)
    with pytest.raises(TypeError, match="mask must be boolean"):
        cross_attention(x, memory, params, allowed.astype(float))
    with pytest.raises(ValueError, match=r"mask has shape \(1, 4\); for 4 queries and 3 keys"):
        cross_attention(x, memory, params, np.ones((1, 4), dtype=bool))
    with pytest.raises(ValueError, match=r"matmul: a is \(3, 9\) and b is \(10, 5\)"):
        cross_attention(x, memory[:, 1:], params)
    for name, array in (("x", x), ("memory", memory)):
        array[2, 1] = np.nan
        with pytest.raises(ValueError, match=rf"{name} is not finite at \(2, 1\)"):
            cross_attention(x, memory, params, allowed)
        array[2, 1] = 0.0


def test_inputs_are_not_changed():
    given = x, memory, params = drawn()
    allowed = np.array([[True, True, False]])
    copies = x.copy(), memory.copy(), {name: array.copy() for name, array in params.items()}
    cross_attention(*given, allowed)
    assert np.array_equal(x, copies[0])
    assert np.array_equal(memory, copies[1])
    assert all(np.array_equal(params[name], copies[2][name]) for name in params)
    assert allowed.tolist() == [[True, True, False]]


# ---- exercises ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "answer"),
    [("shape", [9, 6, 9, 7]), ("easy", [0.2667, 0.7]), ("saved", 6840), ("mask", 0), ("layers", 2)],
)
def test_the_answers_are_those_worked_out_by_hand(name, answer):
    assert exercises.check(f"cross_attention.{name}", answer).right
