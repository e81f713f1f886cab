"""Exercises of the chapter on the output. Every accepted number is computed from the running example."""

import numpy as np

from stepformer import examples
from stepformer.exercises.exercise import Choice, Code, Number, Wrong
from stepformer.reference.loss import smoothed_cross_entropy
from stepformer.reference.sampling import top_k, top_p

_WORDS = examples.OUTPUT_WORDS
_X, _TABLE, _BIAS = examples.DECODER_OUTPUT, examples.OUTPUT_EMBEDDING, examples.OUTPUT_BIAS
_CAT, _TOM = _WORDS.index("猫"), _WORDS.index("汤姆")


def _softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


LOGIT = Number(
    id="output.logit",
    question="At <bos>, the decoder's vector is (1.3, −0.5, 1.2, −0.4, −0.1, 0, −0.3, −0.5, 0.1, 0.6). The word vector "
    "of 猫 is (1, 0.1, 1.1, −0.2, 0.2, −0.1, 0, 0.1, 0.1, 0.5), and its bias is −0.1. Which logit does 猫 get?",
    answer=examples.OUTPUT_LOGITS[0, _CAT],
    wrong=[
        Wrong(_X[0] @ _TABLE[_CAT], "That is the dot product. The bias of −0.1 is still missing."),
        Wrong(_X[0] @ _TABLE[_TOM] + _BIAS[_TOM], "That is the logit of 汤姆. The question is about 猫."),
        Wrong(
            np.abs(_X[0] * _TABLE[_CAT]).sum() + _BIAS[_CAT],
            "You lost the signs: a positive number times a negative one is negative.",
        ),
        Wrong(
            _softmax(examples.OUTPUT_LOGITS[0])[_CAT],
            "That is the probability, after softmax. The logit is the number before it.",
        ),
        Wrong(
            _X[0] @ _TABLE[_CAT] * 10**0.5 + _BIAS[_CAT],
            "You multiplied by √d_model. The paper does that where words come in, not where they go out.",
        ),
    ],
    right="Yes: the dot product of the two vectors is 2.89, and the bias takes away 0.1.",
    hint="Ten products, then the sum, then the bias.",
)

TEMPERATURE = Number(
    id="output.temperature",
    question="Three words have the logits 2, 1 and 0. Which probabilities do they get at the temperature 0.5?",
    answer=_softmax(np.array([4.0, 2.0, 0.0])),
    fields=["2", "1", "0"],
    wrong=[
        Wrong(_softmax(np.array([2.0, 1.0, 0.0])), "These are the probabilities at temperature 1."),
        Wrong(
            _softmax(np.array([1.0, 0.5, 0.0])),
            "You multiplied by the temperature. Divide by it: a low temperature makes differences larger.",
        ),
        Wrong(
            _softmax(np.array([2.0, 1.0, 0.0])) / 0.5,
            "You divided the probabilities. Divide the logits, before softmax: these do not sum to 1.",
        ),
        Wrong([1.0, 0.0, 0.0], "That is the limit at temperature 0. At 0.5 every word still has a share."),
    ],
    right="Yes: the logits become 4, 2 and 0. The order stays, the differences grow.",
    hint="Divide each logit by 0.5 first. e⁴ is 54.60 and e² is 7.389.",
)

_FOUR = np.log([0.4, 0.3, 0.2, 0.1])

TOP_P = Number(
    id="output.top_p",
    question="Four words have the probabilities 0.4, 0.3, 0.2 and 0.1. What do they have after top-p with p = 0.6?",
    answer=top_p(_FOUR, np.array(0.6)),
    fields=["0.4", "0.3", "0.2", "0.1"],
    wrong=[
        Wrong(
            [1.0, 0.0, 0.0, 0.0],
            "0.4 alone does not reach 0.6. The next word is kept as well: the one that crosses the line belongs to it.",
        ),
        Wrong([0.4, 0.3, 0.0, 0.0], "The right words are kept, but they sum to 0.7. Share out the rest in proportion."),
        Wrong(top_k(_FOUR, np.array(3.0)), "You kept three words. Two reach 0.6 already: 0.4 + 0.3 = 0.7."),
        Wrong([0.55, 0.45, 0.0, 0.0], "The rest is shared in proportion, not equally: divide both by 0.7."),
    ],
    right="Yes: two words are kept, and 4/7 and 3/7 are 0.571 and 0.429.",
    hint="Begin with the most probable word and add until 0.6 is reached.",
)

PERPLEXITY = Number(
    id="output.perplexity",
    question="A model gives the two right words of a text the probabilities 1/2 and 1/8. What is its perplexity?",
    answer=4.0,
    wrong=[
        Wrong(
            5.0, "That is the mean of 2 and 8. Perplexity takes the mean of the logarithms: here the geometric mean."
        ),
        Wrong(np.log(4), "That is the mean loss. Perplexity is e to the power of it."),
        Wrong(16.0, "That is 1 over the probability of the whole text. Take the mean over its two words."),
        Wrong(3.2, "You averaged the probabilities. Average the losses, then raise e to their mean."),
    ],
    right="Yes: the losses are log 2 and log 8, their mean is log 4. As unsure as a choice among four equal words.",
    hint="The mean of log 2 and log 8 is half of log 16.",
)

