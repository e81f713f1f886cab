"""An evaluation as JSON: everything that the report says, for programs."""

from collections.abc import Sequence
from typing import Any

from stepformer.evaluate.alignment import AlignmentError
from stepformer.evaluate.bootstrap import Comparison, Interval
from stepformer.evaluate.evaluation import Difference, Evaluation

FORMAT = "stepformer.evaluation/1"


def to_json(evaluations: Sequence[Evaluation], differences: Sequence[Difference] = ()) -> dict[str, Any]:
    """What JSON can hold of one or several evaluations.

    Args:
        evaluations: of one test set.
        differences: of the first system and each of the others, in their order.

    Returns:
        An object with `format`, `evaluations` and `differences`.
    """
    others = evaluations[1 : 1 + len(differences)]
    return {
        "format": FORMAT,
        "evaluations": [_evaluation(one) for one in evaluations],
        "differences": [
            {"better": evaluations[0].system, "worse": other.system, "bleu": _comparison(difference.bleu),
             "exact": _comparison(difference.exact)}
            for other, difference in zip(others, differences, strict=True)
        ],
    }  # fmt: skip


def _evaluation(one: Evaluation) -> dict[str, Any]:
    attention = one.attention
    return {
        "system": one.system,
        "data": one.data,
        "n": len(one.sentences),
        "unfinished": one.unfinished,
        "with_unknown_words": one.with_unknown,
        "bleu": {
            **_interval(one.bleu),
            "signature": one.bleu_signature,
            "brevity_penalty": one.bleu_parts.brevity_penalty,
            "orders": [row._asdict() for row in one.bleu_parts.orders],
            "hypothesis_length": one.bleu_parts.hypothesis_length,
            "reference_length": one.bleu_parts.reference_length,
        },
        "chrf": one.chrf._asdict(),
        "exact": _interval(one.exact),
        "groups": {kind: [group._asdict() for group in groups] for kind, groups in one.groups.items()},
        "perplexity": one.perplexity and one.perplexity._asdict(),
        "alignment_error": attention and {
            "layers": [
                {"name": layer.name, "heads": [_error(head) for head in layer.heads], "average": _error(layer.average)}
                for layer in attention.layers
            ],
            "average": _error(attention.average),
            "diagonal": _error(attention.diagonal),
        },
        "notes": list(one.notes),
        "sentences": [sentence._asdict() | {"unknown": list(sentence.unknown)} for sentence in one.sentences],
    }  # fmt: skip


def _interval(interval: Interval) -> dict[str, float]:
    return interval._asdict()


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {"difference": _interval(comparison.difference), "share_better": comparison.share_better}


def _error(error: AlignmentError) -> dict[str, Any]:
    return error._asdict() | {"rate": error.rate}
