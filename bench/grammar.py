"""The small model on the core of the grammar, three seeds on one thread: how often it is wrong, and the time."""

import torch
from results import Figure, versions, write

from stepformer.data.grammar import CORE, corpus
from stepformer.train import Config, Dev, load_data, train

SEEDS = (0, 1, 2)
BARS = {"random": 1, "unseen_pairs": 3, "relative": 5}
"""Sentences that are not exactly right, in percent, the worst of the seeds."""
SECONDS = 120
"""Processor time of a training, data included, the highest of the seeds."""


def main() -> None:
    """Train, test, write."""
    torch.set_num_threads(1)
    config = Config.preset("core")
    data = load_data(config.data)
    splits = corpus(config.data.seed, n_train=0, n_dev=0, phenomena=CORE)
    sets = {"random": splits.test["random"], "unseen_pairs": splits.test["unseen_pairs"],
            "relative": splits.test_of("relative"), "longer": splits.test["longer"]}  # fmt: skip
    encode = data.src_tokenizer.encode, data.tgt_tokenizer.encode
    tests = {name: Dev([(encode[0](p.source), encode[1](p.target)) for p in pairs]) for name, pairs in sets.items()}
    wrong: dict[str, list[float]] = {name: [] for name in tests}
    seconds = []
    for seed in SEEDS:
        run = train(config.with_settings({"seed": seed}), data)
        seconds.append([row["cpu_seconds"] for row in run.rows if "cpu_seconds" in row][-1])
        for name, test in tests.items():
            wrong[name].append(100 * (1 - test.measure(run.model).exact))
        print(f"seed {seed}: {seconds[-1]:.0f} s, " + ", ".join(f"{name} {x[-1]:.1f}" for name, x in wrong.items()))
    figures = [
        Figure(
            name, f"not exactly right, {name.replace('_', ' ')}, the worst of three seeds", max(x), "%", BARS.get(name)
        )
        for name, x in wrong.items()
    ]
    figures.append(Figure("seconds", "processor time of a training, the longest", max(seconds), "s", SECONDS))
    length = f"{config.budget.steps} steps of {config.data.batch_size} pairs"
    how = f"Preset core, {length}, seeds {', '.join(map(str, SEEDS))}, one thread."
    write("grammar", figures, versions(["torch", "numpy"]), how)


if __name__ == "__main__":
    main()
