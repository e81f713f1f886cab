"""Exercises of the chapter on tokens and vectors."""

import numpy as np

from stepformer import examples
from stepformer.exercises.exercise import Choice, Code, Number, Wrong

_COMPARED = examples.COMPARED_VECTORS
_COSINE = examples.cosine_similarity()["cosine"]
_ANIMAL = examples.COMPARED_WORDS.index("animal")
_MOUSE = examples.COMPARED_WORDS.index("mouse")

WIDTHS = Number(
    id="embedding.widths",
    level="recall",
    question="A model has a vocabulary of 10,000 words and d_model = 512. How many numbers has the one-hot vector of a "
    "word, and how many has the vector that the first layer gets?",
    answer=[10_000, 512],
    fields=["one-hot", "first layer"],
    wrong=[
        Wrong([512, 512], "A one-hot vector needs a column for every word. It becomes 512 wide only by the table."),
        Wrong(
            [10_000, 10_000], "The first number is right. Multiplying by the table, 10,000 × 512, makes it narrower."
        ),
        Wrong([512, 10_000], "It is the other way round: wide and nearly all 0 first, narrow and dense afterwards."),
        Wrong([1, 512], "A single 1 stands in the one-hot vector, but the zeros are numbers too."),
    ],
    right="Yes. The table of 10,000 × 512 turns the one into the other.",
    hint="How many columns are needed so that every word has one of its own?",
)

ROWS_THAT_LEARN = Number(
    id="embedding.rows_that_learn",
    level="think",
    question="A table has 7 rows, one for each word of the vocabulary. A training step sees the sentence "
    "Tom chase Jerry chase Tom, and the optimiser is plain gradient descent. How many rows can change?",
    answer=len({2, 3, 4}),
    wrong=[
        Wrong(7, "The gradient of a row that was not looked up is 0: in the product it was multiplied by 0 only."),
        Wrong(5, "Five tokens, but some are the same word and share a row. Their gradients add up there."),
        Wrong(1, "Every word of the sentence had its row looked up, not only one."),
    ],
    right="Yes: the rows of Tom, chase and Jerry. A word that never comes keeps the random row it started with.",
    tolerance=0.4,
    hint="Which rows of the table meet a 1 in the one-hot rows?",
)

COSINE = Number(
    id="embedding.cosine",
    question="What is the cosine similarity of (3, 4) and (4, 3)?",
    answer=24 / 25,
    wrong=[
        Wrong(24, "That is the dot product. Divide it by the length of the one and by the length of the other."),
        Wrong(24 / 5, "You divided by one length only. Both vectors have the length 5."),
        Wrong(24 / 49, "You divided by the sums of the numbers. The length is the root of the sum of the squares."),
        Wrong(24 / 625, "You divided by the squares of the lengths; the root is missing."),
    ],
    right="Yes: 24 / (5 · 5). The two arrows nearly point the same way.",
    hint="Dot product: 3 · 4 + 4 · 3. Length of each: √(3² + 4²).",
)

MOUSE_ANIMAL = Number(
    id="embedding.from_dot_to_cosine",
    question="The dot product of mouse and animal is 4.91. The player of cosine similarity shows their lengths, 1.57 "
    "and 4.30. What is their cosine?",
    answer=_COSINE[_MOUSE, _ANIMAL],
    wrong=[
        Wrong(4.91 / 1.57, "Divide by the other length as well."),
        Wrong(4.91 / 4.30, "Divide by the other length as well. A cosine is never above 1."),
        Wrong(4.91 / (1.57 + 4.30), "The lengths are multiplied, not added: divide by one, then by the other."),
        Wrong(4.91 * 1.57 * 4.30, "Divide by the lengths instead of multiplying."),
    ],
    right="Yes. As a dot product 4.91 looked enormous; as an angle it is an ordinary likeness.",
    tolerance=0.006,
)

LONGEST_MATCH = Choice(
    id="embedding.longest_match",
    level="compute",
    question="The vocabulary holds 研究, 研究生, 生命, 命, 起源. Longest match takes, from the left, the longest "
    "piece that fits. How does it split 研究生命起源 (to study the origin of life)?",
    choices=["研究 / 生命 / 起源", "研究生 / 命 / 起源", "研 / 究 / 生 / 命 / 起 / 源"],
    answer=1,
    wrong=[
        Wrong(0, "That is what the sentence means. But 研究生 (graduate student) fits too and is longer than 研究."),
        Wrong(2, "Those are characters. The vocabulary has longer pieces, and the longest is taken."),
    ],
    right="Yes, and it is wrong Chinese: graduate student, fate, origin. What is longest here is not what is meant.",
    hint="Which pieces of the vocabulary does the text begin with?",
)

