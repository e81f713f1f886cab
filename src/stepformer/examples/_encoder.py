"""One encoder layer and its two simplest parts, the sum and the norm, as recorded programs.

The columns have names and the weights are designed, so that a reader can check by eye what each part of the layer
writes where. In a trained model the columns have no names.
"""

import numpy as np

from stepformer.examples._gradients import NORM_FEATURES, NORM_INPUT, NORM_PARAMS
from stepformer.examples._what_you_need import FIVE_FEATURES, THREE_VECTORS
from stepformer.ops import add, embed, first_rows, matmul, padding_mask
from stepformer.recording import leaf, record, scope
from stepformer.reference.encoder import encoder
from stepformer.reference.encoder import encoder_layer as _encoder_layer
from stepformer.reference.normalization import layer_norm
from stepformer.trace import Trace

HUNTERS = ["<pad>", "Tom", "chase", "Jerry"]
LAYER_COLUMNS = ["being", "action", "cat", "mouse", "1st", "2nd", "3rd", "acts", "acted on", "hunt"]
LOOKING = ["looks back", "looks ahead"]
ASKED_PLACES = ["1st", "2nd", "3rd", "free", "free", "1st", "2nd", "3rd", "free", "free"]
TOLD_NEIGHBOURS = ["action", "cat", "free", "free", "free", "action", "mouse", "free", "free", "free"]
LAYER_UNITS = [
    "cat acts", "mouse acts", "cat acted on", "mouse acted on", "cat, deed, mouse", "deed alone", "being", "no being",
    "is 1st", "is 2nd", "is 3rd", "cat", "mouse", "nothing",
]  # fmt: skip

MIXING = np.array([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4], [0.3, 0.5, 0.2]])
"""(3, 3): attention weights, the same in both sub-layers; each word listens to all three."""

HUNTERS_TABLE = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # <pad>
        [1.2, 0.1, 1.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # Tom
        [0.1, 1.5, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # chase
        [1.2, 0.2, 0.0, 1.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # Jerry
    ]
)
"""(4, 10): one row per word. The places have three columns, and the last three are empty: the layer writes there."""

THREE_PLACES = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 1.3, 0.1, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.1, 1.2, 0.1, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 1.4, 0.0, 0.0, 0.0],
    ]
)
"""(3, 10): one row per position, added to the word that stands there."""

ENCODER_LAYER_PARAMS = {
    "self_attention.w_q.weight": np.array(
        [  # columns of the head that looks back | of the head that looks ahead
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [3.5, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0],  # the 1st: itself | the 2nd
            [4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0],  # the 2nd: the 1st | the 3rd
            [0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.5, 0.0, 0.0],  # the 3rd: the 2nd | itself
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        ]
    ),
    "self_attention.w_q.bias": np.zeros(10),
    "self_attention.w_k.weight": np.array(
        [
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [2.0, 0.0, 0.0, 0.0, 0.0, 1.9, 0.0, 0.0, 0.0, 0.0],
            [0.0, 2.1, 0.0, 0.0, 0.0, 0.0, 2.2, 0.0, 0.0, 0.0],
            [0.0, 0.0, 1.8, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        ]
    ),
    "self_attention.w_k.bias": np.zeros(10),
    "self_attention.w_v.weight": np.array(
        [
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [1.2, 0.0, 0.0, 0.0, 0.0, 1.1, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.9, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.8, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        ]
    ),
    "self_attention.w_v.bias": np.zeros(10),
    "self_attention.w_o.weight": np.array(
        [  # into the columns of the model
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.9, 0.0],  # an action before me: I am acted on
            [0.0, 0.0, 0.9, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # a cat before me
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],  # an action after me: I act
            [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # a mouse after me
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        ]
    ),
    "self_attention.w_o.bias": np.zeros(10),
    "self_attention_norm.gain": np.array([1.0, 1.0, 1.1, 1.1, 0.8, 0.8, 0.8, 1.2, 1.2, 1.0]),
    "self_attention_norm.bias": np.array([0.1, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.1, 0.2]),
    "feed_forward.w_1.weight": np.array(
        [  # one column per unit, in the order of LAYER_UNITS
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0],  # being
            [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0],  # action
            [0.9, 0.0, 0.9, 0.0, 0.7, -0.8, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],  # cat
            [0.0, 0.9, 0.0, 0.9, 0.7, -0.8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0],  # mouse
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # 1st
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],  # 2nd
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],  # 3rd
            [1.1, 1.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # acts
            [0.0, 0.0, 1.1, 1.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # acted on
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # hunt
        ]
    ),
    "feed_forward.w_1.bias": np.array(
        [-1.2, -1.2, -1.2, -1.2, -1.5, -0.8, 0.0, 0.0, -0.2, -0.2, -0.2, -0.5, -0.5, -1.0]
    ),
    "feed_forward.w_2.weight": np.array(
        [  # being, action, cat, mouse, 1st, 2nd, 3rd, acts, acted on, hunt
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],  # a cat acts: a hunt
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.6],  # a mouse acts: none
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.6],  # a cat is acted on: none
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],  # a mouse is acted on: a hunt
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.2],  # a deed between cat and mouse: a hunt
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.5],  # a deed between others: none
            [0.0, -0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # a being is no action
            [-0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # what is no being is less of one
            [0.0, 0.0, 0.0, 0.0, -0.6, 0.0, 0.0, 0.0, 0.0, 0.0],  # the places have done their work
            [0.0, 0.0, 0.0, 0.0, 0.0, -0.6, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.6, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, -0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # a cat is no mouse
            [0.0, 0.0, -0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # a mouse is no cat
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.4],  # padding hunts nobody
        ]
    ),
    "feed_forward.w_2.bias": np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.3]),
    "feed_forward_norm.gain": np.array([1.0, 1.0, 1.0, 1.0, 0.7, 0.7, 0.7, 1.1, 1.1, 1.3]),
    "feed_forward_norm.bias": np.array([0.0, 0.0, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1]),
}
"""d_model 10, two heads of 5, d_ff 14. Attention writes into `acts`, `acted on`, `cat` and `mouse`; the feed-forward
network concludes from them whether there is a `hunt`, and dims the places."""

