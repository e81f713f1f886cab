"""Known mistakes with a feed-forward network and with convolutions."""

from stepformer.trace import Break, Edit

LEAVE_OUT_THE_RELU = Break(
    "Leave out the ReLU",
    Edit("hidden", op="copy"),
    "Two linear layers in a row are one linear layer: the seven hidden units could as well not be there. Negative "
    "answers now speak as loudly as positive ones: that chase is no cat at all (−1.80) takes away motion from chase.",
    "the_layers_do_not_collapse_into_one",
)

FORGET_THE_FIRST_BIAS = Break(
    "Forget the first bias",
    Edit("expanded", op="matmul"),
    "The thresholds are gone: every unit answers to the least sign. Tom is now “a mouse” as well (0.90), because he is "
    "a being.",
    "the_first_layer_adds_its_bias",
)

FLIP_THE_WINDOW = Break(
    "Flip the window: the convolution of mathematics",
    Edit("convolution.output", op="convolve_1d_flipped"),
    "Before and after are exchanged. “To whom” answers at Tom, “who acts” at Jerry. With learned weights nobody "
    "would notice; with weights from elsewhere everything is wrong.",
    "the_window_is_laid_on_as_it_is",
)

PAD_ON_BOTH_SIDES = Break(
    "Pad on both sides in a causal convolution",
    Edit("convolution.output", attributes={"before": 1, "after": 1}),
    "The window is centred, so each word sees the next one: chase already knows that a mouse will be hunted. When the "
    "model has to write by itself, that word is not there.",
    "no_word_sees_a_later_one",
)

PAD_AT_THE_END = Break(
    "Pad at the wrong end",
    Edit("convolution.output", attributes={"before": 0, "after": 2}),
    "The window begins at each word instead of ending there: Tom answers to the whole sentence, Jerry to himself.",
    "no_word_sees_a_later_one",
)

FLIP_THE_KERNELS = Break(
    "Flip the kernels: the convolution of mathematics",
    Edit("layer_1.convolution.output", op="convolve_2d_flipped"),
    "Turned by half a turn, a kernel of Sobel changes its sign: upper edges are found where lower ones are, left "
    "where right ones are. The corners of the bar are lost, and some are found below it, where there are none.",
    "the_kernels_are_laid_on_everywhere_as_they_are",
)

SKIP_PLACES = Break(
    "A stride of 2 by accident",
    Edit("layer_1.convolution.output", attributes={"stride": 2}),
    "Every shape still fits, but the window stops at every second row and column only: 3 × 3 places instead of 6 × 6. "
    "The corner at the top right is missed.",
    "the_kernels_are_laid_on_everywhere_as_they_are",
)

LEAVE_OUT_THE_FIRST_RELU = Break(
    "Leave out the ReLU between the convolutions",
    Edit("edges", op="copy"),
    "Negative numbers in edges, wherever an edge is turned the other way. The two convolutions are now one with a "
    "window of 4 × 4. On this letter the same corners come out, which is how such a mistake stays unseen.",
    "the_layers_do_not_collapse_into_one",
)

FEED_FORWARD = (LEAVE_OUT_THE_RELU, FORGET_THE_FIRST_BIAS)
"""Mistakes with a feed-forward network."""

CENTRED_CONVOLUTION = (FLIP_THE_WINDOW,)
"""The mistake with a convolution over words whose window is centred."""

CAUSAL_CONVOLUTION = (PAD_ON_BOTH_SIDES, PAD_AT_THE_END)
"""Mistakes with a causal convolution."""

IMAGE_CONVOLUTION = (FLIP_THE_KERNELS, SKIP_PLACES, LEAVE_OUT_THE_FIRST_RELU)
"""Mistakes with convolutions over an image."""
