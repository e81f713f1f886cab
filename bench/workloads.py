"""What the benchmarks compute: the running example, 64 tokens × d_model 64, and a program of many steps."""

import numpy as np

from stepformer.examples import KEY, QUERY, VALUE
from stepformer.examples import attention as toy_attention
from stepformer.examples import transformer as whole_transformer
from stepformer.ops import add, causal_mask, layer_norm, linear, relu
from stepformer.recording import leaf, record, scope
from stepformer.reference.attention import scaled_dot_product_attention
from stepformer.reference.multi_head_attention import multi_head_attention
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


def many_steps(n_layers: int = 11) -> Trace:
    """Return layers one after the other: about 240 steps in nested scopes, with the matrices of a whole toy model.

    Three words, d_model 10, two heads, d_ff 14, as the chapters have them; the numbers are draws.
    """
    generator = np.random.default_rng(1)

    def given(name: str, *sizes: int) -> np.ndarray:
        axes = [{3: "src", 10: "d_model", 14: "d_ff"}[size] for size in sizes]
        return leaf(name, np.round(generator.normal(size=sizes), 2), axes)

    def weights(path: str, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
        return given(f"{path}.weight", rows, columns), given(f"{path}.bias", columns)

    def normed(path: str, x: np.ndarray) -> np.ndarray:
        with scope(path.rpartition(".")[2]):
            return layer_norm(x, given(f"{path}.gain", 10), given(f"{path}.bias", 10), name="output")

    with record(f"{n_layers} layers") as trace, scope("encoder"):
        x = given("query", 3, 10)
        mask = causal_mask(x, x, name="mask")
        for i in range(n_layers):
            path = f"encoder.layers.{i}"
            params = {}
            for name in ("w_q", "w_k", "w_v", "w_o"):
                params[f"{name}.weight"], params[f"{name}.bias"] = weights(f"{path}.self_attention.{name}", 10, 10)
            first, second = weights(f"{path}.feed_forward.w_1", 10, 14), weights(f"{path}.feed_forward.w_2", 14, 10)
            with scope(f"layers.{i}"):
                with scope("self_attention"):
                    attended = multi_head_attention(x, x, x, params, n_heads=2, mask=mask).output
                x = normed(f"{path}.self_attention_norm", add(x, attended, name="added"))
                with scope("feed_forward"):
                    hidden = relu(linear(x, *first, name="projected"), name="hidden")
                    forwarded = linear(hidden, *second, name="output")
                x = normed(f"{path}.feed_forward_norm", add(x, forwarded, name="added_again"))
    return trace


def sixteen_heads(n_tokens: int = 12, d_model: int = 64) -> Trace:
    """Return multi-head self-attention of 16 heads: tensors of three axes, projections of d_model × d_model."""
    generator = np.random.default_rng(2)

    def given(name: str, *sizes: int) -> np.ndarray:
        axes = ["src" if size == n_tokens else "d_model" for size in sizes]
        return leaf(name, np.round(generator.normal(size=sizes) / np.sqrt(sizes[-1]), 3), axes)

    with record("16 heads") as trace:
        x = given("query", n_tokens, d_model)
        params = {}
        for name in ("w_q", "w_k", "w_v", "w_o"):
            params[f"{name}.weight"] = given(f"{name}.weight", d_model, d_model)
            params[f"{name}.bias"] = given(f"{name}.bias", d_model)
        multi_head_attention(x, x, x, params, n_heads=16)
    return trace


def programs() -> dict[str, Trace]:
    """Return attention on both sizes, 16 heads, programs of 254 and of 507 steps, and the whole Transformer."""
    with record("64 tokens, 64 wide") as trace:
        attention_of(wide())
    return {"toy": toy_attention(), "64x64": trace, "sixteen_heads": sixteen_heads(), "many": many_steps(),
            "very_many": many_steps(22), "transformer": whole_transformer()}  # fmt: skip
