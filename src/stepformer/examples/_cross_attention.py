"""Cross-attention between a target and a source sentence that the reader chooses, as recorded programs.

The two sides have features of their own, because in a Transformer they come out of different stacks; the projections
translate both into the same five features. All of them have names, so that a reader can check by eye why 追逐 attends
to chase. Real models have no such names.
"""

import numpy as np

from stepformer.ops import embed, padding_mask
from stepformer.recording import leaf, record
from stepformer.reference.attention import scaled_dot_product_attention
from stepformer.reference.cross_attention import cross_attention as _cross_attention
from stepformer.trace import Trace

MEMORY_WORDS = ["<pad>", "Tom", "chase", "Jerry", "run"]
WRITTEN_WORDS = ["<pad>", "<eos>", "汤姆", "追逐", "杰瑞", "跑"]
MEMORY_FEATURES = [
    "being", "action", "cat", "mouse", "motion", "hunting", "speed", "small", "capital", "constant",
]  # fmt: skip
WRITTEN_FEATURES = [
    "verb", "noun", "end", "movement", "hunting", "cat", "mouse", "name", "short", "constant",
]  # fmt: skip
SHARED_FEATURES = ["being", "action", "cat", "mouse", "hunting"]
ANSWER_FEATURES = ["being", "cat", "mouse", "motion", "hunting", "speed", "small"]

MEMORY_TABLE = np.array(
    [
        [0.8, 1.0, 0.5, 0.6, 0.9, 0.6, 1.0, 0.7, 0.4, 0.5],  # <pad>
        [1.3, 0.1, 1.4, 0.2, 0.3, 0.4, 0.3, -0.1, 1.0, 0.5],  # Tom
        [0.2, 1.5, 0.3, 0.2, 1.3, 1.2, 0.9, 0.0, 0.1, 0.5],  # chase
        [1.2, 0.2, 0.1, 1.5, 0.4, 0.1, 0.4, 0.9, 1.0, 0.5],  # Jerry
        [0.1, 1.4, 0.2, 0.0, 1.4, 0.1, 1.1, 0.1, -0.1, 0.5],  # run
    ]
)
"""(5, 10): what an encoder may have left for each English word. The row of padding is nothing that means anything,
and it is not zero: an encoder computes it like any other."""

WRITTEN_TABLE = np.array(
    [
        [0.3, 0.2, 0.4, 0.1, 0.1, 0.2, 0.1, 0.2, 0.3, 0.5],  # <pad>
        [0.1, 0.1, 1.5, 0.1, 0.0, 0.1, 0.1, 0.0, 0.1, 0.5],  # <eos>
        [0.1, 1.3, 0.0, 0.1, 0.2, 1.4, -0.1, 1.0, 0.0, 0.5],  # 汤姆
        [1.5, 0.1, 0.1, 1.2, 1.3, 0.2, 0.3, -0.1, 0.1, 0.5],  # 追逐
        [0.2, 1.2, 0.3, 0.2, 0.1, 0.1, 1.5, 1.0, 0.0, 0.5],  # 杰瑞
        [1.4, 0.0, 0.2, 1.4, 0.1, 0.1, 0.0, 0.1, 1.2, 0.5],  # 跑
    ]
)
"""(6, 10): what a decoder may hold just before it writes each Chinese word."""

CROSS_ATTENTION_PARAMS = {
    "w_q.weight": np.array(
        [
            [-0.3, 1.4, 0.0, 0.0, 0.1],
            [0.8, -0.2, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.3, 0.0, 0.0, 0.0],
            [0.0, 0.1, 0.0, 0.0, 0.9],
            [0.2, 0.0, 1.5, -0.1, 0.0],
            [0.2, 0.0, -0.1, 1.5, 0.0],
            [0.2, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.1, 0.1, 0.0],
        ]
    ),
    "w_k.weight": np.array(
        [
            [0.9, 0.0, 0.0, 0.0, 0.0],
            [-0.2, 1.3, 0.0, 0.0, 0.1],
            [0.1, 0.0, 1.4, 0.0, 0.0],
            [0.1, 0.0, 0.0, 1.3, -0.1],
            [0.0, 0.3, 0.0, 0.0, 0.0],
            [0.0, 0.1, 0.0, 0.0, 1.0],
            [0.0, 0.1, 0.0, 0.0, 0.0],
            [0.0, 0.0, -0.1, 0.2, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0],
            [0.1, 0.0, 0.0, 0.0, 0.0],
        ]
    ),
    "w_v.weight": np.array(
        [
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [-0.1, 0.0, 0.0, 0.3, 0.0, 0.0, 0.0],
            [0.0, 1.2, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 1.2, 0.0, 0.0, 0.0, 0.1],
            [0.0, 0.0, 0.0, 0.9, 0.0, 0.1, 0.0],
            [0.0, 0.1, 0.0, 0.0, 1.1, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.1, 0.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.1],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1],
        ]
    ),
}
"""(10, 5), (10, 5), (10, 7). W^Q reads what the target side holds, W^K and W^V read the memory."""

CHARACTERS = ["水", "课"]
ENGLISH = ["an", "easy", "course"]
ASKED_FEATURES = ["quality", "thing", "teaching", "constant"]
VOTES = ["water", "easy", "course"]

