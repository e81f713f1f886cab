"""Known mistakes with self-attention: its projections, its causal mask, and which axis a padding mask hides."""

from stepformer.trace import Break, Edit

ONE_MATRIX_TWICE = Break(
    "Make the queries with the matrix of the keys",
    Edit("query", inputs=("x", "w_k.weight")),
    "The scores become symmetric: a word now asks for what it offers itself, so chase asks for an action and finds "
    "mostly itself.",
    "each_role_has_its_own_projection",
)

NO_PROJECTIONS = Break(
    "Leave out the projections",
    tuple(Edit(role, op="copy") for role in ("query", "key", "value")),
    "Queries, keys and values are all x, 10 wide. Every word resembles itself most, so every word attends mostly to "
    "itself, and nothing can be learned about whom to ask.",
    "each_role_has_its_own_projection",
)

SCALE_BY_D_MODEL = Break(
    "Divide by the root of d_model",
    Edit("scaled_scores", inputs=("scores", "x")),
    "The scores are divided by √10 instead of √5. They are too small, so the weights are too even.",
    "scores_are_divided_by_root_d_k",
)

SOFTMAX_DOWN_THE_COLUMNS = Break(
    "Softmax along the queries",
    Edit("weights", attributes={"axis": -2}),
    "The matrix of weights is square here, so no shape gives the mistake away: the columns sum to 1, the rows do not.",
    "weights_of_each_query_sum_to_one",
)

AVERAGE_THE_INPUTS = Break(
    "Average x instead of the values",
    Edit("attention.output", inputs=("weights", "x")),
    "The output is 10 wide instead of 7. With equal widths it would go unnoticed, and W^V would never be used.",
    "output_is_the_weighted_sum_of_values",
)

FORGET_THE_CAUSAL_MASK = Break(
    "Forget the causal mask",
    Edit("masked_scores", op="copy"),
    "追逐 looks at 杰瑞, the very word it is meant to predict. In training the loss falls beautifully; when the model "
    "has to write by itself, that word is not there.",
    "no_future_is_seen",
)

CAUSAL_MASK_WITH_ZERO = Break(
    "Mask the future with 0",
    Edit("masked_scores", op="mask_with_zero"),
    "A score of 0 still gets a weight, because e⁰ is 1: every word sees a blurred future.",
    "no_future_is_seen",
)

OPPOSITE_CAUSAL_MASK = Break(
    "Read the causal mask the other way round",
    Edit("masked_scores", op="mask_opposite"),
    "Each word sees only what comes after it, not even itself. The last word sees nothing, so its row is zero.",
    "no_future_is_seen",
)

MASK_THE_QUERIES = Break(
    "Mask the queries instead of the keys",
    Edit("masked_scores", op="mask_transposed"),
    "The rows of padding become zero, which nobody needs; the words go on averaging padding, which nobody wants.",
    "padding_has_no_weight",
)

FORGET_THE_PADDING = Break(
    "Forget the padding mask",
    Edit("masked_scores", op="copy"),
    "Every word gives a share of its weight to padding; the longer the padding, the more.",
    "padding_has_no_weight",
)

SELF_ATTENTION = (ONE_MATRIX_TWICE, NO_PROJECTIONS, SCALE_BY_D_MODEL, SOFTMAX_DOWN_THE_COLUMNS, AVERAGE_THE_INPUTS)
"""Mistakes that any self-attention can have."""

CAUSAL = (FORGET_THE_CAUSAL_MASK, CAUSAL_MASK_WITH_ZERO, OPPOSITE_CAUSAL_MASK)
"""Mistakes with a causal mask."""

PADDED_SELF_ATTENTION = (MASK_THE_QUERIES, FORGET_THE_PADDING)
"""Mistakes with a padding mask where queries and keys are the same words."""
