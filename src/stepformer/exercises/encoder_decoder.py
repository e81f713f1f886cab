"""Exercises of the chapter on encoder and decoder. Every accepted number is computed by the package."""

import numpy as np

from stepformer import examples
from stepformer.exercises.exercise import Choice, Code, Number, Wrong
from stepformer.reference.encoder_decoder import encode

_WIDTH = 48

BRIDGE = Number(
    id="encoder_decoder.bridge",
    level="recall",
    question=f"The states of encoder and decoder are {_WIDTH} numbers wide. How many numbers does the encoder hand "
    "over for "
    "a sentence of 3 words, and how many for one of 60?",
    answer=[_WIDTH, _WIDTH],
    fields=["3 words", "60 words"],
    wrong=[
        Wrong([3 * _WIDTH, 60 * _WIDTH], "So many it computes, one state for each word. All but the last are dropped."),
        Wrong(
            [3, 60], "Those are the numbers of words. What is handed over is a state, and a state has a fixed width."
        ),
        Wrong([1, 1], "One vector, yes. How many numbers are in it?"),
    ],
    right="Yes. The width is chosen before the first sentence is read; twenty times as much to say changes nothing "
    "about it.",
    tolerance=0.5,
    hint="Only the last state crosses the bridge.",
)


def _tom_after(text: str) -> float:
    return float(encode(examples.source_ids(text), np.zeros(5), examples.ENCODER_DECODER_PARAMS, "rnn").context[0])


_FIRST = _tom_after("Tom")

LOUDER = Number(
    id="encoder_decoder.louder",
    question="In the example the word Tom adds 0.25 to the column Tom, and every step multiplies the column by 1.5 "
    "before "
    "tanh. What stands in the column after “Tom”, and what after “Tom chase”? (tanh: np.tanh, or a calculator.)",
    answer=[_FIRST, _tom_after("Tom chase")],
    fields=["after Tom", "after chase"],
    wrong=[
        Wrong([0.25, 0.375], "You left tanh out. Each step ends with it."),
        Wrong([_FIRST, _FIRST], "The state does not stand still: the second step multiplies the column by 1.5."),
        Wrong([_FIRST, np.tanh(1.5 * _FIRST + 0.25)], "That would be “Tom Tom”: chase adds nothing to this column."),
        Wrong(
            [np.tanh(0.25 * 1.5), np.tanh(1.5 * np.tanh(0.25 * 1.5))],
            "Before the first word the column is 0, so there is nothing to multiply by 1.5 yet.",
        ),
    ],
    right="Yes: tanh(0.25), and then tanh of 1.5 times that. A word grows louder while others are being heard.",
    tolerance=0.005,
    hint="The first step starts from 0: tanh(0.25 + 1.5 · 0).",
)

SHIFT = Choice(
    id="encoder_decoder.shift",
    level="recall",
    question="In training, the decoder is to predict 汤姆 跑 <eos>. What does it read?",
    choices=["汤姆 跑 <eos>", "<bos> 汤姆 跑", "<bos> 汤姆 跑 <eos>", "<bos> <bos> <bos>"],
    answer=1,
    wrong=[
        Wrong(
            0, "Then it reads each word at the moment it is to predict it. Its loss will be wonderful and its use nil."
        ),
        Wrong(2, "Four words in, three to predict: to the last there is no answer. Nothing comes after <eos>."),
        Wrong(3, "Then it can not know what has been said already."),
    ],
    right="Yes: the start mark, then the target one step late. The last word is read by nobody.",
    hint="At each step, what has been written before?",
)

_SOURCE, _TARGET = 30, 25

