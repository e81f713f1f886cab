"""Multi-head attention with one positional and one syntactic head, as recorded programs.

Features and heads are named, so that a reader can check by eye who asks whom for what. In a trained model neither have
names.
"""

import numpy as np

from stepformer.ops import add, embed, first_rows, merge_heads, split_heads
from stepformer.recording import leaf, record
from stepformer.reference.multi_head_attention import multi_head_attention as _multi_head_attention
from stepformer.trace import Trace

CAST = ["<pad>", "<bos>", "Tom", "Jerry", "Spike", "chase", "see"]
HEADS = ["positional", "syntactic"]
PLACED_FEATURES = ["being", "action", "cat", "mouse", "dog", "mark", "1st", "2nd", "3rd", "4th"]
ASKED_FEATURES = ["1st", "2nd", "3rd", "4th", "free", "being", "action", "mark", "free", "free"]
TOLD_FEATURES = ["action", "cat", "mouse", "dog", "being", "cat", "mouse", "dog", "being", "action"]
ROLE_OF_A_WORD = [
    "acts", "acted on", "by cat", "by mouse", "by dog", "to cat", "to mouse", "to dog", "beings", "follows",
]  # fmt: skip

CAST_VECTORS = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # <pad>
        [0.0, 0.0, 0.0, 0.0, 0.0, 1.5, 0.0, 0.0, 0.0, 0.0],  # <bos>
        [1.2, 0.1, 1.4, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0],  # Tom
        [1.2, 0.2, 0.0, 1.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # Jerry
        [1.2, 0.1, 0.1, 0.0, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0],  # Spike
        [0.1, 1.5, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # chase
        [0.1, 1.4, 0.0, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0],  # see
    ]
)
"""(7, 10): one row per word; its last four columns are left to the position."""

PLACES = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.1, 0.2, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 1.0, 0.2, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 1.2, 0.2],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 1.3],
    ]
)
"""(4, 10): one row per position, added to the word that stands there."""

MULTI_HEAD_PARAMS = {
    "w_q.weight": np.array(
        [  # columns of the positional head | of the syntactic head
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0],  # a being asks for an action
            [0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0],  # an action asks for beings
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0],  # the mark asks for itself
            [4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # the 1st has nobody before it: itself
            [4.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # the 2nd asks for the 1st
            [0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # the 3rd for the 2nd
            [0.0, 0.0, 3.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # the 4th for the 3rd
        ]
    ),
    "w_q.bias": np.zeros(10),
    "w_k.weight": np.array(
        [
            [0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.1, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.9, 0.0, 0.0],
            [2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 2.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 1.8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        ]
    ),
    "w_k.bias": np.array([0.1, 0.1, 0.1, 0.1, 0.0, 0.2, 0.2, 0.2, 0.0, 0.0]),
    "w_v.weight": np.array(
        [
            [0.0, 0.0, 0.0, 0.0, 1.25, 0.0, 0.0, 0.0, 0.8, 0.0],
            [1.25, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.8],
            [0.0, 1.25, 0.0, 0.0, 0.0, 0.8, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 1.25, 0.0, 0.0, 0.0, 0.8, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 1.25, 0.0, 0.0, 0.0, 0.8, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        ]
    ),
    "w_v.bias": np.zeros(10),
    "w_o.weight": np.array(
        [  # acts, acted on, by cat … dog, to cat … dog, beings, follows
            [-0.8, 0.8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # positional: action
            [0.0, 0.0, 0.8, 0.0, 0.0, -0.8, 0.0, 0.0, 0.0, 0.0],  # cat
            [0.0, 0.0, 0.0, 0.8, 0.0, 0.0, -0.8, 0.0, 0.0, 0.0],  # mouse
            [0.0, 0.0, 0.0, 0.0, 0.8, 0.0, 0.0, -0.8, 0.0, 0.0],  # dog
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.8],  # being
            [0.0, 0.0, 0.0, 0.0, 0.0, 2.5, 0.0, 0.0, 0.0, 0.0],  # syntactic: cat
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.5, 0.0, 0.0, 0.0],  # mouse
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.5, 0.0, 0.0],  # dog
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.5, 0.0],  # being
            [1.25, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # action
        ]
    ),
    "w_o.bias": np.array([0.0, 0.0, 0.0, 0.0, 0.0, -0.1, -0.1, -0.1, -0.2, 0.0]),
}
"""Weights (10, 10) and biases (10,). The values of the positional head are multiplied by 1.25, those of the syntactic
head by 0.8; W^O takes that back, and doubles what the syntactic head halves: the verb has two beings, each with half of
the weight. Its bias takes off small rests."""

COUNTED = np.add.outer(10.0 * np.arange(4), np.arange(6))
"""(4, 6): each number says where it stands: 23 is row 2, column 3."""


def multi_head_attention() -> Trace:
    """Two heads over one sentence: who stands before me, and who has to do with me.

    Returns:
        A program with the token leaf src (4,), word vectors, positions and the eight parameters of the layer.
    """
    with record("Two heads, two questions") as trace:
        tokens = leaf("src", [CAST.index(word) for word in ("<bos>", "Tom", "chase", "Jerry")], "src", vocabulary=CAST)
        labels = {"vocabulary": CAST, "d_model": PLACED_FEATURES}
        vectors = leaf("word_vectors", CAST_VECTORS, ("vocabulary", "d_model"), labels)
        places = leaf("places", PLACES, ("place", "d_model"))
        word = embed(tokens, vectors, name="word")
        x = add(word, first_rows(places, word, name="place"), name="x")
        names = {"q": ASKED_FEATURES, "k": ASKED_FEATURES, "v": TOLD_FEATURES, "o": ROLE_OF_A_WORD}
        asked, told = ("d_model", "asked feature"), ("d_model", "told feature")
        axes = {"q": asked, "k": asked, "v": told, "o": ("told feature", "role feature")}
        params = {}
        for name, array in MULTI_HEAD_PARAMS.items():
            role = name[2]
            shown = axes[role][-array.ndim :]
            params[name] = leaf(name, array, shown, {shown[-1]: names[role]})
        _multi_head_attention(x, x, x, params, n_heads=2)
    trace.labels["head"] = tuple(HEADS)
    return trace


def split_and_merge() -> Trace:
    """Cut the columns of four tokens into three heads, and put them together again.

    Returns:
        A program with the leaf x (4, 6), whose numbers say where they stand.
    """
    with record("Three heads of two columns each") as trace:
        x = leaf("x", COUNTED, ("src", "d_model"), {"src": ["<bos>", "Tom", "chase", "Jerry"]})
        merge_heads(split_heads(x, n_heads=3, name="heads"), name="merged")
    return trace
