"""What every tokenizer is: a vocabulary, a way to cut text, a way to join it."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from stepformer.data.text import normalise, visible

SPECIAL = ("<pad>", "<bos>", "<eos>", "<unk>")
"""The first four of every vocabulary: padding, begin and end of a sentence, an unknown token."""

PAD, BOS, EOS, UNK = range(4)


class VocabularyError(ValueError):
    """A vocabulary, or a stored tokenizer, is not what it must be; the message says where and why."""


@dataclass(frozen=True)
class Coverage:
    """How much of some texts a vocabulary knows.

    Attributes:
        tokens: the number of tokens of the texts.
        known: how many of them are in the vocabulary.
        unknown: the others with how often each occurs, the most frequent first.
    """

    tokens: int
    known: int
    unknown: dict[str, int] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """The known share of the tokens, from 0 to 1; 1 for no text at all."""
        return self.known / self.tokens if self.tokens else 1.0


class Tokenizer(ABC):
    """Text to ids and back. Use `WordTokenizer`, `CharacterTokenizer` or `BpeTokenizer`.

    Attributes:
        vocabulary: every token; an id is a position in it.
        language: "en" or "zh"; it decides how tokens are joined.
        lower: whether capital letters become small ones.
    """

    kind: ClassVar[str]

    def __init__(self, vocabulary: Iterable[str], language: str, lower: bool = False) -> None:
        if language not in ("en", "zh"):
            raise VocabularyError(f"language is {language!r}; it must be 'en' or 'zh'.")
        if not isinstance(lower, bool):
            raise VocabularyError(f"lower is {lower!r}; it must be True or False.")
        self.vocabulary = tuple(vocabulary)
        self.language = language
        self.lower = lower
        self._check_vocabulary()
        # Not even "<eos>" as a ready-made token may stand for the end of a sentence.
        self._ids = {token: i for i, token in enumerate(self.vocabulary) if i >= len(SPECIAL)}

    def _check_vocabulary(self) -> None:
        if self.vocabulary[: len(SPECIAL)] != SPECIAL:
            raise VocabularyError(f"vocabulary begins with {self.vocabulary[:4]!r}; it must begin with {SPECIAL!r}.")
        seen: dict[str, int] = {}
        for i, token in enumerate(self.vocabulary):
            if not isinstance(token, str) or not token:
                raise VocabularyError(f"vocabulary[{i}] is {token!r}; a token is a text of one character or more.")
            if token in seen:
                raise VocabularyError(f"vocabulary[{i}] is {token!r}, which is vocabulary[{seen[token]}] already.")
            if i >= len(SPECIAL) and (problem := self._problem(token)):
                raise VocabularyError(f"vocabulary[{i}] is '{visible(token)}', {problem}.")
            seen[token] = i

    def _problem(self, token: str) -> str:
        """Why no text can contain this token, or nothing."""
        if normalise(token) != token:
            return f"which normalised text writes '{normalise(token)}': it would never be found"
        if self.lower and token != token.lower():
            return "with a capital letter, and this tokenizer makes letters small: it would never be found"
        return ""

    def _written(self, text: str) -> str:
        text = normalise(text)
        return normalise(text.lower()) if self.lower else text

    @property
    def joiner(self) -> str:
        """What stands between two words: a space in English, nothing in Chinese."""
        return " " if self.language == "en" else ""

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokenizer) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.kind, self.language, self.lower, self.vocabulary))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} tokens, language={self.language!r})"

    @abstractmethod
    def tokens(self, text: str) -> list[str]:
        """Cut a text into tokens, known or not.

        Args:
            text: a sentence; it is normalised first.

        Returns:
            The tokens as the text writes them.
        """

    @abstractmethod
    def join(self, tokens: Sequence[str]) -> str:
        """Write tokens as a text.

        Args:
            tokens: what `tokens` gave, or what a model chose.

        Returns:
            The text.
        """

    def id(self, token: str) -> int:
        """The id of one token.

        Args:
            token: a token, known or not.

        Returns:
            Its place in the vocabulary, UNK if it has none.
        """
        return self._ids.get(token, UNK)

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """The ids of tokens that somebody has cut already, such as `Pair.target_tokens`.

        Args:
            tokens: tokens, known or not.

        Returns:
            One id for each.
        """
        return [self.id(token) for token in tokens]

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without `<bos>` and `<eos>`.

        Args:
            text: a sentence.

        Returns:
            One id for each token, UNK for those that the vocabulary lacks.
        """
        return self.ids(self.tokens(text))

    def words(self, ids: Iterable[int]) -> list[str]:
        """The tokens of some ids: up to the first `<eos>`, without `<pad>` and `<bos>`.

        Args:
            ids: token ids, such as a model wrote.

        Returns:
            One token for each id that is shown; an unknown one is "<unk>".

        Raises:
            ValueError: an id is not in the vocabulary.
        """
        shown = []
        for i in map(int, ids):
            if i == EOS:
                break
            if not 0 <= i < len(self.vocabulary):
                raise ValueError(f"ids holds {i}; the vocabulary has {len(self.vocabulary)} tokens, from 0.")
            if i not in (PAD, BOS):
                shown.append(self.vocabulary[i])
        return shown

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids: up to the first `<eos>`, without `<pad>` and `<bos>`.

        Args:
            ids: token ids, such as a model wrote.

        Returns:
            The text; an unknown token is written "<unk>".

        Raises:
            ValueError: an id is not in the vocabulary.
        """
        return self.join(self.words(ids))

    def unknown(self, text: str) -> list[str]:
        """The tokens of a text that the vocabulary lacks.

        Args:
            text: a sentence.

        Returns:
            The unknown tokens in their order, none if all are known.
        """
        tokens = self.tokens(text)
        return [token for token, i in zip(tokens, self.ids(tokens), strict=True) if i == UNK]

    def coverage(self, texts: Iterable[str]) -> Coverage:
        """How much of some texts the vocabulary knows.

        Args:
            texts: sentences.

        Returns:
            The number of tokens, of known ones, and the unknown ones with their counts.
        """
        total, missing = 0, Counter[str]()
        for text in texts:
            tokens = self.tokens(text)
            total += len(tokens)
            missing.update(token for token, i in zip(tokens, self.ids(tokens), strict=True) if i == UNK)
        return Coverage(total, total - missing.total(), dict(missing.most_common()))

    def to_json(self) -> dict[str, Any]:
        """The tokenizer as JSON can hold it.

        Returns:
            What `tokenizer_from_json` reads.
        """
        return {"kind": self.kind, "language": self.language, "lower": self.lower, "vocabulary": list(self.vocabulary)}


def most_frequent(counts: Counter[str], min_count: int, max_size: int | None) -> list[str]:
    """Choose the tokens of a vocabulary.

    Args:
        counts: how often each token occurs.
        min_count: rarer tokens are left out.
        max_size: the size of the whole vocabulary, the four special tokens included; None for no limit.

    Returns:
        The special tokens, then the others from frequent to rare; equally frequent ones in the order of their code
        points, so that the order of the texts does not matter.

    Raises:
        ValueError: `min_count` is below 1, or `max_size` below 4.
    """
    if min_count < 1:
        raise ValueError(f"min_count is {min_count}; it must be 1 or more.")
    if max_size is not None and max_size < len(SPECIAL):
        raise ValueError(f"max_size is {max_size}; it must be {len(SPECIAL)} or more, the special tokens included.")
    frequent = sorted(
        (token for token, n in counts.items() if n >= min_count), key=lambda token: (-counts[token], token)
    )
    return [*SPECIAL, *frequent][:max_size]
