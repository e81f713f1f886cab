"""Exercises of the chapter on decoding and evaluation. Every accepted number is computed by the package."""

import math
from collections import Counter

import numpy as np

from stepformer import examples
from stepformer.evaluate.bleu import bleu, brevity_penalty, ngram_table
from stepformer.exercises.exercise import Choice, Code, Number, Wrong

_AFTER = examples.HESITATING


def _probability(*words: str) -> float:
    """Of a sentence that begins with 汤姆 and ends with <eos>: the product over its words."""
    written, product = "汤姆", 1.0
    for word in (*words, "<eos>"):
        product *= _AFTER.get(written, _AFTER["…"])[word]
        written += f" {word}"
    return product


_GREEDY, _BEST = _probability("追逐", "杰瑞"), _probability("在", "追逐", "杰瑞")

GREEDY = Number(
    id="decoding_and_evaluation.greedy",
    question="After 汤姆 the model says 追逐 0.5, 在 0.4, <eos> 0.1. After 追逐: 杰瑞 0.4, 了 0.3, 汤姆 0.3. After 在: "
    "追逐 0.9, <eos> 0.1; after 在 追逐: 杰瑞 0.9, <eos> 0.1. After 杰瑞 always: <eos> 0.9, 了 0.1. Which "
    "probability has the sentence that greedy search writes, and which has 在 追逐 杰瑞? Each ends with <eos>.",
    answer=[_GREEDY, _BEST],
    fields=["greedy", "在 追逐 杰瑞"],
    wrong=[
        Wrong([0.5 * 0.4, 0.4 * 0.9 * 0.9], "The end counts as well: <eos> is a word that the model has to write."),
        Wrong([0.5 * 0.4 * 0.9, 0.4 * 0.9 * 0.9], "The second one has no <eos> yet: it is one more factor of 0.9."),
        Wrong([0.5 + 0.4 + 0.9, 0.4 + 0.9 + 0.9 + 0.9], "Probabilities of words in a row are multiplied, not added."),
        Wrong([_BEST, _GREEDY], "The other way round: greedy search begins with 追逐, because 0.5 is more than 0.4."),
    ],
    right="Yes: 0.5 · 0.4 · 0.9 = 0.18, and 0.4 · 0.9 · 0.9 · 0.9 = 0.29. The better sentence begins with the worse "
    "word.",
    hint="Greedy search takes the largest number of each row. Then multiply along the way.",
)

KEEPS = Number(
    id="decoding_and_evaluation.keeps",
    question="The same model, a beam of size 2. After the first step it holds 追逐 (0.5) and 在 (0.4). Which two "
    "probabilities do the hypotheses have that it holds after the second step? The larger one first.",
    answer=[0.4 * 0.9, 0.5 * 0.4],
    fields=["first", "second"],
    wrong=[
        Wrong([0.5 * 0.4, 0.5 * 0.3], "These are the two best continuations of 追逐. Those of 在 compete with them."),
        Wrong([0.9, 0.4], "These are the probabilities of the last words alone. A beam compares whole beginnings."),
        Wrong([0.5, 0.4], "That is what it held after the first step. Every open hypothesis goes on."),
        Wrong(
            [0.5 * 0.4, 0.4 * 0.9], "These are the two. The larger one comes first: the order in the beam has turned."
        ),
    ],
    right="Yes: 在 追逐 with 0.36 has overtaken 追逐 杰瑞 with 0.20.",
    hint="Multiply each beginning with each of its continuations, five products in all, and take the two largest.",
)

_LOG = math.log(0.25)

LENGTH = Number(
    id="decoding_and_evaluation.length",
    question="A model has read <bos> 汤姆, which was given, and has written 在, 追逐 and <eos>, with a probability "
    "of 0.25. Its logarithm is −1.386. Which score does it get with the length penalty of Wu et al. and α = 1?",
    answer=_LOG / ((5 + 3) / 6),
    wrong=[
        Wrong(_LOG / ((5 + 2) / 6), "You left out <eos>. The model wrote three words, and the end is one of them."),
        Wrong(_LOG / ((5 + 5) / 6), "You counted what was given. Only what the model wrote counts: three words."),
        Wrong(_LOG / 3, "That is the mean over the words. The formula divides by (5 + 3) / 6."),
        Wrong(_LOG * (8 / 6), "The score is divided by the penalty, not multiplied with it."),
        Wrong(0.25 / (8 / 6), "Divide the logarithm, not the probability."),
    ],
    right="Yes: −1.386 / (8 / 6) = −1.040. A negative number gets larger when it is divided by more than 1.",
    hint="lp = ((5 + n) / 6) to the power of α.",
)

