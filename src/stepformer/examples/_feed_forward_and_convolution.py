"""A feed-forward network, convolutions over words and convolutions over a small image, as recorded programs.

The features, hidden units and detectors are designed and have names, so that a reader can check by eye why one of them
answers. Those of a trained network have none.
"""

import numpy as np

from stepformer.examples._what_you_need import FIVE_FEATURES, THREE_VECTORS
from stepformer.ops import embed, relu
from stepformer.recording import leaf, record, scope
from stepformer.reference.convolution import convolution_1d, convolution_2d
from stepformer.reference.feed_forward import feed_forward as _feed_forward
from stepformer.trace import Trace

FOUR_WORDS = ["Tom", "chase", "Jerry", "sleep"]
FOUR_VECTORS = np.vstack([THREE_VECTORS, [-0.3, 1.2, 0.1, -0.1, -1.1]])
"""(4, 5): Tom, chase and Jerry as in chapter 00, and sleep, an action without motion."""

# ---- the feed-forward network: each word alone ----------------------------------------------------------------------

HIDDEN_UNITS = ["a cat", "a mouse", "moving", "at rest", "a being", "no being", "quick"]

EXPANSION_PARAMS = {
    "w_1.weight": np.array(
        [
            [1.0, 1.0, 0.0, 0.0, 1.0, -1.0, 0.0],  # being
            [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0],  # action
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # cat
            [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # mouse
            [0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 1.0],  # motion
        ]
    ),
    "w_1.bias": np.array([-1.5, -1.5, -1.5, -1.5, -0.5, 0.1, -0.5]),
    "w_2.weight": np.array(
        [
            [0.0, 0.3, 0.0, -0.4, 0.6],  # a cat: it hunts, and it is no mouse
            [0.0, 0.0, -0.5, 0.0, 0.8],  # a mouse: it runs, and it is no cat
            [-0.2, 0.0, 0.0, 0.0, 0.5],  # moving
            [0.0, 0.0, 0.0, 0.0, -0.6],  # at rest
            [0.2, -0.3, 0.0, 0.0, 0.0],  # a being: no action
            [-0.3, 0.2, 0.0, 0.0, 0.0],  # no being
            [0.0, 0.4, 0.0, 0.0, 0.2],  # quick
        ]
    ),
    "w_2.bias": np.array([0.1, 0.0, 0.0, 0.0, 0.1]),
}
"""(5, 7), (7,), (7, 5), (5,). The first four hidden units answer only where two features come together."""


def _words(words: list[str]) -> np.ndarray:
    """Declare token ids and the table of word vectors, and look the vectors up: x (n, 5)."""
    tokens = leaf("src", np.array([FOUR_WORDS.index(word) for word in words]), "src", vocabulary=FOUR_WORDS)
    labels = {"vocabulary": FOUR_WORDS, "feature": FIVE_FEATURES}
    return embed(tokens, leaf("word_vectors", FOUR_VECTORS, ("vocabulary", "feature"), labels), name="x")


def feed_forward() -> Trace:
    """The feed-forward network on three words: expand to seven hidden units, bend, contract to five features.

    Returns:
        A program with the token leaf src (3,), the word vectors and the parameters w_1 and w_2.
    """
    with record("A feed-forward network: expand, bend, contract") as trace:
        x = _words(["Tom", "chase", "Jerry"])
        shown = {"feature": FIVE_FEATURES, "hidden unit": HIDDEN_UNITS}
        axes = {
            "w_1.weight": ("feature", "hidden unit"),
            "w_1.bias": ("hidden unit",),
            "w_2.weight": ("hidden unit", "feature"),
            "w_2.bias": ("feature",),
        }
        params = {
            name: leaf(name, EXPANSION_PARAMS[name], names, {axis: shown[axis] for axis in names})
            for name, names in axes.items()
        }
        _feed_forward(x, params)
    return trace


# ---- convolution over words -----------------------------------------------------------------------------------------

WINDOW = ["before", "this", "after"]
SEEN_AROUND = ["who acts", "a deed", "to whom", "a hunt"]
SEEN_SO_FAR = ["an act", "a hunt"]

CENTRED_PARAMS = {
    "weight": np.array(
        [
            [  # the word before
                [0.0, 0.5, 0.0, 0.0],
                [0.0, 0.0, 1.0, 0.0],
                [0.0, 0.0, 0.0, 1.0],
                [0.0, 0.0, 0.0, 0.0],
                [0.0, 0.0, 0.0, 0.0],
            ],
            [  # this word
                [1.0, 0.0, 1.0, 0.0],
                [0.0, 1.0, 0.0, 0.0],
                [0.0, 0.0, 0.0, 0.0],
                [0.0, 0.0, 0.0, 0.0],
                [0.0, 0.0, 0.0, 1.0],
            ],
            [  # the word after
                [0.0, 0.5, 0.0, 0.0],
                [1.0, 0.0, 0.0, 0.0],
                [0.0, 0.0, 0.0, 0.0],
                [0.0, 0.0, 0.0, 1.0],
                [0.0, 0.0, 0.0, 0.0],
            ],
        ]
    ),
    "bias": np.array([-1.5, -1.5, -1.5, -2.0]),
}
"""(3, 5, 4), (4,): a matrix for each place of the window. A being before an action acts; to one after it, it is
done; a hunt is a cat, motion and a mouse in a row."""

CAUSAL_PARAMS = {
    "weight": np.array(
        [
            [[0.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]],  # two words before
            [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 1.0]],  # the word before
            [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]],  # this word
        ]
    ),
    "bias": np.array([-1.5, -2.0]),
}
"""(3, 5, 2), (2,): the window ends at the word, so that a hunt is known only when the mouse has been read."""


