"""A corpus: sentences for training, and test sets that each ask one question."""

import functools
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from stepformer.data.grammar.draw import Candidates, Nouns, Use
from stepformer.data.grammar.lexicon import Noun, Verb, lexicon
from stepformer.data.grammar.phenomena import ALL, checked
from stepformer.data.grammar.sentences import Sentence, in_script, sentences
from stepformer.data.pair import Pair

SUBJECT_ONLY = frozenset({"Lucy", "monkey", "doctor"})
"""Nouns that training shows as subjects alone."""

EXAMPLES = frozenset({("chase", "Jerry"), ("chase", "Tom"), ("chase", "cat"), ("sleep", "cat")})
"""Verbs and nouns of the book's examples, which are not held out."""


def held_out(verb: str, noun: str) -> bool:
    """Whether training never shows a noun beside a verb: one pair of ten, by a checksum of the two words.

    Args:
        verb: the base form, "chase".
        noun: the singular, "rabbit".

    Returns:
        Whether the pair is kept for the test.
    """
    return (verb, noun) not in EXAMPLES and verb not in ("", "be") and zlib.crc32(f"{verb} {noun}".encode()) % 10 == 0


class Corpus(NamedTuple):
    """Sentence pairs, no source twice among all of them.

    Attributes:
        train: for training.
        dev: like training, for choosing.
        test: like training ("random"); with a verb and a noun that training never has together ("unseen_pairs");
            with a noun as object that training has as subject alone ("subject_only"); with more words than any
            sentence of training ("longer"); with so many clauses ("clauses_1" to "clauses_6").
    """

    train: list[Pair]
    dev: list[Pair]
    test: dict[str, list[Pair]]

    def test_of(self, phenomenon: str) -> list[Pair]:
        """The pairs of the random test that show a phenomenon.

        Args:
            phenomenon: its name.

        Returns:
            Those pairs.
        """
        return [pair for pair in self.test["random"] if phenomenon in pair.phenomena]


def _classes(verb: Verb | None, role: str) -> frozenset[str]:
    """The classes of what may stand beside a verb."""
    if role in ("recipient", "owner"):
        return frozenset({"person"})
    if verb is None:
        return frozenset({"person", "animal", "thing", "readable"})
    return verb.who if role == "subject" else verb.whom


@functools.cache
def fitting(verb: Verb | None, role: str) -> tuple[Noun, ...]:
    """All nouns whose classes let them stand beside a verb.

    Args:
        verb: the verb; None beside "be", and for owners.
        role: "subject", "object", "recipient" or "owner".

    Returns:
        The nouns.
    """
    return tuple(noun for noun in lexicon().nouns if noun.classes & _classes(verb, role))


def _in_training(use: Use) -> bool:
    """Whether training shows a noun in such a place."""
    return (use.role == "subject" or use.noun not in SUBJECT_ONLY) and not held_out(use.verb, use.noun)


def _unseen(use: Use) -> bool:
    """Whether a noun stands beside a verb that training never shows it with, and nothing else is new."""
    return held_out(use.verb, use.noun) and (use.role == "subject" or use.noun not in SUBJECT_ONLY)


def _new_object(use: Use) -> bool:
    """Whether a noun is an object that training shows as a subject alone, and nothing else is new."""
    return use.role == "object" and use.noun in SUBJECT_ONLY and not held_out(use.verb, use.noun)


def _nouns(often: Callable[[Use], int]) -> Nouns:
    """Make the choice of nouns of a split: `often` says how often each is to be drawn, 0 for never."""

    @functools.cache
    def nouns(verb: Verb | None, role: str) -> Candidates:
        base = verb.base if verb else ""
        found = [n for n in fitting(verb, role) for _ in range(often(Use(base, role, n.singular)))]
        return Candidates(
            any(noun.kind == "name" for noun in found) and "person" in _classes(verb, role),
            tuple(noun for noun in found if noun.kind == "name"),
            tuple(noun for noun in found if noun.kind == "noun"),
            tuple(noun for noun in found if noun.kind != "name"),
        )

    return nouns


