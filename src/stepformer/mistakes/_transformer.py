"""Known mistakes in the whole Transformer: what the decoder may see, where its memory comes from, what is left out."""

from stepformer.trace import Break, Edit

_CROSS = "decoder.layers.0.cross_attention"
_ATTENTIONS = ("encoder.layers.0.self_attention", "decoder.layers.0.self_attention", _CROSS)

FORGET_THE_CAUSAL_MASK = Break(
    "Forget the causal mask",
    Edit("target_mask", op="copy", inputs=("padding_mask",)),
    "After 汤姆 the model says <eos> with probability 1.00: its row has seen 追逐, which has not been written yet, and "
    "takes the sentence for finished. The mask of padding is there, so nothing looks missing.",
    "no_probability_sees_a_later_word",
)

FORGET_THE_POSITIONS = Break(
    "Forget the positions",
    tuple(Edit(f"{side}_input.with_positions", op="copy") for side in ("src", "tgt")),
    "Make the source Jerry chase Tom: nothing changes in any probability. The model translates a bag of words.",
    "the_order_of_the_source_matters",
)

FORGET_TO_SCALE = Break(
    "Forget to divide by the root of d_k",
    tuple(Edit(f"{path}.attention.scaled_scores", op="copy") for path in _ATTENTIONS),
    "The translation is still right. Only the weights tell: most of them have become 0 or 1, and a softmax that is so "
    "sure hardly passes a gradient on, so such a model learns badly.",
    "all_scores_are_divided_by_root_d_k",
)

MEMORY_BEFORE_THE_ENCODER = Break(
    "Take the memory from before the encoder",
    tuple(
        Edit(f"{_CROSS}.projected_{role}", inputs=("src_input.with_positions", f"{w}.weight", f"{w}.bias"))
        for role, w in (("key", f"{_CROSS}.w_k"), ("value", f"{_CROSS}.w_v"))
    ),
    "Tom chase Jerry is still translated. Now make the source Tom pay bank: 银行 falls from 0.96 to 0.49, as if nobody "
    "had read pay. The decoder gets words that have not been put into their context.",
    "the_memory_is_what_the_encoder_returns",
)

TRANSFORMER = (
    FORGET_THE_CAUSAL_MASK,
    FORGET_THE_POSITIONS,
    FORGET_TO_SCALE,
    MEMORY_BEFORE_THE_ENCODER,
)
"""Mistakes that fit in every shape, and of which two leave the running example translated."""
