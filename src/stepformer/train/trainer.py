"""The training loop: one model, in one process or several, and the same numbers every time."""

import hashlib
import math
import shutil
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from stepformer.checkpoint import CheckpointError, save_model
from stepformer.data.batches import Batches, Position
from stepformer.data.tokenizer import PAD
from stepformer.model_kinds import build
from stepformer.nn import cross_entropy
from stepformer.train.config import Config, ConfigError, differences, model_arguments
from stepformer.train.distributed import ALONE, Share, WorkerError, Workers, shares
from stepformer.train.forward import forward_of, restore
from stepformer.train.lexical import lexical_start
from stepformer.train.log import Log, Memory
from stepformer.train.measure import Dev, Measured, tensors
from stepformer.train.progress import Observer
from stepformer.train.schedule import schedule_of
from stepformer.train.sources import TrainingData, load_data
from stepformer.train.state import State, clean, find_state, path_of, steps_in, write_state

CONFIG_FILE, LOG_FILE, CHECKPOINTS, MODEL = "config.toml", "log.jsonl", "checkpoints", "model"
CHANGEABLE = ("title", "budget.checkpoint_every", "budget.keep")
"""Settings that may be others when a training goes on: they do not change a single number."""
ROUNDING = ("compute.device", "compute.parts", "compute.compile", "compute.recompute")
"""These may be others as well, and change last digits, or what dropout draws."""


class TrainingError(RuntimeError):
    """Training can not go on; the message says what to do."""


@dataclass(frozen=True)
class Run:
    """What a training has come to.

    Attributes:
        model: with the final weights, in evaluation mode.
        data: tokenizers and pairs.
        config: what was asked for.
        step: number of updates.
        stopped: "budget", "early" or "interrupted".
        rows: the log: a row for each step, and one for each measurement on dev.
        dev: how the final weights do on dev.
        directory: of the training; None if nothing was written.
    """

    model: nn.Module
    data: TrainingData
    config: Config
    step: int
    stopped: str
    rows: list[dict[str, Any]] = field(repr=False)
    dev: Measured
    directory: Path | None


def train(
    config: Config,
    data: TrainingData | None = None,
    directory: str | Path | None = None,
    *,
    resume: bool | int = False,
    on_step: Callable[[int, nn.Module], None] | None = None,
    observers: Sequence[Observer] = (),
    workers: Workers = ALONE,
) -> Run:
    """Train a model, or go on with a training that was stopped.

    The same configuration, data, number of threads and build of torch give the same numbers bit for bit, stopped or
    not. In a directory stand `config.toml`, `log.jsonl`, `checkpoints/` and at the end `model/`. Ctrl-C (and SIGTERM)
    lets the step end and writes a checkpoint; whoever is killed loses the steps since the last one. Of several
    processes the first alone writes; if another ends, it writes a checkpoint of the last step that all have done.

    Args:
        config: what to train.
        data: what to learn from; `load_data(config.data)` if not given.
        directory: where checkpoints, log and model go; None keeps everything in memory.
        resume: True goes on from the newest checkpoint, or begins if there is none yet; a number from that of the step.
        on_step: called after each step with its number and the model, which it must leave as it is: for snapshots.
        observers: who is told; see `stepformer.train.progress`.
        workers: the processes that train together, each of which calls this; see `stepformer.train.distributed`.

    Returns:
        The model and how it came about; the whole log in the first process only.

    Raises:
        CheckpointError: the directory holds another training, or a checkpoint that can not be used.
        ConfigError: the configuration does not fit the data, or the one that the training began with.
        TrainingError: the loss is no longer a finite number.
        WorkerError: another process has ended, or has other settings or data.
    """
    directory = None if directory is None else Path(directory)
    if directory is None and resume:
        raise ValueError("resume needs the directory of the training.")
    data = load_data(config.data) if data is None else data
    if directory is None:
        _check_equal(workers, config, data)
        return _run(Training(config, data, Memory(), workers), None, on_step, observers)
    was_there = directory.exists()
    state, log = _open(config, data, directory, resume) if workers.is_first else (None, Memory())
    training = None
    try:
        _check_equal(workers, config, data)
        step = torch.tensor(-1 if state is None else state.info["step"])
        workers.from_first([step])
        if step >= 0 and not workers.is_first:
            state = find_state(directory / CHECKPOINTS, int(step))
        training = Training(config, data, log, workers)
        if state is not None:
            training.restore(state, directory / CHECKPOINTS)
            for text in _changes(state.info, training):
                for observer in observers:
                    observer.told(text)
        return _run(training, directory, on_step, observers)
    finally:
        if training is not None:
            log.close()
        else:
            log.leave()
            if workers.is_first and not resume:
                _leave(directory, was_there)


