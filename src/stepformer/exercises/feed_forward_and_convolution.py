"""Exercises of the chapter on feed-forward networks and convolution. Every accepted number is computed."""

import numpy as np

from stepformer import examples
from stepformer.exercises.exercise import Choice, Code, Number, Wrong
from stepformer.ops import convolve_1d, convolve_1d_flipped, convolve_2d
from stepformer.reference.convolution import convolution_1d

_TRACE = examples.feed_forward()
_TOM, _MOUSE = 0, examples.HIDDEN_UNITS.index("a mouse")
_BEFORE, _AFTER = (float(_TRACE[name][_TOM, _MOUSE]) for name in ("expanded", "hidden"))
_THRESHOLD = float(examples.EXPANSION_PARAMS["w_1.bias"][_MOUSE])

HIDDEN = Number(
    id="feed_forward_and_convolution.hidden",
    question="The hidden unit “a mouse” adds the features being and mouse and its bias of −1.5. Tom has being 1.4 and "
    "mouse −0.5. What is the unit's number before the ReLU, and after it?",
    answer=[_BEFORE, _AFTER],
    fields=["before", "after"],
    wrong=[
        Wrong([_BEFORE, _BEFORE], "The first is right. After a ReLU nothing is negative: it puts 0 there."),
        Wrong([_BEFORE, -_BEFORE], "The first is right. ReLU does not drop the sign; it puts 0 for what is negative."),
        Wrong([_BEFORE - _THRESHOLD] * 2, "The bias of −1.5 is missing: it is the threshold of the unit."),
        Wrong([0.4, 0.4], "Tom's mouse is −0.5: a negative number is taken away, not added."),
    ],
    right="Yes: 1.4 − 0.5 − 1.5 = −0.6, and ReLU makes 0 of it. Tom is no mouse, and the unit is silent.",
    hint="Add the two features and the bias. Then max(0, …).",
)


def _parameters(d_model: int, d_ff: int) -> int:
    return d_model * d_ff + d_ff + d_ff * d_model + d_model


PARAMETERS = Number(
    id="feed_forward_and_convolution.parameters",
    question="In the paper's base model d_model is 512 and d_ff is 2048. How many parameters, biases included, has the "
    "feed-forward network of one layer?",
    answer=_parameters(512, 2048),
    wrong=[
        Wrong(2 * 512 * 2048, "These are the two matrices. The biases are missing: one of 2048 and one of 512."),
        Wrong(512 * 2048 + 2048, "That is the first of the two layers."),
        Wrong(512 * 2048, "That is one matrix. There are two, and two biases."),
        Wrong(_parameters(512, 512), "You took 512 for d_ff as well. The network is four times as wide inside."),
    ],
    right="Yes, 2,099,712. The number of tokens does not occur in it: all tokens share the same network.",
    hint="512 · 2048 and 2048 · 512, and a bias for each output of the two layers.",
)

_SIGNAL, _KERNEL, _NONE = np.arange(1.0, 5.0)[:, None], np.array([1.0, 0.0, -1.0])[:, None, None], np.zeros(1)

CORRELATE = Number(
    id="feed_forward_and_convolution.window",
    question="Slide the window (1, 0, −1) along the row 1, 2, 3, 4, without padding, as deep learning does it. Which "
    "two numbers come out?",
    answer=convolve_1d(_SIGNAL, _KERNEL, _NONE).ravel(),
    fields=["first", "second"],
    wrong=[
        Wrong(
            convolve_1d_flipped(_SIGNAL, _KERNEL, _NONE).ravel(),
            "That is the convolution of mathematics (numpy.convolve), which turns the window round first. Deep "
            "learning lays it on as it is.",
        ),
        Wrong(convolve_1d(_SIGNAL, np.abs(_KERNEL), _NONE).ravel(), "You lost the sign of the −1."),
        Wrong([1.0, 2.0], "The window has three places. The last one takes the third number away."),
    ],
    right="Yes: 1 − 3 and 2 − 4. torch.nn.functional.conv1d gives the same, numpy.convolve gives 2 and 2.",
    hint="Lay the window on the first three numbers, multiply place by place, add. Then move it by one.",
)


def _places(size: int, window: int, padding: int, stride: int) -> int:
    picture, kernel = np.zeros((1, size, size)), np.zeros((1, 1, window, window))
    return convolve_2d(picture, kernel, np.zeros(1), padding=padding, stride=stride).shape[-1]


SIZE = Number(
    id="feed_forward_and_convolution.size",
    question="An image has 8 rows. A window of 3 × 3 slides over it with padding 1 and stride 2. How many rows has the "
    "result?",
    answer=_places(8, 3, padding=1, stride=2),
    wrong=[
        Wrong(4.5, "Half a place does not exist: the window must fit in whole, so the number is rounded down."),
        Wrong(_places(8, 3, padding=0, stride=2), "You left out the padding: one row of zeros above, one below."),
        Wrong(_places(8, 3, padding=1, stride=1), "That is with stride 1. The window moves by two rows at a time."),
        Wrong(5, "You rounded up. At the fifth place, the window would stick out of the padded image."),
    ],
    right="Yes: (8 + 2 − 3) / 2 = 3.5, rounded down 3, and the first place makes 4.",
    hint="10 rows with padding. The window starts at row 0, 2, 4, … as long as its three rows fit in.",
)


