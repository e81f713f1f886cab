"""A beam search as a tree: what could have followed at every step, and what was kept."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stepformer.decode.beam_search import Candidates


class Node(NamedTuple):
    """A beginning of a sentence in the tree of a search.

    Attributes:
        word: the word that it adds.
        parent: the position of the beginning before, in the level before.
        score: the logarithm of its probability.
        kept: whether it was among the best of its step.
    """

    word: int
    parent: int
    score: float
    kept: bool


def search_tree(seen: Sequence[Candidates], sentence: int = 0) -> list[list[Node]]:
    """Make a tree of what `beam` showed to `watch`.

    A finished hypothesis stays in the beam, and is not repeated here: its node is where it ended.

    Args:
        seen: what was shown at each step.
        sentence: which sentence of the batch.

    Returns:
        A level for each step, its nodes from the most to the least probable. The first level's parents are 0, the
        beginning that was given.
    """
    levels: list[list[Node]] = []
    node_at: dict[int, int] = {0: 0}  # of each place of the beam, its node in the level before
    scores = {0: 0.0}
    for candidates in seen:
        step = candidates.step
        size = step.words.shape[1]
        kept = {(int(parent), int(word)): place for place, (parent, word) in
                enumerate(zip(step.parents[sentence], step.words[sentence], strict=True))
                if step.scores[sentence, place] > -np.inf}  # fmt: skip
        nodes = []
        for place, words, logs in zip(candidates.places.tolist(), candidates.words, candidates.logs, strict=True):
            if place // size == sentence and (own := place % size) in node_at:
                nodes += [(Node(int(word), node_at[own], scores[own] + float(log), (own, int(word)) in kept), own)
                          for word, log in zip(words, logs, strict=True) if log > -np.inf]  # fmt: skip
        if not nodes:
            break
        nodes.sort(key=lambda pair: -pair[0].score)
        level = [node for node, _ in nodes]
        node_at = {kept[own, node.word]: i for i, (node, own) in enumerate(nodes) if node.kept}
        scores = {place: level[i].score for place, i in node_at.items()}
        levels.append(level)
    return levels
