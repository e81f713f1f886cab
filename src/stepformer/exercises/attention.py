"""Exercises of the chapter on attention. Every accepted number is computed from the running example."""

import numpy as np

from stepformer import examples
from stepformer.exercises.exercise import Choice, Code, Number, Wrong
from stepformer.reference.attention import scaled_dot_product_attention

_TRACE = examples.attention()
_SCORES, _SCALED, _WEIGHTS = _TRACE["scores"], _TRACE["scaled_scores"], _TRACE["weights"]
_N_TGT, _N_SRC, _D_K, _D_V = 4, 3, examples.KEY.shape[1], examples.VALUE.shape[1]


def _softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    shifted = np.exp(x - x.max(axis=axis, keepdims=True))
    return shifted / shifted.sum(axis=axis, keepdims=True)


SCORE = Number(
    id="attention.score",
    question="Query 杰瑞 asks key Jerry. What is their score, the dot product before scaling? Two decimals are enough.",
    answer=_SCORES[2, 2],
    wrong=[
        Wrong(_SCALED[2, 2], "That is the score after dividing by √5. The question asks for the dot product itself."),
        Wrong(_SCORES[2, 0], "That is the score of 杰瑞 with Tom, the first key. Jerry is the last row of the keys."),
        Wrong(_SCORES[0, 2], "That is the score of 汤姆 with Jerry. The row of the query is 杰瑞."),
        Wrong(
            float(np.sum(examples.QUERY[2] + examples.KEY[2])),
            "You added the two rows. A dot product multiplies number by number first, then adds the products.",
        ),
    ],
    right="Yes. Five products, one sum: the two rows point the same way, so the score is large.",
    tolerance=0.01,
    hint="Multiply row 杰瑞 of the queries with row Jerry of the keys, number by number, and add the five products.",
)

WEIGHT = Number(
    id="attention.weights",
    question="A query has the scaled scores 1, 0 and 0 with three keys. Which three weights does softmax give?",
    answer=_softmax(np.array([1.0, 0.0, 0.0])),
    fields=["first key", "second key", "third key"],
    wrong=[
        Wrong(
            [1.0, 0.0, 0.0], "That is the hard look-up. Softmax is soft: e⁰ is 1, so a score of 0 still gets a share."
        ),
        Wrong(
            np.exp([1.0, 0.0, 0.0]),
            "These are the exponentials. Divide each of them by their sum, so that the weights sum to 1.",
        ),
        Wrong(
            _softmax(np.array([1.0, 0.0, 0.0]) / _D_K**0.5),
            "You divided by √5 once more. The scores in the question are scaled already.",
        ),
        Wrong(
            [1 / 3, 1 / 3, 1 / 3],
            "Equal weights come from equal scores. The first score is larger by 1, a factor of e.",
        ),
    ],
    right="Yes: e to 1 to 1, divided by their sum. A lead of 1 in the score is always a factor of e in the weight.",
    hint="Take e to the power of each score, then divide by the sum of the three.",
)

TEMPERATURE = Choice(
    id="attention.temperature",
    question="In the player with a temperature: what happens to the weights of a query as the temperature grows "
    "without end?",
    choices=[
        "They all approach 1/3, whatever the keys are.",
        "The largest approaches 1, the others approach 0.",
        "They all approach 0.",
        "They do not change, because softmax normalises them again.",
    ],
    answer=0,
    wrong=[
        Wrong(1, "That is what a temperature near 0 does: dividing by a small number makes differences large."),
        Wrong(2, "The scores approach 0, but softmax makes weights that sum to 1: equal scores give equal weights."),
        Wrong(3, "Softmax removes what is added to all scores, not what multiplies them. Try 10 in the player."),
    ],
    right="Yes. Divided by a huge number all scores are nearly equal, and equal scores share the weight equally.",
    hint="Set the temperature to 10, then to 100.",
)

