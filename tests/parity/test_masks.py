"""Masks: the reference equals the torch twin, and both equal the rule written as a loop."""

import numpy as np
import pytest
import torch
from agreement import assert_agree

from stepformer import nn
from stepformer.reference import masks

LENGTHS = [(n_q, n_k) for n_q in (0, 1, 2, 3, 5, 7) for n_k in (0, 1, 2, 3, 5, 7)]


@pytest.mark.parametrize(("n_q", "n_k"), LENGTHS)
def test_causal_masks_agree(n_q, n_k):
    rule = np.array([[j <= i + n_k - n_q for j in range(n_k)] for i in range(n_q)], dtype=bool).reshape(n_q, n_k)
    query, key = np.zeros((2, n_q, 3)), np.zeros((n_k, 3))
    assert_agree(masks.causal_mask(query, key), rule, 0)
    assert_agree(nn.causal_mask(torch.as_tensor(query), torch.as_tensor(key)), rule, 0)


@pytest.mark.parametrize("shape", [(5,), (1,), (0,), (2, 7), (3, 2, 5)])
@pytest.mark.parametrize("pad_id", [0, 2])
def test_padding_masks_and_target_masks_agree(shape, pad_id):
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, 4, size=shape)
    x = np.zeros((*shape, 3))
    rule = np.array([t != pad_id for t in tokens.ravel()], dtype=bool).reshape(*shape[:-1], 1, shape[-1])
    assert_agree(masks.padding_mask(tokens, pad_id=pad_id), rule, 0)
    assert_agree(nn.padding_mask(torch.as_tensor(tokens), pad_id), rule, 0)
    both = rule & np.array([[j <= i for j in range(shape[-1])] for i in range(shape[-1])], dtype=bool).reshape(
        shape[-1], shape[-1]
    )
    assert_agree(masks.target_mask(tokens, x, pad_id), both, 0)
    assert_agree(nn.target_mask(torch.as_tensor(tokens), torch.as_tensor(x), pad_id), both, 0)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_causal_mask_is_true_where_torchs_adds_nothing(n):
    added = torch.nn.Transformer.generate_square_subsequent_mask(n)
    assert_agree(nn.causal_mask(torch.zeros(n, 3), torch.zeros(n, 3)), added == 0, 0)
