"""Masks as public functions, in NumPy and in torch: the same answers, and the same refusals in plain words."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from calls import f
from helpers import fault

from stepformer import nn
from stepformer.nn import masks as nn_masks
from stepformer.reference import masks

KINDS = ["numpy", "torch"]


def module(kind):
    return masks if kind == "numpy" else nn_masks


def given(array, kind):
    return np.asarray(array) if kind == "numpy" else torch.as_tensor(np.asarray(array))


@fault("ATT-08")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("n_q", "n_k", "expected"),
    [
        (1, 1, [[1]]),
        (3, 3, [[1, 0, 0], [1, 1, 0], [1, 1, 1]]),
        (2, 5, [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]),
        (1, 5, [[1, 1, 1, 1, 1]]),
        (3, 2, [[0, 0], [1, 0], [1, 1]]),
    ],
)
def test_the_last_query_sees_every_key_whatever_the_lengths(kind, n_q, n_k, expected):
    """Aligned top-left, as torch's is_causal, one new query after four cached keys would see the first key only."""
    result = module(kind).causal_mask(given(f(n_q, 3), kind), given(f(7, n_k, 3), kind))
    assert_agree(result, np.array(expected, dtype=bool), 0)


@pytest.mark.parametrize("kind", KINDS)
def test_padding_is_hidden_from_every_query(kind):
    tokens = given([[5, 2, 0], [0, 0, 7]], kind)
    expected = [[[True, True, False]], [[False, False, True]]]
    assert_agree(module(kind).padding_mask(tokens, pad_id=0), np.array(expected), 0)


@fault("ATT-22")
@pytest.mark.parametrize("kind", KINDS)
def test_a_padded_query_still_attends_to_the_real_words(kind):
    """Masking padded queries too would make rows that may attend to nothing; their output is ignored anyway."""
    tokens = given([1, 2, 3, 0], kind)
    x = given(f(4, 5), kind)
    expected = np.tril(np.ones((4, 4), dtype=bool)) & [True, True, True, False]
    mask = module(kind).target_mask(tokens, x, pad_id=0)
    assert_agree(mask, expected, 0)
    assert np.asarray(mask)[3].any()
    assert np.asarray(module(kind).padding_mask(tokens, pad_id=0)).shape == (1, 4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tokens", [[1.0, 2.0], [True, False]])
def test_token_ids_are_whole_numbers(kind, tokens):
    with pytest.raises(TypeError, match=r"whole numbers.*(float|bool)"):
        module(kind).padding_mask(given(tokens, kind), pad_id=0)


@fault("ATT-11", "MOD-05")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8])
def test_a_mask_of_numbers_is_refused_with_the_way_out(kind, dtype):
    """Added to equal scores, a lower triangle of ones gives .58 .21 .21: nothing is masked."""
    mask = given(np.tril(np.ones((3, 3), dtype=dtype)), kind)
    x = given(f(3, 2), kind)
    with pytest.raises(TypeError, match=r"mask must be boolean, True = may attend; it is .*mask == 1"):
        module(kind).check_mask(mask, x, x)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3,), (), (4, 2), (3, 3), (2, 4, 5), (4, 1)])
def test_a_mask_of_another_shape_is_refused_with_both_lengths(kind, shape):
    with pytest.raises(ValueError, match=r"for 4 queries and 3 keys it must be \(…, 4, 3\)"):
        module(kind).check_mask(given(np.ones(shape, dtype=bool), kind), given(f(4, 2), kind), given(f(3, 2), kind))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(4, 3), (1, 3), (2, 4, 3), (2, 7, 1, 3)])
def test_a_mask_with_one_row_or_leading_axes_is_accepted(kind, shape):
    module(kind).check_mask(given(np.ones(shape, dtype=bool), kind), given(f(4, 2), kind), given(f(3, 2), kind))


def test_the_package_offers_the_masks():
    assert nn.causal_mask is nn_masks.causal_mask
    assert nn.target_mask is nn_masks.target_mask
