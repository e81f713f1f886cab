"""Exercises of the chapter on looking inside. Every accepted number is computed by the tested package."""

import numpy as np

from stepformer import examples
from stepformer.exercises.exercise import Choice, Code, Number, Wrong
from stepformer.reference.normalization import layer_norm

ROW = Choice(
    id="looking_inside.row",
    level="recall",
    question="A decoder has read <bos> 汤姆 追逐 and is to write 杰瑞. You want to know at which source word it looks "
    "when it writes 追逐. Which row of its cross-attention do you read?",
    choices=["the row of <bos>", "the row of 汤姆", "the row of 追逐", "the mean of all three rows"],
    answer=1,
    wrong=[
        Wrong(0, "That row has read <bos> alone, and writes 汤姆."),
        Wrong(2, "That row has read 追逐 already, and writes 杰瑞. Read it, and every link lies one word too far."),
        Wrong(3, "Each row is a query of its own. Their mean belongs to no word."),
    ],
    right="Yes: the row that has read 汤姆 last is the one that writes 追逐.",
    hint="Which word has been read last when 追逐 is written?",
)

_KINDS = np.array([8, 4])
_N = int(_KINDS.sum())
_PAIRS = float((_KINDS * (_KINDS - 1)).sum())

CHANCE = Number(
    id="looking_inside.chance",
    level="compute",
    question="Of twelve words eight are names and four are verbs. If kinds were dealt out by chance, how probable is "
    "it that the nearest neighbour of a word, which is never the word itself, is of the same kind?",
    answer=_PAIRS / (_N * (_N - 1)),
    tolerance=0.005,
    wrong=[
        Wrong(
            float(((_KINDS / _N) ** 2).sum()),
            "You let a word be its own neighbour. Of the other eleven words one fewer is of its kind.",
        ),
        Wrong(0.5, "The kinds are not equally frequent: a name meets another name more often."),
        Wrong(_KINDS.max() / _N, "That is the share of names. Verbs have neighbours too."),
        Wrong(float(((_KINDS - 1) / (_N - 1)).mean()), "Weigh the two kinds: there are twice as many names as verbs."),
    ],
    right="Yes: (8 · 7 + 4 · 3) / (12 · 11) = 0.515. So a share of 0.6 would mean little here, and 1.0 a great deal.",
    hint="Count the ordered pairs of two different words of one kind, and divide by all ordered pairs.",
)

_WEIGHTS, _LENGTHS = np.array([0.9, 0.1]), np.array([0.1, 3.0])

NORMS = Number(
    id="looking_inside.norms",
    level="compute",
    question="A query attends to two words with the weights 0.9 and 0.1. The vectors that it fetches from them, after "
    "the value and output projections, have the lengths 0.1 and 3. How long is what each word contributes?",
    answer=(_WEIGHTS * _LENGTHS).tolist(),
    fields=["first word", "second word"],
    tolerance=0.005,
    wrong=[
        Wrong([0.9, 0.1], "These are the weights. What arrives is the weight times the vector that is fetched."),
        Wrong([0.1, 3.0], "These are the vectors before they are weighted."),
        Wrong((_WEIGHTS[::-1] * _LENGTHS).tolist(), "You exchanged the two weights."),
        Wrong(
            (_WEIGHTS * _LENGTHS / (_WEIGHTS * _LENGTHS).sum()).tolist(),
            "These are shares of the sum of the two lengths. Nothing makes lengths add up to 1.",
        ),
    ],
    right="Yes: 0.09 and 0.3. The word with a ninth of the weight contributes more than three times as much.",
    hint="Multiply each weight by the length of its vector.",
)

HEADS = Choice(
    id="looking_inside.heads",
    level="think",
    question="A model gets 100 % of some sentences right. Without head A it gets 99 %, without head B 99 %, without "
    "both 40 %. What follows?",
    choices=[
        "Neither head is needed, so both can be removed.",
        "That one costs little while the other is there says nothing about both.",
        "The measurement is wrong: the losses of two heads must add up.",
        "A does 1 % of the work, and B does 1 %.",
    ],
    answer=1,
    wrong=[
        Wrong(0, "Either may go, but not both: without the two of them most sentences are wrong."),
        Wrong(
            2, "Nothing makes them add up. The model is no sum of its heads: later layers read what all of them did."
        ),
        Wrong(3, "The cost of a head while all others are there is no share of the work: 1 % and 1 % are not 60 %."),
    ],
    right="Yes: they may do the same, or each may use up the margin that the other leaves. Nothing here tells which.",
    hint="Which heads were there in each of the three tests?",
)

