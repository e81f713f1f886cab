"""How text is written before it becomes tokens: one rule, the same in training and in translation.

`RULE` is the rule in words; `normalise` applies it. Nothing else in the package changes the characters of a sentence.
What the rule leaves alone is as important as what it changes: Chinese punctuation stays full-width, because the
corpora write it so; capital letters stay, because a tokenizer can look for a word in small letters by itself; and
Simplified and Traditional characters stay what they are, because only somebody who knows the text can convert them.
"""

import re
import unicodedata
from typing import NamedTuple


class Clause(NamedTuple):
    """One line of the rule of normalisation.

    Attributes:
        what: the characters that it is about.
        becomes: what becomes of them.
        example: some text.
        written: what `normalise` makes of the example.
    """

    what: str
    becomes: str
    example: str
    written: str


RULE = (
    Clause("white space of any kind, the ideographic one too", "one space; none at the ends",
           "\u3000Tom\t\xa0runs ", "Tom runs"),
    Clause("control characters and lone surrogates", "left out", "To\x07m", "Tom"),
    Clause("invisible characters: byte order mark, zero-width, direction, soft hyphen, variation selectors",
           "left out", "\ufeffTom\u200b", "Tom"),
    Clause("full-width letters and digits", "ordinary ones", "Ａ１", "A1"),
    Clause("an apostrophe of any shape between two Latin letters", "'", "Tom’s", "Tom's"),
    Clause("letters with separate accents, and characters that Unicode holds twice", "the composed form, NFC",
           "cafe\u0301 \uf90a", "café 金"),
    Clause("full-width and Chinese punctuation", "kept", "，？：。！；", "，？：。！；"),
    Clause("capital and small letters", "kept", "Tom TOM tom", "Tom TOM tom"),
    Clause("Simplified and Traditional characters", "kept, each as it is", "头 頭", "头 頭"),
)  # fmt: skip
"""The rule of normalisation, line by line. A test applies each to its example."""

_FULL_WIDTH = {
    c: c - 0xFEE0 for a, b in ((0xFF10, 0xFF19), (0xFF21, 0xFF3A), (0xFF41, 0xFF5A)) for c in range(a, b + 1)
}
_SPACES = re.compile(r"[\s\x1c-\x1f\x85\u2028\u2029]+")
# Variation selectors, the joiner of graphemes and the fillers of Hangul are letters or marks by category, yet unseen.
_UNSEEN = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0]")
_LETTER = "[A-Za-z\u00c0-\u024f]"
_APOSTROPHES = re.compile(f"(?<={_LETTER})[\u2018\u2019\u02bc\uff07](?={_LETTER})")
# Most sentences hold nothing else, and nothing is to be done.
_PLAIN = re.compile(r"(?! )[ -~\u4e00-\u9fff，。？！：；、]*(?<! )")


def normalise(text: str) -> str:
    """Write a sentence as the tokenizers read it, by `RULE`.

    Args:
        text: one sentence; line breaks in it become spaces.

    Returns:
        The sentence. Normalised once more, it stays the same.

    Raises:
        TypeError: it is not a text.
    """
    if not isinstance(text, str):
        raise TypeError(f"A sentence is a text; this is {text!r}.")
    if _PLAIN.fullmatch(text) and "  " not in text:
        return text
    text = _SPACES.sub(" ", text)
    if not text.isascii() or not text.isprintable():
        text = "".join(c for c in text if unicodedata.category(c) not in ("Cc", "Cf", "Cs"))
        text = _UNSEEN.sub("", text).translate(_FULL_WIDTH)
        text = unicodedata.normalize("NFC", text)
        text = _APOSTROPHES.sub("'", text)
        text = _SPACES.sub(" ", text)  # what was between two spaces may have been left out
    return text.strip(" ")


def visible(text: str) -> str:
    r"""The text with everything unseen written out, so that it cannot steer a terminal.

    Args:
        text: any text.

    Returns:
        The text; a control character stands as `\x1b`, a zero-width space as `\u200b`.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
