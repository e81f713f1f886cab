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
from stepformer.trace import Trace

__all__ = [
    "DECODER_STATES", "ENCODER_STATES", "EXAMPLES", "KEY", "QUERY", "SOURCE", "TARGET", "VALUE", "VOCABULARY",
    "additive_attention", "attention", "attention_from_states", "attention_over_words", "padded_attention",
    "temperature",
]  # fmt: skip

EXAMPLES: dict[str, Callable[[], Trace]] = {
    "attention": attention,
    "attention_from_states": attention_from_states,
    "attention_over_words": attention_over_words,
    "padded_attention": padded_attention,
    "temperature": temperature,
    "additive_attention": additive_attention,
}
"""Every example by name; pages outside the notebooks show them by this name."""