CACHE = Number(
    id="decoding_and_evaluation.cache",
    question="A model writes ten words, one after the other. How many rows of keys does one layer of its decoder "
    "compute for its self-attention, without a cache and with one? The first step has <bos> to read.",
    answer=[sum(range(1, 11)), 10],
    fields=["without", "with"],
    tolerance=0.1,
    wrong=[
        Wrong([100, 10], "Not every step reads ten words: the first one has only <bos> to read, the second two words."),
        Wrong([sum(range(10)), 9], "The row of <bos> counts as well: step 1 reads one word, step 10 reads ten."),
        Wrong([10, 55], "The other way round: a cache is there to compute less."),
        Wrong([55, 55], "With a cache each step computes the row of the newest word only. The others are kept."),
    ],
    right="Yes: 1 + 2 + … + 10 = 55 without, and 10 with. For a hundred words it is 5050 and 100.",
    hint="How many words does step 1 read, how many step 2?",
)

_CLIPPED = ngram_table(["汤姆", "汤姆", "汤姆", "追逐"], ["汤姆", "追逐", "杰瑞", "。"], 1)

CLIP = Number(
    id="decoding_and_evaluation.clip",
    question="The reference is 汤姆 追逐 杰瑞 。 and a model writes 汤姆 汤姆 汤姆 追逐. Take words for tokens. How "
    "many of the four words count as matches, and what is the precision of order 1?",
    answer=[sum(row.clipped for row in _CLIPPED), sum(row.clipped for row in _CLIPPED) / 4],
    fields=["matches", "precision"],
    wrong=[
        Wrong([4, 1.0], "All four words are in the reference, but 汤姆 is there only once. It may count only once."),
        Wrong([2, 2 / 3], "You left out the repeated words altogether. They do not match, but they were written."),
        Wrong([2, 1.0], "Two match, but four were written: precision divides by what was written."),
        Wrong([3, 0.75], "汤姆 stands in the reference once, so only one of the three counts."),
    ],
    right="Yes: 汤姆 counts once, 追逐 once, and four words were written. Without clipping this would be a perfect "
    "score.",
    hint="The count of a word is cut to its count in the reference.",
)

_HYPOTHESIS, _REFERENCE = list("汤姆追逐杰瑞。"), list(examples.REFERENCE)
_TWO = bleu([_HYPOTHESIS], [_REFERENCE], max_order=2)
_P2, _BP = 5 / 6, brevity_penalty(7, 8)

BLEU = Number(
    id="decoding_and_evaluation.bleu",
    question="A model writes 汤姆追逐杰瑞。 and the reference is 汤姆在追逐杰瑞。 Take characters for tokens, the "
    "full stop included. What is its BLEU with n-grams up to 2, from 0 to 100?",
    answer=_TWO.score,
    tolerance=0.1,
    wrong=[
        Wrong(100 * _P2**0.5, "The hypothesis is one character shorter than the reference: a brevity penalty is due."),
        Wrong(
            100 * _BP * (1 + _P2) / 2,
            "You took the ordinary mean of the precisions. BLEU takes the geometric one, the root of their product.",
        ),
        Wrong(_TWO.score / 100, "That is right as a share. BLEU is usually given from 0 to 100."),
        Wrong(100 * _BP * _P2, "Take the root of the product of two precisions."),
        Wrong(100 * math.exp(1 - 7 / 8) * _P2**0.5, "In the brevity penalty the reference's length is above the line."),
    ],
    right="Yes: precisions 7/7 and 5/6, brevity penalty e to the power of 1 − 8/7, which is 0.867.",
    hint="7 characters, 6 pairs of neighbours. Which pair is not in the reference?",
)

TOKENIZER = Choice(
    id="decoding_and_evaluation.tokenizer",
    question="A translation is the same as the reference, character by character, in Chinese, and sacrebleu with its "
    "default tokenizer gives it a BLEU of 0. Why?",
    choices=[
        "Chinese characters are outside of what it can compare.",
        "The whole sentence is one token, so there are no runs of two, three or four tokens at all.",
        "The brevity penalty is 0, because the sentence is too short.",
        "Its words must be separated by spaces first; only then do they match.",
    ],
    answer=1,
    wrong=[
        Wrong(0, "It compares any tokens. The one token it sees does match: the precision of order 1 is 1."),
        Wrong(2, "Both have the same length, so there is no penalty."),
        Wrong(
            3,
            "That would work too, but two people separate words differently. Characters are the tokens that everybody "
            "agrees on, which is what the tokenizer zh does.",
        ),
    ],
    right="Yes. The tokenizer 13a separates words at spaces, and a Chinese sentence has none.",
    hint="How many tokens does a sentence without spaces have?",
)

