"""Real pairs: the sentences of the package `hsk-sentences-audio`, short Chinese sentences for learners, in English too.

The sentences stay in their package, which is installed separately; nothing of it is in this one. Most are about six
words long. There are few of them, and that is the point: a model learns them by heart long before it learns Chinese.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from stepformer.data.pair import Pair
from stepformer.data.text import normalise
from stepformer.data.tokenizer import _english

ATTRIBUTION = (
    "Sentences and translations: hsk-sentences-audio 1.0.0, https://github.com/no7z/hsk-sentences-audio, with entries "
    "of CC-CEDICT, https://www.mdbg.net/chinese/dictionary?page=cc-cedict"
)
"""Whoever passes the sentences on, or something made of them, passes on this line too, and the licence."""

LICENCE = "CC BY-SA 4.0"
INSTALL = "pip install hsk-sentences-audio==1.0.0"

DEV_SHARE, TEST_SHARE = 0.05, 0.05
"""About how much of the pairs is set aside for choosing, and for the last judgement."""


class HskSplits(NamedTuple):
    """The cleaned pairs, and what cleaning left out.

    Attributes:
        train: the pairs to learn from.
        dev: those to choose by.
        test: those to judge by, once.
        dropped: reason -> number of sentences that were left out.
    """

    train: list[Pair]
    dev: list[Pair]
    test: list[Pair]
    dropped: dict[str, int]


def splits(script: str = "simplified") -> HskSplits:
    """Read, clean and split the sentences.

    Left out are pairs without a translation, pairs with Chinese characters in the English, and every pair whose
    English or whose Chinese has been there before, letters' case and punctuation aside. So no sentence of one split
    is in another, on either side. Which split a pair is in follows from its English alone.

    Args:
        script: "simplified" or "traditional".

    Returns:
        The three splits, in the order of the package. The pairs carry the words of the package, and no links.

    Raises:
        ImportError: the package is not installed; the message says how to get it.
        ValueError: there is no such script.
    """
    if script not in ("simplified", "traditional"):
        raise ValueError(f"script is {script!r}; it must be 'simplified' or 'traditional'.")
    found, dropped = HskSplits([], [], [], {}), Counter[str]()
    seen: set[str] = set()
    for record in _records():
        source, target = normalise(record["translation"]["en"]), normalise(record["chinese"])
        if reason := _problem(source, target):
            dropped[reason] += 1
            continue
        keys = {f"en {key(source)}", f"zh {key(target)}"}
        if keys & seen:
            dropped["English or Chinese twice"] += 1
            continue
        seen |= keys
        words = [token["word"] for token in record["tokens"]]
        if script == "traditional":
            target = normalise(record["traditional"])
        pair = Pair(source, target, tuple(_english.cut(source)), tuple(_with_signs(target, words)))
        found[_split(source)].append(pair)
    return found._replace(dropped=dict(dropped))


def glosses(script: str = "simplified") -> Iterator[tuple[str, str]]:
    """The words of the sentences as a dictionary.

    Args:
        script: "simplified" or "traditional".

    Yields:
        Each English meaning of a word, without remarks in brackets, and the word. A word of a test sentence is here
        too; whoever trains on these pairs says so.

    Raises:
        ImportError: the package is not installed; the message says how to get it.
        ValueError: there is no such script.
    """
    if script not in ("simplified", "traditional"):
        raise ValueError(f"script is {script!r}; it must be 'simplified' or 'traditional'.")
    seen = set()
    for record in _records():
        start = 0
        text = "".join(filter(_is_han, record["chinese" if script == "simplified" else "traditional"]))
        for token in record["tokens"]:
            word = text[start : start + len(token["word"])]
            start += len(token["word"])
            for meaning in re.sub(r"\(.*?\)|\[.*?\]", "", token["gloss_en"]).split(";"):
                entry = (normalise(meaning).removeprefix("to "), word)
                if entry[0] and entry[0].isascii() and entry not in seen:
                    seen.add(entry)
                    yield entry


def key(text: str) -> str:
    """What is left of a sentence when case, spaces and punctuation do not count: equal keys, the same sentence.

    Args:
        text: a sentence.

    Returns:
        Its letters and digits.
    """
    return "".join(c for c in normalise(text).casefold() if unicodedata.category(c)[0] in "LNM")


def _records() -> list[dict]:
    try:
        import hsk_sentences_audio
    except ImportError:
        raise ImportError(f"The HSK sentences are a package of their own, which is not installed: {INSTALL}") from None
    return hsk_sentences_audio.load_sentences()


def _problem(source: str, target: str) -> str:
    # "placeholder" and "PH" stand for sentences that nobody has translated.
    if "placeholder" in source or source.upper() == source or not key(source) or not key(target):
        return "no translation"
    if any(map(_is_han, source)):
        return "Chinese in the English"
    return ""


def _is_han(c: str) -> bool:
    return "\u3400" <= c <= "\u9fff" or c > "\U0001ffff"


def _split(source: str) -> int:
    """0 train, 1 dev, 2 test: by the digest of the English, so that other sentences do not change it."""
    share = int(hashlib.sha256(key(source).encode()).hexdigest()[:8], 16) / 16**8
    return 2 if share < TEST_SHARE else 1 if share < TEST_SHARE + DEV_SHARE else 0


def _with_signs(text: str, words: list[str]) -> Iterator[str]:
    """The words of the package, with the punctuation between them, which it leaves out.

    The words are Simplified; a Traditional text has as many characters, and is cut at the same places.
    """
    start, lengths = 0, iter(map(len, words))
    while start < len(text):
        length = next(lengths) if _is_han(text[start]) else 1
        yield text[start : start + length]
        start += length