SMOOTH = Number(
    id="output.smooth",
    question="A vocabulary has 5 words. With label smoothing ε = 0.2, as in this book, how much of the target do the "
    "right word and each of the other words get?",
    answer=[0.84, 0.04],
    fields=["right word", "each other word"],
    wrong=[
        Wrong(
            [0.8, 0.05], "That is the convention ε/(V − 1): the right word gives away ε and takes no share of it back."
        ),
        Wrong([0.8, 0.2 / 3], "That is the convention ε/(V − 2), in which padding gets nothing either."),
        Wrong([0.8, 0.04], "These do not sum to 1. The right word gets its share of ε as well."),
        Wrong([0.8, 0.2], "The 0.2 is for all words together. Divide it by their number."),
        Wrong([1.0, 0.0], "That is the target without smoothing."),
    ],
    right="Yes: everybody gets 0.2 / 5 = 0.04, and the right word keeps 0.8 besides.",
    tolerance=0.001,
    hint="(1 − ε) · one-hot + ε / V.",
)

MEAN = Number(
    id="output.mean",
    question="A sentence of two words is padded to four. Its words cost 0.6 and 0.9. What is the mean loss of the "
    "batch that consists of this sentence alone?",
    answer=0.75,
    wrong=[
        Wrong(0.375, "You divided by four. Padding is not counted: nothing was to be predicted there."),
        Wrong(1.5, "That is the sum. Divide it by the number of words."),
        Wrong(0.5, "You divided by three. There are two words."),
    ],
    right="Yes, 1.5 / 2. Divided by 4, the loss would depend on how long the longest sentence of the batch is.",
    hint="How many words had to be predicted?",
)

FLOOR = Choice(
    id="output.floor",
    question="A model is trained with label smoothing ε = 0.1 on 13 words. It is as good now as a model can be. What "
    "is its smoothed loss?",
    choices=[
        "0, because a perfect model makes no mistakes.",
        "The entropy of the smoothed target: more than 0, and no model can go below it.",
        "log 13, because the target is uniform.",
        "Less than 0, because smoothing lowers the loss.",
    ],
    answer=1,
    wrong=[
        Wrong(
            0, "It would need the probability 1 for the right word. Then the others have 0, and their share costs ∞."
        ),
        Wrong(2, "The target is not uniform: one word has 0.91 of it. With ε = 1 it would be."),
        Wrong(3, "A cross-entropy is never negative, and smoothing raises the lowest value that it can take."),
    ],
    right="Yes, 0.54 for 13 words. The best model says just what the smoothed target says.",
    hint="Which probabilities make the loss as small as possible?",
)


def _own(logits, targets, smoothing, pad_id):
    return float(smoothed_cross_entropy(logits, targets, np.array(smoothing), int(pad_id)))


def _rows(logits, targets, smoothing, pad_id):
    """The loss of each row and which rows count, for the variants below."""
    q = (1 - smoothing) * np.eye(logits.shape[-1])[targets] + smoothing / logits.shape[-1]
    return -(q * np.log(_softmax(logits))).sum(axis=-1), targets != pad_id


def _padding_counted(logits, targets, smoothing, pad_id):
    losses, real = _rows(logits, targets, smoothing, pad_id)
    return (losses * real).mean()


def _padding_predicted(logits, targets, smoothing, pad_id):
    return _rows(logits, targets, smoothing, pad_id)[0].mean()


def _the_sum(logits, targets, smoothing, pad_id):
    losses, real = _rows(logits, targets, smoothing, pad_id)
    return losses[real].sum()


def _not_smoothed(logits, targets, smoothing, pad_id):
    return _own(logits, targets, 0.0, pad_id)


def _softmax_twice(logits, targets, smoothing, pad_id):
    return _own(_softmax(logits), targets, smoothing, pad_id)


def _shared_among_the_others(logits, targets, smoothing, pad_id):
    right = np.eye(logits.shape[-1])[targets]
    q = (1 - smoothing) * right + smoothing / (logits.shape[-1] - 1) * (1 - right)
    return -(q * np.log(_softmax(logits))).sum(axis=-1)[targets != pad_id].mean()


def _cases() -> list[tuple]:
    draws = np.random.default_rng(0)
    first = np.round(draws.normal(size=(5, 4)), 3), np.array([2, 1, 3, 0, 0]), 0.1, 0
    return [first, (np.round(3 * draws.normal(size=(3, 7)), 3), np.array([6, 4, 0]), 0.3, 6)]


WRITE = Code(
    id="output.write",
    question="Write smoothed_loss(logits, targets, smoothing, pad_id) in NumPy: it returns the mean cross-entropy with "
    "label smoothing over the rows whose target is not pad_id.",
    solution=_own,
    cases=_cases(),
    wrong=[
        Wrong(_padding_counted, "You divide by all rows. Divide by the number of rows that are not padding."),
        Wrong(_padding_predicted, "Padding is predicted as well. Leave these rows out."),
        Wrong(_the_sum, "This is the sum. Divide it by the number of rows that are not padding."),
        Wrong(_not_smoothed, "This is the loss without label smoothing."),
        Wrong(_softmax_twice, "You apply softmax twice. The loss needs one logarithm of one softmax."),
        Wrong(
            _shared_among_the_others,
            "You share ε among the other words only. In this book, as in torch, the right word gets its share as well.",
        ),
    ],
    right="Your loss agrees with the library: it is the one of the Transformer.",
)

EXERCISES = (LOGIT, TEMPERATURE, TOP_P, PERPLEXITY, SMOOTH, MEAN, FLOOR, WRITE)
