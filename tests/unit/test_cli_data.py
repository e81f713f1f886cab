"""The command `stepformer data`: what it prints, where, and with which exit code."""

import io
import json
import re
import subprocess
import sys
import types
from pathlib import Path
from types import SimpleNamespace

import pytest

from stepformer import cli
from stepformer.cli import data as command
from stepformer.data.pairs import read_pairs

PAIRS = "Tom runs.\t汤姆跑。\nJerry sleeps.\t杰瑞睡觉。\n"
BROKEN = PAIRS.encode() + b"no pair\n\xff\tx\n \ty\na\tb\tc\nTom\x1b]0;evil\x07\n"


@pytest.fixture
def run(capfd, monkeypatch):
    """Run the command in this process; return exit code, output and errors."""

    def run(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
        try:
            code = cli.main(["data", *map(str, arguments)])
        except SystemExit as stop:
            code = stop.code
        return code, *capfd.readouterr()

    return run


@pytest.fixture
def path(tmp_path):
    (tmp_path / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    return tmp_path / "pairs.tsv"


def test_check_is_content_with_a_good_file(run, path):
    assert run("check", path) == (0, "2 lines, 2 pairs, 0 of them there before\n", "")
    assert run("check", "-", stdin=(PAIRS * 2).encode())[1] == "4 lines, 4 pairs, 2 of them there before\n"


def test_check_names_every_problem_and_the_terminal_is_safe(run):
    code, out, err = run("check", "-", stdin=BROKEN)
    assert (code, err) == (1, "")
    assert [line.split(":")[:2] for line in out.splitlines()[:5]] == [
        ["line 3", " missing column"],
        ["line 4", " bad encoding"],
        ["line 5", " empty side"],
        ["line 6", " extra column"],
        ["line 7", " missing column"],
    ]
    assert r"'Tom\x1b]0;evil\x07'" in out
    assert out.replace("\n", "").isprintable()
    assert "7 lines, 2 pairs" in out
    code, out, _ = run("check", "-", "--most", "2", stdin=BROKEN)
    assert "… and 3 more" in out


def test_check_as_json(run):
    code, out, _ = run("check", "-", "--json", "--max-characters", "11", stdin=BROKEN)
    found = json.loads(out)
    assert code == 1
    assert found["lines"] == 7
    assert found["pairs"] == 1
    assert found["skipped"] == {
        "missing column": 2,
        "bad encoding": 1,
        "empty side": 1,
        "extra column": 1,
        "over-long": 1,
    }
    assert len(found["problems"]) == 6
    assert found["problems"][0]["line"] == 2


def test_clean_prints_the_good_pairs_and_says_what_it_left_out(run):
    code, out, err = run("clean", "-", stdin="\ufeffＴom runs.\t汤姆跑。\r\n".encode() + BROKEN)
    assert code == 0
    assert out == "Tom runs.\t汤姆跑。\n" + PAIRS
    assert err.endswith("8 lines, 3 pairs, 5 left out\n")
    assert "line 4: missing column" in err
    code, printed, same = run("clean", "-", "--json", stdin="\ufeffＴom runs.\t汤姆跑。\r\n".encode() + BROKEN)
    pairs = [json.loads(line) for line in printed.splitlines()]
    assert (code, same) == (0, err)
    assert [f"{pair['source']}\t{pair['target']}" for pair in pairs] == out.splitlines()


def test_tokenize_learns_saves_and_loads(run, path, tmp_path):
    stored = tmp_path / "zh.json"
    code, out, err = run("tokenize", path, "--column", 2, "--language", "zh", "--kind", "character", "--save", stored)
    assert (code, out) == (0, "汤 姆 跑 。\n杰 瑞 睡 觉 。\n")
    assert err == "9 tokens, 0 unknown, 12 in the vocabulary\n"
    code, out, err = run("tokenize", "-", "--load", stored, stdin="汤姆跳。\n".encode())
    assert (code, out) == (0, "汤 姆 跳 。\n")
    assert err.startswith("4 tokens, 1 unknown")
    (printed,) = run("tokenize", "-", "--load", stored, "--json", stdin="汤姆跳。".encode())[1].splitlines()
    assert json.loads(printed)["unknown"] == ["跳"]
    assert json.loads(printed)["ids"][2] == 3
    assert run("tokenize", "-", "--load", stored, "--ids", stdin="跳".encode())[1] == "3\n"
    code, out, _ = run("tokenize", path, "--column", 1, "--kind", "bpe", "--max-size", 40, "--lower")
    assert out.splitlines()[0].startswith("▁")
    assert out == out.lower()


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "message"),
    [
        (["check", "no/such/file.tsv"], b"", 1, "no/such/file.tsv: No such file"),
        *(
            ([name, ""], b"", 2, "file is empty; give the path of a file, or - for standard input")
            for name in ("check", "clean", "tokenize")
        ),
        (["tokenize", "-", "--load", ""], b"", 2, "--load is empty; give the path of a file."),
        (["tokenize", "-", "--save", ""], b"", 2, "--save is empty; give the path of a file."),
        (["tokenize", "-"], b"Tom\n\xff\n", 1, "line 2: bad encoding"),
        (["tokenize", "-", "--column", "1"], b"Tom\n", 1, "line 1: missing column"),
        (["tokenize", "-", "--load", "none.json"], b"", 1, "none.json: "),
        (["tokenize", "-", "--load", "a.json", "--lower"], b"", 2, "leave out --lower"),
        (["tokenize", "-", "--kind", "bpe"], b"", 2, "needs --max-size"),
        (["tokenize", "-", "--max-size", "3"], b"", 2, "it must be 4 or more"),
        (["grammar", "--n", "-1"], b"", 2, "it must be 0 or more"),
        (["grammar", "--n", "9" * 20], b"", 2, "it must be at most 1,000,000,000"),
        (["check", "-", "--max-characters", "9" * 20], b"", 2, "it must be at most 1,000,000,000"),
        (["tokenize", "-", "--kind", "bpe", "--max-size", "9" * 20], b"", 2, "it must be at most 1,000,000,000"),
        (["grammar", "--n", "x"], b"", 2, "invalid whole_number value: 'x'"),
        (["hsk", "--split", "all"], b"", 2, "invalid choice"),
        ([], b"", 2, "COMMAND"),
    ],
)
def test_what_is_wrong_is_said_on_stderr(run, arguments, stdin, code, message):
    found, out, err = run(*arguments, stdin=stdin)
    assert (found, out) == (code, "")
    assert message in err


