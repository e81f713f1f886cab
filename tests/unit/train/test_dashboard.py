"""The live dashboard: one widget, bounded drawing, and never the end of a training."""

import io

import matplotlib.image
import matplotlib.pyplot as plt
import pytest
from helpers import fault
from small_training import GRU, config, config_of, data

from stepformer.train import Dashboard, Observer, train
from stepformer.train.dashboard import POINTS, _means


@pytest.fixture
def shown(monkeypatch):
    widgets = []
    monkeypatch.setattr("IPython.display.display", widgets.append)
    return widgets


@pytest.fixture
def unpainted(shown, monkeypatch):
    """Figures are made, and not turned into pictures, which takes long."""
    monkeypatch.setattr("stepformer.plots.png", lambda figure: b"png")


def ink(image):
    return float(matplotlib.image.imread(io.BytesIO(image.value))[..., :3].std())


@pytest.mark.slow
@fault("VIZ-13")
def test_there_is_one_widget_whose_pictures_are_replaced_and_no_figure_stays_open(shown, monkeypatch):
    drawn = []
    monkeypatch.setattr(Dashboard, "_draw", lambda self, draw=Dashboard._draw: (draw(self), drawn.append(1)))
    board = Dashboard(seconds=0.0, share=1e9)
    open_before = plt.get_fignums()
    short = config(budget__steps=3, budget__dev_every=1)
    run = train(short, data(), observers=[board])
    assert len(drawn) == 4  # every step and the end: nothing bounds it here
    assert shown == [board.widget]
    assert plt.get_fignums() == open_before
    text, curves, attention = board.widget.children
    assert "step 3 of 3" in text.value
    assert "All steps are done." in text.value
    assert "tokens/s" in text.value
    assert ink(curves) > 0.02
    assert ink(attention) > 0.02
    assert board.failure == ""
    assert run.rows[-2] == train(short, data()).rows[-2]


def test_what_it_shows_last_is_the_end_and_in_between_it_draws_seldom(shown, monkeypatch):
    drawn = []
    monkeypatch.setattr(Dashboard, "_draw", lambda self: drawn.append(self._training.step))
    train(config(), data(), observers=[Dashboard(seconds=3600)])
    assert drawn == [12]


def test_it_says_how_far_how_well_how_fast_and_how_long_still(unpainted, monkeypatch):
    """A second passes from step to step, and none while anything else is done: after four of ten steps six are left."""
    clock, texts = [100.0], []
    monkeypatch.setattr("stepformer.train.dashboard.time.monotonic", lambda: clock[0])
    board = Dashboard(seconds=0.0)

    def second(step, model):
        clock[0] += 1.0

    class Reader(Observer):
        def stepped(self, row):
            texts.append((board.widget.children[0].value, row))

    run = train(config(budget__steps=10), data(), observers=[board, Reader()], on_step=second)
    text, row = texts[3]
    assert text == f"<p>step 4 of 10 · loss {row['loss']:.3f} · {row['tokens']:,} tokens/s · 6 s left</p>"
    assert "left" not in board.widget.children[0].value
    assert run.step == 10


def test_the_labels_are_the_words_and_the_position_that_predicts_them(unpainted):
    board = Dashboard(sentence=("a b", "c d"))
    train(config(budget__steps=2), data(), observers=[board])
    assert board._words == [["a", "b", "<eos>"], ["c", "d", "<eos>"]]


@pytest.mark.parametrize("broken", ["_show", "_draw", "_curves", "_attention"])
def test_when_drawing_fails_training_goes_on(unpainted, monkeypatch, broken):
    def fail(self):
        raise RuntimeError("no <ink> left")

    monkeypatch.setattr(Dashboard, broken, fail)
    board = Dashboard()
    run = train(config(budget__steps=2), data(), observers=[board])
    assert run.step == 2
    assert board.failure == "RuntimeError: no <ink> left"
    if board.widget is not None:
        assert "no &lt;ink&gt; left" in board.widget.children[0].value


def test_a_model_without_attention_has_curves_alone(unpainted):
    board = Dashboard()
    train(config_of(GRU | {"budget": {"steps": 2}}), data(), observers=[board])
    assert board.failure == ""
    assert board.widget.children[1].value
    assert not board.widget.children[2].value


def test_long_curves_are_drawn_with_few_points():
    assert _means([]) == []
    assert _means([1.0, 2.0, 3.0]) == [1.0, 2.0, 3.0]
    means = _means([float(k) for k in range(10 * POINTS)])
    assert len(means) == POINTS
    assert means[0] == 4.5
