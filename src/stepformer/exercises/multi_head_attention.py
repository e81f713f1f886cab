"""Exercises of the chapter on multi-head attention: shapes, columns, parameters, and what W^O is for."""

import numpy as np

from stepformer import examples
from stepformer.exercises.exercise import Choice, Code, Number, Wrong
from stepformer.reference.multi_head_attention import multi_head_attention

_D_MODEL, _N_HEADS, _TOKENS = 512, 8, 4
_D_K = _D_MODEL // _N_HEADS
_CAST_WIDTH, _CAST_HEADS = 10, 2

SHAPES = Number(
    id="multi_head_attention.shapes",
    level="recall",
    question="4 tokens, d_model 512, 8 heads. What is the shape of the weights: heads, rows, columns?",
    answer=[_N_HEADS, _TOKENS, _TOKENS],
    fields=["heads", "rows", "columns"],
    wrong=[
        Wrong(
            [_N_HEADS, _TOKENS, _D_K],
            "That is the shape of the queries in heads. A weight belongs to a pair of tokens: one row per query, one "
            "column per key.",
        ),
        Wrong(
            [1, _TOKENS, _TOKENS],
            "That would be one head, or the mean over the heads. Each of the 8 heads has a matrix of its own.",
        ),
        Wrong(
            [_N_HEADS, _D_K, _D_K],
            "Here tokens and columns are mixed up: a query and a key meet along their 64 columns, and what is left is "
            "4 tokens by 4 tokens.",
        ),
        Wrong([_TOKENS, _N_HEADS, _N_HEADS], "The heads come first, and in each of them tokens meet tokens."),
    ],
    right="Yes: 8 matrices of 4 × 4. The width of a head, 64, is summed away in the dot products.",
    tolerance=0.4,
    hint="In each head, every token meets every token. What of that depends on the width?",
)

COLUMNS = Number(
    id="multi_head_attention.columns",
    question="d_model 512, 8 heads. Which columns of the projected query belong to head 1, counted like the columns "
    "from 0?",
    answer=[_D_K, 2 * _D_K - 1],
    fields=["first column", "last column"],
    wrong=[
        Wrong([0, _D_K - 1], "Those belong to head 0. Heads and columns are counted from 0."),
        Wrong(
            [_D_K, 2 * _D_K],
            "Nearly: 64 to 128 would be 65 columns. In Python the slice is 64:128, without column 128.",
        ),
        Wrong([_D_K + 1, 2 * _D_K], "Those are the numbers when columns are counted from 1. Here they start at 0."),
        Wrong(
            [1, _D_MODEL - _N_HEADS + 1],
            "Every eighth column, starting with 1, would be another way to share them out. Here each head gets a block "
            "of columns that lie side by side.",
        ),
    ],
    right="Yes, columns 64 to 127: block 1 of 8 blocks of 64. They were made from all 512 columns of the input.",
    tolerance=0.4,
    hint="Head 0 takes the first 64 columns: 0 to 63.",
)

