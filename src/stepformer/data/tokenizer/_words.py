"""Whole words as tokens."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from stepformer.data.tokenizer import _english
from stepformer.data.tokenizer._base import SPECIAL, UNK, Tokenizer, most_frequent

_LATIN = r"[A-Za-z0-9\u00c0-\u024f]"
_LATIN_RUN = re.compile(rf"{_LATIN}+(?:[-'.,:]{_LATIN}+)*")
_BETWEEN_LATIN = re.compile(rf"{_LATIN}{_LATIN}")
# A sign that is typed in the other width means the same.
_WIDTHS = dict(zip(",.?!:;()’‘“”~%", "，。？！：；（）''\"\"～％", strict=True))
_WIDTHS |= {wide: narrow for narrow, wide in _WIDTHS.items() if wide not in "'\""}


class WordTokenizer(Tokenizer):
    """Words and punctuation marks as tokens; a word that is not in the vocabulary is unknown.

    English is cut at spaces and around punctuation. A word is looked up as it is written, then in small letters, then
    with a capital letter: "tom CHASES jerry" is understood. Chinese has no spaces: of all words of the vocabulary that
    the rest of the text begins with, the longest is taken; where there is none, one character is unknown. Spaces that
    somebody did write are borders of words. A punctuation mark is also found in its other width, "?" for "？".
    """

    kind = "word"

    def __init__(self, vocabulary: Iterable[str], language: str, lower: bool = False) -> None:
        super().__init__(vocabulary, language, lower)
        self._lengths: dict[str, list[int]] = {}  # of the words that begin with a character, the longest first
        for word in self._ids:
            self._lengths.setdefault(word[0], []).append(len(word))
        self._lengths = {first: sorted(set(lengths), reverse=True) for first, lengths in self._lengths.items()}

    @classmethod
    def learn(
        cls,
        sentences: Iterable[str | Sequence[str]],
        language: str,
        min_count: int = 1,
        max_size: int | None = None,
        lower: bool = False,
    ) -> "WordTokenizer":
        """Collect the words of some sentences.

        Args:
            sentences: texts, or lists of words. A Chinese text without word borders gives its characters.
            language: "en" or "zh".
            min_count: rarer words are left out.
            max_size: the size of the vocabulary, the four special tokens included; None for no limit.
            lower: whether capital letters become small ones.

        Returns:
            The tokenizer; its words stand from frequent to rare.

        Raises:
            ValueError: a number is too small, or the language is another.
        """
        cutter = cls(SPECIAL, language, lower)
        counts: Counter[str] = Counter()
        for sentence in sentences:
            words = cutter.tokens(sentence) if isinstance(sentence, str) else map(cutter._written, sentence)
            counts.update(word for word in words if word and word not in SPECIAL)
        return cls(most_frequent(counts, min_count, max_size), language, lower)

    def _problem(self, token: str) -> str:
        if " " in token:
            return "with a space in it: a word has none"
        return super()._problem(token)

    def tokens(self, text: str) -> list[str]:
        """Cut a text into words and signs, known or not.

        Args:
            text: a sentence; it is normalised first.

        Returns:
            The words as the text writes them.
        """
        text = self._written(text)
        return _english.cut(text) if self.language == "en" else self._longest_matches(text)

    def _longest_matches(self, text: str) -> list[str]:
        words, known, lengths, start, end = [], self._ids, self._lengths, 0, len(text)
        while start < end:
            first = text[start]
            if first == " ":
                start += 1
                continue
            run = _LATIN_RUN.match(text, start) if first < "\u0250" else None  # a foreign word or a number, as one
            word = run.group() if run else first
            for length in lengths.get(first, ()):
                if length <= len(word):
                    break
                if (piece := text[start : start + length]) in known:
                    word = piece
                    break
            words.append(word)
            start += len(word)
        return words

    def id(self, token: str) -> int:
        """The id of one word: as written, else in small letters, else with a capital, else of the other width.

        Args:
            token: a word or a sign, known or not.

        Returns:
            Its place in the vocabulary, UNK if it has none.
        """
        known = self._ids
        if token in known:
            return known[token]
        lower = token.lower()
        for spelling in (lower, lower[:1].upper() + lower[1:], _WIDTHS.get(token, token)):
            if spelling in known:
                return known[spelling]
        return UNK

    def join(self, tokens: Sequence[str]) -> str:
        """Write words as a sentence: with the spaces of English, or as Chinese without.

        Args:
            tokens: the words.

        Returns:
            The sentence. In Chinese, two Latin words still have a space between them.
        """
        if self.language == "en":
            return _english.join(tokens)
        text = ""
        for word in tokens:
            text += f" {word}" if text and _BETWEEN_LATIN.match(text[-1] + word[:1]) else word
        return text
