"""Exercises of the chapter on the encoder: the norm by hand, what it looks at, the way around, sizes, copies."""

import numpy as np

from stepformer.exercises.exercise import Choice, Code, Number, Wrong
from stepformer.ops import add
from stepformer.reference.normalization import layer_norm

_ROW = np.array([2.0, 4.0, 4.0, 6.0])
_CENTRED = _ROW - _ROW.mean()
_ENDS = [0, 3]
_TOKENS, _D_MODEL, _D_FF, _N_LAYERS = 7, 512, 2048, 6
_HALF = _D_MODEL * _D_FF

NORMALISE = Number(
    id="encoder.normalise",
    question="A word has the four numbers 2, 4, 4, 6. Normalise the row, without gain and bias (eps is too small to "
    "matter). What do 2 and 6 become?",
    answer=(_CENTRED / _ROW.std())[_ENDS],
    fields=["2 becomes", "6 becomes"],
    wrong=[
        Wrong(
            (_CENTRED / _ROW.std(ddof=1))[_ENDS],
            "You divided the squares by 3, one less than the width, as statisticians do with a sample. A layer norm "
            "divides by the width: (4 + 0 + 0 + 4) / 4.",
        ),
        Wrong(
            (_CENTRED / _ROW.var())[_ENDS],
            "You divided by the variance, 2. Take its root first: numbers of deviation 1.41 are to get deviation 1.",
        ),
        Wrong((_ROW / _ROW.std())[_ENDS], "You did not take the mean away. It is 4, so 2 becomes −2 and 6 becomes 2."),
        Wrong(_CENTRED[_ENDS], "That is the row without its mean. It still has to be divided by the root of 2."),
    ],
    right="Yes: the mean is 4, the variance (4 + 0 + 0 + 4) / 4 = 2, and −2 / √2 = −1.41.",
    tolerance=0.006,
    hint="Mean, then squares of what is left, their mean, its root.",
)

WHO_NOTICES = Choice(
    id="encoder.who_notices",
    question="In the player of the norm you change one number of Jerry. What changes in the last step?",
    choices=[
        "That one number and nothing else.",
        "The whole row of Jerry, and no other row.",
        "The column of that number, in all three rows.",
        "Everything.",
    ],
    answer=1,
    wrong=[
        Wrong(0, "The number is part of the mean and the variance of its row. Try it: which cells are marked?"),
        Wrong(2, "That is what happens with the switch “Normalise over the words”. A layer norm does not look there."),
        Wrong(3, "A layer norm never looks at another row. Try it: the rows of Tom and chase are not marked."),
    ],
    right="Yes. Mean and variance belong to one row, so all of that row moves a little, and no other word notices.",
    hint="Which numbers go into the mean of a row?",
)

SHAPE = Number(
    id="encoder.shape",
    level="recall",
    question="7 tokens, d_model 512, d_ff 2048, 6 layers. What is the shape of what leaves the last layer?",
    answer=[_TOKENS, _D_MODEL],
    fields=["rows", "columns"],
    wrong=[
        Wrong([_TOKENS, _D_FF], "2048 columns exist only inside of the feed-forward network. It leads back to 512."),
        Wrong([_N_LAYERS, _D_MODEL], "The layers come one after the other. What is left is one row for each token."),
        Wrong([1, _D_MODEL], "One vector for the whole sentence was the encoder of the recurrent networks. Here each "
              "token keeps a row of its own."),
        Wrong([_TOKENS * _N_LAYERS, _D_MODEL], "The rows of one layer go into the next; they are not collected."),
    ],
    right="Yes: one vector in, one vector out, for each token and through every layer.",
    tolerance=0.4,
    hint="What has to be equal so that x can be added to what a sub-layer found?",
)  # fmt: skip

PARAMETERS = Number(
    id="encoder.parameters",
    question="How many parameters has the feed-forward network of one layer in the paper, 512 → 2048 → 512, with its "
    "biases?",
    answer=2 * _HALF + _D_FF + _D_MODEL,
    wrong=[
        Wrong(2 * _HALF, "Those are the weights. The hidden layer has 2048 biases, the output 512."),
        Wrong(_HALF + _D_FF, "That is the first half. The way back from 2048 to 512 is as large."),
        Wrong(2 * _HALF + _D_FF, "Nearly: the second linear layer has a bias too, 512 numbers."),
        Wrong(
            _N_LAYERS * (2 * _HALF + _D_FF + _D_MODEL),
            "That is for all six layers. The question was about one.",
        ),
    ],
    right="Yes, 2,099,712: nearly twice as many as in the attention of the same layer. They do not depend on how many "
    "tokens there are.",
    tolerance=0.4,
    hint="Two linear layers, each with weights and biases.",
)

