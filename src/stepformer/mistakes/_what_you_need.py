"""Known mistakes with a loss and with one step of gradient descent."""

from stepformer.trace import Break, Edit

SOFTMAX_DOWN_THE_WORDS = Break(
    "Softmax along the wrong axis",
    Edit("probabilities", attributes={"axis": -2}),
    "The columns sum to 1 instead of the rows: the words that were read compete for each next word.",
    "probabilities_of_each_row_sum_to_one",
)

SOFTMAX_TWICE = Break(
    "Softmax before the loss, which has its own",
    Edit("losses", inputs=("probabilities", "targets")),
    "The loss is too even: a sure right answer is not praised, a sure wrong one hardly blamed. Of four words, "
    "even a perfect prediction would cost 0.74.",
    "losses_are_minus_the_log_of_the_right_probability",
)

SUM_FOR_MEAN = Break(
    "Report the sum instead of the mean",
    Edit("loss.mean", op="copy", inputs=("loss.total",)),
    "The loss is three times as large, and grows with the length of the sentence: losses of two texts can no longer be "
    "compared.",
    "loss_is_the_mean_over_the_rows",
)

FORGET_TO_SHIFT = Break(
    "Forget to shift: predict the word itself",
    Edit("targets", value="Tom chase Jerry"),
    "Every shape fits. Trained like this, the loss falls beautifully, because the answer stands in the input: the "
    "model learns to repeat the word.",
    "targets_are_the_next_words",
)

ADD_THE_GRADIENT = Break(
    "Add the gradient instead of subtracting it",
    (Edit("new_weight", op="add"), Edit("new_bias", op="add")),
    "The step goes uphill: after.loss.mean is larger than loss.mean.",
    "the_step_lowers_the_loss",
)

FORGET_THE_RIGHT_ANSWER = Break(
    "Forget to subtract the right answer",
    Edit("error", op="copy"),
    "No entry of the error is negative, so every logit is pushed down, that of the right word too.",
    "gradient_agrees_with_finite_differences",
)

GRADIENT_OF_THE_SUM = Break(
    "Forget to divide the gradient by the number of words",
    Edit("logits_gradient", op="copy"),
    "Every entry of the gradient is three times too large. With longer sentences, the same learning rate takes longer "
    "steps, until one is too long.",
    "gradient_agrees_with_finite_differences",
)

LOSS = (SOFTMAX_DOWN_THE_WORDS, SOFTMAX_TWICE, SUM_FOR_MEAN, FORGET_TO_SHIFT)
"""Mistakes between the logits and the loss."""

GRADIENT_STEP = (ADD_THE_GRADIENT, FORGET_THE_RIGHT_ANSWER, GRADIENT_OF_THE_SUM)
"""Mistakes with a gradient and the step along it."""
