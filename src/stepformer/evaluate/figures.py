"""The figures of a report: exact match by length and by clauses, alignment error by layer and head, one sentence."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stepformer import plots
from stepformer.data.pair import Pair
from stepformer.evaluate.attention import AttentionError
from stepformer.evaluate.evaluation import Evaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def by_group(evaluations: Sequence[Evaluation], kind: str) -> "Figure":
    """Draw the share of exact translations over groups in their order.

    Args:
        evaluations: one or more systems on one test set.
        kind: "length" or "clauses".

    Returns:
        The figure, one line for each system.

    Raises:
        ValueError: the test set has no groups of this kind.
    """
    groups = evaluations[0].groups[kind]
    if not groups:
        raise ValueError(f"Nothing is known about the {kind} of these sentences.")
    lines = {one.system: [group.exact for group in one.groups[kind]] for one in evaluations}
    places = np.arange(len(groups))
    label = {"length": "words of the source", "clauses": "clauses"}.get(kind, kind)
    figure = plots.curves(places, lines, points=None, x_label=label, y_label="share exactly right",
                          title=f"Exact translations by {kind}")  # fmt: skip
    ax = figure.axes[0]
    ax.set_xticks(places, [f"{_number(group.name)}\nn = {group.n}" for group in groups])
    ax.set_ylim(-0.03, 1.03)
    for one, line in zip(evaluations, ax.get_lines(), strict=True):
        ax.plot(places, lines[one.system], linestyle="none", marker="o", color=line.get_color(), markersize=5)
    return figure


def errors(attention: AttentionError) -> "Figure":
    """Draw the alignment error of every layer and head, and of the means.

    Args:
        attention: what `attention_error` returned.

    Returns:
        The figure: a row for each layer, a column for each head, and one for the mean of the heads.
    """
    n_heads = max(len(layer.heads) for layer in attention.layers)
    rates = np.array([[*(head.rate for head in layer.heads), *[1.0] * (n_heads - len(layer.heads)), layer.average.rate]
                      for layer in attention.layers])  # fmt: skip
    rows = [f"layer {i}" for i in range(len(attention.layers))]
    columns = [*(f"head {k}" for k in range(n_heads)), "mean"]
    return plots.matrix(rates, rows, columns, "Alignment error by layer and head", kind="probability")


def one_sentence(pair: Pair, weights: Mapping[str, np.ndarray]) -> "Figure":
    """Draw where a model looks in one sentence: the mean of the heads of each layer.

    Args:
        pair: the sentence.
        weights: layer -> (n_heads, n_tgt, n_src), as `cross_attention` yields them.

    Returns:
        The figure. Words that the fonts can not draw become their positions.
    """

    def labels(tokens: Sequence[str]) -> list[str]:
        return list(tokens) if plots.can_draw("".join(tokens)) else [str(i) for i in range(len(tokens))]

    means: dict[str, Any] = {f"layer {i}": heads.mean(axis=0) for i, heads in enumerate(weights.values())}
    if len(means) > 2:  # more would be too small to read
        last = list(means)[-1]
        means = {last: means[last]}
    return plots.matrices(means, labels(pair.target_tokens), labels(pair.source_tokens), "probability",
                          row_role="target", column_role="source")  # fmt: skip


def _number(name: str) -> str:
    """Of "10–12 words" the axis needs the numbers only."""
    return name.split()[0]
