"""Writing a translation: what may come next after each beginning, and one step of it with what is known already.

The probabilities are designed, so that a search can be followed with a pencil. Each row sums to 1.
"""

import numpy as np

from stepformer.examples._self_attention import (
    MESSAGE_FEATURES,
    ROLE_FEATURES,
    SELF_ATTENTION_PARAMS,
    TARGET_EMBEDDING,
    TARGET_WORDS,
    WORD_FEATURES,
)
from stepformer.ops import causal_mask, concat, embed, matmul, row, stack
from stepformer.recording import leaf, record, scope
from stepformer.reference.attention import attend
from stepformer.reference.self_attention import self_attention
from stepformer.trace import Trace

CHOICE_WORDS = ["<pad>", "<bos>", "<eos>", "汤姆", "追逐", "杰瑞", "在", "了"]

HESITATING = {
    "汤姆": {"追逐": 0.5, "在": 0.4, "<eos>": 0.1},
    "汤姆 追逐": {"杰瑞": 0.4, "了": 0.3, "汤姆": 0.3},
    "汤姆 在": {"追逐": 0.9, "<eos>": 0.1},
    "汤姆 在 追逐": {"杰瑞": 0.9, "<eos>": 0.1},
    "汤姆 追逐 了": {"杰瑞": 0.8, "<eos>": 0.2},
    "…": {"<eos>": 0.9, "了": 0.1},
}
"""`Tom is chasing Jerry`, after 汤姆: the model would rather write the action than 在, and is unsure right after it."""

SHORT_OF_BREATH = {
    "汤姆": {"<eos>": 0.3, "在": 0.5, "追逐": 0.2},
    "汤姆 在": {"追逐": 0.5, "<eos>": 0.2, "汤姆": 0.3},
    "汤姆 在 追逐": {"<eos>": 1.0},
    "…": {"<eos>": 0.1, "追逐": 0.45, "杰瑞": 0.45},
}
"""A model that gives the most probability to a sentence that says next to nothing."""

THREE_ROADS = {
    "汤姆": {"追逐": 0.4, "杰瑞": 0.35, "在": 0.25},
    "汤姆 追逐": {"杰瑞": 0.6, "汤姆": 0.4},
    "汤姆 杰瑞": {"追逐": 0.6, "在": 0.4},
    "汤姆 在": {"追逐": 1.0},
    "…": {"<eos>": 1.0},
}
"""A model whose best sentence begins with the third best word."""

WRITTEN = ["<bos>", "汤姆", "追逐", "杰瑞"]
_IDS = np.array([TARGET_WORDS.index(word) for word in WRITTEN])


_COLUMNS = {"key": ("d_k", ROLE_FEATURES), "value": ("d_v", MESSAGE_FEATURES)}


def _known(name: str, words: np.ndarray) -> np.ndarray:
    """Keys or values of some words. The products have two decimals; rounding takes off the binary rest."""
    return np.round(TARGET_EMBEDDING[words] @ SELF_ATTENTION_PARAMS[f"w_{name[0]}.weight"], 2)


def cached_step() -> Trace:
    """Self-attention when the decoder writes: the newest word asks, and what was computed before is not computed again.

    Returns:
        A program with the token leaf tgt (4,), of which only the last row is used, and the leaves cache.key (3, 5) and
        cache.value (3, 7).
    """
    return writing_step(4, cached=True)


def writing_step(n: int, cached: bool) -> Trace:
    """Self-attention of the step that reads word n, with a cache of the words before it or without.

    Formula: with a cache `attend(x_n @ w_q, [K; x_n @ w_k], [V; x_n @ w_v])`; without, causal self-attention over all.

    Args:
        n: number of words that have been read, the newest among them; 2 or more with a cache.
        cached: whether keys and values of the n − 1 words before are given.

    Returns:
        The program. The words of the example come again and again, if there are more than four.
    """
    with record(f"One step of writing, {'with' if cached else 'without'} a cache") as trace:
        words = np.resize(_IDS, n)
        tokens = leaf("tgt", words, "tgt", vocabulary=TARGET_WORDS)
        labels = {"vocabulary": TARGET_WORDS, "d_model": WORD_FEATURES}
        x = embed(tokens, leaf("word_vectors", TARGET_EMBEDDING, ("vocabulary", "d_model"), labels), name="x")
        params = _params()
        if not cached:
            self_attention(x, params, causal_mask(x, x, name="causal_mask"))
            return trace
        kept = {name: leaf(f"cache.{name}", _known(name, words[:-1]), ("tgt", axis), {axis: columns})
                for name, (axis, columns) in _COLUMNS.items()}  # fmt: skip
        with scope("self_attention"):
            newest = stack(row(x, index=n - 1, name="newest_row"), name="newest")
            query = matmul(newest, params["w_q.weight"], name="query")
            new = {name: matmul(newest, params[f"w_{name[0]}.weight"], name=f"new_{name}") for name in kept}
            key, value = (concat(kept[name], new[name], axis=-2, name=name) for name in kept)
            with scope("attention"):
                attend(query, key, value, None)
    return trace


def _params() -> dict[str, np.ndarray]:
    shown = {"w_q.weight": "d_k", "w_k.weight": "d_k", "w_v.weight": "d_v"}
    labels = {"d_k": ROLE_FEATURES, "d_v": MESSAGE_FEATURES}
    return {name: leaf(name, SELF_ATTENTION_PARAMS[name], ("d_model", axis), {axis: labels[axis]})
            for name, axis in shown.items()}  # fmt: skip
