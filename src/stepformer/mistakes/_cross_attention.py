"""Known mistakes with cross-attention: who asks whom, whose padding is hidden, and along which axis."""

from stepformer.trace import Break, Edit

SWAP_THE_ROLES = Break(
    "Swap the roles",
    (
        Edit("query", inputs=("memory", "w_q.weight")),
        Edit("key", inputs=("x", "w_k.weight")),
        Edit("value", inputs=("x", "w_v.weight")),
    ),
    "The source asks and the target answers. The output has 3 rows, one for each source word, but the decoder needs "
    "one for each of its 4 words.",
    "queries_come_from_the_target",
)

ASK_YOURSELF = Break(
    "Let the target ask itself",
    (Edit("key", inputs=("x", "w_k.weight")), Edit("value", inputs=("x", "w_v.weight"))),
    "Choose other English words: query, key, value and everything after them stay as they are. The decoder writes "
    "without ever having seen the source.",
    "keys_and_values_come_from_the_source",
)

VALUES_FROM_THE_TARGET = Break(
    "Take the values from the target",
    Edit("value", inputs=("x", "w_v.weight")),
    "The weights look perfect, 追逐 still points at chase. But what it fetches there is a row of the target: nothing "
    "that the source has to say gets into the output.",
    "keys_and_values_come_from_the_source",
)

FORGET_THE_PADDING = Break(
    "Forget the padding mask of the source",
    (Edit("masked_scores", op="copy"), Edit("visible_memory", op="copy")),
    "Every target word gives a share of its weight to padding, more than a third of it in the row of 追逐, and the "
    "output takes in numbers that mean nothing.",
    "padding_has_no_weight",
)

MASK_THE_QUERIES = Break(
    "Mask the queries instead of the keys",
    (Edit("masked_scores", op="mask_transposed"), Edit("visible_memory", op="copy")),
    "The row of <eos> is empty, although <eos> is to be written. The other rows go on averaging the padding of the "
    "source.",
    "padding_has_no_weight",
)

MASK_OF_THE_TARGET = Break(
    "Use the padding mask of the target",
    (Edit("memory_mask", inputs=("tgt",)), Edit("visible_memory", op="copy")),
    "The target has one <pad>, the source two: one padding stays visible. Had the target more padding than the source, "
    "real source words would vanish.",
    "padding_has_no_weight",
)

CAUSAL_MASK = Break(
    "Use a causal mask",
    Edit("memory_mask", op="causal_mask", inputs=("x", "memory")),
    "汤姆 may ask Tom only, 追逐 may ask Tom and chase. But the source has been read to its end, there is no future to "
    "hide: a target word whose partner stands later in the source cannot find it.",
    "every_visible_key_has_a_share",
)

CROSS_ATTENTION = (SWAP_THE_ROLES, ASK_YOURSELF)
"""Mistakes about who asks whom."""

PADDED_CROSS_ATTENTION = (
    VALUES_FROM_THE_TARGET,
    FORGET_THE_PADDING,
    MASK_THE_QUERIES,
    MASK_OF_THE_TARGET,
    CAUSAL_MASK,
)
"""Mistakes that no shape gives away where source and target have the same padded length."""
