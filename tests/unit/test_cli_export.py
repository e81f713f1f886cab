"""`stepformer export`: a model as a program or as the script of a page; what cannot be written is said."""

import json
import os
import shutil
import stat
import threading
from pathlib import Path

import pytest
from translation_cases import SENTENCES, SMALLEST, save_random_model

from stepformer import Trace, translator_page
from stepformer.checkpoint import read_model
from stepformer.cli import main


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(save_random_model(tmp_path_factory.mktemp("models") / "model", SMALLEST))


def test_it_writes_the_program_at_the_sentence_that_is_asked_for(model, tmp_path, capsys):
    file = tmp_path / "model.json"
    assert main(["export", model, "--out", str(file), "--source", SENTENCES[1], "--target", "那只猫"]) == 0
    trace = Trace.from_json(file.read_text(encoding="utf-8"))
    assert trace.axis_labels("src")[0][:4] == ["The", "cat", "that", "chased"]
    assert trace.axis_labels("tgt")[0] == ["<bos>", "那只", "猫"]
    assert str(file) in capsys.readouterr().out
    assert stat.S_IMODE(file.stat().st_mode) & 0o444
    assert not list(tmp_path.glob("*.part"))


def test_it_writes_the_script_of_the_page_and_says_so_as_json(model, tmp_path, capsys):
    file = tmp_path / "translator.js"
    assert main(["export", model, "--page", "--out", str(file), "--json"]) == 0
    assert file.read_text(encoding="utf-8") == translator_page.script(read_model(model))
    told = json.loads(capsys.readouterr().out)
    assert told["format"] == "stepformer.translation/1"
    assert told["bytes"] == file.stat().st_size
    assert told["parameters"] == sum(array.size for array in read_model(model).arrays.values())


def test_standard_output_gets_nothing_but_the_program(model, capsys):
    assert main(["export", model, "--out", "-", "--source", "Tom \x1b[31mzzz"]) == 0
    out, err = capsys.readouterr()
    assert Trace.from_json(out).axis_labels("src")[0][0] == "Tom"
    assert "zzz" in err
    assert "\x1b" not in err


def test_a_file_that_is_there_stays_unless_it_is_to_be_replaced(model, tmp_path, capsys):
    file = tmp_path / "mine"
    file.write_text("mine")
    assert main(["export", model, "--out", str(file)]) == 2
    assert file.read_text() == "mine"
    assert "--force" in capsys.readouterr().err
    assert main(["export", model, "--out", str(file), "--force"]) == 0
    assert file.read_text().startswith("{")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nowhere", "--out", "x.json"], 1, "nowhere does not exist"),
        (["MODEL", "--out", "no/such/folder/x.json"], 1, "No such file"),
        (["MODEL", "--out", "."], 2, "is a folder"),
        (["MODEL", "--page", "--source", "Tom", "--out", "x.js"], 2, "--source and --target"),
        (["MODEL", "--json", "--out", "-"], 2, "--json"),
    ],
)
def test_what_does_not_fit_is_said_with_its_exit_code(arguments, code, said, model, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["export", *(model if word == "MODEL" else word for word in arguments)]) == code
    out, err = capsys.readouterr()
    assert said in err
    assert not out
    assert not list(tmp_path.iterdir())


def test_a_model_of_another_kind_is_refused(model, tmp_path, capsys):
    copy = tmp_path / "model"
    copy.mkdir()
    for name in ("model.json", "weights.safetensors"):
        (copy / name).write_bytes((Path(model) / name).read_bytes())
    (copy / "model.json").write_text((copy / "model.json").read_text().replace('"transformer"', '"gru"'))
    assert main(["export", str(copy), "--out", str(tmp_path / "x.json")]) == 1
    assert "'gru'" in capsys.readouterr().err


def test_its_help_has_examples_and_exit_codes(capsys):
    with pytest.raises(SystemExit) as end:
        main(["export", "--help"])
    assert end.value.code == 0
    told = capsys.readouterr().out
    assert "examples:" in told
    assert "exit codes:" in told


def test_a_pipe_is_written_to_and_not_replaced(model, tmp_path, capsys):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text(encoding="utf-8")), daemon=True)
    reader.start()
    assert main(["export", model, "--out", str(pipe), "--force"]) == 0
    is_pipe = pipe.is_fifo()
    if not is_pipe:  # let the reader go
        return pytest.fail("the pipe was replaced by a file")
    reader.join(10)
    assert Trace.from_json(read[0]).axis_labels("tgt")[0] == ["<bos>"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_heads", None), ("n_heads", True), ("n_heads", "2"), ("activation", []), ("norm_first", 1), ("max_len", None)],
)
@pytest.mark.parametrize("page", [(), ("--page",)])
def test_arguments_of_a_wrong_type_are_named(model, tmp_path, capsys, name, value, page):
    copy = tmp_path / "model"
    shutil.copytree(model, copy)
    info = json.loads((copy / "model.json").read_text(encoding="utf-8"))
    info["arguments"][name] = value
    (copy / "model.json").write_text(json.dumps(info), encoding="utf-8")
    assert main(["export", str(copy), "--out", str(tmp_path / "x"), *page]) == 1
    assert f"arguments.{name} is {value!r}; it must be of type" in capsys.readouterr().err
