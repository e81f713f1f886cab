"""Choosing words: torch and NumPy allow the same words with the same probabilities, and draw as they say."""

import numpy as np
import pytest
import torch
from agreement import assert_agree

from stepformer import nn
from stepformer.reference import sampling

VALUES = 1e-10


def logits(seed=0, shape=(2, 3, 13), scale=2.0):
    return scale * np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("shape", [(13,), (1, 1), (2, 3, 13), (5, 2)])
@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_top_k_agrees(shape, k):
    z = logits(1, shape)
    assert_agree(nn.top_k(torch.tensor(z), k), sampling.top_k(z, np.array(k)), VALUES)
    if k < shape[-1]:  # torch has a function for the k largest
        kept = torch.topk(torch.tensor(z), k).indices
        assert_agree(nn.top_k(torch.tensor(z), k).gather(-1, kept).sum(-1), np.ones(shape[:-1]), VALUES)


@pytest.mark.parametrize("shape", [(13,), (1, 1), (2, 3, 13), (5, 2)])
@pytest.mark.parametrize("p", [0.01, 0.3, 0.9, 1.0])
def test_top_p_agrees(shape, p):
    z = logits(2, shape)
    assert_agree(nn.top_p(torch.tensor(z), p), sampling.top_p(z, np.array(p)), VALUES)


def test_of_equal_words_both_keep_the_first():
    z = np.array([0.0, 2.0, 2.0, 2.0, -1.0])
    assert_agree(nn.top_k(torch.tensor(z), 2), sampling.top_k(z, np.array(2)), VALUES)
    assert_agree(nn.top_p(torch.tensor(z), 0.4), sampling.top_p(z, np.array(0.4)), VALUES)
    assert nn.top_k(torch.tensor(z), 2).tolist() == [0, 0.5, 0.5, 0, 0]


def test_words_that_a_mask_forbids_stay_forbidden():
    z = np.array([1.0, -np.inf, 0.0, -np.inf])
    for k in (1, 3, 4):
        assert_agree(nn.top_k(torch.tensor(z), k), sampling.top_k(z, np.array(k)), VALUES)
        assert nn.top_k(torch.tensor(z), k)[[1, 3]].tolist() == [0, 0]
    assert_agree(nn.top_p(torch.tensor(z), 1.0), sampling.top_p(z, np.array(1.0)), VALUES)


def test_both_draw_as_often_as_the_probabilities_say():
    p = sampling.top_k(logits(3, (13,)), np.array(4))
    n = 20_000
    mine = sampling.draw(np.tile(p, (n, 1)), np.random.default_rng(0))
    theirs = nn.draw(torch.tensor(np.tile(p, (2, n // 2, 1))), torch.Generator().manual_seed(0))
    assert theirs.shape == (2, n // 2)
    for drawn in (mine, theirs.numpy().ravel()):
        counts = np.bincount(drawn, minlength=13)
        assert (np.abs(counts - n * p) <= 5 * np.sqrt(n * p * (1 - p)) + 1e-9).all()


def test_a_generator_makes_draws_repeatable():
    p = torch.tensor(sampling.top_k(logits(4, (50, 13)), np.array(9)))
    draws = [nn.draw(p, torch.Generator().manual_seed(seed)).tolist() for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_errors_name_the_rule():
    z = torch.tensor(logits())
    with pytest.raises(ValueError, match="k is 0; it must be 1 or more"):
        nn.top_k(z, 0)
    for p in (0.0, 1.2):
        with pytest.raises(ValueError, match="above 0 and at most 1"):
            nn.top_p(z, p)
