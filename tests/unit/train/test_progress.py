"""Who watches a training, and the log it leaves."""

import io
import json
from contextlib import closing

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


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"Dear diary", "'Dear diary' is not JSON"),
        (b"\xff", r"'.' is not JSON"),
        (b"[" * 100_000, r"'\[+ is not JSON"),
        (b"", "'' is not JSON"),
        (b"3", "3 is not an object"),
        (b"[]", r"\[\] is not an object"),
        (b"null", "None is not an object"),
        (b'{"loss": 1.0}', "step is None; it must be a whole number from 1"),
        (b'{"step": "2", "loss": 1.0}', "step is '2'; it must be a whole number from 1"),
        (b'{"step": true, "loss": 1.0}', "step is True; it must be a whole number from 1"),
        (b'{"step": 0, "loss": 1.0}', "step is 0; it must be a whole number from 1"),
        (b'{"step": 2, "loss": "1.0"}', "it has neither a loss nor a dev_loss that is a number"),
        (b'{"step": 2}', "it has neither a loss nor a dev_loss that is a number"),
    ],
)
def test_a_line_that_is_no_row_is_refused_by_its_number_and_nothing_is_cut(tmp_path, line, told):
    content = b'{"step": 1, "loss": 2.0}\n' + line + b"\n"
    (tmp_path / "log.jsonl").write_bytes(content + b'{"step": 3, "loss": 0.5}\n')
    message = rf"log\.jsonl, line 2 is no row of the log of a training: {told}\. Put the log back as it was"
    with closing(Log(tmp_path / "log.jsonl")) as log, pytest.raises(CheckpointError, match=message):
        log.cut(len(content))
    assert (tmp_path / "log.jsonl").read_bytes() == content + b'{"step": 3, "loss": 0.5}\n'


def test_a_last_line_that_was_cut_off_is_left_out(tmp_path):
    (tmp_path / "log.jsonl").write_text('{"step": 1}\n{"st')
    assert read_log(tmp_path / "log.jsonl") == [{"step": 1}]
