"""BLEU by hand: numbers worked out on paper, and sacrebleu as the oracle."""

import math
from collections import Counter

import numpy as np
import pytest
from helpers import fault
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from stepformer.evaluate import scores
from stepformer.evaluate.bleu import (
    Bleu,
    NgramRow,
    bleu,
    brevity_penalty,
    from_statistics,
    ngram_table,
    ngrams,
    statistics,
)

# Few words, so that n-grams repeat and match; short sentences and empty ones among them.
SENTENCES = st.lists(st.sampled_from(["猫", "鼠", "追", "逐", "。"]), max_size=9)
CORPORA = st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=5)


def sacrebleu_of(corpus, smoothing: str, effective_order: bool):
    metric = BLEU(tokenize="none", smooth_method=smoothing, effective_order=effective_order)
    texts = [[" ".join(tokens) for tokens in side] for side in zip(*corpus, strict=True)]
    return metric.corpus_score(texts[0], [texts[1]])


@pytest.mark.slow
@pytest.mark.parametrize("effective_order", [False, True])
@pytest.mark.parametrize("smoothing", ["exp", "none"])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(corpus=CORPORA)
def test_every_number_is_sacrebleu_s(smoothing, effective_order, corpus):
    own = bleu(*zip(*corpus, strict=True), smoothing=smoothing, effective_order=effective_order)
    other = sacrebleu_of(corpus, smoothing, effective_order)
    assert own.score == pytest.approx(other.score, rel=1e-12, abs=1e-12)
    assert own.brevity_penalty == other.bp
    assert (own.hypothesis_length, own.reference_length) == (other.sys_len, other.ref_len)
    assert [row.matches for row in own.orders] == other.counts
    assert [row.total for row in own.orders] == other.totals
    assert [100 * row.precision for row in own.orders] == pytest.approx(other.precisions)


def test_the_oracle_meets_zero_counts_short_sentences_and_the_brevity_penalty():
    """The corpora above are not all trivial: the cases that matter are drawn."""
    seen = Counter()

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(corpus=CORPORA)
    def look(corpus):
        own = bleu(*zip(*corpus, strict=True))
        seen["smoothed"] += any(row.precision and not row.matches for row in own.orders)
        seen["short"] += any(not row.total for row in own.orders)
        seen["brief"] += 0 < own.brevity_penalty < 1
        seen["clipped"] += any(
            row.clipped < row.in_hypothesis and row.clipped for h, r in corpus for row in ngram_table(h, r, 1)
        )

    look()
    assert set(seen) == {"smoothed", "short", "brief", "clipped"}
    assert min(seen.values()) >= 3


def test_the_example_of_the_paper():
    """Papineni et al. 2002, section 2.1: seven times "the" against "the cat is on the mat" counts 2 of 7."""
    hypothesis, reference = ["the"] * 7, ["the", "cat", "is", "on", "the", "mat"]
    assert ngram_table(hypothesis, reference, 1) == [NgramRow(("the",), 7, 2, 2)]
    first = bleu([hypothesis], [reference]).orders[0]
    assert (first.matches, first.total, first.precision) == (2, 7, 2 / 7)


def test_by_hand():
    hypothesis, reference = ["汤", "姆", "追", "杰", "瑞", "。"], ["汤", "姆", "追", "逐", "杰", "瑞", "。"]
    own = bleu([hypothesis], [reference])
    assert [(row.matches, row.total) for row in own.orders] == [(6, 6), (4, 5), (2, 4), (0, 3)]
    assert own.orders[3].precision == 1 / 6  # smoothed: half a match of 3
    assert own.brevity_penalty == math.exp(1 - 7 / 6)
    assert own.score == pytest.approx(100 * math.exp(-1 / 6) * (1 * 4 / 5 * 1 / 2 * 1 / 6) ** 0.25)


@fault("BLEU-01")
def test_a_text_shorter_than_the_n_grams_divides_nothing_by_zero():
    one_word, reference = [["a"]], [["a", "b", "c", "d"]]
    assert bleu(one_word, reference, max_order=2, effective_order=True).score == pytest.approx(100 * math.exp(-3))
    assert bleu(one_word, reference, max_order=2).score == 0
    for text in (["a"], ["a", "b"], ["a", "b", "c", "d"]):
        assert bleu([text], [text], effective_order=True).score == pytest.approx(100)
    assert bleu([[]], [["a"]]).score == bleu([[]], [[]]).score == 0
    assert brevity_penalty(0, 3) == 0


