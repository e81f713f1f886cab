"""Pieces of words as tokens: byte-pair encoding, by the library `tokenizers`, which is imported on use."""

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from stepformer.data.tokenizer._base import SPECIAL, UNK, Tokenizer, VocabularyError
from stepformer.data.tokenizer._characters import without_outer_spaces

SPACE = "▁"
"""What stands for a space at the beginning of a piece."""


class BpeTokenizer(Tokenizer):
    """Pieces of words: frequent words are one token, rare ones several, and only a new character is unknown.

    Learning begins with single characters and joins the most frequent pair of neighbours, again and again (Sennrich,
    Haddow and Birch, 2016). Nothing is joined across a space or a punctuation mark. In English a space is part of the
    piece that follows it, written ▁.
    """

    kind = "bpe"

    def __init__(
        self, vocabulary: Iterable[str], language: str, merges: Iterable[Sequence[str]], lower: bool = False
    ) -> None:
        super().__init__(vocabulary, language, lower)
        self.merges = tuple(_pair(i, pair) for i, pair in enumerate(_listed(merges)))
        for i, (left, right) in enumerate(self.merges):
            for piece in (left, right, left + right):
                if piece not in self._ids:
                    raise VocabularyError(f"merges[{i}] needs {piece!r}, which is not in the vocabulary.")
        if len(set(self.merges)) < len(self.merges):
            raise VocabularyError("merges names a pair twice.")

    @classmethod
    def learn(
        cls, sentences: Iterable[str], language: str, max_size: int, min_count: int = 2, lower: bool = False
    ) -> "BpeTokenizer":
        """Learn which neighbours to join.

        Args:
            sentences: texts.
            language: "en" or "zh".
            max_size: the size of the vocabulary, the four special tokens and all single characters included; the
                rarest characters are left out where it is too small for all.
            min_count: a rarer pair is not joined.
            lower: whether capital letters become small ones.

        Returns:
            The tokenizer.

        Raises:
            ValueError: a number is too small, or the language is another.
            ImportError: the package `tokenizers` is not installed; the message says how to get it.
        """
        if max_size < len(SPECIAL):
            raise ValueError(f"max_size is {max_size}; it must be {len(SPECIAL)} or more, the special tokens included.")
        if min_count < 1:
            raise ValueError(f"min_count is {min_count}; it must be 1 or more.")
        library = _library()
        writer = cls(SPECIAL, language, (), lower)
        model = library.Tokenizer(library.models.BPE(unk_token=SPECIAL[UNK]))
        model.pre_tokenizer = writer._pre_tokenizer()
        trainer = library.trainers.BpeTrainer(
            vocab_size=max_size,
            min_frequency=min_count,
            special_tokens=list(SPECIAL),
            limit_alphabet=max_size - len(SPECIAL),
            show_progress=False,
        )
        model.train_from_iterator(map(writer._written, sentences), trainer)
        learnt = json.loads(model.to_str())["model"]
        vocabulary = sorted(learnt["vocab"], key=learnt["vocab"].get)
        return cls(vocabulary, language, learnt["merges"], lower)

    def _written(self, text: str) -> str:
        text = super()._written(text).replace(SPACE, "_")  # the sign has a meaning here
        return without_outer_spaces(text) if self.language == "zh" else text

    def _pre_tokenizer(self):
        # The signs < and > are cut off too, so that no piece can be spelt like a special token.
        cutters = _library().pre_tokenizers
        spaces = cutters.Metaspace(SPACE, prepend_scheme="first" if self.language == "en" else "never")
        return cutters.Sequence([spaces, cutters.Punctuation("isolated")])

    @cached_property
    def _model(self):
        library = _library()
        # The special tokens are not announced to the library as such: it would find them in the text.
        ids = {token: i for i, token in enumerate(self.vocabulary)}
        model = library.Tokenizer(library.models.BPE(ids, list(self.merges), unk_token=SPECIAL[UNK]))
        model.pre_tokenizer = self._pre_tokenizer()
        return model

    def tokens(self, text: str) -> list[str]:
        """Cut a text into pieces.

        Args:
            text: a sentence; it is normalised first.

        Returns:
            The pieces, ▁ standing for a space; an unknown character is a piece.
        """
        text = self._written(text)
        found = self._model.encode(text)
        parts = zip(found.tokens, found.ids, found.offsets, strict=True)
        return [token if i != UNK else text[start:end] for token, i, (start, end) in parts]

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without `<bos>` and `<eos>`.

        Args:
            text: a sentence.

        Returns:
            One id for each piece, UNK for a character that the vocabulary lacks.
        """
        return self._model.encode(self._written(text)).ids

    def join(self, tokens: Sequence[str]) -> str:
        """Write pieces as a text.

        Args:
            tokens: the pieces.

        Returns:
            The text, with spaces for ▁ and none at the beginning.
        """
        return "".join(tokens).replace(SPACE, " ").lstrip(" ")

    def to_json(self) -> dict[str, Any]:
        """The tokenizer as JSON can hold it.

        Returns:
            What `tokenizer_from_json` reads.
        """
        return {**super().to_json(), "merges": [list(pair) for pair in self.merges]}


def _listed(merges: Any) -> list:
    if isinstance(merges, str) or not isinstance(merges, Iterable):
        raise VocabularyError("merges must be a list of pairs of pieces.")
    return list(merges)


def _pair(i: int, pair: Any) -> tuple[str, str]:
    if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(isinstance(piece, str) for piece in pair):
        raise VocabularyError(f"merges[{i}] is {pair!r}; it must be two pieces.")
    return (pair[0], pair[1])


def _library():
    try:
        import tokenizers
    except ImportError:
        raise ImportError('BPE needs the package tokenizers: pip install "stepformer[data]"') from None
    return tokenizers
