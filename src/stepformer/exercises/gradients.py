"""Exercises of the chapter on gradients. Every accepted number is computed by the tested backward pass."""

import numpy as np

from stepformer.exercises.exercise import Choice, Code, Number, Wrong
from stepformer.ops import positive, softmax
from stepformer.reference.backward import softmax_backward

_WEIGHTS = np.array([[0.5, 0.3, 0.2]])
_COMES_BACK = np.array([[2.0, 0.0, -1.0]])
_SCORES_GRADIENT = softmax_backward(_COMES_BACK, _WEIGHTS)[0]

SOFTMAX = Number(
    id="gradients.softmax",
    question="A query has the weights 0.5, 0.3 and 0.2, and the gradients 2, 0 and −1 come back to them. What are the "
    "gradients of its three scores?",
    answer=_SCORES_GRADIENT,
    fields=["first", "second", "third"],
    wrong=[
        Wrong(
            (_WEIGHTS * _COMES_BACK)[0],
            "You multiplied each weight by its own gradient. First subtract the weighted mean of the gradients.",
        ),
        Wrong(
            (_WEIGHTS * (1 - _WEIGHTS) * _COMES_BACK)[0],
            "That is the diagonal of the derivative only: as if a score moved no weight but its own.",
        ),
        Wrong(
            (_WEIGHTS * (_COMES_BACK - _COMES_BACK.mean()))[0],
            "You subtracted the plain mean. The mean under the weights is 0.5 · 2 + 0.3 · 0 + 0.2 · (−1).",
        ),
        Wrong((_COMES_BACK - 0.8)[0], "The mean is subtracted. Now multiply each difference by its weight."),
    ],
    right="Yes: the mean under the weights is 0.8, and each weight times what is above it gives 0.60, −0.24 and −0.36. "
    "Their sum is 0.",
    hint="First the mean of the gradients, with the weights: 0.5 · 2 + 0.3 · 0 + 0.2 · (−1).",
)

_EXPANDED = np.array([-1.2, 0.4, 0.0, 3.0])
_HIDDEN_GRADIENT = np.array([0.5, -0.8, 0.6, 0.1])

RELU = Number(
    id="gradients.relu",
    question="Four units have the numbers −1.2, 0.4, 0 and 3 before ReLU. The gradients 0.5, −0.8, 0.6 and 0.1 come "
    "back to what ReLU gave. What are the gradients of the four numbers before it?",
    answer=_HIDDEN_GRADIENT * positive(_EXPANDED),
    fields=["−1.2", "0.4", "0", "3"],
    wrong=[
        Wrong(_HIDDEN_GRADIENT, "ReLU is missing: where the number was not above 0, nothing gets through."),
        Wrong(
            np.maximum(_HIDDEN_GRADIENT, 0),
            "You applied ReLU to the gradient. Look at the number before ReLU, not at the sign of the gradient.",
        ),
        Wrong(
            _HIDDEN_GRADIENT * np.maximum(_EXPANDED, 0),
            "You multiplied by what ReLU gave. Multiply by its slope, which is 1 or 0.",
        ),
        Wrong(
            _HIDDEN_GRADIENT * (_EXPANDED >= 0),
            "At 0 itself ReLU has a kink and no slope. torch and this book take 0 there.",
        ),
    ],
    right="Yes. Units that are on pass the gradient on as it is, whatever its sign; units that are off pass nothing.",
    hint="The slope of ReLU is 1 above 0, and 0 elsewhere.",
)

_ROWS = np.array([[0.2, -0.5], [0.4, 0.1], [0.0, 0.7]])

BIAS = Number(
    id="gradients.bias",
    question="A linear layer works on three words. The gradients of its output are (0.2, −0.5), (0.4, 0.1) and "
    "(0, 0.7), one row for each word. What is the gradient of its bias?",
    answer=_ROWS.sum(axis=0),
    fields=["first", "second"],
    wrong=[
        Wrong(
            _ROWS.mean(axis=0),
            "That is the mean. The bias is added to every word, so what the words want adds up. If the loss is a mean, "
            "its division is in the rows already.",
        ),
        Wrong(_ROWS[0], "That is the first word alone. The bias serves all three."),
        Wrong(_ROWS[-1], "That is the last word alone. The bias serves all three."),
        Wrong(np.abs(_ROWS).sum(axis=0), "Keep the signs: two words may want opposite things, and cancel."),
    ],
    right="Yes: 0.2 + 0.4 + 0 and −0.5 + 0.1 + 0.7. What is used several times adds up its gradients.",
    hint="The bias acts in three places. Add up what comes back from each.",
)

