"""What one step of a training computes and holds, beside what the ledger says: FLOPs, what is kept, and the peak."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
import torch
from results import Figure, median, versions, write
from torch.utils.flop_counter import FlopCounterMode

from stepformer.data.tokenizer import SPECIAL, WordTokenizer
from stepformer.train import Config, TrainingData, Workers
from stepformer.train.distributed import ALONE
from stepformer.train.log import Memory
from stepformer.train.trainer import Training
from stepformer.training_ledger import PRESETS, Cost, cost

OURS = PRESETS["small"]  # biases everywhere, as our model is built
CONFIGURATIONS: dict[str, dict[str, int]] = {
    "small": OURS | dict(batch_size=64, n_src=10, n_tgt=11, src_vocab_size=200),
    "long": OURS | dict(d_model=128, d_ff=512, batch_size=16, n_src=48, n_tgt=40, src_vocab_size=300,
                        tgt_vocab_size=500, final_norm=1, fused_attention=1),
    "wide": OURS | dict(d_model=256, n_heads=8, d_ff=1024, n_layers=4, batch_size=8, n_src=25, n_tgt=30,
                        src_vocab_size=8000, share_embeddings=1, tie_output=1, fused_attention=1),
}  # fmt: skip
"""Short sentences in a large batch; long sentences, with norms first; a large vocabulary in one table."""
TURNS = 7


class Measured(NamedTuple):
    """One step as torch sees it.

    Attributes:
        counted: FLOPs of its products, by torch's FLOP counter.
        profiled: FLOPs, by torch's profiler.
        kept: bytes that the forward pass keeps for the backward pass, weights aside.
        between: bytes of weights and of what Adam keeps.
        peak: the most bytes that tensors hold at one moment.
    """

    counted: int
    profiled: int
    kept: int
    between: int
    peak: int


def training(settings: Mapping[str, int], workers: Workers = ALONE) -> Training:
    """Return a training with these settings of the ledger, whose sentences are all equally long.

    Args:
        settings: as the ledger takes them.
        workers: the processes that train.
    """
    sizes = {side: settings.get(f"{side}_vocab_size", settings["src_vocab_size"]) for side in ("src", "tgt")}
    words = {side: WordTokenizer.learn([[f"w{k}" for k in range(size - len(SPECIAL))]], "en")
             for side, size in sizes.items()}  # fmt: skip
    rng = np.random.default_rng(0)
    # <eos> comes to the source, and <bos> to the target.
    lengths = {"src": settings["n_src"], "tgt": settings.get("n_tgt", settings["n_src"])}
    count = 4 * settings["batch_size"]
    draws = [rng.integers(len(SPECIAL), sizes[side], (count, n - 1)) for side, n in lengths.items()]
    pairs = [(src.tolist(), tgt.tolist()) for src, tgt in zip(*draws, strict=True)]
    names = ("d_model", "n_heads", "n_layers", "n_encoder_layers", "n_decoder_layers", "d_ff")
    shape = {name: settings[name] for name in names if name in settings}
    shape |= {name: bool(settings[name]) for name in ("share_embeddings", "tie_output", "final_norm")}
    config = Config.from_dict({
        "model": {"kind": "transformer", **shape, "norm_first": bool(settings["final_norm"])},
        "data": {"batch_size": settings["batch_size"]},
        "optimiser": {"lr": 0.001, "clip": 1.0},
        "schedule": {"kind": "constant", "warmup": 0},
        "regularisation": {"dropout": 0.0, "label_smoothing": 0.1},
        "budget": {"steps": 1000, "dev_every": 1000},
        "compute": {"recompute": bool(settings["recompute"])},
    })  # fmt: skip
    return Training(config, TrainingData(words["src"], words["tgt"], pairs, pairs[:1], "random"), Memory(), workers)


def measured(settings: Mapping[str, int], workers: Workers = ALONE) -> Measured:
    """Train a few steps on one thread, and look at each in another way.

    Args:
        settings: as the ledger takes them.
        workers: the processes that train; this one is looked at.
    """
    one = training(settings, workers)
    steps = one.steps()
    next(steps)  # Adam makes its states in the first
    with FlopCounterMode(display=False) as counter:
        next(steps)
    kept = kept_bytes(one, steps)
    states = [x for state in one._optimiser.state.values() for x in state.values()]
    between = sum(x.nbytes for x in [*one.model.parameters(), *states])
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True, with_flops=True) as profile:
        next(steps)
    profiled = sum(event.flops for event in profile.key_averages())
    # A step first lets the gradients of the one before go, so they are in neither number.
    held = np.cumsum([between, *changes(profile)])
    return Measured(counter.get_total_flops(), profiled, kept, between, int(held.max()))


def kept_bytes(one: Training, steps: Iterator) -> int:
    """Return how many bytes the graph of one step holds, each storage once, and weights not at all.

    Args:
        one: the training.
        steps: its steps.
    """
    weights = {p.untyped_storage().data_ptr() for p in one.model.parameters()}
    storages = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            storages.setdefault(storage.data_ptr(), storage)  # held, so that no other takes its place
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        next(steps)
    return sum(storage.nbytes() for storage in storages.values())


def changes(profile: torch.profiler.profile) -> list[int]:
    """Return what was allocated, and what of it was freed as negative numbers, in the order of time.

    Args:
        profile: with the memory.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    memory = sorted((e for e in events if e.get("name") == "[memory]"), key=lambda e: e["ts"])
    known, sizes = set(), []
    for event in memory:
        address, size = event["args"]["Addr"], event["args"]["Bytes"]
        if size > 0 or address in known:
            sizes.append(size)
        known = known | {address} if size > 0 else known - {address}
    return sizes


