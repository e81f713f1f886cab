"""How English is cut into words, and written again."""

import re
from collections.abc import Sequence

# A number with its separators, e.g. or P.E., a word with hyphens and apostrophes inside, or one sign. \u0300-\u036f
# are accents.
_PIECES = re.compile(
    r"\d+(?:[.,:]\d+)+|(?:[^\W\d_]\.){2,}|[\w\u0300-\u036f]+(?:[-'][\w\u0300-\u036f]+)*"
    r"|'(?:s|re|ve|ll|d|m)\b|\S",
    re.I,
)
_CLITIC = re.compile(r"(.+?)(n't|'(?:s|re|ve|ll|d|m))", re.I)
_CLITICS = {"n't", "'s", "'re", "'ve", "'ll", "'d", "'m", "'"}
_CLOSING = set(".,?!;:%)]}…”’—") | set("。，？！；：、）】》")
_OPENING = set("([{$£€“‘（【《—")


def cut(text: str) -> list[str]:
    """Cut normalised English into words and signs.

    What is written together with a word and is a word of its own is cut off: `Tom's` is `Tom 's`, `doesn't` is
    `does n't`. Hyphens, and apostrophes inside other words, stay: `well-known`, `o'clock`.

    Args:
        text: a normalised sentence.

    Returns:
        The words and signs.
    """
    pieces = _PIECES.findall(text)
    if "'" not in text:
        return pieces
    words: list[str] = []
    for piece in pieces:
        found = _CLITIC.fullmatch(piece)
        words += found.groups() if found else [piece]
    return words


def join(words: Sequence[str]) -> str:
    """Write English words and signs as a sentence.

    Args:
        words: the words and signs.

    Returns:
        The sentence, with spaces where English has them.
    """
    text, glued, quoted = "", True, False
    for word in words:
        closes = word in _CLOSING or word.lower() in _CLITICS or (word == '"' and quoted)
        text += word if glued or closes else " " + word
        if word == '"':
            quoted = not quoted
        glued = word in _OPENING or (word == '"' and quoted)
    return text
