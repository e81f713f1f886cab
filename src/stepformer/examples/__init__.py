"""The running example, `Tom chase Jerry` → `汤姆 追逐 杰瑞`, as recorded programs, one module per chapter.

The numbers are designed, not learned and not random. "chase" is uninflected because the example shows dictionary
forms as tokens.
"""

from collections.abc import Callable

from stepformer.examples._attention import (
    DECODER_STATES,
    ENCODER_STATES,
    KEY,
    QUERY,
    SOURCE,
    TARGET,
    VALUE,
    VOCABULARY,
    additive_attention,
    attention,
    attention_from_states,
    attention_over_words,
    padded_attention,
    temperature,
)
from stepformer.examples._cross_attention import (
    CHARACTER_KEYS,
    CHARACTER_VALUES,
    CROSS_ATTENTION_PARAMS,
    EASY_QUERY,
    ENGLISH,
    MEMORY_TABLE,
    MEMORY_WORDS,
    VOTES,
    WRITTEN_TABLE,
    WRITTEN_WORDS,
    cross_attention,
    cross_attention_in_a_batch,
    easy_course,
    padded_cross_attention,
)
from stepformer.examples._multi_head_attention import (
    ASKED_FEATURES,
    CAST,
    CAST_VECTORS,
    COUNTED,
    HEADS,
    MULTI_HEAD_PARAMS,
    PLACED_FEATURES,
    PLACES,
    ROLE_OF_A_WORD,
    TOLD_FEATURES,
    multi_head_attention,
    split_and_merge,
)
from stepformer.examples._positional_encoding import (
    LEARNED_TABLE,
    PAIR_COLUMNS,
    ROTARY_KEY,
    ROTARY_QUERY,
    WORD_ORDER_PARAMS,
    WORD_VECTORS,
    attention_with_positions,
    attention_without_positions,
    learned_positions,
    positions_in_a_batch,
    rotary_positions,
    sinusoidal_positions,
)
from stepformer.examples._self_attention import (
    EMBEDDING,
    MESSAGE_FEATURES,
    ROLE_FEATURES,
    SELF_ATTENTION_PARAMS,
    TARGET_EMBEDDING,
    TARGET_WORDS,
    WORD_FEATURES,
    WORDS,
    causal_self_attention,
    padded_self_attention,
    self_attention,
    self_attention_in_context,
)
from stepformer.trace import Trace

__all__ = [
    "DECODER_STATES", "ENCODER_STATES", "EXAMPLES", "KEY", "QUERY", "SOURCE", "TARGET", "VALUE", "VOCABULARY",
    "EMBEDDING", "MESSAGE_FEATURES", "ROLE_FEATURES", "SELF_ATTENTION_PARAMS", "TARGET_EMBEDDING", "TARGET_WORDS",
    "WORDS", "WORD_FEATURES",
    "additive_attention", "attention", "attention_from_states", "attention_over_words", "padded_attention",
    "temperature",
    "causal_self_attention", "padded_self_attention", "self_attention", "self_attention_in_context",
    "CHARACTER_KEYS", "CHARACTER_VALUES", "CROSS_ATTENTION_PARAMS", "EASY_QUERY", "ENGLISH", "MEMORY_TABLE",
    "MEMORY_WORDS", "VOTES", "WRITTEN_TABLE", "WRITTEN_WORDS",
    "cross_attention", "cross_attention_in_a_batch", "easy_course", "padded_cross_attention",
    "LEARNED_TABLE", "PAIR_COLUMNS", "ROTARY_KEY", "ROTARY_QUERY", "WORD_ORDER_PARAMS", "WORD_VECTORS",
    "attention_with_positions", "attention_without_positions", "learned_positions", "positions_in_a_batch",
    "rotary_positions", "sinusoidal_positions",
    "ASKED_FEATURES", "CAST", "CAST_VECTORS", "COUNTED", "HEADS", "MULTI_HEAD_PARAMS", "PLACED_FEATURES", "PLACES",
    "ROLE_OF_A_WORD", "TOLD_FEATURES",
    "multi_head_attention", "split_and_merge",
]  # fmt: skip

EXAMPLES: dict[str, Callable[[], Trace]] = {
    "attention": attention,
    "attention_from_states": attention_from_states,
    "attention_over_words": attention_over_words,
    "padded_attention": padded_attention,
    "temperature": temperature,
    "additive_attention": additive_attention,
    "self_attention": self_attention,
    "self_attention_in_context": self_attention_in_context,
    "causal_self_attention": causal_self_attention,
    "padded_self_attention": padded_self_attention,
    "cross_attention": cross_attention,
    "padded_cross_attention": padded_cross_attention,
    "cross_attention_in_a_batch": cross_attention_in_a_batch,
    "easy_course": easy_course,
    "multi_head_attention": multi_head_attention,
    "split_and_merge": split_and_merge,
    "attention_without_positions": attention_without_positions,
    "attention_with_positions": attention_with_positions,
    "sinusoidal_positions": sinusoidal_positions,
    "positions_in_a_batch": positions_in_a_batch,
    "learned_positions": learned_positions,
    "rotary_positions": rotary_positions,
}
"""Every example by name; pages outside the notebooks show them by this name."""
