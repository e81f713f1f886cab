"""Training in small: one whole step, the steps of Adam, and the learning rate of each step, as programs."""

import numpy as np

from stepformer.examples._self_attention import TARGET_WORDS
from stepformer.ops import divide, embed, matmul, multiply, one_hot, relu, root, row, softmax, subtract, transpose
from stepformer.recording import leaf, record, scope
from stepformer.reference.adam import AdamSettings, AdamState, adam
from stepformer.reference.loss import cross_entropy, cross_entropy_gradient
from stepformer.trace import Trace

STEADY_AND_OTHERS = ["large", "small", "to and fro", "once"]
GRADIENTS = np.array([[50.0, 0.5, 2.0, 2.0], [50.0, 0.5, -2.0, 0.0]])
"""(2, 4): the gradients of four weights in two steps. Two are steady, one turns round, one comes only once."""

SCHEDULED_STEPS = np.arange(1.0, 9.0)
"""(8,): the steps whose rates are shown."""


def training_step() -> Trace:
    """One whole step of training, of a model that is a table: for each word, the logits of the word after it.

    Returns:
        A program with the token leaves tgt_in (5,) and tgt_out (5,), table (6, 6), and what Adam needs.
    """
    with record("One step of training, from the sentence to the new weights") as trace:
        tgt_in, tgt_out = (
            leaf(name, np.array(ids), axis, vocabulary=TARGET_WORDS)
            for name, axis, ids in (("tgt_in", "read", [1, 3, 4, 5, 0]), ("tgt_out", "answer", [3, 4, 5, 2, 0]))
        )
        labels = {"word read": TARGET_WORDS, "vocabulary": TARGET_WORDS}
        n = len(TARGET_WORDS)
        table, mean, square = (
            leaf(name, np.zeros((n, n)), ("word read", "vocabulary"), labels) for name in ("table", "mean", "square")
        )
        state = AdamState(mean, square, *_powers())
        logits = embed(tgt_in, table, name="logits")
        softmax(logits, name="probabilities")
        cross_entropy(logits, tgt_out, pad_id=0)
        logits_gradient = cross_entropy_gradient(logits, tgt_out, pad_id=0)
        with scope("gradient"):
            rows = one_hot(tgt_in, vocab_size=n, name="words_read")
            gradient = matmul(transpose(rows, name="places_of_word"), logits_gradient, name="table_gradient")
        table, _ = adam(table, gradient, state, _settings(rate=0.5))
        with scope("after"):
            logits = embed(tgt_in, table, name="logits")
            softmax(logits, name="probabilities")
            cross_entropy(logits, tgt_out, pad_id=0)
    return trace


def adam_steps() -> Trace:
    """Two steps of Adam on four weights whose gradients behave differently.

    Returns:
        A program with the leaves gradients (2, 4), weight (4,), rate, beta1, beta2, eps and one.
    """
    with record("Adam: two steps of four weights") as trace:
        labels = {"step": ["first", "second"], "weight": STEADY_AND_OTHERS}
        gradients = leaf("gradients", GRADIENTS, ("step", "weight"), labels)
        weight = leaf("weight", np.zeros(4), "weight")
        mean, square = (leaf(name, np.zeros(4), "weight") for name in ("mean", "square"))
        state, settings = AdamState(mean, square, *_powers()), _settings(rate=0.1)
        for k in range(2):
            with scope(f"step_{k + 1}"):
                gradient = row(gradients, index=k, name="gradient")
                weight, state = adam(weight, gradient, state, settings)
    return trace


def paper_schedule() -> Trace:
    """The learning rate of the paper, at the first steps of a very short training.

    Returns:
        A program with the leaves step (8,), warmup, d_model, base_rate and one, one number each.
    """
    with record("The learning rate: warm-up, then a slow fall") as trace:
        step = leaf("step", SCHEDULED_STEPS, "step", {"step": [f"{number:.0f}" for number in SCHEDULED_STEPS]})
        warmup, d_model, base_rate, one = (
            leaf(name, np.array(number), ())
            for name, number in (("warmup", 4.0), ("d_model", 16.0), ("base_rate", 1.0), ("one", 1.0))
        )
        slope = multiply(warmup, root(warmup, name="root_of_warmup"), name="steps_of_rise")
        rise = divide(step, slope, name="rise")
        fall = divide(one, root(step, name="root_of_step"), name="fall")
        # The smaller of the two: take off what the fall is above the rise.
        smaller = subtract(fall, relu(subtract(fall, rise, name="fall_above_rise"), name="too_much"), name="smaller")
        rate = divide(smaller, root(d_model, name="root_of_d_model"), name="rate_of_paper")
        multiply(rate, base_rate, name="rate")
    return trace


def _powers() -> tuple[np.ndarray, np.ndarray]:
    """Declare the powers of beta1 and beta2 before the first step."""
    return leaf("mean_power", np.array(1.0), ()), leaf("square_power", np.array(1.0), ())


def _settings(rate: float) -> AdamSettings:
    """Declare a rate, and the numbers of the paper."""
    numbers = {"rate": rate, "beta1": 0.9, "beta2": 0.98, "eps": 1e-9, "one": 1.0}
    return AdamSettings(*(leaf(name, np.array(number), ()) for name, number in numbers.items()))
