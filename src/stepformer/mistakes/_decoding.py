"""Known mistakes with a cache: all of them run, and write something."""

from stepformer.trace import Break, Edit

_SELF = "self_attention"

FORGET_THE_CACHE = Break(
    "Forget to hand the cache on",
    tuple(Edit(f"{_SELF}.{name}", op="copy", inputs=(f"{_SELF}.new_{name}",)) for name in ("key", "value")),
    "The newest word sees itself alone, with a weight of 1: every step is written as if it were the first. Speed is "
    "excellent.",
    "the_newest_word_sees_the_cache_and_itself",
)

FORGET_TO_APPEND = Break(
    "Ask before the new key is in the cache",
    tuple(Edit(f"{_SELF}.{name}", op="copy", inputs=(f"cache.{name}",)) for name in ("key", "value")),
    "There are three weights instead of four: the newest word sees everything but itself.",
    "the_newest_word_sees_the_cache_and_itself",
)

APPEND_AT_THE_OTHER_END = Break(
    "Append the value at the other end",
    (
        # The key as it is: its rows must fit those of the values, whatever else is switched on.
        Edit(f"{_SELF}.key", inputs=("cache.key", f"{_SELF}.new_key")),
        Edit(f"{_SELF}.value", inputs=(f"{_SELF}.new_value", "cache.value")),
    ),
    "The weights are right to the last digit, and each of them fetches the value of another word: the 0.76 for 追逐 "
    "fetches that of 汤姆.",
    "the_newest_word_sees_the_cache_and_itself",
)

CACHE = (FORGET_THE_CACHE, FORGET_TO_APPEND, APPEND_AT_THE_OTHER_END)
"""Mistakes with keys and values that are kept."""
