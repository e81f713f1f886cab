"""Self-attention: what one sentence does to itself. Numbers by hand, order, masks, examples, and what is refused."""

import numpy as np
import pytest
from agreement import assert_agree
from helpers import fault
from hypothesis import given
from hypothesis import strategies as st

from stepformer import Edit, examples, exercises, leaf, mistakes, record
from stepformer.checks import CHECKS
from stepformer.ops import causal_mask, padding_mask
from stepformer.reference.self_attention import self_attention
from stepformer.trace import Break

PARAMS = examples.SELF_ATTENTION_PARAMS
WATER, MONEY = examples.MESSAGE_FEATURES.index("water"), examples.MESSAGE_FEATURES.index("money")


def drawn(n, seed=0, d_model=10, d_k=5, d_v=7):
    rng = np.random.default_rng([seed, n])
    weights = {"w_q.weight": (d_model, d_k), "w_k.weight": (d_model, d_k), "w_v.weight": (d_model, d_v)}
    return rng.normal(size=(n, d_model)), {name: rng.normal(size=shape) for name, shape in weights.items()}


# ---- by hand --------------------------------------------------------------------------------------------------------


def test_two_tokens_by_hand():
    """One column everywhere, so √d_k is 1: token 0 scores 2 · (0, log 2 / 2), token 1 scores 0."""
    params = {name: np.array([[1.0], [0.0]]) for name in ("w_q.weight", "w_k.weight")}
    params["w_v.weight"] = np.array([[0.0], [3.0]])
    x = np.array([[2.0, 1.0], [np.log(2) / 2, 4.0]])
    attended = self_attention(x, params)
    own, other = np.exp(4), 2.0
    assert_agree(attended.weights[0], np.array([own, other]) / (own + other), 1e-12)
    assert_agree(attended.output[0, 0], np.array((own * 3 + other * 12) / (own + other)), 1e-12)


def test_the_scale_is_the_root_of_d_k_not_of_d_model():
    x, params = drawn(3)
    query, key = x @ params["w_q.weight"], x @ params["w_k.weight"]
    powers = np.exp(query @ key.T / 5**0.5)
    assert_agree(self_attention(x, params).weights, powers / powers.sum(axis=1, keepdims=True), 1e-12)


def test_leading_axes_are_independent_sentences():
    x, params = drawn(4)
    batch = np.stack([x, x[::-1], 2 * x])
    attended = self_attention(batch, params)
    assert attended.output.shape == (3, 4, 7)
    for one, together in zip(batch, attended.output, strict=True):
        assert_agree(together, self_attention(one, params).output, 1e-12)


# ---- order ----------------------------------------------------------------------------------------------------------


@given(st.permutations(range(6)), st.integers(0, 100))
def test_shuffled_tokens_give_the_same_rows_shuffled(order, seed):
    x, params = drawn(6, seed)
    plain, shuffled = self_attention(x, params), self_attention(x[list(order)], params)
    assert_agree(shuffled.output, plain.output[list(order)], 1e-12, "output")
    assert_agree(shuffled.weights, plain.weights[np.ix_(order, order)], 1e-12, "weights")


def test_a_causal_mask_knows_the_order():
    x, params = drawn(4)
    plain = self_attention(x, params, causal_mask(x, x)).output
    backwards = self_attention(x[::-1], params, causal_mask(x, x)).output
    assert np.abs(backwards[::-1] - plain).max() > 0.1


# ---- the causal mask ------------------------------------------------------------------------------------------------


@given(st.integers(2, 8), st.integers(0, 100), st.data())
def test_a_later_token_changes_no_earlier_output_not_even_in_the_last_bit(n, seed, data):
    x, params = drawn(n, seed)
    x *= 0.2  # so small that no weight vanishes
    t = data.draw(st.integers(1, n - 1))
    changed = x.copy()
    changed[t] *= -3
    before, after = (self_attention(tokens, params, causal_mask(tokens, tokens)).output for tokens in (x, changed))
    assert np.array_equal(before[:t], after[:t])
    assert not np.array_equal(before[t], after[t])


