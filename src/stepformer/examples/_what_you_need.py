"""What the reader needs to know, as recorded programs: products, softmax, a loss, and one step of gradient descent.

A tiny model predicts the next word from the vector of one word. It is half trained: it knows that a being is followed
by an action, so after Jerry it expects *chase* once more, where the sentence ends.
"""

import numpy as np

from stepformer.ops import linear, matmul, multiply, softmax, subtract, total, transpose
from stepformer.recording import leaf, record, scope
from stepformer.reference.loss import cross_entropy, cross_entropy_gradient
from stepformer.trace import Trace

READ_WORDS = ["Tom", "chase", "Jerry"]
NEXT_WORDS = ["Tom", "chase", "Jerry", "<eos>"]
FIVE_FEATURES = ["being", "action", "cat", "mouse", "motion"]

THREE_VECTORS = np.array(
    [
        [1.4, -0.3, 1.1, -0.5, 0.2],  # Tom
        [-0.4, 1.5, 0.1, 0.2, 1.2],  # chase
        [1.3, -0.2, -0.4, 1.2, 0.3],  # Jerry
    ]
)
"""(3, 5): one row per word. Tom and Jerry resemble each other, both are beings; chase points elsewhere."""

NEXT_WORD_PARAMS = {
    "weight": np.array(
        [
            [0.2, 1.1, -0.3, 0.1],  # a being: chase comes next
            [0.4, -0.5, 0.9, -0.2],  # an action: Jerry comes next, or Tom
            [-0.3, 0.6, -0.2, -0.4],  # a cat: it chases
            [0.1, 0.3, -0.1, 0.2],  # a mouse: not decided yet
            [0.3, -0.4, 0.3, 0.1],  # motion: towards somebody
        ]
    ),
    "bias": np.array([-0.1, 0.2, 0.1, 0.3]),
}
"""(5, 4) and (4,): how much each feature speaks for each next word, and how common the words are at all."""

FOLLOWING = np.array([1, 2, 3])
"""(3,): the ids of the words that really come next: chase, Jerry, <eos>."""


def _words():
    labels = {"word": READ_WORDS, "feature": FIVE_FEATURES}
    return leaf("x", THREE_VECTORS, ("word", "feature"), labels)


def _next_word_leaves():
    x = _words()
    weight = leaf("weight", NEXT_WORD_PARAMS["weight"], ("feature", "vocabulary"), {"vocabulary": NEXT_WORDS})
    bias = leaf("bias", NEXT_WORD_PARAMS["bias"], "vocabulary")
    return x, weight, bias, leaf("targets", FOLLOWING, "next word", vocabulary=NEXT_WORDS)


def similarity() -> Trace:
    """The dot product of every word with every word.

    Returns:
        A program with the leaf x (3, 5).
    """
    with record("Dot products: how alike are two words?") as trace:
        x = _words()
        matmul(x, transpose(x, name="x_transposed"), name="similarity")
    return trace


def next_word() -> Trace:
    """Predict the next word: a linear layer, softmax, and the cross-entropy of the right answers.

    Returns:
        A program with the leaves x (3, 5), weight (5, 4), bias (4,) and the token leaf targets (3,).
    """
    with record("Predict the next word, and measure how wrong it was") as trace:
        x, weight, bias, targets = _next_word_leaves()
        logits = linear(x, weight, bias, name="logits")
        softmax(logits, name="probabilities")
        cross_entropy(logits, targets)
    return trace


def gradient_step() -> Trace:
    """One step of gradient descent: predict, compare, find the gradient, step, predict again.

    Returns:
        A program with the leaves of `next_word` and the learning rate, one number.
    """
    with record("One step of gradient descent") as trace:
        x, weight, bias, targets = _next_word_leaves()
        rate = leaf("learning_rate", np.array(0.5), ())
        logits = linear(x, weight, bias, name="logits")
        cross_entropy(logits, targets)
        logits_gradient = cross_entropy_gradient(logits, targets)
        with scope("gradient"):
            weight_gradient = matmul(transpose(x, name="x_transposed"), logits_gradient, name="weight_gradient")
            bias_gradient = total(logits_gradient, axis=-2, name="bias_gradient")
        with scope("step"):
            weight = subtract(weight, multiply(rate, weight_gradient, name="weight_step"), name="new_weight")
            bias = subtract(bias, multiply(rate, bias_gradient, name="bias_step"), name="new_bias")
        with scope("after"):
            cross_entropy(linear(x, weight, bias, name="logits"), targets)
    return trace
