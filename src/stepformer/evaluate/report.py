"""An evaluation to be read: `report.md` with its figures, and `report.json` with the same numbers and all sentences."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from stepformer import plots
from stepformer.data.pair import Pair
from stepformer.evaluate import figures
from stepformer.evaluate.bootstrap import Interval
from stepformer.evaluate.evaluation import Difference, Evaluation
from stepformer.evaluate.summary import to_json

MOST_EXAMPLES = 20
"""Of more sentences that are wrong, only so many are shown; `report.json` has all."""


def write_report(
    directory: str | Path,
    evaluations: Sequence[Evaluation],
    differences: Sequence[Difference] = (),
    example: tuple[Pair, Mapping[str, np.ndarray]] | None = None,
) -> Path:
    """Write `report.md`, its figures, and `report.json`. Files of these names are replaced, others are left alone.

    Args:
        directory: where; it is made if need be.
        evaluations: one or more systems on one test set.
        differences: of the first system and each of the others, in their order.
        example: a sentence, and the first system's weights for it, as `cross_attention` yields them.

    Returns:
        The path of `report.md`.

    Raises:
        ValueError: there are no evaluations.
    """
    if not evaluations:
        raise ValueError("evaluations is empty: there is nothing to report.")
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    first = evaluations[0]
    drawn: dict[str, Callable] = {}
    for kind in ("length", "clauses"):
        if first.groups[kind]:
            drawn[f"exact_by_{kind}.png"] = lambda kind=kind: figures.by_group(evaluations, kind)
    if first.attention:
        drawn["alignment_error.png"] = lambda: figures.errors(first.attention)
    if example:
        drawn["attention.png"] = lambda: figures.one_sentence(*example)
    for name, draw in drawn.items():
        (directory / name).write_bytes(plots.png(draw()))
    text = json.dumps(to_json(evaluations, differences), ensure_ascii=False, allow_nan=False, indent=1)
    (directory / "report.json").write_text(text + "\n", encoding="utf-8")
    path = directory / "report.md"
    path.write_text(markdown(evaluations, differences, list(drawn), example and example[0]), encoding="utf-8")
    return path


def markdown(
    evaluations: Sequence[Evaluation],
    differences: Sequence[Difference] = (),
    pictures: Sequence[str] = (),
    example: Pair | None = None,
) -> str:
    """The report as Markdown.

    Args:
        evaluations: as for `write_report`.
        differences: as for `write_report`.
        pictures: names of the figures that there are.
        example: the sentence of `attention.png`.

    Returns:
        The text.
    """
    first = evaluations[0]
    parts = [
        f"# Evaluation of {' and '.join(_plain(one.system) for one in evaluations)}",
        f"{_plain(first.data)}: {len(first.sentences):,} sentences.",
        _scores(evaluations),
    ]
    parts += [_difference(first, *other) for other in zip(evaluations[1:], differences, strict=False)]
    parts += [f"**{_plain(one.system)}**: {_details(one)}" for one in evaluations]
    for kind in ("phenomenon", "length", "clauses"):
        if first.groups[kind]:
            parts += [f"## By {kind}", _groups(evaluations, kind), *_picture(f"exact_by_{kind}.png", pictures)]
    if first.attention:
        parts += ["## Attention as alignment", _alignment(first), *_picture("alignment_error.png", pictures)]
    if example:
        parts += [f"“{_plain(example.source)}”: where the row looks when it writes its word.",
                  *_picture("attention.png", pictures)]  # fmt: skip
    for one in evaluations:
        parts += [f"## What {_plain(one.system)} got wrong", _wrong(one)]
    return "\n\n".join(parts) + "\n"


def plain_text(evaluations: Sequence[Evaluation], differences: Sequence[Difference] = ()) -> str:
    """The scores for a terminal, without figures and single sentences.

    Args:
        evaluations: as for `write_report`.
        differences: as for `write_report`.

    Returns:
        The text.
    """
    first = evaluations[0]
    lines = [f"{first.data}: {len(first.sentences):,} sentences"]
    names = list(_score_rows([first]))
    width = max(map(len, names))
    for one in evaluations:
        lines += ["", one.system]
        lines += [f"  {name:<{width}}  {cell}" for name, (cell,) in _score_rows([one]).items()]
        lines += [f"  {one.bleu_signature}", *(f"  {note}" for note in one.notes)]
        counts = {
            "that did not come to an end": one.unfinished,
            "with words that the model does not know": one.with_unknown,
        }
        lines += [f"  sentences {what}: {n}" for what, n in counts.items() if n]
        for kind, groups in one.groups.items():
            name_width = max([len(kind), *(len(group.name) for group in groups)])
            lines += ["", f"  {f'by {kind}':<{name_width + 3}}  sentences  exactly right   BLEU"] if groups else []
            lines += [f"  {group.name:<{name_width + 3}}{group.n:>11}{group.exact:>15.1%}{group.bleu:>7.1f}"
                      for group in groups]  # fmt: skip
        if one.attention:
            lines += ["", "  alignment error, 0 is perfect"]
            for i, layer in enumerate(one.attention.layers):
                heads = "  ".join(f"{head.rate:.3f}" for head in layer.heads)
                lines.append(f"  layer {i}: heads {heads}, their mean {layer.average.rate:.3f}")
            lines.append(f"  all layers {one.attention.average.rate:.3f}, diagonal {one.attention.diagonal.rate:.3f}")
    lines += [line for other in zip(evaluations[1:], differences, strict=False)
              for line in ("", _difference(first, *other, plain=str))]  # fmt: skip
    return "\n".join(lines)


def _score_rows(evaluations: Sequence[Evaluation]) -> dict[str, list[str]]:
    return {
        "BLEU": [f"{one.bleu.value:.1f} {_ends(one.bleu, '.1f')}" for one in evaluations],
        "chrF2": [f"{one.chrf.value:.1f}" for one in evaluations],
        "exactly right": [f"{one.exact.value:.1%} {_ends(one.exact, '.1%')}" for one in evaluations],
        "perplexity": [f"{one.perplexity.value:.3f}" if one.perplexity else "–" for one in evaluations],
        "alignment error, last layer": [
            f"{one.attention.layers[-1].average.rate:.3f}" if one.attention else "–" for one in evaluations
        ],
    }


def _scores(evaluations: Sequence[Evaluation]) -> str:
    rows = _score_rows(evaluations)
    header = ["", *(_plain(one.system) for one in evaluations)]
    level = evaluations[0].bleu.level
    note = f"In brackets: the {level:.0%} interval, by drawing the test sentences anew (bootstrap)."
    return _table(header, [[name, *cells] for name, cells in rows.items()]) + f"\n\n{note}"


def _difference(
    first: Evaluation, other: Evaluation, difference: Difference, plain: Callable[[str], str] | None = None
) -> str:
    plain = plain or _plain
    bleu, exact = difference
    return (
        f"{plain(first.system)} against {plain(other.system)}, on the same drawn test sets: BLEU "
        f"{bleu.difference.value:+z.1f} {_ends(bleu.difference, '+z.1f')}, better on {bleu.share_better:.1%} of them; "
        f"exactly right {exact.difference.value:+z.1%} {_ends(exact.difference, '+z.1%')}, better on "
        f"{exact.share_better:.1%}."
    )


def _details(one: Evaluation) -> str:
    parts = one.bleu_parts
    precisions = " / ".join(f"{100 * row.precision:.1f}" for row in parts.orders)
    lines = [
        f"precisions {precisions} %, brevity penalty {parts.brevity_penalty:.3f} ({parts.hypothesis_length:,} of "
        f"{parts.reference_length:,} tokens). BLEU `{one.bleu_signature}`, chrF `{one.chrf.signature}`."
    ]
    if one.perplexity:
        lines.append(f"Perplexity over {one.perplexity.tokens:,} tokens, each sentence's end among them.")
    if one.unfinished:
        lines.append(f"Translations that did not come to an end: {one.unfinished}.")
    if one.with_unknown:
        lines.append(f"Sentences with words that the model does not know: {one.with_unknown}.")
    return " ".join([*lines, *map(_plain, one.notes)])


def _groups(evaluations: Sequence[Evaluation], kind: str) -> str:
    header = [kind, "sentences"]
    for one in evaluations:
        suffix = f", {_plain(one.system)}" if len(evaluations) > 1 else ""
        header += [f"exactly right{suffix}", f"BLEU{suffix}"]
    rows = []
    for groups in zip(*(one.groups[kind] for one in evaluations), strict=True):
        scores = [cell for group in groups for cell in (f"{group.exact:.1%}", f"{group.bleu:.1f}")]
        rows.append([_plain(groups[0].name), str(groups[0].n), *scores])
    return _table(header, rows)


def _alignment(one: Evaluation) -> str:
    n_heads = max(len(layer.heads) for layer in one.attention.layers)
    rows = []
    for i, layer in enumerate(one.attention.layers):
        heads = [f"{head.rate:.3f}" for head in layer.heads]
        rows.append([f"layer {i}", *heads, *[""] * (n_heads - len(heads)), f"{layer.average.rate:.3f}"])
    table = _table(["", *(f"head {k}" for k in range(n_heads)), "mean of the heads"], rows)
    average, diagonal = one.attention.average, one.attention.diagonal
    return (
        f"{table}\n\nAlignment error rate, 0 is perfect. Each target word is joined with the source word that gets the "
        "most weight at the position that predicts it; `<eos>` is left out on both sides, punctuation counts. The mean "
        f"of all layers has {average.rate:.3f} (precision {average.precision:.3f}, recall {average.recall:.3f}); the "
        f"diagonal, which knows no words, {diagonal.rate:.3f}."
    )


def _wrong(one: Evaluation) -> str:
    wrong = [sentence for sentence in one.sentences if not sentence.is_exact]
    if not wrong:
        return "Nothing: every sentence is exactly right."
    rows = [
        [*map(_plain, (s.source, s.reference, s.hypothesis or "(nothing)")), "" if s.finished else "unfinished"]
        for s in wrong[:MOST_EXAMPLES]
    ]
    shown = f"The first {len(rows)} of {len(wrong)}." if len(rows) < len(wrong) else f"{len(wrong)} in all."
    return f"{shown} Another translation than the reference's may be right as well.\n\n" + _table(
        ["source", "reference", "translation", ""], rows
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _ends(interval: Interval, form: str) -> str:
    return f"({interval.low:{form}} to {interval.high:{form}})"


def _picture(name: str, pictures: Sequence[str]) -> list[str]:
    words = name.removesuffix(".png").replace("_", " ")
    return [f"![{words}]({name})"] if name in pictures else []


def _plain(text: str) -> str:
    """Text that Markdown shows as it is: nothing in a sentence makes a table, a link or HTML of itself."""
    text = "".join(c if c.isprintable() else "�" for c in text)
    return "".join(f"\\{c}" if c in "\\`*_[]#|~!" else {"<": "&lt;", ">": "&gt;", "&": "&amp;"}.get(c, c) for c in text)