@fault("ATT-10")
def test_with_equal_scores_each_token_averages_itself_and_what_came_before():
    params = {"w_q.weight": np.zeros((3, 2)), "w_k.weight": np.zeros((3, 2)), "w_v.weight": np.diag([1.0, 1.0, 1.0])}
    weights = self_attention(np.diag([1.0, 2.0, 3.0]), params, causal_mask(np.zeros((3, 1)), np.zeros((3, 1)))).weights
    assert_agree(weights, np.array([[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]]), 1e-12)


def test_one_pass_with_the_mask_is_a_pass_over_each_beginning():
    trace = examples.causal_self_attention()
    for t in range(1, 5):
        beginning = trace.run({"tgt": trace["tgt"][:t]})
        assert_agree(beginning["attention.output"], trace["attention.output"][:t], 1e-12)


# ---- the padding mask -----------------------------------------------------------------------------------------------


@fault("ATT-22")
def test_padding_hides_keys_and_leaves_the_rows_of_padded_tokens_finite():
    x, params = drawn(4)
    attended = self_attention(x, params, padding_mask(np.array([1, 2, 3, 0]), pad_id=0))
    assert not attended.weights[:, 3].any()
    assert_agree(attended.output[:3], self_attention(x[:3], params).output, 1e-12)
    assert_agree(attended.weights[3].sum(), np.array(1.0), 1e-12)
    assert np.isfinite(attended.output).all()


def test_a_sentence_of_padding_gives_zeros():
    trace = examples.padded_self_attention().run({"src": np.zeros(5, dtype=int)})
    assert not trace["weights"].any()
    assert not trace["attention.output"].any()


# ---- the examples are as designed -----------------------------------------------------------------------------------


def test_beings_ask_for_the_action_and_the_action_for_the_beings():
    weights = examples.self_attention()["weights"]
    tom, chase, jerry = range(3)
    assert weights[tom].argmax() == weights[jerry].argmax() == chase
    assert weights[[tom, jerry], chase].min() > 0.75
    assert weights[chase, chase] < 0.1
    assert weights[chase, [tom, jerry]].min() > 0.4


@pytest.mark.parametrize(("word", "topic", "other"), [("swim", WATER, MONEY), ("pay", MONEY, WATER),
                                                      ("river", WATER, MONEY), ("loan", MONEY, WATER)])  # fmt: skip
def test_bank_takes_its_meaning_from_the_word_that_tells(word, topic, other):
    trace = examples.self_attention_in_context().run({"src": f"Jerry {word} bank"})
    assert trace["weights"][2].argmax() == 1
    assert trace["weights"][2, 1] > 0.7
    assert trace["attention.output"][2, topic] > 1.3
    assert abs(trace["attention.output"][2, other]) < 0.2


def test_the_vector_of_bank_before_attention_is_the_same_in_every_sentence():
    trace = examples.self_attention_in_context()
    assert np.array_equal(trace["x"][2], trace.run({"src": "Jerry pay bank"})["x"][2])


def test_without_the_causal_mask_the_verb_looks_at_the_word_it_has_to_predict():
    trace = examples.causal_self_attention().with_breaks(*mistakes.CAUSAL)
    leaking = trace.broken(mistakes.CAUSAL[0].name)["weights"]
    assert leaking[2].argmax() == 3
    assert trace["weights"][2].argmax() == 1


@pytest.mark.parametrize("array", [examples.EMBEDDING, examples.TARGET_EMBEDDING, *PARAMS.values()])
def test_designed_numbers_have_at_most_two_decimals_and_are_no_identity(array):
    assert np.array_equal(array, array.round(2))
    assert not all(row.sum() == row.max() == 1 for row in array)


