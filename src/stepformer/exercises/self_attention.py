"""Exercises of the chapter on self-attention. Every accepted number is computed by the package."""

import numpy as np

from stepformer import examples
from stepformer.exercises.exercise import Choice, Code, Number, Wrong
from stepformer.ops import causal_mask, mask, softmax
from stepformer.reference.self_attention import self_attention

_PARAMS = examples.SELF_ATTENTION_PARAMS
_D_MODEL, _D_K = _PARAMS["w_q.weight"].shape
_D_V = _PARAMS["w_v.weight"].shape[1]
_N = 3
_WIDTH = 64

PARAMETERS = Number(
    id="self_attention.parameters",
    question="The layer of this chapter has d_model 10, d_k 5 and d_v 7. How many learned numbers do W^Q, W^K and W^V "
    "hold together?",
    answer=sum(weight.size for weight in _PARAMS.values()),
    wrong=[
        Wrong(
            _N * sum(weight.size for weight in _PARAMS.values()),
            "That is what projecting three words costs in multiplications. The matrices are the same for every word, "
            "however many there are.",
        ),
        Wrong(3 * _D_MODEL * _D_K, "That would be right if the values were 5 wide like the keys. They are 7 wide."),
        Wrong(_D_K + _D_K + _D_V, "Those are the widths of the results. Each matrix has 10 rows, one per feature."),
        Wrong(
            _D_MODEL * (_D_K + _D_V),
            "That leaves one matrix out: queries and keys have the same width, but each has its own matrix.",
        ),
    ],
    right="Yes: 10 · 5 + 10 · 5 + 10 · 7. The number of words does not occur in it: one layer serves every length.",
    tolerance=0.5,
    hint="A matrix that turns 10 numbers into 5 has 10 rows and 5 columns.",
)

CAUSAL_WEIGHTS = Number(
    id="self_attention.causal_weights",
    question="Four words, a causal mask, and all scaled scores are equal. Which weights does the third word give to "
    "the four words?",
    answer=softmax(mask(np.zeros((4, 4)), causal_mask(np.zeros((4, 1)), np.zeros((4, 1)))))[2],
    fields=["first word", "second word", "third word", "fourth word"],
    wrong=[
        Wrong([1 / 4] * 4, "Without a mask, yes. The fourth word comes later, so it must get nothing."),
        Wrong([1 / 2, 1 / 2, 0, 0], "A word may look at itself as well: the diagonal is allowed."),
        Wrong([0, 0, 1 / 2, 1 / 2], "That is the future and itself: the mask is laid the wrong way."),
        Wrong(
            [1 / 4, 1 / 4, 1 / 4, 0],
            "These sum to 3/4. Mask the scores before softmax, then the rest shares the whole weight.",
        ),
    ],
    right="Yes: three words may be seen, itself included, and equal scores share the weight equally.",
    hint="Softmax over the allowed scores only; the weights of a row sum to 1.",
)

SHUFFLED = Choice(
    id="self_attention.shuffled",
    question="In “Tom chase Jerry”, the output row of Tom is z. Nothing tells the layer about positions. What is the "
    "output row of Tom in “Jerry chase Tom”?",
    choices=[
        "The row that Jerry had, because Tom now stands in Jerry's place.",
        "Another row, because the sentence now means something else.",
        "The same row z; it only stands in another place.",
        "That depends on the causal mask, which every self-attention has.",
    ],
    answer=2,
    wrong=[
        Wrong(0, "The place plays no part in it: queries, keys and values are made from the word's vector alone."),
        Wrong(1, "It does mean something else, but this layer cannot see that. Try it in the player."),
        Wrong(3, "There is no mask in this layer. An encoder reads whole sentences and needs none against the future."),
    ],
    right="Yes. The words move, and their rows move along. That is why positions have to be added, in a later chapter.",
    hint="Type the second sentence into the player and compare the outputs.",
)

CROSSOVER = Number(
    id="self_attention.crossover",
    level="think",
    question="d_model, d_k and d_v are all 64. For how many words do the two products between pairs of words (query "
    "times key, weights times value) cost as many multiplications as the three projections?",
    answer=1.5 * _WIDTH,
    wrong=[
        Wrong(_WIDTH, "n = d makes n²·d and n·d² equal. But there are two products with n² and three projections."),
        Wrong(3 * _WIDTH, "You counted one of the two products between pairs. Both cost n²·d."),
        Wrong(2 / 3 * _WIDTH, "Upside down: the projections cost 3·n·d², the pairs 2·n²·d."),
        Wrong(_WIDTH**2, "Set 2·n²·d equal to 3·n·d² and divide both sides by n·d."),
    ],
    right="Yes, 96: for sentences the projections cost more, for books the pairs do.",
    tolerance=0.5,
    hint="Set 3·n·d² equal to 2·n²·d.",
)

