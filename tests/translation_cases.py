"""Small models with weights that nobody trained, for tests of what runs a model: every kind of Transformer there is.

They translate nothing, but they write different words for different sentences, and now and then never end.
"""

from pathlib import Path

import pytest
import torch

from stepformer.checkpoint import Stored, read_model, save_model
from stepformer.data.tokenizer import SPECIAL, WordTokenizer
from stepformer.nn import Transformer

ENGLISH = (
    "Tom Jerry chases chase cat cats The the that is sleeping . ? does n't not 's did old and , chased sang danced Did"
)
CHINESE = "汤姆 杰瑞 追逐 猫 那只 的 正在 睡觉 。 ？ 吗 不 老 了 没有"

SHAPES = {
    "pre-norm": {"norm_first": True, "n_layers": 2},
    "post-norm": {},
    "learned positions, tied output, GELU": {
        "positions": "learned", "max_len": 12, "tie_output": True, "activation": "gelu",
    },
}
SMALLEST = "post-norm"
EVERY_SHAPE = [SMALLEST, *(pytest.param(name, marks=pytest.mark.slow) for name in SHAPES if name != SMALLEST)]
"""To parametrise a test: the smallest before every commit, the others with the slow tests."""
SENTENCES = (
    "Tom chases Jerry.",
    "The cat that chased Jerry is sleeping.",
    "tom DOESN'T chase the cats",
    "Does Tom chase Zorro?",
    "and, and the old cat",
    "Jerry",
)


def tokenizers() -> tuple[WordTokenizer, WordTokenizer]:
    """Two small vocabularies."""
    return (
        WordTokenizer([*SPECIAL, *ENGLISH.split()], "en"),
        WordTokenizer([*SPECIAL, *CHINESE.split()], "zh"),
    )


def save_random_model(directory: Path, shape: str = "pre-norm", seed: int = 8, dtype: str = "float16") -> Path:
    """Write the directory of a model of one of `SHAPES`; its weights are large enough to make it choosy."""
    src, tgt = tokenizers()
    settings = {"d_model": 16, "n_heads": 4, "n_layers": 1, "d_ff": 24, "dropout": 0.0, "max_len": 24} | SHAPES[shape]
    model = Transformer(len(src), len(tgt), **settings, generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "weight" in name:
                parameter.mul_(2.5)
    return save_model(directory, model.eval(), src, tgt, {"title": "Nothing learnt", "licence": "MIT"}, dtype)


def random_model(directory: Path, shape: str = "pre-norm", **options) -> Stored:
    """The stored form of one of `SHAPES`."""
    return read_model(save_random_model(directory, shape, **options))
