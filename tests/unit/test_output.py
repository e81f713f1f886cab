"""What the chapter on the output shows: numbers by hand, choosing words, losses, and that its checks can fail."""

import numpy as np
import pytest
from agreement import assert_agree
from helpers import fault
from hypothesis import given
from hypothesis import strategies as st

from stepformer import examples, exercises, leaf, mistakes, ops, record
from stepformer.checks import CHECKS
from stepformer.reference.embedding import embedding
from stepformer.reference.loss import cross_entropy, cross_entropy_gradient, smoothed_cross_entropy
from stepformer.reference.masks import causal_mask
from stepformer.reference.sampling import draw, top_k, top_p
from stepformer.reference.self_attention import self_attention
from stepformer.trace import TraceError

WORDS = examples.OUTPUT_WORDS
AFTER_TOM = examples.OUTPUT_LOGITS[1]
PAD = 0
seeds = st.integers(0, 1000)


def drawn(seed, n=4, vocab_size=6, scale=2.0):
    """Logits, and targets of which the first is a word and the last is padding."""
    rng = np.random.default_rng(seed)
    targets = np.concatenate([[1], rng.integers(vocab_size, size=n - 2), [PAD]])
    return scale * rng.normal(size=(n, vocab_size)), targets


def entropy(q):
    q = q[q > 0]
    return -(q * np.log(q)).sum()


# ---- choosing by hand -----------------------------------------------------------------------------------------------


def test_top_k_and_top_p_keep_the_right_words_and_share_the_rest_in_proportion():
    logits = np.log([0.1, 0.4, 0.2, 0.3])
    assert_agree(top_k(logits, np.array(2)), np.array([0, 4 / 7, 0, 3 / 7]), 1e-12)
    assert_agree(top_p(logits, np.array(0.6)), np.array([0, 4 / 7, 0, 3 / 7]), 1e-12)
    assert_agree(top_p(logits, np.array(0.4 - 1e-9)), np.array([0, 1.0, 0, 0]), 1e-12)
    assert_agree(top_p(logits, np.array(0.95)), np.array([0.1, 0.4, 0.2, 0.3]), 1e-12)


def test_of_equal_words_the_first_is_kept():
    assert ops.keep_top_k(np.array([1.0, 2.0, 2.0, 2.0]), np.array(2)).tolist() == [False, True, True, False]
    assert ops.keep_top_p(np.array([0.25, 0.25, 0.25, 0.25]), np.array(0.5)).tolist() == [True, True, False, False]


@given(seeds, st.integers(1, 8), st.floats(0.01, 1))
def test_what_is_kept_is_the_top_and_sums_to_one(seed, k, p):
    logits = np.random.default_rng(seed).normal(size=(3, 6))
    shares = ops.softmax(logits)
    for filtered in (top_k(logits, np.array(k)), top_p(logits, np.array(p))):
        assert_agree(filtered.sum(axis=-1), np.ones(3), 1e-12)
        smallest_kept = np.where(filtered > 0, shares, 2).min(axis=-1)
        assert (smallest_kept > np.where(filtered > 0, 0, shares).max(axis=-1)).all()
    assert ((top_k(logits, np.array(k)) > 0).sum(axis=-1) == min(k, 6)).all()
    nucleus = np.where(top_p(logits, np.array(p)) > 0, shares, 0)
    assert (nucleus.sum(axis=-1) >= p - 1e-12).all()
    without_the_last = nucleus.sum(axis=-1) - np.where(nucleus > 0, nucleus, 2).min(axis=-1)
    assert (without_the_last < p + 1e-12).all(), "one word fewer would have been enough"


@given(seeds, st.floats(0.05, 20))
def test_temperature_never_changes_the_order(seed, temperature):
    logits = np.random.default_rng(seed).normal(size=6)
    tempered = ops.softmax(logits / temperature)
    assert (np.argsort(tempered, kind="stable") == np.argsort(logits, kind="stable")).all()


def test_draws_come_as_often_as_the_probabilities_say():
    """Within five standard deviations of a binomial count: a right sampler fails this once in a million words."""
    p = ops.softmax(AFTER_TOM)
    n = 20_000
    counts = np.bincount(draw(np.tile(p, (n, 1)), np.random.default_rng(3)), minlength=13)
    assert (np.abs(counts - n * p) <= 5 * np.sqrt(n * p * (1 - p)) + 1).all()
    assert counts.sum() == n


