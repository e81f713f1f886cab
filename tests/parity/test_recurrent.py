"""Recurrent networks: reference, twin and torch's own modules agree, in values and gradients, padded and not."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from helpers import fault
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from stepformer import nn, params
from stepformer.reference import recurrent as reference

VALUES, GRADIENTS = 1e-10, 1e-8
KINDS = ("rnn", "lstm", "gru")
D_IN, D_HIDDEN = 5, 3
SHAPES = [(1, False), (1, True), (3, False), (2, True)]
LENGTHS = [[7], [1], [4, 1, 7], [2, 2]]


def twin_of(kind, n_layers=1, bidirectional=False, scale=1.0):
    """Our module, its weights drawn as N(0, scale²)."""
    module = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[kind](D_IN, D_HIDDEN, n_layers, bidirectional).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return module


def torchs_own(kind, twin):
    """torch's module with the weights copied."""
    own = {"rnn": torch.nn.RNN, "lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[kind](
        D_IN, D_HIDDEN, num_layers=twin.num_layers, bidirectional=twin.bidirectional, batch_first=True
    ).double()
    own.load_state_dict(twin.state_dict())
    return own


def drawn(kind, twin, lengths):
    """Input, mask and first states for sentences of these lengths; padding holds large numbers."""
    rng = np.random.default_rng(len(lengths))
    n = max(lengths)
    x = rng.normal(size=(len(lengths), n, D_IN))
    mask = np.arange(n) < np.array(lengths)[:, None, None]
    x[~mask[:, 0]] = 99.0
    layers = twin.num_layers * (2 if twin.bidirectional else 1)
    names = ("hidden", "cell") if kind == "lstm" else ("hidden",)
    return x, mask, {name: rng.normal(size=(len(lengths), layers, D_HIDDEN)) for name in names}


