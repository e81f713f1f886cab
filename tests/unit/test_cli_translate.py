"""`stepformer translate`: what is printed, what is named on standard error, exit codes, and hostile input."""

import io
import json
import sys
from types import SimpleNamespace

import pytest
from decode_cases import toy_translator

from stepformer import cli, nn
from stepformer.checkpoint import save_model
from stepformer.cli import _drawing
from stepformer.cli import translate as command
from stepformer.data.tokenizer import SPECIAL, WordTokenizer
from stepformer.translator import Translator

TOY = toy_translator()


@pytest.fixture
def translate(monkeypatch, capsys):
    monkeypatch.setattr(Translator, "load", classmethod(lambda cls, name: TOY))

    def run(*arguments, stdin=b"", is_terminal=False):
        stream = SimpleNamespace(buffer=io.BytesIO(stdin), isatty=lambda: is_terminal)
        monkeypatch.setattr(sys, "stdin", stream)
        code = cli.main(["translate", *arguments])
        return (code, *capsys.readouterr())

    return run


def test_texts_give_a_line_each(translate):
    assert translate("Tom chase Jerry", "Jerry see Tom") == (0, "汤姆追逐杰瑞\n杰瑞看见汤姆\n", "")


@pytest.mark.parametrize("is_terminal", [False, True])
def test_lines_of_standard_input_and_of_a_file(translate, tmp_path, is_terminal):
    content = "\ufeffTom chase Jerry\r\n\r\n \t\nJerry see Tom".encode()
    lines = "汤姆追逐杰瑞\n\n\n杰瑞看见汤姆\n"
    assert translate("-", stdin=content, is_terminal=is_terminal) == (0, lines, "")
    (tmp_path / "english.txt").write_bytes(content)
    assert translate("--file", str(tmp_path / "english.txt")) == (0, lines, "")
    assert translate("-", stdin=b"") == (0, "", "")


def test_many_lines_are_translated_in_chunks_and_in_order(translate, monkeypatch):
    monkeypatch.setattr(command, "LINES_AT_A_TIME", 3)
    sizes, own = [], TOY.translate
    monkeypatch.setattr(TOY, "translate", lambda texts, **s: sizes.append(len(texts)) or own(texts, **s), raising=False)
    content = b"Tom chase Jerry\nJerry see Tom\n" * 4
    assert translate("-", stdin=content)[1] == "汤姆追逐杰瑞\n杰瑞看见汤姆\n" * 4
    assert sizes == [3, 3, 2]


def test_scores_n_best_and_alignment(translate):
    assert translate("Tom chase Jerry", "--scores")[1] == "汤姆追逐杰瑞\t-0.1314\n"
    code, out, _ = translate("-", "--n-best", "2", "--scores", stdin=b"\nTom chase Jerry\n")
    assert code == 0
    assert out == "1\t1\t\t0.0000\n2\t1\t汤姆追逐杰瑞\t-0.1314\n2\t2\t汤姆追逐杰瑞杰瑞\t-3.2813\n"
    assert translate("Tom chase Jerry", "--alignment")[1].splitlines() == [
        "汤姆追逐杰瑞",
        "     │ Tom   chase  Jerry",
        "─────┼────────────────────",
        "汤姆 │ █1.0  ·      ·",
        "追逐 │ ·     █.96    .04",
        "杰瑞 │ ·     ·      █1.0",
    ]


def test_a_model_without_attention_says_that_it_looks_nowhere(capsys):
    remark = "stepformer translate: --alignment: the model has no cross-attention, so there is nothing to draw\n"
    for extra, wanted in (([], remark), (["--alignment"], remark)):
        assert cli.main(["translate", "Tom chases Jerry.", "Jerry chases Tom.", "--model", "gru", *extra]) == 0
        printed = capsys.readouterr()
        assert len(printed.out.splitlines()) == 2
        assert printed.err == (wanted if extra else "")