IN_A_ROW = Number(
    id="encoder_decoder.in_a_row",
    level="think",
    question=f"A source of {_SOURCE} tokens, a target of {_TARGET}, a training step with the target known. How many "
    "steps of "
    "the two networks must be computed one after the other? And how many if the decoder may also look at all encoder "
    "states?",
    answer=[_SOURCE + _TARGET, _SOURCE + _TARGET],
    fields=["one vector", "all states"],
    wrong=[
        Wrong([_SOURCE + _TARGET, _TARGET], "The encoder's states must exist before anyone can look at them."),
        Wrong(
            [_SOURCE + _TARGET, _SOURCE + 1],
            "Each decoder state still needs the one before it, also when the words are known.",
        ),
        Wrong(
            [_SOURCE + 1, _SOURCE + 1], "That the words are known does not help: each state needs the state before it."
        ),
        Wrong([_SOURCE + _TARGET, _SOURCE * _TARGET], "So many pairs are compared, but those can be compared at once."),
    ],
    right="Yes. Looking back shortens the path from word to word. It takes no step out of the row.",
    tolerance=0.5,
    hint="Which computation needs the result of which other?",
)

ROOM = Number(
    id="encoder_decoder.room",
    level="think",
    question="Suppose each number of the context can be told apart in 100 steps. There are 10 words, and a sentence "
    "has 10 of "
    "them. How many numbers must the context have at the least, so that every sentence could have a context of its "
    "own?",
    answer=5,
    wrong=[
        Wrong(10, "That is one number for each word. But one number with 100 steps can tell two words at once."),
        Wrong(
            100, "That is one number for each word at each place, as in one-hot vectors. A number has 100 steps, not 2."
        ),
        Wrong(1, "One number can tell 100 sentences apart, and there are 10 to the power of 10."),
        Wrong(4, "Four numbers can tell 100 · 100 · 100 · 100 sentences apart, 10 to the power of 8. There are more."),
    ],
    right="Yes: 100 to the power of 5 is 10 to the power of 10. There is room enough; to learn such a code is "
    "another matter.",
    tolerance=0.01,
    hint="How many sentences are there? How many contexts with 1, 2, 3 numbers?",
)


def _right(tgt, bos):
    return np.concatenate([np.full_like(tgt[:, :1], bos), tgt[:, :-1]], axis=1)


def _not_shifted(tgt, bos):
    return tgt


def _rolled(tgt, bos):
    return np.roll(tgt, 1, axis=1)


def _in_front_only(tgt, bos):
    return np.concatenate([np.full_like(tgt[:, :1], bos), tgt], axis=1)


def _first_replaced(tgt, bos):
    return np.concatenate([np.full_like(tgt[:, :1], bos), tgt[:, 1:]], axis=1)


def _other_way(tgt, bos):
    return np.concatenate([tgt[:, 1:], np.full_like(tgt[:, :1], bos)], axis=1)


def _along_the_batch(tgt, bos):
    return np.concatenate([np.full_like(tgt[:1], bos), tgt[:-1]], axis=0)


WRITE = Code(
    id="encoder_decoder.write",
    question="Write shift(tgt, bos): from a batch of targets (n_sentences, n_tgt), each with its <eos>, make what "
    "the decoder "
    "reads in training. bos is the id of the start mark.",
    solution=_right,
    cases=[(np.array([[3, 5, 4, 2], [4, 6, 2, 0], [6, 2, 0, 0]]), 1), (np.array([[2], [7]]), 9)],
    wrong=[
        Wrong(_not_shifted, "Nothing is shifted: the decoder would read the word that it is to predict."),
        Wrong(_rolled, "You rolled the rows: the last token of each now stands first. The start mark belongs there."),
        Wrong(
            _in_front_only, "The rows are one token too long. What the last token would predict is not in the target."
        ),
        Wrong(
            _first_replaced, "You replaced the first word. It should move one place to the right, like all the others."
        ),
        Wrong(
            _other_way, "You shifted to the left: the decoder would read the word after the one that it is to predict."
        ),
        Wrong(_along_the_batch, "You shifted from sentence to sentence. Each row is a sentence; shift along axis 1."),
    ],
    right="Your function is right. Its last column is the one before <eos>, or padding, which the loss leaves out.",
)

EXERCISES = (BRIDGE, LOUDER, SHIFT, IN_A_ROW, ROOM, WRITE)
