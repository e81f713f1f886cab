"""What a training depends on: warm-up, where the norms stand, how deep the model is, and which kind of model it is."""

import itertools
from typing import Any

import torch
from results import Figure, versions, write

from stepformer.data.grammar import CORE, corpus
from stepformer.data.tokenizer import WordTokenizer
from stepformer.train import Config, Dev, Run, TrainingData, load_data, train

STEPS, WARMUP, RATE = 300, 100, 0.001
"""Of each of the short trainings that compare warm-up, norms and depth."""
GRU = {"kind": "gru_attention", "d_embedding": 128, "d_hidden": 128}
TRIAL = 40
"""Steps of the GRU that tell how many it can do in the time of the Transformer."""
TESTS = ("random", "unseen_pairs", "longer")


def short_trainings(data: TrainingData) -> list[Figure]:
    """Train with and without warm-up, with post-norm and pre-norm, with 2 and with 6 layers on each side."""
    figures = []
    for depth, norm_first, warmup in itertools.product((2, 6), (False, True), (WARMUP, 0)):
        config = Config.preset("core").with_settings({
            "data.batch_size": 32, "model.n_layers": depth, "model.norm_first": norm_first, "schedule.kind": "constant",
            "schedule.warmup": warmup, "optimiser.lr": RATE, "budget.steps": STEPS,
        })  # fmt: skip
        norm = "pre" if norm_first else "post"
        name = f"{norm}_{depth}_{'warm' if warmup else 'cold'}"
        what = f"loss on dev, {norm}-norm, {depth} + {depth} layers, {'with' if warmup else 'without'} warm-up"
        figures.append(Figure(name, what, train(config, data).dev.loss, "nats"))
        print(name, figures[-1].value, flush=True)
    return figures


def kinds(data: TrainingData, tests: dict[str, Dev]) -> list[Figure]:
    """Train the preset, and a GRU with attention for as long: exact match on three tests."""
    preset = Config.preset("core")
    seconds, figures = 0.0, []
    for name, kind in (("transformer", "Transformer"), ("gru", "GRU with attention")):
        config = preset
        if name == "gru":
            tables: dict[str, Any] = preset.to_dict() | {"model": GRU}
            trial = Config.from_dict(tables).with_settings({"budget.steps": TRIAL, "schedule.warmup": TRIAL})
            per_step = seconds_of(train(trial, data)) / TRIAL
            config = Config.from_dict(tables).with_settings({"budget.steps": round(seconds / per_step)})
        run = train(config, data)
        seconds = seconds or seconds_of(run)
        weights = sum(weight.numel() for weight in run.model.parameters())
        figures.append(Figure(f"{name}_seconds", f"processor time of the training, {kind}", seconds_of(run), "s"))
        figures.append(Figure(f"{name}_weights", f"weights, {kind}", weights, ""))
        for test in TESTS:
            exact = 100 * tests[test].measure(run.model).exact
            figures.append(Figure(f"{name}_{test}", f"translated exactly, test {test}, {kind}", exact, "%"))
            print(figures[-1].name, exact, flush=True)
    return figures


def seconds_of(run: Run) -> float:
    """Return the processor time of a training."""
    return [row["cpu_seconds"] for row in run.rows if "cpu_seconds" in row][-1]


def main() -> None:
    """Train ten models on one thread."""
    torch.set_num_threads(1)
    preset = Config.preset("core")
    settings = preset.data
    data = load_data(settings)
    drawn = corpus(settings.seed, n_train=0, phenomena=CORE).test
    tests = {name: Dev(encoded(drawn[name], data.src_tokenizer, data.tgt_tokenizer)) for name in TESTS}
    figures = short_trainings(data) + kinds(data, tests)
    how = (
        f"The core of the grammar, {len(data.train)} pairs, seed 0, one thread. Warm-up: {STEPS} steps of 32 pairs, a "
        f"rate of {RATE} at once or after {WARMUP} steps, everything else as in the preset core. Kinds: the preset "
        f"core, {preset.budget.steps} steps of {preset.data.batch_size} pairs, and a GRU with attention, "
        f"{GRU['d_hidden']} wide in each direction, with the same optimiser, for as much processor time."
    )
    write("training", figures, versions(["torch"]), how)


def encoded(pairs: list, src: WordTokenizer, tgt: WordTokenizer) -> list:
    """Return pairs of the grammar as ids."""
    return [(src.ids(pair.source_tokens), tgt.ids(pair.target_tokens)) for pair in pairs]


if __name__ == "__main__":
    main()