def test_width_counts_columns_of_a_terminal():
    assert _drawing.width("追逐") == 4
    assert _drawing.width("chase") == 5
    assert _drawing.width("cafe\u0301，Ａ") == 8
    drawn = _drawing.alignment(["追", "a\x1b[2J"], ["很长的词语", "b"], [[0.35, 0.65], [0.001, 0.1]])
    assert drawn.splitlines()[0].endswith("│ 很长的词语  b")
    assert "\x1b" not in drawn
    assert drawn.splitlines()[2].split("│")[1] == " ░.35        ▓.65"
    assert _drawing.alignment([], ["b"], []) == ""


def test_json_holds_everything_one_object_a_line(translate):
    lines = b"Tom chase Jerry\n\xff\n\nTom see wug\n"
    code, out, _ = translate("-", "--json", "--beam", "2", "--alignment", stdin=lines)
    assert code == 2
    first, second, third, fourth = map(json.loads, out.splitlines())
    assert first["text"] == "汤姆追逐杰瑞"
    assert first["tokens"] == ["汤姆", "追逐", "杰瑞"]
    assert len(first["alignment"]) == 3
    assert first["hypotheses"][0]["text"] == first["text"]
    assert second["text"] == ""
    assert "not UTF-8" in second["notice"]
    assert not second["finished"]
    assert (third["text"], third["notice"], third["finished"]) == ("", "", True)
    assert fourth["unknown"] == ["wug"]
    assert fourth["place"] == "line 4"


def test_drawing_depends_on_the_seed_alone(translate):
    options = ["river", "--sample", "--temperature", "3", "--n-best", "3"]
    first, second = (translate(*options, "--seed", "5")[1] for _ in range(2))
    assert first == second != translate(*options, "--seed", "6")[1]


def test_unknown_words_and_cut_translations_are_named(translate):
    code, out, err = translate("Tom see wug wug blick", "Tom chase Jerry", "--max-len", "2")
    assert code == 0
    assert len(out.splitlines()) == 2
    assert err.splitlines()[0] == "stepformer translate: text 1: unknown words: wug, blick"
    assert "text 2: the translation was cut after 2 words; the model put no end" in err


HOSTILE = {
    "broken UTF-8": (b"\xff\xfeTom", "not translated: it is not UTF-8 (byte 0xff at position 0)"),
    "cut UTF-8": ("Tom 追".encode()[:-1], "not translated: it is not UTF-8 (byte 0xe8 at position 4)"),
    "NUL": (b"Tom\x00 chase Jerry", r"left out: \x00"),
    "an escape sequence": (b"\x1b[2J\x1b]0;owned\x07Tom", r"left out: \x1b, \x07"),
    "a direction mark": ("Tom \u202echase Jerry".encode(), r"left out: \u202e"),
    "emoji": ("Tom 😀".encode(), "unknown sign: 😀"),
    "HTML": (b"<script>alert(1)</script>", "unknown signs: <, >"),
    "a long line": (b"Tom " * 10_000, "not translated: it has 10,000 tokens, and the model reads at most 29"),
    "a line of a megabyte": (b"T" * (2**20 + 1), "not translated: it has more than 1,048,576 bytes"),
    "several megabytes": (b"Tom " * 800_000, "not translated: it has more than 1,048,576 bytes"),
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_hostile_line_is_named_and_the_others_are_translated(translate, kind, form):
    line, message = HOSTILE[kind]
    code, out, err = translate("-", "--max-len", "6", *form, stdin=b"Tom chase Jerry\n" + line + b"\nJerry see Tom\n")
    assert code == 2
    assert f"stepformer translate: line 2: {message}" in err
    assert "line 1" not in err
    assert "line 3" not in err
    lines = out.splitlines()
    assert len(lines) == 3
    for shown, text in ((lines[0], "汤姆追逐杰瑞"), (lines[2], "杰瑞看见汤姆")):
        assert (json.loads(shown)["text"] if form else shown) == text
    if message.startswith("not translated") and not form:
        assert lines[1] == ""
    assert all(c.isprintable() or c == "\n" for c in out + err), "something could steer a terminal"
    assert len(err) < 2000


def test_a_hostile_argument_is_named(translate):
    code, out, err = translate("Tom\x1b chase Jerry", "\udcff", "x" * 100_000)
    assert code == 2
    assert out.splitlines()[0] == "汤姆追逐杰瑞"
    assert r"text 1: left out: \x1b" in err
    assert r"text 2: left out: \udcff" in err
    assert "text 3: unknown word: " + "x" * 40 + "…\n" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give a text, - for standard input, or --file"),
        (["Tom", "--file", "x"], "texts and --file do not go together"),
        (["-", "Tom"], "- stands alone"),
        (["Tom", "--top-k", "3"], "--top-k belongs to --sample"),
        (["Tom", "--seed", "0", "--temperature", "2"], "--temperature, --seed belongs to --sample"),
        (["Tom", "--sample", "--beam", "2"], "--sample draws"),
        (["Tom", "--beam", "2", "--n-best", "3"], "a beam of 2 can not return 3"),
    ],
)
def test_options_that_do_not_fit_exit_with_2(translate, arguments, message):
    code, out, err = translate(*arguments)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    ("option", "value"),
    [("--beam", "0"), ("--temperature", "0"), ("--temperature", "nan"), ("--top-p", "1.5"), ("--n-best", "two"),
     ("--length-penalty", "-1"), ("--length-penalty", "1e300"), ("--beam", "1001"), ("--n-best", "9" * 30)],
)  # fmt: skip
def test_numbers_out_of_range_exit_with_2(capsys, option, value):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["translate", "Tom", option, value])
    assert stopped.value.code == 2
    assert f"{value!r} is not a" in capsys.readouterr().err


