"""Known mistakes with the choice of the next word and with the loss of a padded target."""

from stepformer.trace import Break, Edit

MULTIPLY_BY_TEMPERATURE = Break(
    "Multiply by the temperature instead of dividing",
    Edit("tempered_logits", op="multiply"),
    "The knob turns the wrong way: 0.8 flattens the distribution where it should sharpen it, and 追逐 loses "
    "probability.",
    "temperature_divides_the_logits",
)

LEAVE_OUT_WITH_ZERO = Break(
    "Set the logits of the words left out to 0",
    Edit("top_k.kept_logits", op="mask_with_zero"),
    "A logit of 0 is a logit like any other: each word left out still gets a probability. <pad> and <bos> even gain.",
    "words_left_out_get_nothing",
)

FORGET_TO_RENORMALISE = Break(
    "Set the other probabilities to 0 and leave it at that",
    Edit("top_p.probabilities", op="mask_with_zero", inputs=("top_p.all_probabilities", "top_p.kept")),
    "The row sums to less than 1, so it is no distribution: a draw from it may end with no word at all.",
    "kept_words_share_all_the_probability",
)

SOFTMAX_TWICE_OVER_TOKENS = Break(
    "Hand probabilities to a loss that takes logits",
    Edit("loss.losses", inputs=("probabilities", "target_rows")),
    "Every real word costs nearly the same, between 2.0 and 2.3: probabilities differ by 1 at most, so softmax, run "
    "over them again, can hardly tell the words apart.",
    "losses_are_taken_from_the_logits",
)

COUNT_PADDING = Break(
    "Divide by all rows, padding included",
    Edit("loss.count", op="count_rows", inputs=("logits",)),
    "The loss looks smaller than it is, and the more padding a batch has the smaller it looks.",
    "loss_is_the_mean_over_the_tokens",
)

PREDICT_PADDING = Break(
    "Take padding for a word to be predicted",
    Edit("loss.target_rows", op="copy"),
    "The last row costs more than all the others together, although there is nothing to predict. In training, the "
    "model would learn above all to say <pad>.",
    "padding_rows_are_zero",
)

SMOOTH_PADDING = Break(
    "Clear the padding first, and smooth afterwards",
    (
        Edit("loss.smoothed", op="clear_padding", inputs=("right_answer", "targets"), attributes={"pad_id": 0}),
        Edit("loss.target_rows", op="smooth", inputs=("loss.smoothed", "smoothing")),
    ),
    "The row of padding is no longer 0: every word has got its small share there as well, and the row costs something.",
    "padding_rows_are_zero",
)

SAMPLING = (MULTIPLY_BY_TEMPERATURE, LEAVE_OUT_WITH_ZERO, FORGET_TO_RENORMALISE)
"""Mistakes with temperature, top-k and top-p."""

PADDED_LOSS = (SOFTMAX_TWICE_OVER_TOKENS, COUNT_PADDING, PREDICT_PADDING)
"""Mistakes with the loss of a padded target."""

SMOOTHED_LOSS = (SMOOTH_PADDING,)
"""A mistake with label smoothing."""
