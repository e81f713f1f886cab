"""Byte-pair encoding: how pieces of words are learnt, by counting which two stand side by side most often."""

import numpy as np

from stepformer.ops import join_pair, matmul, positive, transpose
from stepformer.recording import leaf, record, scope
from stepformer.trace import Trace

WORD_COUNTS = {"chases": 5, "chased": 4, "sees": 3}
"""A very small corpus: its words, and how often each occurs."""

LETTERS = tuple(sorted(set("".join(WORD_COUNTS))))
"""What learning begins with, in the order of the alphabet."""

MERGES = (("s", "e"), ("a", "se"), ("c", "h"), ("ch", "ase"))
"""What is joined, round by round: the stem of the two verbs is found without any grammar."""

PIECES = (*LETTERS, *("".join(pair) for pair in MERGES))
"""The columns of the table: the letters, and the piece that each round adds."""


def letters_of_words(word_counts: dict[str, int]) -> np.ndarray:
    """Write words below one another, letter by letter.

    Args:
        word_counts: how often each word occurs; of the letters of `LETTERS`.

    Returns:
        (n, 10): one row for each letter, with the count of its word in the letter's column; a row of 0 between words.
    """
    rows: list[np.ndarray] = []
    for word, count in word_counts.items():
        rows += [np.eye(len(PIECES))[LETTERS.index(letter)] * count for letter in word]
        rows.append(np.zeros(len(PIECES)))
    return np.array(rows[:-1])


def byte_pair_encoding() -> Trace:
    """Four rounds of byte-pair encoding: count all pairs of neighbours by one product, join the most frequent pair.

    Returns:
        A program with the leaves pieces (18, 10), the words in letters, and one_down (18, 18), which moves rows up.
    """
    letters = letters_of_words(WORD_COUNTS)
    with record("Byte-pair encoding: join the most frequent pair") as trace:
        pieces = leaf("pieces", letters, ("place", "piece"), {"piece": PIECES})
        one_down = leaf("one_down", np.eye(len(letters), k=1), ("place", "place"))
        for k in range(len(MERGES)):
            with scope(f"round_{k + 1}"):
                next_pieces = matmul(one_down, pieces, name="next_pieces")
                counts = matmul(transpose(pieces), positive(next_pieces), name="pair_counts")
                pieces = join_pair(pieces, counts, column=len(LETTERS) + k, name="pieces")
    return trace
