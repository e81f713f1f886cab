"""Forward and backward passes in one program each, so that editing an input changes the gradients.

In three of them the rest of the network is summed up in one matrix, `output_gradient`: all that comes back to a layer
from above. The loss is then the sum of the output times it, which has exactly this gradient.
"""

import numpy as np

from stepformer.examples._attention import KEY, KEY_FEATURES, QUERY, SOURCE, TARGET, VALUE, VALUE_FEATURES, VOCABULARY
from stepformer.examples._self_attention import TARGET_WORDS
from stepformer.ops import linear, multiply, padding_mask, total
from stepformer.recording import leaf, record, scope
from stepformer.reference import backward
from stepformer.reference.attention import scaled_dot_product_attention
from stepformer.reference.feed_forward import feed_forward
from stepformer.reference.loss import cross_entropy, cross_entropy_gradient
from stepformer.reference.normalization import layer_norm
from stepformer.trace import Trace

EXPECTED_FEATURES = ["being", "action", "mouse", "end"]
READ_SO_FAR = ["<bos>", "汤姆", "追逐", "杰瑞", "<eos>"]
PADDED_ANSWERS = np.array([3, 4, 5, 2, 0])
"""(5,): what really comes next: 汤姆, 追逐, 杰瑞, <eos>, and then padding."""

EXPECTED_NEXT = np.array(
    [
        [1.2, -0.3, -0.2, -0.5],  # after <bos>: a being
        [-0.2, 1.4, 0.1, 0.3],  # after 汤姆: an action
        [1.1, -0.2, 0.9, 0.1],  # after 追逐: a being, a mouse
        [0.3, 0.6, -0.1, 0.9],  # after 杰瑞: the end, or one more action
        [0.5, 0.7, 0.4, 0.6],  # after <eos> there is nothing to expect
    ]
)
"""(5, 4): one row for each position of a decoder, what it expects to come next."""

OUTPUT_PARAMS = {
    "weight": np.array(
        [
            [-0.6, -0.4, -0.5, 1.1, -0.7, 0.8],  # a being
            [-0.4, -0.3, -0.2, -0.6, 1.5, -0.5],  # an action
            [-0.3, -0.2, 0.1, -0.8, -0.2, 1.2],  # a mouse
            [-0.2, -0.5, 1.3, -0.4, -0.3, 0.1],  # the end
        ]
    ),
    "bias": np.array([-0.5, -0.3, 0.2, 0.1, 0.2, 0.1]),
}
"""(4, 6) and (6,): from what is expected to the logits of <pad>, <bos>, <eos>, 汤姆, 追逐 and 杰瑞."""

LAYER_FEATURES = ["being", "action", "mouse", "motion"]
LAYER_INPUT = np.array(
    [
        [1.2, -0.4, -0.3, 0.5],  # Tom
        [-0.3, 1.4, 0.2, 1.1],  # chase
        [1.1, -0.2, 1.3, 0.4],  # Jerry
    ]
)
"""(3, 4): one row for each word, the input of a feed-forward network."""
HIDDEN_UNITS = ["being", "deed", "no mouse", "mouse", "any", "silent"]
FEED_FORWARD_PARAMS = {
    "w_1.weight": np.array(
        [
            [1.0, -0.5, 0.9, 0.3, 0.6, 0.2],
            [-0.6, 1.1, -0.4, -0.2, 0.5, 0.1],
            [0.2, 0.1, -1.2, 1.4, -0.1, 0.3],
            [0.1, 0.7, -0.1, -0.3, 0.4, -0.2],
        ]
    ),
    "w_1.bias": np.array([-0.2, -0.3, -0.1, -0.6, -0.1, -2.0]),
    "w_2.weight": np.array(
        [
            [0.8, -0.2, 0.1, 0.3],
            [-0.3, 0.9, 0.2, 0.6],
            [0.4, -0.1, -0.7, 0.2],
            [0.1, 0.2, 1.1, -0.4],
            [0.3, 0.5, -0.2, 0.1],
            [0.7, 0.4, 0.3, -0.9],
        ]
    ),
    "w_2.bias": np.array([0.1, 0.0, -0.1, 0.2]),
}
"""d_model 4, d_ff 6. The last unit has so low a bias that no word wakes it: it is silent, and learns nothing."""
LAYER_OUTPUT_GRADIENT = np.array(
    [
        [-0.5, 0.2, 0.4, 0.1],  # Tom should say more of a being, and less of a mouse
        [0.3, -0.6, 0.1, -0.2],  # chase: more action
        [-0.1, 0.3, -0.7, 0.2],  # Jerry: more of a mouse
    ]
)
"""(3, 4): what the layers above send back. Where it is negative, a larger output would lower the loss."""

NORM_FEATURES = ["being", "action", "cat", "mouse", "motion"]
NORM_INPUT = np.array(
    [
        [1.4, -0.3, 1.1, -0.5, 0.2],  # Tom
        [-0.4, 1.5, 0.1, 0.2, 1.2],  # chase
        [5.2, -0.8, -1.6, 4.8, 1.2],  # Jerry, with numbers four times as large as they need be
    ]
)
"""(3, 5): one row for each word, the input of a layer norm."""
NORM_PARAMS = {"gain": np.array([1.2, 0.8, 1.0, 0.5, 1.5]), "bias": np.array([0.1, -0.2, 0.0, 0.3, -0.1])}
NORM_OUTPUT_GRADIENT = np.array(
    [
        [-0.5, 0.2, -0.6, 0.4, 0.1],
        [0.3, -0.7, 0.1, 0.2, -0.4],
        [-0.2, 0.3, 0.5, -0.6, 0.2],
    ]
)
"""(3, 5): what comes back to the output of the layer norm."""