def test_a_draw_is_repeatable_and_never_takes_what_was_left_out():
    p = top_p(AFTER_TOM, np.array(0.9))
    first, again = (draw(np.tile(p, (500, 1)), np.random.default_rng(1)) for _ in range(2))
    assert (first == again).all()
    assert set(first) <= set(np.flatnonzero(p))
    assert draw(np.array([0.0, 1.0, 0.0]), np.random.default_rng(0)) == 1


@pytest.mark.parametrize("p", [[0.5, 0.4], [1.5, -0.5], [0.5, np.nan]])
def test_a_draw_refuses_what_is_no_distribution(p):
    with pytest.raises(ValueError, match=r"0 or more and sum to 1"):
        draw(np.array(p), np.random.default_rng(0))


# ---- the loss by hand -----------------------------------------------------------------------------------------------


@fault("LS-04")
def test_the_conventions_of_label_smoothing_give_different_losses():
    """Ours is ε/V. With ε/(V − 1), the right word takes no share of what it gives away."""
    logits, targets = np.array([[2.0, 1.0, 0.0, -1.0]]), np.array([0])

    def loss(smoothing):
        return smoothed_cross_entropy(logits, targets, np.array(smoothing), pad_id=3)

    assert_agree(loss(0.1), np.array(0.5901897), 1e-7)
    assert_agree(loss(0.0), np.array(0.4401897), 1e-7)
    others_only = ops.soft_cross_entropy(logits, np.array([[0.9, *[0.1 / 3] * 3]]))
    assert_agree(others_only, np.array([0.6401897]), 1e-7)


@fault("LS-02")
def test_a_row_of_padding_is_zero_and_costs_nothing():
    """Five words, two of them to be predicted, all thought equally probable: each costs log 5."""
    targets = np.array([2, 1, 0])
    with record() as trace:
        logits, ids = leaf("logits", np.full((3, 5), 0.3), ("n", "v")), leaf("targets", targets, "n")
        smoothed_cross_entropy(logits, ids, leaf("smoothing", np.array(0.4), ()), pad_id=PAD)
    assert_agree(trace["target_rows"], np.array([[0.08] * 5, [0.08] * 5, [0] * 5]) + np.eye(5)[[2, 1, 4]] * 0.6
                 - np.outer([0, 0, 1], np.eye(5)[4]) * 0.6, 1e-12)  # fmt: skip
    assert_agree(trace["losses"], np.log(5) * np.array([1.0, 1.0, 0.0]), 1e-12)
    assert trace["loss.count"] == 2
    assert_agree(trace["loss.mean"], np.array(np.log(5)), 1e-12)


@fault("LS-02")
def test_as_a_divergence_with_no_share_for_padding():
    """Another convention that is in use: ε/(V − 2), and the entropy of the target taken off the loss."""
    q = np.array([[0, 0.4 / 3, 0.6, 0.4 / 3, 0.4 / 3], [0, 0.6, 0.4 / 3, 0.4 / 3, 0.4 / 3], [0.0] * 5])
    divergence = ops.soft_cross_entropy(np.zeros((3, 5)), q) - [entropy(row) for row in q]
    assert_agree(divergence, np.array([0.4969813, 0.4969813, 0]), 1e-7)
    assert_agree(divergence.sum(), np.array(0.9939627), 1e-7)


@fault("LS-03")
def test_a_word_thought_impossible_costs_much_but_the_loss_stays_finite():
    logits = np.array([[0.0, 900.0, -900.0]])
    assert ops.softmax(logits)[0, 0] == 0
    assert_agree(cross_entropy(logits, np.array([0]), pad_id=1), np.array(900.0), 1e-12)
    assert_agree(smoothed_cross_entropy(logits, np.array([1]), np.array(0.3), pad_id=0), np.array(0.1 * 2700), 1e-12)


def test_no_padding_and_no_smoothing_give_the_plain_loss():
    logits, targets = drawn(0)
    plain = cross_entropy(logits[:-1], targets[:-1] + (targets[:-1] == PAD))
    targets = np.where((targets == PAD) & (np.arange(4) < 3), 1, targets)
    assert_agree(cross_entropy(logits, targets, PAD), plain, 1e-12)
    assert_agree(smoothed_cross_entropy(logits, targets, np.array(0.0), PAD), plain, 1e-12)


