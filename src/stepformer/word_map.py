"""The word map: where words lie, what is nearest to them, and what a sum of words comes near to."""

import re

import numpy as np

from stepformer.data.vectors import Vectors, for_the_page
from stepformer.ops import divide, embed, mask, matmul, row_norm, subtract, transpose
from stepformer.recording import leaf, record, scope
from stepformer.trace import Trace
from stepformer.widgets.word_map_view import WordMapView


def program(vectors: Vectors) -> Trace:
    """Record what the map computes, for the words of its plane.

    A query is a sum of words with signs, for one word just +1. `candidates` are its cosines with all words, −∞ where
    `allowed` is false.

    Args:
        vectors: a table with a plane.

    Returns:
        A program with the token leaf words (n,), signs (1, n), table (V, d), centre (d,), directions (d, 2) and
        allowed (1, V).

    Raises:
        TypeError: it is no table.
        ValueError: the table has no plane.
    """
    if not isinstance(vectors, Vectors):
        raise TypeError(f"vectors is {type(vectors).__name__}; a table is needed, such as data.vectors.load() gives.")
    if vectors.plane is None:
        raise ValueError("The table has no plane, which says how vectors are drawn.")
    names = vectors.plane.words
    with record("Map of words") as trace:
        words = leaf("words", np.array([0]), "term", vocabulary=names)
        signs = leaf("signs", np.ones((1, 1)), ("query", "term"))
        rows = np.array([vectors[word] for word in names])
        table = leaf("table", rows, ("vocabulary", "dimension"), {"vocabulary": names})
        centre = leaf("centre", vectors.plane.centre, "dimension")
        directions = leaf("directions", vectors.plane.directions, ("dimension", "plane"))
        allowed = leaf("allowed", np.ones((1, len(names)), dtype=bool), ("query", "vocabulary"))
        with scope("map"):
            matmul(subtract(table, centre, name="centred"), directions, name="coordinates")
        with scope("query"):
            query = matmul(signs, embed(words, table, name="vectors"), name="sum")
            matmul(subtract(query, centre, name="centred"), directions, name="place")
        with scope("nearest"):
            units = divide(table, row_norm(table, name="lengths"), name="units")
            query_unit = divide(query, row_norm(query, name="query_length"), name="query_unit")
            cosine = matmul(query_unit, transpose(units, name="units_transposed"), name="cosine")
            mask(cosine, allowed, name="candidates")
    return trace


def show(vectors: Vectors, start: str = "king - man + woman") -> WordMapView:
    """Show the map: the words of the plane at once, all others when the reader asks for them.

    Args:
        vectors: a table with a plane.
        start: what is asked at first, a word or a sum of words of the plane.

    Returns:
        A widget: live in JupyterLab; on a static page the same map without a kernel.

    Raises:
        TypeError: it is no table.
        ValueError: the table has no plane, or `start` asks for a word that is not on it.
    """
    trace = program(vectors)
    if unknown := [word for word in re.findall(r"[^\s+−-]+", start) if word not in vectors.plane.words]:
        raise ValueError(f"start is {start!r}; {', '.join(unknown)}: not among the first words of the map.")
    return WordMapView(trace, start, len(vectors), lambda: for_the_page(vectors))
