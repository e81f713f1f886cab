"""The test sets that models are judged by: the grammar's, the HSK sentences, and files of pairs."""

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from stepformer.data.pair import Pair

if TYPE_CHECKING:
    from stepformer.data.grammar import Corpus

HSK_SPLITS = ("test", "dev", "train")


def of_grammar(split: str = "random", record: Mapping[str, Any] | None = None) -> list[Pair]:
    """A test split of the grammar's corpus that a model was trained on: what is test in one is training in another.

    Args:
        split: "random", another of its splits, or the name of a phenomenon.
        record: the record of the model; without one, or for a model that was trained on something else, the corpus is
            that of the defaults.

    Returns:
        The pairs, with links, phenomena and clauses.

    Raises:
        ValueError: there is no such split; the message lists them.
    """
    from stepformer.data import grammar

    settings = ((record or {}).get("config") or {}).get("data") or {}
    if settings.get("source") != "grammar":
        settings = {}
    named = {"all": grammar.ALL, "core": grammar.CORE}
    phenomena = {one for name in settings.get("phenomena") or ["all"] for one in named.get(name, [name])}
    drawn = {name: settings[name] for name in ("seed", "script") if settings.get(name) is not None}
    if settings.get("clauses") is not None:
        drawn["clauses"] = tuple(settings["clauses"])
    # The test sets do not depend on the size of training, so nothing of that is drawn.
    n_dev = settings.get("n_dev", 500) if split == "dev" else 0
    corpus = _corpus(n_train=0, n_dev=n_dev, phenomena=frozenset(phenomena), **drawn)
    if split in corpus.test:
        return list(corpus.test[split])
    if split == "dev":
        return list(corpus.dev)
    if split in phenomena and (found := corpus.test_of(split)):
        return found
    raise ValueError(
        f"the grammar has no split {split!r}; it has dev, {', '.join(corpus.test)}, and for each phenomenon one: "
        f"{', '.join(sorted(phenomena))}."
    )


@functools.cache
def _corpus(**settings: Any) -> "Corpus":
    """Drawn once: whoever asks for one split often asks for the next."""
    from stepformer.data import grammar

    return grammar.corpus(**settings)


def of_hsk(split: str = "test") -> list[Pair]:
    """A split of the HSK sentences.

    Args:
        split: "test", "dev" or "train".

    Returns:
        The pairs, with words and without links.

    Raises:
        ImportError: the package with the sentences is not installed.
        ValueError: there is no such split.
    """
    from stepformer.data import hsk

    if split not in HSK_SPLITS:
        raise ValueError(f"HSK has no split {split!r}; it has {', '.join(HSK_SPLITS)}.")
    return getattr(hsk.splits(), split)


def of_file(file: str | BinaryIO, limit: int | None = None) -> list[Pair]:
    """The pairs of a file with two columns.

    Args:
        file: a path, or a file that is open for reading bytes.
        limit: read no more pairs than these.

    Returns:
        The pairs. Words are what spaces separate; there are no links.

    Raises:
        PairError: a line does not fit.
        OSError: the file cannot be read.
    """
    from stepformer.data.pairs import read_pairs

    return [
        Pair(source, target, tuple(source.split()), tuple(target.split()))
        for source, target in itertools.islice(read_pairs(file), limit)
    ]


def first(pairs: Sequence[Pair], limit: int | None) -> list[Pair]:
    """The first pairs of a set.

    Args:
        pairs: the pairs.
        limit: how many, or None for all.

    Returns:
        At most so many.
    """
    return list(pairs[:limit])
