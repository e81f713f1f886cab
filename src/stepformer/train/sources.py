"""From the section `data` of a configuration to tokenizers and encoded pairs."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stepformer.data.batches import EncodedPair
from stepformer.data.pairs import PairFile, read_pairs
from stepformer.data.tokenizer import BpeTokenizer, CharacterTokenizer, Tokenizer, WordTokenizer
from stepformer.train.config import ConfigError, Data

N_TRAIN = 20_000
"""Training pairs of the grammar, where the configuration says nothing."""
BPE_SIZE = 4000
"""Size of a vocabulary of pieces of words, where the configuration says nothing."""
LANGUAGES = ("en", "zh")


@dataclass(frozen=True)
class TrainingData:
    """What a training reads.

    Attributes:
        src_tokenizer: of the source.
        tgt_tokenizer: of the target.
        train: encoded pairs to learn from, without <bos> and <eos>.
        dev: encoded pairs to measure on during training.
        title: what the data is called.
        licence: under which the data is.
        left_out: reason -> number of pairs that are not used.
        sha256: a digest of all this, to tell whether a training goes on with the same data.
    """

    src_tokenizer: Tokenizer
    tgt_tokenizer: Tokenizer
    train: Sequence[EncodedPair]
    dev: Sequence[EncodedPair]
    title: str = ""
    licence: str = ""
    left_out: dict[str, int] = field(default_factory=dict)
    sha256: str = ""

    def __post_init__(self) -> None:
        for name, pairs in (("train", self.train), ("dev", self.dev)):
            if not len(pairs):
                raise ValueError(f"{name} is empty; training needs pairs to learn from and pairs to measure on.")
        if not self.sha256:
            object.__setattr__(self, "sha256", self._digest())

    def _digest(self) -> str:
        digest = hashlib.sha256()
        for tokenizer in (self.src_tokenizer, self.tgt_tokenizer):
            digest.update(json.dumps(tokenizer.to_json(), sort_keys=True).encode())
        for pairs in (self.train, self.dev):
            digest.update(b"|")
            if isinstance(pairs, Part):
                digest.update(pairs.sha256.encode() + pairs.rows.tobytes())
                continue
            for source, target in pairs:
                digest.update(np.array([len(source), *source, len(target), *target], dtype=np.int32).tobytes())
        return digest.hexdigest()


class Part(Sequence[EncodedPair]):
    """Some of the pairs of a file, which stay in the file.

    Args:
        file: all pairs.
        rows: which of them.
    """

    def __init__(self, file: PairFile, rows: np.ndarray) -> None:
        self.file, self.rows = file, rows
        self.lengths = file.lengths[rows]
        self.sha256 = file.sha256

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> EncodedPair:
        return self.file[int(self.rows[index])]


def load_data(settings: Data, skip: bool = False) -> TrainingData:
    """Make or read the pairs, learn the vocabularies on the training pairs, and encode.

    Args:
        settings: the section `data` of a configuration.
        skip: leave out lines of a file that do not fit, and count them, instead of stopping there.

    Returns:
        Tokenizers and encoded pairs.

    Raises:
        ConfigError: the settings do not fit the data.
        ImportError: the package of the HSK sentences is not installed.
        OSError: the file can not be read.
        ValueError: a line of the file does not fit; the message has its number.
    """
    if settings.source == "grammar":
        return _in_memory(settings, *_grammar(settings), "Pairs of the grammar of stepformer", "MIT")
    if settings.source == "hsk":
        from stepformer.data import hsk

        splits = hsk.splits(settings.script)
        return _in_memory(settings, splits.train, splits.dev, hsk.ATTRIBUTION, hsk.LICENCE, splits.dropped)
    return _file(settings, skip)


def _grammar(settings: Data) -> tuple[list[Any], list[Any]]:
    from stepformer.data import grammar

    groups = {"all": grammar.ALL, "core": grammar.CORE}
    phenomena: set[str] = set()
    for name in settings.phenomena:
        if name not in groups and name not in grammar.ALL:
            raise ConfigError(
                f"data.phenomena names {name!r}; there are all, core and {', '.join(sorted(grammar.ALL))}."
            )
        phenomena |= set(groups.get(name, (name,)))
    try:
        corpus = grammar.corpus(
            settings.seed,
            n_train=settings.n_train or N_TRAIN,
            n_dev=settings.n_dev,
            phenomena=frozenset(phenomena),
            script=settings.script,
            clauses=settings.clauses,
        )
    except ValueError as error:
        raise ConfigError(f"data: {error}") from error
    return corpus.train, corpus.dev


def _in_memory(
    settings: Data, train: list[Any], dev: list[Any], title: str, licence: str, left_out: dict[str, int] | None = None
) -> TrainingData:
    train, dev = train[: settings.n_train], dev[: settings.n_dev]
    tokenizers = [_learn(settings, side, train) for side in ("src", "tgt")]
    encoded, long = [], 0
    for pairs in (train, dev):
        ids = [tuple(_encode(t, p, k) for k, t in enumerate(tokenizers)) for p in pairs]
        kept = [pair for pair in ids if max(map(len, pair)) < settings.max_len]
        long += len(ids) - len(kept)
        encoded.append(kept)
    left_out = dict(left_out or {}) | ({f"{settings.max_len} tokens or more": long} if long else {})
    return TrainingData(*tokenizers, *encoded, title, licence, left_out)


def _encode(tokenizer: Tokenizer, pair: Any, side: int) -> list[int]:
    """The ids of a side, from its own words if it has them and words are the tokens."""
    words = pair[2 + side] if len(pair) > 2 else ()
    use_words = words and tokenizer.kind == "word" and not tokenizer.lower
    return tokenizer.ids(words) if use_words else tokenizer.encode(pair[side])


def _learn(settings: Data, side: str, pairs: Iterable[Any]) -> Tokenizer:
    k = ("src", "tgt").index(side)
    kind = getattr(settings, f"{side}_tokenizer")
    lower = settings.lower and side == "src"
    size = getattr(settings, f"{side}_vocab_size")
    if kind == "word":
        sentences = ((p[2 + k] if len(p) > 2 and p[2 + k] else p[k]) for p in pairs)
        return WordTokenizer.learn(sentences, LANGUAGES[k], settings.min_count, size, lower)
    texts = (pair[k] for pair in pairs)
    if kind == "character":
        return CharacterTokenizer.learn(texts, LANGUAGES[k], settings.min_count, size, lower)
    return BpeTokenizer.learn(texts, LANGUAGES[k], size or BPE_SIZE, max(settings.min_count, 1), lower)


def _file(settings: Data, skip: bool) -> TrainingData:
    """A file of any size: two passes to learn, one to find the lines, and pairs are read when they are needed."""
    path = Path(settings.source)
    if not path.is_file():
        raise ConfigError(f'data.source is {settings.source!r}; it must be "grammar", "hsk" or a file that exists.')

    def lines() -> Iterator[tuple[str, str]]:
        return read_pairs(path, skip=skip)

    held_out = _held_out(lines(), settings)
    tokenizers = [
        _learn(settings, side, (pair for k, pair in enumerate(lines()) if k not in held_out)) for side in ("src", "tgt")
    ]
    file = PairFile(path, *tokenizers, skip=skip)
    fits = file.lengths.max(axis=1, initial=0) < settings.max_len
    is_dev = np.zeros(len(file), dtype=bool)
    is_dev[list(held_out)] = True
    train = np.flatnonzero(fits & ~is_dev)[: settings.n_train]
    dev = np.flatnonzero(fits & is_dev)
    if not len(train) or not len(dev):
        raise ConfigError(
            f"{path} has {len(file)} pairs, {int(fits.sum())} of them with fewer than data.max_len = "
            f"{settings.max_len} tokens: too few to learn from some and to measure on others."
        )
    left_out = dict(file.report.skipped)
    if long := int((~fits).sum()):
        left_out[f"{settings.max_len} tokens or more"] = long
    return TrainingData(*tokenizers, Part(file, train), Part(file, dev), path.name, "", left_out)


def _held_out(pairs: Iterable[tuple[str, str]], settings: Data) -> set[int]:
    """The lines to measure on: those whose digest is smallest, at most a tenth. Equal sources stay together."""
    digests = [hashlib.sha256(f"{settings.seed} {source}".encode()).digest()[:8] for source, _ in pairs]
    n = min(settings.n_dev, len(digests) // 10 or len(digests) // 2)
    if not n:
        return set()
    last = sorted(digests)[n - 1]
    return {k for k, digest in enumerate(digests) if digest <= last}
