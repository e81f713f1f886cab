"""The player of a trace: step, explain, edit and break a recorded program."""

import json
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets

from stepformer.trace import Break, Trace, TraceError
from stepformer.trace_json import dumps
from stepformer.widgets.dual import DualWidget, element
from stepformer.widgets.fallback import fallback_html


class Player(DualWidget):
    """A live view of one trace. Edits made in the page arrive here, edits made here show in the page.

    Attributes:
        trace: the program as it was recorded, with its breaks.
        edits: the cells that differ from it: a list of [tensor name, index, value].
        state: where the reader is: {"step": position, "breaks": [names]}.
    """

    edits = traitlets.List().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

    def __init__(self, trace: Trace, start: str | int = 0) -> None:
        self.trace = trace
        self._start = step_position(trace, start)
        super().__init__(kind="player", payload=player_payload(trace, start), state={"step": self._start, "breaks": []})

    @property
    def values(self) -> dict[str, np.ndarray]:
        """Every tensor's value, with the edits and breaks that are on."""
        return self.current().values

    def current(self) -> Trace:
        """The trace as the page shows it now: with the breaks that are on and the edited cells."""
        trace = self.trace.broken(*self.state.get("breaks", []))
        changed: dict[str, np.ndarray] = {}
        for name, index, value in self.edits:
            full = trace.tensors[trace.find(name)].name
            # An edited result starts from what the edits before it made of it.
            array = changed[full] if full in changed else trace.run(changed)[full].copy()
            array[tuple(index)] = value
            changed[full] = array
        return trace.run(changed)

    def set(self, name: str, index: Sequence[int], value: float) -> None:
        """Change one cell; the page follows.

        Args:
            name: a tensor's name, as for `Trace.find`.
            index: position of the cell, one whole number per axis.
            value: the new value: finite, a truth value for a mask, an id of the vocabulary for a token.

        Raises:
            KeyError: no tensor has the name.
            TraceError: the index is outside the tensor or the value does not fit; nothing is changed then.
        """
        now = self.current()
        array = now[name].copy()
        try:
            index = [operator.index(k) for k in index]
        except TypeError:
            raise TraceError(f"set: index {index!r} is not a list of whole numbers, one per axis.") from None
        if len(index) != array.ndim or not all(0 <= k < n for k, n in zip(index, array.shape, strict=True)):
            raise TraceError(f"set: index {index} is outside {name!r}, which has shape {array.shape}.")
        try:
            finite = math.isfinite(value)
            plain = {"b": bool, "i": int}.get(array.dtype.kind, float)(value) if finite else None
            fits = finite and plain == value
            if fits:
                array[tuple(index)] = plain
        except (TypeError, ValueError, OverflowError):
            finite = fits = False
        if not finite:
            raise TraceError(f"set: {value!r} is not a finite number.")
        if not fits:
            raise TraceError(f"set: {name!r} holds values of kind {array.dtype}; {value!r} is none.")
        full = now.tensors[now.find(name)].name
        now.run({full: array})
        # Edits are replayed in order, here and in the page; only the last one may be replaced in place.
        again = bool(self.edits) and self.edits[-1][:2] == [full, index]
        self.edits = [*(self.edits[:-1] if again else self.edits), [full, index, plain]]

    def reset(self) -> None:
        """Take back every edit and switch every break off."""
        self.edits = []
        self.state = {**self.state, "breaks": []}

    def html(self) -> str:
        """The player as a custom element for a page without a kernel."""
        return player_html(self.trace, self._start)

    def __repr__(self) -> str:
        return f"Player({self.trace!r})"


def show(trace: Trace, breaks: Sequence[Break] = (), start: str | int = 0) -> Player:
    """Show a trace in the player.

    Args:
        trace: a recorded program.
        breaks: known mistakes to offer as switches, beside those the trace has already.
        start: the step to begin at: its position, or the name of its result.

    Returns:
        A widget: live in JupyterLab; on a static page the same player without a kernel.

    Raises:
        TypeError: what is given is not a trace.
        TraceError: the trace has no step, two breaks share a name, an edit does not fit, or `start` is no step.
    """
    if not isinstance(trace, Trace):
        raise TypeError(f"show: a trace is shown, made with record(); this is {type(trace).__name__}.")
    if not trace.steps:
        raise TraceError("show: the trace has no step; record at least one op.")
    breaks = (breaks,) if isinstance(breaks, Break) else breaks
    if breaks:
        trace = trace.with_breaks(*trace.breaks, *breaks)
    return Player(trace, start)


def step_position(trace: Trace, start: str | int) -> int:
    """Position of the step named by its result, or `start` itself.

    Args:
        trace: the program.
        start: a position, or the name of a result.

    Returns:
        A position in `trace.steps`.

    Raises:
        TraceError: there is no such step.
    """
    if isinstance(start, str):
        target = trace.find(start)
        for i, step in enumerate(trace.steps):
            if step.output == target:
                return i
        raise TraceError(f"start: {start!r} is given, not computed by a step.")
    if not isinstance(start, (int, np.integer)) or isinstance(start, bool):
        raise TraceError(f"start: {start!r} is neither the position of a step nor the name of a result.")
    if not 0 <= start < max(1, len(trace.steps)):
        raise TraceError(f"start: step {start} does not exist; there are {len(trace.steps)}.")
    return operator.index(start)


def player_payload(trace: Trace, start: str | int = 0) -> str:
    """The JSON that the player reads.

    Args:
        trace: a recorded program.
        start: the step to begin at, as for `show`.

    Returns:
        The JSON of the trace with the field "start".
    """
    document: dict[str, Any] = json.loads(trace.to_json())
    document["start"] = step_position(trace, start)
    return dumps(document)


def player_html(trace: Trace, start: str | int = 0) -> str:
    """The player of a trace as HTML for a page without a kernel.

    Args:
        trace: a recorded program.
        start: the step to begin at, as for `show`.

    Returns:
        A `stepformer-player` element: the program as JSON, and readable tables for where no script runs.
    """
    return element("stepformer-player", player_payload(trace, start), fallback_html(trace))
