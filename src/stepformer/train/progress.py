"""Who watches a training: the interface, and a progress bar for the terminal."""

import os
import sys
import time
from typing import Any

QUIET = "STEPFORMER_PROGRESS"
"""Set this environment variable to "off" for no progress bars."""


class Observer:
    """Somebody who is told what a training does. Every method may be left as it is: it then does nothing."""

    def started(self, training: Any) -> None:
        """Training begins or goes on.

        Args:
            training: the `stepformer.train.trainer.Training`; its config, data, model, step and rows may be looked at.
        """

    def stepped(self, row: dict[str, Any]) -> None:
        """A step is done.

        Args:
            row: its row of the log: step, epoch, loss, lr, tokens.
        """

    def measured(self, row: dict[str, Any]) -> None:
        """The model was measured on dev.

        Args:
            row: its row of the log: step, dev_loss, dev_exact.
        """

    def told(self, text: str) -> None:
        """There is something to say.

        Args:
            text: a sentence.
        """

    def finished(self, run: Any) -> None:
        """Training has ended, or was stopped.

        Args:
            run: the `Run`.
        """


class Bar(Observer):
    """A tqdm bar on stderr with loss, tokens a second and the time that is left; lines where stderr is no terminal."""

    def __init__(self, file: Any = None) -> None:
        self._file = file
        self._bar: Any = None

    def started(self, training: Any) -> None:
        """Draw the bar.

        Args:
            training: as in `Observer`.
        """
        from tqdm import tqdm

        self._file = self._file or sys.stderr
        self._terminal = getattr(self._file, "isatty", lambda: False)()
        self._bar = tqdm(
            total=training.config.budget.steps,
            initial=training.step,
            file=self._file,
            disable=not self._terminal,
            unit="step",
            dynamic_ncols=True,
            smoothing=0.05,
        )
        self._tokens, self._since, self._dev, self._done = 0, time.monotonic(), "", training.step
        self._total = training.config.budget.steps

    def stepped(self, row: dict[str, Any]) -> None:
        """Move the bar; write loss and speed at most twice a second.

        Args:
            row: as in `Observer`.
        """
        self._tokens += row["tokens"]
        self._bar.update()
        now = time.monotonic()
        if now - self._since > 0.5 and self._terminal:
            speed = self._tokens / (now - self._since)
            self._bar.set_postfix_str(f"loss {row['loss']:.3f}, {speed:,.0f} tokens/s{self._dev}")
            self._tokens, self._since = 0, now

    def measured(self, row: dict[str, Any]) -> None:
        """Show the measurement beside the bar, or as a line.

        Args:
            row: as in `Observer`.
        """
        self._dev = f", dev {row['dev_loss']:.3f}, exact {row['dev_exact']:.1%}"
        if not self._terminal:
            now = time.monotonic()
            speed = self._tokens / max(now - self._since, 1e-9)
            left = (now - self._since) / max(row["step"] - self._done, 1) * (self._total - row["step"])
            self.told(f"step {row['step']}/{self._total}{self._dev}, {speed:,.0f} tokens/s, {left:.0f} s left")
            self._tokens, self._since, self._done = 0, now, row["step"]

    def told(self, text: str) -> None:
        """Write a line above the bar.

        Args:
            text: as in `Observer`.
        """
        if self._bar is not None and self._terminal:
            self._bar.write(text, file=self._file)
        else:
            print(text, file=self._file or sys.stderr, flush=True)

    def finished(self, run: Any) -> None:
        """Leave the bar as it is.

        Args:
            run: as in `Observer`.
        """
        self._bar.close()


def bar() -> list[Observer]:
    """A progress bar, or nothing where the environment says STEPFORMER_PROGRESS=off: for the argument `observers`.

    Returns:
        A list of one observer or of none.
    """
    return [] if os.environ.get(QUIET, "").lower() in ("off", "0", "no", "false") else [Bar()]
