"""Exercises of the chapter on what you need. Every accepted number is computed from the running example."""

import numpy as np

from stepformer import examples
from stepformer.exercises.exercise import Choice, Code, Number, Wrong
from stepformer.reference.loss import cross_entropy_gradient

_X, _WEIGHT, _BIAS = examples.THREE_VECTORS, *examples.NEXT_WORD_PARAMS.values()
_TRACE = examples.gradient_step()
_LOGITS, _PROBABILITIES, _ERROR = (_TRACE[name] for name in ("logits", "probabilities", "error"))
_SIMILARITY = examples.similarity()["similarity"]
_TOM, _CHASE, _JERRY = range(3)


def _softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


DOT_PRODUCT = Number(
    id="what_you_need.dot_product",
    question="What is the dot product of chase (−0.4, 1.5, 0.1, 0.2, 1.2) and Jerry (1.3, −0.2, −0.4, 1.2, 0.3)?",
    answer=_SIMILARITY[_CHASE, _JERRY],
    wrong=[
        Wrong(_SIMILARITY[_TOM, _JERRY], "That is Tom times Jerry. The question is about chase."),
        Wrong(
            np.abs(_X[_CHASE] * _X[_JERRY]).sum(),
            "You lost the signs: a positive number times a negative one is negative.",
        ),
        Wrong(
            (_X[_CHASE] + _X[_JERRY]).sum(),
            "You added the two rows. Multiply number by number first, then add the products.",
        ),
        Wrong(_X[_CHASE].sum() * _X[_JERRY].sum(), "You added up each row first. Multiply first, then add."),
    ],
    right="Yes: −0.52 − 0.30 − 0.04 + 0.24 + 0.36. A little below 0: the two rows have little in common.",
    hint="Five products, three of them negative; then add.",
)

LOGIT = Number(
    id="what_you_need.logit",
    question="Row Jerry of x is (1.3, −0.2, −0.4, 1.2, 0.3). Column chase of the weight is (1.1, −0.5, 0.6, 0.3, "
    "−0.4), and its bias is 0.2. Which logit does chase get after Jerry?",
    answer=_LOGITS[_JERRY, 1],
    wrong=[
        Wrong(
            _LOGITS[_JERRY, 1] - _BIAS[1], "That is the product of row and column. The bias of 0.2 is still missing."
        ),
        Wrong(_LOGITS[_TOM, 1], "That is what chase gets after Tom. The row is Jerry."),
        Wrong(
            np.abs(_X[_JERRY] * _WEIGHT[:, 1]).sum() + _BIAS[1],
            "You lost the signs: a positive number times a negative one is negative.",
        ),
        Wrong(_PROBABILITIES[_JERRY, 1], "That is the probability, after softmax. The logit is the number before it."),
    ],
    right="Yes: 1.43 + 0.10 − 0.24 + 0.36 − 0.12, and 0.20 for the bias.",
    hint="Row times column gives five products. Add them, and then the bias.",
)

SOFTMAX = Number(
    id="what_you_need.softmax",
    question="Which probabilities does softmax give to the logits 2, 1 and 0?",
    answer=_softmax(np.array([2.0, 1.0, 0.0])),
    fields=["2", "1", "0"],
    wrong=[
        Wrong(
            np.array([2.0, 1.0, 0.0]) / 3,
            "You divided the logits themselves by their sum. First take e to the power of each.",
        ),
        Wrong(
            np.exp([2.0, 1.0, 0.0]), "These are the exponentials. Divide each by their sum, so that they add up to 1."
        ),
        Wrong([1.0, 0.0, 0.0], "Softmax does not pick the largest. It shares, and every logit gets something."),
        Wrong(
            _softmax(np.log(2) * np.array([2.0, 1.0, 0.0])),
            "You took powers of 2. Softmax takes powers of e, 2.718.",
        ),
    ],
    right="Yes: 7.389, 2.718 and 1, divided by their sum 11.107. One more in the logit is e times as much.",
    hint="e² is 7.389, e¹ is 2.718 and e⁰ is 1.",
)

LOSS = Number(
    id="what_you_need.loss",
    question="A model gives the right word the probability 0.25. What is its loss on this word?",
    answer=-np.log(0.25),
    wrong=[
        Wrong(0.75, "That is how much is missing to 1. Cross-entropy is minus the logarithm of the probability."),
        Wrong(
            np.log(0.25), "Mind the sign: the logarithm of a number below 1 is negative, and the loss is minus that."
        ),
        Wrong(-np.log10(0.25), "You took the logarithm to base 10. The natural logarithm is meant, to base e."),
        Wrong(-np.log2(0.25), "That is the loss in bits, with the logarithm to base 2. Ours is to base e."),
    ],
    right="Yes, −log 0.25 = log 4. The same as blindly guessing among four words.",
    hint="−log 0.25 is log 4, and log 2 is 0.693.",
)

