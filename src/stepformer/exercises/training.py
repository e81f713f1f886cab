"""Exercises of the chapter on training. Every accepted number is computed by the tested package."""

import numpy as np

from stepformer import examples
from stepformer.exercises.exercise import Choice, Code, Number, Wrong
from stepformer.ops import smooth
from stepformer.reference.adam import AdamSettings, adam, first_state

PIECES = Choice(
    id="training.pieces",
    level="compute",
    question="A corpus holds the words bees 4 times, sees 3 times and seed 2 times. Byte-pair encoding begins with "
    "their letters. Which pair does it join first?",
    choices=["b and e", "s and e", "e and e", "e and s"],
    answer=2,
    wrong=[
        Wrong(0, "b stands before e in bees alone: 4 times."),
        Wrong(1, "s stands before e in sees and in seed: 3 + 2 = 5 times."),
        Wrong(3, "e stands before s in bees and in sees: 4 + 3 = 7 times. One pair is in all three words."),
    ],
    right="Yes: it stands in all three words, 4 + 3 + 2 = 9 times.",
    hint="Count each pair of neighbours once for every time that its word occurs.",
)

SHIFT = Choice(
    id="training.shift",
    level="recall",
    question="The target is 汤姆 追逐 杰瑞. Which pair of rows is right for training: what the decoder reads, and what "
    "it must answer?",
    choices=[
        "reads 汤姆 追逐 杰瑞 <eos>, answers 汤姆 追逐 杰瑞 <eos>",
        "reads <bos> 汤姆 追逐 杰瑞, answers 汤姆 追逐 杰瑞 <eos>",
        "reads <bos> 汤姆 追逐 杰瑞, answers <bos> 汤姆 追逐 杰瑞",
        "reads 汤姆 追逐 杰瑞 <eos>, answers <bos> 汤姆 追逐 杰瑞",
    ],
    answer=1,
    wrong=[
        Wrong(0, "Every row reads its own answer. The loss falls to nothing, and the model has learned to copy."),
        Wrong(2, "Every row reads its own answer, and nothing ever says <eos>: the model would not know how to stop."),
        Wrong(3, "That is the shift the other way: the answer was read one step before."),
    ],
    right="Yes: each row has read everything before its answer, and not the answer. <eos> is an answer like any other.",
    hint="Go through it row by row: may this row know its answer already?",
)

_LOSSES = [[3.0, 3.0], [1.0] * 6]
_ALL = np.concatenate(_LOSSES)

MEAN = Number(
    id="training.mean",
    question="A batch holds a sentence of 2 tokens, each with a loss of 3, and one of 6 tokens, each with a loss of 1. "
    "The short one is filled up with padding. What is the loss of the batch?",
    answer=_ALL.mean(),
    wrong=[
        Wrong(
            np.mean([np.mean(losses) for losses in _LOSSES]),
            "That is the mean of the two means. A token of the short sentence would then count three times as much as "
            "one of the long.",
        ),
        Wrong(_ALL.sum() / 12, "You divided by all 12 places of the array. Four of them are padding and do not count."),
        Wrong(_ALL.sum(), "That is the sum. It grows with the batch; the mean does not."),
    ],
    right="Yes: (2 · 3 + 6 · 1) / 8. Every token counts once, wherever it stands.",
    hint="How many answers that are words are there in the whole batch?",
)

_RATES = examples.paper_schedule().run({"step": np.array([400.0, 1600.0]), "warmup": 400.0, "d_model": 64.0})["rate"]

RATE = Number(
    id="training.rate",
    question="The paper's schedule with d_model = 64 and a warm-up of 400 steps. What is the learning rate at step "
    "400, and at step 1600? The root of 64 is 8, that of 400 is 20, that of 1600 is 40.",
    answer=_RATES,
    fields=["step 400", "step 1600"],
    tolerance=0.00004,
    wrong=[
        Wrong([1 / 20, 1 / 40], "The width is missing: divide by the root of d_model, 8."),
        Wrong(
            [_RATES[0], _RATES[0] / 4], "After the warm-up the rate falls with the root: four times the steps, half."
        ),
        Wrong([_RATES[0], 4 * _RATES[0]], "You went on rising. At step 400 the other term becomes the smaller one."),
        Wrong([1 / 20 / 64, 1 / 40 / 64], "You divided by d_model. It is its root."),
    ],
    right="Yes: 1 / (8 · 20) = 0.00625, and 1 / (8 · 40) = 0.003125. Four times the steps, half the rate.",
    hint="At the end of the warm-up both terms are equal: 1 / (8 · 20).",
    near="Not yet. Divide 1 by the root of d_model and by the root of the step.",
)


def _first_step(beta1: float, beta2: float) -> float:
    numbers = AdamSettings(*map(np.array, (0.01, beta1, beta2, 1e-9)))
    weight, _ = adam(np.array(0.0), np.array(0.003), first_state(np.array(0.0)), numbers)
    return float(weight)


