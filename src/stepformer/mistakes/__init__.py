"""Known mistakes as switches for the player, by concept. Each is one that public tutorials really made."""

from stepformer.mistakes._attention import ATTENTION, MASKS
from stepformer.mistakes._cross_attention import CROSS_ATTENTION, PADDED_CROSS_ATTENTION
from stepformer.mistakes._multi_head_attention import MULTI_HEAD, SPLIT_HEADS
from stepformer.mistakes._positional_encoding import POSITIONS, ROTARY, WORD_ORDER
from stepformer.mistakes._self_attention import CAUSAL, PADDED_SELF_ATTENTION, SELF_ATTENTION
from stepformer.mistakes._what_you_need import GRADIENT_STEP, LOSS

__all__ = [
    "ATTENTION",
    "CAUSAL",
    "CROSS_ATTENTION",
    "GRADIENT_STEP",
    "LOSS",
    "MASKS",
    "MULTI_HEAD",
    "PADDED_CROSS_ATTENTION",
    "PADDED_SELF_ATTENTION",
    "POSITIONS",
    "ROTARY",
    "SELF_ATTENTION",
    "SPLIT_HEADS",
    "WORD_ORDER",
]