KINK = Number(
    id="gradients.kink",
    level="think",
    question="You measure the slope of ReLU at exactly 0 by a finite difference with h = 0.01. What do you get?",
    answer=0.5,
    wrong=[
        Wrong(0, "That is what torch and this book say by convention. The finite difference looks at both sides."),
        Wrong(1, "That is the slope on the right. On the left of 0 it is flat, and both sides count."),
        Wrong(0.01, "That is ReLU(h). Subtract ReLU(−h) and divide by 2h."),
    ],
    right="Yes: (0.01 − 0) / 0.02, for every h. The measurement is not wrong, there is simply no slope to be found.",
    hint="(ReLU(h) − ReLU(−h)) / 2h.",
    near="Not yet. What is ReLU(0.01), what is ReLU(−0.01), and what is their difference divided by 0.02?",
)

SHAPE = Choice(
    id="gradients.shape",
    level="recall",
    question="There are 3 queries and 4 keys of width 5. The gradient of the scores is 3 × 4. Which product is the "
    "gradient of the keys?",
    choices=[
        "scores_gradient times query",
        "scores_gradient times key",
        "scores_gradient transposed times query",
        "query transposed times scores_gradient",
    ],
    answer=2,
    wrong=[
        Wrong(0, "3 × 4 times 3 × 5: the inner sizes do not fit."),
        Wrong(1, "That is 3 × 5, the shape of the queries, and it is their gradient."),
        Wrong(3, "That is 5 × 4: the gradient of the keys transposed. A gradient has the shape of the thing."),
    ],
    right="Yes: 4 × 3 times 3 × 5 is 4 × 5, one row for each key. Each key adds up what all the queries want of it.",
    hint="The keys are 4 × 5, so their gradient is too.",
)

NORM = Choice(
    id="gradients.norm",
    question="In the player of the layer norm, row Jerry holds large numbers. Multiply that row of x by 2. What "
    "happens to its output, and to its row of x_gradient?",
    choices=[
        "Both are doubled.",
        "The output stays nearly as it is, and the gradient is halved.",
        "The output stays nearly as it is, and the gradient is doubled.",
        "Both stay as they are.",
    ],
    answer=1,
    wrong=[
        Wrong(0, "Layer norm divides by the deviation, which is doubled too. So the output stays."),
        Wrong(2, "The last step of the backward pass divides by the deviation. What happens to that?"),
        Wrong(3, "The output stays. But on a row twice as long, the same small step turns it only half as far."),
    ],
    right="Yes. The deviation is doubled, and the gradient is divided by it. Large rows learn slowly.",
    hint="Try it in the player. Which step is the last before x_gradient?",
)

TWICE = Choice(
    id="gradients.twice",
    question="With a residual connection, output = x + f(x). The gradient g comes back to the output. What is the "
    "gradient of x?",
    choices=["g", "what f passes back", "g plus what f passes back", "the mean of the two"],
    answer=2,
    wrong=[
        Wrong(0, "That is the straight way only. x also acts through f."),
        Wrong(1, "That is the way through f only. x is also added to the output as it is."),
        Wrong(3, "Two ways from x to the loss add up. Nothing is divided."),
    ],
    right="Yes. Every way from x to the loss counts. Even if f passes back nothing, g arrives whole.",
    hint="Nudge x: by how much does each of the two terms move?",
)


def _draws() -> list[tuple]:
    rng = np.random.default_rng(0)
    cases = []
    for shape in ((3, 4), (2, 5)):
        weights = softmax(np.round(rng.normal(size=shape), 3))
        cases.append((np.round(rng.normal(size=shape), 3), weights))
    return cases


def _solution(weights_gradient, weights):
    mean = (weights * weights_gradient).sum(axis=-1, keepdims=True)
    return weights * (weights_gradient - mean)


WRITE = Code(
    id="gradients.write",
    question="Write softmax_gradient(weights_gradient, weights) in NumPy: it returns the gradient of the scores, for "
    "softmax along each row.",
    solution=_solution,
    cases=_draws(),
    wrong=[
        Wrong(
            lambda g, w: w * g, "Each weight depends on all the scores of its row. Subtract the weighted mean first."
        ),
        Wrong(lambda g, w: w * (1 - w) * g, "This is the diagonal of the derivative only."),
        Wrong(
            lambda g, w: w * (g - g.mean(axis=-1, keepdims=True)),
            "You subtract the plain mean. It must be the mean under the weights.",
        ),
        Wrong(
            lambda g, w: w * (g - (w * g).sum(axis=0, keepdims=True)),
            "You add up down the columns. Each row is a softmax of its own: use axis=-1.",
        ),
        Wrong(
            lambda g, w: g - (w * g).sum(axis=-1, keepdims=True),
            "The factor is missing: multiply by the weights at the end.",
        ),
        Wrong(lambda g, w: -_solution(g, w), "The signs are turned round: this points downhill."),
    ],
    right="Your gradient agrees with the library on every case: the heart of attention's backward pass.",
)

EXERCISES = (SOFTMAX, RELU, BIAS, KINK, SHAPE, NORM, TWICE, WRITE)
