"""The player of a trace: step, explain, edit and break a recorded program."""

import json
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import traitlets

from stepformer.trace import Break, Trace, TraceError
from stepformer.trace_json import dumps
from stepformer.widgets.dual import DualWidget, element
from stepformer.widgets.fallback import fallback_html


class Player(DualWidget):
    """A live view of one trace. Edits made in the page arrive here, edits made here show in the page.

    `player.observe(function, names="values")` calls the function whenever an edit or a switch gives the program other
    values, whoever made it; `change["new"]` holds them, as `values` does. `names="edits"` and `names="state"` tell of
    every change of these two. `close()` takes all views of the player away and frees what it holds; until then it
    lives, also when its output is cleared or its cell runs again.

    Attributes:
        trace: the program as it was recorded, with its breaks.
        edits: the cells that differ from it: a list of [tensor name, index, value].
        state: where the reader is: {"step": position, "breaks": [names]}.
    """

    # Whether somebody observes the values, and the edits and breaks of the values that were told last.
    _values_observed = False
    _told: tuple[list, list] = ([], [])

    edits = traitlets.List().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

    def __init__(self, trace: Trace, start: str | int = 0, fold: int | Sequence[str] = ()) -> None:
        self.trace = trace
        self._start, self._fold = step_position(trace, start), fold
        payload = player_payload(trace, start, fold)
        super().__init__(kind="player", payload=payload, state={"step": self._start, "breaks": []})

    @property
    def values(self) -> dict[str, np.ndarray]:
        """Every tensor's value, with the edits and breaks that are on."""
        return self.current().values

    def observe(self, handler: Callable, names: Any = traitlets.All, type: str = "change") -> None:
        """Call `handler` on changes, as every widget does; `names` may also hold "values".

        Args:
            handler: takes one change: {"name": …, "new": …, "owner": …, …}.
            names: the name or names of what is observed.
            type: the kind of notification.
        """
        named = names if isinstance(names, (list, tuple)) else (names,)
        self._values_observed = self._values_observed or "values" in named
        super().observe(handler, names, type)

    @traitlets.observe("edits", "state")
    def _tell_values(self, change: Any) -> None:
        """Tell those who observe the values. Nobody else pays for computing them, and a step changes none."""
        before, self._told = self._told, (self.edits, self.state.get("breaks", []))
        if not self._values_observed or before == self._told:
            return
        news = {"name": "values", "old": traitlets.Undefined, "new": self.values, "owner": self, "type": "change"}
        self.notify_change(traitlets.Bunch(news))

    @traitlets.validate("edits")
    def _check_edits(self, proposal: Any) -> list:
        """Refuse edits of another form, also those that a page sends: what is kept can be replayed."""
        for edit in proposal["value"]:
            if not isinstance(edit, (list, tuple)) or len(edit) != 3:
                raise traitlets.TraitError(f"edits: {edit!r} is not [tensor name, index, value].")
            name, index, value = edit
            try:
                self.trace.find(name)
                places = [operator.index(k) for k in index]
                fits = all(k >= 0 for k in places) and not isinstance(value, str) and math.isfinite(value)
            except (KeyError, TypeError, OverflowError):
                fits = False
            if not fits:
                raise traitlets.TraitError(
                    f"edits: {edit!r} does not fit. An edit has the name of a tensor, a list of whole numbers of at "
                    "least 0 and a finite number."
                )
        return proposal["value"]

    @traitlets.validate("state")
    def _check_state(self, proposal: Any) -> dict:
        """Refuse a step or breaks that the program does not have."""
        step, breaks = proposal["value"].get("step", 0), proposal["value"].get("breaks", [])
        if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step < max(1, len(self.trace.steps)):
            raise traitlets.TraitError(f"state: {step!r} is not the position of a step of {len(self.trace.steps)}.")
        known = {b.name for b in self.trace.breaks}
        if not isinstance(breaks, (list, tuple)) or not all(isinstance(b, str) and b in known for b in breaks):
            raise traitlets.TraitError(f"state: the breaks are {breaks!r}; known are: {sorted(known)}.")
        return proposal["value"]

    def current(self) -> Trace:
        """The trace as the page shows it now: with the breaks that are on and the edited cells."""
        trace = self.trace.broken(*self.state.get("breaks", []))
        changed: dict[str, np.ndarray] = {}
        for name, index, value in self.edits:
            full = trace.tensors[trace.find(name)].name
            # An edited result starts from what the edits before it made of it.
            array = changed[full] if full in changed else trace.run(changed)[full].copy()
            index, plain = _fitting(array, name, index, value, "edits")
            array[tuple(index)] = plain
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
        full = now.tensors[now.find(name)].name
        array = now[full].copy()
        index, plain = _fitting(array, name, index, value, "set")
        array[tuple(index)] = plain
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
        return player_html(self.trace, self._start, self._fold)

    def __repr__(self) -> str:
        return f"Player({self.trace!r})"


