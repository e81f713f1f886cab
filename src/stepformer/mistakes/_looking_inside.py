"""Known mistakes in looking into a model."""

from stepformer.trace import Break, Edit

READ_WITHOUT_THE_NORM = Break(
    "Read the stream without the last norm",
    tuple(
        Edit(f"{depth}.logits", inputs=(f"stream_{k}", f"{depth}.output_weight", "output.bias"))
        for k, depth in enumerate(("embedding", "self_attention", "cross_attention"))
    ),
    "The states are smaller than what the output layer is used to, so its bias decides more: after <bos> the lens says "
    "<eos>. And at the last depth it gives other probabilities than the model.",
    "the_lens_reads_as_the_model_does",
)

READ_WHAT_WAS_ADDED = Break(
    "Read what a sub-layer added instead of the stream",
    tuple(
        Edit(f"{depth}.norm.{name}", inputs=inputs)
        for depth, found in (("self_attention", "found_back"), ("cross_attention", "found_across"))
        for name, inputs in (("mean", (found,)), ("centred", (found, f"{depth}.norm.mean")))
    ),
    "That is a question of its own, what this sub-layer alone would say. But what comes after it reads the sum.",
    "the_lens_reads_as_the_model_does",
)

LENS = (READ_WITHOUT_THE_NORM, READ_WHAT_WAS_ADDED)
"""Mistakes with the logit lens."""

COUNT_PADDING = Break(
    "Average over the rows of padding too",
    Edit("number_of_words_of_each_sentence", inputs=("every_row",)),
    "The mean falls from 0.78 to 0.59. The more padding a batch has, the less the head seems to look at the right "
    "words.",
    "a_mean_counts_words_only",
)

WEIGHT_ON_LINKS = (COUNT_PADDING,)
"""Mistakes with means of attention weights."""
