"""Embedding: the reference equals the torch twin and torch's own module, values and gradients, padding included."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from helpers import fault

from stepformer import nn, params
from stepformer.reference.embedding import embedding, embedding_by_product

VALUES = 1e-10
GRADIENTS = 1e-8
VOCAB_SIZE, D_MODEL = 11, 5


class Model(torch.nn.Module):
    """A model names its table …embedding, by which `stepformer.params` knows that it is not a linear layer."""

    def __init__(self, padding_idx=None):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB_SIZE, D_MODEL, padding_idx)


def draw_tokens(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).integers(VOCAB_SIZE, size=shape)


@pytest.mark.parametrize("padding_idx", [None, 0, 3, VOCAB_SIZE - 1])
@pytest.mark.parametrize("shape", [(0,), (1,), (2,), (7,), (1, 4), (3, 4), (2, 3, 4)])
def test_values_agree(shape, padding_idx):
    tokens = draw_tokens(*shape)
    model = Model(padding_idx).double()
    own = torch.nn.Embedding(VOCAB_SIZE, D_MODEL, padding_idx).double()
    own.load_state_dict(model.embedding.state_dict())
    arrays = params.select(params.to_arrays(model.state_dict()), "embedding")
    assert {name: array.shape for name, array in arrays.items()} == {"weight": (VOCAB_SIZE, D_MODEL)}

    expected = own(torch.as_tensor(tokens)).detach().numpy()
    assert expected.shape == (*shape, D_MODEL)
    assert_agree(embedding(tokens, arrays), expected, VALUES)
    assert_agree(embedding_by_product(tokens, arrays), expected, VALUES)
    assert_agree(model.embedding(torch.as_tensor(tokens)), expected, VALUES)


@pytest.mark.parametrize("padding_idx", [None, 0, 3])
def test_the_gradient_of_the_table_is_that_of_torchs_own(padding_idx):
    tokens = torch.tensor([[1, 3, 3, 0], [0, 10, 3, 1]])  # rows met twice and three times add up
    twin = nn.Embedding(VOCAB_SIZE, D_MODEL, padding_idx).double()
    own = torch.nn.Embedding(VOCAB_SIZE, D_MODEL, padding_idx, _weight=twin.weight.detach().clone()).double()
    upstream = torch.as_tensor(np.random.default_rng(1).normal(size=(2, 4, D_MODEL)))
    for module in (twin, own):
        module(tokens).backward(upstream)
    assert_agree(twin.weight.grad, own.weight.grad.numpy(), GRADIENTS)
    if padding_idx is not None:
        assert (twin.weight.grad[padding_idx] == 0).all()
    assert (twin.weight.grad[[2, 4]] == 0).all(), "a word that was not there moved"


def test_the_gradient_is_that_of_one_hot_rows_times_the_table():
    tokens = torch.as_tensor(draw_tokens(6))
    twin = nn.Embedding(VOCAB_SIZE, D_MODEL).double()
    weight = twin.weight.detach().clone().requires_grad_()
    upstream = torch.as_tensor(np.random.default_rng(1).normal(size=(6, D_MODEL)))
    twin(tokens).backward(upstream)
    (torch.nn.functional.one_hot(tokens, VOCAB_SIZE).double() @ weight).backward(upstream)
    assert_agree(twin.weight.grad, weight.grad.numpy(), GRADIENTS)


def test_the_row_of_padding_starts_at_zero_and_stays_there():
    twin = nn.Embedding(VOCAB_SIZE, D_MODEL, padding_idx=3)
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.5)
    before = twin.weight.detach().clone()
    assert (before[3] == 0).all()
    twin(torch.tensor([1, 3, 3])).square().sum().backward()
    optimizer.step()
    assert (twin.weight[3] == 0).all()
    assert not torch.equal(twin.weight[1], before[1])


@fault("MOD-12")
def test_without_padding_no_row_is_wiped():
    assert (nn.Embedding(4, 4, None).weight != 0).any(dim=1).all()
    assert ((nn.Embedding(4, 4, 1).weight != 0).any(dim=1) == torch.tensor([True, False, True, True])).all()


@pytest.mark.parametrize("arguments", [(0, 4), (-1, 4), (4, 0), (4, 4, 4), (4, 4, -1)])
def test_sizes_that_make_no_table_are_refused(arguments):
    with pytest.raises(ValueError, match=r"must be"):
        nn.Embedding(*arguments)


@pytest.mark.parametrize("bad", [[0, VOCAB_SIZE], [-1, 2]])
def test_an_id_without_a_row_is_refused_by_both(bad):
    model = Model()
    with pytest.raises(ValueError, match=rf"the table has the rows 0 … {VOCAB_SIZE - 1}"):
        model.embedding(torch.tensor(bad))
    with pytest.raises(ValueError, match=rf"the table has the rows 0 … {VOCAB_SIZE - 1}"):
        embedding(np.array(bad), {"weight": model.embedding.weight.detach().numpy()})


@pytest.mark.parametrize("tokens", [torch.tensor([1.0]), torch.tensor([True])])
def test_what_is_no_id_is_refused(tokens):
    with pytest.raises(TypeError, match="ids"):
        nn.Embedding(4, 4)(tokens)
    with pytest.raises(TypeError, match="ids"):
        embedding(tokens.numpy(), {"weight": np.zeros((4, 4))})
