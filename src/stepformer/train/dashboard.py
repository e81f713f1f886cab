"""Training as it happens, in JupyterLab: the curves, and what the model looks at while it translates one sentence.

    train(config, directory="runs/a", observers=[Dashboard()])

Everything stands in one widget whose two pictures are replaced, so nothing piles up; the pictures are drawn without
pyplot, so no figure stays open. Drawing is bounded to a small share of the time, and an error in drawing ends the
drawing, never the training.
"""

import html
import time
from typing import Any

import torch

from stepformer.data.batches import batch
from stepformer.data.tokenizer import SPECIAL
from stepformer.train.measure import tensors
from stepformer.train.progress import Observer

POINTS = 200
"""Points of a curve; each is the mean of as many steps as it takes."""


class Dashboard(Observer):
    """Curves of loss and learning rate, speed, the time that is left, and one sentence's cross-attention, live.

    Args:
        sentence: source and target to look at; the longest pair of the first ten of dev if not given.
        seconds: between two drawings at least.
        share: of the time that drawing may take.
    """

    def __init__(self, sentence: tuple[str, str] | None = None, seconds: float = 2.0, share: float = 0.05) -> None:
        self._sentence, self._seconds, self._share = sentence, seconds, share
        self.widget: Any = None
        self.failure = ""

    def started(self, training: Any) -> None:
        """Show the empty widget.

        Args:
            training: as in `Observer`.
        """
        self._training, self._due, self._tokens, self._since = training, 0.0, 0, time.monotonic()
        self._speed, self._loss, self._text = "", "", ""
        self._first, self._began = training.step, self._since
        self._guarded(self._show)

    def stepped(self, row: dict[str, Any]) -> None:
        """Count, and draw when it is time.

        Args:
            row: as in `Observer`.
        """
        self._tokens += row["tokens"]
        self._loss = f"loss {row['loss']:.3f}"
        if time.monotonic() >= self._due:
            self._guarded(self._draw)

    def told(self, text: str) -> None:
        """Show a sentence below the pictures.

        Args:
            text: as in `Observer`.
        """
        self._text = text

    def finished(self, run: Any) -> None:
        """Draw the end.

        Args:
            run: as in `Observer`.
        """
        ends = {"budget": "All steps are done.", "early": "Dev has not improved: stopped early.",
                "interrupted": "Stopped; everything is saved."}  # fmt: skip
        self._text = ends[run.stopped] if run.directory or run.stopped != "interrupted" else "Stopped."
        self._guarded(self._draw)

    def _guarded(self, draw: Any) -> None:
        if self.failure:
            return
        start = time.monotonic()
        try:
            draw()
        except Exception as error:  # whatever it is: training goes on
            self.failure = f"{type(error).__name__}: {error}"
            if self.widget is not None:
                text = f"The pictures stopped ({self.failure}); training goes on."
                self.widget.children[0].value = f"<p>{html.escape(text)}</p>"
        end = time.monotonic()
        self._due = end + max(self._seconds, (end - start) / self._share)

    def _show(self) -> None:
        import ipywidgets
        from IPython.display import display

        data = self._training.data
        pairs = data.dev[: min(10, len(data.dev))] if isinstance(data.dev, list) else [data.dev[0]]
        pair = max(pairs, key=lambda pair: len(pair[0]))
        if self._sentence is not None:
            pair = data.src_tokenizer.encode(self._sentence[0]), data.tgt_tokenizer.encode(self._sentence[1])
        self._batch = tensors(batch([pair]))
        self._words = [
            [SPECIAL[k] if k < len(SPECIAL) else tokenizer.vocabulary[k] for k in ids[0].tolist()]
            for tokenizer, ids in ((data.src_tokenizer, self._batch.src), (data.tgt_tokenizer, self._batch.tgt_out))
        ]
        layout = ipywidgets.Layout(max_width="720px")
        images = [ipywidgets.Image(format="png", layout=layout) for _ in range(2)]
        self.widget = ipywidgets.VBox([ipywidgets.HTML(), *images])
        display(self.widget)

    def _draw(self) -> None:
        from stepformer.plots import png

        training, now = self._training, time.monotonic()
        if self._tokens:
            self._speed = f"{self._tokens / max(now - self._since, 1e-9):,.0f} tokens/s"
        self._tokens, self._since = 0, now
        steps = training.config.budget.steps
        parts = [f"step {training.step} of {steps}", self._loss, self._speed, self._left(now), self._text]
        text, curves, attention = self.widget.children
        text.value = f"<p>{html.escape(' · '.join(part for part in parts if part))}</p>"
        curves.value = png(self._curves())
        picture = self._attention()
        if picture is not None:
            attention.value = png(picture)

    def _left(self, now: float) -> str:
        """How long the steps that are left will take, if they take as long as those since the start."""
        done, left = self._training.step - self._first, self._training.config.budget.steps - self._training.step
        return f"{(now - self._began) / done * left:,.0f} s left" if done and left else ""

    def _curves(self) -> Any:
        """Loss of training and of dev, and the learning rate."""
        from stepformer import plots

        rows = self._training.rows
        steps = [row for row in rows if "loss" in row]
        dev = [row for row in rows if "dev_loss" in row]
        figure, (left, right) = plots.panels(2, 2.6)
        x, loss, rate = (_means([row[key] for row in steps]) for key in ("step", "loss", "lr"))
        plots.curves(x, {"training": loss}, x_label="step", y_label="loss (nats)", ax=left)
        if dev:
            points = {f"dev ({dev[-1]['dev_exact']:.1%} exact)": [row["dev_loss"] for row in dev]}
            plots.curves([row["step"] for row in dev], points=points, x_label="step", y_label="loss (nats)", ax=left)
            left.legend()
        plots.curves(x, {"rate": rate}, x_label="step", y_label="learning rate", ax=right)
        return figure

    def _attention(self) -> Any:
        """What the last layer looks at on average over its heads; None for a model without attention."""
        from stepformer import plots
        from stepformer.nn import attention_weights

        src, tgt_in, _ = self._batch
        found = attention_weights(self._training.model, src, tgt_in)
        names = [name for name in found if name.endswith("cross_attention")]
        if not names:
            return None
        with torch.no_grad():
            weights = found[names[-1]][0].mean(dim=0).numpy()
        labels = dict(row_labels=self._words[1], column_labels=self._words[0])
        roles = dict(row_role="target", column_role="source")
        return plots.matrix(weights, **labels, title="cross-attention, last layer", kind="probability", **roles)


def _means(values: list[float]) -> list[float]:
    """At most `POINTS` numbers: means of neighbours."""
    size = -(-len(values) // POINTS)
    return [sum(values[k : k + size]) / len(values[k : k + size]) for k in range(0, len(values), size or 1)]
