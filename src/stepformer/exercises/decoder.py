"""Exercises of the chapter on the decoder: shapes, the shifted target, what counts, what leaks, passes, the mask."""

import numpy as np

from stepformer import examples
from stepformer.exercises.exercise import Choice, Code, Number, Wrong
from stepformer.reference.masks import target_mask

_N_SRC, _N_TGT = 6, 8

SHAPES = Number(
    id="decoder.shapes",
    level="recall",
    question=f"The source has {_N_SRC} tokens, and the decoder reads {_N_TGT}. What are the shapes of the weights in "
    "its two attentions, for one head?",
    answer=[_N_TGT, _N_TGT, _N_TGT, _N_SRC],
    fields=["self-attention: rows", "columns", "cross-attention: rows", "columns"],
    wrong=[
        Wrong([_N_TGT, _N_TGT, _N_SRC, _N_TGT], "In cross-attention the target asks: its tokens are the rows."),
        Wrong([_N_TGT, _N_SRC, _N_TGT, _N_SRC], "Masked self-attention has not heard of the source yet."),
        Wrong(
            [_N_SRC, _N_SRC, _N_TGT, _N_SRC], "That is the encoder's self-attention. In the decoder, the target asks."
        ),
        Wrong(
            [_N_TGT, _N_TGT, _N_TGT, _N_TGT], "Cross-attention asks the memory, which has a row for each source token."
        ),
    ],
    right="Yes: rows ask, columns are asked. So the causal mask is 8 × 8, and the memory's mask has 6 columns.",
    tolerance=0.4,
    hint="Rows are those who ask.",
)

_SHORT = examples.TARGET_BATCH[0]

ANSWERS = Number(
    id="decoder.answers",
    level="recall",
    question="A target in a batch has the ids 1 3 5 2 0: <bos> 汤姆 追逐 <eos> <pad>. The decoder reads 1 3 5 2. What "
    "is each of its four rows to answer?",
    answer=_SHORT[1:],
    fields=["row 0", "row 1", "row 2", "row 3"],
    wrong=[
        Wrong(_SHORT[:-1], "That is what it reads. It is to say what comes next."),
        Wrong([3, 5, 2, 2], "After <eos> nothing comes, not even another <eos>: the target has a <pad> there."),
        Wrong([3, 5, 0, 0], "Where is <eos>? Without it, the model would never learn to stop."),
        Wrong([2, 3, 5, 1], "The target moves to the left by one place; nothing comes in again at the other end."),
    ],
    right="Yes: the same ids without the first. The last row answers <pad>, which the loss leaves out.",
    tolerance=0.4,
    hint="Which word stands one place further?",
)

_LENGTHS = np.array([3, 5, 2])

COUNTED = Number(
    id="decoder.counted",
    question="Three targets of 3, 5 and 2 words are put into one batch, with <bos> and <eos> added, and padded. How "
    "many predictions count in the loss?",
    answer=int((_LENGTHS + 1).sum()),
    wrong=[
        Wrong(int(_LENGTHS.sum()), "You left out <eos>. It is predicted like any word; that is how a model can stop."),
        Wrong(int(3 * (_LENGTHS.max() + 1)), "You counted the rows of padding. The loss leaves them out."),
        Wrong(int((_LENGTHS + 2).sum()), "<bos> is read and never predicted."),
    ],
    right="Yes: 4 + 6 + 3. Each sentence counts its words and one <eos>.",
    tolerance=0.4,
    hint="What is predicted: <bos>, the words, <eos>, <pad>?",
)

LEAK = Number(
    id="decoder.leak",
    level="think",
    question="A decoder reads 6 tokens, at positions 0 to 5. You change the one at position 2. In how many of its 6 "
    "rows may a number change? And in how many without a causal mask?",
    answer=[4, 6],
    fields=["with the mask", "without it"],
    wrong=[
        Wrong([3, 6], "A row sees itself, too: row 2 has read the token that you changed."),
        Wrong(
            [3, 3], "Those are the rows after it, of the right decoder. Count row 2, and think again without a mask."
        ),
        Wrong([2, 6], "Rows 0 and 1 come before it, and they are the ones that must not change."),
        Wrong([1, 6], "Row 2 changes, and every later row may look at it."),
        Wrong([4, 4], "Without the mask, rows 0 and 1 look at position 2 as well. That is the leak."),
    ],
    right="Yes: rows 2 to 5. Without the mask rows 0 and 1 join them, and that is what the leak detector looks for.",
    tolerance=0.4,
    hint="Which rows may look at position 2?",
)

