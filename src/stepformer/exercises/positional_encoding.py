"""Exercises of the chapter on positional encoding. Every accepted number is computed by the package."""

import numpy as np

from stepformer import ops
from stepformer.exercises.exercise import Choice, Code, Number, Wrong


def _own_exponent_for_each_column(x):
    angles = np.arange(len(x))[:, None] / 10000 ** (np.arange(x.shape[1]) / x.shape[1])
    return np.where(np.arange(x.shape[1]) % 2, np.cos(angles), np.sin(angles))


_FOUR = ops.sinusoids(np.zeros((6, 4)))
_BLOCKS = ops.sinusoids_in_blocks(np.zeros((6, 4)))
_SLIP = ops.sinusoids_exponent_slip(np.zeros((6, 4)))
_OWN_EXPONENT = _own_exponent_for_each_column(np.zeros((6, 4)))
_OWN_EXPONENT_MESSAGE = "The cosine has an exponent of its own, (2i + 1)/d. Both columns of a pair have 2i/d."

ROW = Number(
    id="positional_encoding.row",
    question="d_model is 4. What is the sinusoidal row of position 1? Angles are in radians. Give each number "
    "to three decimals.",
    answer=_FOUR[1],
    fields=["column 0", "column 1", "column 2", "column 3"],
    wrong=[
        Wrong(_FOUR[0], "That is the row of position 0: every sine 0, every cosine 1. Positions are counted from 0."),
        Wrong(_FOUR[2], "That is the row of position 2. Positions are counted from 0."),
        Wrong(_BLOCKS[1], "These are all sines, then all cosines. In the paper they alternate: column 2i and 2i + 1."),
        Wrong(_OWN_EXPONENT[1], _OWN_EXPONENT_MESSAGE),
        Wrong(np.round(_FOUR[1], 2), "Right, as far as two decimals go. Give three."),
        Wrong(_SLIP[1], "You doubled the number of the column. In 2i, i is the number of the pair: 0, 0, 1, 1."),
        Wrong(
            [np.sin(np.pi / 180), np.cos(np.pi / 180), np.sin(np.pi / 18000), np.cos(np.pi / 18000)],
            "Your calculator works in degrees. The formula means radians: sin(1) is 0.841.",
        ),
    ],
    right="Yes: the first pair turned by 1 radian, the second by 1/100.",
    tolerance=0.001,
    hint="Columns 0 and 1 are pair i = 0, columns 2 and 3 are pair i = 1. 10000 to the power of 2/4 is 100.",
    near="Not yet. Sine of the angle, cosine of the same angle, then the next pair with its own angle; all to three "
    "decimals.",
)

_WAVELENGTH = 2 * np.pi * 10000 ** (2 * 1 / 4)

WAVELENGTH = Number(
    id="positional_encoding.wavelength",
    question="d_model is 4. After how many positions does pair i = 1 come round again? One decimal is enough.",
    answer=_WAVELENGTH,
    wrong=[
        Wrong(_WAVELENGTH / (2 * np.pi), "After that many positions it has turned by 1 radian. A turn is 2π."),
        Wrong(2 * np.pi, "That is the wavelength of pair 0. Pair 1 is slower by 10000 to the power of 2i/d."),
        Wrong(2 * np.pi * 10, "You used the exponent i/d. It is 2i/d, here 2/4."),
        Wrong(2 * np.pi * 10000, "The paper ends its wavelengths there. Pair 1 has the exponent 2i/d, here 2/4."),
        Wrong(360 * 100, "A full turn is 2π radians; the formula does not know degrees."),
    ],
    right="Yes: 2π · 100, about 628 positions. Every pair has its own wavelength, from 2π upwards.",
    tolerance=0.5,
    hint="The angle is pos / 10000^(2i/d). For which pos is it 2π?",
    near="Not yet. Write down the angle of pair 1 at position pos, set it equal to a full turn, and solve for pos.",
)

DOT = Number(
    id="positional_encoding.dot",
    question="d_model is 4. What is the dot product of the rows of position 3 and position 5? Two decimals are enough.",
    answer=_FOUR[3] @ _FOUR[5],
    wrong=[
        Wrong(2.0, "That is the dot product of a row with itself: 1 for each of the two pairs."),
        Wrong(np.cos(2), "That is the first pair alone. The second adds the cosine of 2/100."),
        Wrong(np.cos(8) + np.cos(0.08), "You added the positions. It is their difference that counts, 5 − 3 = 2."),
        Wrong(np.sin(2) + np.sin(0.02), "The sum of two products of sines and cosines is a cosine here, not a sine."),
        Wrong(2 * np.cos(2), "The two pairs do not turn alike: the second is a hundred times slower."),
    ],
    right="Yes: cos(2) + cos(0.02). Rows 103 and 105 would give the same: only the distance counts.",
    tolerance=0.006,
    hint="sin a · sin b + cos a · cos b is the cosine of a − b. Do it for each pair.",
    near="Not yet. Each pair adds the cosine of the angle by which it turns from position 3 to 5, in radians.",
)

