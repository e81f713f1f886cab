"""The weights of every attention of a torch model are those that the reference records."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from transformer_cases import arrays, model, program, sentences

from stepformer import nn
from stepformer.nn.attention_weights import attention_weights, kept

VALUES = 1e-10


@pytest.mark.parametrize("norm_first", [False, True])
def test_they_are_the_weights_that_the_reference_records(norm_first):
    module = model(norm_first=norm_first)
    src, tgt = np.array([3, 4, 5]), np.array([1, 2, 6, 7])
    recorded = program(module, src, tgt, norm_first=norm_first).values
    found = attention_weights(module, torch.tensor(src), torch.tensor(tgt))
    names = [name.removesuffix(".attention.weights") for name in recorded if name.endswith(".attention.weights")]
    assert list(found) == names
    assert len(names) == 2 + 2 * 3
    assert names[-1] == "decoder.layers.2.cross_attention"
    for name in names:
        assert_agree(found[name], recorded[f"{name}.attention.weights"], VALUES)


@pytest.mark.parametrize("kind", ["ragged", "nothing to read", "two leading axes"])
def test_weights_of_a_batch_hide_padding_and_sum_to_one(kind):
    module, (src, tgt) = model(), sentences(kind)
    for name, weights in attention_weights(module, src, tgt).items():
        read = tgt if ".self_attention" in name and name.startswith("decoder") else src
        asks = src if name.startswith("encoder") else tgt
        assert weights.shape == (*src.shape[:-1], 2, asks.shape[-1], read.shape[-1])
        hidden = (read == 0)[..., None, None, :].expand_as(weights)
        assert (weights[hidden] == 0).all()
        total = weights.sum(-1)
        assert ((total - 1).abs() < 1e-12).logical_or(total == 0).all()


def test_nothing_of_the_model_is_changed():
    module, (src, tgt) = model(dropout=0.3).train(), sentences("ragged")
    parameters = {name: x.copy() for name, x in arrays(module).items()}
    before = [set(vars(part)) for part in module.modules()]
    first, second = (attention_weights(module, src, tgt) for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first), "dropout was at work"
    assert module.training
    assert before == [set(vars(part)) for part in module.modules()]
    assert all(np.array_equal(x, parameters[name]) for name, x in arrays(module).items())
    with pytest.raises(ValueError, match="they must be"), kept(module):
        module(src[0], tgt)
    assert before == [set(vars(part)) for part in module.modules()]
    # The logits while weights are kept are those without.
    module.eval()
    with kept(module):
        logits = module(src, tgt)
    assert_agree(logits, module(src, tgt), VALUES)


def test_additive_attention_has_one_head_and_a_model_without_attention_none():
    additive = nn.AdditiveAttention(5, 4, 6)
    query, key, value = torch.randn(3, 5), torch.randn(2, 4), torch.randn(2, 7)
    with kept(additive) as found:
        weights = additive(query, key, value).weights
    assert torch.equal(found[""][0], weights.unsqueeze(0))
    recurrent = nn.EncoderDecoder(5, 6, 3, 4)
    assert attention_weights(recurrent, torch.tensor([[1, 2]]), torch.tensor([[1, 3, 4]])) == {}
