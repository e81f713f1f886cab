"""The input block: the reference equals the torch twin and plain formulas, values and gradients, in every option."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from attention_cases import GRADIENTS, VALUES
from helpers import fault

from stepformer import nn, params
from stepformer.reference.input_block import input_block

VOCAB_SIZE = 11
OPTIONS = [
    {},
    {"positions": "learned"},
    {"width": 4},
    {"width": 4, "positions": "learned"},
    {"width": 12},
]
SHAPES = [(1,), (2,), (7,), (1, 4), (3, 4), (2, 3, 4)]


def block(d_model=10, max_len=7, **options):
    generator = torch.Generator().manual_seed(0)
    return nn.InputBlock(VOCAB_SIZE, d_model, max_len=max_len, generator=generator, **options).double().eval()


def ids(*shape):
    return np.random.default_rng([1, *shape]).integers(VOCAB_SIZE, size=shape)


def of_the_source(arrays):
    return {f"src_{name}": array for name, array in arrays.items()}


def by_formula(module, tokens):
    """The block out of torch's own functions and of sines computed one by one."""
    x = torch.nn.functional.embedding(tokens, module.embedding.weight)
    if module.projection is not None:
        x = torch.nn.functional.linear(x, module.projection.weight)
    n, d = x.shape[-2:]
    if isinstance(module.positions, nn.LearnedPositions):
        places = module.positions.embedding.weight[:n]
    else:
        angles = [[pos / 10000 ** (column // 2 * 2 / d) for column in range(d)] for pos in range(n)]
        angles = torch.tensor(angles, dtype=torch.float64)
        places = torch.where(torch.arange(d) % 2 == 0, angles.sin(), angles.cos())
    return x * d**0.5 + places


@fault("PE-09")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("d_model", [10, 7])
def test_reference_twin_and_formula_agree(shape, options, d_model):
    module, tokens = block(d_model, **options), ids(*shape)
    arrays = of_the_source(params.to_arrays(module.state_dict()))
    expected = by_formula(module, torch.as_tensor(tokens)).detach().numpy()
    assert_agree(module(torch.as_tensor(tokens)), expected, VALUES)
    assert_agree(input_block(tokens, arrays, "src"), expected, VALUES)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_gradients_agree(options):
    module, tokens = block(**options), torch.as_tensor(ids(3, 4))
    factors = torch.linspace(-1, 2, 120, dtype=torch.float64).reshape(3, 4, 10)
    mine = torch.autograd.grad((module(tokens) * factors).sum(), list(module.parameters()))
    theirs = torch.autograd.grad((by_formula(module, tokens) * factors).sum(), list(module.parameters()))
    for (name, _), a, b in zip(module.named_parameters(), mine, theirs, strict=True):
        assert_agree(a, b.numpy(), GRADIENTS, name)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_the_model_uses_the_same_block_on_both_sides(positions):
    model = nn.Transformer(VOCAB_SIZE, 13, 10, 2, 1, 14, positions=positions, max_len=7).double().eval()
    arrays, tokens = params.to_arrays(model.state_dict()), ids(3, 4)
    for side in ("src", "tgt"):
        own = model._input(
            torch.as_tensor(tokens), getattr(model, f"{side}_embedding"), getattr(model, f"{side}_positions"), 0
        )
        assert_agree(input_block(tokens, arrays, side), own, VALUES, side)
    assert not np.allclose(input_block(tokens, arrays, "src"), input_block(tokens, arrays, "tgt"))


def test_a_later_start_gives_the_rows_of_later_positions():
    module, tokens = block(), torch.as_tensor(ids(7))
    assert_agree(module(tokens[4:], start=4), module(tokens)[4:].detach().numpy(), VALUES)


def test_dropout_acts_in_training_only_and_keeps_the_mean():
    module, tokens = block(d_model=100, dropout=0.25), torch.as_tensor(ids(50, 7))
    whole = module(tokens)
    assert_agree(module(tokens), whole.detach().numpy(), 0)
    torch.manual_seed(0)
    trained = module.train()(tokens)
    dropped = trained == 0
    assert 0.24 < dropped.double().mean() < 0.26
    assert_agree(trained[~dropped], (whole / 0.75)[~dropped].detach().numpy(), VALUES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocab_size": 0}, "vocab_size is 0"),
        ({"d_model": 0}, "d_model is 0"),
        ({"width": -1}, "width is -1"),
        ({"max_len": 0}, "max_len is 0"),
        ({"dropout": -0.1}, "dropout is -0.1"),
        ({"dropout": 1}, "dropout is 1"),
        ({"positions": "none"}, "positions are 'none'"),
    ],
)
def test_what_is_no_configuration_is_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        nn.InputBlock(**{"vocab_size": 11, "d_model": 10} | options)


def test_what_does_not_fit_is_refused_on_both_sides():
    module = block(positions="learned")
    arrays = of_the_source(params.to_arrays(module.state_dict()))
    with pytest.raises(ValueError, match="8 > 7"):
        module(torch.zeros(8, dtype=torch.long))
    with pytest.raises(ValueError, match="7"):
        input_block(np.zeros(8, dtype=int), arrays, "src")
    for run in (lambda: module(torch.tensor([11])), lambda: input_block(np.array([11]), arrays, "src")):
        with pytest.raises(ValueError, match=r"11|0 … 10"):
            run()
    for run in (lambda: module(torch.tensor([1.0])), lambda: input_block(np.array([1.0]), arrays, "src")):
        with pytest.raises(TypeError, match="whole numbers"):
            run()
