"""Large models in small programs: work shared among devices, attention in tiles, and what came after 2017.

Devices are scopes of one program here, so that a reader can see what each of them holds and what they tell each other.
The numbers are designed; features and units have names.
"""

import numpy as np

from stepformer.examples._feed_forward_and_convolution import EXPANSION_PARAMS, FOUR_VECTORS, FOUR_WORDS, HIDDEN_UNITS
from stepformer.examples._gradients import NORM_FEATURES, NORM_INPUT, NORM_PARAMS
from stepformer.examples._what_you_need import FIVE_FEATURES, THREE_VECTORS
from stepformer.ops import (
    add,
    causal_mask,
    concat,
    count_rows,
    divide,
    embed,
    first_rows,
    matmul,
    multiply,
    padding_mask,
    relu,
    softmax,
    subtract,
    transpose,
)
from stepformer.ops import linear as _linear
from stepformer.recording import leaf, record, scope
from stepformer.reference.attention import attend
from stepformer.reference.feed_forward import feed_forward
from stepformer.reference.feed_forward import gated_feed_forward as _gated_feed_forward
from stepformer.reference.flash_attention import flash_attention
from stepformer.reference.grouped_query_attention import grouped_query_attention
from stepformer.reference.normalization import rms_norm as _rms_norm
from stepformer.reference.self_attention import self_attention
from stepformer.trace import Trace

# ---- one batch, several devices -------------------------------------------------------------------------------------

SHARES = (3, 1)
"""How many of the four words each worker has."""
KINDS = ["a being", "a deed"]
WANTED = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
"""(4, 2): what the linear layer is to say of Tom, chase, Jerry and sleep."""
KIND_WEIGHT = np.array([[0.3, 0.1], [0.2, 0.4], [0.1, -0.2], [-0.1, 0.2], [0.2, 0.1]])
"""(5, 2): the weights before the step; the same on every worker."""


def data_parallel() -> Trace:
    """One linear layer, half the squared error, and a batch of four words that two workers share: three and one.

    Returns:
        A program with the leaves weight (5, 2), worker_1.x (3, 5), worker_2.x (1, 5), and what is wanted of each.
    """
    with record("Data parallelism: two workers, one batch, one gradient") as trace:
        weight = leaf("weight", KIND_WEIGHT, ("feature", "kind"), {"feature": FIVE_FEATURES, "kind": KINDS})
        given, shares = [], []
        for k, rows in enumerate(np.split(np.arange(4), [SHARES[0]]), start=1):
            with scope(f"worker_{k}"):
                word = f"word of worker {k}"
                labels = {word: [FOUR_WORDS[i] for i in rows]}
                x = leaf(f"worker_{k}.x", FOUR_VECTORS[rows], (word, "feature"), labels)
                wanted = leaf(f"worker_{k}.wanted", WANTED[rows], (word, "kind"))
                gradient, n = _mean_gradient(x, wanted, weight)
                shares.append((multiply(gradient, n, name="share"), n))
                given.append((x, wanted))
        with scope("all_reduce"):
            (one, n_1), (two, n_2) = shares
            gradient = divide(add(one, two, name="sum"), add(n_1, n_2, name="rows"), name="gradient")
        with scope("whole"):
            x, wanted = (concat(*parts, axis=-2, name=name, axes=("word", axis))
                         for parts, name, axis in zip(zip(*given, strict=True), ("x", "wanted"), ("feature", "kind"),
                                                      strict=True))  # fmt: skip
            expected, _ = _mean_gradient(x, wanted, weight)
        subtract(gradient, expected, name="difference")
    return trace


