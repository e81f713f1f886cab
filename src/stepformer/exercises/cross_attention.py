"""Exercises of the chapter on cross-attention. Every accepted number is computed by the package."""

import numpy as np

from stepformer import examples
from stepformer.exercises.exercise import Choice, Code, Number, Wrong
from stepformer.reference.cross_attention import cross_attention

_D_MODEL, _D_K = examples.CROSS_ATTENTION_PARAMS["w_k.weight"].shape
_D_V = examples.CROSS_ATTENTION_PARAMS["w_v.weight"].shape[1]
_N_TGT, _N_SRC = 9, 6

SHAPE = Number(
    id="cross_attention.shape",
    level="recall",
    question="A source of 6 tokens is translated into 9 tokens, with d_model 10, d_k 5 and d_v 7. How many rows and "
    "columns have the weights, and how many the output?",
    answer=[_N_TGT, _N_SRC, _N_TGT, _D_V],
    fields=["rows of the weights", "columns of the weights", "rows of the output", "columns of the output"],
    wrong=[
        Wrong([_N_SRC, _N_TGT, _N_TGT, _D_V], "The weights lie the wrong way round: each target token has a row."),
        Wrong([_N_SRC, _N_TGT, _N_SRC, _D_V], "You let the source ask. The target asks: each of its tokens has a row."),
        Wrong([_N_TGT, _N_TGT, _N_TGT, _D_V], "That is self-attention of the target. Here the columns are the source."),
        Wrong([_N_TGT, _N_SRC, _N_TGT, _D_MODEL], "Almost: an average of values is as wide as a value, 7, not 10."),
        Wrong([_N_TGT, _N_SRC, _N_SRC, _D_V], "The weights are right. Each of their 9 rows makes one row of output."),
    ],
    right="Yes: a row for each token that asks, a column for each token that is asked, and values come out.",
    tolerance=0.5,
    hint="Who asks gives the rows. Who is asked gives the columns of the weights.",
)

_SOFT, _OUTPUT = np.array([2 / 3, 1 / 3]), examples.CHARACTER_VALUES[:, :2]

EASY = Number(
    id="cross_attention.easy",
    question="The word easy takes 2/3 of its weight from 水 and 1/3 from 课. 水 speaks for water with 1.0 and for easy "
    "with 0.8; 课 speaks for water with −1.2 and for easy with 0.5. What does easy receive for water and for easy?",
    answer=_SOFT @ _OUTPUT,
    fields=["water", "easy"],
    wrong=[
        Wrong(_SOFT[::-1] @ _OUTPUT, "You gave 课 the larger weight. Here 水 has two parts and 课 has one."),
        Wrong(_OUTPUT[0], "That is the value of 水 alone, the hard look-up. It would be translated as water."),
        Wrong(_OUTPUT.sum(axis=0), "You added the two values. Weight each of them first; the weights sum to 1."),
        Wrong(_OUTPUT.mean(axis=0), "That is the plain average. 水 has twice the weight of 课."),
    ],
    right="Yes. The two characters agree on easy and disagree on water, so only together do they say easy.",
    tolerance=0.01,
    hint="2/3 · 1.0 + 1/3 · (−1.2), and the same with the second pair.",
)

_LONG = 20
_PROJECTIONS = 3 * _D_MODEL * (_D_K + _D_V)

SAVED = Number(
    id="cross_attention.saved",
    question="Three source words, d_model 10, d_k 5, d_v 7. A decoder writes 20 words, one at a time. How many "
    "multiplications does it save by computing the keys and values of the source once instead of for every word?",
    answer=(_LONG - 1) * _PROJECTIONS,
    wrong=[
        Wrong(_LONG * _PROJECTIONS, "Once they have to be computed, so 19 times are saved, not 20."),
        Wrong((_LONG - 1) * 3 * _D_MODEL * _D_K, "That is what the keys save. The values are kept as well."),
        Wrong((_LONG - 1) * 3 * _D_MODEL * _D_V, "That is what the values save. The keys are kept as well."),
        Wrong(
            (_LONG - 1) * 3 * (_D_K + _D_V),
            "That is the cost of comparing and averaging. It is new for every word, so nothing of it can be saved.",
        ),
        Wrong(_PROJECTIONS, "That is the cost of one projection of the source. How often is it avoided?"),
    ],
    right="Yes: 19 times 3 · 10 · (5 + 7). The longer the translation, the more is saved.",
    tolerance=0.5,
    hint="One source row costs 10 · 5 for its key and 10 · 7 for its value.",
)