UPDATES = Choice(
    id="decoder.updates",
    question="In training, the decoder reads <bos> 汤姆 追逐 杰瑞, with a causal mask. Rows 0 to 2 can not see 杰瑞. "
    "The output layer has a table of its own. Does this sentence change the word vector of 杰瑞 in the table of the "
    "output embedding?",
    choices=[
        "No: masked values have no effect on the update of parameters.",
        "Yes, through row 3, which reads 杰瑞 itself and predicts <eos>.",
        "Yes, through all four rows: the mask acts only when the model writes.",
        "Only if the model predicts 杰瑞 wrongly in row 2.",
    ],
    answer=1,
    wrong=[
        Wrong(0, "What is masked is a pair, not a word: rows 0 to 2 may not look at it. Row 3 may."),
        Wrong(2, "The mask is there in training above all. Through rows 0 to 2 the gradient is exactly 0."),
        Wrong(3, "Row 2's answer trains what row 2 has read, and the output layer. It never touches that table's row."),
    ],
    right="Yes. A mask hides a word from some rows. In its own row, and in every later one, it is read and trained.",
    hint="Which rows have read 杰瑞?",
)

_N = 20

PASSES = Number(
    id="decoder.passes",
    level="think",
    question=f"A target of {_N} tokens, <eos> included. How often does the decoder run in a training step, and how "
    "often when it writes the target itself? And how many rows does it compute in all when it writes: if it computes "
    "the whole prefix each time, and if it keeps the old keys and values?",
    answer=[1, _N, _N * (_N + 1) // 2, _N],
    fields=["runs, training", "runs, writing", "rows, without a cache", "rows, with a cache"],
    wrong=[
        Wrong([1, _N, _N * _N, _N], "The prefix grows: 1 row in the first run, 2 in the second, … 20 in the last."),
        Wrong(
            [_N, _N, _N * (_N + 1) // 2, _N], "In training the target is known, so all rows are computed in one run."
        ),
        Wrong([1, 1, _N, _N], "When the model writes, each word is needed before the next can be read."),
        Wrong([1, _N, _N * (_N + 1) // 2, 1], "With a cache there is one new row in each of the 20 runs."),
    ],
    right="Yes. A cache saves work. It takes no run out of the row: 20 words still need 20 runs.",
    tolerance=0.4,
    hint="1 + 2 + … + 20.",
)


def _right(tokens, pad):
    return target_mask(tokens, np.zeros((*tokens.shape, 1)), int(pad))


def _causal_only(tokens, pad):
    n = tokens.shape[-1]
    return np.broadcast_to(np.tri(n, dtype=bool), (*tokens.shape, n))


def _padding_only(tokens, pad):
    return np.repeat((tokens != pad)[..., None, :], tokens.shape[-1], axis=-2)


def _turned(tokens, pad):
    return np.triu(np.ones((tokens.shape[-1],) * 2, dtype=bool)) & (tokens != pad)[..., None, :]


def _not_itself(tokens, pad):
    return np.tri(tokens.shape[-1], k=-1, dtype=bool) & (tokens != pad)[..., None, :]


def _opposite(tokens, pad):
    return ~_right(tokens, pad)


def _queries(tokens, pad):
    return np.tri(tokens.shape[-1], dtype=bool) & (tokens != pad)[..., :, None]


WRITE = Code(
    id="decoder.write",
    question="Write target_mask(tokens, pad): from a batch of token ids (n_sentences, n) the mask of the decoder's "
    "self-attention (n_sentences, n, n), True = may attend: nothing later, no padding. pad is the id of padding.",
    solution=_right,
    cases=[(np.array([[1, 4, 5, 2], [1, 6, 0, 0]]), 0), (np.array([[1, 9, 3]]), 9), (np.array([[7], [7]]), 0)],
    wrong=[
        Wrong(_causal_only, "That is the triangle alone. Padding must be hidden as well."),
        Wrong(_padding_only, "You hid the padding alone: every row sees what comes later."),
        Wrong(_turned, "The triangle lies on the wrong side: each row sees what comes later. Rows ask."),
        Wrong(_not_itself, "A row must see itself: what it has read last matters most."),
        Wrong(_opposite, "You marked what is hidden, as torch's modules do. Here True means may attend."),
        Wrong(_queries, "You hid rows of padding. Padding is to be hidden as a key: clear its columns."),
    ],
    right="Your function is right. Notice that it needs no loop: two masks of different shapes, joined by and.",
)

EXERCISES = (SHAPES, ANSWERS, COUNTED, LEAK, UPDATES, PASSES, WRITE)
