"""`stepformer evaluate`: what it prints, what it writes, and how it says what is wrong."""

import io
import json
import sys

import pytest
import torch

from stepformer import nn
from stepformer.checkpoint import save_model
from stepformer.cli import main
from stepformer.data import grammar
from stepformer.data.pair import Pair
from stepformer.data.tokenizer import WordTokenizer
from stepformer.evaluate import test_sets

PAIRS = [
    ("Tom chases Jerry.", "汤姆追逐杰瑞。"),
    ("Jerry sees Tom.", "杰瑞看见汤姆。"),
    ("Zed sees Tom.", "杰瑞看见汤姆。"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two small models that know no grammar, and a file of pairs."""
    folder = tmp_path_factory.mktemp("evaluate")
    src = WordTokenizer.learn([source for source, _ in PAIRS[:2]], "en")
    tgt = WordTokenizer.learn([("汤姆", "追逐", "杰瑞", "。", "看见")], "zh")
    for seed, name in enumerate(("one", "other")):
        model = nn.Transformer(len(src), len(tgt), 8, 2, 1, 12, generator=torch.Generator().manual_seed(seed))
        save_model(folder / name, model, src, tgt, {"title": name})
    lines = "".join(f"{source}\t{target}\n" for source, target in PAIRS)
    (folder / "pairs.tsv").write_text(lines, encoding="utf-8")
    return folder


def run(*words) -> int:
    return main(["evaluate", "--samples", "20", *map(str, words)])


def test_json_holds_every_score_and_every_sentence(folder, capsys):
    assert run("--model", folder / "one", "--data", folder / "pairs.tsv", "--json") == 0
    captured = capsys.readouterr()
    (one,) = json.loads(captured.out)["evaluations"]
    assert captured.err == ""  # no progress bar where nobody looks
    assert [(s["source"], s["reference"]) for s in one["sentences"]] == PAIRS
    assert one["sentences"][2]["unknown"] == ["Zed"]
    assert (one["n"], one["with_unknown_words"]) == (3, 1)
    assert one["perplexity"]["tokens"] == 3 * 5
    assert one["alignment_error"] is None  # a file has no links
    assert "tok:zh" in one["bleu"]["signature"]
    assert one["system"] == f"{folder / 'one'}, greedy"


def test_text_and_report_of_two_models_on_standard_input(folder, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((folder / "pairs.tsv").read_bytes())))
    models = ("--model", folder / "one", "--model", folder / "other")
    assert run(*models, "--data", "-", "--limit", 2, "--beam", 2, "--report", tmp_path / "report") == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("standard input: 2 sentences\n")
    assert f"{folder / 'one'}, beam 2 against {folder / 'other'}, beam 2" in captured.out
    assert captured.err == f"wrote {tmp_path / 'report' / 'report.md'}\n"
    assert json.loads((tmp_path / "report" / "report.json").read_text(encoding="utf-8"))["differences"]


def test_the_grammar_is_that_of_the_corpus_that_the_model_was_trained_on(monkeypatch):
    """Nothing is drawn here: what would be asked for is looked at."""
    asked = []

    def corpus(**settings):
        asked.append(settings)
        pairs = [Pair("a", "甲", ("a",), ("甲",), phenomena=frozenset({"negation"})), Pair("b", "乙", ("b",), ("乙",))]
        return grammar.Corpus([], pairs[1:], {"random": pairs, "longer": pairs[:1]})

    monkeypatch.setattr(grammar, "corpus", corpus)
    trained = {"source": "grammar", "seed": 3, "phenomena": ["core", "ba"], "script": "traditional", "n_dev": 7}
    assert len(test_sets.of_grammar("random", {"config": {"data": trained}})) == 2
    wanted = {"phenomena": grammar.CORE | {"ba"}, "seed": 3, "script": "traditional"}
    assert asked[-1] == {"n_train": 0, "n_dev": 0, **wanted}
    assert test_sets.of_grammar("dev", {"config": {"data": trained}})[0].source == "b"
    assert asked[-1]["n_dev"] == 7
    for record in (None, {}, {"config": {"data": {"source": "hsk", "seed": 5}}}):
        assert [pair.source for pair in test_sets.of_grammar("negation", record)] == ["a"]
        assert asked[-1] == {"n_train": 0, "n_dev": 0, "phenomena": set(grammar.ALL)}
    with pytest.raises(ValueError, match="no split 'longest'; it has dev, random, longer, and for each phenomenon"):
        test_sets.of_grammar("longest")
    # A phenomenon that the corpus does not show is no split of it.
    with pytest.raises(ValueError, match="no split 'ba'"):
        test_sets.of_grammar("ba")


def test_the_same_seed_says_the_same(folder, capsys):
    said = []
    for batch_size in (1, 64):
        options = ("--model", folder / "one", "--data", folder / "pairs.tsv", "--seed", 3)
        assert run(*options, "--batch-size", batch_size) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"Tom sleeps.\t\xe6\xb1\xa4\nno tab here\n", "line 2: missing column"),
        (b"Tom sleeps.\t\xff\n", "line 1: bad encoding"),
        (b"a\tb\tc\n", "line 1: extra column: 3 columns instead of two"),
        (b"", "it holds no pairs"),
    ],
)
def test_a_bad_line_is_named(folder, capsys, tmp_path, content, message):
    path = tmp_path / "bad.tsv"
    path.write_bytes(content)
    assert run("--model", folder / "one", "--data", path) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"stepformer: {path}")
    assert message in captured.err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--model", "one", "--data", "missing.tsv"), 1, "missing.tsv: No such file"),
        (("--model", "one", "--data", ""), 2, "--data is empty; give the path of a file"),
        (("--model", "nowhere", "--data", "PAIRS"), 1, "nowhere does not exist. It must be a model's folder"),
        (("--model", "one", "--data", "PAIRS", "--split", "random"), 2, "is a file of pairs and has no splits"),
        (("--model", "one", "--data", "hsk", "--split", "random"), 2, "HSK has no split 'random'"),
        (("--model", "a", "--model", "a", "--data", "PAIRS"), 2, "a model can be compared with other ones only"),
    ],
)
def test_what_does_not_fit_is_said(folder, capsys, monkeypatch, words, code, message):
    monkeypatch.chdir(folder)
    assert run(*("pairs.tsv" if word == "PAIRS" else word for word in words)) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


@pytest.mark.parametrize("words", [("--limit", "0"), ("--beam", "x"), ("--samples", "-1"), ("--batch-size", "²")])
def test_numbers_are_whole_and_above_0(words, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", *words])
    assert "is not a whole number above 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [("--limit", "9" * 20), ("--samples", "100001"), ("--beam", "1001"), ("--batch-size", "9" * 20), ("--seed", "-1")],
)
def test_numbers_are_not_absurd(words, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", *words])
    assert f"{words[1]!r} is" in capsys.readouterr().err


def test_help_has_examples(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["evaluate", "--help"])
    said = capsys.readouterr().out
    assert said.count("\n  stepformer evaluate") >= 4
    assert "Exit codes" in said