def _mean_gradient(x: np.ndarray, wanted: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The gradient of the mean over some rows of half the squared error, and their number."""
    error = subtract(matmul(x, weight, name="predicted"), wanted, name="error")
    n = count_rows(x, name="rows")
    return divide(matmul(transpose(x, name="x_transposed"), error, name="sum"), n, name="gradient"), n


def tensor_parallel() -> Trace:
    """The feed-forward network of chapter 02 on two devices: four hidden units on one, three on the other.

    Returns:
        A program with the leaves x (3, 5), for each device w_1.weight, w_1.bias and w_2.weight, and w_2.bias.
    """
    cut, params = 4, EXPANSION_PARAMS
    with record("Tensor parallelism: two devices, one feed-forward network") as trace:
        labels = {"src": FOUR_WORDS[:3], "feature": FIVE_FEATURES}
        x = leaf("x", THREE_VECTORS, ("src", "feature"), labels)
        own, partial = [], []
        for k, columns in ((1, slice(cut)), (2, slice(cut, None))):
            unit = f"unit of device {k}"
            labels = {unit: HIDDEN_UNITS[columns]}
            w_1 = leaf(f"device_{k}.w_1.weight", params["w_1.weight"][:, columns], ("feature", unit), labels)
            b_1 = leaf(f"device_{k}.w_1.bias", params["w_1.bias"][columns], (unit,))
            w_2 = leaf(f"device_{k}.w_2.weight", params["w_2.weight"][columns], (unit, "feature"))
            with scope(f"device_{k}"):
                hidden = relu(_linear(x, w_1, b_1, name="expanded"), name="hidden")
                partial.append(matmul(hidden, w_2, name="partial"))
            own.append((w_1, b_1, w_2))
        b_2 = leaf("w_2.bias", params["w_2.bias"], ("feature",))
        with scope("all_reduce"):
            output = add(add(*partial, name="sum"), b_2, name="output")
        with scope("whole"):
            axes = (("feature", "hidden unit"), ("hidden unit",), ("hidden unit", "feature"))
            names, along = ("w_1.weight", "w_1.bias", "w_2.weight"), (-1, -1, -2)
            joined = {name: concat(*parts, axis=axis, name=name, axes=shown)
                      for name, parts, axis, shown in zip(names, zip(*own, strict=True), along, axes, strict=True)
                      }  # fmt: skip
            expected = feed_forward(x, joined | {"w_2.bias": b_2})
        subtract(output, expected, name="difference")
    return trace


def pipeline(n_stages: int, n_micro_batches: int) -> np.ndarray:
    """The timetable of a pipeline: each stage reads a micro-batch when the stage before has passed it on.

    Formula: stage s reads micro-batch k at the time `s + k`; on the way back the order is turned round (Huang et al.
    2019, figure 2). Every step takes as long as any other, forward or back.

    Args:
        n_stages: p, into how many pieces the layers are cut, one for each device.
        n_micro_batches: m, into how many pieces the batch is cut.

    Returns:
        (p, 2 · (m + p − 1)): k in 1 … m where a stage reads micro-batch k, −k on the way back, −∞ where it waits.
    """
    half = np.full((n_stages, n_micro_batches + n_stages - 1), -np.inf)
    for stage in range(n_stages):
        half[stage, stage : stage + n_micro_batches] = np.arange(1, n_micro_batches + 1)
    back = np.where(np.isinf(half), half, -half)[:, ::-1]
    return np.hstack([half, back])


# ---- attention in tiles ---------------------------------------------------------------------------------------------

GARDEN = ["Tom", "chase", "Jerry", "in", "the", "garden"]
GARDEN_QUERY_WORDS = ["追逐", "花园"]
GARDEN_QUERY = np.array([[0.5, 3.0, 0.0, 0.0], [0.0, 0.2, 4.0, 0.5]])
"""(2, 4): 追逐 asks for a deed, 花园 for a place."""
GARDEN_KEY = np.array(
    [
        [1.2, 0.1, 0.0, 0.0],  # Tom
        [0.1, 1.4, 0.0, 0.0],  # chase
        [1.1, 0.0, 0.1, 0.0],  # Jerry
        [0.0, 0.1, 0.6, 1.0],  # in
        [0.1, 0.0, 0.2, 1.2],  # the
        [0.1, 0.0, 1.5, 0.1],  # garden
    ]
)
GARDEN_VALUE = np.array(
    [[1.0, 0.1, 0.0], [0.1, 1.0, 0.0], [0.8, 0.0, 0.2], [0.0, 0.1, 0.5], [0.1, 0.0, 0.1], [0.0, 0.2, 1.0]]
)
"""(6, 4) and (6, 3)."""


def attention_in_tiles() -> Trace:
    """Two queries read six keys in three tiles of two, and keep a maximum, a sum and an output on the way.

    Returns:
        A program with the leaves query (2, 4), and key (2, 4) and value (2, 3) of each tile.
    """
    with record("Attention in tiles, as FlashAttention computes it") as trace:
        labels = {"tgt": GARDEN_QUERY_WORDS, "d_k": ["being", "deed", "place", "small word"]}
        query = leaf("query", GARDEN_QUERY, ("tgt", "d_k"), labels)
        keys, values = [], []
        for k in range(3):
            rows, words = slice(2 * k, 2 * k + 2), f"tile {k + 1}"
            keys.append(leaf(f"tile_{k + 1}.key", GARDEN_KEY[rows], (words, "d_k"), {words: GARDEN[rows]}))
            labels = {"d_v": ["who", "what", "where"]}
            values.append(leaf(f"tile_{k + 1}.value", GARDEN_VALUE[rows], (words, "d_v"), labels))
        output = flash_attention(query, keys, values)
        with scope("at_once"):
            key, value = (concat(*parts, axis=-2, name=name, axes=("src", axis))
                          for parts, name, axis in ((keys, "key", "d_k"), (values, "value", "d_v")))  # fmt: skip
            expected = attend(query, key, value, None).output
        subtract(output, expected, name="difference")
    return trace


# ---- layers after 2017 ----------------------------------------------------------------------------------------------


def rms_norm() -> Trace:
    """RMS norm of three rows, the same ones that chapter 11 gives to a layer norm.

    Returns:
        A program with the leaves x (3, 5) and gain (5,).
    """
    with record("RMS norm: divide each row by its size") as trace:
        x = leaf("x", NORM_INPUT, ("word", "feature"), {"word": FOUR_WORDS[:3], "feature": NORM_FEATURES})
        _rms_norm(x, {"gain": leaf("gain", NORM_PARAMS["gain"], ("feature",))})
    return trace


GATE_UNITS = ["cat", "mouse", "deed", "being"]
GATED_PARAMS = {
    "w_1.weight": np.array(
        [  # how far each unit opens
            [0.0, 0.0, -3.0, 3.0],  # being
            [0.0, 0.0, 3.0, -3.0],  # action
            [3.0, -3.0, 0.0, 0.0],  # cat
            [-3.0, 3.0, 0.0, 0.0],  # mouse
            [0.0, 0.0, 0.5, 0.0],  # motion
        ]
    ),
    "w_3.weight": np.array(
        [  # what goes through it
            [0.2, 0.4, 0.0, 0.3],
            [0.0, 0.0, 0.3, 0.0],
            [0.3, 0.0, 0.0, 0.1],
            [0.0, 0.2, 0.0, 0.1],
            [0.1, 0.1, 0.5, 0.2],
        ]
    ),
    "w_2.weight": np.array(
        [
            [0.0, 0.5, 0.2, 0.0, 0.4],  # a cat hunts
            [0.1, -0.2, 0.0, 0.3, 0.6],  # a mouse runs
            [-0.2, 0.3, 0.0, 0.0, 0.5],
            [0.3, -0.1, 0.1, 0.0, 0.0],
        ]
    ),
}
"""(5, 4), (5, 4) and (4, 5)."""


def gated_feed_forward() -> Trace:
    """SwiGLU on three words: four units that open for a cat, a mouse, a deed, a being.

    Returns:
        A program with the leaves x (3, 5), w_1.weight (5, 4), w_3.weight (5, 4) and w_2.weight (4, 5).
    """
    with record("A feed-forward network with a gate: SwiGLU") as trace:
        shown = {"feature": FIVE_FEATURES, "unit": GATE_UNITS}
        x = leaf("x", THREE_VECTORS, ("src", "feature"), {"src": FOUR_WORDS[:3], "feature": FIVE_FEATURES})
        axes = {"w_1.weight": ("feature", "unit"), "w_3.weight": ("feature", "unit"), "w_2.weight": ("unit", "feature")}
        _gated_feed_forward(
            x, {name: leaf(name, GATED_PARAMS[name], names, {axis: shown[axis] for axis in names})
                for name, names in axes.items()}
        )  # fmt: skip
    return trace


ASKING_HEADS = ["beings", "the deed", "the cat", "the mouse"]
GROUPED_PARAMS = {
    "w_q.weight": np.array(
        [  # two columns for each of the four heads
            [3.0, 0.0, 0.0, 3.0, 3.0, 0.0, 0.0, 3.0],  # being
            [3.0, 0.0, 0.0, 3.0, 3.0, 0.0, 0.0, 3.0],  # action
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # cat
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # mouse
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # motion
        ]
    ),
    "w_q.bias": np.zeros(8),
    "w_k.weight": np.array(
        [  # being, action | cat, mouse
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 1.5, 0.0],
            [0.0, 0.0, 0.0, 1.5],
            [0.0, 0.0, 0.0, 0.0],
        ]
    ),
    "w_k.bias": np.zeros(4),
    "w_v.weight": np.array(
        [  # being, motion | cat, mouse
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 1.0],
            [0.0, 1.0, 0.0, 0.0],
        ]
    ),
    "w_v.bias": np.zeros(4),
    "w_o.weight": np.array(
        [
            [0.8, 0.0, 0.0, 0.0, 0.0],  # of the head that asks for beings
            [0.0, 0.0, 0.0, 0.0, 0.2],
            [0.0, -0.2, 0.0, 0.0, 0.0],  # of the head that asks for the deed
            [0.0, 0.5, 0.0, 0.0, 1.0],
            [0.0, 0.0, 1.0, 0.0, 0.0],  # of the head that asks for the cat
            [0.0, 0.0, 0.0, 0.1, 0.0],
            [0.0, 0.0, 0.1, 0.0, 0.0],  # of the head that asks for the mouse
            [0.0, 0.0, 0.0, 1.0, 0.0],
        ]
    ),
    "w_o.bias": np.array([0.0, 0.1, 0.0, 0.0, 0.0]),
}
"""Weights (5, 8), (5, 4), (5, 4), (8, 5) and their biases: four heads ask, in two groups."""


def grouped_queries() -> Trace:
    """Four heads in two groups: in the first they ask about being and deed, in the second about cat and mouse.

    Returns:
        A program with the leaves x (3, 5) and the eight parameters of the layer.
    """
    with record("Grouped-query attention: four heads, two pairs of keys and values") as trace:
        labels = {"src": FOUR_WORDS[:3], "feature": FIVE_FEATURES}
        x = leaf("x", THREE_VECTORS, ("src", "feature"), labels)
        columns = {"w_q": ("feature", "d_k"), "w_k": ("feature", "d_k"), "w_v": ("feature", "d_v")}
        columns["w_o"] = ("d_v", "feature")
        params = {}
        for name, axes in columns.items():
            params[f"{name}.weight"] = leaf(f"{name}.weight", GROUPED_PARAMS[f"{name}.weight"], axes)
            params[f"{name}.bias"] = leaf(f"{name}.bias", GROUPED_PARAMS[f"{name}.bias"], axes[1:])
        grouped_query_attention(x, x, x, params, n_heads=4, n_kv_heads=2)
    return trace


# ---- one half of a Transformer alone --------------------------------------------------------------------------------

GAP_WORDS = ["<pad>", "<mask>", "Tom", "chase", "Jerry", "sleep"]
GAP_FEATURES = ["gap", "cat", "mouse", "deed"]
GAP_TABLE = np.array(
    [
        [0.0, 0.0, 0.0, 0.0],
        [1.2, 0.0, 0.0, 0.0],
        [0.0, 1.4, 0.1, 0.0],
        [0.0, 0.1, 0.0, 1.3],
        [0.0, 0.0, 1.3, 0.0],
        [0.0, 0.0, 0.0, 1.2],
    ]
)
"""(6, 4): one row per word."""
GAP_PARAMS = {
    "w_q.weight": np.array([[4.0, 4.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]),  # a gap asks for cat and mouse
    "w_k.weight": np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.1], [0.0, 0.0]]),
    "w_v.weight": np.array([[0.0, 0.0], [1.2, 0.0], [0.0, 1.5], [0.1, 0.1]]),
}
GAP_OUTPUT = np.array([[0.0, 0.0, 0.2, 1.0, 0.2, 3.0], [0.0, 0.0, 0.2, 4.0, 0.2, -2.0]])
"""(2, 6): who is there speaks for sleep; a mouse beside it speaks for chase."""


def masked_word() -> Trace:
    """An encoder alone: one layer of self-attention in both directions fills the gap in `Tom <mask> Jerry`.

    Returns:
        A program with the token leaf src (3,), the word vectors, the parameters of the layer, and w_out (2, 6).
    """
    with record("An encoder alone: which word is missing?") as trace:
        src = leaf("src", np.array([2, 1, 4]), "src", vocabulary=GAP_WORDS)
        labels = {"vocabulary": GAP_WORDS, "feature": GAP_FEATURES, "d_v": ["a cat", "a mouse"]}
        axes = ("vocabulary", "feature")
        table = leaf("word_vectors", GAP_TABLE, axes, {axis: labels[axis] for axis in axes})
        x = embed(src, table, name="x")
        params = {name: leaf(name, GAP_PARAMS[name], ("feature", axis))
                  for name, axis in (("w_q.weight", "d_k"), ("w_k.weight", "d_k"), ("w_v.weight", "d_v"))}  # fmt: skip
        attended = self_attention(x, params, padding_mask(src, pad_id=0, name="allowed"))
        w_out = leaf("w_out", GAP_OUTPUT, ("d_v", "vocabulary"), {"d_v": labels["d_v"]})
        softmax(matmul(attended.output, w_out, name="logits"), name="probabilities")
    return trace


STREAM_WORDS = ["<pad>", "Tom", "chase", "Jerry", "→", "汤姆", "追逐", "杰瑞", "<eos>"]
STREAM_TABLE = np.array(
    [
        [0.0, 0.0, 0.0, 0.0],
        [1.3, 0.1, 0.0, 0.0],  # Tom
        [0.1, 1.2, 0.0, 0.0],  # chase
        [0.1, 0.0, 1.3, 0.0],  # Jerry
        [0.0, 0.0, 0.0, 1.2],  # →
        [0.5, 0.0, 0.0, 0.0],  # 汤姆
        [0.0, 0.5, 0.0, 0.0],  # 追逐
        [0.0, 0.0, 0.5, 0.0],  # 杰瑞
        [0.0, 0.0, 0.0, 0.3],  # <eos>
    ]
)
"""(9, 4): what each word is about."""
STREAM_KEYS = np.array(
    [
        [2.0, 0.1, 0.0, 0.0],
        [0.1, 2.1, 0.1, 0.0],
        [0.0, 0.1, 2.0, 0.1],
        [0.0, 0.0, 0.1, 2.2],
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
    ]
)
STREAM_QUERIES = np.array(
    [
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
        [5.0, 0.0, 0.0, 0.0],  # at the arrow: look at the 1st
        [0.0, 5.0, 0.0, 0.0],
        [0.0, 0.0, 5.0, 0.0],
        [0.0, 0.0, 0.0, 5.0],  # after three words: look at the arrow, and end
    ]
)
"""(7, 4) each: this model finds by counting; position 4 of the text looks at position 1, and so on."""
STREAM_OUTPUT = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.1, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 4.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 4.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0],
    ]
)
"""(4, 9): which word to write about it."""


def decoder_only() -> Trace:
    """A decoder alone: source and translation are one text, and every position is asked for the next word.

    Returns:
        A program with the token leaf text (6,), the tables by word and by position, and w_out (4, 9).
    """
    with record("A decoder alone: source and translation in one text") as trace:
        text = leaf("text", np.array([1, 2, 3, 4, 5, 6]), "text", vocabulary=STREAM_WORDS)
        about = {"about": ["Tom", "to chase", "Jerry", "the end"]}
        table = leaf("word_vectors", STREAM_TABLE, ("vocabulary", "about"), {"vocabulary": STREAM_WORDS} | about)
        value = embed(text, table, name="value")
        query, key = (
            first_rows(
                leaf(f"{name}_of_position", rows, ("position", "place")), value, name=name, axes=("text", "place")
            )
            for name, rows in (("query", STREAM_QUERIES), ("key", STREAM_KEYS))
        )
        allowed = causal_mask(value, value, name="causal_mask")
        with scope("attention"):
            attended = attend(query, key, value, allowed)
        w_out = leaf("w_out", STREAM_OUTPUT, ("about", "vocabulary"))
        softmax(matmul(attended.output, w_out, name="logits"), name="probabilities")
    return trace