EASY_QUERY = np.array([[0.3, 0.2, 0.1, 0.4], [2.0, 0.1, 0.1, 0.4], [0.2, 1.9, 1.5, 0.4]])
"""(3, 4): one query per English word."""
CHARACTER_KEYS = np.array([[1.3, 0.4, 0.1, 0.5], [0.5, 1.4, 1.2, 0.5]])
"""(2, 4): one key per character, set by hand so that *easy* takes two parts of 水 and one part of 课."""
CHARACTER_VALUES = np.array([[1.0, 0.8, 0.1], [-1.2, 0.5, 1.4]])
"""(2, 3): how much each character speaks for an English word. 课 speaks against *water*."""


def _ids(words: list[str], vocabulary: list[str]) -> np.ndarray:
    return np.array([vocabulary.index(word) for word in words])


def _look_up(name: str, tokens: np.ndarray) -> np.ndarray:
    """Declare the table of one side, x or memory, and look up the rows of its tokens: (…, n, 10)."""
    side, words, features, rows = {
        "x": ("target", WRITTEN_WORDS, WRITTEN_FEATURES, WRITTEN_TABLE),
        "memory": ("source", MEMORY_WORDS, MEMORY_FEATURES, MEMORY_TABLE),
    }[name]
    axes = (f"{side} vocabulary", f"{side} feature")
    table = leaf(f"{name}_table", rows, axes, {axes[0]: words, axes[1]: features})
    return embed(tokens, table, name=name)


def _target(words: list[str]) -> np.ndarray:
    return _look_up("x", leaf("tgt", _ids(words, WRITTEN_WORDS), "tgt", vocabulary=WRITTEN_WORDS))


def _source(words: list[str]) -> tuple[np.ndarray, np.ndarray]:
    tokens = leaf("src", _ids(words, MEMORY_WORDS), "src", vocabulary=MEMORY_WORDS)
    return tokens, _look_up("memory", tokens)


def _params():
    axes = {
        "w_q.weight": ("target feature", "d_k"),
        "w_k.weight": ("source feature", "d_k"),
        "w_v.weight": ("source feature", "d_v"),
    }
    shown = {"d_k": SHARED_FEATURES, "d_v": ANSWER_FEATURES}
    return {
        name: leaf(name, CROSS_ATTENTION_PARAMS[name], pair, {pair[1]: shown[pair[1]]}) for name, pair in axes.items()
    }


def cross_attention() -> Trace:
    """Cross-attention: each of four target words asks a source sentence of three.

    Returns:
        A program with the token leaves tgt (4,) and src (3,), a table for each side and three projections.
    """
    with record("Cross-attention: each target word asks the source sentence") as trace:
        x = _target(["汤姆", "追逐", "杰瑞", "<eos>"])
        _, memory = _source(["Tom", "chase", "Jerry"])
        _cross_attention(x, memory, _params())
    return trace


def padded_cross_attention() -> Trace:
    """Cross-attention between two padded sentences: the mask hides the padding of the source, and only that.

    Both sides have five tokens, on purpose: with equal lengths no shape gives a mask away that lies the wrong way.

    Returns:
        A program with the token leaves tgt (5,) and src (5,), whose mask follows the words of src.
    """
    with record("Cross-attention with a padding mask on the source") as trace:
        x = _target(["汤姆", "追逐", "杰瑞", "<eos>", "<pad>"])
        tokens, memory = _source(["Tom", "chase", "Jerry", "<pad>", "<pad>"])
        allowed = padding_mask(tokens, pad_id=0, name="memory_mask")
        _cross_attention(x, memory, _params(), allowed)
    return trace


def cross_attention_in_a_batch() -> Trace:
    """Two pairs of sentences at once, of different lengths, each with a mask of its own.

    Returns:
        A program with the leaves tgt (2, 4) and src (2, 3), token ids without labels along the words.
    """
    targets = [["汤姆", "追逐", "杰瑞", "<eos>"], ["汤姆", "跑", "<eos>", "<pad>"]]
    sources = [["Tom", "chase", "Jerry"], ["Tom", "run", "<pad>"]]
    with record("Cross-attention for a batch of two sentences") as trace:
        ids = np.array([_ids(words, WRITTEN_WORDS) for words in targets])
        tgt = leaf("tgt", ids, ("sentence", "tgt"), {"sentence": ["Tom chase Jerry", "Tom run"]})
        src = leaf("src", np.array([_ids(words, MEMORY_WORDS) for words in sources]), ("sentence", "src"))
        x, memory = _look_up("x", tgt), _look_up("memory", src)
        _cross_attention(x, memory, _params(), padding_mask(src, pad_id=0, name="memory_mask"))
    return trace


def easy_course() -> Trace:
    """The other direction: English words ask the two characters of 水课. The alignment is set by hand.

    Returns:
        A program with the token leaf src (2,), queries, and a key and a value for each character.
    """
    with record("The other direction: 水课, “an easy course”") as trace:
        tokens = leaf("src", np.array([0, 1]), "src", vocabulary=CHARACTERS, token_rule="character")
        query = leaf("query", EASY_QUERY, ("tgt", "d_k"), {"tgt": ENGLISH, "d_k": ASKED_FEATURES})
        keys = leaf("key_table", CHARACTER_KEYS, ("vocabulary", "d_k"), {"vocabulary": CHARACTERS})
        values = leaf("value_table", CHARACTER_VALUES, ("vocabulary", "d_v"), {"d_v": VOTES})
        scaled_dot_product_attention(query, embed(tokens, keys, name="key"), embed(tokens, values, name="value"))
    return trace