ERROR_ROW = Number(
    id="what_you_need.error",
    question="After Jerry, the model gives the words Tom, chase, Jerry and <eos> the probabilities 0.15, 0.55, 0.06 "
    "and 0.24. Right is <eos>. What is the gradient of the loss on this word with respect to the four logits? (One "
    "word alone, so nothing is divided by 3.)",
    answer=_ERROR[_JERRY],
    fields=["Tom", "chase", "Jerry", "<eos>"],
    wrong=[
        Wrong(_PROBABILITIES[_JERRY], "These are the probabilities. Subtract 1 where the right answer is."),
        Wrong(
            -_ERROR[_JERRY],
            "The signs are turned round: this is the way down. The gradient points to where the loss grows.",
        ),
        Wrong(_ERROR[_JERRY] / 3, "You divided by 3. The question asks for one word alone."),
        Wrong(
            _PROBABILITIES[_JERRY] - np.eye(4)[1],
            "You subtracted 1 at chase, the most probable word. Right is <eos>.",
        ),
    ],
    right="Yes: p minus 1 at the right word, p everywhere else. Together they give 0.",
    tolerance=0.01,
    hint="p minus the one-hot row of the right answer.",
)

RATE = Choice(
    id="what_you_need.learning_rate",
    question="In the player of one step, the gradient is right, the step goes downhill, and yet with a learning rate "
    "of 20 the loss is larger afterwards. Why?",
    choices=[
        "The step is subtracted where it should be added.",
        "The step is so long that it goes past the valley and up on the other side.",
        "With a large learning rate the gradient itself becomes too large.",
        "The loss is a sum over the words, and has to be divided by their number.",
    ],
    answer=1,
    wrong=[
        Wrong(0, "Then every learning rate would raise the loss. With 0.5 it falls."),
        Wrong(2, "Look at weight_gradient: it does not change. It was found before the step, at the old weights."),
        Wrong(3, "It is a mean already, see loss.mean. Dividing changes the numbers, not whether they rise."),
    ],
    right="Yes. The gradient tells the slope where you stand, not how far the slope goes on.",
    hint="Change the learning rate to 1, 3, 10 and 20 and watch after.loss.mean. Look at weight_gradient as well.",
)

SHAPE = Choice(
    id="what_you_need.shape",
    level="recall",
    question="x is 3 × 5 and the gradient of the logits is 3 × 4. Which product gives the gradient of the weight, "
    "which is 5 × 4 like the weight?",
    choices=["x times the gradient", "x transposed times the gradient", "the gradient times x transposed"],
    answer=1,
    wrong=[
        Wrong(0, "The inner sizes do not fit: a row of x has 5 numbers, a column of the gradient has 3."),
        Wrong(2, "The inner sizes do not fit: a row of the gradient has 4 numbers, a column of x transposed has 5."),
    ],
    right="Yes: 5 × 3 times 3 × 4 is 5 × 4. The 3 words are added up, each with its vote.",
    hint="Write the shapes side by side: the inner sizes must be equal, and the outer ones stay.",
)


def _step(x, weight, bias, targets, learning_rate):
    error = cross_entropy_gradient(x @ weight + bias, targets)
    return weight - learning_rate * x.T @ error


def _step_uphill(x, weight, bias, targets, learning_rate):
    return 2 * weight - _step(x, weight, bias, targets, learning_rate)


def _step_of_the_sum(x, weight, bias, targets, learning_rate):
    return _step(x, weight, bias, targets, learning_rate * len(x))


def _step_without_the_answer(x, weight, bias, targets, learning_rate):
    return weight - learning_rate * x.T @ _softmax(x @ weight + bias) / len(x)


def _step_without_the_bias(x, weight, bias, targets, learning_rate):
    return _step(x, weight, np.zeros_like(bias), targets, learning_rate)


def _step_softmax_down(x, weight, bias, targets, learning_rate):
    p = _softmax(x @ weight + bias, axis=0)
    return weight - learning_rate * x.T @ (p - np.eye(len(bias))[targets]) / len(x)


def _gradient_only(x, weight, bias, targets, learning_rate):
    return weight - _step(x, weight, bias, targets, 1.0)


def _cases() -> list[tuple]:
    draws = np.random.default_rng(0)
    cases = []
    for n, d, vocab_size, rate in ((3, 5, 4, 0.5), (6, 2, 7, 0.1)):
        arrays = (np.round(draws.normal(size=shape), 3) for shape in ((n, d), (d, vocab_size), (vocab_size,)))
        cases.append((*arrays, draws.integers(vocab_size, size=n), rate))
    return cases


WRITE_STEP = Code(
    id="what_you_need.write",
    question="Write step(x, weight, bias, targets, learning_rate) in NumPy: it returns the weight after one step of "
    "gradient descent on the mean cross-entropy.",
    solution=_step,
    cases=_cases(),
    wrong=[
        Wrong(_step_uphill, "You add the gradient. The gradient points uphill, so subtract it."),
        Wrong(
            _step_of_the_sum, "This is the gradient of the sum. Divide it by the number of rows: the loss is a mean."
        ),
        Wrong(_step_without_the_answer, "The right answers do nothing here. Subtract 1 where they are."),
        Wrong(_step_without_the_bias, "The bias is missing in the logits: x @ weight + bias."),
        Wrong(_step_softmax_down, "Softmax runs down the columns. Each row must sum to 1: use axis=-1."),
        Wrong(_gradient_only, "This is the gradient. Return the weight minus learning_rate times it."),
    ],
    right="Your step agrees with the library on every case. Repeat it often enough, and you have trained a model.",
)

EXERCISES = (DOT_PRODUCT, LOGIT, SOFTMAX, LOSS, ERROR_ROW, RATE, SHAPE, WRITE_STEP)