def _check_equal(workers: Workers, config: Config, data: TrainingData) -> None:
    """Refuse processes that do not train the same thing."""
    digest = hashlib.sha256((config.to_toml() + data.sha256).encode()).digest()
    own = torch.tensor(list(digest))
    first = own.clone()
    workers.from_first([first])
    if not torch.equal(own, first):
        raise WorkerError(f"process {workers.rank} of {workers.size}: it has other settings or data than the first.")


def _changes(before: dict[str, Any], training: "Training") -> Iterator[str]:
    """What differs from how the training began and changes last digits."""
    now = training.conditions()
    old_config = Config.from_dict(before["config"])
    changed = {name: pair for name, pair in differences(old_config, training.config).items() if name in ROUNDING}
    changed |= {name: (before.get(name, 1), now[name]) for name in now if before.get(name, 1) != now[name]}
    for name, (old, new) in changed.items():
        yield (
            f"The training began with {old} {name} and goes on with {new}: the last digits will differ."
            if name in now
            else f"{name} was {old!r} and is {new!r}: the last digits will differ, and so may what dropout draws."
        )


def _open(config: Config, data: TrainingData, directory: Path, resume: bool | int) -> tuple[State | None, Log]:
    """Make the directory, or find in it what to go on from."""
    path, checkpoints = directory / CONFIG_FILE, directory / CHECKPOINTS
    if not resume and (path.exists() or steps_in(checkpoints)):
        raise CheckpointError(f"{directory} holds a training already: resume=True (--resume) goes on with it.")
    if resume and not path.exists():
        raise CheckpointError(f"{directory} holds no training that could go on: it has no {CONFIG_FILE}.")
    # Whoever was killed in the first moment left these two at most.
    left = {LOG_FILE, f".{CONFIG_FILE}.part"}
    if not resume and directory.exists() and not (directory.is_dir() and {p.name for p in directory.iterdir()} <= left):
        raise CheckpointError(f"{directory} is there and holds something else; choose another folder.")
    directory.mkdir(parents=True, exist_ok=True)
    log = Log(directory / LOG_FILE)
    try:
        if resume:
            _check_unchanged(Config.from_toml(path), config, directory)
        step = None if resume is True or not resume else int(resume)
        state = find_state(checkpoints, step, lambda one: _foreign(one, config, data)) if resume else None
        done, length = (0, 0) if state is None else (state.info["step"], state.info["log_length"])
        log.check(length)  # before anything is deleted
        clean(directory)
        if checkpoints.is_dir():
            clean(checkpoints)
        for later in steps_in(checkpoints):
            if later > done:  # their steps are done again, and the log is cut: nobody could go on from them
                shutil.rmtree(path_of(checkpoints, later))
        log.cut(length)
        part = directory / f".{CONFIG_FILE}.part"
        part.write_text(config.to_toml(), encoding="utf-8")
        part.replace(path)
    except BaseException:
        log.leave()
        raise
    return state, log


def _leave(directory: Path, was_there: bool) -> None:
    """Take away what `_open` made: a training that never began must not stand in the way of the next one."""
    for name in (CONFIG_FILE, LOG_FILE):
        (directory / name).unlink(missing_ok=True)
    if not was_there:
        directory.rmdir()


def _check_unchanged(before: Config, config: Config, directory: Path) -> None:
    """Refuse another configuration than the one that a training began with, where it would change a number."""
    if told := _told(before, config):
        raise ConfigError(f"{directory} was begun with another configuration: {told}. It can not go on with this one.")