COST = Number(
    id="attention.cost",
    question="How many multiplications do query times key and weights times value need together in the running example "
    "(4 queries, 3 keys, keys of width 5, values of width 7)? Leave out scale and softmax.",
    answer=_N_TGT * _N_SRC * (_D_K + _D_V),
    wrong=[
        Wrong(_N_TGT * _N_SRC * _D_K, "That is query times key alone. The weighted sum of the values comes on top."),
        Wrong(_N_TGT * _N_SRC * _D_V, "That is the weighted sum alone. The scores come on top."),
        Wrong(
            _N_TGT * _N_SRC * _D_K * _D_V,
            "The two products come one after the other: add their costs, do not multiply them.",
        ),
        Wrong(_N_TGT * _N_SRC, "That is the number of scores. Each of them takes d_k multiplications."),
    ],
    right="Yes: 12 pairs, each with 5 products for its score and 7 for its share of the output. Twice the words on "
    "both sides is four times the work.",
    tolerance=0.5,
    hint="Every cell of the scores takes d_k products; every cell of the output takes one product per key.",
)

SCALE = Choice(
    id="attention.why_scale",
    question="Keys and queries have independent entries with mean 0 and variance 1. Their width grows from 4 to 400, "
    "and the scores are not scaled. What goes wrong?",
    choices=[
        "The scores become so large that exp overflows.",
        "The standard deviation of the scores grows tenfold, softmax becomes nearly hard and its gradient nearly zero.",
        "The mean of the scores drifts away from 0, so all weights become equal.",
        "Nothing: softmax does not change when all scores are multiplied by the same number.",
    ],
    answer=1,
    wrong=[
        Wrong(
            0,
            "In 32 or 64 bits a standard deviation of 20 overflows nothing, and a good softmax subtracts the maximum "
            "first.",
        ),
        Wrong(2, "The mean stays 0. It is the spread that grows, with the square root of the width."),
        Wrong(3, "Softmax does not change when the same number is added to all scores. Multiplying sharpens it."),
    ],
    right="Yes. A sum of d_k products of variance 1 has variance d_k, so its standard deviation grows from 2 to 20. "
    "Dividing by √d_k brings it back to 1.",
    hint="The variances of independent terms add.",
)


def _attention_without_scale(query, key, value):
    return _softmax(query @ key.T) @ value


def _attention_wrong_axis(query, key, value):
    return _softmax(query @ key.T / key.shape[1] ** 0.5, axis=0) @ value


def _attention_value_width(query, key, value):
    return _softmax(query @ key.T / value.shape[1] ** 0.5) @ value


def _attention_weights_only(query, key, value):
    return _softmax(query @ key.T / key.shape[1] ** 0.5)


def _attention_hard(query, key, value):
    return value[(query @ key.T).argmax(axis=1)]


def _cases() -> list[tuple]:
    draws = np.random.default_rng(0)
    sizes = ((4, 3, 5, 7), (2, 6, 3, 2))
    return [
        tuple(np.round(draws.normal(size=shape), 3) for shape in ((n_q, d_k), (n_k, d_k), (n_k, d_v)))
        for n_q, n_k, d_k, d_v in sizes
    ]


WRITE_ATTENTION = Code(
    id="attention.write",
    question="Write attention(query, key, value) in NumPy: it returns the output, one row per query.",
    solution=lambda query, key, value: scaled_dot_product_attention(query, key, value).output,
    cases=_cases(),
    wrong=[
        Wrong(_attention_without_scale, "The scores are not divided by √d_k."),
        Wrong(
            _attention_wrong_axis,
            "Softmax runs along the queries. The weights of each query must sum to 1: use axis=-1.",
        ),
        Wrong(
            _attention_value_width,
            "You divide by the root of the width of the values. It must be that of the keys, d_k.",
        ),
        Wrong(_attention_weights_only, "These are the weights. Multiply them with the values."),
        Wrong(_attention_hard, "This takes the value of the best key only. Average all values with softmax weights."),
    ],
    right="Your function agrees with the library on every case. That is equation 1 of the paper.",
)

EXERCISES = (SCORE, WEIGHT, TEMPERATURE, SCALE, COST, WRITE_ATTENTION)