ANALOGY = Choice(
    id="embedding.analogy",
    question="A slide says: king − man + woman = queen. What is wrong with the equals sign?",
    choices=[
        "Nothing: in a good table the two vectors are equal.",
        "The sum is a vector that belongs to no word. Queen is the nearest once king, man and woman may not answer.",
        "The sum is nearer to queen than to any other word, but not equal to it.",
    ],
    answer=1,
    wrong=[
        Wrong(0, "Look at the map: the sum has a cosine of 0.86 with queen. Equal vectors would have 1."),
        Wrong(
            2,
            "Tick the box beside the question in the map, which allows the words of the question: then king is nearer.",
        ),
    ],
    right="Yes. The rule that leaves out the words of the question does a good part of the work.",
    hint="Ask the map, and tick the box beside the question.",
)

ONE_VECTOR = Choice(
    id="embedding.one_vector",
    level="recall",
    question="In Tom chases Jerry the verb means to run after. In the name JPMorgan Chase it is a bank. What does the "
    "table give for the word in each of the two?",
    choices=[
        "Two different vectors, as the neighbours differ.",
        "The same vector, a mixture of all uses the word had in the training text.",
        "The vector of the more frequent meaning, and nothing of the other.",
    ],
    answer=1,
    wrong=[
        Wrong(
            0, "The look-up sees the id only, never the neighbours. They had their say in training, once and for all."
        ),
        Wrong(
            2,
            "Nearly, in this table: but chasing is among the nearest words of chase too. Every use pulled at the row.",
        ),
    ],
    right="Yes. Making the vector depend on the neighbours is what attention will do.",
)


def _nearest(table, word):
    units = table / np.sqrt((table**2).sum(axis=1, keepdims=True))
    cosines = units @ units[int(word)]
    cosines[int(word)] = -np.inf
    return int(cosines.argmax())


def _nearest_and_itself(table, word):
    units = table / np.sqrt((table**2).sum(axis=1, keepdims=True))
    return int((units @ units[int(word)]).argmax())


def _nearest_by_dot_product(table, word):
    products = table @ table[int(word)]
    products[int(word)] = -np.inf
    return int(products.argmax())


def _nearest_by_columns(table, word):
    return _nearest_by_dot_product(table / np.sqrt((table**2).sum(axis=0)), word)


def _farthest(table, word):
    units = table / np.sqrt((table**2).sum(axis=1, keepdims=True))
    return int((units @ units[int(word)]).argmin())


def _nearest_by_distance(table, word):
    distances = ((table - table[int(word)]) ** 2).sum(axis=1)
    distances[int(word)] = np.inf
    return int(distances.argmin())


def _cases() -> list[tuple]:
    draws = np.random.default_rng(5)
    drawn = np.round(draws.normal(size=(9, 3)) * draws.uniform(0.3, 3, size=(9, 1)), 2)
    return [(table, word) for table in (_COMPARED, drawn) for word in range(len(table))]


WRITE_NEAREST = Code(
    id="embedding.write",
    question="Write nearest(table, word) in NumPy: the id of the row with the largest cosine to row number word, which "
    "itself may not be the answer.",
    solution=_nearest,
    cases=_cases(),
    wrong=[
        Wrong(
            _nearest_and_itself,
            "Every word is nearest to itself. Leave it out, for example by setting its cosine to −∞.",
        ),
        Wrong(_nearest_by_dot_product, "This is the largest dot product. Divide every row by its length first."),
        Wrong(
            _nearest_by_columns,
            "You divided by the lengths of the columns. One row is one word: axis=1, keepdims=True.",
        ),
        Wrong(_farthest, "This is the smallest cosine. The nearest has the largest."),
        Wrong(_nearest_by_distance, "This is the smallest distance, which also counts how long the vectors are."),
    ],
    right="Your function agrees with the library on every word of two tables.",
)

EXERCISES = (
    WIDTHS,
    ROWS_THAT_LEARN,
    COSINE,
    MOUSE_ANIMAL,
    LONGEST_MATCH,
    ANALOGY,
    ONE_VECTOR,
    WRITE_NEAREST,
)