def _told(before: Config, config: Config) -> str:
    """Where two configurations differ in a setting that changes a number; nothing, if nowhere."""
    changed = differences(before, config)
    # Without a schedule that depends on the last step, more steps only come after those that are done.
    may_change = CHANGEABLE + ROUNDING
    harmless = may_change if config.schedule.kind == "linear" else (*may_change, "budget.steps")
    return ", ".join(
        f"{name} was {old!r} and is {new!r}" for name, (old, new) in changed.items() if name not in harmless
    )


def _foreign(state: State, config: Config, data: TrainingData) -> str:
    """Why a checkpoint, however whole, is not of this training; nothing, if it is."""
    try:
        told = _told(Config.from_dict(state.info["config"]), config)
    except ConfigError as error:
        told = str(error).removesuffix(".")
    if not told and state.info["data_sha256"] != data.sha256:
        told = "it was written while training on other data, the digests differ"
    return told


class Training:
    """A model, its optimiser, and where they are in the data.

    Attributes:
        config: what was asked for.
        data: tokenizers and pairs.
        model: in training, with the weights of the last step.
        step: number of updates so far.
        rows: the log so far.
    """

    def __init__(self, config: Config, data: TrainingData, log: Memory, workers: Workers = ALONE) -> None:
        self.config, self.data, self.workers = config, data, workers
        self._cpu_before, self._cpu_start = 0.0, time.process_time()
        sizes = len(data.src_tokenizer.vocabulary), len(data.tgt_tokenizer.vocabulary)
        try:
            self.model = build(config.model.kind, model_arguments(config, *sizes), config.seed)
        except (TypeError, ValueError, RuntimeError, MemoryError) as error:  # torch: RuntimeError, if too large
            raise ConfigError(f"model: {error}") from error
        _check_lengths(self.model, data)
        if config.start.lexical:
            lexical_start(self.model, data.train, config.start.lexical)
        self._device = torch.device(config.compute.device)
        self.model.to(self._device)
        workers.from_first(list(self.model.state_dict().values()))
        self._forward = forward_of(self.model, config.compute)
        self._names, self._parameters = zip(*self.model.named_parameters(), strict=True)
        adam = config.optimiser
        self._optimiser = torch.optim.Adam(
            self._parameters, lr=1.0, betas=(adam.beta1, adam.beta2), eps=adam.eps, fused=True
        )
        self._schedule = schedule_of(config)
        size, tokens = config.data.batch_size, config.data.tokens_per_batch
        self._batches = Batches(data.train, batch_size=size, tokens_per_batch=tokens, seed=config.seed)
        self._dev = Dev(data.dev)
        self._log = log
        self.rows = log.rows
        self.step = 0
        self.position = Position()
        self._snapshots: deque[list[torch.Tensor]] = deque(maxlen=config.regularisation.average)
        self._best: list[torch.Tensor] | None = None
        self._best_step, self._best_loss, self._waited = 0, math.inf, 0
        self._written = -1
        self.is_whole = True

    # ---- one step ----

    def steps(self) -> Iterator[dict[str, Any]]:
        """Train step by step, until the budget is used up or training stops early.

        Yields:
            The row of the log of each step, after everything that belongs to the step is done.
        """
        budget, average = self.config.budget, self.config.regularisation
        self.model.train()
        parts = shares(self._batches, self.position, self.workers, self.config.compute.parts)
        for share in parts if not self.is_done() else ():
            row = self._update(share, self.position.epoch)
            self.position = share.position
            if average.average > 1 and self.step % average.average_every == 0:
                self._snapshots.append(_copies(self._parameters))
            self._log.write(row)
            if self.step % budget.dev_every == 0 or self.step == budget.steps:
                self._measure()
            self.is_whole = True
            yield row
            if self.is_done():
                return

    def _update(self, share: Share, epoch: int) -> dict[str, Any]:
        """Forward and backward for each part, the sum of their gradients, Adam."""
        step, settings = self.step + 1, self.config
        rate, loss = self._schedule(step), 0.0
        self._optimiser.zero_grad()
        for k, batch in share.parts:
            src, tgt_in, tgt_out = (x.to(self._device) for x in tensors(batch))
            with _random_numbers(settings.seed, step, k, self._device):
                logits = self._forward(src, tgt_in)
                mean = cross_entropy(logits, tgt_out, PAD, settings.regularisation.label_smoothing)
                # Each token of the batch counts the same, in whichever part it is.
                part = mean * (batch.n_tokens / share.n_tokens)
                part.backward()
            loss += part.item()
        self.workers.add_gradients(self._parameters)
        (loss,) = self.workers.total(loss)
        row = {"step": step, "epoch": epoch, "loss": loss, "lr": rate, "tokens": share.n_tokens}
        if settings.optimiser.clip is not None:
            row["norm"] = nn.utils.clip_grad_norm_(self._parameters, settings.optimiser.clip).item()
        if not (math.isfinite(row["loss"]) and math.isfinite(row.get("norm", 0.0))):
            norm = row.get("norm", "not known")
            raise TrainingError(
                f"step {step}: the loss is {row['loss']} and the norm of the gradient {norm}. The learning rate was "
                f"{rate:.3g}; try a lower one (optimiser.lr), a longer schedule.warmup, or optimiser.clip = 1.0."
            )
        self._optimiser.param_groups[0]["lr"] = rate
        self._optimiser.step()
        self.step, self.is_whole = step, False
        return row

    def is_done(self) -> bool:
        """Tell whether there is nothing left to do.

        Returns:
            True after the last step, or where dev has not improved for long enough.
        """
        return self.step >= self.config.budget.steps or self.stopped_early()

    def stopped_early(self) -> bool:
        """Tell whether dev has not improved for as many measurements as the configuration has patience.

        Returns:
            True if so.
        """
        return 0 < self.config.budget.patience <= self._waited

    def _measure(self) -> None:
        """Measure what would be the model if training ended now."""
        candidate = self._candidate()
        with _with_weights(self._parameters, candidate):
            loss, exact = self._dev.measure(self.model, self.workers)
        if loss < self._best_loss:
            self._best_step, self._best_loss, self._waited = self.step, loss, 0
            if self.config.budget.final == "best":
                self._best = candidate if candidate is not None else _copies(self._parameters)
        else:
            self._waited += 1
        seconds = round(self.cpu_seconds(), 2)
        self._log.write({"step": self.step, "dev_loss": loss, "dev_exact": exact, "cpu_seconds": seconds})

    def _candidate(self) -> list[torch.Tensor] | None:
        """The average of the snapshots, or None for the weights as they are."""
        if not self._snapshots:
            return None
        return [sum(tensors[1:], start=tensors[0]) / len(tensors) for tensors in zip(*self._snapshots, strict=True)]

    def cpu_seconds(self) -> float:
        """Processor time of the training so far, also before it was stopped.

        Returns:
            Seconds.
        """
        return self._cpu_before + time.process_time() - self._cpu_start

    def finish(self) -> Measured:
        """Give the model its final weights and measure them.

        Returns:
            How they do on dev.
        """
        final = self._best if self.config.budget.final == "best" and self._best is not None else self._candidate()
        if final is not None:
            with torch.no_grad():
                for parameter, value in zip(self._parameters, final, strict=True):
                    parameter.copy_(value)
        self.model.eval()
        restore(self.model)
        return self._dev.measure(self.model, self.workers)

    # ---- checkpoints ----

    def save(self, checkpoints: Path) -> None:
        """Write a checkpoint of this step, unless it is there.

        Args:
            checkpoints: the folder of all checkpoints.
        """
        if self._written == self.step or not self.workers.is_first:
            return
        info = {
            "step": self.step,
            "epoch": self.position.epoch,
            "batch": self.position.batch,
            "seed": self.config.seed,
            **self.conditions(),
            "cpu_seconds": self.cpu_seconds(),
            "best_step": self._best_step,
            "best_loss": self._best_loss if math.isfinite(self._best_loss) else None,
            "waited": self._waited,
            "log_length": self._log.to_disk(),
            "config": self.config.to_dict(),
            "data_sha256": self.data.sha256,
        }
        tokenizers = self.data.src_tokenizer, self.data.tgt_tokenizer
        write_state(checkpoints, self.model, tokenizers, self._arrays(), info, self.config.budget.keep)
        self._written = self.step

    def conditions(self) -> dict[str, int]:
        """What the last digits depend on beside the configuration.

        Returns:
            Name -> number: threads of each process, and processes.
        """
        return {"threads": torch.get_num_threads(), "processes": self.workers.size}

    def _arrays(self) -> dict[str, np.ndarray]:
        groups: dict[str, Sequence[torch.Tensor]] = {"parameter": self._parameters}
        for name in ADAM:
            groups[name] = [self._optimiser.state[p][name] for p in self._parameters]
        groups |= {f"snapshot.{k}": snapshot for k, snapshot in enumerate(self._snapshots)}
        if self._best is not None:
            groups["best"] = self._best
        return {
            f"{group}/{name}": tensor.detach().cpu().numpy()
            for group, values in groups.items()
            for name, tensor in zip(self._names, values, strict=True)
        }

    def restore(self, state: State, checkpoints: Path) -> None:
        """Go back to where a checkpoint was written.

        Args:
            state: what `find_state` read.
            checkpoints: the folder of all checkpoints, for messages.

        Raises:
            CheckpointError: the checkpoint is of another model.
        """
        info, arrays = state
        where = f"{checkpoints}, step {info['step']}"
        n = sum(name.startswith("snapshot.") for name in arrays) // len(self._names)
        has_best = any(name.startswith("best/") for name in arrays)
        groups = ["parameter", *ADAM, *(f"snapshot.{k}" for k in range(n)), *(["best"] if has_best else [])]
        wanted = {f"{group}/{name}" for group in groups for name in self._names}
        if wanted != arrays.keys():
            names = ", ".join(sorted(wanted ^ arrays.keys())[:5])
            raise CheckpointError(f"{where}: training.safetensors is not of this model; too many or too few: {names}.")
        for name, parameter in zip(self._names, self._parameters, strict=True):
            for group in groups:
                shape = () if group == "step" else tuple(parameter.shape)
                found = arrays[f"{group}/{name}"]
                if found.shape != shape:
                    raise CheckpointError(f"{where}: {group}/{name} has shape {found.shape}; the model needs {shape}.")
                if found.dtype != np.float32:
                    raise CheckpointError(f"{where}: {group}/{name} is {found.dtype}; it must be float32.")

        def values(group: str) -> list[torch.Tensor]:
            return [torch.from_numpy(arrays[f"{group}/{name}"].copy()).to(self._device) for name in self._names]

        moments = zip(*(values(name) for name in ADAM), strict=True)
        with torch.no_grad():
            for parameter, value, adam in zip(self._parameters, values("parameter"), moments, strict=True):
                parameter.copy_(value)
                self._optimiser.state[parameter] = dict(zip(ADAM, adam, strict=True))
        self._snapshots.extend(values(f"snapshot.{k}") for k in range(n))
        self._best = values("best") if has_best else None
        self.step = self._written = info["step"]
        self.position = Position(info["epoch"], info["batch"])
        self._best_step, self._waited = info["best_step"], info["waited"]
        self._best_loss = math.inf if info["best_loss"] is None else info["best_loss"]
        self._cpu_before, self._cpu_start = info["cpu_seconds"], time.process_time()