def test_in_a_batch_tokens_count_and_not_sentences():
    """Three words cost 1 each, one word costs 5: the mean is 2, and not 3."""
    logits = np.log(np.array([[[np.e, 1]] * 3, [[np.e**5, 1]] * 3]) / 1.0)
    targets = np.array([[1, 1, 1], [1, 0, 0]])
    losses = np.log1p(np.exp([1.0, 5.0]))
    assert_agree(cross_entropy(logits, targets, PAD), np.array((3 * losses[0] + losses[1]) / 4), 1e-12)


def test_perplexity_counts_words():
    """Blind guessing among V words has the perplexity V; a perfect model has 1."""
    for size in (2, 13, 100):
        loss = cross_entropy(np.full((3, size), 0.4), np.array([1, 1, 0]), PAD)
        assert_agree(ops.exp(loss), np.array(float(size)), 1e-12)
    assert_agree(ops.exp(cross_entropy(800 * np.eye(3), np.arange(3))), np.array(1.0), 1e-12)


# ---- what holds for all numbers -------------------------------------------------------------------------------------


@given(seeds)
def test_what_the_model_says_where_the_target_is_padding_changes_nothing(seed):
    logits, targets = drawn(seed)
    other = np.where((targets == PAD)[:, None], 9 * np.random.default_rng(seed + 1).normal(size=logits.shape), logits)
    for loss in (cross_entropy, lambda *a: smoothed_cross_entropy(*a[:2], np.array(0.1), a[2])):
        assert loss(other, targets, PAD) == loss(logits, targets, PAD)
    gradients = [cross_entropy_gradient(z, targets, PAD) for z in (logits, other)]
    assert (gradients[0] == gradients[1]).all()
    assert (gradients[0][targets == PAD] == 0).all()
    assert (gradients[0][targets != PAD] != 0).all()


@given(seeds)
def test_the_gradient_over_tokens_is_the_slope_of_the_loss(seed):
    logits, targets = drawn(seed)
    slopes = np.zeros(logits.shape)
    for cell in np.ndindex(logits.shape):
        nudge = np.zeros(logits.shape)
        nudge[cell] = 1e-5
        rise = cross_entropy(logits + nudge, targets, PAD) - cross_entropy(logits - nudge, targets, PAD)
        slopes[cell] = rise / 2e-5
    assert_agree(cross_entropy_gradient(logits, targets, PAD), slopes, 1e-8)


@given(seeds, st.floats(0, 1))
def test_no_model_gets_below_the_entropy_of_the_smoothed_target(seed, smoothing):
    logits, targets = drawn(seed)
    q = ops.smooth(np.eye(6)[1], np.array(smoothing))
    floor = entropy(q)
    assert smoothed_cross_entropy(logits, targets, np.array(smoothing), PAD) >= floor - 1e-12
    best = smoothed_cross_entropy(np.log(q[None] + 1e-300), np.array([1]), np.array(smoothing), PAD)
    assert_agree(best, np.array(floor), 1e-9)


@fault("LS-08")
def test_an_end_mark_left_in_the_input_of_a_shorter_sentence_changes_nothing():
    """tgt[:, :-1] keeps <eos> in the shorter row; its target is padding, and no earlier position may look at it."""
    tgt = np.array([[1, 4, 5, 2, 0], [1, 4, 5, 6, 2]])
    tgt_in, tgt_out = tgt[:, :-1], tgt[:, 1:]
    assert tgt_in.tolist() == [[1, 4, 5, 2], [1, 4, 5, 6]]
    assert tgt_out.tolist() == [[4, 5, 2, 0], [4, 5, 6, 2]]
    assert ops.count_tokens(tgt_out, pad_id=PAD) == 7

    rng = np.random.default_rng(8)
    table, weight, bias = rng.normal(size=(7, 5)), rng.normal(size=(3, 7)), rng.normal(size=7)
    projections = {f"w_{role}.weight": rng.normal(size=(5, 3)) for role in "qkv"}

    def loss(tokens):
        x = embedding(tokens, {"weight": table})
        attended = self_attention(x, projections, causal_mask(x, x)).output
        logits = ops.linear(attended, weight, bias)
        smoothed = smoothed_cross_entropy(logits, tgt_out, np.array(0.1), PAD)
        return np.array([cross_entropy(logits, tgt_out, PAD), smoothed])

    padded = tgt_in.copy()
    padded[0, 3] = PAD
    assert (loss(padded) == loss(tgt_in)).all()
    padded[0, 2] = PAD  # a word whose target counts does make a difference
    assert (loss(padded) != loss(tgt_in)).all()


# ---- the examples are as designed -----------------------------------------------------------------------------------


