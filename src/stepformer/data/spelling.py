"""Near spellings of a word that is not in a vocabulary. `web/word_map/spelling.js` is the same in the page."""

import unicodedata
from collections.abc import Sequence


def plain(word: str) -> str:
    """Write a word as vocabularies hold it.

    Full-width forms become ordinary ones (NFKC), letters small; spaces around it and what is invisible, such as a
    mark for the direction of writing, are left out.

    Args:
        word: as somebody typed it.

    Returns:
        The plain word.
    """
    shown = (c for c in unicodedata.normalize("NFKC", word) if unicodedata.category(c) not in ("Cc", "Cf"))
    return "".join(shown).strip().lower()


def distance(a: str, b: str) -> int:
    """How many typing slips apart two words are: letters left out, put in, changed, or two neighbours swapped.

    Formula: the restricted edit distance of Damerau and Levenshtein, each slip counts 1.

    Args:
        a: a word.
        b: another word.

    Returns:
        0 where they are equal, else the smallest number of slips.
    """
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        last_but_one, before, row = before, row, [i]
        for j, y in enumerate(b, start=1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, last_but_one[j - 2] + 1)
            row.append(best)
    return row[-1]


def suggestions(word: str, words: Sequence[str], most: int = 3) -> list[str]:
    """The words spelt most like a given one: at most one slip for each three letters, but one in any case.

    Args:
        word: what was asked for, plain.
        words: the vocabulary; of equally near words the earlier comes first.
        most: how many at most.

    Returns:
        The nearest words, none if nothing is near.
    """
    allowed = max(1, len(word) // 3)
    close = [other for other in words if abs(len(other) - len(word)) <= allowed]
    found = sorted((slips, k) for k, other in enumerate(close) if (slips := distance(word, other)) <= allowed)
    return [close[k] for _, k in found[:most]]
