"""Kill a training again and again, resume it each time, and compare with one that was never stopped, bit for bit.

    python tests/unit/train/kill_series.py --kills 20

Processes are killed with SIGKILL, which nothing can catch: at random moments; and, because writing a checkpoint takes a
small part of the time, also at moments in which a file operation begins or has just ended.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import torch
from small_training import config, data

from stepformer.train import read_log, train

SETTINGS = config(budget__steps=45, budget__checkpoint_every=3, budget__dev_every=9)


def in_child(function) -> int:
    """Run a function in a forked process and return how it ended, as `os.waitpid` says."""
    child = os.fork()
    if child == 0:
        try:
            function()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", flush=True)
            os._exit(1)
        os._exit(0)
    return child


def training(directory: Path, before=lambda: None):
    """What a child does: begin or go on."""

    def run():
        before()
        train(SETTINGS, data(), directory, resume=(directory / "config.toml").exists())

    return run


def finish(directory: Path) -> None:
    """Resume for the last time and let it end."""
    _, status = os.waitpid(in_child(training(directory)), 0)
    assert status == 0, f"the last resume ended with status {status}"


def result(directory: Path) -> tuple:
    """Everything that must be equal: the log without times, and the bytes of the weights and of the last checkpoint."""
    rows = [{k: v for k, v in row.items() if k != "cpu_seconds"} for row in read_log(directory / "log.jsonl")]
    newest = max((directory / "checkpoints").iterdir())
    files = [
        newest / "training.safetensors",
        newest / "weights.safetensors",
        directory / "model" / "weights.safetensors",
    ]
    left = sorted(path.name for path in directory.rglob(".*"))
    return rows, [file.read_bytes() for file in files], newest.name, left


def at_random_moments(directory: Path, kills: int, seconds: float, generator: random.Random) -> int:
    """Kill within the time that a whole training takes; return how many were killed before they had ended."""
    killed = 0
    for _ in range(kills):
        child = in_child(training(directory))
        time.sleep(generator.uniform(0, seconds * 2 / max(kills, 2)))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert status in (0, signal.SIGKILL), f"a resumed training ended with status {status}"
        killed += status == signal.SIGKILL
    return killed


def kill_at_call(number: int):
    """Let the process kill itself before, or after, a file operation, counted over both."""

    def arm():
        left = [number]

        def strike():
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        def around(function):
            def call(*arguments, **options):
                strike()
                value = function(*arguments, **options)
                strike()
                return value

            return call

        for name in ("fsync", "replace", "rename", "mkdir", "unlink", "rmdir"):
            setattr(os, name, around(getattr(os, name)))
        Path.write_text = around(Path.write_text)

    return arm


def at_file_operations(directory: Path, every: int, generator: random.Random) -> int:
    """Kill at an operation, resume and kill at a later one, and so on, until a training ends; return how many kills."""
    number, kills = generator.randint(1, every), 0
    while True:
        _, status = os.waitpid(in_child(training(directory, kill_at_call(number))), 0)
        if status == 0:
            return kills
        assert status == signal.SIGKILL, f"killed before operation {number}, the training could not go on: {status}"
        number, kills = number + every, kills + 1


def main() -> int:
    """Run the series; print a line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20, help="how many random moments (default: 20)")
    parser.add_argument(
        "--every", type=int, default=2, help="kill at every second, third … file operation (default: 2)"
    )
    parser.add_argument("--seed", type=int, default=None, help="of the random moments; another each time if not given")
    options = parser.parse_args()
    torch.set_num_threads(1)
    seed = options.seed if options.seed is not None else random.randrange(10**6)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        # Once here, so that the children find everything imported.
        train(config(budget__steps=2), data(), Path(folder) / "warm-up")
        start = time.monotonic()
        finish(Path(folder) / "whole")
        seconds = time.monotonic() - start
        generator = random.Random(seed)
        killed = at_random_moments(Path(folder) / "random", options.kills, seconds, generator)
        finish(Path(folder) / "random")
        operations = at_file_operations(Path(folder) / "operations", options.every, generator)
        finish(Path(folder) / "operations")
        whole, *others = (result(Path(folder) / name) for name in ("whole", "random", "operations"))
        for name, other in zip(("random moments", "file operations"), others, strict=True):
            assert other == whole, f"after kills at {name} the training is not the one that was never stopped"
    print(f"{killed} kills at random moments, {operations} at file operations: all bit for bit equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
