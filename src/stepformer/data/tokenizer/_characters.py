"""Single characters as tokens."""

from collections import Counter
from collections.abc import Iterable, Sequence

from stepformer.data.text import normalise
from stepformer.data.tokenizer._base import SPECIAL, Tokenizer, most_frequent


class CharacterTokenizer(Tokenizer):
    """Every character is a token; in English the space is one too. Chinese text loses spaces beside its characters."""

    kind = "character"

    @classmethod
    def learn(
        cls,
        sentences: Iterable[str],
        language: str,
        min_count: int = 1,
        max_size: int | None = None,
        lower: bool = False,
    ) -> "CharacterTokenizer":
        """Collect the characters of some sentences.

        Args:
            sentences: texts.
            language: "en" or "zh".
            min_count: rarer characters are left out.
            max_size: the size of the vocabulary, the four special tokens included; None for no limit.
            lower: whether capital letters become small ones.

        Returns:
            The tokenizer; its characters stand from frequent to rare.

        Raises:
            ValueError: a number is too small, or the language is another.
        """
        cutter = cls(SPECIAL, language, lower)
        counts: Counter[str] = Counter()
        for sentence in sentences:
            counts.update(cutter.tokens(sentence))
        return cls(most_frequent(counts, min_count, max_size), language, lower)

    def _problem(self, token: str) -> str:
        if len(token) > 1:
            return "of several characters: every token must be one"
        return "" if token == " " else super()._problem(token)

    def tokens(self, text: str) -> list[str]:
        """Cut a text into characters.

        Args:
            text: a sentence; it is normalised first.

        Returns:
            Its characters.
        """
        text = self._written(text)
        return list(without_outer_spaces(text) if self.language == "zh" else text)

    def join(self, tokens: Sequence[str]) -> str:
        """Write characters as a text.

        Args:
            tokens: the characters.

        Returns:
            The text.
        """
        return "".join(tokens)


def without_outer_spaces(text: str) -> str:
    """Drop the spaces of a Chinese text, but for those between two Latin characters.

    Args:
        text: a normalised text.

    Returns:
        The text as Chinese is written.
    """
    if " " not in text:
        return text
    around = zip(f"\u3000{text[:-1]}", text, f"{text[1:]}\u3000", strict=True)
    kept = (c for before, c, after in around if c != " " or (before < "\u0250" and after < "\u0250"))
    return normalise("".join(kept))  # a letter and an accent may have become neighbours