REPLACED = Choice(
    id="looking_inside.replaced",
    level="think",
    question="In a trained model the cross-attention weights of one layer are dealt out anew by chance, and nearly all "
    "sentences come out wrong. What has been shown?",
    choices=[
        "That the weights of this layer explain the decisions of the model.",
        "That what this layer fetches is needed, and that it depends on the weights.",
        "That the model attends to the words that a person would attend to.",
        "That no other weights would give the same translation.",
    ],
    answer=1,
    wrong=[
        Wrong(
            0, "That they are needed does not say that they suffice: what is fetched has been mixed by other layers."
        ),
        Wrong(2, "People were not asked. For that, compare the weights with their links."),
        Wrong(3, "One other choice was tried, at random. Where all weight went to the best word, nothing changed."),
    ],
    right="Yes, and no more. It rules out that this attention does not matter.",
    hint="Which claim would be false if the sentences had stayed right? And which would not be touched?",
)

LENGTH = Choice(
    id="looking_inside.length",
    level="think",
    question="A model was trained on sentences of at most 4 clauses and 32 words, and fails on most sentences of 5 "
    "clauses. Which test can tell whether the number of clauses is to blame or the number of words?",
    choices=[
        "More test sentences of 5 clauses, of any length.",
        "Sentences of 4 clauses with 20 words.",
        "Sentences of 5 clauses with at most 32 words, and of 4 clauses with more than 32.",
        "A larger model of the same kind.",
    ],
    answer=2,
    wrong=[
        Wrong(0, "Most of them have more than 32 words as well, so the two causes stay together."),
        Wrong(1, "These are like those of its training in both ways. Nothing is separated."),
        Wrong(3, "If it fails too, you still do not know why; if not, you have changed something else."),
    ],
    right="Yes: each of the two sets has one of the possible causes and not the other.",
    hint="Two causes go together. Look for cases where they do not.",
)


def _own(stream, gain, bias, table, output_bias):
    return (layer_norm(stream, {"gain": gain, "bias": bias}) @ table.T + output_bias).argmax(axis=-1)


def _without_the_norm(stream, gain, bias, table, output_bias):
    return (stream @ table.T + output_bias).argmax(axis=-1)


def _without_the_bias(stream, gain, bias, table, output_bias):
    return (layer_norm(stream, {"gain": gain, "bias": bias}) @ table.T).argmax(axis=-1)


def _without_the_gain(stream, gain, bias, table, output_bias):
    plain = {"gain": np.ones_like(gain), "bias": np.zeros_like(bias)}
    return (layer_norm(stream, plain) @ table.T + output_bias).argmax(axis=-1)


def _over_positions(stream, gain, bias, table, output_bias):
    return (layer_norm(stream, {"gain": gain, "bias": bias}) @ table.T + output_bias).argmax(axis=0)


def _cases() -> list[tuple]:
    draws = np.random.default_rng(3)
    states = [examples.FOUND_ACROSS, examples.FOUND_BACK, examples.DECODER_OUTPUT]
    states += [np.round(0.2 * draws.normal(size=(12, 10)), 3)]
    gain, bias = np.round(draws.uniform(0.2, 2, 10), 2), np.round(draws.normal(size=10), 2)
    return [(state, gain, bias, examples.OUTPUT_EMBEDDING, examples.OUTPUT_BIAS) for state in states]


WRITE = Code(
    id="looking_inside.write",
    question="Write lens(stream, gain, bias, table, output_bias) in NumPy: stream (n, d_model) is the residual stream "
    "at some depth, gain and bias belong to the last norm (eps is 1e-5), and the output layer is the table "
    "(words, d_model) with its bias. It returns, for each row, the position of the word that the model would say if "
    "it ended there.",
    solution=_own,
    cases=_cases(),
    wrong=[
        Wrong(_without_the_norm, "You read the stream as it is. At its end the model normalises it first."),
        Wrong(_without_the_bias, "The bias of the output layer is missing: frequent words get too little."),
        Wrong(_without_the_gain, "You normalise, but forget the gain and bias of the norm."),
        Wrong(_over_positions, "You took the best row for each word. The question is the best word for each row."),
    ],
    right="Your lens agrees with the library.",
)

EXERCISES = (ROW, CHANCE, NORMS, HEADS, REPLACED, LENGTH, WRITE)
