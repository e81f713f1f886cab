"""Known mistakes in a decoder: what it may see, whom it asks, and how far its target is shifted."""

from stepformer.trace import Break, Edit

_LAYER = "decoder.layers.0"
_CROSS = f"{_LAYER}.cross_attention"

FORGET_THE_CAUSAL_MASK = Break(
    "Forget the causal mask",
    Edit("target_mask", op="copy", inputs=("padding_mask",)),
    "Row 汤姆 gives 0.83 of a head to 追逐, the word that it is to predict, and says <eos>: somebody has acted "
    "already, so the sentence must be over. The padding is masked, so nothing looks missing.",
    "no_probability_sees_a_later_word",
)

TURN_THE_MASK = Break(
    "Turn the mask over",
    Edit(f"{_LAYER}.self_attention.attention.masked_scores", op="mask_transposed"),
    "The triangle lies on the wrong side: each row sees itself and what comes later, and nothing that was written. The "
    "row of <pad> sees nothing at all. No shape gives it away, because a triangle is square.",
    "no_probability_sees_a_later_word",
)

ASK_THE_TARGET = Break(
    "Let cross-attention ask the target",
    tuple(
        Edit(f"{_CROSS}.projected_{role}", inputs=(f"{_LAYER}.self_attention_norm.output", f"{w}.weight", f"{w}.bias"))
        for role, w in (("key", f"{_CROSS}.w_k"), ("value", f"{_CROSS}.w_v"))
    ),
    "Keys and values are made from the row that asks and its neighbours. Choose other words of src: not one "
    "probability moves. Both sentences are 5 long here, so every shape fits.",
    "the_memory_is_what_the_encoder_returns",
)

FORGET_THE_MEMORY_MASK = Break(
    "Forget the memory's mask",
    Edit(f"{_CROSS}.attention.masked_scores", op="copy"),
    "Row 杰瑞 gives 0.99 of its cross-attention to padding. Its answer is still <eos>, by luck: what is stored there "
    "means nothing. With more padding in the batch, the same sentence would get other numbers.",
    "padding_has_no_weight",
)

NOT_SHIFTED = Break(
    "Forget to shift",
    Edit("tgt_in", attributes={"front": 1, "back": 0}),
    "The decoder reads exactly what it is to answer. No mask can help: each row may see itself. The loss falls to "
    "almost nothing, and the model has learned to copy.",
    "the_input_is_one_step_behind",
)

OTHER_WAY = Break(
    "Shift the other way",
    (Edit("tgt_in", attributes={"front": 1, "back": 0}), Edit("tgt_out", attributes={"front": 0, "back": 1})),
    "The decoder is to answer with the word before. All but the first it has read one step earlier, so again it "
    "learns to copy, and <eos> is asked for only where the sentence is padded.",
    "the_input_is_one_step_behind",
)

DECODER = (FORGET_THE_CAUSAL_MASK, TURN_THE_MASK, ASK_THE_TARGET, FORGET_THE_MEMORY_MASK)
"""Mistakes that fit in every shape where source and target were padded to one length."""

SHIFT = (NOT_SHIFTED, OTHER_WAY)
"""Mistakes in the training data, which no check of the model can find."""
