"""A step of training of our Transformer beside torch's own of the same size: time, and the memory that it needs."""

import copy
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import torch
from results import BENCH, Figure, fresh_python, median, versions, write
from torch import nn
from torch.nn import functional as F

from stepformer.nn import Transformer, causal_mask

BATCH, LENGTH, VOCAB_SIZE, PAD = 32, 40, 8000, 0
D_MODEL, N_HEADS, N_LAYERS, D_FF, DROPOUT = 256, 8, 4, 1024, 0.1
ROUNDS, WARM_UP = 24, 2
MEGABYTE = 2**20


class TorchTransformer(nn.Module):
    """`torch.nn.Transformer` between copies of our embeddings, positions and output layer, with the same weights."""

    def __init__(self, ours: Transformer) -> None:
        super().__init__()
        ours = copy.deepcopy(ours)
        self.middle = ours.to_torch()
        del ours.encoder, ours.decoder
        self.ends = ours

    def forward(self, src: torch.Tensor, tgt: torch.Tensor) -> torch.Tensor:
        """Return the logits, as ours does."""
        ends = self.ends
        x = ends._input(src, ends.src_embedding, ends.src_positions, 0)
        y = ends._input(tgt, ends.tgt_embedding, ends.tgt_positions, 0)
        src_padding = src == PAD
        states = self.middle(x, y, tgt_mask=~causal_mask(y, y), src_key_padding_mask=src_padding,
                             tgt_key_padding_mask=tgt == PAD, memory_key_padding_mask=src_padding)  # fmt: skip
        return ends.project(states)


def models() -> dict[str, nn.Module]:
    """Return both, with the same weights; torch's has final norms, so ours has them too."""
    ours = Transformer(VOCAB_SIZE, VOCAB_SIZE, D_MODEL, N_HEADS, N_LAYERS, D_FF, DROPOUT, final_norm=True,
                       max_len=LENGTH, generator=torch.Generator().manual_seed(0))  # fmt: skip
    return {"ours": ours, "torch": TorchTransformer(ours)}


def batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return source, shifted target and right answers: random words, half to all of the length, then padding."""
    generator = torch.Generator().manual_seed(1)
    src, tgt = (torch.randint(1, VOCAB_SIZE, (BATCH, n), generator=generator) for n in (LENGTH, LENGTH + 1))
    for tokens in (src, tgt):
        lengths = torch.randint(LENGTH // 2, LENGTH + 1, (BATCH, 1), generator=generator)
        lengths[0] = tokens.shape[1]
        tokens[torch.arange(tokens.shape[1]) >= lengths] = PAD
    return src, tgt[:, :-1], tgt[:, 1:]


class Training:
    """A model, its optimizer and the one batch that it is trained on."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), 1e-4)
        self.batch = batch()

    def step(self) -> None:
        """Forward, backward, Adam."""
        src, tgt, answers = self.batch
        loss = F.cross_entropy(self.model(src, tgt).flatten(0, 1), answers.flatten(), ignore_index=PAD)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def check_that_both_compute_the_same(ours: nn.Module, own: nn.Module) -> None:
    """Compare the logits of the real tokens, without dropout."""
    src, tgt, _ = batch()
    with torch.no_grad():
        logits = [model.eval()(src, tgt)[tgt != PAD] for model in (ours, own)]
    assert torch.allclose(*logits, atol=1e-4)
    for model in (ours, own):
        model.train()


def seconds(trainings: dict[str, Training]) -> dict[str, list[float]]:
    """Return the processor time of each step; who goes first changes from round to round."""
    taken: dict[str, list[float]] = {name: [] for name in trainings}
    for turn in range(WARM_UP + ROUNDS):
        for name in sorted(trainings, reverse=turn % 2 == 1):
            start = time.process_time()
            trainings[name].step()
            if turn >= WARM_UP:
                taken[name].append(time.process_time() - start)
    return taken


def peak_of_tensors(training: Training) -> float:
    """Return by how many MB the memory held by tensors rises during one step, as torch's profiler counts it."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        training.step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    changes = sorted((event["ts"], event["args"]["Bytes"]) for event in events if event.get("name") == "[memory]")
    held = peak = 0
    for _, change in changes:
        held += change
        peak = max(peak, held)
    return peak / MEGABYTE


def peak_of_process(name: str) -> float:
    """Return the largest memory in MB of a new process that trains one of the models for three steps."""
    code = f"import sys; sys.path.insert(0, {str(BENCH)!r}); import transformer_step as t; t.train_alone({name!r})"
    return float(fresh_python(code))


def train_alone(name: str) -> None:
    """Train one model for three steps and print the largest memory that the process held, in MB."""
    torch.set_num_threads(1)
    training = Training(models().pop(name))
    for _ in range(3):
        training.step()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(peak / (MEGABYTE if sys.platform == "darwin" else 1024))


def main() -> None:
    """Measure on one thread."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    # First of all: Linux counts the memory of the process that starts another towards the peak of the other.
    alone = {name: peak_of_process(name) for name in ("ours", "torch")}
    both = models()
    check_that_both_compute_the_same(both["ours"], both["torch"])
    trainings = {name: Training(model) for name, model in both.items()}
    taken = seconds(trainings)
    ratio = median([a / b for a, b in zip(taken["ours"], taken["torch"], strict=True)])
    peaks = {name: peak_of_tensors(training) for name, training in trainings.items()}
    times = {name: median(one) for name, one in taken.items()}
    figures = [
        Figure("ratio", "time of a training step, as a multiple of torch's Transformer", ratio, "×", bar=1.0),
        Figure("peak_ratio", "memory of its tensors, likewise", peaks["ours"] / peaks["torch"], "×", bar=1.0),
    ]
    for name, whose in (("ours", "ours"), ("torch", "torch's Transformer")):
        figures += [
            Figure(f"tokens_{name}", f"target tokens a second, {whose}", BATCH * LENGTH / times[name], "tokens/s"),
            Figure(f"step_{name}", f"training step, {whose}", times[name] * 1e3, "ms"),
            Figure(f"peak_{name}", f"peak of the tensors of a step, {whose}", peaks[name], "MB"),
            Figure(f"process_{name}", f"peak of a process that trains, {whose}", alone[name], "MB"),
        ]
    how = (
        f"Forward, backward and Adam; d_model {D_MODEL}, {N_LAYERS} + {N_LAYERS} layers, {N_HEADS} heads, d_ff {D_FF}, "
        f"dropout {DROPOUT}, two vocabularies of {VOCAB_SIZE}, batch {BATCH} × {LENGTH} tokens of which a quarter is "
        "padding; the same weights, embeddings, output layer and batch. Processor time on one thread; the two take "
        f"turns, and the ratio is the median of {ROUNDS} rounds. The peak of the tensors is counted by torch's "
        "profiler, above what the model and Adam hold between steps."
    )
    write("transformer_step", figures, versions(["torch"]), how)


if __name__ == "__main__":
    main()
