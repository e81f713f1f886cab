"""Exact match: the share of sentences that are right to the last character, group by group."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from stepformer.data.pair import Pair


class Group(NamedTuple):
    """Some of the test sentences, by their positions, under a name such as "negation" or "10–14 words"."""

    name: str
    members: tuple[int, ...]


def is_exact(hypothesis: str, reference: str) -> bool:
    """Tell whether two texts are the same. Spaces at the ends do not count; everything else does.

    Args:
        hypothesis: the translation.
        reference: what it is compared with.

    Returns:
        True or False.
    """
    return hypothesis.strip() == reference.strip()


def by_phenomenon(pairs: Sequence[Pair]) -> list[Group]:
    """Group sentences by what they show. One that shows several things is in several groups.

    Args:
        pairs: the test sentences.

    Returns:
        One group for each phenomenon, the largest first.
    """
    groups = _grouped(pairs, lambda pair: pair.phenomena)
    return sorted(groups, key=lambda group: (-len(group.members), group.name))


def by_length(pairs: Sequence[Pair], width: int = 3) -> list[Group]:
    """Group sentences by the number of words of the source, punctuation included.

    Args:
        pairs: the test sentences.
        width: how many lengths make one group.

    Returns:
        The groups from short to long; lengths that no sentence has are left out.

    Raises:
        ValueError: the width is below 1.
    """
    if width < 1:
        raise ValueError(f"width is {width}; it must be 1 or more.")
    starts = [(max(len(pair.source_tokens), 1) - 1) // width * width + 1 for pair in pairs]
    names = {start: f"{start}–{start + width - 1} words" if width > 1 else f"{start} words" for start in starts}
    return [
        Group(names[start], tuple(i for i, other in enumerate(starts) if other == start)) for start in sorted(names)
    ]


def by_clauses(pairs: Sequence[Pair]) -> list[Group]:
    """Group sentences by the number of their clauses; those of which it is not known are left out.

    Args:
        pairs: the test sentences.

    Returns:
        The groups from one clause up.
    """
    numbers = sorted({pair.clauses for pair in pairs if pair.clauses})
    names = {n: "1 clause" if n == 1 else f"{n} clauses" for n in numbers}
    return [Group(names[n], tuple(i for i, pair in enumerate(pairs) if pair.clauses == n)) for n in numbers]


def _grouped(pairs: Sequence[Pair], names_of: Callable[[Pair], Iterable[str]]) -> list[Group]:
    members: dict[str, list[int]] = {}
    for i, pair in enumerate(pairs):
        for name in names_of(pair):
            members.setdefault(name, []).append(i)
    return [Group(name, tuple(positions)) for name, positions in members.items()]
