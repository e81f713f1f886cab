"""Encoder and decoder: the reference equals the torch twin, and the twin equals torch's own modules put together."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from helpers import fault

from stepformer import examples, nn, params
from stepformer.reference import encoder_decoder as reference

VALUES, GRADIENTS = 1e-10, 1e-8
KINDS = ("rnn", "gru")
PAD, BOS, EOS = 0, 1, 2
SIZES = {"src_vocab_size": 11, "tgt_vocab_size": 13, "d_embedding": 5, "d_hidden": 7}


def twin_of(kind="gru", scale=0.7):
    """A model whose weights are drawn, biases included."""
    twin = nn.EncoderDecoder(**SIZES, kind=kind, pad_id=PAD).double()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return twin


def sentences(lengths, n_tgt=4, seed=0):
    """Sources of these lengths, filled up with padding, and targets that begin with the start mark."""
    rng = np.random.default_rng(seed)
    src = np.zeros((len(lengths), max(lengths)), dtype=int)
    for sentence, n in zip(src, lengths, strict=True):
        sentence[:n] = rng.integers(2, SIZES["src_vocab_size"], n)
    tgt = rng.integers(2, SIZES["tgt_vocab_size"], (len(lengths), n_tgt))
    tgt[:, 0] = BOS
    return src, tgt


def start(*leading):
    return np.zeros((*leading, SIZES["d_hidden"]))


# ---- reference and twin -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [[3], [1], [5, 1, 3], [2, 2]])
@pytest.mark.parametrize("n_tgt", [1, 4])
def test_the_reference_agrees_with_its_twin(kind, lengths, n_tgt):
    twin = twin_of(kind)
    src, tgt = sentences(lengths, n_tgt)
    arrays = params.to_arrays(twin.state_dict())
    encoded = reference.encode(src, start(len(lengths)), arrays, kind, PAD)
    assert_agree(encoded.context, twin.encode(torch.as_tensor(src)).memory, VALUES, "context")
    logits = reference.encoder_decoder(src, tgt, start(len(lengths)), arrays, kind, PAD)
    assert logits.shape == (len(lengths), n_tgt, 13)
    assert_agree(logits, twin(torch.as_tensor(src), torch.as_tensor(tgt)), VALUES, "logits")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("leading", [(), (2, 3)])
def test_any_leading_axes_agree(kind, leading):
    twin = twin_of(kind)
    rng = np.random.default_rng(1)
    src, tgt = rng.integers(2, 11, (*leading, 3)), rng.integers(2, 13, (*leading, 4))
    arrays = params.to_arrays(twin.state_dict())
    mine = reference.encoder_decoder(src, tgt, start(*leading), arrays, kind)
    assert_agree(mine, twin(torch.as_tensor(src), torch.as_tensor(tgt)), VALUES)


@pytest.mark.parametrize("kind", KINDS)
def test_both_write_the_same_words(kind):
    twin = twin_of(kind)
    src, _ = sentences([5, 1, 3], seed=4)
    arrays = params.to_arrays(twin.state_dict())
    theirs = twin.greedy(torch.as_tensor(src), BOS, 6).numpy()
    context = reference.encode(src, start(3), arrays, kind, PAD).context
    unrolled = reference.feed_back(np.full((3, 1), BOS), context, arrays, 6, kind)
    assert np.array_equal(unrolled.words.argmax(axis=-1), theirs)
    for sentence, words in zip(src, theirs, strict=True):
        end = words.tolist().index(EOS) + 1 if EOS in words else 6
        assert reference.greedy(sentence, start(), arrays, BOS, EOS, 6, kind, PAD) == words[:end].tolist()


@fault("MOD-15")
def test_a_model_in_training_writes_without_dropout_and_goes_on_training():
    twin = twin_of()
    # Half of each word vector lost at random would change the words.
    twin.src_embedding = torch.nn.Sequential(twin.src_embedding, torch.nn.Dropout(0.5))
    frozen = twin.tgt_embedding.eval()
    src = torch.as_tensor(sentences([5, 1, 3], seed=4)[0])
    expected = twin.eval().greedy(src, BOS, 6)
    twin.train()
    frozen.eval()
    assert torch.equal(twin.greedy(src, BOS, 6), expected)
    assert torch.equal(twin.greedy(src, BOS, 6), expected)
    assert [module for module in twin.modules() if not module.training] == [frozen]
    with pytest.raises(ValueError, match="the table has the rows"):
        twin.greedy(src + 99, BOS, 6)
    assert twin.training


def test_the_example_of_the_chapter_runs_in_torch():
    given = examples.ENCODER_DECODER_PARAMS
    twin = nn.EncoderDecoder(8, 7, 6, 5, kind="rnn").double()
    twin.load_state_dict(params.from_arrays(given, twin.state_dict()))
    trace = examples.teacher_forcing()
    src, tgt, targets = (torch.as_tensor(trace[name].copy()) for name in ("src", "tgt", "targets"))
    assert_agree(trace["logits"], twin(src, tgt), VALUES, "logits")
    assert_agree(trace["loss.mean"], torch.nn.functional.cross_entropy(twin(src, tgt), targets), VALUES, "loss")
    assert twin.greedy(src, BOS, 4).tolist() == examples.feeding_back()["words"].argmax(axis=1).tolist()


# ---- the twin and torch's own modules -------------------------------------------------------------------------------


class Plain(torch.nn.Module):
    """The same model, written with torch's own modules alone, for sentences without padding."""

    def __init__(self, kind):
        super().__init__()
        network = {"rnn": torch.nn.RNN, "gru": torch.nn.GRU}[kind]
        self.src_embedding, self.tgt_embedding = torch.nn.Embedding(11, 5), torch.nn.Embedding(13, 5)
        self.encoder, self.decoder = (network(5, 7, batch_first=True) for _ in range(2))
        self.output = torch.nn.Linear(7, 13)

    def forward(self, src, tgt):
        _, context = self.encoder(self.src_embedding(src))
        return self.output(self.decoder(self.tgt_embedding(tgt), context)[0])