def packed(own, x, lengths, start):
    """torch's own module on packed sequences, its answer in our order of axes."""
    turned = tuple(state.transpose(0, 1).contiguous() for state in start.values())
    sequences = pack_padded_sequence(x, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
    states, last = own(sequences, turned if len(turned) == 2 else turned[0])
    last = last if isinstance(last, tuple) else (last,)
    return (pad_packed_sequence(states, batch_first=True)[0], *(state.transpose(0, 1) for state in last))


def found(read):
    return [part for part in read if part is not None]


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize(("n_layers", "bidirectional"), SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_reference_twin_and_torchs_own_agree(kind, n_layers, bidirectional, lengths):
    twin = twin_of(kind, n_layers, bidirectional)
    x, mask, start = drawn(kind, twin, lengths)
    tensors = {name: torch.tensor(state) for name, state in start.items()}
    own = packed(torchs_own(kind, twin), torch.tensor(x), lengths, tensors)
    mine = reference.deep(kind, x, params=params.to_arrays(twin.state_dict()), mask=mask, **start)
    trained = twin(torch.tensor(x), torch.tensor(mask), **tensors)
    assert len(found(mine)) == len(found(trained)) == len(own)
    for a, b, c in zip(found(mine), found(trained), own, strict=True):
        assert_agree(a, c, VALUES, "reference")
        assert_agree(b, c, VALUES, "twin")


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("kind", KINDS)
def test_without_padding_and_without_a_first_state(kind, n, scale):
    twin = twin_of(kind, 2)
    x = scale * np.random.default_rng(n).normal(size=(2, n, D_IN))
    zeros = {name: np.zeros((2, 2, D_HIDDEN)) for name in (("hidden", "cell") if kind == "lstm" else ("hidden",))}
    states, last = torchs_own(kind, twin)(torch.tensor(x))
    mine = reference.deep(kind, x, params=params.to_arrays(twin.state_dict()), **zeros)
    for read in (mine, twin(torch.tensor(x))):
        assert_agree(read.states, states, VALUES)
        assert_agree(read.hidden, (last[0] if kind == "lstm" else last).transpose(0, 1), VALUES)


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize(("n_layers", "bidirectional"), SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_gradients_of_the_twin_are_torchs_own(kind, n_layers, bidirectional, lengths):
    twin = twin_of(kind, n_layers, bidirectional)
    own = torchs_own(kind, twin)
    x, mask, start = drawn(kind, twin, lengths)
    weight = torch.tensor(np.random.default_rng(1).normal(size=(len(lengths), max(lengths), 1)))

    def gradients(module, run):
        leaves = [torch.tensor(a, requires_grad=True) for a in (x, *start.values())]
        outputs = run(leaves[0], dict(zip(start, leaves[1:], strict=True)))
        loss = (outputs[0] * weight).sum() + sum(last.square().sum() for last in outputs[1:])
        return torch.autograd.grad(loss, [*leaves, *module.parameters()])

    ours = gradients(twin, lambda x, start: found(twin(x, torch.tensor(mask), **start)))
    expected = gradients(own, lambda x, start: packed(own, x, lengths, start))
    for a, b in zip(ours, expected, strict=True):
        assert_agree(a, b, GRADIENTS)
    assert not ours[0][~torch.tensor(mask)[:, 0]].any(), "padding has a gradient"


@pytest.mark.parametrize("kind", KINDS)
def test_the_step_to_look_at_is_that_of_the_fused_module_in_values_and_gradients(kind):
    twin = twin_of(kind)
    x = torch.randn(2, 4, D_IN, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    state = (torch.zeros(2, D_HIDDEN, dtype=torch.float64),) * (2 if kind == "lstm" else 1)
    states = []
    for t in range(4):
        new = twin.step(x[:, t], *state)
        state = new if kind == "lstm" else (new,)
        states.append(state[0])
    fused = twin(x).states
    assert_agree(torch.stack(states, dim=1), fused, VALUES)
    by_hand, by_torch = (torch.autograd.grad(s.square().sum(), list(twin.parameters()))
                         for s in (torch.stack(states, dim=1), fused))  # fmt: skip
    for a, b in zip(by_hand, by_torch, strict=True):
        assert_agree(a, b, GRADIENTS)


def test_one_sentence_without_a_batch_and_several_leading_axes():
    twin = twin_of("gru", 2, True)
    x = torch.randn(3, 2, 4, D_IN, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    mask = torch.arange(4) < torch.tensor([[4, 2], [1, 3], [3, 4]])[..., None, None]
    read = twin(x, mask)
    assert read.states.shape == (3, 2, 4, 2 * D_HIDDEN)
    assert read.hidden.shape == (3, 2, 4, D_HIDDEN)
    alone = twin(x[1, 0], mask[1, 0])
    assert_agree(alone.states, read.states[1, 0], VALUES)
    assert_agree(alone.hidden, read.hidden[1, 0], VALUES)


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_go_to_arrays_and_back(kind):
    twin = twin_of(kind, 2, True)
    arrays = params.to_arrays(twin.state_dict())
    fresh = twin_of(kind, 2, True, scale=0.0)
    fresh.load_state_dict(params.from_arrays(arrays, fresh.state_dict()))
    x = torch.randn(2, 4, D_IN, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    assert_agree(fresh(x).states, twin(x).states, VALUES)
    again = params.to_arrays(fresh.state_dict())
    assert again.keys() == arrays.keys()
    for name, array in arrays.items():
        assert_agree(again[name], array, 0, name)


def test_a_recurrent_part_of_a_larger_model_keeps_its_path():
    model = torch.nn.ModuleDict({"embedding": torch.nn.Embedding(11, D_IN), "encoder": nn.LSTM(D_IN, D_HIDDEN)})
    arrays = params.to_arrays(model.state_dict())
    assert arrays["encoder.layers.0.forward.forget.weight"].shape == (D_IN + D_HIDDEN, D_HIDDEN)
    assert arrays["embedding.weight"].shape == (11, D_IN)
    assert len(arrays) == 9
    missing = {name: array for name, array in arrays.items() if "output" not in name}
    with pytest.raises(ValueError, match=r"missing parameters: \['encoder.layers.0.forward.output.bias'"):
        params.from_arrays(missing, model.state_dict())
    arrays["encoder.layers.0.forward.forget.weight"] = np.zeros((2, 2))
    with pytest.raises(ValueError, match=r"'encoder.layers.0.forward.forget.weight' has shape \(2, 2\); the module"):
        params.from_arrays(arrays, model.state_dict())


# ---- known mistakes -----------------------------------------------------------------------------------------------


def one_unit(**others):
    names = [f"{gate}.{kind}" for gate in ("reset", "update") for kind in ("weight", "bias")]
    names += [f"candidate.{side}.{kind}" for side in ("w_x", "w_h") for kind in ("weight", "bias")]
    return {n: np.ones((2 if "w_" not in n else 1, 1)) if n.endswith("weight") else np.zeros(1) for n in names} | others


@fault("RNN-01")
@pytest.mark.parametrize(("reset", "expected"), [("after", 0.5783358), ("before", 0.5796285)])
def test_the_reset_gate_acts_where_it_says(reset, expected):
    given = one_unit(**{"candidate.w_h.bias": np.array([0.3])})
    assert_agree(reference.gru_step(np.ones(1), np.array([0.5]), given, reset), np.array([expected]), 1e-7)


@fault("RNN-01")
def test_torch_has_the_reset_gate_after_the_product():
    twin = nn.GRU(1, 1).double()
    torch.nn.init.ones_(twin.weight_ih_l0), torch.nn.init.ones_(twin.weight_hh_l0)
    torch.nn.init.zeros_(twin.bias_ih_l0)
    with torch.no_grad():
        twin.bias_hh_l0.copy_(torch.tensor([0.0, 0.0, 0.3]))
        last = twin(torch.ones(1, 1).double(), hidden=torch.full((1, 1), 0.5).double()).hidden
    assert_agree(last, np.array([[0.5783358]]), 1e-7)


@fault("RNN-03")
@pytest.mark.parametrize("reset", ["after", "before"])
def test_an_update_gate_of_1_keeps_the_old_state_and_of_0_takes_the_candidate(reset):
    x, hidden = np.array([0.7]), np.array([0.5])
    keep, take = (one_unit(**{"update.bias": np.array([b])}) for b in (800.0, -800.0))
    assert_agree(reference.gru_step(x, hidden, keep, reset), hidden, 1e-12)
    gate = 1 / (1 + np.exp(-1.2))
    assert_agree(reference.gru_step(x, hidden, take, reset), np.tanh(x + gate * hidden), 1e-12)
    twin = nn.GRU(1, 1).double()
    state = params.from_arrays({f"layers.0.forward.{n}": p for n, p in keep.items()}, twin.state_dict())
    twin.load_state_dict(state)
    assert_agree(twin.step(torch.tensor(x), torch.tensor(hidden)), hidden, 1e-12)


@fault("RNN-05")
def test_the_last_state_is_that_of_the_last_word_not_of_the_padding():
    given = {"weight": np.ones((2, 1)), "bias": np.zeros(1)}
    x, mask = np.array([[1.0], [2.0], [0.0]]), np.array([[True, True, False]])
    read = reference.rnn(x, np.zeros(1), given, mask)
    assert_agree(read.hidden, np.array([0.9920456]), 1e-7)
    assert_agree(reference.rnn(x, np.zeros(1), given).hidden, np.array([0.7582332]), 1e-7)
    assert_agree(read.states[2], np.zeros(1), 0)
    twin = nn.RNN(1, 1).double()
    arrays = {f"layers.0.forward.{name}": array for name, array in given.items()}
    twin.load_state_dict(params.from_arrays(arrays, twin.state_dict()))
    assert_agree(twin(torch.tensor(x), torch.tensor(mask)).hidden, np.array([[0.9920456]]), 1e-7)


# ---- what is refused ----------------------------------------------------------------------------------------------


def test_the_twin_names_what_is_wrong():
    twin, x = nn.LSTM(D_IN, D_HIDDEN), torch.zeros(2, 3, D_IN)
    with pytest.raises(TypeError, match=r"mask must be boolean, True = a word; it is torch\.float32"):
        twin(x, torch.ones(2, 1, 3))
    with pytest.raises(ValueError, match=r"mask has shape \(2, 3\); for x \(2, 3, 5\) it must be"):
        twin(x, torch.ones(2, 3, dtype=torch.bool))
    with pytest.raises(ValueError, match="a word comes after padding"):
        twin(x, torch.tensor([[[True, True, True]], [[True, False, True]]]))
    with pytest.raises(ValueError, match="no word at all"):
        twin(x, torch.tensor([[[True, True, True]], [[False, False, False]]]))
    with pytest.raises(ValueError, match="a hidden state together with a cell state"):
        twin(x, hidden=torch.zeros(2, 1, D_HIDDEN))
    with pytest.raises(ValueError, match="no other network has one"):
        nn.GRU(D_IN, D_HIDDEN)(x, hidden=torch.zeros(2, 1, D_HIDDEN), cell=torch.zeros(2, 1, D_HIDDEN))
    with pytest.raises(ValueError, match="d_hidden is 0"):
        nn.RNN(D_IN, 0)
