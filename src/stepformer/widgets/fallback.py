"""What a reader sees where no script runs (GitHub, print, EPUB): the matrices of a trace as plain tables."""

import itertools
from collections.abc import Sequence
from html import escape

import numpy as np

from stepformer.formatting import format_cell
from stepformer.trace import Trace

MOST_ROWS = 8
"""Longer axes are cut in the fallback; the player shows all of them."""


def fallback_html(trace: Trace) -> str:
    """Tables of the program's results, in the order of its steps.

    Args:
        trace: any trace.

    Returns:
        Safe HTML: every text of the trace is escaped.
    """
    parts = [f"<p><strong>{escape(trace.title)}</strong></p>"] if trace.title else []
    for number, step in enumerate(trace.steps, start=1):
        tensor = trace.tensors[step.output]
        inputs = ", ".join(trace.tensors[i].name for i in step.inputs)
        parts.append(f"<p>{number}. <code>{escape(tensor.name)} = {escape(step.op)}({escape(inputs)})</code></p>")
        parts.append(_tables(trace.arrays[step.output], tensor.dtype, tensor.axes, trace.axis_labels(tensor.name)))
    return f'<div class="stepformer-fallback">{"".join(parts)}</div>'


def _tables(array: np.ndarray, dtype: str, axes: Sequence[str], labels: Sequence[Sequence[str]]) -> str:
    """One table for each matrix in the last two axes; the leading axes stand in its caption."""
    while array.ndim < 2:
        array, axes, labels = array[None], ("", *axes), ([""], *labels)
    leading = [list(zip(itertools.count(), texts[:MOST_ROWS], strict=False)) for texts in labels[:-2]]
    tables = []
    for choice in itertools.product(*leading):
        caption = ", ".join(f"{axis} {text}" for axis, (_, text) in zip(axes, choice, strict=False))
        matrix = array[tuple(i for i, _ in choice)]
        tables.append(_table(matrix, dtype, labels[-2], labels[-1], caption))
    return "".join(tables)


def _table(matrix: np.ndarray, dtype: str, rows: Sequence[str], columns: Sequence[str], caption: str) -> str:
    more_columns = "<th>…</th>" if len(columns) > MOST_ROWS else ""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in columns[:MOST_ROWS]) + more_columns
    body = []
    for row_label, row in zip(rows[:MOST_ROWS], matrix, strict=False):
        cells = "".join(f"<td>{format_cell(x, dtype)}</td>" for x in row[:MOST_ROWS])
        body.append(f'<tr><th scope="row">{escape(row_label)}</th>{cells}{"<td>…</td>" if more_columns else ""}</tr>')
    if len(rows) > MOST_ROWS:
        body.append('<tr><th scope="row">…</th></tr>')
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr><td></td>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