def values_and_gradients(module, src, tgt):
    logits = module(torch.as_tensor(src), torch.as_tensor(tgt))
    factors = torch.linspace(-1, 2, logits.numel(), dtype=logits.dtype).reshape(logits.shape)
    named = dict(module.named_parameters())
    return logits, dict(zip(named, torch.autograd.grad((logits * factors).sum(), named.values()), strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [[6], [3, 3]])
def test_the_twin_equals_torchs_own_modules_in_values_and_gradients(kind, lengths):
    twin, own = twin_of(kind), Plain(kind).double()
    own.load_state_dict(twin.state_dict())
    src, tgt = sentences(lengths)
    mine, my_gradients = values_and_gradients(twin, src, tgt)
    theirs, their_gradients = values_and_gradients(own, src, tgt)
    assert_agree(mine, theirs, VALUES, "logits")
    assert my_gradients.keys() == their_gradients.keys()
    for name, gradient in their_gradients.items():
        assert_agree(my_gradients[name], gradient, GRADIENTS, name)
    assert all(gradient.any() for gradient in my_gradients.values())


@fault("RNN-05")
@pytest.mark.parametrize("kind", KINDS)
def test_in_a_batch_each_sentence_is_as_it_is_alone(kind):
    twin = twin_of(kind)
    lengths = [5, 1, 3]
    src, tgt = sentences(lengths)
    together = twin(torch.as_tensor(src), torch.as_tensor(tgt))
    for k, n in enumerate(lengths):
        alone = twin(torch.as_tensor(src[k : k + 1, :n]), torch.as_tensor(tgt[k : k + 1]))
        assert_agree(together[k : k + 1], alone, VALUES)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cut", [1, 2, 3])
def test_word_by_word_with_a_cache_is_the_whole_target_at_once(kind, cut):
    twin = twin_of(kind)
    src, tgt = (torch.as_tensor(ids) for ids in sentences([4, 2], n_tgt=4))
    memory, mask = twin.encode(src)
    whole = twin.decode(tgt, memory, mask)
    first = twin.decode(tgt[:, :cut], memory, mask)
    rest = twin.decode(tgt[:, cut:], memory, mask, first.cache)
    assert_agree(torch.cat([first.output, rest.output], dim=1), whole.output, VALUES)
    assert_agree(rest.cache.hidden, whole.cache.hidden, VALUES)
    swapped = twin.decode(tgt[[1, 0], cut:], memory, mask, first.cache.select(torch.tensor([1, 0])))
    assert_agree(swapped.output[[1, 0]], rest.output, VALUES)


def test_a_later_word_changes_nothing_before_it():
    twin = twin_of()
    src, tgt = (torch.as_tensor(ids) for ids in sentences([4]))
    plain = twin(src, tgt)
    for t in range(1, 4):
        other = tgt.clone()
        other[:, t] = (tgt[:, t] + 1) % 13
        changed = (twin(src, other) != plain).any(dim=-1)[0]
        assert changed.tolist() == [k >= t for k in range(4)]


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match="kind is 'cnn'; it is one of rnn, gru"):
        nn.EncoderDecoder(**SIZES, kind="cnn")
    with pytest.raises(ValueError, match="vocab_size is 0"):
        nn.EncoderDecoder(0, 13, 5, 7)
    with pytest.raises(ValueError, match="d_hidden is 0"):
        nn.EncoderDecoder(11, 13, 5, 0)
    twin = twin_of()
    with pytest.raises(ValueError, match="max_len is 0"):
        twin.greedy(torch.tensor([[3, 4]]), BOS, 0)
    with pytest.raises(ValueError, match="no word at all"):
        twin.encode(torch.tensor([[3, 4], [PAD, PAD]]))
