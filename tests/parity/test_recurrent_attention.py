"""Recurrent networks with attention: the reference equals the torch twin, and the twin a model put together by hand."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from helpers import fault

from stepformer import nn, params
from stepformer.decode import greedy
from stepformer.model_kinds import build, kind_of
from stepformer.reference import recurrent_attention as reference
from stepformer.reference.encoder_decoder import project

VALUES, GRADIENTS = 1e-10, 1e-8
PAD, BOS, EOS = 0, 1, 2
SIZES = {"src_vocab_size": 11, "tgt_vocab_size": 13, "d_embedding": 5, "d_hidden": 7, "d_attention": 6}


def twin_of(seed=3, **options):
    """A model whose weights are drawn, biases included."""
    twin = nn.RecurrentAttention(**SIZES | options, pad_id=PAD).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.copy_(0.7 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return twin


def sentences(lengths, n_tgt=4, seed=0):
    """Sources of these lengths, filled up with padding, and targets that begin with the start mark."""
    rng = np.random.default_rng(seed)
    src = np.zeros((len(lengths), max(lengths)), dtype=int)
    for sentence, n in zip(src, lengths, strict=True):
        sentence[:n] = rng.integers(2, SIZES["src_vocab_size"], n)
    tgt = rng.integers(2, SIZES["tgt_vocab_size"], (len(lengths), n_tgt))
    tgt[:, 0] = BOS
    return torch.as_tensor(src), torch.as_tensor(tgt)


def start(*leading):
    return np.zeros((*leading, 2, SIZES["d_hidden"]))


# ---- reference and twin -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lengths", [[3], [1], [5, 1, 3], [2, 2]])
@pytest.mark.parametrize("n_tgt", [1, 4])
def test_the_reference_agrees_with_its_twin(lengths, n_tgt):
    twin = twin_of()
    src, tgt = sentences(lengths, n_tgt)
    arrays = params.to_arrays(twin.state_dict())
    memory, hidden, mask = reference.encode(src.numpy(), start(len(lengths)), arrays, PAD)
    encoded = twin.encode(src)
    assert_agree(memory, encoded.memory, VALUES, "memory")
    decoded = reference.decode(tgt.numpy(), memory, hidden, arrays, mask)
    theirs = twin.decode(tgt, *encoded)
    assert_agree(decoded.output, theirs.output, VALUES, "output")
    assert_agree(decoded.hidden, theirs.cache.hidden, VALUES, "hidden")
    looked = nn.attention_weights(twin, src, tgt)["cross_attention"][:, 0]
    assert_agree(decoded.weights, looked, VALUES, "weights")
    logits = reference.recurrent_attention(src.numpy(), tgt.numpy(), start(len(lengths)), arrays, PAD)
    assert logits.shape == (len(lengths), n_tgt, 13)
    assert_agree(logits, twin(src, tgt), VALUES, "logits")


@pytest.mark.parametrize("leading", [(), (2, 3)])
def test_any_leading_axes_agree(leading):
    twin = twin_of()
    rng = np.random.default_rng(1)
    src, tgt = rng.integers(2, 11, (*leading, 3)), rng.integers(2, 13, (*leading, 4))
    mine = reference.recurrent_attention(src, tgt, start(*leading), params.to_arrays(twin.state_dict()))
    assert_agree(mine, twin(torch.as_tensor(src), torch.as_tensor(tgt)), VALUES)


def test_both_write_the_same_words():
    twin = twin_of()
    src, _ = sentences([5, 1, 3, 4], seed=4)
    arrays = params.to_arrays(twin.state_dict())
    for sentence, hypothesis in zip(src.numpy(), greedy(twin, src, 6), strict=True):
        memory, hidden, mask = reference.encode(sentence, start(), arrays, PAD)
        words = [BOS]
        while len(words) <= 6 and words[-1] != EOS:
            decoded = reference.decode(np.array(words[-1:]), memory, hidden, arrays, mask)
            hidden = decoded.hidden
            words.append(int(project(decoded.output[-1], arrays).argmax()))
        ids = [k for k in words[1:] if k != EOS]
        assert list(hypothesis.ids) == ids
        assert hypothesis.finished == (words[-1] == EOS)


def test_parameters_come_back_from_arrays():
    twin = twin_of()
    arrays = params.to_arrays(twin.state_dict())
    assert {name.split(".")[0] for name in arrays} == {
        "src_embedding", "tgt_embedding", "encoder", "bridge", "decoder", "cross_attention", "combine", "output",
    }  # fmt: skip
    other = build(*kind_of(twin)).double()
    other.load_state_dict(params.from_arrays(arrays, like=other.state_dict()))
    src, tgt = sentences([4, 2])
    assert_agree(other(src, tgt), twin(src, tgt), VALUES)


# ---- the twin and a model put together by hand ----------------------------------------------------------------------


def by_hand(p, src, tgt):
    """The formulas, for one sentence without padding: a loop over words, with nothing of the package."""
    d = SIZES["d_hidden"]

    def gru(x, h, path, end=""):
        w_x, w_h, b_x, b_h = (p[f"{path}.{name}_l0{end}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        from_x, from_h = w_x @ x + b_x, w_h @ h + b_h
        r, z = torch.sigmoid(from_x[:d] + from_h[:d]), torch.sigmoid(from_x[d : 2 * d] + from_h[d : 2 * d])
        n = torch.tanh(from_x[2 * d :] + r * from_h[2 * d :])
        return (1 - z) * n + z * h

    x = [p["src_embedding.weight"][k] for k in src]
    forward, backward = [torch.zeros(d).double()], [torch.zeros(d).double()]
    for one in x:
        forward.append(gru(one, forward[-1], "encoder"))
    for one in reversed(x):
        backward.append(gru(one, backward[-1], "encoder", "_reverse"))
    memory = [torch.cat(pair) for pair in zip(forward[1:], reversed(backward[1:]), strict=True)]
    s = torch.tanh(p["bridge.weight"] @ backward[-1] + p["bridge.bias"])
    logits = []
    for k in tgt:
        s = gru(p["tgt_embedding.weight"][k], s, "decoder")
        asked = s @ p["cross_attention.w_query"]
        scores = [torch.dot(p["cross_attention.v"], torch.tanh(asked + h @ p["cross_attention.w_key"])) for h in memory]
        weights = [torch.exp(one) for one in scores]
        context = sum(w * h for w, h in zip(weights, memory, strict=True)) / sum(weights)
        seen = torch.tanh(p["combine.weight"] @ torch.cat([context, s]) + p["combine.bias"])
        logits.append(p["output.weight"] @ seen + p["output.bias"])
    return torch.stack(logits)


@pytest.mark.parametrize("lengths", [[1], [6], [3, 3], [4, 1]])
def test_values_and_gradients_are_those_of_the_formulas(lengths):
    twin = twin_of()
    named = dict(twin.named_parameters())
    src, tgt = sentences(lengths)
    mine = twin(src, tgt)
    theirs = torch.stack([by_hand(named, one[:n], words) for one, n, words in zip(src, lengths, tgt, strict=True)])
    assert_agree(mine, theirs, VALUES, "logits")
    factors = torch.linspace(-1, 2, mine.numel(), dtype=mine.dtype).reshape(mine.shape)
    gradients = [torch.autograd.grad((x * factors).sum(), named.values()) for x in (mine, theirs)]
    for name, ours, wanted in zip(named, *gradients, strict=True):
        assert_agree(ours, wanted, GRADIENTS, name)
        # Over one source word attention has nothing to choose.
        assert ours.any() or (max(lengths) == 1 and name.startswith(("cross", "encoder.weight_hh"))), name


@fault("RNN-05")
def test_in_a_batch_each_sentence_is_as_it_is_alone():
    twin = twin_of()
    lengths = [5, 1, 3]
    src, tgt = sentences(lengths)
    together = twin(src, tgt)
    looked = nn.attention_weights(twin, src, tgt)["cross_attention"]
    for k, n in enumerate(lengths):
        assert_agree(together[k : k + 1], twin(src[k : k + 1, :n], tgt[k : k + 1]), VALUES)
        assert (looked[k, ..., n:] == 0).all()
        assert_agree(looked[k].sum(-1), torch.ones(1, 4).double(), VALUES)
    more = torch.nn.functional.pad(src, (0, 3), value=PAD)
    assert_agree(twin(more, tgt), together, VALUES)


def test_what_stands_at_padding_in_the_table_reaches_nothing():
    twin = twin_of()
    src, tgt = sentences([5, 2])
    before = twin(src, tgt)
    with torch.no_grad():
        twin.src_embedding.weight[PAD] = torch.nan
    after = twin(src, tgt)
    assert_agree(after, before, VALUES)
    gradients = torch.autograd.grad(after.sum(), list(twin.parameters()))
    assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_word_by_word_with_a_cache_is_the_whole_target_at_once(cut):
    twin = twin_of()
    src, tgt = sentences([4, 2])
    memory, mask = twin.encode(src)
    whole = twin.decode(tgt, memory, mask)
    first = twin.decode(tgt[:, :cut], memory, mask)
    rest = twin.decode(tgt[:, cut:], memory, mask, first.cache)
    assert_agree(torch.cat([first.output, rest.output], dim=1), whole.output, VALUES)
    assert_agree(rest.cache.hidden, whole.cache.hidden, VALUES)
    turned = torch.tensor([1, 0])
    swapped = twin.decode(tgt[turned, cut:], memory[turned], mask[turned], first.cache.select(turned))
    assert_agree(swapped.output[turned], rest.output, VALUES)


def test_a_later_word_changes_nothing_before_it():
    twin = twin_of()
    src, tgt = sentences([4])
    plain = twin(src, tgt)
    for t in range(1, 4):
        other = tgt.clone()
        other[:, t] = (tgt[:, t] + 1) % 13
        changed = (twin(src, other) != plain).any(dim=-1)[0]
        assert changed.tolist() == [k >= t for k in range(4)]


@fault("MOD-15")
def test_dropout_is_at_work_in_training_alone():
    twin = twin_of(dropout=0.5)
    src, tgt = sentences([4, 3])
    assert not torch.equal(twin(src, tgt), twin(src, tgt))
    twin.eval()
    assert_agree(twin(src, tgt), twin_of()(src, tgt), VALUES)


def test_errors_name_what_is_wrong():
    for change, message in (
        ({"d_hidden": 0}, "d_hidden is 0"),
        ({"src_vocab_size": 0}, "vocab_size is 0"),
        ({"d_attention": -1}, "d_attention is -1"),
        ({"dropout": 1.0}, "dropout is 1.0"),
    ):
        with pytest.raises(ValueError, match=message):
            nn.RecurrentAttention(**SIZES | change)
    with pytest.raises(ValueError, match="no word at all"):
        twin_of().encode(torch.tensor([[3, 4], [PAD, PAD]]))
    assert nn.RecurrentAttention(11, 13, 5, 7).cross_attention.v.shape == (7,)
