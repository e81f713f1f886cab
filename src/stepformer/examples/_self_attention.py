"""Self-attention over words that the reader chooses, as recorded programs.

One table of word vectors and one set of projections serve every sentence. The features are named, so that a reader
can check by eye why *bank* asks for *swim*. Real models have no such names.
"""

import numpy as np

from stepformer.ops import causal_mask, embed, padding_mask
from stepformer.recording import leaf, record
from stepformer.reference.self_attention import self_attention as _self_attention
from stepformer.trace import Trace

WORDS = ["<pad>", "Tom", "chase", "Jerry", "swim", "pay", "bank", "river", "money", "fish", "loan"]
TARGET_WORDS = ["<pad>", "<bos>", "<eos>", "汤姆", "追逐", "杰瑞"]
WORD_FEATURES = ["being", "action", "cat", "mouse", "motion", "water", "money", "place", "unclear", "constant"]
ROLE_FEATURES = ["being", "action", "water", "money", "constant"]
MESSAGE_FEATURES = ["cat", "mouse", "action", "motion", "water", "money", "place"]

EMBEDDING = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5],  # <pad>
        [1.2, 0.1, 1.4, -0.1, 0.3, -0.2, 0.1, 0.0, 0.1, 0.5],  # Tom
        [0.1, 1.5, 0.3, 0.2, 1.3, 0.0, -0.1, 0.1, 0.1, 0.5],  # chase
        [1.1, 0.2, 0.0, 1.3, 0.4, 0.1, 0.1, -0.1, 0.1, 0.5],  # Jerry
        [0.2, 1.3, 0.0, 0.0, 0.9, 1.5, -0.2, 0.2, 0.1, 0.5],  # swim
        [0.1, 1.4, 0.1, -0.1, 0.1, -0.2, 1.4, 0.1, 0.1, 0.5],  # pay
        [-0.1, 0.1, 0.0, 0.0, -0.2, 0.7, 0.7, 1.2, 1.5, 0.5],  # bank
        [-0.1, 0.1, 0.0, 0.1, 0.6, 1.6, -0.1, 0.9, 0.1, 0.5],  # river
        [-0.2, 0.0, 0.0, 0.1, -0.1, -0.1, 1.6, 0.0, 0.2, 0.5],  # money
        [0.9, 0.2, 0.1, 0.1, 0.7, 1.1, 0.0, 0.1, 0.2, 0.5],  # fish
        [0.0, 0.3, 0.1, 0.0, 0.0, -0.2, 1.3, 0.1, 0.1, 0.5],  # loan
    ]
)
"""(11, 10): one row per English word. *bank* is half water, half money, and marked as unclear."""

TARGET_EMBEDDING = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5],  # <pad>
        [0.2, 0.3, 0.0, 0.1, -0.1, 0.1, 0.0, 0.4, 0.2, 0.5],  # <bos>
        [0.1, 0.2, 0.1, 0.0, 0.1, 0.0, 0.1, 0.3, 0.1, 0.5],  # <eos>
        [1.1, 0.2, 1.3, 0.0, 0.2, -0.1, 0.1, 0.1, 0.1, 0.5],  # 汤姆
        [0.2, 1.4, 0.2, 0.3, 1.4, 0.0, 0.0, 0.1, 0.1, 0.5],  # 追逐
        [1.2, 0.1, -0.1, 1.4, 0.3, 0.0, 0.1, 0.0, 0.1, 0.5],  # 杰瑞
    ]
)
"""(6, 10): one row per Chinese word, in the same ten features."""

