"""The same layers in torch: trained here, explained by `stepformer.reference`. Nothing here is recorded."""

from stepformer.nn.attention import (
    AdditiveAttention,
    Attended,
    scaled_dot_product_attention,
)
from stepformer.nn.cross_attention import CrossAttention
from stepformer.nn.masks import causal_mask, padding_mask, target_mask
from stepformer.nn.multi_head_attention import KeyValueCache, MultiHeadAttention
from stepformer.nn.positional_encoding import (
    LearnedPositions,
    Rotary,
    SinusoidalPositions,
    distance_bias,
    sinusoidal_table,
)
from stepformer.nn.self_attention import SelfAttention

__all__ = [
    "AdditiveAttention",
    "Attended",
    "CrossAttention",
    "KeyValueCache",
    "LearnedPositions",
    "MultiHeadAttention",
    "Rotary",
    "SelfAttention",
    "SinusoidalPositions",
    "causal_mask",
    "distance_bias",
    "padding_mask",
    "scaled_dot_product_attention",
    "sinusoidal_table",
    "target_mask",
]