@fault("BLEU-03")
def test_n_grams_of_other_words_are_never_the_same():
    hypothesis, reference = ["ab", "c"], ["a", "bc"]
    assert "".join(hypothesis) == "".join(reference)
    assert statistics(hypothesis, reference, max_order=2).tolist() == [2, 2, 0, 0, 2, 1]
    assert not set(ngrams(hypothesis, 2)) & set(ngrams(reference, 2))


@fault("BLEU-04")
def test_chinese_needs_a_tokenizer_that_knows_chinese():
    reference, similar = "我喜欢吃苹果。", "我爱吃苹果。"
    for text, expected in ((reference, 100), (similar, 45.48)):
        assert scores.bleu([text], [reference]).value == pytest.approx(expected, abs=0.005)
        assert bleu([list(text)], [list(reference)]).score == pytest.approx(expected, abs=0.005)
        assert scores.bleu([text], [reference], "13a").value == 0
    assert scores.split(reference, "13a") == [reference]
    assert scores.split(reference) == list(reference)
    assert "tok:zh" in scores.bleu([reference], [reference]).signature


def test_counts_are_added_before_anything_is_divided():
    hypotheses = [["a", "b", "c", "d", "e"], ["x"]]
    references = [["a", "b", "c", "d", "e"], ["y"]]
    singles = [bleu([h], [r], effective_order=True).score for h, r in zip(hypotheses, references, strict=True)]
    assert singles == pytest.approx([100, 0])
    assert bleu(hypotheses, references).score == pytest.approx(100 * (5 / 6) ** 0.25)
    total = sum(statistics(h, r) for h, r in zip(hypotheses, references, strict=True))
    assert from_statistics(total) == bleu(hypotheses, references)


def test_a_result_has_every_number_on_the_way():
    own = bleu([["a", "b"]], [["a", "b", "c"]], max_order=2)
    assert own == Bleu(pytest.approx(100 * math.exp(-0.5)), math.exp(-0.5), own.orders, 2, 3)
    assert [tuple(row) for row in own.orders] == [(1, 2, 2, 1.0), (2, 1, 1, 1.0)]


def test_chrf_by_hand():
    """One order at a time: shares of the character n-grams, averaged; then the F-score with recall weighing double."""
    hypothesis, reference = "ab", "abc"
    precision, recall = (1 + 1) / 2, (2 / 3 + 1 / 2) / 2  # orders 1 and 2; the hypothesis has no longer ones
    expected = 100 * 5 * precision * recall / (4 * precision + recall)
    assert scores.chrf([hypothesis], [reference]).value == pytest.approx(expected)
    assert scores.chrf(["追逐"], ["追逐"]).value == pytest.approx(100)
    assert "nc:6" in scores.chrf(["a"], ["a"]).signature


def test_refusals_say_what_is_expected():
    with pytest.raises(TypeError, match=r"hypothesis is the text '汤姆'; give its tokens"):
        statistics("汤姆", ["汤", "姆"])
    with pytest.raises(ValueError, match=r"2 hypotheses and 1 references"):
        bleu([["a"], ["b"]], [["a"]])
    with pytest.raises(ValueError, match=r"0 hypotheses and 0 references"):
        scores.chrf([], [])
    with pytest.raises(ValueError, match=r"smoothing is 'add-k'; it is one of exp, none"):
        bleu([["a"]], [["a"]], smoothing="add-k")
    with pytest.raises(ValueError, match=r"max_order is 0"):
        bleu([["a"]], [["a"]], max_order=0)
    with pytest.raises(ValueError, match=r"holds 3 numbers; it must be 2 \+ 2"):
        from_statistics(np.array([1, 1, 1]))
    with pytest.raises(ValueError, match=r"tokenizer is 'mecab'; it is one of zh, 13a, char, none"):
        scores.split("a", "mecab")