SELF_ATTENTION_PARAMS = {
    "w_q.weight": np.array(
        [
            [0.2, 1.9, 0.0, 0.0, 0.0],
            [1.8, 0.1, 0.0, 0.0, 0.0],
            [0.0, 0.2, 0.0, 0.0, 0.0],
            [0.0, 0.2, 0.0, 0.0, 0.0],
            [0.1, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.1, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.1, 0.0],
            [0.0, 0.0, 0.1, 0.1, 0.0],
            [0.0, 0.0, 2.4, 2.4, 0.0],
            [0.0, 0.0, 0.0, 0.0, 1.0],
        ]
    ),
    "w_k.weight": np.array(
        [
            [1.5, 0.0, 0.0, 0.0, 0.0],
            [0.0, 1.6, 0.0, 0.0, 0.0],
            [0.1, 0.0, 0.0, 0.0, 0.0],
            [0.1, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.2, 0.0, 0.0, 0.0],
            [0.0, 0.0, 1.5, -0.1, 0.0],
            [0.0, 0.0, -0.1, 1.5, 0.0],
            [-0.1, 0.0, 0.1, 0.1, 0.0],
            [0.0, 0.0, -0.6, -0.6, 0.0],
            [0.0, 0.0, 0.0, 0.0, 1.0],
        ]
    ),
    "w_v.weight": np.array(
        [
            [0.1, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 1.1, 0.1, 0.0, 0.0, 0.0],
            [1.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 1.2, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.1, 1.1, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.1, 1.3, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 1.3, 0.1],
            [0.0, 0.0, 0.0, 0.0, 0.1, 0.0, 1.2],
            [0.0, 0.0, 0.0, 0.0, -0.3, -0.3, 0.0],
            [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1],
        ]
    ),
}
"""(10, 5), (10, 5), (10, 7). Beings ask for an action, actions for beings, what is unclear for water and money."""


def _look_up(name: str, words: list[str], vocabulary: list[str], table: np.ndarray):
    """Declare token ids and word vectors, and look the vectors up: the ids, and x (n, 10)."""
    tokens = leaf(name, np.array([vocabulary.index(word) for word in words]), name, vocabulary=vocabulary)
    labels = {"vocabulary": vocabulary, "d_model": WORD_FEATURES}
    vectors = leaf("word_vectors", table, ("vocabulary", "d_model"), labels)
    return tokens, embed(tokens, vectors, name="x")


def _params():
    shown = {"d_k": ROLE_FEATURES, "d_v": MESSAGE_FEATURES}
    axes = {"w_q.weight": "d_k", "w_k.weight": "d_k", "w_v.weight": "d_v"}
    return {
        name: leaf(name, SELF_ATTENTION_PARAMS[name], ("d_model", axis), {axis: shown[axis]})
        for name, axis in axes.items()
    }


def self_attention() -> Trace:
    """Self-attention: every word of the source sentence asks every word of it.

    Returns:
        A program with the token leaf src (3,), the table of word vectors and three projections.
    """
    with record("Self-attention: every word asks every word") as trace:
        _, x = _look_up("src", ["Tom", "chase", "Jerry"], WORDS, EMBEDDING)
        _self_attention(x, _params())
    return trace


def self_attention_in_context() -> Trace:
    """The same program on a sentence with an ambiguous word: `Jerry swim bank`, later `Jerry pay bank`.

    Returns:
        A program with the token leaf src (3,).
    """
    with record("One word in context") as trace:
        _, x = _look_up("src", ["Jerry", "swim", "bank"], WORDS, EMBEDDING)
        _self_attention(x, _params())
    return trace


def causal_self_attention() -> Trace:
    """Self-attention over the words written so far: each sees itself and what came before.

    Returns:
        A program with the token leaf tgt (4,), whose mask follows its length.
    """
    with record("Self-attention with a causal mask") as trace:
        _, x = _look_up("tgt", ["<bos>", "汤姆", "追逐", "杰瑞"], TARGET_WORDS, TARGET_EMBEDDING)
        allowed = causal_mask(x, x, name="causal_mask")
        _self_attention(x, _params(), allowed)
    return trace


def padded_self_attention() -> Trace:
    """Self-attention over a sentence that was filled up with padding: the mask hides keys, never queries.

    Returns:
        A program with the token leaf src (5,), whose mask follows its words.
    """
    with record("Self-attention with a padding mask") as trace:
        tokens, x = _look_up("src", ["Tom", "chase", "Jerry", "<pad>", "<pad>"], WORDS, EMBEDDING)
        allowed = padding_mask(tokens, pad_id=0, name="padding_mask")
        _self_attention(x, _params(), allowed)
    return trace
