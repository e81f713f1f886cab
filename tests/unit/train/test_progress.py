"""Who watches a training, and the log it leaves."""

import io
import json

import pytest
from small_training import config, data

from stepformer.checkpoint import CheckpointError
from stepformer.train import Bar, Observer, bar, read_log, train
from stepformer.train.log import Log


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_on_a_terminal_there_is_a_bar_with_loss_and_speed_and_dev(monkeypatch):
    screen = Terminal()
    clock = iter(range(10**6))
    monkeypatch.setattr("stepformer.train.progress.time.monotonic", lambda: float(next(clock)))
    train(config(), data(), observers=[Bar(screen)])
    text = screen.getvalue()
    assert "12/12" in text
    assert "loss " in text
    assert "tokens/s" in text
    assert "dev " in text
    assert "step/s" in text or "s/step" in text


def test_elsewhere_there_is_a_line_for_each_measurement():
    file = io.StringIO()
    train(config(), data(), observers=[Bar(file)])
    lines = file.getvalue().splitlines()
    assert [line.split(",")[0] for line in lines] == ["step 5/12", "step 10/12", "step 12/12"]
    assert all("exact" in line and "tokens/s" in line and "s left" in line for line in lines)


@pytest.mark.parametrize(("value", "n"), [("off", 0), ("OFF", 0), ("0", 0), ("on", 1), ("", 1)])
def test_the_environment_turns_the_bar_off(monkeypatch, value, n):
    monkeypatch.setenv("STEPFORMER_PROGRESS", value)
    assert len(bar()) == n


def test_observers_are_told_everything_in_order():
    heard = []

    class Ear(Observer):
        def started(self, training):
            heard.append(("started", training.step, training.config.title))

        def stepped(self, row):
            heard.append(("stepped", row["step"]))

        def measured(self, row):
            heard.append(("measured", row["step"]))

        def finished(self, run):
            heard.append(("finished", run.stopped))

    train(config(budget__steps=3, budget__dev_every=2), data(), observers=[Ear(), Observer()])
    assert heard == [("started", 0, "reversing"), ("stepped", 1), ("stepped", 2), ("measured", 2), ("stepped", 3),
                     ("measured", 3), ("finished", "budget")]  # fmt: skip


def test_a_log_is_cut_to_a_length_and_goes_on_there(tmp_path):
    log = Log(tmp_path / "log.jsonl")
    log.write({"step": 1, "loss": 0.1})
    length = log.to_disk()
    log.write({"step": 2, "loss": 1 / 3})
    log.close()
    assert [row["step"] for row in read_log(tmp_path / "log.jsonl")] == [1, 2]
    assert read_log(tmp_path / "log.jsonl")[1]["loss"] == 1 / 3
    log = Log(tmp_path / "log.jsonl")
    log.cut(length)
    log.write({"step": 2, "loss": 0.2})
    assert log.rows == [{"step": 1, "loss": 0.1}, {"step": 2, "loss": 0.2}]
    log.close()
    assert [json.loads(line)["loss"] for line in (tmp_path / "log.jsonl").read_text().splitlines()] == [0.1, 0.2]


def test_something_that_is_no_log_is_refused(tmp_path):
    (tmp_path / "log.jsonl").write_text("Dear diary\n")
    log = Log(tmp_path / "log.jsonl")
    with pytest.raises(CheckpointError, match="no log of a training"):
        log.cut(5)
    log.close()


def test_a_last_line_that_was_cut_off_is_left_out(tmp_path):
    (tmp_path / "log.jsonl").write_text('{"step": 1}\n{"st')
    assert read_log(tmp_path / "log.jsonl") == [{"step": 1}]