PADDED_KEY = np.vstack([KEY, [[0.9, 1.6, 0.8, 0.7, 0.5]]])
PADDED_VALUE = np.vstack([VALUE, np.full((1, 7), 9.0)])
ATTENTION_OUTPUT_GRADIENT = np.array(
    [
        [-0.4, -0.6, 0.3, 0.0, 0.2, -0.1, 0.0],  # 汤姆: more name, more cat
        [0.2, 0.0, 0.1, -0.5, -0.9, 0.1, 0.0],  # 追逐: more motion, more hunting
        [-0.3, 0.4, -0.8, 0.1, 0.1, 0.0, -0.2],  # 杰瑞: more name, more mouse
    ]
)
"""(3, 7): what comes back to the output of attention, one row for each target word."""


def loss_backward() -> Trace:
    """The end of a decoder and the beginning of its backward pass: logits, loss, and the gradient down to x.

    Returns:
        A program with the leaves x (5, 4), weight (4, 6), bias (6,) and the token leaf targets (5,), padded.
    """
    with record("From the loss back to what the layers below must change") as trace:
        labels = {"read so far": READ_SO_FAR, "expected": EXPECTED_FEATURES}
        x = leaf("x", EXPECTED_NEXT, ("read so far", "expected"), labels)
        weight = leaf("weight", OUTPUT_PARAMS["weight"], ("expected", "vocabulary"), {"vocabulary": TARGET_WORDS})
        bias = leaf("bias", OUTPUT_PARAMS["bias"], "vocabulary")
        targets = leaf("targets", PADDED_ANSWERS, "right answer", vocabulary=TARGET_WORDS)
        logits = linear(x, weight, bias, name="logits")
        cross_entropy(logits, targets, pad_id=0)
        logits_gradient = cross_entropy_gradient(logits, targets, pad_id=0)
        with scope("linear_backward"):
            backward.linear_backward(logits_gradient, x, weight)
    return trace


def feed_forward_backward() -> Trace:
    """A feed-forward network with ReLU, forwards and backwards.

    Returns:
        A program with the leaves x (3, 4), four parameters with d_ff 6, and output_gradient (3, 4).
    """
    with record("A feed-forward network, forwards and backwards") as trace:
        labels = {"word": SOURCE, "feature": LAYER_FEATURES}
        x = leaf("x", LAYER_INPUT, ("word", "feature"), labels)
        units = {"unit": HIDDEN_UNITS}
        axes = {"w_1.weight": ("feature", "unit"), "w_1.bias": ("unit",), "w_2.weight": ("unit", "output")}
        axes["w_2.bias"] = ("output",)
        params = {
            name: leaf(name, array, axes[name], units if "unit" in axes[name] else {})
            for name, array in FEED_FORWARD_PARAMS.items()
        }
        output_gradient = leaf("output_gradient", LAYER_OUTPUT_GRADIENT, ("word", "output"), {"output": LAYER_FEATURES})
        output = feed_forward(x, params)
        _loss(output, output_gradient)
        backward.feed_forward_backward(output_gradient, x, trace["expanded"], trace["hidden"], params)
    return trace


def layer_norm_backward() -> Trace:
    """A layer norm, forwards and backwards.

    Returns:
        A program with the leaves x (3, 5), gain (5,), bias (5,) and output_gradient (3, 5).
    """
    with record("A layer norm, forwards and backwards") as trace:
        x = leaf("x", NORM_INPUT, ("word", "feature"), {"word": SOURCE, "feature": NORM_FEATURES})
        params = {name: leaf(name, array, "feature") for name, array in NORM_PARAMS.items()}
        output_gradient = leaf("output_gradient", NORM_OUTPUT_GRADIENT, ("word", "feature"))
        output = layer_norm(x, params)
        _loss(output, output_gradient)
        backward.layer_norm_backward(output_gradient, trace["normalised"], trace["deviation"], params["gain"])
    return trace


def attention_backward() -> Trace:
    """Attention with a padding mask, forwards and backwards.

    Returns:
        A program with the token leaf src (4,), the leaves query (3, 5), key (4, 5), value (4, 7) and output_gradient
        (3, 7).
    """
    with record("Attention, forwards and backwards") as trace:
        src = leaf("src", np.array([1, 2, 3, 0]), "src", vocabulary=VOCABULARY)
        query = leaf("query", QUERY[:3], ("tgt", "d_k"), {"tgt": TARGET[:3], "d_k": KEY_FEATURES})
        key = leaf("key", PADDED_KEY, ("src", "d_k"))
        value = leaf("value", PADDED_VALUE, ("src", "d_v"), {"d_v": VALUE_FEATURES})
        output_gradient = leaf("output_gradient", ATTENTION_OUTPUT_GRADIENT, ("tgt", "d_v"))
        mask = padding_mask(src, pad_id=0, name="mask")
        output, weights = scaled_dot_product_attention(query, key, value, mask)
        _loss(output, output_gradient)
        seen = trace["visible_key"], trace["visible_value"]
        backward.attention_backward(output_gradient, query, *seen, weights)
    return trace


def _loss(output: np.ndarray, output_gradient: np.ndarray) -> None:
    """The simplest loss that sends `output_gradient` back: the sum over all cells of output times it."""
    agreement = multiply(output, output_gradient, name="output_times_gradient")
    total(total(agreement, name="loss_of_each"), name="loss")
