"""The models that come with the package: small enough, made by their presets, and right where the book says so."""

import json

import numpy as np
import pytest
from make_checkpoint import MOST_PROBABLE, MUST_BE_RIGHT, exact_share, splits_of, thousandths, wrong_sentences

from stepformer.checkpoint import NAMES, SHIPPED, load_model
from stepformer.data.grammar import PHENOMENA
from stepformer.evaluate.attention import cross_attention
from stepformer.train import Config
from stepformer.translator import Translator

LARGEST = {"small": 600_000, "base": 2_200_000, "gru": 2_200_000, "gru_attention": 900_000}
"""Bytes of the weights."""
ONE_VECTOR = "gru"
"""This one can not look back at the source: it is the model that the others are compared with."""
LAST = {name: "decoder.layers.1.cross_attention" for name in ("small", "base")} | {"gru_attention": "cross_attention"}
"""The last attention from the target to the source."""

each_model = pytest.mark.parametrize("name", NAMES)
each_model_with_attention = pytest.mark.parametrize("name", [name for name in NAMES if name != ONE_VECTOR])


def read(name, file):
    return json.loads((SHIPPED / name / file).read_text(encoding="utf-8"))


@each_model
def test_the_weights_are_small_enough_to_come_with_the_package(name):
    assert (SHIPPED / name / "weights.safetensors").stat().st_size <= LARGEST[name]


@each_model
def test_a_model_was_made_by_the_preset_of_its_name(name):
    stored = Config.from_toml(SHIPPED / name / "config.toml")
    assert stored == Config.preset(name)
    assert load_model(name).record["config"] == stored.to_dict()


@each_model
def test_the_sentences_of_the_book_are_right(name):
    sources = {source for source, _ in MUST_BE_RIGHT}
    assert {"Tom chases Jerry.", "The cat that chased Jerry is sleeping.", "Tom did not chase Jerry."} <= sources
    assert wrong_sentences(Translator.load(name)) == []


@each_model_with_attention
def test_the_scores_beside_a_model_are_above_what_the_book_says(name):
    scores = read(name, "scores.json")
    exact = {test: row["exact"] for test, row in scores["test"].items()}
    assert exact["random"] >= 0.99
    assert exact["unseen_pairs"] >= 0.97
    assert {test: share for test, share in exact.items() if test in PHENOMENA and share < 0.95} == {}
    assert scores["alignment_error"]["last_layer"] <= 0.06 < scores["alignment_error"]["diagonal"]


@each_model
def test_the_log_has_every_tenth_step_and_learning_is_seen_in_it(name):
    log = read(name, "log.json")
    steps, loss = log["steps"]["step"], log["steps"]["loss"]
    assert steps == [1, *range(10, Config.preset(name).budget.steps + 1, 10)]
    assert len(steps) == len(loss) == len(log["steps"]["lr"])
    assert loss[0] > 4 > 1 > loss[-1]
    assert log["dev"]["dev_exact"][-1] >= (0.8 if name == ONE_VECTOR else 0.99)


@each_model_with_attention
def test_the_last_snapshot_is_of_the_model_that_is_shipped(name):
    loaded, stored = load_model(name), read(name, "snapshots.json")
    sentences, last = stored["sentences"], stored["snapshots"][-1]
    assert last["step"] == Config.preset(name).budget.steps
    ids = [(loaded.src_tokenizer.encode(s["source"]), loaded.tgt_tokenizer.encode(s["target"])) for s in sentences]
    for k, weights in cross_attention(loaded.model, ids):
        for layer, expected in last["sentences"][k]["attention"].items():
            # The snapshot was taken before the weights were rounded to float16.
            assert np.abs(np.array(expected) - thousandths(weights[layer])).max() <= 20
    for sentence, seen in zip(sentences, last["sentences"], strict=True):
        assert [words[0][0] for words in seen["next"]][:-1] == sentence["tgt"]
        assert all(len(words) == MOST_PROBABLE for words in seen["next"])


@each_model_with_attention
def test_attention_begins_spread_out_and_ends_aligned(name):
    stored = read(name, "snapshots.json")
    seen = [snapshot["sentences"][0]["attention"][LAST[name]] for snapshot in stored["snapshots"]]
    first, last = (np.mean(seen[i], axis=0) for i in (0, -1))
    assert stored["snapshots"][0]["step"] == 0
    assert first.max() < 500
    assert (last[:3, :3].diagonal() > 500).all()  # Tom chases Jerry


def test_one_vector_is_enough_for_one_clause_and_not_for_four():
    exact = {test: row["exact"] for test, row in read(ONE_VECTOR, "scores.json")["test"].items()}
    assert exact["clauses_1"] >= 0.95
    assert exact["clauses_4"] <= 0.5
    assert not (SHIPPED / ONE_VECTOR / "snapshots.json").exists()
    assert "alignment_error" not in read(ONE_VECTOR, "scores.json")


@pytest.mark.slow
@each_model
def test_the_stored_scores_are_those_of_the_model(name):
    stored = read(name, "scores.json")["test"]["random"]["exact"]
    few = splits_of(Config.preset(name))["random"][:100]
    assert abs(exact_share(Translator.load(name), few) - stored) <= 0.05
