"""Attention tile by tile equals attention at once: ours, and torch's own function, however the keys are cut."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from torch.nn import functional as F

from stepformer.reference.attention import scaled_dot_product_attention
from stepformer.reference.flash_attention import flash_attention

CUTS = [[7], [1] * 7, [2, 2, 2, 1], [3, 4], [6, 1]]


def drawn(scale, leading=()):
    rng = np.random.default_rng([len(leading)])
    return [rng.normal(size=(*leading, n, width)) * s for n, width, s in ((4, 5, scale), (7, 5, scale), (7, 3, 1.0))]


def tiles(x, lengths):
    return np.split(x, np.cumsum(lengths)[:-1], axis=-2)


@pytest.mark.parametrize("leading", [(), (2,), (2, 3)])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("lengths", CUTS)
def test_however_the_keys_are_cut_the_output_is_that_of_all_at_once(lengths, scale, leading):
    query, key, value = drawn(scale, leading)
    mine = flash_attention(query, tiles(key, lengths), tiles(value, lengths))
    assert_agree(mine, scaled_dot_product_attention(query, key, value).output, 1e-10)
    theirs = F.scaled_dot_product_attention(*map(torch.as_tensor, (query, key, value)))
    assert_agree(mine, theirs.numpy(), 1e-10)


def test_the_order_of_the_tiles_changes_last_digits_only():
    query, key, value = drawn(3.0)
    ways = [flash_attention(query, tiles(key, c)[::-1], tiles(value, c)[::-1]) for c in CUTS]
    for way in ways:
        assert_agree(way, ways[0], 1e-12)


@pytest.mark.parametrize(
    ("n_keys", "n_values", "message"), [(0, 0, "one or more are needed"), (2, 1, "2 tiles of keys and 1 of values")]
)
def test_tiles_that_do_not_belong_together_are_refused(n_keys, n_values, message):
    with pytest.raises(ValueError, match=message):
        flash_attention(np.ones((4, 5)), [np.ones((2, 5))] * n_keys, [np.ones((2, 3))] * n_values)
    with pytest.raises(ValueError, match="every key needs one value"):
        flash_attention(np.ones((4, 5)), [np.ones((2, 5))], [np.ones((3, 3))])


def test_a_tile_has_a_row_and_all_values_are_equally_wide():
    query, key = np.ones((4, 5)), np.ones((2, 5))
    with pytest.raises(ValueError, match="tile 2 is empty; each has one key or more"):
        flash_attention(query, [key, key[:0]], [np.ones((2, 3)), np.ones((0, 3))])
    with pytest.raises(ValueError, match=r"tile 2 has values of the width 1; those of tile 1 have 3"):
        flash_attention(query, [key, key], [np.ones((2, 3)), np.ones((2, 1))])


def test_tiles_may_stand_in_one_array():
    query, key, value = drawn(1.0)
    whole = flash_attention(query, key[:6].reshape(3, 2, 5), value[:6].reshape(3, 2, 3))
    assert_agree(whole, flash_attention(query, [key[:6]], [value[:6]]), 1e-12)
