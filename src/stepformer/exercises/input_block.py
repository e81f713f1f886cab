"""Exercises of the chapter on the input block."""

import numpy as np

from stepformer import examples, ops
from stepformer.exercises.exercise import Choice, Code, Number, Wrong

_SHORT = np.array([0.5, -0.5, 0.1, 0.2])
_PLACE = ops.sinusoids(np.zeros((2, 4)))[1]

ROW = Number(
    id="input_block.row",
    question="With d_model = 4, the table has the row (0.5, −0.5, 0.1, 0.2) for chase, and the row of position 1 is "
    "(0.84, 0.54, 0.01, 1.00). What are the first two numbers that the first layer gets for chase at position 1?",
    answer=(_SHORT * 2 + _PLACE)[:2],
    fields=["first", "second"],
    tolerance=0.006,
    wrong=[
        Wrong(
            (_SHORT + _PLACE)[:2], "You added the position to the row as it stands. Multiply the row by √4 = 2 first."
        ),
        Wrong((_SHORT / 2 + _PLACE)[:2], "You divided by √d_model. The row is multiplied by it."),
        Wrong(
            ((_SHORT + _PLACE) * 2)[:2], "The factor belongs to the row of the word only, before the position comes."
        ),
        Wrong((_SHORT * 4 + _PLACE)[:2], "You multiplied by d_model. It is its square root: 2."),
        Wrong((_SHORT * 2)[:2], "That is the scaled row. The position is still missing."),
    ],
    right="Yes: 2 · 0.5 + 0.84 and 2 · (−0.5) + 0.54.",
    hint="Look up, times √4, plus the position: in this order.",
)

LENGTHS = Number(
    id="input_block.lengths",
    question="A word vector starts with a length of about 1, whatever d_model is. d_model is 128. How long is it after "
    "the factor √d_model, and how long is a row of sinusoidal positions?",
    answer=[np.sqrt(128), 8],
    fields=["word", "position"],
    tolerance=0.02,
    wrong=[
        Wrong([128, 8], "The factor is the square root of 128, not 128."),
        Wrong([1, 8], "1 is the length before the factor."),
        Wrong(
            [np.sqrt(128), np.sqrt(128)],
            "Each pair of sine and cosine adds 1 to the square, and 128 columns are 64 pairs.",
        ),
        Wrong([np.sqrt(128), 64], "64 is the square of the length: one for each pair. Take the root."),
        Wrong([1 / np.sqrt(128), 8], "You divided by the factor. Then the word is lost beside its position."),
    ],
    right="Yes: √128 = 11.3 and √64 = 8. Both count.",
    hint="sin² + cos² = 1 for every pair of columns.",
)

DECODER_INPUT = Choice(
    id="input_block.decoder_input",
    level="recall",
    question="A trained model is translating. It has written 汤姆 and 追逐. What is looked up in the output embedding "
    "for the next step?",
    choices=[
        "Nothing: there is no target any more, so the output embedding gets no input.",
        "<bos> 汤姆 追逐: what the model has written so far, behind the start mark.",
        "汤姆 追逐 杰瑞: the right translation, shifted by one.",
        "Tom chase Jerry: the source.",
    ],
    answer=1,
    wrong=[
        Wrong(
            0, "Then the decoder could not know what it has written. In the cell above it writes the same word again."
        ),
        Wrong(2, "Nobody knows the right translation when the model is used. That is what training has."),
        Wrong(3, "The source goes through the input embedding and the encoder."),
    ],
    right="Yes. The output embedding is used in both cases. Only who wrote the words differs.",
)

SAME_PLACE = Choice(
    id="input_block.same_place",
    level="recall",
    question="In the first player, make the source Tom chase Tom. Which rows of Tom are equal?",
    choices=[
        "The two rows in embedded, in scaled and in with_positions.",
        "The two rows in embedded and in scaled; in with_positions they differ.",
        "No two rows: an embedding knows where its word stands.",
    ],
    answer=1,
    wrong=[
        Wrong(0, "Look at the first two columns of with_positions: one Tom has sine 0, the other 0.91."),
        Wrong(2, "embedded is a row of the table, and the table has one row for Tom."),
    ],
    right="Yes. Only the sum holds both, the word and its place.",
)

MASKED_PLACES = Number(
    id="input_block.masked_places",
    question="Sentences of 5, 4, 1 and 0 words are filled up and put into one batch. How many places has the batch, "
    "and how many of them are padding?",
    answer=[20, 10],
    fields=["places", "padding"],
    tolerance=0.4,
    wrong=[
        Wrong([20, 5], "Did you leave out the empty sentence? All of its 5 places are padding."),
        Wrong([10, 0], "All rows of an array have the same length: that of the longest sentence."),
        Wrong([10, 10], "The second number is right. 10 are the words alone; the array also holds the padding."),
        Wrong([15, 5], "The empty sentence has a row too."),
    ],
    right="Yes: 4 rows of 5, and 10 words among them.",
)

PROJECTION = Number(
    id="input_block.projection",
    question="A table of GloVe vectors has 50 columns; the model has d_model = 512. How many numbers has the matrix "
    "between them, which has no bias?",
    answer=50 * 512,
    wrong=[
        Wrong(512 * 512, "The matrix takes rows of 50 numbers, not of 512."),
        Wrong(50 + 512, "A matrix has rows times columns."),
        Wrong(462, "Padding the rows with 462 zeros is possible, but no matrix."),
    ],
    right="Yes: 50 · 512 = 25,600, learned with the rest of the model.",
    tolerance=0.4,
)


def _solution(tokens, table, positions):
    return table[tokens] * table.shape[1] ** 0.5 + positions[: len(tokens)]


_PLACES = np.round(ops.sinusoids(np.zeros((11, 10))), 3)
_TABLE = examples.TRANSFORMER_PARAMS["src_embedding.weight"]

WRITE = Code(
    id="input_block.write",
    question="Write input_block(tokens, table, positions) in NumPy: n ids, a table (vocab_size, d_model) and positions "
    "(max_len, d_model), max_len ≥ n. The result is (n, d_model).",
    solution=_solution,
    cases=[(np.array(ids), _TABLE, _PLACES) for ids in ([1, 3, 2], [2, 2], [7, 0, 5, 4])],
    wrong=[
        Wrong(lambda t, e, p: e[t] / e.shape[1] ** 0.5 + p[: len(t)], "You divided by √d_model: multiply by it."),
        Wrong(lambda t, e, p: e[t] + p[: len(t)], "The factor √d_model is missing."),
        Wrong(
            lambda t, e, p: (e[t] + p[: len(t)]) * e.shape[1] ** 0.5, "Only the word is multiplied, not the position."
        ),
        Wrong(lambda t, e, p: e[t] * e.shape[1] ** 0.5, "The positions are missing."),
        Wrong(
            lambda t, e, p: e[t] * len(e) ** 0.5 + p[: len(t)], "You took the root of the vocabulary, not of d_model."
        ),
        Wrong(
            lambda t, e, p: e[t] * e.shape[1] ** 0.5 + p[t], "The row of a position goes by the place, not by the id."
        ),
    ],
    right="Your function agrees with the library on three sentences.",
)

EXERCISES = (ROW, LENGTHS, DECODER_INPUT, SAME_PLACE, MASKED_PLACES, PROJECTION, WRITE)