_everywhere = _nouns(lambda use: 1)
_trained = _nouns(_in_training)
_with_unseen_pairs = _nouns(lambda use: 4 if _unseen(use) else _in_training(use))
_with_new_objects = _nouns(lambda use: 15 if _new_object(use) else _in_training(use))


def pairs(
    seed: int,
    *,
    script: str = "simplified",
    phenomena: Iterable[str] = ALL,
    clauses: Sequence[float] | None = None,
) -> Iterator[Pair]:
    """Stream sentence pairs of the whole grammar, without end.

    Args:
        seed: the same seed gives the same stream, on every computer.
        script: "simplified" or "traditional".
        phenomena: which may be shown; `CORE`, `ALL` or any names of `PHENOMENA`.
        clauses: the shares of sentences with 1, 2, 3 … clauses.

    Yields:
        Pairs; one may come again.

    Raises:
        ValueError: a phenomenon, the shares or the script are no good.
    """
    stream = sentences(Random(f"stepformer grammar {seed}"), _everywhere, frozenset(phenomena), clauses)
    return (in_script(found.pair, script) for found in stream)


def longest_in_training(n_clauses: int) -> int:
    """How many words, punctuation included, a source of training has at most.

    Args:
        n_clauses: the most clauses that training has.

    Returns:
        14, and 6 more for each clause after the first.
    """
    return 14 + 6 * (n_clauses - 1)


def corpus(
    seed: int = 0,
    n_train: int = 20_000,
    n_dev: int = 500,
    n_test: int = 500,
    phenomena: Iterable[str] = ALL,
    script: str = "simplified",
    clauses: Sequence[float] | None = None,
) -> Corpus:
    """Draw a corpus. Every split shows the phenomena with the same weights, and holds one thing back from training.

    The test sets come first, so they do not depend on the size of training.

    Args:
        seed: the same seed gives the same corpus, on every computer.
        n_train: pairs for training.
        n_dev: pairs for choosing.
        n_test: pairs of each test set; the random one has twice as many.
        phenomena: which may be shown; `CORE`, `ALL` or any names of `PHENOMENA`.
        script: "simplified" or "traditional".
        clauses: the shares of training sentences with 1, 2, 3 … clauses. The tests by number of clauses go up to 6
            where the phenomena have "clauses".

    Returns:
        The corpus.

    Raises:
        ValueError: a size is negative; or a phenomenon, the shares or the script are no good.
    """
    if min(n_train, n_dev, n_test) < 0:
        raise ValueError(f"n_train, n_dev and n_test are {n_train}, {n_dev} and {n_test}; they must be 0 or more.")
    names, shares = checked(phenomena, clauses)
    most = max(n for n, share in enumerate(shares, start=1) if share)
    longest = longest_in_training(most)
    seen: set[str] = set()

    def draw(name: str, n: int, nouns: Nouns, fits: Callable[[Sentence], bool], shares=shares) -> list[Pair]:
        stream = sentences(Random(f"stepformer corpus {seed} {name}"), nouns, names, shares)
        found: list[Pair] = []
        while len(found) < n:
            one = next(stream)
            if one.pair.source not in seen and fits(one):
                seen.add(one.pair.source)
                found.append(in_script(one.pair, script))
        return found

    def short(one: Sentence) -> bool:
        return len(one.pair.source_tokens) <= longest

    def unseen(one: Sentence) -> bool:
        return short(one) and any(map(_unseen, one.uses))

    def new_object(one: Sentence) -> bool:
        return short(one) and any(map(_new_object, one.uses))

    def exactly(k: int) -> tuple[float, ...]:
        return (*[0.0] * (k - 1), 1.0)

    test = {
        "random": draw("random", 2 * n_test, _trained, short),
        "unseen_pairs": draw("unseen_pairs", n_test, _with_unseen_pairs, unseen),
        "subject_only": draw("subject_only", n_test, _with_new_objects, new_object),
        "longer": draw("longer", n_test, _trained, lambda one: not short(one), exactly(most)),
    }
    for k in range(1, 7 if "clauses" in names else 2):
        test[f"clauses_{k}"] = draw(f"clauses_{k}", n_test, _trained, short if k <= most else bool, exactly(k))
    dev = draw("dev", n_dev, _trained, short)
    return Corpus(draw("train", n_train, _trained, short), dev, test)
