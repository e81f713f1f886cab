"""The page that translates against Python: tokens, probabilities, searches, and parts that are taken away."""

import json
import random

import numpy as np
import pytest
import torch
from engine import run_module
from translation_cases import EVERY_SHAPE, SENTENCES, SHAPES, SMALLEST, save_random_model, tokenizers

from stepformer import decode, translator_page
from stepformer.checkpoint import load_model, read_model
from stepformer.data.grammar import corpus
from stepformer.data.text import RULE
from stepformer.data.tokenizer import BOS, EOS, SPECIAL, WordTokenizer
from stepformer.translation_program import NO_POSITIONS, translation_program
from stepformer.translator import NEVER, Translator

pytestmark = pytest.mark.slow  # it translates with the shipped models

# `model` is the page's, `text` a sentence, `ids` the words written so far; the answer is whatever `work` returns.
SCRIPT = """
import { readFileSync } from "node:fs";
import { Model } from "./translate/model.js";
import { beam, greedy } from "./translate/search.js";
const { data, cases } = JSON.parse(readFileSync(0, "utf8"));
const model = new Model(data);
const answers = [];
for (const { text, ids, without = [], ...options } of cases) {
  const source = model.source(text);
  const next = (ids) => model.next(source, ids, without);
  const maxLen = model.limit(source, [1]);
  answers.push(await (async () => { %s })());
}
console.log(JSON.stringify(answers));
"""
PROBABILITIES = "return Array.from(model.view(source, ids, without).probabilities, (row) => [...row])"
GREEDY = "return (await greedy(next, { maxLen })).hypotheses"
BEAM = """const { hypotheses } = await beam(next, { maxLen, ...options });
  return hypotheses.map(({ ids, score, normalised, finished }) => ({ ids, score, normalised, finished }))"""
PLAYER = """const { parseProgram } = await import("./program.js");
  const program = parseProgram(model.payload(source, ids, without, "title"));
  const breaks = model.switchedOn(program, without).map(({ name }) => name);
  return [...program.run({ breaks }).values[program.find("logits")].data]"""


def ask(data, work, cases):
    """What the page's model answers to some cases."""
    return json.loads(run_module(SCRIPT % work, json.dumps({"data": data, "cases": cases})))