@pytest.mark.parametrize("content", ["{", "[]", '{"kind": "word"}', "[" * 100_000])
def test_a_stored_tokenizer_that_is_broken_is_refused(run, tmp_path, content):
    (tmp_path / "t.json").write_text(content)
    code, out, err = run("tokenize", "-", "--load", tmp_path / "t.json", stdin=b"Tom")
    assert (code, out) == (1, "")
    assert err.startswith(f"stepformer: {tmp_path / 't.json'}: ")


def test_hsk_without_its_package_says_how_to_get_it(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "hsk_sentences_audio", None)
    code, out, err = run("hsk")
    assert (code, out) == (1, "")
    assert "pip install hsk-sentences-audio==1.0.0" in err


def test_hsk_prints_pairs_and_the_licence_beside_them(run, monkeypatch):
    record = {"chinese": "石头飞。", "traditional": "石頭飛。", "translation": {"en": "Stones fly."}}
    record["tokens"] = [{"word": "石头", "gloss_en": ""}, {"word": "飞", "gloss_en": ""}]
    module = types.ModuleType("hsk_sentences_audio")
    module.load_sentences = lambda: [record]
    monkeypatch.setitem(sys.modules, "hsk_sentences_audio", module)
    (found,) = [name for name in ("train", "dev", "test") if run("hsk", "--split", name)[1]]
    assert run("hsk", "--split", found)[:2] == (0, "Stones fly.\t石头飞。\n")
    _, out, err = run("hsk", "--split", found, "--script", "traditional", "--json")
    assert json.loads(out)["target_tokens"] == ["石頭", "飛", "。"]
    assert "CC BY-SA 4.0" in err


