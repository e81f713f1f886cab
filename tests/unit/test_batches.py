"""Batches: shifting, padding, an order that follows from seed and epoch, and a place to go on from."""

import itertools

import numpy as np
import pytest
from helpers import fault
from hypothesis import given, settings
from hypothesis import strategies as st

from stepformer.data.batches import Batches, Position, batch, keep_mask, pad
from stepformer.data.tokenizer import BOS, EOS, PAD

LENGTHS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 7)), min_size=1, max_size=60)


def pairs_of(lengths):
    """Pairs of these lengths; every token says which pair it is of."""
    return [([10 + row] * a, [1000 + row] * b) for row, (a, b) in enumerate(lengths)]


@fault("LS-08")
def test_a_batch_is_shifted_by_one_and_no_end_mark_is_read():
    made = batch([([7, 8, 9], [4, 5]), ([7], [4, 5, 6])])
    assert made.src.tolist() == [[7, 8, 9, EOS], [7, EOS, PAD, PAD]]
    assert made.tgt_in.tolist() == [[BOS, 4, 5, PAD], [BOS, 4, 5, 6]]
    assert made.tgt_out.tolist() == [[4, 5, EOS, PAD], [4, 5, 6, EOS]]
    assert made.n_tokens == 7
    assert made.rows.tolist() == [0, 1]
    # Cutting the last column off a padded target leaves the end mark in the shorter row: harmless where its answer is
    # padding, which is not counted. Everything that is counted is the same.
    whole = pad([[BOS, 4, 5, EOS], [BOS, 4, 5, 6, EOS]], PAD)
    cut_in, cut_out = whole[:, :-1], whole[:, 1:]
    assert cut_in.tolist() == [[BOS, 4, 5, EOS], [BOS, 4, 5, 6]]
    assert (cut_out == made.tgt_out).all()
    assert (cut_in == made.tgt_in)[made.tgt_out != PAD].all()


@fault("TOK-10")
def test_the_mask_of_lengths_says_what_to_keep():
    kept = keep_mask([5, 4, 1, 0], 5)
    assert ["".join(map(str, row)) for row in kept.astype(int)] == ["11111", "11110", "10000", "00000"]


@settings(max_examples=30)
@given(LENGTHS, st.integers(1, 70), st.integers(0, 5), st.integers(0, 3), st.integers(1, 9), st.booleans())
def test_every_pair_comes_exactly_once_an_epoch(lengths, batch_size, seed, epoch, pool, shuffle):
    pairs = pairs_of(lengths)
    batches = Batches(pairs, batch_size=batch_size, seed=seed, pool=pool, shuffle=shuffle)
    made = list(batches.epoch(epoch))
    assert sorted(np.concatenate([b.rows for b in made])) == list(range(len(pairs)))
    assert len(made) == sum(-(-n // batch_size) for n in [len(pairs)])
    for b in made:
        assert len(b.rows) <= batch_size
        for row, src, tgt_in, tgt_out in zip(b.rows, b.src, b.tgt_in, b.tgt_out, strict=True):
            source, target = pairs[row]
            assert [i for i in src if i != PAD] == [*source, EOS]
            assert [i for i in tgt_in if i != PAD] == [BOS, *target]
            assert [i for i in tgt_out if i != PAD] == [*target, EOS]


@settings(max_examples=30)
@given(LENGTHS, st.integers(10, 80), st.integers(0, 3), st.booleans())
def test_no_batch_has_more_places_than_it_may(lengths, tokens, epoch, shuffle):
    made = list(Batches(pairs_of(lengths), tokens_per_batch=tokens, shuffle=shuffle).epoch(epoch))
    assert sorted(np.concatenate([b.rows for b in made])) == list(range(len(lengths)))
    assert max(max(b.src.size, b.tgt_in.size) for b in made) <= tokens


PAIRS = pairs_of([(n % 9, (n * n) % 11) for n in range(500)])


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_the_order_follows_from_seed_and_epoch_alone():
    first = Batches(PAIRS, batch_size=16, seed=3)
    other = Batches(PAIRS, batch_size=16, seed=3)
    list(other.epoch(0))
    np.random.default_rng(0)
    assert all(map(same, first.epoch(2), other.epoch(2)))
    orders = [np.concatenate(Batches(PAIRS, batch_size=16, seed=s).rows(e)) for s in (3, 4) for e in (0, 1)]
    assert not any(np.array_equal(a, b) for a, b in itertools.combinations(orders, 2))


@pytest.mark.parametrize("settings", [{"batch_size": 48}, {"tokens_per_batch": 300}, {"batch_size": 7, "pool": 3}])
def test_the_stream_goes_on_from_any_position(settings):
    batches = Batches(PAIRS, seed=1, **settings)
    per_epoch = len(batches.rows(0))
    straight = list(itertools.islice(batches.stream(), 3 * per_epoch))
    assert [position for position, _ in straight[per_epoch - 2 : per_epoch + 1]] == [
        Position(0, per_epoch - 1),
        Position(1, 0),
        Position(1, 1),
    ]
    for k in (0, 1, per_epoch - 1, per_epoch, 2 * per_epoch - 1):
        position = straight[k][0]
        resumed = list(itertools.islice(Batches(PAIRS, seed=1, **settings).stream(Position(*position)), 4))
        for (after, made), (expected_after, expected) in zip(resumed, straight[k + 1 : k + 5], strict=True):
            assert after == expected_after
            assert same(made, expected)


def test_sorting_by_length_saves_most_of_the_padding():
    lengths = np.random.default_rng(0).integers(1, 30, (2000, 1)).repeat(2, axis=1)
    sizes = {
        pool: sum(b.src.size for b in Batches(pairs_of(lengths), batch_size=20, pool=pool).epoch()) for pool in (1, 100)
    }
    words = int((lengths[:, 0] + 1).sum())
    assert sizes[100] < 1.05 * words
    assert sizes[1] > 1.5 * words


def test_lengths_are_taken_where_they_are_known():
    class Far:
        lengths = np.array([[1, 2], [3, 4]])

        def __len__(self):
            return 2

        def __getitem__(self, index):
            raise AssertionError("fetched")

    assert sorted(np.concatenate(Batches(Far(), batch_size=1).rows())) == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either batch_size or tokens_per_batch"),
        ({"batch_size": 2, "tokens_per_batch": 9}, "either batch_size or tokens_per_batch"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"batch_size": 2.0}, "batch_size is 2.0"),
        ({"tokens_per_batch": -1}, "tokens_per_batch is -1"),
        ({"batch_size": 2, "pool": 0}, "pool is 0"),
        ({"batch_size": 2, "seed": -1}, "seed is -1"),
        ({"batch_size": 2, "pairs": []}, "pairs is empty"),
        ({"tokens_per_batch": 5}, "Pair 1 has 6 tokens"),
    ],
)
def test_settings_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Batches(**{"pairs": [([7], [8]), ([7], [8] * 5)]} | arguments)
