"""The same layers in torch: trained here, explained by `stepformer.reference`. Nothing here is recorded."""

from stepformer.nn._cache import KeyValueCache
from stepformer.nn._layers import init_parameters
from stepformer.nn.attention import (
    AdditiveAttention,
    Attended,
    scaled_dot_product_attention,
)
from stepformer.nn.attention_weights import attention_weights
from stepformer.nn.convolution import Convolution1d, Convolution2d
from stepformer.nn.cross_attention import CrossAttention
from stepformer.nn.decoder import Decoder, DecoderLayer, LayerCache
from stepformer.nn.embedding import Embedding
from stepformer.nn.encoder import Encoder, EncoderLayer
from stepformer.nn.encoder_decoder import EncoderDecoder
from stepformer.nn.feed_forward import FeedForward, GatedFeedForward
from stepformer.nn.grouped_query_attention import GroupedQueryAttention
from stepformer.nn.input_block import InputBlock
from stepformer.nn.loss import cross_entropy
from stepformer.nn.masks import causal_mask, padding_mask, target_mask
from stepformer.nn.multi_head_attention import MultiHeadAttention
from stepformer.nn.normalization import LayerNorm, RMSNorm
from stepformer.nn.positional_encoding import (
    LearnedPositions,
    Rotary,
    SinusoidalPositions,
    distance_bias,
    sinusoidal_table,
)
from stepformer.nn.recurrent import GRU, LSTM, RNN
from stepformer.nn.recurrent_attention import RecurrentAttention
from stepformer.nn.sampling import draw, top_k, top_p
from stepformer.nn.self_attention import SelfAttention
from stepformer.nn.torch_names import from_torch_names, to_torch_names
from stepformer.nn.transformer import Cache, Decoded, Encoded, Transformer

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "AdditiveAttention",
    "Attended",
    "Cache",
    "Convolution1d",
    "Convolution2d",
    "CrossAttention",
    "Decoded",
    "Decoder",
    "DecoderLayer",
    "Embedding",
    "Encoded",
    "Encoder",
    "EncoderDecoder",
    "EncoderLayer",
    "FeedForward",
    "GatedFeedForward",
    "GroupedQueryAttention",
    "InputBlock",
    "KeyValueCache",
    "LayerCache",
    "LayerNorm",
    "LearnedPositions",
    "MultiHeadAttention",
    "RMSNorm",
    "RecurrentAttention",
    "Rotary",
    "SelfAttention",
    "SinusoidalPositions",
    "Transformer",
    "attention_weights",
    "causal_mask",
    "cross_entropy",
    "distance_bias",
    "draw",
    "from_torch_names",
    "init_parameters",
    "padding_mask",
    "scaled_dot_product_attention",
    "sinusoidal_table",
    "target_mask",
    "to_torch_names",
    "top_k",
    "top_p",
]
