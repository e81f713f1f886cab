"""Train a model that comes with the package, and write beside it how it came about.

    python scripts/make_checkpoint.py small

and the same with base, gru_attention or gru, writes `src/stepformer/models/<name>/`:

    model.json, weights.safetensors   the model, float16
    config.toml                       what was asked for: the preset
    log.json                          loss and learning rate of every tenth step, and the measurements on dev
    scores.json                       what it reaches on the test sets, greedily
    snapshots.json                    the attention of five sentences through training, if the model has attention

The preset, the seed and one thread decide every number but the last digits, which depend on the processor. A model that
does not get the sentences of MUST_BE_RIGHT is not written.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

from stepformer.checkpoint import NAMES, SHIPPED, load_model, save_model, write_json
from stepformer.data.grammar import PHENOMENA, corpus
from stepformer.data.pair import Pair
from stepformer.data.tokenizer import BOS, EOS
from stepformer.evaluate.attention import attention_error, cross_attention
from stepformer.nn._layers import writing
from stepformer.train import Config, Observer, bar, load_data, train
from stepformer.translator import Translator
from stepformer.translator_page import EXAMPLES

ROOT = Path(__file__).parents[1]
SNAPSHOTS = (0, 50, 100, 200, 300, 400, 600, 1000, 2000)
"""The steps, and the last one, after which the five sentences are looked at."""
MOST_PROBABLE = 5
"""So many of the next words are kept at each position."""
MUST_BE_RIGHT = (
    *EXAMPLES,
    ("Jerry chases Tom.", "杰瑞追逐汤姆。"),
    ("The cat that Jerry chased is sleeping.", "杰瑞追逐的那只猫正在睡觉。"),
)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Train a model that comes with the package.")
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--out", type=Path, help="another folder than that of the package")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    config = Config.preset(options.name)
    directory = options.out or SHIPPED / options.name
    data = load_data(config.data)
    folder = ROOT / "_build" / "training" / options.name
    snapshots = Snapshots(data, config.budget.steps, folder.with_suffix(".snapshots.json"))
    looking = {"on_step": snapshots.look, "observers": [*bar(), snapshots]} if attends(config) else {"observers": bar()}
    run = train(config, data, folder, resume=folder.exists(), **looking)
    with tempfile.TemporaryDirectory() as folder:
        record = {
            "title": f"stepformer {options.name}",
            "data": data.title,
            "licence": "MIT",
            "steps": run.step,
            "config": config.to_dict(),
        }
        # What is tested is what is shipped: rounded to float16.
        draft = save_model(
            Path(folder) / "model", run.model, data.src_tokenizer, data.tgt_tokenizer, record, dtype="float16"
        )
        if wrong := wrong_sentences(Translator.load(draft)):
            print("\n".join(f"wrong: {source} -> {text}" for source, text in wrong), file=sys.stderr)
            return 1
        scores = scores_of(draft, config)
        save_model(directory, run.model, data.src_tokenizer, data.tgt_tokenizer, record, dtype="float16", replace=True)
    (directory / "config.toml").write_text(config.to_toml(), encoding="utf-8")
    write_json(directory / "log.json", log_of(run.rows))
    write_json(directory / "scores.json", scores)
    if attends(config):
        write_json(directory / "snapshots.json", snapshots.to_json())
    for name, row in scores["test"].items():
        print(f"{name:14} {row['n']:5}  exact {row['exact']:.3f}")
    if "alignment_error" in scores:
        print(f"alignment error, last layer {scores['alignment_error']['last_layer']:.3f}")
    return 0


def attends(config: Config) -> bool:
    """Whether the model looks back at the source: all do but the one with a single vector between its halves."""
    return config.model.kind != "gru"


class Snapshots(Observer):
    """What the five sentences look like after some steps: attention and the next words, as shares of a thousand."""

    def __init__(self, data, steps: int, path: Path) -> None:
        self.path = path  # a training that was stopped goes on, and so do its snapshots
        self.steps = {step for step in SNAPSHOTS if step < steps} | {steps}
        self.words = data.tgt_tokenizer.vocabulary
        self.sentences = EXAMPLES
        self.ids = [
            (data.src_tokenizer.encode(source), data.tgt_tokenizer.encode(target)) for source, target in EXAMPLES
        ]
        self.tokens = [
            (data.src_tokenizer.tokens(source), data.tgt_tokenizer.tokens(target)) for source, target in EXAMPLES
        ]
        self.taken: list[dict] = []

    def started(self, training) -> None:
        """Look at the model that has learnt nothing, or take up what was seen before a training was stopped."""
        if training.step == 0:
            self.look(0, training.model)
        else:
            before = json.loads(self.path.read_text(encoding="utf-8"))["snapshots"]
            self.taken = [one for one in before if one["step"] <= training.step]

    def look(self, step: int, model: torch.nn.Module) -> None:
        """Look at the model after a step, if it is one of those that are kept."""
        if step not in self.steps:
            return
        attention = dict(cross_attention(model, self.ids))
        sentences = []
        for k, (src, tgt) in enumerate(self.ids):
            with writing(model):
                encoded = torch.tensor([[*src, EOS]])
                probabilities = model(encoded, torch.tensor([[BOS, *tgt]]))[0].softmax(-1)
            best = probabilities.topk(MOST_PROBABLE)
            sentences.append(
                {
                    "attention": {name: thousandths(weights) for name, weights in attention[k].items()},
                    "next": [
                        [[self.words[i], thousandths(p)] for i, p in zip(ids, ps, strict=True)]
                        for ids, ps in zip(best.indices.tolist(), best.values.tolist(), strict=True)
                    ],
                }
            )
        self.taken.append({"step": step, "sentences": sentences})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_json(self.path, self.to_json())

    def to_json(self) -> dict:
        """All that was seen."""
        sentences = [
            {"source": source, "target": target, "src": src, "tgt": tgt}
            for (source, target), (src, tgt) in zip(self.sentences, self.tokens, strict=True)
        ]
        return {"format": "stepformer.snapshots/1", "sentences": sentences, "snapshots": self.taken}


def thousandths(x) -> list | int:
    return np.rint(np.asarray(x) * 1000).astype(int).tolist()


def wrong_sentences(translator: Translator) -> list[tuple[str, str]]:
    """The sentences that must be right and are not, with what was written."""
    texts = [one.text for one in translator.translate([source for source, _ in MUST_BE_RIGHT])]
    return [(source, text) for (source, target), text in zip(MUST_BE_RIGHT, texts, strict=True) if text != target]


def splits_of(config: Config) -> dict[str, list[Pair]]:
    """The tests that this training left out: every split of the grammar, and every phenomenon."""
    data = config.data
    phenomena = sorted(PHENOMENA if "all" in data.phenomena else data.phenomena)
    splits = corpus(data.seed, n_train=0, n_dev=0, phenomena=phenomena, clauses=data.clauses)
    return {**splits.test, **{name: splits.test_of(name) for name in phenomena}}


def exact_share(translator: Translator, pairs: list[Pair]) -> float:
    """The share of the pairs that are translated exactly."""
    written = translator.translate([pair.source for pair in pairs])
    return sum(one.text == pair.target for one, pair in zip(written, pairs, strict=True)) / len(pairs)


def scores_of(directory: Path, config: Config) -> dict:
    """Exact match on every test, and the alignment error on the split random if there is attention."""
    translator, tests = Translator.load(directory), splits_of(config)
    exact = {
        name: {"n": len(pairs), "exact": round(exact_share(translator, pairs), 4)} for name, pairs in tests.items()
    }
    if not attends(config):
        return {"test": exact}
    loaded, pairs = load_model(directory), tests["random"]
    ids = [(loaded.src_tokenizer.encode(p.source), loaded.tgt_tokenizer.encode(p.target)) for p in pairs]
    error = attention_error(loaded.model, pairs, ids)
    return {
        "test": exact,
        "alignment_error": {
            "last_layer": round(error.layers[-1].average.rate, 4),
            "all_layers": round(error.average.rate, 4),
            "diagonal": round(error.diagonal.rate, 4),
        },
    }


def log_of(rows: list[dict]) -> dict:
    """Every tenth step, and all measurements."""
    steps = [row for row in rows if "loss" in row and (row["step"] % 10 == 0 or row["step"] == 1)]
    dev = [row for row in rows if "dev_loss" in row]
    return {
        "steps": {key: [round(row[key], 6) for row in steps] for key in ("step", "loss", "lr")},
        "dev": {key: [round(row[key], 6) for row in dev] for key in ("step", "dev_loss", "dev_exact", "cpu_seconds")},
    }


if __name__ == "__main__":
    sys.exit(main())