def _check_lengths(model: nn.Module, data: TrainingData) -> None:
    """Refuse data with longer sentences than the model has positions for, before the first step."""
    most = getattr(model, "max_len", None)
    for name, pairs in (("train", data.train), ("dev", data.dev)) if most is not None else ():
        lengths = getattr(pairs, "lengths", None)
        longest = max(max(len(a), len(b)) for a, b in pairs) if lengths is None else int(lengths.max())
        if longest + 1 > most:
            raise ConfigError(
                f"model.max_len is {most}, and a sentence of {name} has {longest} tokens and its mark; choose a larger "
                f"model.max_len, or a data.max_len of {most} at most."
            )


ADAM = ("step", "exp_avg", "exp_avg_sq")
"""What torch's Adam keeps for each parameter."""


def _run(
    training: Training,
    directory: Path | None,
    on_step: Callable[[int, nn.Module], None] | None,
    observers: Sequence[Observer],
) -> Run:
    """Train, watch, write checkpoints, and make the model at the end."""
    every, stopped = training.config.budget.checkpoint_every, ""
    for observer in observers:
        observer.started(training)
    with _signals() as asked, _saved_if_another_ends(training, directory):

        def asked_to_stop() -> bool:
            return training.workers.total(asked())[0] > 0

        for row in training.steps():
            if on_step is not None:
                on_step(training.step, training.model)
            for observer in observers:
                observer.stepped(row)
                if training.rows[-1] is not row:
                    observer.measured(training.rows[-1])
            stop = asked_to_stop()
            if directory is not None and (training.step % every == 0 or training.is_done() or stop):
                training.save(directory / CHECKPOINTS)
            if stop:
                stopped = "" if training.is_done() else "interrupted"
                break
    stopped = stopped or ("early" if training.stopped_early() else "budget")
    dev = training.finish()
    run = Run(training.model, training.data, training.config, training.step, stopped, training.rows, dev, directory)
    if directory is not None and stopped != "interrupted" and training.workers.is_first:
        _save_final(run, training)
    for observer in observers:
        observer.finished(run)
    return run


