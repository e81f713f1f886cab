"""What stands in the page that translates: a small payload, a script with the model, a table for who has no script."""

import gzip
import json

import pytest
from translation_cases import SMALLEST, random_model, tokenizers

from stepformer import translator_page
from stepformer.checkpoint import read_model
from stepformer.data.pair import Pair
from stepformer.data.tokenizer import BOS, CharacterTokenizer
from stepformer.translator_page import EXAMPLES, fallback, followers, page_html, page_payload, program_data, script

PAIRS = [Pair(text, "", (), ()) for text in ("Tom chases Jerry.", "Tom chases the cat.", "The cat is sleeping.")]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return random_model(tmp_path_factory.mktemp("models") / "model", SMALLEST)


def test_suggestions_are_the_words_that_most_often_come_next():
    tokenizer, _ = tokenizers()
    found = followers(tokenizer, [pair.source for pair in PAIRS])

    def after(word):
        return [tokenizer.vocabulary[i] for i in found[tokenizer.id(word)]]

    assert [tokenizer.vocabulary[i] for i in found[BOS]] == ["Tom", "The"]
    assert after("Tom") == ["chases"]
    assert after("chases") == ["Jerry", "the"]
    assert after("sleeping") == ["."]
    assert after("danced") == []
    assert [len(ids) for ids in followers(tokenizer, [pair.source for pair in PAIRS], most=1)][BOS] == 1


def test_unknown_words_are_no_suggestions():
    tokenizer, _ = tokenizers()
    assert followers(tokenizer, ["Tom zzz Jerry."])[tokenizer.id("Tom")] == []


def test_the_page_knows_its_words_and_examples_before_the_model_is_loaded(stored):
    payload = page_payload(stored, PAIRS)
    assert json.loads(json.dumps(payload, allow_nan=False)) == payload
    assert payload["tokenizer"] == stored.info["src_tokenizer"]
    assert len(payload["follow"]) == len(payload["tokenizer"]["vocabulary"])
    assert [one["source"] for one in payload["examples"]] == [source for source, _ in EXAMPLES]
    assert payload["most_words"] == stored.info["arguments"]["max_len"] - 1
    assert "program" not in payload


def test_the_five_examples_are_those_that_the_page_promises():
    (plain, _), (relative, _), (negation, _), (question, _), (clauses, _) = EXAMPLES
    assert plain == "Tom chases Jerry."
    assert relative == "The cat that chased Jerry is sleeping."
    assert " not " in negation or "n't" in negation
    assert question.endswith("?")
    assert clauses.count(",") == 1


def test_the_script_is_one_call_that_hands_the_program_over(stored):
    text = script(stored)
    assert text.count("\n") == 1
    assert text.startswith('stepformerData("translator",{')
    assert text.endswith("});\n")
    data = json.loads(text.removeprefix('stepformerData("translator",').removesuffix(");\n"))
    assert data == program_data(stored)
    scopes = {step["scope"] for step in data["program"]["steps"]}
    assert {"encoder.layers.0", "decoder.layers.0"} <= set(data["fold"])
    assert all(any(scope == fold or scope.startswith(f"{fold}.") for scope in scopes) for fold in data["fold"])


def test_without_a_script_the_examples_stand_there_with_what_the_model_writes(stored):
    html = page_html(stored, PAIRS)
    assert html.startswith('<stepformer-translator><script type="application/json">')
    assert html.count("<script") == html.count("</script>") == 1
    for source, _ in EXAMPLES:
        assert f"<td>{source}</td>" in html
    assert html.count('<td lang="zh">') == 5
    assert "<b>" not in fallback(stored, ["<b>Tom</b>"])
    assert "&lt;b&gt;" in fallback(stored, ["<b>Tom</b>"])


def test_a_tokenizer_that_the_page_can_not_run_is_refused(stored):
    characters = CharacterTokenizer(stored.info["tgt_tokenizer"]["vocabulary"][:4], "zh").to_json()
    other = stored._replace(info=stored.info | {"tgt_tokenizer": characters})
    with pytest.raises(ValueError, match="tokenizer of the target is of kind 'character'"):
        program_data(other)


@pytest.mark.skipif(not translator_page.is_shipped(), reason="models/small is not there")
def test_the_shipped_model_is_light_enough_for_a_page():
    assert len(gzip.compress(script(read_model("small")).encode("utf-8"), mtime=0)) <= 700_000


@pytest.mark.skipif(not translator_page.is_shipped(), reason="models/small is not there")
def test_the_shipped_model_translates_the_five_examples_right():
    html = fallback(read_model("small"))
    for _, target in EXAMPLES:
        assert f">{target}</td>" in html
