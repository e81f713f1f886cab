"""Known mistakes with dot-product attention and with masks."""

from stepformer.trace import Break, Edit

FORGET_TO_SCALE = Break(
    "Forget to scale",
    Edit("scaled_scores", op="copy"),
    "The weights turn almost hard: the best key takes nearly all, and softmax passes on hardly any gradient.",
    "scores_are_divided_by_root_d_k",
)

SOFTMAX_OVER_QUERIES = Break(
    "Softmax along the wrong axis",
    Edit("weights", attributes={"axis": -2}),
    "The columns sum to 1 instead of the rows: the queries compete for each key, and the last one gets almost nothing.",
    "weights_of_each_query_sum_to_one",
)

HARD_LOOKUP = Break(
    "Hard look-up instead of softmax",
    Edit("weights", op="hardmax"),
    "Each query takes exactly one value. A small change of a score changes nothing, then suddenly everything: there is "
    "no gradient to learn from.",
    "every_visible_key_has_a_share",
)

AVERAGE_THE_KEYS = Break(
    "Average the keys instead of the values",
    Edit("attention.output", inputs=("weights", "key")),
    "The output has the width of a key, 5, instead of the width of a value, 7. Where both widths are equal, nothing "
    "but wrong translations gives the mistake away.",
    "output_is_the_weighted_sum_of_values",
)

FORGET_THE_MASK = Break(
    "Forget the padding mask",
    (Edit("masked_scores", op="copy"), Edit("visible_key", op="copy"), Edit("visible_value", op="copy")),
    "Padding takes a share of the weight, and whatever numbers stand in the padded values get into every output.",
    "padding_has_no_weight",
)

MASK_WITH_ZERO = Break(
    "Mask with 0 instead of −∞",
    Edit("masked_scores", op="mask_with_zero"),
    "A score of 0 is not “no score”: e⁰ is 1, so padding still gets weight.",
    "padding_has_no_weight",
)

OPPOSITE_MASK = Break(
    "Read the mask the other way round",
    Edit("masked_scores", op="mask_opposite"),
    "All the weight goes to the padding and none to a word. torch.nn.MultiheadAttention reads masks this way, "
    "scaled_dot_product_attention does not.",
    "padding_has_no_weight",
)

ATTENTION = (FORGET_TO_SCALE, SOFTMAX_OVER_QUERIES, HARD_LOOKUP, AVERAGE_THE_KEYS)
"""Mistakes that any dot-product attention can have."""

MASKS = (FORGET_THE_MASK, MASK_WITH_ZERO, OPPOSITE_MASK)
"""Mistakes with a padding mask."""