@pytest.fixture(scope="module")
def directories(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {shape: save_random_model(folder / str(k), shape) for k, shape in enumerate(SHAPES)}


@pytest.fixture(scope="module")
def stored(directories):
    return read_model(directories[SMALLEST])


@pytest.fixture(scope="module")
def data(stored):
    return translator_page.program_data(stored)


@pytest.fixture(scope="module")
def loaded(directories):
    return Translator(*load_model(directories[SMALLEST]))


def program(stored, case, breaks=False):
    ids = [*translator_page.tokenizers(stored)[0].encode(case["text"]), EOS]
    return translation_program(stored, ids, case["ids"], breaks=breaks)


@pytest.mark.parametrize("shape", EVERY_SHAPE)
def test_the_probabilities_of_the_next_word_are_those_of_numpy(shape, directories):
    stored = read_model(directories[shape])
    targets = [[BOS], [BOS, 3, 3, 18, 7, 6, 5, 4, 12]]
    cases = [{"text": text, "ids": ids} for text in SENTENCES[1:4] for ids in targets]
    for case, got in zip(cases, ask(translator_page.program_data(stored), PROBABILITIES, cases), strict=True):
        np.testing.assert_allclose(got, program(stored, case)["probabilities"], rtol=0, atol=1e-12)


def test_greedy_search_writes_what_python_writes(data, loaded):
    texts = [SENTENCES[i] for i in (2, 4, 5)]
    answers = ask(data, GREEDY, [{"text": text} for text in texts])
    written = loaded.translate(texts)
    assert len({one.text for one in written}) == 3, "the sentences must differ"
    assert len({one.finished for one in written}) == 2, "one ends, one is cut"
    for got, wanted in zip(answers, written, strict=True):
        assert loaded.tgt_tokenizer.words(got[0]["ids"]) == list(wanted.tokens)
        assert got[0]["finished"] == wanted.finished
        assert got[0]["score"] == pytest.approx(wanted.score, abs=1e-4)


def test_beam_search_finds_what_python_finds(data, loaded):
    settings = [
        {"size": size, "alpha": alpha, "nBest": n_best, "maxLen": max_len}
        for size, alpha, n_best, max_len in ((4, 0.6, 4, 6), (1, 0.6, 1, 5), (2, 0.0, 2, 6), (3, 2.0, 2, 4))
    ]
    cases = [{"text": text, **options} for options in settings for text in SENTENCES[:2]]
    found = 0
    for case, got in zip(cases, ask(data, BEAM, cases), strict=True):
        ids = torch.tensor([[*loaded.src_tokenizer.encode(case["text"]), EOS]])
        beam = [case["maxLen"], case["size"], case["alpha"], case["nBest"]]
        (wanted,) = decode.beam(loaded.model, ids, *beam, never_ids=NEVER)
        assert [tuple(one["ids"]) for one in got] == [one.ids for one in wanted]
        assert [one["finished"] for one in got] == [one.finished for one in wanted]
        for name in ("score", "normalised"):
            assert [one[name] for one in got] == pytest.approx([getattr(one, name) for one in wanted], abs=1e-4)
        found += sum(one.finished for one in wanted)
    assert found >= 4


def test_a_part_that_is_taken_away_is_missing_in_the_same_way_and_two_heads_are_as_well(stored, data):
    case = {"text": SENTENCES[1], "ids": [BOS, 5, 6, 7]}
    trace = program(stored, case, breaks=True)
    cross = [b.name for b in trace.breaks if "decoder.layers.0.cross_attention" in b.name]
    sets = [*([b.name] for b in trace.breaks[::3]), cross[:2], cross, [cross[3], NO_POSITIONS]]
    for names, got in zip(sets, ask(data, PROBABILITIES, [case | {"without": names} for names in sets]), strict=True):
        used = np.ones((4, 1, 1), dtype=bool)
        used[[cross.index(name) for name in names if name in cross]] = False
        wanted = trace.broken(*names)
        if used.sum() < 3:
            wanted = wanted.run({"decoder.layers.0.cross_attention.heads_in_use": used})
        np.testing.assert_allclose(got, wanted["probabilities"], rtol=0, atol=1e-12, err_msg=str(names))
        assert np.abs(got - trace["probabilities"]).max() > 1e-6, f"{names} changes nothing"


def test_the_player_gets_the_same_program_at_the_same_point_with_the_same_parts_away(data):
    names = [f"Without head {head} of decoder.layers.0.cross_attention" for head in (1, 3)]
    sets = [[], names, [*names, NO_POSITIONS], ["Without head 0 of encoder.layers.0.self_attention"]]
    cases = [{"text": SENTENCES[0], "ids": [BOS, 4, 6], "without": without} for without in sets]
    in_player, on_page = ask(data, PLAYER, cases), ask(data, PROBABILITIES, cases)
    for logits, probabilities in zip(in_player, on_page, strict=True):
        shares = np.exp(np.reshape(logits, np.shape(probabilities)))
        np.testing.assert_allclose(shares / shares.sum(axis=-1, keepdims=True), probabilities, rtol=0, atol=1e-12)


# ---- tokens ----------------------------------------------------------------------------------------------------------

PIECES = [
    *"Tom Jerry chases the cat's doesn't DOESN'T 3.5 1,000 a-b o'clock .,?!;:()\"“”‘’…%~ 汤姆追逐杰瑞。？，的那只 ",
    *("\u200b", "\ufeff", "\x00", "\x1b", "\x85", "\u2028", "\u202e", "\u200f", "\u3000", "\ud800", "\ufe0f", "\u1160"),
    *("Ａ", "１", "’", "ʼ", "e\u0301", "\uf90a", "😀", "👨‍👩‍👧", "½", "²", "Ⅷ", "ß", "İ", "ς", "Σ", "ſ", "_", "١٢"),
    *("<eos>", "<script>", "<pad>", "𠮷", "𠮷野", "n't", "'s", "ʼs", "’S", "\u0301", "\x1c", "\r\n", "\t", "ﬁ"),
    *("中A", "A中", "1.2.3", "a's's", "n'T", "well-known", "e.g.", "P.E", "'ll", "—", ". ", "Tom", "chases", "é"),
    *("追逐", "那只", "汤姆 ", "Tom Jerry", "\u0e33", "  ", "K"),
]
TOKENS = """
import { readFileSync } from "node:fs";
import { Tokenizer } from "./translate/tokenizer.js";
const { stored, texts } = JSON.parse(readFileSync(0, "utf8"));
const answer = (one) => (text) => {
  const words = one.tokens(text);
  const ids = one.encode(text);
  return [words, ids, one.join(words), one.decode(ids)];
};
console.log(JSON.stringify(stored.map((one) => texts.map(answer(new Tokenizer(one))))));
"""


def test_text_becomes_the_same_tokens_and_ids_as_in_python_and_text_again():
    chance = random.Random(11)
    texts = ["".join(chance.choices(PIECES, k=chance.randint(0, 12))) for _ in range(1500)]
    texts += [clause.example for clause in RULE] + list(SENTENCES) + ["Tom " * 3000, "𐀀" * 50, ""]
    both = [*tokenizers(), WordTokenizer([*SPECIAL, "tom", "𠮷野", "3.5", "a-b", "ß"], "en", True)]
    both.append(WordTokenizer([*both[2].vocabulary, "，", "？", "a", "tom-b", "𠮷"], "zh", True))
    stored = [one.to_json() for one in both]
    answers = json.loads(run_module(TOKENS, json.dumps({"stored": stored, "texts": texts})))
    known = 0
    for one, got in zip(both, answers, strict=True):
        for text, answer in zip(texts, got, strict=True):
            words, ids = one.tokens(text), one.encode(text)
            assert answer == [words, ids, one.join(words), one.decode(ids)], ascii(text)
            known += sum(i > 3 for i in ids)
    assert known > 1000


# ---- the model that comes with the package ---------------------------------------------------------------------------

with_shipped_model = pytest.mark.skipif(not translator_page.is_shipped(), reason="models/small is not there")


def compare_shipped(sentences):
    """Greedy translations of the shipped model, on the page and in Python."""
    stored = read_model("small")
    data = translator_page.program_data(stored)
    answers = ask(data, GREEDY, [{"text": text} for text in sentences])
    words = data["tgt_tokenizer"]["vocabulary"]
    for text, got, wanted in zip(sentences, answers, Translator.load("small").translate(sentences), strict=True):
        assert [words[i] for i in got[0]["ids"]] == list(wanted.tokens), text
    return stored, data, answers


@with_shipped_model
def test_the_shipped_model_writes_the_same_in_the_page():
    compare_shipped([source for source, _ in translator_page.EXAMPLES[:3]])


@with_shipped_model
@pytest.mark.slow
def test_the_shipped_model_writes_the_same_in_the_page_on_two_hundred_sentences_with_numpys_probabilities():
    sentences = [pair.source for pair in corpus(n_train=0, n_dev=0, n_test=200).test["random"][:200]]
    assert len(sentences) == 200
    stored, data, answers = compare_shipped(sentences)
    cases = [{"text": text, "ids": [BOS, *got[0]["ids"]]} for text, got in zip(sentences, answers, strict=True)]
    for case, rows in zip(cases, ask(data, PROBABILITIES, cases), strict=True):
        np.testing.assert_allclose(rows, program(stored, case)["probabilities"], rtol=0, atol=1e-6)
