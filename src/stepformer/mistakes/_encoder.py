"""Known mistakes in an encoder layer: the way around a sub-layer, and what a norm averages over."""

from stepformer.trace import Break, Edit

FORGET_THE_WAY_AROUND = Break(
    "Forget the residual",
    tuple(Edit(f"layer_{n}.residual", op="copy", inputs=(f"layer_{n}.found",)) for n in (1, 2)),
    "Each row is replaced by an average of the rows. After two sub-layers Tom and Jerry can not be told apart: both "
    "are 0.3 of a cat and 0.3 of a mouse.",
    "the_way_around_is_added",
)

OVER_THE_WORDS = Break(
    "Normalise over the words",
    (Edit("mean", attributes={"axis": -2}), Edit("variance", attributes={"axis": -2})),
    "The mean is now one row, with a number for each column, taken over the words. Change a number of Jerry, and the "
    "rows of Tom and chase change as well.",
    "each_row_has_its_own_mean",
)

SAMPLE_VARIANCE = Break(
    "Divide by one less than the width",
    Edit("variance", attributes={"correction": 1}),
    "The variances are a quarter too large, because the squares are divided by 4 and not by 5. All rows come out too "
    "small, and no weights of another program fit.",
    "variance_divides_by_the_width",
)

FORGET_THE_ROOT = Break(
    "Divide by the variance",
    Edit("normalised", inputs=("centred", "variance")),
    "Without the root, large rows become small ones: Jerry, with the largest numbers, now has the smallest. The rows "
    "should all be of one size.",
    "normalised_rows_have_variance_one",
)

_SUBLAYERS = ("self_attention", "feed_forward")

FORGET_BOTH_WAYS_AROUND = Break(
    "Forget the residual",
    tuple(Edit(f"{name}_residual", op="copy", inputs=(f"{name}.output",)) for name in _SUBLAYERS),
    "Only what the sub-layers have found goes on. Who is a being and who an action was known before the first of them, "
    "and is gone: in the last step both columns say nearly the same of all three words.",
    "the_way_around_is_added",
)

BOTH_OVER_THE_WORDS = Break(
    "Normalise over the words",
    tuple(Edit(f"{name}_norm.{step}", attributes={"axis": -2}) for name in _SUBLAYERS for step in ("mean", "variance")),
    "Each column is measured against the other words, so what a word is depends on who stands beside it. In the last "
    "step chase, the deed itself, has lost its hunt.",
    "each_row_has_its_own_mean",
)

SUM_AFTER_THE_NORM = Break(
    "Add after the norm",
    tuple(
        edit
        for name, way_in in (("self_attention", "x"), ("feed_forward", "self_attention_norm.output"))
        for edit in (
            Edit(f"{name}_residual", op="copy", inputs=(f"{name}.output",)),
            # The sum takes the place of adding the bias, which is small here.
            Edit(f"{name}_norm.output", inputs=(f"{name}_norm.stretched", way_in)),
        )
    ),
    "Now what was found is normalised alone, and the sum comes last. This is neither the layer of the paper nor "
    "pre-norm: the rows that leave the layer have no common scale, and a sub-layer can not say little.",
    "each_sum_is_normalised",
)

ADD_WHAT_WAS_NORMALISED = Break(
    "Add what was normalised",
    tuple(Edit(f"{name}_residual", inputs=(f"{name}_norm.output", f"{name}.output")) for name in _SUBLAYERS),
    "The way around now leads through the norm. Then nothing goes through the stack unchanged, and that was the point "
    "of moving the norm.",
    "the_way_around_is_added",
)

FORGET_THE_LAST_NORM = Break(
    "Forget the norm at the end",
    Edit("norm.output", op="copy", inputs=("layers.0.feed_forward_residual",)),
    "What leaves the stack is a sum that nobody has normalised, and it grows with every layer.",
    "the_last_sum_is_normalised",
)

RESIDUAL = (FORGET_THE_WAY_AROUND,)
"""The mistake with the sum alone."""

NORMALIZATION = (OVER_THE_WORDS, SAMPLE_VARIANCE, FORGET_THE_ROOT)
"""Mistakes that a layer norm can have."""

ENCODER_LAYER = (FORGET_BOTH_WAYS_AROUND, BOTH_OVER_THE_WORDS, SUM_AFTER_THE_NORM)
"""Mistakes that an encoder layer with post-norm can have."""

PRE_NORM = (ADD_WHAT_WAS_NORMALISED, FORGET_THE_LAST_NORM)
"""Mistakes that an encoder with pre-norm can have."""
