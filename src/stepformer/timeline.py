"""The training timeline: what a model looked at and expected after some of its training steps, from step 0 to the end.

A model that comes with the package keeps `snapshots.json` (cross-attention and next words of five sentences) and
`log.json` (the loss). Of both the timeline is made; no model is run.
"""

import itertools
import json
from pathlib import Path
from typing import Any

from stepformer.checkpoint import CheckpointError, find, read_json
from stepformer.trace_json import dumps
from stepformer.widgets.timeline_view import FORMAT, TimelineView

SNAPSHOTS, LOG = "snapshots.json", "log.json"
SNAPSHOTS_FORMAT = "stepformer.snapshots/1"
LARGEST = 150_000
"""A timeline of more bytes is refused: it stands in a page."""
POINTS = 8
"""So many points of the loss are drawn between two snapshots."""


def timeline(model: str | Path = "small", sentence: int = 0) -> TimelineView:
    """Show how a model learnt: a slider from step 0 to the last one, attention on the left, next words on the right.

    Args:
        model: "small", "base", "gru_attention", or a directory with `snapshots.json` and `log.json`.
        sentence: the position of the sentence to begin with.

    Returns:
        A widget: live in JupyterLab; on a static page the same without a kernel.

    Raises:
        CheckpointError: the files are not there, or not what they should be.
        IndexError: there is no such sentence.
        TypeError: its position is no whole number.
    """
    if type(sentence) is not int:  # a truth value is no position
        raise TypeError(f"sentence is {sentence!r}; it must be a whole number.")
    document = payload(model)
    n = len(document["sentences"])
    if not 0 <= sentence < n:
        raise IndexError(f"sentence is {sentence}; the timeline has {n}, counted from 0.")
    return TimelineView(document | {"start": sentence})


def payload(model: str | Path = "small") -> dict[str, Any]:
    """What the page needs: every snapshot, checked, and the loss thinned out.

    Formula: `weights = attention / 1000`, row i of the position that predicts word i of the target.

    Args:
        model: "small", "base", "gru_attention", or a directory.

    Returns:
        `stepformer.timeline/1`: `model`; `sentences` with `src` and `tgt`, lists of words; `snapshots` with `step` and
        for each sentence `attention` [layer][head][n_tgt][n_src] and `next` [n_tgt][[word, share] …], in thousandths;
        `loss`, a list of [step, loss]; `losses`, that of each snapshot, null before the first step; `start`, the
        position of the sentence to begin with.

    Raises:
        CheckpointError: a file is missing or broken, with what and where; or there is too much of it for a page.
    """
    directory = find(model)
    path = directory / SNAPSHOTS
    stored = read_json(path, SNAPSHOTS_FORMAT, {"sentences": list, "snapshots": list})
    sentences = [_sentence(one, f"{path}: sentence {k}") for k, one in enumerate(stored["sentences"])]
    snapshots = [_snapshot(one, sentences, f"{path}: snapshot {k}") for k, one in enumerate(stored["snapshots"])]
    steps = [one["step"] for one in snapshots]
    if not sentences or len(steps) < 2 or steps != sorted(set(steps)):
        raise CheckpointError(f"{path}: the steps are {steps}; two or more are needed, in order, and a sentence.")
    _order_layers(snapshots, path)
    curve = _loss(directory / LOG)
    points = _thinned(curve, steps)
    if len(points) < 2:
        raise CheckpointError(f"{directory / LOG}: of its steps two or more must lie from {steps[0]} to {steps[-1]}.")
    document = {
        "format": FORMAT,
        "model": directory.name,
        "sentences": sentences,
        "snapshots": snapshots,
        "loss": points,
        "losses": [curve.get(step) for step in steps],
        "start": 0,
    }
    try:
        size = len(dumps(document).encode())
    except UnicodeEncodeError as error:
        raise CheckpointError(f"{path}: half a sign can not be written ({error.reason}).") from error
    if size > LARGEST:
        raise CheckpointError(f"{path}: the timeline has {size:,} bytes; a page takes at most {LARGEST:,}.")
    return document


def _sentence(one: Any, where: str) -> dict[str, list[str]]:
    words = {side: one.get(side) if isinstance(one, dict) else None for side in ("src", "tgt")}
    for side, found in words.items():
        if not isinstance(found, list) or not found or not all(isinstance(word, str) and word for word in found):
            raise CheckpointError(f"{where}: {side} is no list of words.")
    return words


