"""From text to text: a model, its two tokenizers, and everything that can be wrong with a sentence."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from stepformer import decode
from stepformer.data.text import normalise
from stepformer.data.tokenizer import BOS, EOS, PAD, UNK, Tokenizer
from stepformer.decode import ALPHA, Hypothesis, LengthPenalty
from stepformer.nn import attention_weights

LONGEST = 1024
"""The most tokens of a sentence, if the model itself sets no limit."""
NEVER = (PAD, BOS)
"""What no sentence holds."""


class Candidate(NamedTuple):
    """One of the sentences that a search found.

    Attributes:
        text: as it is read.
        tokens: what the model wrote.
        score: the natural logarithm of its probability.
        normalised: the score divided by the length penalty; by it beam search ranks.
        finished: the model itself put the end; otherwise the text was cut.
    """

    text: str
    tokens: tuple[str, ...]
    score: float
    normalised: float
    finished: bool


class Translation(NamedTuple):
    """What became of one text.

    Attributes:
        source: the text as it was given.
        text: the translation; "" where there is nothing to translate or `notice` says why it could not be.
        tokens: what the model wrote.
        score: the natural logarithm of the probability of the translation.
        finished: the model itself put the end; otherwise the text was cut at its greatest length.
        unknown: words of the source that the model does not know.
        hypotheses: the n best, the first of which is the translation.
        source_tokens: the source as the model reads it.
        alignment: for each token the weights with which the model looked at `source_tokens` when it chose it: the mean
            of the heads of the last cross-attention. They sum to at most 1: the rest went to the end of the sentence.
            None if it was not asked for, or the model has no attention.
        notice: why there is no translation, or "".
    """

    source: str
    text: str
    tokens: tuple[str, ...] = ()
    score: float = 0.0
    finished: bool = True
    unknown: tuple[str, ...] = ()
    hypotheses: tuple[Candidate, ...] = ()
    source_tokens: tuple[str, ...] = ()
    alignment: tuple[tuple[float, ...], ...] | None = None
    notice: str = ""


class Translator:
    """A model that takes texts.

    Args:
        model: with encode, decode and project; its words are those of the tokenizers.
        src_tokenizer: from the source's text to ids.
        tgt_tokenizer: from ids to the target's text.
        record: what is known of the model, such as its title.
    """

    def __init__(
        self, model: Any, src_tokenizer: Tokenizer, tgt_tokenizer: Tokenizer, record: dict[str, Any] | None = None
    ) -> None:
        self.model = model
        self.src_tokenizer = src_tokenizer
        self.tgt_tokenizer = tgt_tokenizer
        self.record = dict(record or {})
        # The end mark is read too.
        self.longest = min(getattr(model, "max_len", LONGEST), LONGEST) - 1
        """The most tokens that a source may have."""

    @classmethod
    def load(cls, name_or_directory: str | Path = "small") -> "Translator":
        """Read a trained model.

        Args:
            name_or_directory: a model's folder, or the name of one that comes with the package.

        Returns:
            A translator.

        Raises:
            CheckpointError: there is no such model, or it is damaged; the message says what.
        """
        from stepformer.checkpoint import load_model

        return cls(*load_model(name_or_directory))

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam: int = 1,
        n_best: int = 1,
        length_penalty: LengthPenalty = ALPHA,
        sample: bool = False,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
        alignment: bool = False,
        max_len: int | None = None,
        batch_size: int = 64,
    ) -> list[Translation]:
        """Translate texts, one sentence each. What becomes of one does not depend on the others.

        Args:
            texts: n sentences.
            beam: how many hypotheses are kept; 1 is greedy search.
            n_best: how many hypotheses are returned; at most `beam`, unless they are drawn.
            length_penalty: α of the comparison of lengths, or a function.
            sample: draw the words instead of searching.
            temperature: of the drawing, above 0.
            top_k: draw among so many words.
            top_p: draw among the words that together have this probability.
            seed: of the drawing. With the text and the number of the hypothesis it decides what is drawn.
            alignment: also say where the model looked.
            max_len: the most tokens to write, the end mark included; if not given, 10 more than twice as many as read.
            batch_size: how many sentences are computed at a time. It changes the time alone.

        Returns:
            n translations, in the order of the texts. A text without words becomes "" without the model. One that is
            too long for the model is not translated, and its `notice` says so.

        Raises:
            TypeError: `texts` is one text, or holds something else.
            ValueError: a setting is out of range.
        """
        if isinstance(texts, str):
            raise TypeError(f"texts is a text, {texts!r:.60}; it must be a list of texts.")
        if batch_size < 1 or (max_len is not None and max_len < 1):
            raise ValueError(f"batch_size is {batch_size} and max_len {max_len}; they must be 1 or more.")
        if n_best < 1 or (not sample and n_best > beam):
            raise ValueError(f"n_best is {n_best}; it must be 1 or more, and at most the size of the beam, {beam}.")
        read = [self._read(text) for text in texts]
        lengths = {i: len(ids) for i, (ids, _) in enumerate(read) if ids}
        by_length = sorted(lengths, key=lambda i: (lengths[i], i))
        results = [translation for _, translation in read]
        for chosen in _cut(by_length, batch_size):
            src = self._padded([[*read[i][0], EOS] for i in chosen])
            limits = [self._limit(lengths[i], max_len) for i in chosen]
            settings = {"length_penalty": length_penalty, "never_ids": NEVER}
            if sample:
                sources = [texts[i] for i in chosen]
                drawing = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
                found = self._sampled(src, limits, sources, n_best, seed, settings | drawing)
            elif beam == 1:
                found = [[one] for one in decode.greedy(self.model, src, limits, **settings)]
            else:
                found = decode.beam(self.model, src, limits, beam, n_best=n_best, **settings)
            looked = self._alignments(src, [hypotheses[0] for hypotheses in found]) if alignment else None
            for k, (i, hypotheses) in enumerate(zip(chosen, found, strict=True)):
                results[i] = self._written(results[i], hypotheses, looked and looked[k])
        return results

    def _read(self, text: str) -> tuple[list[int], Translation]:
        """The ids of a text that can be translated, and what is known of it beforehand."""
        tokens = self.src_tokenizer.tokens(normalise(text))
        if not tokens:
            return [], Translation(text, "")
        if len(tokens) > self.longest:
            notice = f"it has {len(tokens):,} tokens, and the model reads at most {self.longest:,}"
            return [], Translation(text, "", finished=False, notice=notice)
        ids = self.src_tokenizer.ids(tokens)
        unknown = tuple(token for token, i in zip(tokens, ids, strict=True) if i == UNK)
        return ids, Translation(text, "", unknown=unknown, source_tokens=tuple(tokens))

    def _limit(self, n_src: int, max_len: int | None) -> int:
        """The most words of one sentence: it must not depend on the others of its batch."""
        return min(2 * n_src + 10 if max_len is None else max_len, getattr(self.model, "max_len", 2 * LONGEST))

    def _padded(self, sentences: Sequence[Sequence[int]]) -> torch.Tensor:
        longest = max(map(len, sentences))
        rows = [[*sentence, *[PAD] * (longest - len(sentence))] for sentence in sentences]
        return torch.tensor(rows, dtype=torch.long, device=next(self.model.parameters()).device)

    def _sampled(
        self, src: torch.Tensor, limits: list[int], sources: list[str], n: int, seed: int, settings: dict[str, Any]
    ) -> list[list[Hypothesis]]:
        """Draw n hypotheses for each sentence, each with a chance of its own."""
        generators = [_generator(seed, source, number) for source in sources for number in range(n)]
        limits = [limit for limit in limits for _ in range(n)]
        drawn = decode.sample(self.model, src.repeat_interleave(n, dim=0), limits, generators, **settings)
        return [drawn[k : k + n] for k in range(0, len(drawn), n)]

    def _written(
        self, before: Translation, hypotheses: Sequence[Hypothesis], looked: list[list[float]] | None
    ) -> Translation:
        candidates = []
        for one in hypotheses:
            words = tuple(self.tgt_tokenizer.words(one.ids))
            text = self.tgt_tokenizer.join(words)
            candidates.append(Candidate(text, words, one.score, one.normalised, one.finished))
        best = candidates[0]
        weights = None
        if looked is not None:
            weights = tuple(tuple(row[: len(before.source_tokens)]) for row in looked[: len(best.tokens)])
        return before._replace(text=best.text, tokens=best.tokens, score=best.score, finished=best.finished,
                               hypotheses=tuple(candidates), alignment=weights)  # fmt: skip

    def _alignments(self, src: torch.Tensor, best: Sequence[Hypothesis]) -> list[list[list[float]]] | None:
        """Read the sentences that were written once more, and keep where the last cross-attention looked."""
        found = attention_weights(self.model, src, self._padded([[BOS, *one.ids] for one in best]))
        last = [weights for name, weights in found.items() if "cross_attention" in name][-1:]
        return last[0].mean(dim=1).tolist() if last else None


def _cut(items: list[int], size: int) -> Iterator[list[int]]:
    return (items[k : k + size] for k in range(0, len(items), size))


def _generator(seed: int, text: str, number: int) -> torch.Generator:
    """A source of chance that depends on nothing but what is written here."""
    key = f"{seed}\n{number}\n{text}".encode("utf-8", "surrogatepass")
    return torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(key).digest()[:8], "big") >> 1)