CONFIDENCE = Choice(
    id="decoding_and_evaluation.confidence",
    question="On the same 500 sentences system A has a BLEU of 31.2, with an interval from 29.3 to 33.1, and B has "
    "30.6, from 28.7 to 32.5. On 98 % of 1,000 test sets that were drawn from these sentences, A is better than B. "
    "What may you say?",
    choices=[
        "Nothing: the two intervals overlap, so the difference may be chance.",
        "A is better on sentences like these; that it is chance is unlikely.",
        "A is better by 0.6, with a probability of 98 %.",
        "A translates 98 % of the sentences better.",
    ],
    answer=1,
    wrong=[
        Wrong(
            0,
            "The intervals say how much each score depends on which sentences were drawn. Both systems had the same "
            "ones, so look at the difference of each draw.",
        ),
        Wrong(2, "The 98 % are about A being better at all, not about the 0.6. That has an interval of its own."),
        Wrong(3, "What was counted are test sets, not sentences: each one of 500 sentences."),
    ],
    right="Yes. A hard draw is hard for both, so the difference is surer than either score: that is what pairing is "
    "for.",
    hint="What do the two systems share in every draw?",
)


def _own(hypothesis, reference, n):
    rows = ngram_table(hypothesis.tolist(), reference.tolist(), int(n))
    return sum(row.clipped for row in rows)


def _runs(tokens, n) -> list[tuple]:
    tokens, n = tokens.tolist(), int(n)
    return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]


def _not_clipped(hypothesis, reference, n):
    return sum(run in _runs(reference, n) for run in _runs(hypothesis, n))


def _distinct(hypothesis, reference, n):
    return len(set(_runs(hypothesis, n)) & set(_runs(reference, n)))


def _joined(hypothesis, reference, n):
    counts = [Counter("".join(map(str, run)) for run in _runs(tokens, n)) for tokens in (hypothesis, reference)]
    return (counts[0] & counts[1]).total()


def _one_too_few(hypothesis, reference, n):
    return (Counter(_runs(hypothesis, n)[:-1]) & Counter(_runs(reference, n)[:-1])).total()


def _same_place(hypothesis, reference, n):
    return sum(a == b for a, b in zip(_runs(hypothesis, n), _runs(reference, n), strict=False))


def _in_any_order(hypothesis, reference, n):
    a, b = (Counter(tuple(sorted(run)) for run in _runs(tokens, n)) for tokens in (hypothesis, reference))
    return (a & b).total()


def _cases() -> list[tuple]:
    draws = np.random.default_rng(0)
    fixed = [
        (np.array([7, 7, 7, 5]), np.array([7, 5, 7, 2]), 1),
        (np.array([12, 3, 5]), np.array([1, 23, 5]), 2),
        (np.array([4, 5, 4, 5, 6]), np.array([9, 4, 5, 6, 5, 4]), 2),
    ]
    return fixed + [(draws.integers(3, size=9), draws.integers(3, size=8), n) for n in (1, 2, 3)]


WRITE = Code(
    id="decoding_and_evaluation.write",
    question="Write matches(hypothesis, reference, n): two arrays of token ids and a whole number n. It returns how "
    "many n-grams of the hypothesis count as matches, each clipped to its count in the reference.",
    solution=_own,
    cases=_cases(),
    wrong=[
        Wrong(_not_clipped, "You count every n-gram that is in the reference. Clip: no more often than it is there."),
        Wrong(_distinct, "You count each different n-gram once. One that is twice in both counts twice."),
        Wrong(_joined, "You join the ids to a text, and 12, 3 becomes the same as 1, 23. Use tuples."),
        Wrong(_one_too_few, "The last n-gram is missing: there are len − n + 1 of them."),
        Wrong(_same_place, "You compare n-grams at the same place. A match may be anywhere in the reference."),
        Wrong(_in_any_order, "The order within an n-gram counts: 4, 5 is not 5, 4."),
    ],
    right="Your counts agree with the library, and so with sacrebleu.",
)

EXERCISES = (GREEDY, KEEPS, LENGTH, CACHE, CLIP, BLEU, TOKENIZER, CONFIDENCE, WRITE)