FIRST = Number(
    id="training.first",
    question="A weight has the gradient 0.003 in the very first step of Adam. The learning rate is 0.01, β₁ = 0.9, "
    "β₂ = 0.98. By how much does the weight change, with its sign?",
    answer=_first_step(0.9, 0.98),
    tolerance=0.00001,
    wrong=[
        Wrong(-_first_step(0.9, 0.98), "The length is right. Which way does the loss fall? Against the gradient."),
        Wrong(-0.01 * 0.003, "That is plain gradient descent. Adam divides by the root of the mean square."),
        Wrong(
            -0.01 * 0.1 / np.sqrt(0.02),
            "The bias correction is missing: both running means began with zeros, and must be divided by their shares, "
            "0.1 and 0.02.",
        ),
        Wrong(-0.01 * 0.1, "You corrected only the mean square. The mean began with a zero as well."),
    ],
    right="Yes: in the first step every weight moves by the whole rate, however small its gradient is.",
    hint="Corrected, the mean is the gradient itself and the mean square is its square.",
    near="Not yet. After the correction: what is the mean, what the root of the mean square, what their quotient?",
)

_TARGET = smooth(np.eye(10)[:1], np.array(0.1))[0]
_FLOOR = float(-(_TARGET * np.log(_TARGET)).sum())

FLOOR = Number(
    id="training.floor",
    question="A vocabulary of 10 words, label smoothing with ε = 0.1. Which probability does the target give to the "
    "right word, which to each other word, and what is the smallest loss that any model can reach?",
    answer=[_TARGET[0], _TARGET[1], _FLOOR],
    fields=["right word", "other word", "smallest loss"],
    tolerance=0.003,
    wrong=[
        Wrong([0.91, 0.01, 0], "The probabilities are right. A loss of 0 would need a target of 1 and nothing else."),
        Wrong(
            [0.91, 0.01, -np.log(0.91)],
            "You counted the right word alone. The other nine have shares in the target, and cost something.",
        ),
        Wrong([0.9, 0.01, _FLOOR], "The 0.1 goes to all ten words, the right one as well: 0.9 + 0.01."),
    ],
    right="Yes: 0.9 + 0.1 / 10, and 0.1 / 10. The best a model can do is to say exactly that, and its loss is then "
    "−0.91 ln 0.91 − 9 · 0.01 ln 0.01 = 0.50.",
    hint="q = 0.9 for the right word, plus 0.1 / 10 for every word. The smallest loss is the sum of −q ln q.",
    near="Not yet. The shares must add up to 1; the loss adds up −q ln q over all ten words.",
)

CURVES = Choice(
    id="training.curves",
    question="After 1,000 steps the training loss still falls. The loss on dev was lowest at step 600 and has risen "
    "since. What is going on, and which weights do you keep?",
    choices=[
        "It still learns: keep the last weights.",
        "It has begun to learn the training pairs by heart: keep the weights of step 600.",
        "The learning rate is too low: begin again with a higher one.",
        "The dev pairs are too hard: train on them as well.",
    ],
    answer=1,
    wrong=[
        Wrong(0, "It learns something, but not what it is to learn: on pairs that it has not seen it gets worse."),
        Wrong(2, "The training loss falls, so the steps do what they should. What they fit is the question."),
        Wrong(3, "Then nobody would know any more how it does on pairs that it has not seen."),
    ],
    right="Yes. This is overfitting, and stopping at the best dev loss is early stopping. More data would help most.",
    hint="Which of the two curves tells how it will do on new sentences?",
)

_CASES = [(np.array([0, 1, 5]), 16, 4), (np.array([3, 4, 400]), 64, 100), (np.arange(1, 9), 10, 3)]


def _solution(step, d_model, warmup):
    step = np.maximum(step, 1)
    return d_model**-0.5 * np.minimum(step**-0.5, step * warmup**-1.5)


def _quietly(function):
    """Without the warnings of a division by zero, which the mistake is about."""

    def run(*arguments):
        with np.errstate(all="ignore"):
            return function(*(np.asarray(argument, dtype=float) for argument in arguments))

    return run


WRITE = Code(
    id="training.write",
    question="Write rate(step, d_model, warmup): step is an array of step numbers, the result is the paper's learning "
    "rate for each. Step 0 counts as step 1.",
    solution=_quietly(_solution),
    cases=_CASES,
    wrong=[
        Wrong(
            _quietly(lambda step, d_model, warmup: d_model**-0.5 * np.minimum(step**-0.5, step * warmup**-1.5)),
            "All is right but step 0: there it is 0, and the first update does nothing. Take 0 for 1.",
        ),
        Wrong(
            _quietly(lambda step, d_model, warmup: d_model**-0.5 * np.maximum(step, 1) ** -0.5),
            "The warm-up is missing: the rate is highest at the first step.",
        ),
        Wrong(
            _quietly(
                lambda step, d_model, warmup: (
                    d_model**-0.5 * np.maximum(np.maximum(step, 1) ** -0.5, np.maximum(step, 1) * warmup**-1.5)
                )
            ),
            "You take the larger of the two. It falls first and then rises for ever.",
        ),
        Wrong(
            _quietly(lambda step, d_model, warmup: _solution(step, 1, warmup)),
            "d_model is missing: wider models take smaller steps.",
        ),
        Wrong(
            _quietly(lambda step, d_model, warmup: _solution(step, d_model, warmup) * 1e-3),
            "You multiplied by a learning rate of your own. The formula is the rate.",
        ),
        Wrong(
            _quietly(
                lambda step, d_model, warmup: (
                    d_model**-0.5 * np.minimum(np.maximum(step, 1) ** -0.5, np.maximum(step, 1) / warmup)
                )
            ),
            "The rise must meet the fall at step = warmup: divide by warmup to the power of 1.5, not by warmup.",
        ),
    ],
    right="Your rates are those of the paper, from the first step on.",
)

EXERCISES = (PIECES, SHIFT, MEAN, RATE, FIRST, FLOOR, CURVES, WRITE)
