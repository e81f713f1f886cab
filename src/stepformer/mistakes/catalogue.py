"""All known mistakes of the book as one family: the program that each breaks, and the public fault it stands for."""

from collections.abc import Iterator
from dataclasses import dataclass

from stepformer import mistakes
from stepformer.trace import Break

PROGRAMS = {
    "ATTENTION": "attention",
    "MASKS": "padded_attention",
    "SELF_ATTENTION": "self_attention",
    "CAUSAL": "causal_self_attention",
    "PADDED_SELF_ATTENTION": "padded_self_attention",
    "CROSS_ATTENTION": "cross_attention",
    "PADDED_CROSS_ATTENTION": "padded_cross_attention",
    "MULTI_HEAD": "multi_head_attention",
    "SPLIT_HEADS": "split_and_merge",
    "WORD_ORDER": "attention_with_positions",
    "POSITIONS": "positions_in_a_batch",
    "ROTARY": "rotary_positions",
    "LOOK_UP": "look_up",
    "COSINE": "cosine_similarity",
    "ANALOGY": "analogy",
    "FEED_FORWARD": "feed_forward",
    "CENTRED_CONVOLUTION": "convolution_over_words",
    "CAUSAL_CONVOLUTION": "causal_convolution",
    "IMAGE_CONVOLUTION": "edges_and_corners",
    "LOSS": "next_word",
    "GRADIENT_STEP": "gradient_step",
    "RECURRENT": "recurrent_network",
    "PADDED_RECURRENT": "padded_recurrent_network",
    "LSTM_GATES": "pronoun",
    "AGREEMENT": "agreement",
    "GRU_GATES": "gated_recurrent_unit",
    "SAMPLING": "sampling",
    "PADDED_LOSS": "padded_loss",
    "SMOOTHED_LOSS": "smoothed_loss",
    "RESIDUAL": "residual",
    "NORMALIZATION": "normalization",
    "ENCODER_LAYER": "encoder_layer",
    "PRE_NORM": "encoder_with_pre_norm",
    "LOSS_BACKWARD": "loss_backward",
    "FEED_FORWARD_BACKWARD": "feed_forward_backward",
    "LAYER_NORM_BACKWARD": "layer_norm_backward",
    "ATTENTION_BACKWARD": "attention_backward",
    "TRANSFORMER": "transformer",
    "INPUT_BLOCK": "both_inputs",
    "PADDED_INPUT": "padded_input",
    "TEACHER_FORCING": "teacher_forcing",
    "FEEDING_BACK": "feeding_back",
    "READ_PADDING": "read_a_padded_sentence",
    "DECODER": "padded_decoder",
    "SHIFT": "shifted_target",
    "CACHE": "cached_step",
    "TRAINING_STEP": "training_step",
    "ADAM": "adam_steps",
    "SCHEDULE": "paper_schedule",
    "ALIGNMENT": "alignment_error",
    "LENS": "logit_lens",
    "WEIGHT_ON_LINKS": "weight_on_links",
    "DATA_PARALLEL": "data_parallel",
    "TENSOR_PARALLEL": "tensor_parallel",
    "TILES": "attention_in_tiles",
    "GATED": "gated_feed_forward",
    "GROUPED": "grouped_queries",
    "ENCODER_ONLY": "masked_word",
}
"""The example in which the reader switches on a group of mistakes."""

FAULTS = {
    ("MASKS", "Read the mask the other way round"): ("ATT-10",),
    ("CAUSAL", "Read the causal mask the other way round"): ("ATT-10",),
    ("SELF_ATTENTION", "Divide by the root of d_model"): ("ATT-15",),
    ("MULTI_HEAD", "Reshape instead of split"): ("ATT-14",),
    ("MULTI_HEAD", "Divide by the root of d_model"): ("ATT-15",),
    ("MULTI_HEAD", "Average the weights over the heads"): ("MOD-02",),
    ("SPLIT_HEADS", "Reshape instead of split"): ("ATT-14",),
    ("WORD_ORDER", "Sines first, then cosines, with the old weights"): ("PE-02",),
    ("POSITIONS", "Sines first, then cosines"): ("PE-02",),
    ("POSITIONS", "Divide the embedding by √d_model"): ("PE-09",),
    ("INPUT_BLOCK", "Divide by √d_model on both sides"): ("PE-09",),
    ("CAUSAL_CONVOLUTION", "Pad on both sides in a causal convolution"): ("CNV-01",),
    ("CENTRED_CONVOLUTION", "Flip the window: the convolution of mathematics"): ("CNV-03",),
    ("IMAGE_CONVOLUTION", "Flip the kernels: the convolution of mathematics"): ("CNV-03",),
    ("PADDED_RECURRENT", "Take the state after the padding"): ("RNN-05",),
    ("READ_PADDING", "Read on through the padding"): ("RNN-05",),
    ("GRU_GATES", "Read the update gate the other way round"): ("RNN-03",),
    ("GRU_GATES", "Reset before the matrix product"): ("RNN-01",),
    ("NORMALIZATION", "Normalise over the words"): ("LN-04",),
    ("NORMALIZATION", "Divide by one less than the width"): ("LN-01",),
    ("ENCODER_LAYER", "Normalise over the words"): ("LN-04",),
    ("PADDED_LOSS", "Divide by all rows, padding included"): ("LS-02",),
    ("PADDED_LOSS", "Take padding for a word to be predicted"): ("LS-02",),
    ("SMOOTHED_LOSS", "Clear the padding first, and smooth afterwards"): ("LS-02",),
    ("TRAINING_STEP", "Do not tell the loss which id is padding"): ("LS-02",),
    ("SCHEDULE", "Multiply the schedule by a learning rate of your own"): ("TR-03",),
    ("CACHE", "Forget to hand the cache on"): ("DEC-10",),
}
"""What a mistake stands for where public code really made it: (group, name) -> ids of `tests/structure/faults.txt`."""


@dataclass(frozen=True)
class Entry:
    """One known mistake and where it belongs.

    Attributes:
        group: the name of its tuple in `stepformer.mistakes`.
        mistake: the switch.
        program: the name of the example that it breaks.
        faults: ids of the public faults that it is; none if it has no id.
    """

    group: str
    mistake: Break
    program: str
    faults: tuple[str, ...]


def catalogue() -> Iterator[Entry]:
    """Every known mistake of the book, group by group.

    Returns:
        One entry for each switch, in the order of `PROGRAMS`.
    """
    for group, program in PROGRAMS.items():
        for mistake in getattr(mistakes, group):
            yield Entry(group, mistake, program, FAULTS.get((group, mistake.name), ()))
