"""Training in two processes beside one, with the same batches: how much faster, and how far apart the losses are."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import torch
from results import Figure, median, versions, write

from stepformer.data.tokenizer import WordTokenizer
from stepformer.train import Config, Observer, TrainingData, joined, train

STEPS, WARM_UP, BATCH = 200, 20, 64
D_MODEL, N_HEADS, N_LAYERS, D_FF, VOCAB_SIZE = 128, 4, 2, 512, 300
CONFIG = {
    "model": {"kind": "transformer", "d_model": D_MODEL, "n_heads": N_HEADS, "n_layers": N_LAYERS, "d_ff": D_FF},
    "data": {"batch_size": BATCH},
    "optimiser": {"lr": 0.001, "clip": 1.0},
    "schedule": {"kind": "constant", "warmup": 50},
    "regularisation": {"dropout": 0.0},
    "budget": {"steps": STEPS, "dev_every": STEPS},
}


class Clock(Observer):
    """Notes when each step was done."""

    def __init__(self) -> None:
        self.times, self.tokens, self.losses = [], [], []

    def stepped(self, row: dict) -> None:
        """Note the time, the tokens and the loss.

        Args:
            row: of the log.
        """
        self.times.append(time.perf_counter())
        self.tokens.append(row["tokens"])
        self.losses.append(row["loss"])


def data() -> TrainingData:
    """Return sentences of 4 to 20 words, each to be put the other way round."""
    rng = np.random.default_rng(0)
    words = WordTokenizer.learn([[f"w{k}" for k in range(VOCAB_SIZE)]], "en")
    sentences = [rng.integers(4, VOCAB_SIZE, rng.integers(4, 21)).tolist() for _ in range(4000)]
    pairs = [(one, one[::-1]) for one in sentences]
    return TrainingData(words, words, pairs[100:], pairs[:100], "reversed")


def work(parts: int) -> None:
    """Train as one of the processes; the first prints what it saw.

    Args:
        parts: into how many each batch is cut.
    """
    torch.set_num_threads(1)
    clock = Clock()
    with joined() as workers:
        config = Config.from_dict(CONFIG | {"compute": {"parts": parts}})
        train(config, data(), observers=[clock], workers=workers)
    if workers.is_first:
        seconds = np.diff(clock.times)[WARM_UP:]
        speeds = np.array(clock.tokens[1:])[WARM_UP:] / seconds
        print(json.dumps({"speed": median(speeds.tolist()), "losses": clock.losses}))


def measured(processes: int, parts: int) -> dict:
    """Start the processes and return what the first one saw."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *launcher, __file__, str(parts)], check=True, capture_output=True,
                          text=True, env=environment)  # fmt: skip
    return json.loads(done.stdout)


def main() -> None:
    """Measure one process, one with each batch in two parts, and two."""
    one, in_parts, two = measured(1, 1), measured(1, 2), measured(2, 2)
    apart, from_whole = (
        float(np.abs(np.array(two["losses"]) / np.array(other["losses"]) - 1).max()) for other in (in_parts, one)
    )
    figures = [
        Figure("apart", f"largest relative difference of the losses of {STEPS} steps", apart, "", bar=1e-4),
        Figure("from_whole", "the same, where one process does not cut its batches in two", from_whole, ""),
        Figure("speed_one", "target tokens a second, one process", one["speed"], "tokens/s"),
        Figure("speed_two", "target tokens a second, two processes", two["speed"], "tokens/s"),
        Figure("faster", "two processes, as a multiple of one", two["speed"] / one["speed"], "×"),
    ]
    how = (
        f"Transformer with d_model {D_MODEL}, {N_LAYERS} + {N_LAYERS} layers, d_ff {D_FF}, batches of {BATCH} pairs of "
        "4 to 20 words, no dropout. The same batches by one process and by two on one computer, one thread each, "
        f"joined through gloo. Where the batches are cut alike, so are the sums; elsewhere training makes much of last "
        f"digits. Wall time; the median of {STEPS - WARM_UP - 1} steps. Two need two free cores."
    )
    write("data_parallel", figures, versions(["torch"]), how)
    for figure in figures:
        print(f"{figure.what}: {figure.value:.4g} {figure.unit}".rstrip())


if __name__ == "__main__":
    work(int(sys.argv[1])) if len(sys.argv) > 1 else main()