FINAL_NORM_PARAMS = {"gain": np.array([1.0, 1.0, 1.0, 1.0, 0.7, 0.7, 0.7, 1.1, 1.1, 1.3]), "bias": np.full(10, 0.1)}
"""The norm at the end of a stack with pre-norm."""


def residual() -> Trace:
    """Two sub-layers that only average, with a way around each: the sum alone, without a norm.

    Returns:
        A program with the leaves x (3, 5) and weights (3, 3).
    """
    with record("Add: the way around") as trace:
        labels = {"word": ["Tom", "chase", "Jerry"], "feature": FIVE_FEATURES}
        x = leaf("x", THREE_VECTORS, ("word", "feature"), labels)
        weights = leaf("weights", MIXING, ("word", "word"))
        for number in (1, 2):
            with scope(f"layer_{number}"):
                found = matmul(weights, x, name="found")
                x = add(x, found, name="residual")
    return trace


def normalization() -> Trace:
    """A layer norm, step by step, on three words of which one has numbers four times too large.

    Returns:
        A program with the leaves x (3, 5), gain (5,) and bias (5,).
    """
    with record("Norm: each word brought to one scale") as trace:
        labels = {"word": ["Tom", "chase", "Jerry"], "feature": NORM_FEATURES}
        x = leaf("x", NORM_INPUT, ("word", "feature"), labels)
        layer_norm(x, {name: leaf(name, array, "feature") for name, array in NORM_PARAMS.items()})
    return trace


def encoder_layer() -> Trace:
    """A whole encoder layer, post-norm: self-attention, sum and norm, feed-forward network, sum and norm.

    Returns:
        A program with the token leaf src (3,), word vectors, places and the 16 parameters of the layer.
    """
    with record("One encoder layer") as trace:
        x, mask = _input()
        _encoder_layer(x, _params(ENCODER_LAYER_PARAMS), n_heads=2, mask=mask)
    trace.labels["head"] = tuple(LOOKING)
    return trace


def encoder_with_pre_norm() -> Trace:
    """The same layer with the norms inside the branches, and one more norm at the end.

    Returns:
        A program with the token leaf src (3,); the parameters are those of a stack, "layers.0.…" and "norm.…".
    """
    with record("An encoder with pre-norm") as trace:
        x, mask = _input()
        layer = {f"layers.0.{name}": array for name, array in ENCODER_LAYER_PARAMS.items()}
        norm = {f"norm.{name}": array for name, array in FINAL_NORM_PARAMS.items()}
        encoder(x, _params(layer | norm), n_heads=2, mask=mask, norm_first=True)
    trace.labels["head"] = tuple(LOOKING)
    return trace


def _input() -> tuple[np.ndarray, np.ndarray]:
    """Declare tokens, words and places: x (n, 10), and the padding mask (1, n)."""
    tokens = leaf("src", [HUNTERS.index(word) for word in ("Tom", "chase", "Jerry")], "src", vocabulary=HUNTERS)
    labels = {"vocabulary": HUNTERS, "d_model": LAYER_COLUMNS}
    words = embed(tokens, leaf("word_vectors", HUNTERS_TABLE, ("vocabulary", "d_model"), labels), name="word")
    places = first_rows(leaf("places", THREE_PLACES, ("place", "d_model")), words, name="place")
    return add(words, places, name="x"), padding_mask(tokens, pad_id=0, name="padding_mask")


def _params(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Declare parameters as leaves whose axes are named after what stands in their columns."""
    axes = {
        "w_q": ("d_model", "asked feature"),
        "w_k": ("d_model", "asked feature"),
        "w_v": ("d_model", "told feature"),
        "w_o": ("told feature", "d_model"),
        "w_1": ("d_model", "unit"),
        "w_2": ("unit", "d_model"),
    }
    labels = {"asked feature": ASKED_PLACES, "told feature": TOLD_NEIGHBOURS, "unit": LAYER_UNITS}
    params = {}
    for name, array in arrays.items():
        shown = axes.get(name.split(".")[-2], ("d_model",))[-array.ndim :]
        params[name] = leaf(name, array, shown, {axis: labels[axis] for axis in shown if axis in labels})
    return params