def _snapshot(one: Any, sentences: list[dict[str, list[str]]], where: str) -> dict[str, Any]:
    parts = one.get("sentences") if isinstance(one, dict) else None
    if not isinstance(parts, list) or len(parts) != len(sentences) or not _is_count(one.get("step")):
        raise CheckpointError(f"{where}: it needs a step, and a part for each of the {len(sentences)} sentences.")
    checked = [
        _part(part, words, f"{where}, sentence {k}")
        for k, (part, words) in enumerate(zip(parts, sentences, strict=True))
    ]
    return {"step": one["step"], "sentences": checked}


def _part(part: Any, words: dict[str, list[str]], where: str) -> dict[str, Any]:
    """One sentence at one moment; the words after the last one of the target, which <eos> follows, are left out."""
    n_src, n_tgt = len(words["src"]), len(words["tgt"])
    if not isinstance(part, dict) or not isinstance(part.get("attention"), dict) or not part["attention"]:
        raise CheckpointError(f"{where}: attention is no object with a layer or more.")
    for layer, heads in part["attention"].items():
        if not isinstance(heads, list) or not heads or not all(_is_table(head, n_tgt, n_src) for head in heads):
            raise CheckpointError(f"{where}: {layer} has no heads of {n_tgt} rows with {n_src} thousandths each.")
    following = part.get("next")
    if not isinstance(following, list) or len(following) != n_tgt + 1 or not all(map(_is_bars, following)):
        raise CheckpointError(f"{where}: next has no lists of [word, thousandths] for {n_tgt + 1} positions.")
    return {"attention": part["attention"], "next": following[:n_tgt]}


def _order_layers(snapshots: list[dict[str, Any]], path: Path) -> None:
    """Put lists in the place of the named layers, everywhere in the order of the first snapshot."""
    names = list(snapshots[0]["sentences"][0]["attention"])
    n_heads = set()
    for k, one in enumerate(snapshots):
        for j, part in enumerate(one["sentences"]):
            layers = part["attention"]
            if set(layers) != set(names):
                where = f"{path}: snapshot {k}, sentence {j}"
                raise CheckpointError(f"{where} has other layers than the first: {', '.join(layers)}.")
            part["attention"] = [layers[name] for name in names]
            n_heads.update(map(len, part["attention"]))
    if len(n_heads) > 1:
        raise CheckpointError(f"{path}: the layers have different numbers of heads: {sorted(n_heads)}.")


def _is_table(rows: Any, n_rows: int, n_columns: int) -> bool:
    return isinstance(rows, list) and len(rows) == n_rows and all(
        isinstance(row, list) and len(row) == n_columns and all(_is_count(x, 1000) for x in row) for row in rows
    )  # fmt: skip


def _is_bars(bars: Any) -> bool:
    return isinstance(bars, list) and bool(bars) and all(
        isinstance(bar, list) and len(bar) == 2 and isinstance(bar[0], str) and _is_count(bar[1], 1000) for bar in bars
    )  # fmt: skip


def _is_count(x: Any, most: int = 10**9) -> bool:
    return type(x) is int and 0 <= x <= most  # a truth value is no number here


def _is_loss(x: Any) -> bool:
    return type(x) in (int, float) and 0 <= x <= 10**9  # neither NaN nor infinity is


def _loss(path: Path) -> dict[int, float]:
    """Step -> loss, as the training logged it."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} can not be read: {error}.") from error
    steps = content.get("steps") if isinstance(content, dict) else None
    step, loss = (steps.get("step"), steps.get("loss")) if isinstance(steps, dict) else (None, None)
    fits = isinstance(step, list) and isinstance(loss, list) and len(step) == len(loss) > 1
    if not fits or not all(map(_is_count, step)) or not all(map(_is_loss, loss)):
        raise CheckpointError(
            f"{path}: steps.step and steps.loss are no lists of numbers from 0 to 10^9, of the same length."
        )
    return dict(zip(step, loss, strict=True))


def _thinned(curve: dict[int, float], steps: list[int]) -> list[list[float]]:
    """Of the logged steps between two snapshots at most POINTS, evenly, and the snapshots' own."""
    kept: set[int] = set()
    for first, last in itertools.pairwise(steps):
        logged = [step for step in curve if first < step <= last]
        kept.update(logged[:: -(-len(logged) // POINTS) or 1], logged[-1:])
    return [[step, round(curve[step], 3)] for step in sorted(kept)]
