"""A trained recurrent translator as a recorded program: it is the model, and it can be stored."""

import json

import numpy as np
import pytest
import torch
from agreement import assert_agree
from translation_cases import random_model, tokenizers

from stepformer import Trace, nn
from stepformer.checkpoint import load_model, read_model, save_model
from stepformer.recurrent_program import recurrent_program, translate_greedily
from stepformer.trace import TraceError

SRC, TGT = (5, 6, 4, 2), (1, 4, 9, 5, 6)
MODELS = {
    "gru": nn.EncoderDecoder,
    "rnn": lambda *sizes: nn.EncoderDecoder(*sizes, kind="rnn"),
    "gru_attention": nn.RecurrentAttention,
}


@pytest.fixture(scope="module", params=MODELS)
def directory(request, tmp_path_factory):
    src, tgt = tokenizers()
    model = MODELS[request.param](len(src), len(tgt), 5, 8)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.7, generator=generator)
    folder = tmp_path_factory.mktemp("models") / request.param
    return save_model(folder, model, src, tgt, {"title": "Nothing learnt"}, "float16")


def test_it_computes_what_the_torch_model_computes_for_any_words_of_its_lengths(directory):
    model = load_model(directory).model.double()
    trace = recurrent_program(read_model(directory), SRC, TGT)
    other = {"src": np.array([7, 2, 0, 0]), "tgt": np.array([1, 6, 6, 4, 9])}
    for run, src, tgt in ((trace, SRC, TGT), (trace.run(other), other["src"], other["tgt"])):
        with torch.inference_mode():
            wanted = model(torch.tensor([list(src)]), torch.tensor([list(tgt)]))[0]
        assert_agree(run["logits"], wanted, 1e-10)
        assert_agree(run["probabilities"], wanted.softmax(-1), 1e-10)
    assert trace.title == "Nothing learnt"


def test_it_comes_back_from_json_and_refuses_other_lengths(directory):
    trace = recurrent_program(read_model(directory), SRC, TGT)
    text = trace.to_json()
    assert Trace.from_json(text) == trace
    kinds = [leaf["data"]["type"] for leaf in json.loads(text)["tensors"] if isinstance(leaf.get("data"), dict)]
    assert set(kinds) <= {"float16"}
    with pytest.raises(TraceError, match="unrolled for 4 positions"):
        trace.run({"src": np.array([5, 2])})


def test_words_label_what_belongs_to_them(directory):
    trace = recurrent_program(read_model(directory), SRC, TGT)
    words, written = ([t.vocabulary[k] for k in ids] for t, ids in zip(tokenizers(), (SRC, TGT), strict=True))
    assert trace.axis_labels("src_embedded")[0] == words
    assert trace.axis_labels("probabilities") == [written, list(tokenizers()[1].vocabulary)]
    if directory.name == "gru_attention":
        assert trace.axis_labels("cross_attention.additive_attention.weights") == [written, words]
        np.testing.assert_allclose(trace["cross_attention.additive_attention.weights"].sum(axis=-1), 1)


def test_it_writes_what_a_greedy_loop_around_the_torch_model_writes(directory):
    model = load_model(directory).model.double()
    for most in (1, 6, None):
        ids = [1]
        while len(ids) <= (16 if most is None else most) and ids[-1] != 2:  # 2 · 3 + 10: three words and <eos> are read
            with torch.inference_mode():
                ids.append(int(model(torch.tensor([list(SRC)]), torch.tensor([ids]))[0, -1].argmax()))
        assert translate_greedily(read_model(directory), SRC, max_len=most) == ids[1:]


def test_another_kind_of_model_is_refused(tmp_path):
    with pytest.raises(ValueError, match="kind 'transformer'; recorded as this program can be gru and gru_attention"):
        recurrent_program(random_model(tmp_path / "model"), SRC)
    with pytest.raises(ValueError, match="kind 'transformer'"):
        translate_greedily(random_model(tmp_path / "another"), SRC)
