"""Stored tokenizers are read again, strictly."""

from typing import Any

from stepformer.data.tokenizer._base import Tokenizer, VocabularyError
from stepformer.data.tokenizer._bpe import BpeTokenizer
from stepformer.data.tokenizer._characters import CharacterTokenizer
from stepformer.data.tokenizer._words import WordTokenizer

KINDS: dict[str, type[Tokenizer]] = {kind.kind: kind for kind in (WordTokenizer, CharacterTokenizer, BpeTokenizer)}


def tokenizer_from_json(data: dict[str, Any]) -> Tokenizer:
    """Read what `to_json` of a tokenizer wrote.

    Args:
        data: the JSON, read.

    Returns:
        An equal tokenizer.

    Raises:
        VocabularyError: something is missing, superfluous or damaged; the message says what.
    """
    if not isinstance(data, dict):
        raise VocabularyError(f"A stored tokenizer is a JSON object; this is {type(data).__name__}.")
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise VocabularyError(f"kind is {kind!r}; it must be one of {', '.join(KINDS)}.")
    expected = {"kind", "language", "lower", "vocabulary"} | ({"merges"} if kind == "bpe" else set())
    if data.keys() != expected:
        odd = ", ".join(sorted(map(repr, data.keys() ^ expected)))
        raise VocabularyError(f"The stored tokenizer lacks, or should not have, {odd}.")
    if not isinstance(data["vocabulary"], list):
        raise VocabularyError("vocabulary must be a list of tokens.")
    return KINDS[kind](**{name: value for name, value in data.items() if name != "kind"})
