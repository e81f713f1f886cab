"""Evaluate a translator on a test set: all scores at once, each with what it needs to be believed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from stepformer.data.pair import Pair
from stepformer.evaluate import bleu as by_hand
from stepformer.evaluate import exact, scores
from stepformer.evaluate.bootstrap import Comparison, Interval, bootstrap, paired_bootstrap, share

if TYPE_CHECKING:
    from stepformer.evaluate.attention import AttentionError
    from stepformer.evaluate.perplexity import Perplexity

GROUPINGS: Mapping[str, Callable[[Sequence[Pair]], list[exact.Group]]] = {
    "phenomenon": exact.by_phenomenon,
    "length": exact.by_length,
    "clauses": exact.by_clauses,
}


class Translated(Protocol):
    """What is known of a translation: its text, whether it came to an end, and the words that were not understood."""

    text: str
    finished: bool
    unknown: Sequence[str]


class Sentence(NamedTuple):
    """One sentence of the test set and what became of it."""

    source: str
    reference: str
    hypothesis: str
    is_exact: bool
    finished: bool = True
    unknown: tuple[str, ...] = ()


class GroupScore(NamedTuple):
    """A group of `n` sentences: the share that is exactly right, and its BLEU."""

    name: str
    n: int
    exact: float
    bleu: float


@dataclass(frozen=True)
class Evaluation:
    """The scores of one system on one test set.

    Attributes:
        system: what translated, such as "small, greedy".
        data: what was translated, such as "grammar, split random".
        sentences: the n sentences, in the order of the test set.
        bleu: sacrebleu's score, from 0 to 100, and its interval.
        bleu_parts: the numbers that it is made of.
        bleu_signature: how sacrebleu counted.
        chrf: sacrebleu's score, from 0 to 100, with its signature.
        exact: the share of sentences that are exactly right, and its interval.
        groups: "phenomenon", "length" and "clauses" -> scores of groups; empty where nothing is known.
        perplexity: of the references; None if no model was asked.
        attention: alignment errors; None if there is nothing to compare, or the model has no attention.
        notes: what could not be computed, and why.
    """

    system: str
    data: str
    sentences: tuple[Sentence, ...]
    bleu: Interval
    bleu_parts: by_hand.Bleu
    bleu_signature: str
    chrf: scores.Score
    exact: Interval
    groups: Mapping[str, tuple[GroupScore, ...]]
    perplexity: "Perplexity | None" = None
    attention: "AttentionError | None" = None
    notes: tuple[str, ...] = ()

    @property
    def unfinished(self) -> int:
        """How many translations did not come to an end."""
        return sum(not sentence.finished for sentence in self.sentences)

    @property
    def with_unknown(self) -> int:
        """How many sources hold a word that the model does not know."""
        return sum(bool(sentence.unknown) for sentence in self.sentences)


def score(
    pairs: Sequence[Pair],
    translations: Sequence[Translated | str],
    generator: np.random.Generator,
    *,
    system: str = "",
    data: str = "",
    tokenizer: str = "zh",
    n_samples: int = 1000,
) -> Evaluation:
    """Score translations, wherever they come from.

    Args:
        pairs: the n pairs of the test set.
        translations: n translations, as texts or as a translator returns them.
        generator: for the bootstrap.
        system: what translated, for the report.
        data: what was translated, for the report.
        tokenizer: what BLEU counts; one of `stepformer.evaluate.scores.TOKENIZERS`.
        n_samples: how many test sets the bootstrap draws.

    Returns:
        The evaluation, without what only a model can tell.

    Raises:
        ValueError: there are no pairs, or not as many translations.
    """
    if len(pairs) != len(translations) or not pairs:
        raise ValueError(f"There are {len(pairs)} pairs and {len(translations)} translations; each pair needs one.")
    sentences = tuple(_sentence(pair, one) for pair, one in zip(pairs, translations, strict=True))
    hypotheses, references = [s.hypothesis for s in sentences], [s.reference for s in sentences]
    counts = bleu_statistics(sentences, tokenizer)
    right = np.array([[s.is_exact, 1] for s in sentences], dtype=int)
    official, parts = scores.bleu(hypotheses, references, tokenizer), by_hand.from_statistics(counts.sum(axis=0))
    groups = {
        kind: tuple(_group_score(group, counts, right) for group in group_of(pairs))
        for kind, group_of in GROUPINGS.items()
    }
    return Evaluation(
        system=system,
        data=data,
        sentences=sentences,
        bleu=bootstrap(counts, bleu_of, generator, n_samples)._replace(value=official.value),
        bleu_parts=parts,
        bleu_signature=official.signature,
        chrf=scores.chrf(hypotheses, references),
        exact=bootstrap(right, share, generator, n_samples),
        groups=groups,
    )


def evaluate(
    model: Any,
    src_tokenizer: Any,
    tgt_tokenizer: Any,
    pairs: Sequence[Pair],
    translate: Callable[[list[str]], Sequence[Translated]],
    generator: np.random.Generator,
    *,
    batch_size: int = 64,
    on_progress: Callable[[int], Any] = lambda n: None,
    **options: Any,
) -> Evaluation:
    """Let a model translate a test set, and score all that can be scored.

    Args:
        model: any model of this package.
        src_tokenizer: from the source's text to ids.
        tgt_tokenizer: from the target's text to ids.
        pairs: the n pairs of the test set.
        translate: from a list of texts to their translations.
        generator: for the bootstrap.
        batch_size: sentences that are handed over together; no score depends on it.
        on_progress: is told how many more sentences have been translated.
        **options: as for `score`.

    Returns:
        The evaluation; `notes` says what could not be computed.

    Raises:
        ValueError: as for `score`.
    """
    from stepformer.evaluate.attention import attention_error
    from stepformer.evaluate.perplexity import perplexity

    translations: list[Translated | None] = [None] * len(pairs)
    order = sorted(range(len(pairs)), key=lambda i: (len(pairs[i].source_tokens), i))
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        for i, one in zip(chosen, translate([pairs[i].source for i in chosen]), strict=True):
            translations[i] = one
        on_progress(len(chosen))
    result = score(pairs, translations, generator, **options)
    ids = [(src_tokenizer.encode(pair.source), tgt_tokenizer.encode(pair.target)) for pair in pairs]
    # Links join words: they say something only about sentences that the tokenizers cut into the same words.
    linked = [i for i, pair in enumerate(pairs) if pair.sure]
    same = [i for i in linked if _same_words(src_tokenizer, pairs[i].source, pairs[i].source_tokens)
            and _same_words(tgt_tokenizer, pairs[i].target, pairs[i].target_tokens)]  # fmt: skip
    notes = []
    if len(same) < len(linked):
        notes.append(
            f"The alignment error leaves out {len(linked) - len(same)} sentences, which the model's tokenizers cut "
            "into other pieces than the words that the links join."
        )

    def attempt(name: str, compute: Callable[[], Any]) -> Any:
        """A score that this model or this data does not have is no reason to lose the others."""
        try:
            return compute()
        except ValueError as error:
            notes.append(f"{name} was not computed. {error}")
            return None

    known = attempt("The perplexity", lambda: perplexity(model, ids, batch_size))
    chosen = [pairs[i] for i in same], [ids[i] for i in same]
    aligned = attempt("The alignment error", lambda: attention_error(model, *chosen, batch_size)) if same else None
    return replace(result, perplexity=known, attention=aligned, notes=tuple(notes))


class Difference(NamedTuple):
    """How much better the first of two systems is on the same sentences, in BLEU and in the share of exact ones."""

    bleu: Comparison
    exact: Comparison


def compare(
    a: Evaluation, b: Evaluation, generator: np.random.Generator, tokenizer: str = "zh", n_samples: int = 1000
) -> Difference:
    """Compare two systems by the paired bootstrap.

    Args:
        a: the evaluation of the first.
        b: the evaluation of the second, on the same test set.
        generator: for the bootstrap.
        tokenizer: what BLEU counts.
        n_samples: how many test sets are drawn.

    Returns:
        Both differences with their intervals.

    Raises:
        ValueError: the test sets differ.
    """
    if [(s.source, s.reference) for s in a.sentences] != [(s.source, s.reference) for s in b.sentences]:
        raise ValueError(f"{a.system!r} and {b.system!r} were not evaluated on the same sentences in the same order.")
    counts = [bleu_statistics(one.sentences, tokenizer) for one in (a, b)]
    right = [np.array([[s.is_exact, 1] for s in one.sentences], dtype=int) for one in (a, b)]
    return Difference(
        paired_bootstrap(*counts, bleu_of, generator, n_samples), paired_bootstrap(*right, share, generator, n_samples)
    )


def bleu_statistics(sentences: Sequence[Sentence], tokenizer: str = "zh") -> np.ndarray:
    """What BLEU needs to know of each sentence.

    Args:
        sentences: n sentences.
        tokenizer: what BLEU counts.

    Returns:
        (n, 10) whole numbers, as `stepformer.evaluate.bleu.statistics` gives them.
    """
    split = scores.split
    return np.array([by_hand.statistics(split(s.hypothesis, tokenizer), split(s.reference, tokenizer))
                     for s in sentences])  # fmt: skip


def bleu_of(total: np.ndarray) -> float:
    """The score of summed statistics: what the bootstrap asks for.

    Args:
        total: (10,) the sum over some sentences.

    Returns:
        BLEU, from 0 to 100.
    """
    return by_hand.from_statistics(total).score


def _same_words(tokenizer: Any, text: str, words: Sequence[str]) -> bool:
    return [token.lower() for token in tokenizer.tokens(text)] == [word.lower() for word in words]


def _sentence(pair: Pair, one: Translated | str) -> Sentence:
    if isinstance(one, str):
        return Sentence(pair.source, pair.target, one, exact.is_exact(one, pair.target))
    right = exact.is_exact(one.text, pair.target)
    return Sentence(pair.source, pair.target, one.text, right, bool(one.finished), tuple(one.unknown))


def _group_score(group: exact.Group, counts: np.ndarray, right: np.ndarray) -> GroupScore:
    members = list(group.members)
    return GroupScore(group.name, len(members), share(right[members].sum(axis=0)), bleu_of(counts[members].sum(axis=0)))
