"""What a beam search looked at: every beginning that it weighed, as a tree that can be drawn."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from stepformer.decode.beam_search import Candidates, beam
from stepformer.decode.hypothesis import ALPHA, Hypothesis, LengthPenalty, length_penalties
from stepformer.decode.writer import BOS, EOS

FORMAT = "stepformer.beam/1"
STATES = {
    "kept": "the search went on from here",
    "pruned": "others were more probable",
    "finished": "the model put the end",
    "cut": "the greatest length was reached",
    "beaten": "still open when nothing could win any more",
}
"""What became of a beginning -> in words."""


class Node(NamedTuple):
    """One beginning: the words on the way from the root to it.

    Attributes:
        parent: the position of the node before it; None for the root.
        word: the id of the word that it adds; None for the root, which is what every target begins with.
        n_words: how many words were written.
        log_probability: of the word, after those before it.
        score: the sum over all words.
        normalised: the score divided by the length penalty.
        state: a key of `STATES`.
    """

    parent: int | None
    word: int | None
    n_words: int
    log_probability: float
    score: float
    normalised: float
    state: str


class BeamTree(NamedTuple):
    """All beginnings that a beam search weighed.

    Attributes:
        size: of the beam.
        nodes: the root first, then step by step; the children of a node from probable to improbable, at most `size`.
        best: the nodes in which the n best hypotheses end, the best first.
        hypotheses: these, as `beam` returns them.
    """

    size: int
    nodes: tuple[Node, ...]
    best: tuple[int, ...]
    hypotheses: tuple[Hypothesis, ...]

    def way(self, node: int) -> list[int]:
        """The nodes from the first word to a node.

        Args:
            node: its position.

        Returns:
            Positions; none for the root.
        """
        nodes: list[int] = []
        while self.nodes[node].parent is not None:
            nodes.append(node)
            node = self.nodes[node].parent
        return nodes[::-1]

    def to_json(self, words: Sequence[str]) -> dict[str, Any]:
        """The tree as JSON can hold it, with words, for whoever draws it.

        Args:
            words: the target's vocabulary.

        Returns:
            An object with

            - `format`: "stepformer.beam/1"
            - `size`: of the beam
            - `states`: object, what became of a node -> in words
            - `nodes`: list, the root first; a node comes after its parent. Each is an object with `parent` (a position
              in this list; null for the root), `word` (a text; null for the root), `n_words`, `log_probability`,
              `score`, `normalised` and `state`
            - `best`: list of the positions in which the best hypotheses end, the best first
        """
        nodes = [one._asdict() | {"word": None if one.word is None else words[one.word]} for one in self.nodes]
        return {"format": FORMAT, "size": self.size, "states": STATES, "nodes": nodes, "best": list(self.best)}

    def levels(self, words: Sequence[str]) -> list[list[tuple[str, int, float, bool]]]:
        """The tree as `plots.tree` draws it: a level for each word.

        Args:
            words: the target's vocabulary.

        Returns:
            For each step its beginnings from probable to improbable, each as (word, position of the beginning before it
            in the level before, probability of all its words, whether it was kept).
        """
        levels: list[list[tuple[str, int, float, bool]]] = []
        places = {0: 0}
        for n in range(1, self.nodes[-1].n_words + 1):
            level = [k for k, one in enumerate(self.nodes) if one.n_words == n]
            level.sort(key=lambda k: -self.nodes[k].score)
            shown = [self.nodes[k] for k in level]
            levels.append([(words[one.word], places[one.parent], math.exp(one.score), one.state != "pruned")
                           for one in shown])  # fmt: skip
            places = {k: place for place, k in enumerate(level)}
        return levels


def beam_tree(
    model: Any,
    src: torch.Tensor,
    max_len: int,
    size: int = 4,
    length_penalty: LengthPenalty = ALPHA,
    n_best: int = 1,
    *,
    prefix: Sequence[int] = (BOS,),
    eos_id: int = EOS,
    never_ids: Sequence[int] = (),
) -> BeamTree:
    """Search as `beam` does, for one sentence, and keep everything that was weighed.

    Args:
        model: as for `beam`.
        src: (1, n_src) token ids.
        max_len: as for `beam`.
        size: as for `beam`.
        length_penalty: as for `beam`.
        n_best: as for `beam`.
        prefix: as for `beam`.
        eos_id: as for `beam`.
        never_ids: as for `beam`.

    Returns:
        The tree.

    Raises:
        ValueError: there are several sentences, or as for `beam`.
    """
    if src.ndim != 2 or len(src) != 1:
        raise ValueError(f"src has shape {tuple(src.shape)}; a tree is that of one sentence, (1, n_src).")
    growing = _Growing(length_penalties(length_penalty, max_len), max_len, eos_id)
    (hypotheses,) = beam(model, src, max_len, size, length_penalty, n_best, prefix=prefix, eos_id=eos_id,
                         never_ids=never_ids, watch=growing.watch)  # fmt: skip
    return growing.tree(size, hypotheses)


class _Growing:
    """A tree that is added to at every step."""

    def __init__(self, divisors: list[float], max_len: int, eos_id: int) -> None:
        self.divisors, self.max_len, self.eos_id = divisors, max_len, eos_id
        self.nodes = [Node(None, None, 0, 0.0, 0.0, 0.0, "kept")]
        self.at = {0: 0}
        """Place of the beam -> node."""
        self.child: dict[tuple[int, int], int] = {}

    def watch(self, seen: Candidates) -> None:
        """Add what could follow, and note what was kept of it."""
        n = self.nodes[-1].n_words + 1
        for place, words, logs in zip(*(x.tolist() for x in seen[:3]), strict=True):
            parent = self.at[place]
            for word, log in zip(words, logs, strict=True):
                if log > float("-inf"):
                    score = self.nodes[parent].score + log
                    self.child[parent, word] = len(self.nodes)
                    self.nodes.append(Node(parent, word, n, log, score, score / self.divisors[n - 1], "pruned"))
        at = {}
        for place, (before, word, score) in enumerate(zip(*(x[0].tolist() for x in seen.step), strict=True)):
            if score == float("-inf"):
                continue
            at[place] = self.at[before]
            if self.nodes[at[place]].state != "finished":
                at[place] = self.child[at[place], word]
                self._is(at[place], "finished" if word == self.eos_id else "kept")
        self.at = at

    def _is(self, node: int, state: str) -> None:
        self.nodes[node] = self.nodes[node]._replace(state=state)

    def tree(self, size: int, hypotheses: Sequence[Hypothesis]) -> BeamTree:
        """The tree of a search that is over."""
        n = self.nodes[-1].n_words
        for node in self.at.values():
            if self.nodes[node].state == "kept":
                self._is(node, "cut" if n == self.max_len else "beaten")
        best = []
        for one in hypotheses:
            node = 0
            for word in (*one.ids, self.eos_id) if one.finished else one.ids:
                node = self.child[node, word]
            best.append(node)
        return BeamTree(size, tuple(self.nodes), tuple(best), tuple(hypotheses))