@pytest.mark.parametrize("name", [n for n in examples.EXAMPLES if "self_attention" in n])
@pytest.mark.parametrize("ids", [[2], [3, 1], [5, 4, 3, 2, 1, 4, 3]])
def test_a_program_rerun_at_another_length_equals_a_fresh_call(name, ids):
    trace = examples.EXAMPLES[name]()
    tokens = "tgt" if name.startswith("causal") else "src"
    again = trace.run({tokens: np.array(ids)})
    x = trace["word_vectors"][ids]
    mask = {"c": causal_mask(x, x), "p": padding_mask(np.array(ids), pad_id=0)}.get(name[0])
    fresh = self_attention(x, PARAMS, mask)
    assert np.array_equal(again["attention.output"], fresh.output)
    assert np.array_equal(again["weights"], fresh.weights)


def test_recording_changes_no_bit():
    x, params = drawn(4)
    with record() as trace:
        leaves = {name: leaf(name, array, ("d_model", name)) for name, array in params.items()}
        self_attention(leaf("x", x, ("tgt", "d_model")), leaves)
    assert np.array_equal(trace["attention.output"], self_attention(x, params).output)
    assert [tensor.name for tensor in trace.tensors][4:7] == [f"self_attention.{r}" for r in ("query", "key", "value")]


# ---- the checks can fail --------------------------------------------------------------------------------------------


def test_the_check_for_the_future_names_who_sees_it():
    trace = examples.causal_self_attention()
    CHECKS["no_future_is_seen"](trace)
    # A mask that is right in all cells but one.
    mask = trace["causal_mask"].copy()
    mask[1, 3] = True
    with pytest.raises(AssertionError, match="汤姆 can see the word at position 3"):
        CHECKS["no_future_is_seen"](trace.run({"causal_mask": mask}))


@pytest.mark.parametrize("role", ["query", "key", "value"])
def test_the_check_for_projections_finds_each_role(role):
    wrong = Break("wrong", Edit(role, inputs=("x", f"w_{'k' if role == 'query' else 'q'}.weight")), "…", "…")
    with pytest.raises(AssertionError, match=f"The {role} is not x times"):
        CHECKS["each_role_has_its_own_projection"](examples.self_attention().with_breaks(wrong).broken("wrong"))


@fault("ATT-15")
def test_dividing_by_the_root_of_d_model_is_caught():
    trace = examples.self_attention().with_breaks(*mistakes.SELF_ATTENTION)
    with pytest.raises(AssertionError, match="√d_k"):
        CHECKS["scores_are_divided_by_root_d_k"](trace.broken("Divide by the root of d_model"))


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_errors_name_what_is_wrong():
    x, params = drawn(4)
    with pytest.raises(ValueError, match=r"x has shape \(10,\); it must be"):
        self_attention(x[0], params)
    with pytest.raises(TypeError, match="mask must be boolean"):
        self_attention(x, params, causal_mask(x, x).astype(float))
    with pytest.raises(ValueError, match=r"mask has shape \(3, 3\); for 4 queries and 4 keys"):
        self_attention(x, params, causal_mask(x[1:], x[1:]))
    with pytest.raises(ValueError, match=r"matmul: a is \(4, 10\) and b is \(9, 5\)"):
        self_attention(x, params | {"w_k.weight": params["w_k.weight"][1:]})
    x[2, 1] = np.nan
    with pytest.raises(ValueError, match=r"not finite at \(2, 1\)"):
        self_attention(x, params)


def test_inputs_are_not_changed():
    x, params = drawn(4)
    copies = x.copy(), {name: array.copy() for name, array in params.items()}
    self_attention(x, params, causal_mask(x, x))
    assert np.array_equal(x, copies[0])
    assert all(np.array_equal(params[name], copies[1][name]) for name in params)


# ---- exercises ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("parameters", 170),
        ("causal_weights", [1 / 3, 1 / 3, 1 / 3, 0]),
        ("shuffled", 2),
        ("crossover", 96),
        ("leak", 1),
    ],
)
def test_the_answers_are_those_worked_out_by_hand(name, answer):
    assert exercises.check(f"self_attention.{name}", answer).right