LEAK = Choice(
    id="self_attention.leak",
    question="Someone trains a model to predict the next word and forgets the causal mask. The loss falls close to 0. "
    "When the model writes by itself, it writes nonsense. Why?",
    choices=[
        "Without the mask the weights of a row do not sum to 1.",
        "It learned to copy the next word from its own input; when it writes, that word is not there yet.",
        "It has learned the training data by heart; more data would repair it.",
        "The mask matters only when writing, so the training was right and the writing lacks the mask.",
    ],
    answer=1,
    wrong=[
        Wrong(0, "They do: softmax sees to that with or without a mask."),
        Wrong(2, "More data would not help: copying works on every sentence, so nothing else is worth learning."),
        Wrong(3, "When writing there is no future to hide. It is in training that all words are there at once."),
    ],
    right="Yes. In training the answer stands one word further on. If the model can see it, it learns to copy, not to "
    "translate.",
    hint="In training, where does the word stand that row 追逐 has to predict?",
)


def _weights(query: np.ndarray, key: np.ndarray, allowed: np.ndarray, width: int, axis: int = -1) -> np.ndarray:
    return softmax(mask(query @ key.T / width**0.5, allowed), axis=axis)


def _forget_the_mask(x, w_q, w_k, w_v):
    everything = np.ones((len(x), len(x)), dtype=bool)
    return _weights(x @ w_q, x @ w_k, everything, w_k.shape[1]) @ (x @ w_v)


def _look_ahead(x, w_q, w_k, w_v):
    return _weights(x @ w_q, x @ w_k, causal_mask(x, x).T, w_k.shape[1]) @ (x @ w_v)


def _mask_after_softmax(x, w_q, w_k, w_v):
    weights = _weights(x @ w_q, x @ w_k, np.ones((len(x), len(x)), dtype=bool), w_k.shape[1])
    return weights * causal_mask(x, x) @ (x @ w_v)


def _exclude_itself(x, w_q, w_k, w_v):
    allowed = np.tril(np.ones((len(x), len(x)), dtype=bool), -1)
    return _weights(x @ w_q, x @ w_k, allowed, w_k.shape[1]) @ (x @ w_v)


def _scale_by_d_model(x, w_q, w_k, w_v):
    return _weights(x @ w_q, x @ w_k, causal_mask(x, x), x.shape[1]) @ (x @ w_v)


def _average_the_inputs(x, w_q, w_k, w_v):
    return _weights(x @ w_q, x @ w_k, causal_mask(x, x), w_k.shape[1]) @ x


def _solution(x, w_q, w_k, w_v):
    params = {"w_q.weight": w_q, "w_k.weight": w_k, "w_v.weight": w_v}
    return self_attention(x, params, causal_mask(x, x)).output


def _cases() -> list[tuple]:
    draws = np.random.default_rng(0)
    sizes = ((4, 10, 5, 7), (6, 3, 2, 8))
    return [
        tuple(np.round(draws.normal(size=shape), 3) for shape in ((n, d), (d, d_k), (d, d_k), (d, d_v)))
        for n, d, d_k, d_v in sizes
    ]


WRITE = Code(
    id="self_attention.write",
    question="Write causal_self_attention(x, w_q, w_k, w_v) in NumPy: it returns the output, one row per word, and no "
    "word sees what comes later.",
    solution=_solution,
    cases=_cases(),
    wrong=[
        Wrong(_forget_the_mask, "Every word sees every word. Set the scores of later words to −∞ before softmax."),
        Wrong(
            _look_ahead,
            "The mask is upside down: each word sees itself and what comes later. Use np.tril, not np.triu.",
        ),
        Wrong(
            _mask_after_softmax,
            "The weights are masked after softmax, so the rows no longer sum to 1. Mask the scores, before softmax.",
        ),
        Wrong(_exclude_itself, "A word may look at itself: the diagonal belongs to what is allowed."),
        Wrong(_scale_by_d_model, "You divide by the root of d_model. It must be that of d_k, the width of a query."),
        Wrong(_average_the_inputs, "You average x. Average the values x @ w_v."),
    ],
    right="Your function agrees with the library on every case.",
)

EXERCISES = (PARAMETERS, CAUSAL_WEIGHTS, SHUFFLED, CROSSOVER, LEAK, WRITE)