_LINEAR = _CAST_WIDTH**2 + _CAST_WIDTH
_BLOCKS = 3 * (_CAST_HEADS * (_CAST_WIDTH // _CAST_HEADS) ** 2 + _CAST_WIDTH) + _LINEAR

PARAMETERS = Number(
    id="multi_head_attention.parameters",
    question="How many parameters has multi-head attention with d_model 10 and 2 heads, biases included?",
    answer=4 * _LINEAR,
    wrong=[
        Wrong(4 * _CAST_WIDTH**2, "Those are the weights. Each of the four layers also has a bias of 10 numbers."),
        Wrong(3 * _LINEAR, "Queries, keys and values are three layers. W^O is the fourth."),
        Wrong(
            3 * _CAST_HEADS * _LINEAR + _LINEAR,
            "You gave each head projections of full width, 10 × 10. A head has 10 × 5: together they are as wide as "
            "the model.",
        ),
        Wrong(_BLOCKS, "You split first and projected then, 5 × 5 in each head. Each head projects all 10 columns."),
        Wrong(
            2 * 4 * _LINEAR,
            "Twice as many heads are not twice as many parameters: each is half as wide.",
        ),
    ],
    right="Yes: four layers of 10 · 10 + 10. With 1, 5 or 10 heads it would be the same number.",
    tolerance=0.4,
    hint="Four linear layers, each from 10 to 10 columns.",
)

_SPLIT = examples.split_and_merge()["heads"]
_RESHAPED = examples.COUNTED.reshape(3, 4, 2)

SPLIT = Number(
    id="multi_head_attention.split",
    question="In the player with three heads of two columns: what stands in the row Tom of head 2, the last one?",
    answer=_SPLIT[2, 1],
    fields=["first number", "second number"],
    wrong=[
        Wrong(
            _RESHAPED[2, 1],
            "That is what a bare reshape gives. Head 2 must hold columns 4 and 5 of each word, and Tom is row 1.",
        ),
        Wrong(_SPLIT[1, 1], "That is head 1, the second one. Heads are counted from 0; head 2 holds columns 4 and 5."),
        Wrong(_SPLIT[2, 0], "That is the row of <bos>, which is row 0. Tom is row 1."),
        Wrong(_SPLIT[2, 2], "That is the row of chase. Tom is row 1, because <bos> is row 0."),
    ],
    right="Yes: row 1, columns 4 and 5.",
    tolerance=0.4,
    hint="Every number says where it stood: 23 is row 2, column 3.",
)

MORE_HEADS = Choice(
    id="multi_head_attention.more_heads",
    question="You train with 16 heads instead of 8 and leave d_model at 512. What changes?",
    choices=[
        "The layer has twice as many parameters, because there are twice as many heads.",
        "The layer has as many parameters as before, and each head can only compare 32 columns instead of 64.",
        "Each head looks at half of the input's columns, so the heads see less of each token.",
        "Nothing: W^O mixes all heads again, so the number of heads makes no difference.",
    ],
    answer=1,
    wrong=[
        Wrong(0, "The projections stay 512 × 512. The same columns are shared out among more heads."),
        Wrong(2, "Each head is made from all 512 columns by its own projection. What gets narrower is the result."),
        Wrong(3, "Softmax comes before W^O. 16 heads make 16 different sets of weights, and no W^O can undo that."),
    ],
    right="Yes. More heads look at more things at once, each with fewer columns. In the paper, too few and too many "
    "heads were both worse.",
    hint="What is the shape of W^Q, and where does the number of heads come in?",
)

KEY_BIAS = Choice(
    id="multi_head_attention.key_bias",
    question="In the player with the two heads, change w_k.bias, the bias of the keys. What happens?",
    choices=[
        "The scores change, and with them the weights and the output.",
        "The scores change, the weights and the output do not.",
        "Nothing changes at all, not even the scores.",
        "Only the head in whose columns you change it becomes hard.",
    ],
    answer=1,
    wrong=[
        Wrong(0, "Look at how they change: in each row, all by the same number. What does softmax make of that?"),
        Wrong(2, "The scores do change: go to the step “scores” and look for the marked cells."),
        Wrong(3, "A row that is moved as a whole keeps its differences, and softmax sees only differences."),
    ],
    right="Yes. Every key moves by the same vector, so all scores of a query move by the same number, which softmax "
    "does not see. The bias of the keys is the one that could be left out.",
    hint="Compare the scores of one row before and after: which differences between them have changed?",
)


def _softmax(x: np.ndarray) -> np.ndarray:
    shifted = np.exp(x - x.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def _split(x: np.ndarray, n_heads: int) -> np.ndarray:
    return x.reshape(len(x), n_heads, -1).swapaxes(0, 1)


def _bare_reshape(x: np.ndarray, n_heads: int) -> np.ndarray:
    return x.reshape(n_heads, len(x), -1)


def _merge(heads: np.ndarray) -> np.ndarray:
    return heads.swapaxes(0, 1).reshape(heads.shape[1], -1)


def _by_hand(x, w_q, w_k, w_v, w_o, n_heads, split=_split, merge=_merge, width=None, join=True):
    query, key, value = (split(x @ w, int(n_heads)) for w in (w_q, w_k, w_v))
    weights = _softmax(query @ key.swapaxes(1, 2) / (width or query.shape[-1]) ** 0.5)
    merged = merge(weights @ value)
    return merged @ w_o if join else merged


def _solution(x, w_q, w_k, w_v, w_o, n_heads):
    params = {f"w_{role}.weight": w for role, w in zip("qkvo", (w_q, w_k, w_v, w_o), strict=True)}
    params |= {f"w_{role}.bias": np.zeros(len(w_q)) for role in "qkvo"}
    return multi_head_attention(x, x, x, params, int(n_heads)).output


def _cases() -> list[tuple]:
    draws = np.random.default_rng(0)
    return [
        (*(draws.normal(size=shape).round(3) for shape in ((n, d), *[(d, d)] * 4)), n_heads)
        for n, d, n_heads in ((3, 10, 2), (4, 6, 3))
    ]


WRITE = Code(
    id="multi_head_attention.write",
    question="Write multi_head(x, w_q, w_k, w_v, w_o, n_heads) in NumPy, without biases: it returns one row per token.",
    solution=_solution,
    cases=_cases(),
    wrong=[
        Wrong(
            lambda *given: _by_hand(*given, split=_bare_reshape),
            "Your heads are a bare reshape, which mixes the tokens. Reshape to (n, n_heads, d_k), then move the heads "
            "to the front.",
        ),
        Wrong(
            lambda *given: _by_hand(*given, merge=lambda heads: heads.reshape(heads.shape[1], -1)),
            "You merge by a bare reshape. Move the tokens to the front again before the heads are laid side by side.",
        ),
        Wrong(
            lambda *given: _by_hand(*given, width=given[0].shape[1]),
            "You divide by √d_model. Each head divides by the root of its own width, d_model / n_heads.",
        ),
        Wrong(lambda *given: _by_hand(*given, join=False), "W^O is missing: the merged heads still have to be mixed."),
        Wrong(
            lambda *given: _by_hand(*given[:5], 1),
            "This is one head as wide as the model. Split queries, keys and values before they meet.",
        ),
    ],
    right="Your function agrees with the library on every case, with 2 heads and with 3.",
)

EXERCISES = (SHAPES, COLUMNS, SPLIT, PARAMETERS, MORE_HEADS, KEY_BIAS, WRITE)
