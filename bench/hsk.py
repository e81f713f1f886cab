"""Real pairs in ten minutes: ensembles of small Transformers on the HSK sentences, three seeds, on dev and on test.

`python bench/hsk.py` trains what is not yet in `build/hsk` and measures on dev; with `--test` it also reads the test
sentences and writes `bench/hsk.json`. Every setting was chosen on dev. Each seed trains MEMBERS models one after
the other, on one thread, none of which another seed uses; its training time is the sum of theirs, data and
vocabularies included.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from results import ROOT, Figure, versions, write

from stepformer.checkpoint import load_model
from stepformer.data import hsk
from stepformer.decode import Ensemble
from stepformer.evaluate.bleu import from_statistics
from stepformer.evaluate.bootstrap import Interval, bootstrap
from stepformer.evaluate.evaluation import bleu_statistics, score
from stepformer.train import Config, load_data, read_log, train
from stepformer.translator import Translator

SEEDS, MEMBERS = 3, 3
BEAM, LENGTH_PENALTY = 5, float
"""Beams are compared by the mean logarithm of a character."""
LOWEST, SECONDS = 12, 600
"""The bars: the mean BLEU-zh on test, and the training of a seed on one thread."""


def member(config: Config, directory: Path) -> float:
    """Train one model, or find it trained; return its seconds on one thread."""
    if not (directory / "model").exists():
        start = time.process_time()
        data = load_data(config.data)
        seconds = time.process_time() - start
        train(config, data, directory)
        (directory / "data_seconds.txt").write_text(f"{seconds:.2f}\n", encoding="utf-8")
    rows = read_log(directory / "log.jsonl")
    trained = [row["cpu_seconds"] for row in rows if "cpu_seconds" in row]
    return trained[-1] + float((directory / "data_seconds.txt").read_text(encoding="utf-8"))


def ensemble(directories: list[Path]) -> Translator:
    """Ask the models of several trainings together."""
    loaded = [load_model(directory / "model") for directory in directories]
    if any(one[1:3] != loaded[0][1:3] for one in loaded):
        raise SystemExit(f"The models in {directories[0].parent} have different vocabularies; train them anew.")
    return Translator(Ensemble([one.model for one in loaded]), loaded[0].src_tokenizer, loaded[0].tgt_tokenizer)


def mean_bleu(counts: list[np.ndarray]) -> Interval:
    """The mean BLEU of several systems on the same sentences, and its interval: sentences are drawn for all at once."""
    width = counts[0].shape[1]

    def mean(total: np.ndarray) -> float:
        return float(np.mean([from_statistics(total[i : i + width]).score for i in range(0, len(total), width)]))

    return bootstrap(np.concatenate(counts, axis=1), mean, np.random.default_rng(0), 2000)


def measure(systems: list[Translator], pairs: list, split: str) -> list[Figure]:
    """Translate and score, by every system."""
    counts, chrf, alone = [], [], []
    for seed, system in enumerate(systems):
        texts = [pair.source for pair in pairs]
        found = system.translate(texts, beam=BEAM, length_penalty=LENGTH_PENALTY)
        result = score(pairs, [one.text for one in found], np.random.default_rng(0), n_samples=10)
        counts.append(bleu_statistics(result.sentences))
        chrf.append(result.chrf.value)
        alone.append(result.bleu.value)
        print(f"{split}, seed {seed}: BLEU-zh {result.bleu.value:.2f}, chrF {result.chrf.value:.2f}", flush=True)
    mean = mean_bleu(counts)
    bar = LOWEST if split == "test" else None
    ends = f"95 % interval {mean.low:.2f} … {mean.high:.2f}"
    print(f"{split}: BLEU-zh {mean.value:.2f}, {ends}, chrF {np.mean(chrf):.2f}", flush=True)
    return [
        *(Figure(f"{split}_bleu_{k}", f"BLEU-zh on {split}, seed {k}", x, "BLEU") for k, x in enumerate(alone)),
        Figure(f"{split}_bleu", f"BLEU-zh on {split}, mean of {SEEDS} seeds", mean.value, "BLEU", bar, at_least=True),
        Figure(f"{split}_bleu_low", f"BLEU-zh on {split}, lower end of the 95 % interval", mean.low, "BLEU"),
        Figure(f"{split}_bleu_high", f"BLEU-zh on {split}, upper end of the 95 % interval", mean.high, "BLEU"),
        Figure(f"{split}_chrf", f"chrF on {split}, mean of {len(systems)} seeds", float(np.mean(chrf)), "chrF"),
        Figure(f"{split}_pairs", f"pairs of {split}", len(pairs), "pairs"),
    ]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, default=ROOT / "build" / "hsk", help="where the models are kept")
    parser.add_argument("--test", action="store_true", help="read the test sentences and write bench/hsk.json")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    preset = Config.preset("hsk")
    systems, seconds = [], []
    for seed in range(SEEDS):
        seeds = range(seed, SEEDS * MEMBERS, SEEDS)
        folders = [options.directory / f"model-{k}" for k in seeds]
        configs = [preset.with_settings({"seed": k}) for k in seeds]
        seconds.append(sum(member(config, folder) for config, folder in zip(configs, folders, strict=True)))
        print(f"seed {seed}: {seconds[-1]:.0f} seconds of one thread", flush=True)
        systems.append(ensemble(folders))
    splits = hsk.splits()
    figures = measure(systems, splits.dev, "dev")
    if options.test:
        slowest = Figure("train_seconds", "training of the slowest seed, one thread", max(seconds), "s", bar=SECONDS)
        figures = [*measure(systems, splits.test, "test"), *figures, slowest]
        how = (
            f"{MEMBERS} models of preset hsk a seed, {preset.budget.steps} steps each, their probabilities averaged, "
            f"beam {BEAM}. Everything was chosen on dev; the interval is that of the mean, {len(splits.test)} "
            "sentences drawn 2,000 times. Time is processor time of one thread."
        )
        write("hsk", figures, versions(["torch", "tokenizers", "sacrebleu", "hsk-sentences-audio"]), how)


if __name__ == "__main__":
    main()