def test_grammar_gives_the_same_pairs_for_the_same_seed(run):
    code, out, err = run("grammar", "--n", 20, "--seed", 3)
    assert (code, err) == (0, "")
    assert len(list(read_pairs(io.BytesIO(out.encode())))) == 20
    assert run("grammar", "--n", 20, "--seed", 3)[1] == out
    assert run("grammar", "--n", 20, "--seed", 4)[1] != out
    assert run("grammar", "--n", 5, "--seed", 3)[1] == "".join(out.splitlines(keepends=True)[:5])
    traditional = run("grammar", "--n", 20, "--seed", 3, "--script", "traditional")[1]
    assert [line.split("\t")[0] for line in traditional.splitlines()] == [
        line.split("\t")[0] for line in out.splitlines()
    ]
    assert traditional != out
    first = json.loads(run("grammar", "--n", 1, "--json", "--phenomena", "core")[1])
    assert first["sure"]
    assert "".join(first["target_tokens"]) == first["target"]
    code, out, err = run("grammar", "--phenomena", "core,poetry")
    assert (code, out) == (2, "")
    assert "poetry" in err


def test_data_is_utf_8_in_any_locale(path):
    command = [sys.executable, "-m", "stepformer.cli", "data", "clean", str(path)]
    made = subprocess.run(command, capture_output=True, check=True, env={"PYTHONIOENCODING": "ascii"})
    assert made.stdout == PAIRS.encode()


@pytest.mark.parametrize("command", ["", "grammar", "hsk", "check", "clean", "tokenize"])
def test_help_has_examples_and_they_are_understood(run, command):
    code, out, _ = run(*command.split(), "--help")
    assert code == 0
    examples = re.findall(r"^ +(?:echo \S+ \| )?stepformer data (.*)$", out[out.index("examples:") :], flags=re.M)
    assert examples
    for example in examples:
        words = re.sub(r"[<>] *\S+", "", example).split()
        assert words[0] in ("grammar", "hsk", "check", "clean", "tokenize")
        assert all(f"{word} " in run(words[0], "--help")[1] for word in words if word.startswith("--"))


def test_help_says_what_the_exit_codes_mean(run, path):
    told = " ".join(run("--help")[1].partition("exit codes: ")[2].split())
    meaning = dict(re.findall(r"(\d) (\D+)", told))
    assert meaning.keys() == {"0", "1", "2"}
    for words, arguments in {
        "all well": ("check", path),
        "is missing": ("check", "none.tsv"),
        "or broken": ("tokenize", "-"),
        "check has found a line that does not fit": ("check", "-"),
        "options that do not fit": ("check", path, "--most", "-1"),
    }.items():
        code = run(*arguments, stdin=BROKEN)[0]
        assert words in meaning[str(code)], arguments


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full is Linux's")
def test_a_full_disk_is_said_in_one_line():
    command = [sys.executable, "-m", "stepformer.cli", "data", "grammar", "--n", "5"]
    with open("/dev/full", "w") as full:
        made = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (made.returncode, made.stderr) == (1, "stepformer: the output: No space left on device\n")


def test_too_little_memory_is_said(run, monkeypatch):
    def fill(*_):
        raise MemoryError("Unable to allocate 146 TiB")

    monkeypatch.setattr(command, "_print_pairs", fill)
    assert run("grammar") == (2, "", "stepformer: there is not enough memory. Unable to allocate 146 TiB\n")