def _save_final(run: Run, training: Training) -> None:
    record = {
        "title": run.config.title,
        "data": run.data.title,
        "licence": run.data.licence,
        "steps": run.step,
        "stopped": run.stopped,
        "dev_loss": run.dev.loss,
        "dev_exact": run.dev.exact,
        "config": run.config.to_dict(),
    }
    save_model(run.directory / MODEL, run.model, run.data.src_tokenizer, run.data.tgt_tokenizer, record, replace=True)


@contextmanager
def _saved_if_another_ends(training: Training, directory: Path | None) -> Iterator[None]:
    """Write a checkpoint of the last step that all processes have done, before the error goes on."""
    try:
        yield
    except WorkerError as error:
        if directory is None:
            raise
        if training.is_whole and training.step:
            training.save(directory / CHECKPOINTS)
        steps = steps_in(directory / CHECKPOINTS)
        saved = f"the checkpoint of step {steps[-1]}" if steps else "the beginning, for there is no checkpoint yet"
        raise WorkerError(f"{error} Training can go on from {saved}, with any number of processes.") from error


@contextmanager
def _random_numbers(seed: int, step: int, part: int, device: torch.device) -> Iterator[None]:
    """Let torch's own random numbers follow from seed, step and part, and afterwards be what they were before.

    So the dropout of a step is the same whatever came before it, and a training that is resumed has nothing to restore.
    """
    devices = [device] if device.type == "cuda" else []
    before, of_devices = torch.get_rng_state(), [torch.cuda.get_rng_state(one) for one in devices]
    mixed = _mixed(seed, step, part)
    torch.default_generator.manual_seed(mixed)
    if devices:
        torch.cuda.manual_seed(mixed)
    try:
        yield
    finally:
        torch.set_rng_state(before)
        for one, state in zip(devices, of_devices, strict=True):
            torch.cuda.set_rng_state(state, one)


