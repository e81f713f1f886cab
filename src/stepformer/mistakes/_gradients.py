"""Known mistakes in the backward pass. Each leaves every shape right, so nothing crashes."""

from stepformer.trace import Break, Edit

PADDING_IN_THE_GRADIENT = Break(
    "Let padding into the gradient",
    Edit("gradient.error", op="copy"),
    "The row of padding in logits_gradient is not 0: the model is taught to write <pad>, and every parameter is pulled "
    "that way.",
    "padding_sends_no_gradient",
)

BIAS_ALONG_THE_WRONG_AXIS = Break(
    "Add up the gradient of the bias along the wrong axis",
    Edit("bias_gradient", attributes={"axis": -1}),
    "bias_gradient has one number for each position instead of one for each word of the vocabulary. Were the two sizes "
    "equal, nobody would notice.",
    "every_gradient_has_the_shape_of_its_tensor",
)

NO_SLOPE = Break(
    "Forget the slope of ReLU",
    Edit("expanded_gradient", op="copy"),
    "Units that were switched off get a gradient, even the silent one, whose column in w_1.weight_gradient is no "
    "longer 0.",
    "switched_off_units_pass_nothing_back",
)

SLOPE_OF_THE_GRADIENT = Break(
    "Apply ReLU to the gradient instead of its slope to the input",
    Edit("slope", inputs=("hidden_gradient",)),
    "No entry of expanded_gradient is negative: no unit is ever told to say more.",
    "switched_off_units_pass_nothing_back",
)

CONSTANT_STATISTICS = Break(
    "Take mean and deviation for constants",
    Edit("layer_norm_backward.x_gradient", inputs=("normalised_gradient", "deviation")),
    "The rows of x_gradient no longer sum to 0, although adding a number to a whole row of x changes no output.",
    "shifting_a_row_has_no_slope",
)

CONSTANT_DEVIATION = Break(
    "Forget that x changes its own deviation",
    Edit("layer_norm_backward.x_gradient", inputs=("without_mean", "deviation")),
    "The rows of x_gradient still sum to 0, but they point along the row itself, although a longer row gives the same "
    "output.",
    "gradient_agrees_with_finite_differences",
)

FORGET_THE_GAIN = Break(
    "Forget the gain on the way back",
    Edit("normalised_gradient", op="copy"),
    "normalised_gradient equals output_gradient. Before training every gain is 1 and nothing is wrong; the mistake "
    "grows as the gains move.",
    "gradient_agrees_with_finite_differences",
)

SOFTMAX_ALONE = Break(
    "Treat softmax as if each weight depended on its own score only",
    Edit("mean_gradient", op="copy"),
    "The rows of scaled_scores_gradient no longer sum to 0: raising one score would take nothing from the others.",
    "rows_of_the_scores_gradient_sum_to_zero",
)

SOFTMAX_NOT_AT_ALL = Break(
    "Forget to subtract the mean in softmax's gradient",
    Edit("above_mean", op="copy"),
    "Every score follows the gradient of its own weight. In row 追逐 all three gradients are negative: all scores "
    "would be raised together.",
    "rows_of_the_scores_gradient_sum_to_zero",
)

FORGET_THE_SCALE = Break(
    "Forget the scale on the way back",
    Edit("scores_gradient", op="copy"),
    "The gradients of query and key are √5 = 2.24 times too long; that of value is right. The wider the head, the "
    "longer their steps.",
    "gradient_agrees_with_finite_differences",
)

LOSS_BACKWARD = (PADDING_IN_THE_GRADIENT, BIAS_ALONG_THE_WRONG_AXIS)
"""Mistakes between the loss and the layer below the logits."""

FEED_FORWARD_BACKWARD = (NO_SLOPE, SLOPE_OF_THE_GRADIENT)
"""Mistakes with the slope of ReLU."""

LAYER_NORM_BACKWARD = (CONSTANT_STATISTICS, CONSTANT_DEVIATION, FORGET_THE_GAIN)
"""Mistakes in the backward pass of a layer norm."""

ATTENTION_BACKWARD = (SOFTMAX_ALONE, SOFTMAX_NOT_AT_ALL, FORGET_THE_SCALE)
"""Mistakes in the backward pass of attention."""
