"""Train the machines of the book side by side, and measure on the way how long a sentence each of them can translate.

    python scripts/make_curves.py               everything: trains what is not trained yet, measures, writes
    python scripts/make_curves.py --train gru   one training alone, so that another core can do another one

writes `src/stepformer/models/curves.json`, which `stepformer.evaluate.curves` reads and `models/README.md` describes.
Trainings are kept in `_build/curves/`, and go on where they were stopped. Each of them runs on one thread, and its
learning rate falls to zero at its own end: what a run reaches there is what so much time can buy, and what it reaches
on the way is less than a run that ends there would.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from stepformer.checkpoint import SHIPPED, load_model, write_json
from stepformer.data.pair import Pair
from stepformer.evaluate import scores, test_sets
from stepformer.evaluate.curves import CLAUSES, FILE, FORMAT
from stepformer.evaluate.evaluation import score
from stepformer.train import Config, bar, train
from stepformer.train.state import path_of
from stepformer.translator import Translator

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "bench"))
from results import machine  # noqa: E402  (it lies beside the benchmarks)

N = 200
"""Sentences of each number of clauses."""
BLEU = {"bleu": "value", "low": "low", "high": "high"}
"""The name in the file -> the field of an interval."""


class Recipe(NamedTuple):
    """A preset, how many steps of it, and every how many the model is measured."""

    preset: str
    steps: int
    every: int

    def config(self) -> Config:
        """The preset, with a checkpoint for each moment."""
        kept = {"checkpoint_every": self.every, "keep": self.steps // self.every}
        settings = {"budget.steps": self.steps, **{f"budget.{name}": value for name, value in kept.items()}}
        return Config.preset(self.preset).with_settings(settings)


RECIPES = {
    "small": Recipe("small", 8000, 1000),
    "gru_attention": Recipe("gru_attention", 4800, 600),
    "gru_in_equal_time": Recipe("gru", 3200, 400),
    "gru": Recipe("gru", 14_000, 2000),
}
"""The first three take the same time, on the processor that they were chosen on."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Train the machines of the book, and measure them on the way.")
    parser.add_argument("--train", choices=RECIPES, help="only train this one")
    parser.add_argument("--out", type=Path, default=FILE, help="another file than that of the package")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    for name in [options.train] if options.train else RECIPES:
        trained(name)
    if options.train:
        return 0
    sets = sets_of(Config.preset("small"))
    runs = {name: curve_of(name, sets) for name in RECIPES} | {"base": shipped("base", sets)}
    contents = {
        "format": FORMAT,
        "cpu": machine(),
        "n": N,
        "clauses": CLAUSES,
        "signature": scores.bleu(["汤姆"], ["汤姆"]).signature,
        "runs": runs,
    }
    write_json(options.out, contents)
    for name, run in runs.items():
        last = run["moments"][-1]
        print(f"{name:18} {last['cpu_seconds']:6.0f} s  BLEU {' '.join(f'{x:6.2f}' for x in last['bleu'])}")
    return 0


def trained(name: str) -> Path:
    """The folder of a training that is finished, now or before."""
    folder = ROOT / "_build" / "curves" / name
    train(RECIPES[name].config(), directory=folder, resume=folder.exists(), observers=bar())
    return folder


def sets_of(config: Config) -> list[list[Pair]]:
    """The first sentences of the tests with one clause, two, and so on."""
    record = {"config": config.to_dict()}
    return [test_sets.of_grammar(f"clauses_{n}", record)[:N] for n in CLAUSES]


def curve_of(name: str, sets: list[list[Pair]]) -> dict:
    """All moments of a training."""
    recipe, checkpoints = RECIPES[name], ROOT / "_build" / "curves" / name / "checkpoints"
    moments = []
    for step in range(recipe.every, recipe.steps + 1, recipe.every):
        folder = path_of(checkpoints, step)
        seconds = json.loads((folder / "state.json").read_text(encoding="utf-8"))["cpu_seconds"]
        moments.append(moment(folder, step, seconds, sets))
    return {"preset": recipe.preset, "parameters": parameters(folder), "moments": moments}


def shipped(name: str, sets: list[list[Pair]]) -> dict:
    """The last moment of a model that comes with the package; its log says how long it took."""
    dev = json.loads((SHIPPED / name / "log.json").read_text(encoding="utf-8"))["dev"]
    last = moment(SHIPPED / name, dev["step"][-1], dev["cpu_seconds"][-1], sets)
    return {"preset": name, "parameters": parameters(SHIPPED / name), "moments": [last]}


def moment(folder: Path, step: int, seconds: float, sets: list[list[Pair]]) -> dict:
    """What a model can do, with its weights rounded as they are shipped."""
    translator = Translator.load(folder)
    with torch.no_grad():
        for parameter in translator.model.parameters():
            parameter.copy_(parameter.half())
    rows = [scored(translator, pairs) for pairs in sets]
    return {"step": step, "cpu_seconds": round(seconds, 1), **{name: [row[name] for row in rows] for name in rows[0]}}


def scored(translator: Translator, pairs: list[Pair]) -> dict[str, float]:
    """What is said of sentences with one number of clauses."""
    found = score(pairs, translator.translate([pair.source for pair in pairs]), np.random.default_rng(0))
    as_many = [clauses(one.hypothesis) == clauses(one.reference) for one in found.sentences]
    bleu = {name: round(getattr(found.bleu, field), 2) for name, field in BLEU.items()}
    return {**bleu, "exact": found.exact.value, "as_many": sum(as_many) / len(as_many)}


def clauses(text: str) -> int:
    """How many clauses a Chinese sentence of the grammar has: commas lie between them, and nowhere else."""
    return 1 + text.count("，")


def parameters(folder: Path) -> int:
    """How many numbers a model has learnt."""
    return sum(parameter.numel() for parameter in load_model(folder).model.parameters())


if __name__ == "__main__":
    sys.exit(main())