def test_what_can_not_be_read_exits_with_1_and_an_empty_path_with_2(translate, tmp_path, capsys, monkeypatch):
    code, out, err = translate("--file", str(tmp_path / "missing.txt"))
    assert (code, out) == (1, "")
    assert "missing.txt: No such file" in err
    code, out, err = translate("--file", "")
    assert (code, out) == (2, "")
    assert "--file is empty; give the path of a file" in err
    monkeypatch.undo()
    assert cli.main(["translate", "Tom", "--model", str(tmp_path / "nothing")]) == 1
    assert "nothing does not exist" in capsys.readouterr().err


def test_a_model_from_a_folder(tmp_path, capsys):
    vocabulary = [*SPECIAL, "Tom"]
    words = WordTokenizer(vocabulary, "en"), WordTokenizer(vocabulary, "zh")
    save_model(tmp_path / "model", nn.Transformer(5, 5, 4, 1, 1, 4, max_len=8), *words)
    assert cli.main(["translate", "Tom", "--model", str(tmp_path / "model")]) == 0
    assert capsys.readouterr().out.count("\n") == 1
    translator = Translator.load(tmp_path / "model")
    assert (translator.longest, translator.record) == (7, {})


def test_help_has_examples(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["translate", "--help"])
    assert stopped.value.code == 0
    assert 'stepformer translate "Tom chases Jerry."' in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [("--temperature", "1e-300"), ("--top-k", "9" * 30), ("--top-p", "1e-320"), ("--max-len", "9" * 30)]
)
def test_numbers_that_are_absurd_but_allowed_translate(translate, words):
    drawing = () if words[0] == "--max-len" else ("--sample",)
    assert translate("Tom chase Jerry", *drawing, *words) == (0, "汤姆追逐杰瑞\n", "") or words[0] == "--top-k"


def test_a_closed_standard_input_is_named_and_closed_outputs_are_no_crash(translate, monkeypatch, capsys):
    translate("Tom")
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(command.sys, "stdin", None)
    assert cli.main(["translate", "-"]) == 1
    assert "standard input is closed" in capsys.readouterr().err
    for name in ("stdout", "stderr"):
        with monkeypatch.context() as patch:
            patch.setattr(sys, name, None)
            assert cli.main(["translate", "Tom chase Jerry"]) == 0
            getattr(sys, name).close()