def _over_words(title: str, params: dict, places: list[str], detectors: list[str], padding: str) -> Trace:
    with record(title) as trace:
        x = _words(["Tom", "chase", "Jerry"])
        labels = {"place": places, "detector": detectors}
        weight = leaf("weight", params["weight"], ("place", "feature", "detector"), labels)
        bias = leaf("bias", params["bias"], "detector")
        relu(convolution_1d(x, {"weight": weight, "bias": bias}, padding), name="found")
    return trace


def convolution_over_words() -> Trace:
    """A convolution whose window is centred on each word, as an encoder may have it.

    Returns:
        A program with the token leaf src (3,), weight (3, 5, 4) and bias (4,).
    """
    title = "A window of three words, centred on each"
    return _over_words(title, CENTRED_PARAMS, WINDOW, SEEN_AROUND, "same")


def causal_convolution() -> Trace:
    """A convolution whose window ends at each word, as a model that writes must have it.

    Returns:
        A program with the token leaf src (3,), weight (3, 5, 2) and bias (2,).
    """
    title = "A window of three words that ends at each: causal"
    return _over_words(title, CAUSAL_PARAMS, ["two before", "before", "this"], SEEN_SO_FAR, "causal")


# ---- convolution over an image --------------------------------------------------------------------------------------

LETTER = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0],
        [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0],
    ]
)
"""(8, 8): the T of Tom, bright on dark."""

EDGES = ["upper", "left", "right"]
_UPPER = np.array([[-0.25, -0.5, -0.25], [0.0, 0.0, 0.0], [0.25, 0.5, 0.25]])
EDGE_PARAMS = {"weight": np.stack([_UPPER, _UPPER.T, -_UPPER.T])[:, None], "bias": np.array([0.0, 0.0, 0.0])}
"""(3, 1, 3, 3), (3,): the kernels of Sobel, divided by 4. Upper: dark above and bright below, and so on."""

CORNERS = ["top left", "top right"]
CORNER_PARAMS = {
    "weight": np.array(
        [
            [[[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]],
            [[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]],
        ]
    ),
    "bias": np.array([-1.25, -1.25]),
}
"""(2, 3, 2, 2), (2,): a corner is an upper edge and, below and beside it, a left (or right) edge: both, not one."""


def edges_and_corners() -> Trace:
    """Two convolutions over the image of a letter: the first finds edges, the second makes corners of them.

    Returns:
        A program with the leaf image (1, 8, 8) and the parameters of two layers.
    """
    with record("Edges, and corners made of edges") as trace:
        image = leaf("image", LETTER[None], ("channel", "row", "column"), {"channel": ["brightness"]})
        axes = "edge", "channel", "window row", "window column"
        edge_kernels = leaf("edge_kernels", EDGE_PARAMS["weight"], axes, {"edge": EDGES})
        edge_bias = leaf("edge_bias", EDGE_PARAMS["bias"], "edge")
        axes = "corner", "edge", "window row", "window column"
        corner_kernels = leaf("corner_kernels", CORNER_PARAMS["weight"], axes, {"corner": CORNERS})
        corner_bias = leaf("corner_bias", CORNER_PARAMS["bias"], "corner")
        with scope("layer_1"):
            edges = relu(convolution_2d(image, {"weight": edge_kernels, "bias": edge_bias}), name="edges")
        with scope("layer_2"):
            relu(convolution_2d(edges, {"weight": corner_kernels, "bias": corner_bias}), name="corners")
    return trace


BLUR = np.array([[0.1, 0.1, 0.1], [0.1, 0.2, 0.1], [0.1, 0.1, 0.1]])
"""(3, 3): a mean of a pixel and its neighbours."""


def three_blurs() -> Trace:
    """Three convolutions on top of one another: how far does one pixel reach?

    Returns:
        A program with the leaf image (1, 9, 9), one pixel bright, and results layer_1, layer_2 and layer_3.
    """
    with record("Three layers: how far one pixel reaches") as trace:
        dot = np.zeros((1, 9, 9))
        dot[0, 4, 4] = 10.0
        x = leaf("image", dot, ("channel", "row", "column"), {"channel": ["brightness"]})
        kernel = leaf("kernel", BLUR[None, None], ("channel", "channel", "window row", "window column"))
        params = {"weight": kernel, "bias": leaf("bias", np.array([0.0]), "channel")}
        for layer in (1, 2, 3):
            with scope(f"layer_{layer}"):
                x = convolution_2d(x, params, padding=1)
    return trace
