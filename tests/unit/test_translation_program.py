"""A trained model as a recorded program: it is the model, its breaks take away what they say, and it can be stored."""

import json
import re

import numpy as np
import pytest
import torch
from translation_cases import EVERY_SHAPE, SENTENCES, SMALLEST, random_model, save_random_model

from stepformer import Trace
from stepformer.checkpoint import load_model, read_model
from stepformer.data.tokenizer import BOS, EOS, tokenizer_from_json
from stepformer.translation_program import NO_POSITIONS, parameters, translate_greedily, translation_program

SRC, TGT = (5, 6, 4, 2), (1, 4, 9, 5, 6)


@pytest.fixture(scope="module", params=EVERY_SHAPE)
def stored(request, tmp_path_factory):
    return random_model(tmp_path_factory.mktemp("models") / "model", request.param)


@pytest.fixture(scope="module")
def trace(stored):
    return translation_program(stored, SRC, TGT)


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    return random_model(tmp_path_factory.mktemp("models") / "model", SMALLEST)


def source(stored, text):
    return [*tokenizer_from_json(stored.info["src_tokenizer"]).encode(text), EOS]


@pytest.mark.parametrize("shape", EVERY_SHAPE)
def test_it_computes_what_the_torch_model_computes(shape, tmp_path):
    directory = save_random_model(tmp_path / "model", shape)
    model = load_model(directory).model.double()
    trace = translation_program(read_model(directory), SRC, TGT, breaks=False)
    with torch.inference_mode():
        wanted = model(torch.tensor([SRC]), torch.tensor([TGT]))[0].numpy()
    np.testing.assert_allclose(trace["logits"], wanted, rtol=0, atol=1e-10 * max(1, np.abs(wanted).max()))


def test_its_weights_are_stored_in_two_bytes_each_and_it_comes_back_from_json(one):
    trace = translation_program(one, SRC, TGT)
    text = trace.to_json()
    assert Trace.from_json(text) == trace
    kinds = [leaf["data"]["type"] for leaf in json.loads(text)["tensors"] if isinstance(leaf.get("data"), dict)]
    assert set(kinds) <= {"float16"}


def test_with_other_lengths_it_is_a_fresh_recording(stored):
    trace = translation_program(stored, SRC, breaks=False)
    for src, tgt in (((2,), (1,)), ((7, 2), (1, 8)), (tuple(range(4, 10)), (1, 5, 5, 5, 5, 5, 5))):
        again = trace.run({"src": np.array(src), "tgt": np.array(tgt)})
        fresh = translation_program(stored, src, tgt, breaks=False)
        np.testing.assert_array_equal(again["probabilities"], fresh["probabilities"])


def without_rows_of_head(params, path, head, n_heads):
    """The parameters with what a head hands on set to zero: another way to be without it."""
    weight = params[f"{path}.w_o.weight"].copy()
    width = len(weight) // n_heads
    weight[head * width : (head + 1) * width] = 0
    return params | {f"{path}.w_o.weight": weight}


def test_a_head_that_may_attend_to_nothing_is_one_whose_output_weights_are_zero(stored, trace):
    names = [b.name for b in trace.breaks if b.name != NO_POSITIONS]
    attentions = {re.fullmatch(r"Without head \d of (.+)", name)[1] for name in names}
    n_layers = [stored.info["arguments"][f"n_{side}_layers"] for side in ("encoder", "decoder")]
    assert len(attentions) == n_layers[0] + 2 * n_layers[1]
    assert len(names) == 4 * len(attentions)
    for name in names[::5]:
        head, path = re.fullmatch(r"Without head (\d) of (.+)", name).groups()
        arrays = without_rows_of_head(parameters(stored), path, int(head), 4)
        wanted = trace.run({f"{path}.w_o.weight": arrays[f"{path}.w_o.weight"]})["logits"]
        got = trace.broken(name)["logits"]
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-12)
        assert np.abs(got - trace["logits"]).max() > 1e-6


def test_two_heads_of_one_attention_can_be_away_at_once(stored, trace):
    path = "decoder.layers.0.cross_attention"
    params = parameters(stored)
    for head in (1, 2):
        params = without_rows_of_head(params, path, head, 4)
    wanted = trace.run({f"{path}.w_o.weight": params[f"{path}.w_o.weight"]})["logits"]
    got = trace.broken(*(f"Without head {head} of {path}" for head in (1, 2)))["logits"]
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-12)


def test_without_positions_the_order_of_the_source_means_nothing(trace):
    turned = {"src": np.array(SRC[::-1])}
    np.testing.assert_allclose(
        trace.broken(NO_POSITIONS).run(turned)["logits"], trace.broken(NO_POSITIONS)["logits"], rtol=0, atol=1e-10
    )
    assert np.abs(trace.run(turned)["logits"] - trace["logits"]).max() > 1e-3


def test_greedy_translation_is_a_loop_around_the_program(stored):
    for text in SENTENCES[:3]:
        src, ids = source(stored, text), [BOS]
        trace = translation_program(stored, src, breaks=False)
        while len(ids) <= 6 and ids[-1] != EOS:
            ids.append(int(trace.run({"tgt": np.array(ids)})["probabilities"][-1].argmax()))
        assert translate_greedily(stored, src, max_len=6) == ids[1:]


def test_a_model_that_never_ends_is_cut_where_its_positions_end(tmp_path):
    stored = random_model(tmp_path / "model", "learned positions, tied output, GELU")
    words = max((translate_greedily(stored, source(stored, text)) for text in SENTENCES), key=len)
    assert len(words) <= stored.info["arguments"]["max_len"]


def test_full_precision_is_kept_where_it_is_wanted(tmp_path):
    stored = random_model(tmp_path / "model", dtype="float32")
    half, full = parameters(stored), parameters(stored, half=False)
    assert all(array.dtype == np.float64 for array in full.values())
    assert any((half[name] != full[name]).any() for name in full)
    name = "src_embedding.weight"
    np.testing.assert_array_equal(full[name], stored.arrays[name].astype(np.float64))
    assert np.abs(half[name] - full[name]).max() < 2e-3 * np.abs(full[name]).max()


def test_a_tied_output_layer_is_the_table_of_the_target(tmp_path):
    stored = random_model(tmp_path / "model", "learned positions, tied output, GELU")
    trace = translation_program(stored, SRC, TGT, breaks=False)
    names = {trace.tensors[i].name for i in trace.leaves}
    assert "tgt_embedding.weight" in names
    assert "output.weight" not in names
    np.testing.assert_array_equal(trace["output_weight"], trace["tgt_embedding.weight"].T)


def test_another_kind_of_model_is_refused(one):
    other = one._replace(info=one.info | {"kind": "gru", "arguments": {}})
    with pytest.raises(ValueError, match="kind 'gru'"):
        translation_program(other, SRC)
