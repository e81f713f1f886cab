"""A training that takes a few milliseconds a step: reversing short words of five letters."""

import itertools

import torch

from stepformer.data.tokenizer import WordTokenizer
from stepformer.train import Config, TrainingData

LETTERS = "abcde"

TABLES = {
    "title": "reversing",
    "model": {"kind": "transformer", "d_model": 8, "n_heads": 2, "n_layers": 1, "d_ff": 12, "max_len": 10},
    "data": {"batch_size": 16},
    "optimiser": {"lr": 0.01, "clip": 1.0},
    "schedule": {"kind": "linear", "warmup": 2},
    "regularisation": {"dropout": 0.1, "label_smoothing": 0.1, "average": 2, "average_every": 3},
    "budget": {"steps": 12, "dev_every": 5, "checkpoint_every": 4},
}
GRU = {"model": {"kind": "gru", "d_embedding": 6, "d_hidden": 8}, "regularisation": {"dropout": 0.0}}


def config(**settings) -> Config:
    """The configuration above with some settings changed, such as `budget__steps=3`."""
    return Config.from_dict(TABLES).with_settings({name.replace("__", "."): x for name, x in settings.items()})


def config_of(tables) -> Config:
    """The configuration above with some settings of some sections changed; the section model is replaced."""
    both = dict(TABLES)
    for name, value in tables.items():
        merge = name != "model" and isinstance(value, dict)
        both[name] = TABLES.get(name, {}) | value if merge else value
    return Config.from_dict(both)


def data(n_train: int = 100, n_dev: int = 20) -> TrainingData:
    """All words of one to three letters, in an order without pattern; the first ones to measure on."""
    words = [word for n in (1, 2, 3) for word in itertools.product(LETTERS, repeat=n)]
    order = torch.randperm(len(words), generator=torch.Generator().manual_seed(0)).tolist()
    tokenizer = WordTokenizer.learn([list(LETTERS)], "en")
    pairs = [(tokenizer.ids(words[k]), tokenizer.ids(words[k][::-1])) for k in order]
    return TrainingData(tokenizer, tokenizer, pairs[n_dev : n_dev + n_train], pairs[:n_dev], "words", "MIT")