def _mixed(seed: int, step: int, part: int = 0) -> int:
    """A number of 32 bits in which all three are well mixed (SplitMix64; torch's generator takes 32 bits)."""
    x = (seed * 0x9E3779B97F4A7C15 + step * 0xD1B54A32D192ED03 + part * 0x8CB92BA72F3D8DD7) % 2**64
    for factor, shift in ((0xBF58476D1CE4E5B9, 30), (0x94D049BB133111EB, 27)):
        x = (x ^ (x >> shift)) * factor % 2**64
    return (x ^ (x >> 31)) >> 32


@contextmanager
def _with_weights(parameters: Sequence[torch.Tensor], others: Sequence[torch.Tensor] | None) -> Iterator[None]:
    """Put other weights into the model for a while."""
    if others is None:
        yield
        return
    before = _copies(parameters)
    try:
        with torch.no_grad():
            for parameter, value in zip(parameters, others, strict=True):
                parameter.copy_(value)
        yield
    finally:
        with torch.no_grad():
            for parameter, value in zip(parameters, before, strict=True):
                parameter.copy_(value)


def _copies(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [tensor.detach().clone() for tensor in tensors]


@contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C and SIGTERM ask instead of interrupt; a second Ctrl-C interrupts at once."""
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, frame: Any) -> None:
        if asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked.append(number)

    try:
        for number in before:
            signal.signal(number, ask)
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
