"""Embeddings of a trained model: which kinds of words lie together, and a plane to draw them on."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from stepformer.data.grammar import lexicon

KINDS = ("name", "noun", "verb", "adjective")


class Gathered(NamedTuple):
    """How often the nearest neighbour of a word is a word of its own kind, and how often it would be by chance."""

    found: float
    by_chance: float


def kinds_of_words(language: str = "en") -> dict[str, str]:
    """What kind of word each word of the grammar is.

    Formula: read off the lexicon; a word that is of two kinds, as 画 (picture, to draw) is, is left out.

    Args:
        language: "en" for English word forms, "zh" for Chinese words.

    Returns:
        Word -> one of `KINDS`.

    Raises:
        ValueError: the language is another one.
    """
    if language not in ("en", "zh"):
        raise ValueError(f"language is {language!r}; it must be en or zh.")
    words, english = lexicon(), language == "en"
    found: dict[str, set[str]] = {}
    for noun in words.nouns:
        for form in (noun.singular, noun.plural) if english else (noun.chinese,):
            found.setdefault(form, set()).add("name" if noun.kind == "name" else "noun")
    for verb in words.verbs:
        for form in (verb.base, verb.third, verb.past, verb.ing) if english else (verb.chinese,):
            found.setdefault(form, set()).add("verb")
    for adjective in words.adjectives:
        found.setdefault(adjective.word if english else adjective.chinese, set()).add("adjective")
    return {word: next(iter(kinds)) for word, kinds in found.items() if word and len(kinds) == 1}


def plane(rows: np.ndarray) -> np.ndarray:
    """The two directions in which points differ most: principal components (主成分), by singular values.

    Formula: `centred = U S Vᵀ`, `coordinates = centred @ V[:, :2]`; each direction is turned so that its largest number
    is positive, because a singular vector may come with either sign.

    Args:
        rows: (n, d) numbers, n and d 2 or more.

    Returns:
        (n, 2).

    Raises:
        ValueError: there are fewer than two rows or columns.
    """
    rows = np.asarray(rows, dtype=np.float64)
    if rows.ndim != 2 or min(rows.shape) < 2:
        raise ValueError(f"rows has shape {rows.shape}; a plane needs two rows or more of two numbers or more.")
    centred = rows - rows.mean(axis=0)
    directions = np.linalg.svd(centred, full_matrices=False)[2][:2]
    largest = np.abs(directions).argmax(axis=1)
    return centred @ (directions * np.sign(directions[[0, 1], largest])[:, None]).T


def kept_in_plane(rows: np.ndarray) -> float:
    """How much of what distinguishes points is left on their plane.

    Formula: `(s[0]² + s[1]²) / sum of s²`, of the singular values of the centred rows.

    Args:
        rows: (n, d) numbers.

    Returns:
        A share from 0 to 1.
    """
    values = np.linalg.svd(rows - np.mean(rows, axis=0), compute_uv=False) ** 2
    return float(values[:2].sum() / values.sum())


def nearest(rows: np.ndarray) -> np.ndarray:
    """The nearest neighbour of each row by cosine.

    Formula: `argmax over j ≠ i of cos(rows[i], rows[j])`.

    Args:
        rows: (n, d) numbers, no row of zeros.

    Returns:
        (n,) positions.
    """
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = units @ units.T
    np.fill_diagonal(cosines, -np.inf)
    return cosines.argmax(axis=1)


def gathered(rows: np.ndarray, kinds: Sequence[str]) -> Gathered:
    """Do words of one kind lie together? Count the nearest neighbours that are of the same kind.

    Formula: `found = mean(kinds[nearest] == kinds)`; if the kinds were dealt out anew by chance, a neighbour would be
    of the same kind with the probability `sum of n_k (n_k − 1) / (n (n − 1))`.

    Args:
        rows: (n, d), one row for each word.
        kinds: n kinds.

    Returns:
        Both shares.

    Raises:
        ValueError: there is not one kind for each row.
    """
    if len(rows) != len(kinds) or len(kinds) < 2:
        raise ValueError(f"There are {len(rows)} rows and {len(kinds)} kinds; each of two or more rows needs one.")
    kinds = np.array(kinds)
    counts = np.unique(kinds, return_counts=True)[1]
    chance = (counts * (counts - 1)).sum() / (len(kinds) * (len(kinds) - 1))
    return Gathered(float((kinds[nearest(rows)] == kinds).mean()), float(chance))


def rows_of(table: np.ndarray, vocabulary: Sequence[str], words: Mapping[str, str]) -> tuple[np.ndarray, list[str]]:
    """The embeddings of some words.

    Formula: `table[vocabulary.index(word)]` for each word that the vocabulary has.

    Args:
        table: (vocab_size, d_model).
        vocabulary: vocab_size words.
        words: word -> its kind.

    Returns:
        (n, d_model) rows, and their n words in the order of the vocabulary.
    """
    chosen = [i for i, word in enumerate(vocabulary) if word in words]
    return np.asarray(table)[chosen], [vocabulary[i] for i in chosen]
