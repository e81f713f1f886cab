"""Evaluation: alignment error, bootstrap, exact match and perplexity, each against numbers from another source."""

import math

import numpy as np
import pytest
import torch

from stepformer import nn
from stepformer.data.pair import Pair
from stepformer.evaluate import exact
from stepformer.evaluate.alignment import AlignmentError, alignment_error, diagonal, links, punctuation, without
from stepformer.evaluate.bleu import from_statistics, statistics
from stepformer.evaluate.bootstrap import bootstrap, paired_bootstrap, share
from stepformer.evaluate.perplexity import perplexity

# ---- alignment error ----------------------------------------------------------------------------------------------


def test_alignment_error_by_hand():
    sure, possible = {(0, 0), (1, 2)}, {(0, 0), (1, 2), (2, 1), (2, 2)}
    found = {(0, 0), (1, 1), (2, 2)}  # one sure, one wrong, one possible
    error = alignment_error([found], [sure], [possible])
    assert error == AlignmentError(links=3, sure=2, sure_found=1, possible_found=2)
    assert error.rate == 1 - (1 + 2) / (3 + 2)
    assert (error.precision, error.recall) == (2 / 3, 1 / 2)


def test_alignment_error_of_the_sure_links_and_of_any_possible_ones_added_is_0():
    sure, possible = {(0, 0), (1, 2)}, {(2, 1)}  # possible may be given without the sure ones
    for found in (sure, sure | possible):
        assert alignment_error([found], [sure], [possible]).rate == 0
    assert alignment_error([{(5, 5)}], [sure], [possible]).rate == 1


def test_without_possible_links_it_is_one_minus_the_f_score():
    sure, found = {(i, i) for i in range(7)}, {(i, i) for i in range(3, 10)}
    error = alignment_error([found], [sure], [sure])
    f_score = 2 * error.precision * error.recall / (error.precision + error.recall)
    assert error.rate == pytest.approx(1 - f_score)


def test_counts_of_sentences_are_added():
    right, wrong = ({(0, 0)}, {(0, 0)}, ()), ({(0, 1), (1, 1), (2, 1)}, {(0, 0)}, ())
    assert alignment_error(*zip(right, wrong, strict=True)).rate == 1 - 2 / 6


def test_links_are_read_row_by_row():
    weights = np.array([[0.1, 0.7, 0.2], [0.4, 0.2, 0.4]])
    assert links(weights) == {(0, 1), (1, 0)}
    assert links(np.zeros((2, 0))) == set()
    assert without({(0, 1), (1, 0), (2, 2)}, targets={0}, sources={2}) == {(1, 0)}
    assert punctuation(["Tom", "'s", "cat", ",", "。", "3"]) == {3, 4}


@pytest.mark.parametrize(("n_tgt", "n_src"), [(3, 3), (4, 2), (2, 5), (3, 0), (1, 1)])
def test_the_diagonal_is_the_line_through_the_middles_of_the_words(n_tgt, n_src):
    expected = {(i, math.floor((i + 0.5) / n_tgt * n_src)) for i in range(n_tgt) if n_src}
    assert diagonal(n_tgt, n_src) == expected


def test_alignment_refuses_what_says_nothing():
    with pytest.raises(ValueError, match=r"no link, neither a found nor a sure one"):
        alignment_error([set()], [set()], [set()])
    with pytest.raises(ValueError, match=r"one head's matrix \(n_tgt, n_src\)"):
        links(np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match=r"zip"):
        alignment_error([set()], [], [])


# ---- bootstrap ----------------------------------------------------------------------------------------------------


def right(n_right: int, n: int) -> np.ndarray:
    return np.array([[i < n_right, 1] for i in range(n)], dtype=int)


def test_the_interval_of_a_share_is_that_of_the_binomial_distribution():
    interval = bootstrap(right(140, 200), share, np.random.default_rng(0), n_samples=4000)
    reach = 1.96 * math.sqrt(0.7 * 0.3 / 200)
    assert interval.value == 0.7
    assert (interval.low, interval.high) == pytest.approx((0.7 - reach, 0.7 + reach), abs=0.01)


def test_the_interval_holds_the_true_value_as_often_as_it_says():
    """100 test sets of 50 sentences, of which 60 % are right in truth; a 90 % interval misses about 10 times."""
    draws, chance = np.random.default_rng(1), np.random.default_rng(2)
    held = 0
    for _ in range(100):
        sample = right(int(draws.binomial(50, 0.6)), 50)
        interval = bootstrap(sample, share, chance, n_samples=200, level=0.9)
        held += interval.low <= 0.6 <= interval.high
    assert 80 <= held <= 98


def test_drawing_counts_is_drawing_sentences():
    """The score of a drawn test set is that of its sentences, looked up one by one."""
    texts = [("猫追鼠。", "猫追鼠。"), ("猫猫。", "猫追鼠。"), ("狗追", "狗追猫。"), ("鼠追猫。", "猫追鼠。")]
    counts = np.array([statistics(list(h), list(r)) for h, r in texts])
    seen = []
    bootstrap(counts, lambda total: seen.append(total) or 0.0, np.random.default_rng(3), n_samples=20)
    chosen = np.random.default_rng(3).multinomial(4, [0.25] * 4, size=20)
    for total, times in zip(seen[:20], chosen, strict=True):
        rows = [statistics(list(h), list(r)) for (h, r), n in zip(texts, times, strict=True) for _ in range(n)]
        assert total.tolist() == sum(rows).tolist()
        assert 0 <= from_statistics(total).score <= 100


