"""How far the attention of the base model is from the links of the grammar: alignment error, three seeds.

`python bench/alignment.py` trains what is not yet in `build/alignment`, a quarter of an hour of one thread for a seed,
and measures. Seed 0 is the model of the package, as long as it was trained with the settings of the preset.
"""

import argparse
from pathlib import Path

import torch
from results import ROOT, Figure, versions, write

from stepformer.checkpoint import SHIPPED, Loaded, load_model
from stepformer.data.grammar import corpus
from stepformer.evaluate.attention import AttentionError, attention_error
from stepformer.train import Config, load_data, train

SEEDS = (0, 1, 2)
BAR = 0.06
"""Alignment error of the last layer, its heads averaged, the worst of the seeds."""


def shipped(config: Config) -> Loaded | None:
    """Return the model of the package, or None if it was not trained with these settings, seed included."""
    found = load_model(SHIPPED / "base")
    same = found.record["config"] == config.to_dict() and found.record["steps"] == config.budget.steps
    return found if same else None


def trained(config: Config, directory: Path) -> Loaded:
    """Train a model, go on with a training that was stopped, or find the model trained."""
    if not (directory / "model").exists():
        train(config, load_data(config.data), directory, resume=directory.exists())
    return load_model(directory / "model")


def error_of(found: Loaded, config: Config) -> AttentionError:
    """Measure on the pairs of `scores.json`: the split random of the grammar, which no training has seen."""
    pairs = corpus(config.data.seed, n_train=0, n_dev=0, clauses=config.data.clauses).test["random"]
    ids = [(found.src_tokenizer.encode(pair.source), found.tgt_tokenizer.encode(pair.target)) for pair in pairs]
    return attention_error(found.model, pairs, ids)


def figures_of(errors: list[AttentionError]) -> list[Figure]:
    """State the worst of the seeds against the bar, and beside it each seed, other layers and single heads."""
    last = [error.layers[-1].average.rate for error in errors]
    n_layers = len(errors[0].layers)
    heads = [[head.rate for layer in error.layers for head in layer.heads] for error in errors]
    return [
        Figure("last_layer", "last layer, heads averaged, the worst of three seeds", max(last), "", BAR),
        *(Figure(f"last_layer_{k}", f"last layer, heads averaged, seed {k}", x, "") for k, x in enumerate(last)),
        *(
            Figure(f"layer_{i + 1}", f"layer {i + 1}, heads averaged, the worst of three seeds",
                   max(error.layers[i].average.rate for error in errors), "")
            for i in range(n_layers - 1)
        ),
        Figure("all_layers", "all heads averaged, the worst of three seeds", max(e.average.rate for e in errors), ""),
        Figure("best_head", "the best single head, the worst of three seeds", max(map(min, heads)), ""),
        Figure("worst_head", "the worst single head of any seed", max(map(max, heads)), ""),
        Figure("diagonal", "a diagonal that knows no words", errors[0].diagonal.rate, ""),
    ]  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, default=ROOT / "build" / "alignment", help="where models are kept")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    preset, errors = Config.preset("base"), []
    for seed in SEEDS:
        config = preset.with_settings({"seed": seed})
        errors.append(error_of(shipped(config) or trained(config, options.directory / f"seed-{seed}"), config))
        print(f"seed {seed}: last layer {errors[-1].layers[-1].average.rate:.4f}", flush=True)
        for layer in errors[-1].layers:
            print(f"  {layer.name}: " + " ".join(f"{head.rate:.3f}" for head in layer.heads), flush=True)
    how = (
        f"Preset base, {preset.budget.steps} steps, seeds {', '.join(map(str, SEEDS))}, on 1,000 test pairs of the "
        "grammar. Each word of the translation is joined with the word that gets most attention where it is predicted."
    )
    write("alignment", figures_of(errors), versions(["torch", "numpy"]), how)


if __name__ == "__main__":
    main()
