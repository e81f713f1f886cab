"""Beam search: at every step the most probable beginnings are kept, not one alone.

A beam of size k holds k hypotheses. At every step each open one is replaced by its continuations, a finished one stays
as it is, and of all these the k most probable are kept. So a beam of size 1 is greedy search, and one that is large
enough to keep everything is exact. What is finished once is never forgotten, even if it leaves the beam; only the
comparison at the end divides by the length penalty.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch

from stepformer.decode.hypothesis import ALPHA, Hypothesis, LengthPenalty, hypothesis, length_penalties
from stepformer.decode.writer import BOS, EOS, Writer, at_work, check_src, first_ids, limits_of
from stepformer.nn._layers import check_sizes


class Step(NamedTuple):
    """One step of the search, for every sentence and each of the k places of its beam.

    Attributes:
        parents: (batch, k) the place, one step before, that the hypothesis goes on from.
        words: (batch, k) the word it adds; a finished one that stays has the end mark again.
        scores: (batch, k) sums of log-probabilities; −∞ where the place is empty.
    """

    parents: np.ndarray
    words: np.ndarray
    scores: np.ndarray


class Candidates(NamedTuple):
    """What could follow at one step, the best of each open hypothesis: for whoever watches.

    Attributes:
        places: (n_rows,) the place of each open hypothesis, counted through all sentences.
        words: (n_rows, m) its most probable words.
        logs: (n_rows, m) their log-probabilities.
        step: what was kept.
    """

    places: np.ndarray
    words: np.ndarray
    logs: np.ndarray
    step: Step


def beam(
    model: Any,
    src: torch.Tensor,
    max_len: int | Sequence[int],
    size: int = 4,
    length_penalty: LengthPenalty = ALPHA,
    n_best: int = 1,
    *,
    prefix: Sequence[int] = (BOS,),
    eos_id: int = EOS,
    never_ids: Sequence[int] = (),
    watch: Callable[[Candidates], None] | None = None,
) -> list[list[Hypothesis]]:
    """Keep the most probable beginnings at every step, and return the best sentences.

    Formula: the largest `log p(y | src) / lp(y)` that the beam finds, `lp` of `length_penalties` (Wu et al. 2016,
    section 7, eq. 14; size 4 and α 0.6: Vaswani et al. 2017, section 6.1).

    The search for a sentence ends when no open hypothesis can still beat the last of the n best finished ones, whatever
    it goes on with. So it ends early without changing the result, and the best is the same for any `n_best`. A sentence
    does not depend on its neighbours in the batch, nor on padding.

    Args:
        model: as for `greedy`.
        src: (batch, n_src) token ids.
        max_len: as for `greedy`.
        size: how many hypotheses are kept, k.
        length_penalty: α, or a function from a length to what the score is divided by.
        n_best: how many to return, at most `size`.
        prefix: as for `greedy`.
        eos_id: as for `greedy`.
        never_ids: as for `greedy`.
        watch: called at each step with what could have followed.

    Returns:
        For each sentence its hypotheses, the best first and all different: those that are finished, and only where
        there are fewer than `n_best`, those that were cut at `max_len`.

    Raises:
        TypeError: as for `greedy`, or size or `n_best` is no whole number.
        ValueError: as for `greedy`, or size or `n_best` is out of range.
    """
    check_src(src)
    check_sizes(size=size, n_best=n_best)
    if n_best > size:
        raise ValueError(f"n_best is {n_best} and size {size}; a beam can not return more than it holds.")
    limits = limits_of(max_len, len(src))
    divisors = length_penalties(length_penalty, max(limits, default=1))
    if not limits:
        return []
    search = _Search(limits, divisors, int(size), int(n_best), eos_id)
    with at_work(model):
        writer, ids = Writer(model, src, never_ids), first_ids(prefix, src)
        while True:
            logs = writer.log_probabilities(writer.step(ids))
            # Equal numbers: max is known to take the first, topk is not, and a beam of 1 must be greedy search.
            wide = min(search.size, logs.shape[-1])
            best = logs.max(dim=-1, keepdim=True) if wide == 1 else logs.topk(wide, dim=-1)
            values, words = (x.cpu().numpy() for x in best)
            places = search.places
            rows, words_kept = search.advance(values, words)
            if watch is not None:
                watch(Candidates(places, words, values, search.steps[-1]))
            if not len(rows):
                break
            if len(rows) != len(places) or (rows != np.arange(len(rows))).any():
                writer.keep(torch.as_tensor(rows, device=src.device))
            ids = torch.as_tensor(words_kept, device=src.device).unsqueeze(-1)
    return [search.best_of(sentence) for sentence in range(len(limits))]


class _Search:
    """The books of a beam search over a batch; the model is elsewhere.

    Places are counted through all sentences: place j of sentence i is i · size + j.
    """

    def __init__(self, limits: list[int], divisors: list[float], size: int, n_best: int, eos_id: int) -> None:
        batch = len(limits)
        self.size, self.n_best, self.eos_id = size, n_best, eos_id
        self.limits, self.divisors = np.array(limits), divisors
        self.scores = np.full((batch, size), -np.inf)
        self.scores[:, 0] = 0.0  # one beginning, not k equal ones
        self.finished = np.zeros((batch, size), dtype=bool)
        self.searching = np.ones(batch, dtype=bool)
        self.first_places = np.arange(batch)[:, None] * size
        self.places = self.first_places.ravel()
        """Of the open hypotheses, in the order of the model's rows."""
        self.all_open, self.shortest = size == 1, min(limits)
        self.steps: list[Step] = []
        self.ended: list[list[tuple[float, int, int]]] = [[] for _ in limits]
        """Of every sentence: normalised score, step and place of what is finished."""
        self.cut: list[list[tuple[float, int, int]]] = [[] for _ in limits]

    def advance(self, logs: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Take one step; return the model's rows that the open hypotheses go on from, and their newest words."""
        self._keep_the_best(logs, words)
        step, n = self.steps[-1], len(self.steps)
        ends = n == self.shortest or (step.words == self.eos_id).any()
        if self.all_open and not ends and np.isfinite(step.scores).all():  # as nearly always
            self.scores = step.scores
            return (step.parents + self.first_places).ravel(), step.words.ravel()
        sentences, places = np.nonzero((step.words == self.eos_id) & ~self._stayed & (step.scores > -np.inf))
        for sentence, place in zip(sentences.tolist(), places.tolist(), strict=True):
            self.ended[sentence].append((step.scores[sentence, place] / self.divisors[n - 1], n - 1, place))
            self.finished[sentence, place] = True
        is_open = ~self.finished & (step.scores > -np.inf)
        self._cut_and_stop(is_open, n)
        is_open &= self.searching[:, None]
        # A sentence whose search is over keeps nothing in its beam.
        self.scores = np.where(self.searching[:, None], step.scores, -np.inf)
        row_of = np.full(self.scores.size, -1)
        row_of[self.places] = np.arange(len(self.places))
        parents = step.parents + self.first_places
        self.places = np.flatnonzero(is_open)
        self.all_open = len(self.places) == is_open.size and not any(self.ended)
        return row_of[parents.ravel()[self.places]], step.words.ravel()[self.places]

    def _keep_the_best(self, logs: np.ndarray, words: np.ndarray) -> None:
        """Of all continuations, and of what is finished, the best for each place of the beam."""
        batch, size, wide = len(self.limits), self.size, logs.shape[-1]
        scores, finished = self.scores.ravel(), self.finished.ravel()
        if self.all_open:
            candidates, follows = scores[:, None] + logs, words
        else:
            candidates = np.full((batch * size, wide), -np.inf)
            candidates[self.places] = scores[self.places, None] + logs
            candidates[finished, 0] = scores[finished]
            follows = np.full((batch * size, wide), self.eos_id)
            follows[self.places] = words
        candidates, follows = candidates.reshape(batch, -1), follows.reshape(batch, -1)
        if np.isnan(candidates).any():
            raise ValueError("the model's probabilities are NaN; its weights, or its inputs, are not finite.")
        chosen = np.argsort(-candidates, axis=-1, kind="stable")[:, :size]  # equal numbers keep their order
        parents, sentences = chosen // wide, np.arange(batch)[:, None]
        self._stayed = self.finished[sentences, parents]
        self.finished = self._stayed.copy()
        self.steps.append(Step(parents, follows[sentences, chosen], candidates[sentences, chosen]))

    def _cut_and_stop(self, is_open: np.ndarray, n: int) -> None:
        """End the search where nothing is open, nothing may go on, or nothing that goes on could win."""
        scores = self.steps[-1].scores
        best_open = np.where(is_open, scores, -np.inf).max(axis=-1)
        at_limit = self.searching & (self.limits <= n)
        for sentence in np.flatnonzero(at_limit).tolist():
            for place in np.flatnonzero(is_open[sentence]).tolist():
                self.cut[sentence].append((scores[sentence, place] / self.divisors[n - 1], n - 1, place))
        self.searching &= ~at_limit & (best_open > -np.inf)
        for sentence in np.flatnonzero(self.searching).tolist():
            ended = self.ended[sentence]
            if len(ended) >= self.n_best:
                # Scores only fall, and they are negative: the largest divisor to come makes the most of them.
                most = best_open[sentence] / max(self.divisors[n : self.limits[sentence]])
                self.searching[sentence] = most > sorted(ended, reverse=True)[self.n_best - 1][0]

    def best_of(self, sentence: int) -> list[Hypothesis]:
        """The best hypotheses of a sentence, the best first."""
        # Of equal ones the one that was found first, so that the order is the same whatever n_best is.
        ordered = [x for group in (self.ended, self.cut) for x in sorted(group[sentence], key=lambda x: -x[0])]
        return [self._written(sentence, step, place) for _, step, place in ordered[: self.n_best]]

    def _written(self, sentence: int, last: int, place: int) -> Hypothesis:
        """Walk back from the last word of a hypothesis to its first."""
        words, totals = [], []
        for step in reversed(self.steps[: last + 1]):
            words.append(int(step.words[sentence, place]))
            totals.append(float(step.scores[sentence, place]))
            place = step.parents[sentence, place]
        totals = [0.0, *reversed(totals)]
        logs = [after - before for before, after in pairwise(totals)]
        return hypothesis(words[::-1], logs, self.eos_id, self.divisors)