def _fitting(array: np.ndarray, name: str, index: Any, value: Any, where: str) -> tuple[list[int], float]:
    """The place and the plain value of an edit, or a TraceError that says what does not fit."""
    try:
        index = [operator.index(k) for k in index]
    except TypeError:
        raise TraceError(f"{where}: index {index!r} is not a list of whole numbers, one per axis.") from None
    if len(index) != array.ndim or not all(0 <= k < n for k, n in zip(index, array.shape, strict=True)):
        raise TraceError(f"{where}: index {index} is outside {name!r}, which has shape {array.shape}.")
    try:
        finite = math.isfinite(value)
        plain = {"b": bool, "i": int}.get(array.dtype.kind, float)(value) if finite else None
        fits = finite and plain == value
    except (TypeError, ValueError, OverflowError):
        finite = fits = False
    if not finite:
        raise TraceError(f"{where}: {value!r} is not a finite number.")
    if not fits:
        raise TraceError(f"{where}: {name!r} holds values of kind {array.dtype}; {value!r} is none.")
    return index, plain


def show(trace: Trace, breaks: Sequence[Break] = (), start: str | int = 0, fold: int | Sequence[str] = ()) -> Player:
    """Show a trace in the player.

    Args:
        trace: a recorded program.
        breaks: known mistakes to offer as switches, beside those the trace has already.
        start: the step to begin at: its position, or the name of its result.
        fold: what is folded at the start, each shown as one step until the reader unfolds it: names of scopes (full,
            or the end of a dotted name, which then may mean several), or a depth: 0 folds every scope, 1 leaves the
            outermost open, and so on. If `start` is inside a folded scope, the scope is shown.

    Returns:
        A widget: live in JupyterLab; on a static page the same player without a kernel.

    Raises:
        TypeError: what is given is not a trace.
        TraceError: the trace has no step, two breaks share a name, an edit does not fit, `start` is no step, or
            `fold` names no scope.
    """
    if not isinstance(trace, Trace):
        raise TypeError(f"show: a trace is shown, made with record(); this is {type(trace).__name__}.")
    if not trace.steps:
        raise TraceError("show: the trace has no step; record at least one op.")
    breaks = (breaks,) if isinstance(breaks, Break) else breaks
    if breaks:
        trace = trace.with_breaks(*trace.breaks, *breaks)
    return Player(trace, start, fold)


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


def scope_paths(trace: Trace) -> dict[str, int]:
    """The scopes of a program as the player folds them: a number belongs to the part before it.

    Args:
        trace: the program.

    Returns:
        Full name of each scope -> how many others it is in, in the order of the steps.
    """
    depths: dict[str, int] = {}
    for step in trace.steps:
        paths: list[str] = []
        for part in step.scope.split(".") if step.scope else ():
            path = f"{paths[-1]}.{part}" if paths else part
            if paths and part.isdecimal():
                paths.pop()
            paths.append(path)
        depths |= {path: depth for depth, path in enumerate(paths)}
    return depths


def folded_scopes(trace: Trace, fold: int | Sequence[str]) -> list[str]:
    """The full names of the scopes that are folded at the start.

    Args:
        trace: the program.
        fold: names or a depth, as for `show`.

    Returns:
        Full names, in the order of the steps.

    Raises:
        TraceError: a name fits no scope, or `fold` is neither names nor a depth.
    """
    depths = scope_paths(trace)
    if isinstance(fold, (int, np.integer)) and not isinstance(fold, bool) and fold >= 0:
        return [path for path, depth in depths.items() if depth >= fold]
    names = (fold,) if isinstance(fold, str) else fold
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise TraceError(f"fold: {fold!r} is neither a list of scopes nor a depth of 0 or more.")
    chosen = set()
    for name in names:
        meant = [path for path in depths if path == name or path.endswith(f".{name}")]
        if not meant:
            raise TraceError(f"fold: there is no scope {name!r}. There are: {', '.join(depths) or 'none'}.")
        chosen.update(meant)
    return [path for path in depths if path in chosen]


def player_payload(trace: Trace, start: str | int = 0, fold: int | Sequence[str] = ()) -> str:
    """The JSON that the player reads.

    Args:
        trace: a recorded program.
        start: the step to begin at, as for `show`.
        fold: the scopes folded at the start, as for `show`.

    Returns:
        The JSON of the trace with the field "start", and "fold" where something is folded.
    """
    document: dict[str, Any] = json.loads(trace.to_json())
    document["start"] = step_position(trace, start)
    if folded := folded_scopes(trace, fold):
        document["fold"] = folded
    return dumps(document)


def player_html(trace: Trace, start: str | int = 0, fold: int | Sequence[str] = ()) -> str:
    """The player of a trace as HTML for a page without a kernel.

    Args:
        trace: a recorded program.
        start: the step to begin at, as for `show`.
        fold: the scopes folded at the start, as for `show`.

    Returns:
        A `stepformer-player` element: the program as JSON, and readable tables for where no script runs.
    """
    fallback = fallback_html(trace, step_position(trace, start))
    return element("stepformer-player", player_payload(trace, start, fold), fallback)
