"""A sentence pair: a text, its translation, and, where they are known, which word stands for which."""

from typing import NamedTuple


class Pair(NamedTuple):
    """An English sentence and its Chinese translation, with the gold word alignment.

    Attributes:
        source: the English text, "Tom chases Jerry.".
        target: the Chinese text, "汤姆追逐杰瑞。".
        source_tokens: the words of the source as a vocabulary holds them: a first word is capitalised only if it
            always is; "'s" and "n't" are words of their own.
        target_tokens: the words of the target.
        sure: links (target position, source position), from 0, that every reader would draw.
        possible: links that a reader may draw; all sure links are among them.
        phenomena: what the sentence shows, names of `grammar.PHENOMENA`.
        clauses: number of main clauses that are joined; a relative clause is not one.
    """

    source: str
    target: str
    source_tokens: tuple[str, ...] = ()
    target_tokens: tuple[str, ...] = ()
    sure: frozenset[tuple[int, int]] = frozenset()
    possible: frozenset[tuple[int, int]] = frozenset()
    phenomena: frozenset[str] = frozenset()
    clauses: int = 1
