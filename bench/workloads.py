"""The two sizes that the benchmarks use: the book's running example, and 64 tokens × d_model 64."""

import numpy as np

from stepformer.examples import KEY, QUERY, VALUE
from stepformer.examples import attention as toy_attention
from stepformer.recording import leaf, record
from stepformer.reference.attention import scaled_dot_product_attention
from stepformer.trace import Trace

AXES = {"query": ("tgt", "d_k"), "key": ("src", "d_k"), "value": ("src", "d_v")}


def toy() -> dict[str, np.ndarray]:
    """Return query (4, 5), key (3, 5) and value (3, 7) of the running example."""
    return {"query": QUERY, "key": KEY, "value": VALUE}


def wide() -> dict[str, np.ndarray]:
    """Return query, key and value, each (64, 64), as a program of that size stores them: with three decimals."""
    generator = np.random.default_rng(0)
    return {name: np.round(generator.normal(size=(64, 64)), 3) for name in AXES}


def attention_of(arrays: dict[str, np.ndarray]) -> None:
    """Declare the arrays as leaves and record scaled dot-product attention on them."""
    scaled_dot_product_attention(*(leaf(name, array, AXES[name]) for name, array in arrays.items()))


def programs() -> dict[str, Trace]:
    """Return attention on both sizes as recorded programs."""
    with record("64 tokens, 64 wide") as trace:
        attention_of(wide())
    return {"toy": toy_attention(), "64x64": trace}