NOTHING_FOUND = Choice(
    id="encoder.nothing_found",
    question="In all layers of a stack you set w_o, w_2 and their biases to 0, so that no sub-layer finds anything. "
    "What comes out of the last layer, before any norm at the end?",
    choices=[
        "With pre-norm exactly what went in; with post-norm the normalised rows of it.",
        "With post-norm exactly what went in; with pre-norm the normalised rows of it.",
        "Zeros, with either.",
        "Exactly what went in, with either.",
    ],
    answer=0,
    wrong=[
        Wrong(1, "The other way round. In which column of the figure does the way around lead past all norms?"),
        Wrong(2, "What the sub-layers find is 0, but x is added to it. That is what the way around is for."),
        Wrong(3, "With post-norm every sum goes through a norm, also x + 0."),
    ],
    right="Yes. In a stack with pre-norm an open road leads from the bottom to the top, and the sub-layers only add to "
    "what travels on it.",
    hint="Follow the line around the sub-layers in both columns of the figure.",
)

COPIES = Choice(
    id="encoder.copies",
    question="A program makes one encoder layer, copies it five times with copy.deepcopy, and trains the six. What is "
    "true of them?",
    choices=[
        "They share their weights: whatever one layer learns, all have learned.",
        "They begin with the same weights and then learn apart, each its own.",
        "They begin with the same weights and therefore stay the same for ever.",
        "They begin with different weights, because each copy draws its own.",
    ],
    answer=1,
    wrong=[
        Wrong(0, "A deep copy has tensors of its own. Sharing would be to use the same layer six times."),
        Wrong(2, "Each layer gets another input and another gradient, so they part with the first step of training."),
        Wrong(3, "Nothing is drawn when something is copied. torch.nn.TransformerEncoder is made like this, and its "
              "layers begin equal."),
    ],
    right="Yes. They learn apart, but the random start was drawn once and not six times. Draw anew for each layer, as "
    "stepformer.nn.Encoder does.",
    hint="What does a copy hold: the tensor itself, or another with the same numbers?",
)  # fmt: skip


def _by_hand(x, found, gain, bias, axis=-1, correction=0, inside=1e-5, outside=0.0):
    total = x + found
    variance = total.var(axis=axis, keepdims=True, ddof=correction)
    deviation = np.sqrt(variance + inside) + outside
    return (total - total.mean(axis=axis, keepdims=True)) / deviation * gain + bias


def _solution(x, found, gain, bias):
    return layer_norm(add(x, found), {"gain": gain, "bias": bias})


def _cases() -> list[tuple]:
    draws = np.random.default_rng(0)
    cases = []
    for scale in (1, 0.005):  # with numbers so small it matters where eps stands
        x, found = (scale * draws.normal(size=(2, 3, 10))).round(4)
        gain, bias = draws.normal(size=(2, 10)).round(4)
        cases.append((x, found, gain, bias))
    return cases


WRITE = Code(
    id="encoder.write",
    question="Write add_and_norm(x, found, gain, bias) in NumPy: the sum, normalised, with eps = 1e-5. It returns the "
    "shape of x.",
    solution=_solution,
    cases=_cases(),
    wrong=[
        Wrong(lambda x, *others: _by_hand(0, *others), "The way around is missing: add x to found."),
        Wrong(
            lambda x, *others: x + _by_hand(0, *others),
            "You normalise first and add then. In the layer of the paper the norm comes after the sum.",
        ),
        Wrong(
            lambda *given: _by_hand(*given, axis=0),
            "You average over the words, axis 0. A row is normalised over its own columns: axis −1.",
        ),
        Wrong(
            lambda *given: _by_hand(*given, correction=1),
            "You divide the squares by one less than the width. Use the mean of the squares, ddof=0.",
        ),
        Wrong(
            lambda *given: _by_hand(*given, inside=0, outside=1e-5),
            "eps stands inside the root: √(variance + eps). With small numbers the difference shows.",
        ),
        Wrong(
            lambda x, found, gain, bias: _by_hand(x, found, 1, 0),
            "Gain and bias are missing: multiply each column by its gain and add its bias.",
        ),
    ],
    right="Your function agrees with the library, also where eps matters.",
)

EXERCISES = (NORMALISE, WHO_NOTICES, SHAPE, PARAMETERS, NOTHING_FOUND, COPIES, WRITE)