BLINDNESS = Choice(
    id="positional_encoding.blindness",
    level="recall",
    question="Self-attention without positions reads “Jerry chase Tom” instead of “Tom chase Jerry”. What becomes of "
    "the three outputs?",
    choices=[
        "Every word keeps its output; the rows only stand in another order.",
        "Tom gets the output that Jerry had, and Jerry that of Tom; chase keeps its own.",
        "All three outputs change, because every word sees other neighbours.",
        "Nothing changes, not even the order of the rows.",
    ],
    answer=0,
    wrong=[
        Wrong(1, "The output of a word belongs to the word, not to the place: Tom takes its output along."),
        Wrong(2, "Every word still sees the same three words. A sum does not ask in which order its terms come."),
        Wrong(3, "The rows follow the words: the first row now belongs to Jerry."),
    ],
    right="Yes. Attention is permutation equivariant: move the tokens, and the rows move along, unchanged.",
    hint="Take chase. Which keys does it meet in the first sentence, which in the second?",
)

_MAX_LEN, _D_MODEL = 512, 64

LEARNED = Number(
    id="positional_encoding.parameters",
    question="max_len is 512 and d_model is 64. How many numbers have to be learned for sinusoidal positions, and how "
    "many for a learned table?",
    answer=[0, _MAX_LEN * _D_MODEL],
    fields=["sinusoidal", "learned"],
    wrong=[
        Wrong([_MAX_LEN * _D_MODEL] * 2, "The sinusoidal table follows from a formula. Nothing in it is learned."),
        Wrong([_MAX_LEN * _D_MODEL, 0], "You have them the wrong way round."),
        Wrong([0, _MAX_LEN + _D_MODEL], "A table of 512 rows with 64 numbers each holds the product, not the sum."),
        Wrong([_D_MODEL // 2, _MAX_LEN * _D_MODEL], "The 32 wavelengths follow from the formula too; none is learned."),
    ],
    right="Yes: none, and 32,768. Which of the two a model has is a choice of its designer; it is not learned either.",
    tolerance=0.5,
    hint="One of the two tables is computed from a formula.",
    near="Not yet. Ask of each table whether its numbers are computed or learned. If learned: rows times columns.",
)

BEYOND = Choice(
    id="positional_encoding.beyond",
    question="A model with a learned table of max_len 512 was trained on sentences of at most 100 tokens. What happens "
    "at a sentence of 200 tokens?",
    choices=[
        "It is computed, but the tokens from 100 on get rows that training never touched.",
        "It ends in an error, because 200 is more than 100.",
        "The rows from 100 on follow the pattern that training found for the first 100.",
        "The table grows to 200 rows.",
    ],
    answer=0,
    wrong=[
        Wrong(1, "The table has 512 rows, and 200 are not too many. It is the training that was too short."),
        Wrong(2, "A table has no pattern to follow: every row is learned for itself, or not at all."),
        Wrong(3, "The number of rows is fixed when the model is built."),
    ],
    right="Yes. No training sentence reached these rows, so their gradient was always zero, and they are as random as "
    "on the first day; weight decay, if it was used, has only made them smaller. Beyond 512 there is an error.",
    hint="Which rows took part in a training step?",
)


def _sines_then_cosines(x):
    return ops.sinusoids_in_blocks(x)


def _exponent_slip(x):
    return ops.sinusoids_exponent_slip(x)


def _counted_from_one(x):
    return ops.sinusoids(np.zeros((len(x) + 1, x.shape[1])))[1:]


def _cosine_first(x):
    angles = np.arange(len(x))[:, None] / 10000 ** (np.arange(x.shape[1]) // 2 * 2 / x.shape[1])
    return np.where(np.arange(x.shape[1]) % 2, np.sin(angles), np.cos(angles))


WRITE = Code(
    id="positional_encoding.write",
    question="Write positions(x) in NumPy: the sinusoidal table for an x of shape (n, d_model). d_model may be odd.",
    solution=ops.sinusoids,
    cases=[(np.zeros((4, 6)),), (np.zeros((7, 5)),), (np.zeros((3, 1)),)],
    wrong=[
        Wrong(_sines_then_cosines, "You have all sines first, then all cosines. In the paper they alternate."),
        Wrong(_exponent_slip, "The exponent doubles the number of the column. It must double that of the pair."),
        Wrong(_own_exponent_for_each_column, _OWN_EXPONENT_MESSAGE),
        Wrong(_counted_from_one, "You count positions from 1. The first token stands at position 0."),
        Wrong(_cosine_first, "Sine and cosine are exchanged: column 2i holds the sine."),
    ],
    right="Your table agrees with the library, at odd widths too.",
)

EXERCISES = (ROW, WAVELENGTH, DOT, BLINDNESS, LEARNED, BEYOND, WRITE)