def test_the_right_word_is_the_most_probable_one_at_every_position():
    trace = examples.output()
    found = trace["probabilities"].argmax(axis=1)
    assert [WORDS[i] for i in found] == ["汤姆", "追逐", "杰瑞", "<eos>"]
    assert (trace["most_probable"] == np.eye(13)[found]).all()
    assert trace["probabilities"].max() < 0.65, "there is something left to choose from"


def test_after_tom_come_actions_and_actions_with_motion_first():
    p = dict(zip(WORDS, ops.softmax(AFTER_TOM), strict=True))
    ranked = sorted(p, key=p.get, reverse=True)
    assert ranked[:5] == ["追逐", "跑", "抓住", "看见", "喜欢"]
    assert max(p["<pad>"], p["<bos>"]) < 0.005


def test_top_k_and_top_p_keep_different_numbers_of_words_in_the_example():
    trace = examples.sampling()
    assert trace["top_k.kept"].sum() == 3
    assert trace["top_p.kept"].sum() == 4
    sure = trace.run({"logits": examples.OUTPUT_LOGITS[2] * 2})
    assert sure["top_k.kept"].sum() == 3
    assert sure["top_p.kept"].sum() == 1


def test_the_output_shares_its_table_with_the_embedding_of_the_target():
    trace = examples.output()
    assert (examples.OUTPUT_EMBEDDING[:6] == examples.TARGET_EMBEDDING).all()
    assert (trace["output.weight"] == examples.OUTPUT_EMBEDDING.T).all()
    moved = trace.run({"tgt_embedding.weight": examples.OUTPUT_EMBEDDING + 1})
    assert_agree(moved["logits"] - trace["logits"], np.tile(trace["x"].sum(axis=1)[:, None], 13), 1e-12)


@pytest.mark.parametrize("array", [examples.OUTPUT_EMBEDDING, examples.OUTPUT_BIAS, examples.DECODER_OUTPUT])
def test_designed_numbers_have_at_most_two_decimals(array):
    assert np.array_equal(array, array.round(2))


def test_the_logits_are_those_of_the_last_layer():
    assert_agree(examples.output()["logits"], examples.OUTPUT_LOGITS[:4], 1e-12)
    assert np.array_equal(examples.OUTPUT_LOGITS, examples.OUTPUT_LOGITS.round(2))


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_program_rerun_at_another_length_equals_a_fresh_call(n):
    rng = np.random.default_rng(n)
    logits, targets = rng.normal(size=(n, 13)), rng.integers(1, 13, size=n)
    plain = examples.padded_loss().run({"logits": logits, "targets": targets})
    assert plain["loss.mean"] == cross_entropy(logits, targets, PAD)
    smoothed = examples.smoothed_loss().run({"logits": logits, "targets": targets, "smoothing": 0.3})
    assert smoothed["loss.mean"] == smoothed_cross_entropy(logits, targets, np.array(0.3), PAD)
    x = rng.normal(size=(n, 10))
    expected = ops.linear(x, examples.OUTPUT_EMBEDDING.T, examples.OUTPUT_BIAS)
    assert (examples.output().run({"x": x})["logits"] == expected).all()


def test_recording_changes_no_bit():
    logits, targets = drawn(2)
    with record() as trace:
        leaves = leaf("logits", logits, ("n", "v")), leaf("targets", targets, "n")
        smoothed_cross_entropy(*leaves, leaf("smoothing", np.array(0.2), ()), PAD)
        cross_entropy_gradient(*leaves, PAD)
        top_k(leaves[0], leaf("k", np.array(2.0), ()))
        top_p(leaves[0], leaf("p", np.array(0.7), ()))
    assert trace["loss.mean"] == smoothed_cross_entropy(logits, targets, np.array(0.2), PAD)
    assert (trace["logits_gradient"] == cross_entropy_gradient(logits, targets, PAD)).all()
    assert (trace["top_k.probabilities"] == top_k(logits, np.array(2.0))).all()
    assert (trace["top_p.probabilities"] == top_p(logits, np.array(0.7))).all()


# ---- the mistakes do what their symptoms say ------------------------------------------------------------------------


