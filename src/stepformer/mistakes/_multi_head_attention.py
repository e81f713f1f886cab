"""Known mistakes with several heads: how they are cut, scaled, weighed and joined."""

from stepformer.trace import Break, Edit

RESHAPE_INSTEAD_OF_SPLIT = Break(
    "Reshape instead of split",
    tuple(Edit(f"{role}_heads", op="reshape_heads") for role in ("query", "key", "value")),
    "The shapes are right, (2, 4, 5), and the rows are not: the first head holds both halves of the first two words, "
    "the second head those of the last two. Each word asks with the half of another.",
    "each_head_gets_its_own_columns",
)

SCALE_BY_D_MODEL_IN_HEADS = Break(
    "Divide by the root of d_model",
    Edit("scaled_scores", inputs=("scores", "x")),
    "The scores of a head are divided by √10 instead of √5, because the head is only half as wide as the model. All "
    "weights are too even.",
    "scores_are_divided_by_root_d_k",
)

AVERAGE_THE_HEADS = Break(
    "Average the weights over the heads",
    Edit("weights", op="softmax_averaged"),
    "Both heads show the same weights, which are those of neither. Who chases whom is lost: in the row chase, “to cat” "
    "is now larger than “to mouse”, as if Tom chased himself. torch.nn.MultiheadAttention returns this mean unless "
    "told otherwise.",
    "weights_of_each_head_are_its_own",
)

SOFTMAX_ACROSS_HEADS = Break(
    "Softmax across the heads",
    Edit("weights", attributes={"axis": -3}),
    "With one axis more it is easily the wrong one: now the two heads share a weight of 1 for each pair of words, and "
    "the rows sum to anything.",
    "weights_of_each_query_sum_to_one",
)

DROP_W_O = Break(
    "Drop W^O",
    Edit("multi_head_attention.output", op="copy"),
    "The heads lie side by side, and nothing has compared them. Who is chased stands in neither: it is what is left of "
    "the second head when you take away the first.",
    "w_o_joins_the_heads",
)

RESHAPE_COLUMNS = Break(
    "Reshape instead of split",
    Edit("heads", op="reshape_heads"),
    "Head 0 should hold columns 0 and 1 of every word. It holds the numbers 0 to 5, all of the first word, and the "
    "first two of the second.",
    "each_head_gets_its_own_columns",
)

MULTI_HEAD = (
    RESHAPE_INSTEAD_OF_SPLIT,
    SCALE_BY_D_MODEL_IN_HEADS,
    AVERAGE_THE_HEADS,
    SOFTMAX_ACROSS_HEADS,
    DROP_W_O,
)
"""Mistakes that multi-head attention can have."""

SPLIT_HEADS = (RESHAPE_COLUMNS,)
"""The mistake with cutting columns into heads, where every number says where it stands."""