def _field(strides: list[int], size: int = 31) -> int:
    """Rows that the result in the middle of a stack of 3 × 3 windows depends on: one pixel after the other is lit."""
    pixels = np.eye(size)[:, None, :, None] * np.ones((1, 1, 1, size))
    for stride in strides:
        pixels = convolve_2d(pixels, np.ones((1, 1, 3, 3)), np.zeros(1), stride=stride)
    middle = pixels.shape[-1] // 2
    return int(np.count_nonzero(pixels[:, 0, middle, middle]))


FIELD = Number(
    id="feed_forward_and_convolution.receptive_field",
    question="Three convolutions of 3 × 3 lie on top of one another. How many rows of the image does one number of the "
    "last layer see, if all strides are 1? And how many, if the first layer has stride 2?",
    answer=[_field([1, 1, 1]), _field([2, 1, 1])],
    fields=["all strides 1", "first stride 2"],
    wrong=[
        Wrong([9, 9], "Windows overlap: a further layer adds 2 rows, one on each side, not 3."),
        Wrong([27, 27], "That would be windows side by side. They overlap: each layer adds only one row on each side."),
        Wrong([7, 7], "The first is right. After stride 2, neighbours in layer 1 are two rows apart in the image."),
        Wrong(
            [7, 14], "The first is right. The stride does not double the first window of 3, only what is added to it."
        ),
        Wrong(
            [3, 3],
            "That is one layer alone. The second sees three numbers of the first, each of which sees three rows.",
        ),
    ],
    right="Yes: 3 + 2 + 2 = 7, and with the stride 3 + 4 + 4 = 11.",
    hint="Start at the top: one number sees 3 of the layer below. How many does that group of 3 see?",
)

PATH = Choice(
    id="feed_forward_and_convolution.parallel",
    question="What does a convolution over a long text lack, compared with attention?",
    choices=[
        "It can not be computed in parallel: each window waits for the one before.",
        "A short path: words that stand far apart meet only after many layers.",
        "It does not notice the order of words.",
        "It needs other weights for each length of the text.",
    ],
    answer=1,
    wrong=[
        Wrong(0, "A common belief. No window needs the result of another, so all of them can be computed at once."),
        Wrong(2, "It does notice it: each place of the window has a matrix of its own."),
        Wrong(3, "The same window slides along texts of any length."),
    ],
    right="Yes. With windows of width k, words n apart need about n / (k − 1) layers, or log n with growing gaps.",
    hint="Which results does one window need before it can be computed? And how far does it see?",
)

ALONE = Choice(
    id="feed_forward_and_convolution.alone",
    level="recall",
    question="In “Tom chase Jerry” you replace Jerry by sleep. Which rows of the feed-forward network's output change?",
    choices=["All three", "The last row only", "The last two", "None"],
    answer=1,
    wrong=[
        Wrong(0, "That would be attention. Here each row is multiplied by the same matrices, alone."),
        Wrong(2, "That would be a window. The feed-forward network sees one word."),
        Wrong(3, "The row of the new word is another row, so its output is another too."),
    ],
    right="Yes. The network has no memory and no neighbours: it sees one word at a time.",
    hint="Try it in the first player.",
)


def _same(x, weight, bias):
    return convolution_1d(x, {"weight": weight, "bias": bias}, "same")


def _causal(x, weight, bias):
    return convolution_1d(x, {"weight": weight, "bias": bias}, "causal")


def _flipped(x, weight, bias):
    return convolve_1d_flipped(x, weight, bias, before=len(weight) - 1)


def _future(x, weight, bias):
    return convolve_1d(x, weight, bias, after=len(weight) - 1)


def _without_bias(x, weight, bias):
    return _causal(x, weight, np.zeros_like(bias))


def _without_padding(x, weight, bias):
    return convolve_1d(x, weight, bias)


def _cases() -> list[tuple]:
    draws = np.random.default_rng(0)
    sizes = ((5, 3, 4, 2), (7, 3, 2, 5), (4, 2, 3, 3))
    return [
        tuple(np.round(draws.normal(size=shape), 3) for shape in ((n, d_in), (width, d_in, d_out), (d_out,)))
        for n, width, d_in, d_out in sizes
    ]


WRITE = Code(
    id="feed_forward_and_convolution.write",
    question="Write convolution(x, weight, bias) in NumPy: a causal convolution over the rows of x, with the weights "
    "(width, d_in, d_out).",
    solution=_causal,
    cases=_cases(),
    wrong=[
        Wrong(_same, "The window is centred, so each row sees later ones. Put all width − 1 rows of zeros before x."),
        Wrong(_flipped, "The window is turned round: weight[-1] belongs to the row itself, weight[0] to the earliest."),
        Wrong(_future, "The zeros are at the wrong end: your window begins at each row instead of ending there."),
        Wrong(_without_bias, "The bias is missing."),
        Wrong(
            _without_padding, "Rows are missing: put width − 1 rows of zeros before x, so that every row has a result."
        ),
    ],
    right="Your convolution agrees with the library on every case, and sees no future.",
)

EXERCISES = (HIDDEN, PARAMETERS, CORRELATE, SIZE, FIELD, PATH, ALONE, WRITE)
