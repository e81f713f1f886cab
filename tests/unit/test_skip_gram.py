"""word2vec on the small language: pairs by hand, the loss by its formula, and classes found by training."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from helpers import only_in_test_all

from stepformer import skip_gram
from stepformer.data import toy_corpus
from stepformer.data.vectors import Vectors

NAMED = ("cat", "rabbit", "tom", "lucy", "bread", "cake", "garden", "school", "red", "eats")
"""The ten words of the chapter."""


def strangers(words, vectors, named):
    """The named words whose nearest neighbour is of another class."""
    table = Vectors(tuple(words), vectors)
    nearest = {word: table.nearest(word, n=1)[0][0] for word in named}
    return {a: b for a, b in nearest.items() if toy_corpus.class_of(a) != toy_corpus.class_of(b)}


def corpus(seed, n=3000):
    return toy_corpus.sentences(n, np.random.default_rng(seed))


def test_pairs_are_neighbours_within_the_window_of_one_sentence():
    found = skip_gram.pairs([["a", "b", "c", "d"], ["e"], []], window=1)
    assert found == [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"), ("c", "d"), ("d", "c")]
    assert ("a", "c") in skip_gram.pairs([["a", "b", "c", "d"]], window=2)
    assert ("a", "d") not in skip_gram.pairs([["a", "b", "c", "d"]], window=2)
    with pytest.raises(ValueError, match="window is 0"):
        skip_gram.pairs([["a"]], window=0)


def test_the_vocabulary_counts_words():
    words, counts = skip_gram.vocabulary([["b", "a", "b"], ["c"]])
    assert words == ["b", "a", "c"]
    assert counts.tolist() == [2, 1, 1]


def test_the_loss_is_that_of_the_formula():
    model = skip_gram.SkipGram(5, 3, torch.Generator().manual_seed(0)).double()
    rng = np.random.default_rng(0)
    for table in (model.embedding, model.context_embedding):
        table.weight.data = torch.as_tensor(rng.normal(size=(5, 3)))
    centre, context, negatives = np.array([0, 3]), np.array([1, 2]), np.array([[2, 4], [0, 0]])
    v, u = (table.weight.detach().numpy() for table in (model.embedding, model.context_embedding))

    def log_sigmoid(x):
        return -np.log(1 + np.exp(-x))

    rows = [
        -log_sigmoid(u[o] @ v[c]) - sum(log_sigmoid(-u[k] @ v[c]) for k in drawn)
        for c, o, drawn in zip(centre, context, negatives, strict=True)
    ]
    loss = model(*(torch.as_tensor(x) for x in (centre, context, negatives)))
    assert_agree(loss, np.mean(rows), 1e-12)


def test_before_training_every_pair_is_a_guess_among_equals():
    model = skip_gram.SkipGram(5, 3, torch.Generator().manual_seed(0))
    ids = torch.tensor([0, 1])
    loss = model(ids, ids, torch.zeros(2, 5, dtype=torch.long)).item()
    assert np.isclose(loss, 6 * np.log(2))


@pytest.mark.slow
def test_training_finds_the_class_of_every_word():
    words, vectors, losses = skip_gram.train(corpus(0), seed=0)
    assert set(NAMED) <= set(words)
    assert strangers(words, vectors, [word for word in words if toy_corpus.class_of(word)]) == {}
    assert losses[-1] < losses[0] < 6 * np.log(2)


def test_before_training_the_classes_are_not_there():
    """The finding is made by training, not by how the test looks for it."""
    words, vectors, _ = skip_gram.train(corpus(0, n=50), seed=0, epochs=1, learning_rate=1e-9)
    assert len(strangers(words, vectors, NAMED)) >= 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "threads"),
    [
        *((seed, 1) for seed in (1, 2, 3)),
        (1, 2),
        *(pytest.param(seed, 2, marks=only_in_test_all) for seed in (2, 3)),
    ],
)
def test_training_finds_the_classes_with_other_seeds_and_threads(seed, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        words, vectors, _ = skip_gram.train(corpus(seed), seed)
    finally:
        torch.set_num_threads(before)
    assert strangers(words, vectors, NAMED) == {}


def test_training_is_repeatable_and_touches_no_global_seed():
    torch.manual_seed(5)
    state = torch.get_rng_state()
    first, second = (skip_gram.train(corpus(0, n=60), seed=3, epochs=1) for _ in range(2))
    assert np.array_equal(first[1], second[1])
    assert torch.equal(torch.get_rng_state(), state)


def test_too_little_text_is_refused():
    for nothing in ([], [["alone"]]):
        with pytest.raises(ValueError, match="no pair of neighbours"):
            skip_gram.train(nothing, seed=0)


# ---- the language ---------------------------------------------------------------------------------------------------


def test_sentences_follow_the_patterns_and_the_generator():
    drawn = corpus(4, n=200)
    assert drawn == corpus(4, n=200)
    assert drawn != corpus(5, n=200)
    forms = {" ".join(toy_corpus.class_of(word) or word for word in sentence) for sentence in drawn}
    assert forms == {*toy_corpus.PATTERNS}
    assert toy_corpus.sentences(0, np.random.default_rng(0)) == []
    with pytest.raises(ValueError, match="n is -1"):
        toy_corpus.sentences(-1, np.random.default_rng(0))


def test_no_word_is_in_two_classes():
    words = [word for members in toy_corpus.CLASSES.values() for word in members]
    assert len(words) == len(set(words))