def test_the_symptoms_of_the_chapter():
    chase = WORDS.index("追逐")
    sampling = examples.sampling().with_breaks(*mistakes.SAMPLING)
    turned, zeroed, lost = (sampling.broken(switch.name) for switch in mistakes.SAMPLING)
    assert turned["probabilities"][chase] < sampling["probabilities"][chase]
    assert (zeroed["top_k.probabilities"] > 0).all()
    assert (zeroed["top_k.probabilities"] > sampling["probabilities"])[:2].all()
    assert lost["top_p.probabilities"].sum() < 0.95

    padded = examples.padded_loss().with_breaks(*mistakes.PADDED_LOSS)
    twice, counted, predicted = (padded.broken(switch.name) for switch in mistakes.PADDED_LOSS)
    assert twice["losses"][:4].min() > 2.0
    assert twice["losses"][:4].max() < 2.3
    assert_agree(counted["loss.mean"], padded["loss.mean"] * 4 / 5, 1e-12)
    assert predicted["losses"][4] > predicted["losses"][:4].sum()

    smoothed = examples.smoothed_loss().with_breaks(*mistakes.SMOOTHED_LOSS)
    wrong = smoothed.broken(mistakes.SMOOTHED_LOSS[0].name)
    assert_agree(wrong["target_rows"][4], np.full(13, 0.1 / 13), 1e-12)
    assert wrong["losses"][4] > 0


@pytest.mark.parametrize("scope", ["top_k", "top_p"])
def test_the_checks_of_the_filters_look_at_both(scope):
    trace = examples.sampling()
    name = f"{scope}.probabilities"
    with pytest.raises(AssertionError, match=f"{scope}: words that were left out"):
        CHECKS["words_left_out_get_nothing"](trace.run({name: trace["probabilities"]}))
    with pytest.raises(AssertionError, match=f"{scope}: the words that were kept have"):
        CHECKS["kept_words_share_all_the_probability"](trace.run({name: trace["probabilities"]}))


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_errors_name_what_is_wrong():
    logits, targets = drawn(0)
    with pytest.raises(ValueError, match="targets are all padding"):
        cross_entropy(logits, np.zeros(4, dtype=int), PAD)
    with pytest.raises(ValueError, match="targets are all padding"):
        smoothed_cross_entropy(logits, np.zeros(4, dtype=int), np.array(0.1), PAD)
    with pytest.raises(ValueError, match=r"targets has shape \(2,\); for logits of shape \(4, 6\) it must be \(4,\)"):
        smoothed_cross_entropy(logits, targets[:2], np.array(0.1), PAD)
    with pytest.raises(ValueError, match="must be one number, from 0 to 1"):
        smoothed_cross_entropy(logits, targets, np.array(1.5), PAD)
    with pytest.raises(ValueError, match="must be one number, above 0"):
        top_k(logits, np.array(0))
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        top_p(logits, np.array(1.01))
    with pytest.raises((ValueError, TraceError), match=r"temperature|zero"):
        examples.sampling().run({"temperature": 0.0})


def test_a_table_tied_without_its_transpose_is_refused_because_the_sizes_differ():
    with pytest.raises(ValueError, match=r"x is \(5, 10\), weight is \(13, 10\)"):
        ops.linear(examples.DECODER_OUTPUT, examples.OUTPUT_EMBEDDING, examples.OUTPUT_BIAS)


def test_a_forbidden_word_in_a_padded_row_does_no_harm():
    """A model may give <pad> the logit −∞: it is no answer that counts."""
    logits, targets = np.array([[-np.inf, 1.0, 0.0], [-np.inf, 0.0, 2.0]]), np.array([1, 0])
    assert_agree(cross_entropy(logits, targets, PAD), np.array(np.log(1 + np.exp(-1))), 1e-12)
    with pytest.raises(ValueError, match="its loss would be infinite"):
        cross_entropy(logits, np.array([0, 1]), pad_id=2)


def test_inputs_are_not_changed():
    logits, targets = drawn(0)
    copies = logits.copy(), targets.copy()
    smoothed_cross_entropy(logits, targets, np.array(0.1), PAD)
    cross_entropy_gradient(logits, targets, PAD)
    top_p(logits, np.array(0.5))
    draw(ops.softmax(logits), np.random.default_rng(0))
    assert np.array_equal(logits, copies[0])
    assert np.array_equal(targets, copies[1])


# ---- exercises ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("logit", 2.79),
        ("temperature", [0.867, 0.117, 0.016]),
        ("top_p", [0.571, 0.429, 0, 0]),
        ("perplexity", 4),
        ("smooth", [0.84, 0.04]),
        ("mean", 0.75),
        ("floor", 1),
    ],
)
def test_the_answers_are_those_worked_out_by_hand(name, answer):
    assert exercises.check(f"output.{name}", answer).right