MASK = Choice(
    id="cross_attention.mask",
    level="recall",
    question="In a batch, the source of one pair is “Tom run <pad>” and its target is “汤姆 跑 <eos> <pad>”. What must "
    "the mask of cross-attention hide?",
    choices=[
        "The third column: no target word may attend to the <pad> of the source.",
        "The third column and the fourth row: the <pad> of the target may not ask either.",
        "The fourth row: the <pad> of the target may not ask.",
        "Everything above the diagonal: no target word may attend to later source words.",
    ],
    answer=0,
    wrong=[
        Wrong(1, "The fourth row does no harm: nobody reads it. Emptied, it is 0/0 in code that is less careful."),
        Wrong(2, "A row that nobody reads does no harm. The <pad> of the source would reach every output."),
        Wrong(3, "The source is known to its end before the first target word is written. There is no future to hide."),
    ],
    right="Yes: mask the keys, never the queries. The row of a padded target token is computed and ignored.",
    hint="What would be read by a word that counts?",
)

LAYERS = Choice(
    id="cross_attention.layers",
    level="recall",
    question="An encoder has six layers and a decoder has six. What does the cross-attention of decoder layer 2 read?",
    choices=[
        "The output of encoder layer 2, its counterpart.",
        "The output of decoder layer 1, like every other sub-layer.",
        "The output of encoder layer 6, the last one, like the cross-attention of every decoder layer.",
        "The word vectors of the source, before the first encoder layer.",
    ],
    answer=2,
    wrong=[
        Wrong(0, "There are no pairs of layers in the paper. Encoder and decoder need not even have equally many."),
        Wrong(1, "That is where its queries come from. Keys and values come from the other stack."),
        Wrong(3, "Then the encoder would be of no use: it is its output that the decoder asks."),
    ],
    right="Yes. There is one memory, and every decoder layer asks it with projections of its own.",
    hint="There is only one matrix called memory.",
)


def _softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    raised = np.exp(x - x.max(axis=axis, keepdims=True))
    return raised / raised.sum(axis=axis, keepdims=True)


def _attend(query: np.ndarray, key: np.ndarray, value: np.ndarray, width: int, axis: int = -1) -> np.ndarray:
    return _softmax(query @ key.T / width**0.5, axis) @ value


def _roles_swapped(x, memory, w_q, w_k, w_v):
    return _attend(memory @ w_q, x @ w_k, x @ w_v, w_k.shape[1])


def _target_asks_itself(x, memory, w_q, w_k, w_v):
    return _attend(x @ w_q, x @ w_k, x @ w_v, w_k.shape[1])


def _source_asks_itself(x, memory, w_q, w_k, w_v):
    return _attend(memory @ w_q, memory @ w_k, memory @ w_v, w_k.shape[1])


def _scaled_by_d_model(x, memory, w_q, w_k, w_v):
    return _attend(x @ w_q, memory @ w_k, memory @ w_v, x.shape[1])


def _softmax_over_queries(x, memory, w_q, w_k, w_v):
    return _attend(x @ w_q, memory @ w_k, memory @ w_v, w_k.shape[1], axis=0)


def _matrices_exchanged(x, memory, w_q, w_k, w_v):
    return _attend(x @ w_k, memory @ w_q, memory @ w_v, w_k.shape[1])


def _right(x, memory, w_q, w_k, w_v):
    return cross_attention(x, memory, {"w_q.weight": w_q, "w_k.weight": w_k, "w_v.weight": w_v}).output


def _cases() -> list[tuple]:
    draws = np.random.default_rng(0)
    weights = (_D_MODEL, _D_K), (_D_MODEL, _D_K), (_D_MODEL, _D_V)
    sizes = ((4, _D_MODEL), (3, _D_MODEL)), ((2, _D_MODEL), (6, _D_MODEL))
    return [tuple(np.round(draws.normal(size=shape), 3) for shape in (*pair, *weights)) for pair in sizes]


WRITE = Code(
    id="cross_attention.write",
    question="Write cross_attention(x, memory, w_q, w_k, w_v) in NumPy: it returns the output, one row per row of x.",
    solution=_right,
    cases=_cases(),
    wrong=[
        Wrong(_roles_swapped, "You let the memory ask and x answer. Queries come from x, keys and values from memory."),
        Wrong(_target_asks_itself, "Keys and values come from x: that is self-attention. They come from memory."),
        Wrong(_source_asks_itself, "All three come from memory: that is what the encoder did. Queries come from x."),
        Wrong(_matrices_exchanged, "W^Q and W^K are exchanged: W^Q belongs to x and W^K to memory."),
        Wrong(_scaled_by_d_model, "You divide by the root of d_model. It is the width of a query that counts, d_k."),
        Wrong(_softmax_over_queries, "Softmax runs along the queries. The weights of each row must sum to 1."),
    ],
    right="Your function agrees with the library, for short sources and long ones.",
)

EXERCISES = (SHAPE, EASY, SAVED, MASK, LAYERS, WRITE)