def test_pairs_are_surer_than_two_intervals():
    """b is right wherever a is, and on ten sentences more: that is no chance, though the two intervals overlap."""
    a, b = right(140, 200), right(130, 200)
    single = [bootstrap(x, share, np.random.default_rng(4)) for x in (a, b)]
    assert single[0].low < single[1].high
    compared = paired_bootstrap(a, b, share, np.random.default_rng(4))
    assert compared.difference.value == pytest.approx(0.05)
    assert compared.difference.low > 0
    assert compared.share_better > 0.99
    assert paired_bootstrap(a, a, share, np.random.default_rng(4)).share_better == 0.5
    assert paired_bootstrap(b, a, share, np.random.default_rng(4)).difference.value == pytest.approx(-0.05)


def test_the_same_generator_gives_the_same_interval():
    twice = [bootstrap(right(3, 9), share, np.random.default_rng(5)) for _ in range(2)]
    assert twice[0] == twice[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"statistics": np.zeros((0, 2))}, r"statistics has shape \(0, 2\); it must be \(n, k\)"),
        ({"n_samples": 0}, "n_samples is 0"),
        ({"level": 1.0}, r"level is 1\.0; it must be above 0 and below 1"),
    ],
)
def test_bootstrap_refuses(change, message):
    given = {"statistics": right(1, 2), "score": share, "generator": np.random.default_rng(0)} | change
    with pytest.raises(ValueError, match=message):
        bootstrap(**given)


def test_pairs_must_be_about_the_same_sentences():
    with pytest.raises(ValueError, match=r"a has shape \(3, 2\) and b \(2, 2\)"):
        paired_bootstrap(right(1, 3), right(1, 2), share, np.random.default_rng(0))


# ---- exact match --------------------------------------------------------------------------------------------------


def pair(source: str, target: str = "x", phenomena=(), clauses=0) -> Pair:
    return Pair(source, target, tuple(source.split()), tuple(target), phenomena=frozenset(phenomena), clauses=clauses)


PAIRS = [
    pair("a b c .", phenomena=["negation"], clauses=1),
    pair("a .", phenomena=["negation", "question"], clauses=2),
    pair("a b c d e f .", clauses=1),
    pair(""),
]


def test_groups():
    assert exact.by_phenomenon(PAIRS) == [("negation", (0, 1)), ("question", (1,))]
    assert exact.by_clauses(PAIRS) == [("1 clause", (0, 2)), ("2 clauses", (1,))]
    assert exact.by_length(PAIRS) == [("1–3 words", (1, 3)), ("4–6 words", (0,)), ("7–9 words", (2,))]
    assert exact.by_length(PAIRS[:2], width=1) == [("2 words", (1,)), ("4 words", (0,))]
    with pytest.raises(ValueError, match="width is 0"):
        exact.by_length(PAIRS, width=0)


def test_exact_means_every_character_but_spaces_at_the_ends():
    assert exact.is_exact("汤姆。 ", "汤姆。")
    assert not exact.is_exact("汤姆.", "汤姆。")
    assert not exact.is_exact("", "汤姆。")


# ---- perplexity and attention: what only a model can tell ---------------------------------------------------------


class Guesser(torch.nn.Module):
    """Says the same probabilities everywhere; where it is told, it takes the length of the source for a word."""

    def __init__(self, probabilities):
        super().__init__()
        self.logits = torch.nn.Parameter(torch.tensor(probabilities).log())
        self.modes = []

    def forward(self, src, tgt):
        self.modes.append(self.training)
        return self.logits.expand(*tgt.shape, -1)


def test_perplexity_by_hand():
    """Words 4 and 5 have 1/2 and 1/8, <eos> 1/4: three tokens and two, and every token counts the same."""
    model = Guesser([1e-9, 1e-9, 0.25, 1e-9, 0.5, 0.125, 0.125])
    result = perplexity(model, [([4], [4, 5]), ([4, 4, 4], [4])])
    losses = [math.log(2), math.log(8), math.log(4), math.log(2), math.log(4)]
    assert result.tokens == 5
    assert result.loss == pytest.approx(sum(losses) / 5, rel=1e-6)
    assert result.value == pytest.approx(math.exp(sum(losses) / 5), rel=1e-6)
    assert model.modes == [False]
    assert model.training  # it is left in the mode it was in


@pytest.fixture(scope="module")
def model():
    seed = torch.Generator().manual_seed(0)
    model = nn.Transformer(9, 11, 8, 2, 2, 12, max_len=12, generator=seed).double()
    with torch.no_grad():  # far from uniform, so that a wrong row or column shows
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=seed, dtype=torch.float64))
    return model


IDS = [([4, 5, 6], [4, 5, 6, 7]), ([8], [9, 10]), ([4, 8, 7, 6, 5], [5]), ([6, 6], [])]


@pytest.mark.parametrize("batch_size", [1, 2, 3, 64])
def test_perplexity_is_that_of_the_sentences_one_by_one(model, batch_size):
    total = count = 0
    for source, target in IDS:
        with torch.no_grad():
            logits = model.eval()(torch.tensor([[*source, 2]]), torch.tensor([[1, *target]]))
        count += len(target) + 1
        total += (len(target) + 1) * nn.cross_entropy(logits, torch.tensor([[*target, 2]]), pad_id=0).item()
    result = perplexity(model, IDS, batch_size)
    assert (result.loss, result.tokens) == (pytest.approx(total / count, rel=1e-12), count)


def test_nothing_has_no_perplexity(model):
    with pytest.raises(ValueError, match="pairs is empty"):
        perplexity(model, [])
    with pytest.raises(ValueError, match="batch_size is 0"):
        perplexity(model, IDS, 0)
