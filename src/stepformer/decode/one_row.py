"""Searches that write one row for each sentence: greedy, and sampling."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from stepformer.decode.hypothesis import ALPHA, Hypothesis, LengthPenalty, hypothesis, length_penalties
from stepformer.decode.writer import BOS, EOS, Writer, at_work, check_src, first_ids, limits_of
from stepformer.nn import sampling


def greedy(
    model: Any,
    src: torch.Tensor,
    max_len: int | Sequence[int],
    *,
    length_penalty: LengthPenalty = ALPHA,
    prefix: Sequence[int] = (BOS,),
    eos_id: int = EOS,
    never_ids: Sequence[int] = (),
) -> list[Hypothesis]:
    """Write the most probable word at every step, of equal ones the first.

    Formula: `y[t] = argmax p(y | y[<t], src)`.

    A sentence does not depend on its neighbours in the batch, nor on padding; those that are finished leave it.

    Args:
        model: with encode, decode and project. It writes in eval mode, and is afterwards in the mode that it was in.
        src: (batch, n_src) token ids, padded as the model expects it.
        max_len: the most words to write, the end mark included; one number, or one for each sentence.
        length_penalty: for `normalised` alone.
        prefix: what every target begins with, the start mark first. It is given: it is neither returned nor counted.
        eos_id: the end mark.
        never_ids: words that are never to be written.

    Returns:
        One hypothesis for each sentence.

    Raises:
        TypeError: `src` are not whole numbers, or `max_len` is none.
        ValueError: shapes or settings do not fit, or the model's probabilities are NaN.
    """

    def choose(writer: Writer, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return writer.log_probabilities(logits).max(dim=-1)

    return _write(model, src, max_len, choose, length_penalty, prefix, eos_id, never_ids)


def sample(
    model: Any,
    src: torch.Tensor,
    max_len: int | Sequence[int],
    generators: Sequence[torch.Generator],
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    length_penalty: LengthPenalty = ALPHA,
    prefix: Sequence[int] = (BOS,),
    eos_id: int = EOS,
    never_ids: Sequence[int] = (),
) -> list[Hypothesis]:
    """Draw every word by its probability, made sharper or flatter, and cut to the most probable words.

    Formula: `y[t] ~ top_p(top_k(logits / temperature))`. The scores are the model's own log-probabilities, before
    temperature and cuts.

    Args:
        model: as for `greedy`.
        src: (batch, n_src) token ids.
        max_len: as for `greedy`.
        generators: the source of chance, one for each sentence: what is drawn for one then never depends on another.
        temperature: above 0; below 1 the probable becomes more probable.
        top_k: how many words may be drawn at most; all if not given.
        top_p: the probability that the words that may be drawn have together; all if not given.
        length_penalty: as for `greedy`.
        prefix: as for `greedy`.
        eos_id: as for `greedy`.
        never_ids: as for `greedy`.

    Returns:
        One hypothesis for each sentence.

    Raises:
        TypeError: as for `greedy`.
        ValueError: as for `greedy`, or temperature, `top_k` or `top_p` is out of range, or there are not as many
            generators as sentences.
    """
    if not 0 < temperature < float("inf"):
        raise ValueError(f"temperature is {temperature}; it must be above 0. The limit at 0 is greedy search.")
    if len(set(map(id, generators))) != len(src):
        raise ValueError(f"{len(set(map(id, generators)))} generators for {len(src)} sentences; each needs its own.")

    def choose(writer: Writer, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logs = writer.log_probabilities(logits)
        # The largest becomes 0 first, in float64: no temperature makes all of them infinite, or NaN of -inf / inf.
        exact = logs.double()
        allowed = (exact - exact.max(dim=-1, keepdim=True).values) / temperature
        allowed = allowed.masked_fill(logs == -torch.inf, -torch.inf).to(logs.dtype)
        if top_k is not None:
            allowed = sampling.top_k(allowed, top_k).log()
        probabilities = allowed.softmax(dim=-1) if top_p is None else sampling.top_p(allowed, top_p)
        rows = zip(probabilities, writer.sentences.tolist(), strict=True)
        drawn = torch.stack([sampling.draw(row, generators[sentence]) for row, sentence in rows])
        return logs.gather(-1, drawn.unsqueeze(-1)).squeeze(-1), drawn

    return _write(model, src, max_len, choose, length_penalty, prefix, eos_id, never_ids)


def _write(
    model: Any,
    src: torch.Tensor,
    max_len: int | Sequence[int],
    choose: Callable[[Writer, torch.Tensor], tuple[torch.Tensor, torch.Tensor]],
    length_penalty: LengthPenalty,
    prefix: Sequence[int],
    eos_id: int,
    never_ids: Sequence[int],
) -> list[Hypothesis]:
    """Let `choose` take the words, until every sentence is finished or at its limit."""
    check_src(src)
    limits = limits_of(max_len, len(src))
    divisors = length_penalties(length_penalty, max(limits, default=1))
    if not limits:
        return []
    steps = []
    with at_work(model):
        writer, ids = Writer(model, src, never_ids), first_ids(prefix, src)
        ends = torch.tensor(limits, device=src.device)
        for n in range(1, max(limits) + 1):
            logs, words = choose(writer, writer.step(ids))
            steps.append((writer.sentences, words, logs))
            going_on = (words != eos_id) & (ends > n)
            if not going_on.all():
                rows = going_on.nonzero().flatten()
                if not len(rows):
                    break
                writer.keep(rows)
                words, ends = words[rows], ends[rows]
            ids = words.unsqueeze(-1)
    written: list[list[int]] = [[] for _ in limits]
    scores: list[list[float]] = [[] for _ in limits]
    for step in steps:
        for sentence, word, log in zip(*(x.tolist() for x in step), strict=True):
            written[sentence].append(word)
            scores[sentence].append(log)
    return [hypothesis(*one, eos_id, divisors) for one in zip(written, scores, strict=True)]
