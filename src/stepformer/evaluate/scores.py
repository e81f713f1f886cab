"""BLEU and chrF as sacrebleu computes them (Post 2018, Popović 2015), with the signature that makes them comparable.

sacrebleu is imported on use: nothing else of the package needs it.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

TOKENIZERS = ("zh", "13a", "char", "none")
"""Of sacrebleu: each Chinese character a token; western words; each character; what spaces separate."""


class Score(NamedTuple):
    """A score from 0 to 100, and sacrebleu's signature: what one must know to compute it again."""

    value: float
    signature: str


def split(text: str, tokenizer: str = "zh") -> list[str]:
    """The tokens of a text as sacrebleu counts them.

    Args:
        text: one sentence.
        tokenizer: one of `TOKENIZERS`. With "zh" each Chinese character is a token, and so is each punctuation mark;
            the western "13a" takes a Chinese sentence for one long word.

    Returns:
        The tokens.

    Raises:
        ValueError: the tokenizer is unknown.
    """
    return _bleu(tokenizer).tokenizer(text.rstrip()).split()


def bleu(hypotheses: Sequence[str], references: Sequence[str], tokenizer: str = "zh") -> Score:
    """BLEU of a corpus by sacrebleu, with its defaults: n-grams up to 4, smoothing "exp".

    Args:
        hypotheses: n translations, as texts.
        references: n texts that they are compared with.
        tokenizer: as for `split`.

    Returns:
        The score and its signature.

    Raises:
        ValueError: there are no sentences, not as many translations as references, or the tokenizer is unknown.
    """
    _check(hypotheses, references)
    metric = _bleu(tokenizer)
    return Score(metric.corpus_score(list(hypotheses), [list(references)]).score, str(metric.get_signature()))


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """chrF2 of a corpus by sacrebleu: an F-score of the n-grams of characters up to 6, recall counting double.

    It needs no tokenizer, as it looks at characters in every language.

    Args:
        hypotheses: n translations, as texts.
        references: n texts that they are compared with.

    Returns:
        The score and its signature.

    Raises:
        ValueError: there are no sentences, or not as many translations as references.
    """
    from sacrebleu.metrics import CHRF

    _check(hypotheses, references)
    metric = CHRF()
    return Score(metric.corpus_score(list(hypotheses), [list(references)]).score, str(metric.get_signature()))


@functools.cache
def _bleu(tokenizer: str) -> Any:
    from sacrebleu.metrics import BLEU

    if tokenizer not in TOKENIZERS:
        raise ValueError(f"tokenizer is {tokenizer!r}; it is one of {', '.join(TOKENIZERS)}.")
    return BLEU(tokenize=tokenizer)


def _check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if len(hypotheses) != len(references) or not len(references):
        raise ValueError(
            f"There are {len(hypotheses)} hypotheses and {len(references)} references; each sentence needs one of both."
        )