def seconds_of_a_step(settings: Mapping[str, int]) -> float:
    """Return the processor time of a step, the median of some.

    Args:
        settings: as the ledger takes them.
    """
    steps = training(settings).steps()
    next(steps)
    taken = []
    for _ in range(TURNS):
        start = process_time()
        next(steps)
        taken.append(process_time() - start)
    return median(taken)


def off(predicted: float, seen: float) -> float:
    """Return by how many percent a prediction is off.

    Args:
        predicted: by the ledger.
        seen: measured.
    """
    return abs(predicted / seen - 1) * 100


def figures_of(name: str, count: Cost, seen: Measured, seconds: float) -> list[Figure]:
    """Return what is reported of a configuration."""
    speed = count.step_flops / seconds / 1e9
    return [
        Figure(f"flops_{name}", f"{name}: FLOPs of a step, off from torch's counter by",
               off(count.step_flops, seen.counted), "%", bar=10),
        Figure(f"profiler_{name}", f"{name}: the same, from torch's profiler", off(count.step_flops, seen.profiled),
               "%", bar=10),
        Figure(f"kept_{name}", f"{name}: bytes kept for the way back, off by", off(count.activations, seen.kept), "%",
               bar=10),
        Figure(f"peak_{name}", f"{name}: most bytes at one moment, off by", off(count.peak, seen.peak), "%", bar=10),
        Figure(f"megabytes_{name}", f"{name}: most bytes at one moment", seen.peak / 1e6, "MB"),
        Figure(f"speed_{name}", f"{name}: what one core computes", speed, "GFLOP/s"),
    ]  # fmt: skip


def main() -> None:
    """Measure all configurations on one thread."""
    torch.set_num_threads(1)
    figures = []
    for name, settings in CONFIGURATIONS.items():
        figures += figures_of(name, cost(settings), measured(settings), seconds_of_a_step(settings))
    how = (
        "One step of stepformer.train on one thread, in three configurations: small (d_model 64, 2 + 2 layers, 64 "
        "pairs of 10 tokens), long (d_model 128, norms first, 16 pairs of 48 and 40 tokens), wide (d_model 256, 4 + 4 "
        "layers, 8 pairs, one table of 8,000 words). FLOPs by torch's FLOP counter and by its profiler; what is kept "
        "by the hooks of torch.autograd; the most at one moment by the profiler's record of memory, with weights and "
        f"the states of Adam. Processor time, the median of {TURNS} steps."
    )
    write("training_cost", figures, versions(["torch"]), how)
    for figure in figures:
        print(f"{figure.what}: {figure.value:.4g} {figure.unit}")


if __name__ == "__main__":
    main()
