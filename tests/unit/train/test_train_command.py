"""`stepformer train`, as a reader types it."""

import json
import os
import signal
import subprocess
import sys

import pytest
from helpers import PACKAGE

from stepformer.checkpoint import load_model
from stepformer.cli import main
from stepformer.train import Config, read_log

TINY = """
title = "tiny"
[model]
kind = "transformer"
d_model = 8
n_heads = 2
n_layers = 1
d_ff = 12
max_len = 20
[data]
source = "pairs.tsv"
tgt_tokenizer = "character"
batch_size = 8
max_len = 20
[optimiser]
lr = 0.01
[schedule]
kind = "linear"
warmup = 2
[regularisation]
dropout = 0.1
[budget]
steps = 6
dev_every = 3
checkpoint_every = 3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(TINY)
    lines = [f"{name} {verb} {other}.\t{name[0]}{verb[0]}{other[0]}。\n" for name in ("Tom", "Anna", "Peter")
             for verb in ("sees", "calls") for other in ("Jerry", "Mary", "Lucy", "Paul", "Tina")]  # fmt: skip
    (tmp_path / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    return tmp_path


def run(capsys, *words):
    code = main(["train", *words])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_it_trains_and_says_where_the_model_is_and_how_to_try_it(folder, capsys):
    code, out, err = run(capsys, "--config", "tiny.toml", "--out", "runs/a")
    assert code == 0
    assert "6 steps, dev loss" in out
    assert 'stepformer translate --model runs/a/model "Tom chases Jerry."' in out
    assert "27 pairs to learn from, 3 to measure on: pairs.tsv" in err
    assert "step 3/6, dev" in err
    assert "tokens/s" in err
    assert "s left" in err
    assert load_model(folder / "runs" / "a" / "model").record["title"] == "tiny"
    assert Config.from_toml(folder / "runs" / "a" / "config.toml") == Config.from_toml(folder / "tiny.toml")


def test_as_json_it_prints_one_line_and_the_title_names_the_folder(folder, capsys):
    code, out, err = run(capsys, "--config", "tiny.toml", "--json", "--quiet")
    result = json.loads(out)
    assert (code, err) == (0, "")
    assert result["directory"] == os.path.join("runs", "tiny")
    assert (result["steps"], result["stopped"]) == (6, "budget")
    assert result["parameters"] == load_model(result["model"]).model.output.weight.numel() + sum(
        p.numel() for n, p in load_model(result["model"]).model.named_parameters() if n != "output.weight"
    )
    assert result["dev_loss"] > 0


def test_progress_is_off_where_the_environment_says_so(folder, capsys, monkeypatch):
    monkeypatch.setenv("STEPFORMER_PROGRESS", "off")
    assert "step" not in run(capsys, "--config", "tiny.toml")[2]


def test_it_goes_on_from_the_newest_checkpoint_or_from_another(folder, capsys):
    assert run(capsys, "--config", "tiny.toml", "--out", "whole", "--quiet")[0] == 0
    assert run(capsys, "--resume", "--out", "whole", "--quiet")[0] == 0
    before = (folder / "whole" / "model" / "weights.safetensors").read_bytes()
    damaged = folder / "whole" / "checkpoints" / "step-00000006" / "state.json"
    damaged.write_text("{")
    code, out, err = run(capsys, "--resume", "--out", "whole", "--quiet")
    assert (code, out) == (1, "")
    assert "state.json is damaged" in err
    assert "--resume 3" in err
    assert run(capsys, "--resume", "3", "--out", "whole", "--quiet")[0] == 0
    assert (folder / "whole" / "model" / "weights.safetensors").read_bytes() == before
    assert [row["step"] for row in read_log(folder / "whole" / "log.jsonl") if "loss" in row] == [1, 2, 3, 4, 5, 6]


def test_the_configuration_it_shows_is_one_that_it_takes(folder, capsys):
    code, out, _ = run(capsys, "--preset", "small", "--set", "optimiser.lr=2e-3", "--data", 'my "own".tsv', "--show")
    assert code == 0
    shown = Config.from_toml(out)
    assert (shown.optimiser.lr, shown.data.source) == (0.002, 'my "own".tsv')


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "say what to train: --preset small, --config FILE, or --resume --out DIR"),
        (("--preset", "huge"), "preset is 'huge'; it must be one of"),
        (("--config", "none.toml"), "none.toml can not be read"),
        (("--config", ""), "--config is empty; give the path of a file"),
        (("--config", "tiny.toml", "--out", ""), "--out is empty; give the path of a folder"),
        (("--config", "tiny.toml", "--set", "optimiser.rate=1"), "optimiser.rate is no setting"),
        (("--config", "tiny.toml", "--set", "seed"), "--set seed: it must be KEY=VALUE"),
        (("--config", "tiny.toml", "--set", "budget.steps=many"), "budget.steps is 'many'; it must be a whole number"),
        (("--config", "tiny.toml", "--threads", "0"), "--threads is 0; it must be from 1 to 1,024"),
        (("--config", "tiny.toml", "--data", "none.tsv"), "data.source is 'none.tsv'; it must be"),
        (("--config", "tiny.toml", "--data", ""), """data.source is ''; it must be "grammar", "hsk" or a file that"""),
        (("--resume", "--out", "nowhere"), "nowhere holds no training that could go on"),
        (("--config", "tiny.toml", "--resume", "0"), "--resume is 0; the steps are counted from 1"),
    ],
)
def test_settings_that_do_not_fit_end_with_2_and_say_why(folder, capsys, words, message):
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("stepformer: train: ")
    assert message in err
    assert not (folder / "runs").exists()


def test_a_line_that_does_not_fit_stops_with_its_number_and_is_left_out_on_request(folder, capsys):
    with (folder / "pairs.tsv").open("a", encoding="utf-8") as file:
        file.write("no tab\n")
    code, _, err = run(capsys, "--config", "tiny.toml", "--out", "a")
    assert code == 1
    assert "line 31: missing column" in err
    assert "--skip leaves such lines out" in err
    code, _, err = run(capsys, "--config", "tiny.toml", "--out", "b", "--skip")
    assert code == 0
    assert "left out: 1, missing column" in err


def test_a_folder_that_holds_a_training_is_not_overwritten(folder, capsys):
    assert run(capsys, "--config", "tiny.toml", "--out", "a", "--quiet")[0] == 0
    code, _, err = run(capsys, "--config", "tiny.toml", "--out", "a", "--quiet")
    assert code == 1
    assert "holds a training already" in err
    assert "--resume" in err


def test_help_has_examples_and_exit_codes(capsys):
    with pytest.raises(SystemExit) as end:
        main(["train", "--help"])
    assert end.value.code == 0
    out = capsys.readouterr().out
    assert "stepformer train --preset small --data grammar --out runs/a" in out
    assert "exit codes: 0 trained" in out


@pytest.mark.slow
def test_ctrl_c_saves_and_says_how_to_go_on(folder, capsys):
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent), "OMP_NUM_THREADS": "1"}
    words = ["train", "--config", "tiny.toml", "--out", "a", "--set", "budget.steps=500"]
    words += ["--set", "budget.dev_every=50", "--set", "budget.checkpoint_every=500"]
    code = "import sys; from stepformer.cli import main; sys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen([sys.executable, "-c", code, *words], env=environment, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    for line in process.stderr:
        if line.startswith("step "):
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    step = int(out.split("after step ")[1].split(";")[0])
    assert out == f"Stopped after step {step}; everything is saved. Go on with: stepformer train --resume --out a\n"
    assert f"step-{step:08d}" in os.listdir(folder / "a" / "checkpoints")
    assert "Traceback" not in err
    assert run(capsys, "--resume", "--out", "a", "--quiet", "--set", "title=other")[0] == 0
    assert [row["step"] for row in read_log(folder / "a" / "log.jsonl") if "loss" in row] == list(range(1, 501))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--set", "model.max_len=2"), "model.max_len is 2, and a sentence of train has 4 tokens and its mark"),
        (("--set", "model.d_model=999999999998"), "train: model: "),
        (("--threads", "9" * 20), "it must be from 1 to 1,024"),
    ],
)
def test_sizes_that_can_not_be_are_said_before_the_first_step(folder, capsys, words, message):
    code, out, err = run(capsys, "--config", "tiny.toml", "--out", "runs/b", "--quiet", *words)
    assert (code, out) == (2, "")
    assert message in err
