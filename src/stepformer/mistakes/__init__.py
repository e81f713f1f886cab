"""Known mistakes as switches for the player, by concept. Each is one that public tutorials really made."""

from stepformer.mistakes._attention import ATTENTION, MASKS
from stepformer.mistakes._cross_attention import CROSS_ATTENTION, PADDED_CROSS_ATTENTION
from stepformer.mistakes._decoder import DECODER, SHIFT
from stepformer.mistakes._decoding import CACHE
from stepformer.mistakes._embedding import ANALOGY, COSINE, LOOK_UP
from stepformer.mistakes._encoder import ENCODER_LAYER, NORMALIZATION, PRE_NORM, RESIDUAL
from stepformer.mistakes._encoder_decoder import FEEDING_BACK, READ_PADDING, TEACHER_FORCING
from stepformer.mistakes._evaluation import ALIGNMENT
from stepformer.mistakes._feed_forward_and_convolution import (
    CAUSAL_CONVOLUTION,
    CENTRED_CONVOLUTION,
    FEED_FORWARD,
    IMAGE_CONVOLUTION,
)
from stepformer.mistakes._gradients import (
    ATTENTION_BACKWARD,
    FEED_FORWARD_BACKWARD,
    LAYER_NORM_BACKWARD,
    LOSS_BACKWARD,
)
from stepformer.mistakes._input_block import INPUT_BLOCK, PADDED_INPUT
from stepformer.mistakes._looking_inside import LENS, WEIGHT_ON_LINKS
from stepformer.mistakes._multi_head_attention import MULTI_HEAD, SPLIT_HEADS
from stepformer.mistakes._output import PADDED_LOSS, SAMPLING, SMOOTHED_LOSS
from stepformer.mistakes._positional_encoding import POSITIONS, ROTARY, WORD_ORDER
from stepformer.mistakes._recurrent import AGREEMENT, GRU_GATES, LSTM_GATES, PADDED_RECURRENT, RECURRENT
from stepformer.mistakes._scaling_up import DATA_PARALLEL, ENCODER_ONLY, GATED, GROUPED, TENSOR_PARALLEL, TILES
from stepformer.mistakes._self_attention import CAUSAL, PADDED_SELF_ATTENTION, SELF_ATTENTION
from stepformer.mistakes._training import ADAM, SCHEDULE, TRAINING_STEP
from stepformer.mistakes._transformer import TRANSFORMER
from stepformer.mistakes._what_you_need import GRADIENT_STEP, LOSS

__all__ = [
    "ADAM",
    "AGREEMENT",
    "ALIGNMENT",
    "ANALOGY",
    "ATTENTION",
    "ATTENTION_BACKWARD",
    "CACHE",
    "CAUSAL",
    "CAUSAL_CONVOLUTION",
    "CENTRED_CONVOLUTION",
    "COSINE",
    "CROSS_ATTENTION",
    "DATA_PARALLEL",
    "DECODER",
    "ENCODER_LAYER",
    "ENCODER_ONLY",
    "FEEDING_BACK",
    "FEED_FORWARD",
    "FEED_FORWARD_BACKWARD",
    "GATED",
    "GRADIENT_STEP",
    "GROUPED",
    "GRU_GATES",
    "IMAGE_CONVOLUTION",
    "INPUT_BLOCK",
    "LAYER_NORM_BACKWARD",
    "LENS",
    "LOOK_UP",
    "LOSS",
    "LOSS_BACKWARD",
    "LSTM_GATES",
    "MASKS",
    "MULTI_HEAD",
    "NORMALIZATION",
    "PADDED_CROSS_ATTENTION",
    "PADDED_INPUT",
    "PADDED_LOSS",
    "PADDED_RECURRENT",
    "PADDED_SELF_ATTENTION",
    "POSITIONS",
    "PRE_NORM",
    "READ_PADDING",
    "RECURRENT",
    "RESIDUAL",
    "ROTARY",
    "SAMPLING",
    "SCHEDULE",
    "SELF_ATTENTION",
    "SHIFT",
    "SMOOTHED_LOSS",
    "SPLIT_HEADS",
    "TEACHER_FORCING",
    "TENSOR_PARALLEL",
    "TILES",
    "TRAINING_STEP",
    "TRANSFORMER",
    "WEIGHT_ON_LINKS",
    "WORD_ORDER",
]
