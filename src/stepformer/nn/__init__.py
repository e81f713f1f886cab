"""The same layers in torch: trained here, explained by `stepformer.reference`. Nothing here is recorded."""

from stepformer.nn.attention import (
    AdditiveAttention,
    Attended,
    MultiHeadAttention,
    scaled_dot_product_attention,
)
from stepformer.nn.masks import causal_mask, padding_mask, target_mask

__all__ = [
    "AdditiveAttention",
    "Attended",
    "MultiHeadAttention",
    "causal_mask",
    "padding_mask",
    "scaled_dot_product_attention",
    "target_mask",
]
