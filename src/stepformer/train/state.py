"""Checkpoints: everything that a training needs to go on bit for bit as if it had never stopped.

A checkpoint is a folder `step-00000400`, complete or absent. It holds the model as `stepformer.checkpoint` reads it, so
every checkpoint can translate, and beside it

| File | Holds |
|---|---|
| `training.safetensors` | parameters, Adam's moments and step counts, snapshots to be averaged, the best weights |
| `state.json` | step, epoch and batch, best loss, length of the log, configuration, digests of data and other file |

Of random numbers nothing needs to be kept: the order of an epoch follows from the seed and its number, and the dropout
of a step from the seed and its number.
"""

import hashlib
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stepformer import params
from stepformer.checkpoint import (
    CheckpointError,
    check_fields,
    read_arrays,
    read_json,
    read_model,
    write_directory,
    write_json,
    write_model,
)

FORMAT = "stepformer.checkpoint/1"
STATE_FILE, TRAINING_FILE = "state.json", "training.safetensors"
FIELDS: dict[str, Any] = {
    "step": int,
    "epoch": int,
    "batch": int,
    "seed": int,
    "threads": int,
    "cpu_seconds": float,
    "best_step": int,
    "best_loss": (float, type(None)),
    "waited": int,
    "log_length": int,
    "config": dict,
    "data_sha256": str,
    "training_sha256": str,
}
COUNTS = ("epoch", "batch", "best_step", "waited", "log_length")


class State(NamedTuple):
    """What a checkpoint holds.

    Attributes:
        info: the content of `state.json`.
        arrays: the content of `training.safetensors`.
    """

    info: dict[str, Any]
    arrays: dict[str, np.ndarray]


def steps_in(directory: Path) -> list[int]:
    """The checkpoints of a training.

    Args:
        directory: the folder `checkpoints` of a training; it may be missing.

    Returns:
        The steps they were written at, the oldest first.
    """
    if not directory.is_dir():
        return []
    matches = (re.fullmatch(r"step-(\d{8}|[1-9]\d{8,})", path.name) for path in directory.iterdir())
    return sorted(int(match[1]) for match in matches if match)


def path_of(directory: Path, step: int) -> Path:
    """Where the checkpoint of a step is.

    Args:
        directory: the folder `checkpoints` of a training.
        step: the number of the step.

    Returns:
        The folder of the checkpoint.
    """
    return directory / f"step-{step:08d}"


def write_state(
    directory: Path,
    model: Any,
    tokenizers: tuple[Any, Any],
    arrays: Mapping[str, np.ndarray],
    info: Mapping[str, Any],
    keep: int,
) -> Path:
    """Write a checkpoint, then delete those that are no longer kept.

    Args:
        directory: the folder `checkpoints` of a training.
        model: the model, with the parameters of this step.
        tokenizers: of source and target.
        arrays: the content of `training.safetensors`.
        info: the content of `state.json` but for the format and the digest.
        keep: how many checkpoints are left, this one included.

    Returns:
        The folder of the checkpoint.
    """

    def write(part: Path) -> None:
        record = {"title": info["config"].get("title", ""), "step": info["step"], "config": info["config"]}
        write_model(part, model, *tokenizers, record)
        params.save(part / TRAINING_FILE, arrays)
        digest = hashlib.sha256((part / TRAINING_FILE).read_bytes()).hexdigest()
        write_json(part / STATE_FILE, {"format": FORMAT, **info, "training_sha256": digest})

    path = path_of(directory, info["step"])
    write_directory(path, write)
    for step in steps_in(directory)[:-keep]:
        # Renamed first: a folder that is being deleted must not look like a checkpoint.
        old = path_of(directory, step).rename(directory / f".step-{step:08d}.old")
        shutil.rmtree(old)
    return path


def read_state(path: Path) -> State:
    """Read a checkpoint and check all its files.

    Args:
        path: the folder of the checkpoint.

    Returns:
        What it holds.

    Raises:
        CheckpointError: it is missing, damaged, of another version or of something else.
    """
    info = read_json(path / STATE_FILE, FORMAT, FIELDS)
    if path.name != path_of(path.parent, info["step"]).name:
        raise CheckpointError(f"{path / STATE_FILE}: step is {info['step']}; the folder is of another step.")
    for name in COUNTS:
        if info[name] < 0:
            raise CheckpointError(f"{path / STATE_FILE}: {name} is {info[name]}; it must be 0 or more.")
    check_fields(path / STATE_FILE, info["config"], {"seed": int}, "config.")
    read_model(path)
    return State(info, read_arrays(path / TRAINING_FILE, info["training_sha256"]))


def find_state(directory: Path, step: int | None = None, foreign: Callable[[State], str] | None = None) -> State | None:
    """Read the newest checkpoint, or the one of a step; offer another one if it is damaged or of another training.

    Args:
        directory: the folder `checkpoints` of a training.
        step: which one; the newest if not given.
        foreign: says why a checkpoint is not of this training, or nothing; not asked if not given.

    Returns:
        What it holds; None where there is no checkpoint at all.

    Raises:
        CheckpointError: it can not be used; the message names the newest one that can.
    """
    steps = steps_in(directory)
    if step is not None and step not in steps:
        there = ", ".join(map(str, steps)) or "none"
        raise CheckpointError(f"{directory} has no checkpoint of step {step}; there are: {there}.")
    if not steps:
        return None
    chosen = steps[-1] if step is None else step
    try:
        return _read_own(path_of(directory, chosen), foreign)
    except CheckpointError as error:
        raise CheckpointError(f"{error} {_offer(directory, steps, chosen, foreign)}") from error


def _read_own(path: Path, foreign: Callable[[State], str] | None) -> State:
    """Read a checkpoint and refuse one that is of another training, however whole it is."""
    state = read_state(path)
    if foreign is not None and (reason := foreign(state)):
        raise CheckpointError(f"{path} is not of this training: {reason}.")
    return state


def _offer(directory: Path, steps: list[int], refused: int, foreign: Callable[[State], str] | None) -> str:
    """Which other checkpoint can be used, and how to go on from it."""
    for step in sorted((step for step in steps if step != refused), reverse=True):
        try:
            _read_own(path_of(directory, step), foreign)
        except CheckpointError:
            continue
        return f"The checkpoint of step {step} is whole: resume={step} (--resume {step}) goes on from there."
    return "No other checkpoint can be used; the training must begin again, in another folder."


def clean(directory: Path) -> None:
    """Delete what was left half written or half deleted by a process that was killed.

    Args:
        directory: a folder that a training owns.
    """
    for path in directory.glob(".*"):
        if path.suffix in (".part", ".old"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
