"""What a reader sees where no script runs (GitHub, print, EPUB): the matrices of a trace as plain tables."""

import itertools
from collections.abc import Sequence
from html import escape

import numpy as np

from stepformer.formatting import format_cell
from stepformer.trace import Trace

MOST_ROWS = 8
"""Longer axes are cut in the fallback; the player shows all of them."""

LONGEST, MOST_GIVEN = 120_000, 20_000
"""Of a program whose tables have more characters, or that is given more numbers (trained weights), one is printed."""


def fallback_html(trace: Trace, start: int = 0) -> str:
    """Tables of the program's results, in the order of its steps.

    Args:
        trace: any trace.
        start: the step that the player begins at. Of a program too large to be printed it alone is; the last one if the
            player begins at the first.

    Returns:
        Safe HTML: every text of the trace is escaped.
    """
    title = f"<p><strong>{escape(trace.title)}</strong></p>" if trace.title else ""
    results = {step.output for step in trace.steps}
    n_given = sum(array.size for i, array in enumerate(trace.arrays) if i not in results)
    steps = [_step(trace, position) for position in range(len(trace.steps))] if n_given <= MOST_GIVEN else []
    if n_given > MOST_GIVEN or sum(map(len, steps)) > LONGEST:
        # The one row of a vector has no name, and a header without a text is none: these tables are read on a page.
        shown = _step(trace, start or len(trace.steps) - 1).replace('<th scope="row"></th>', "<td></td>")
        steps = [f"<p>Of the {len(trace.steps)} steps of this program one is printed here.</p>", shown]
    return f'<div class="stepformer-fallback">{title}{"".join(steps)}</div>'


def _step(trace: Trace, position: int) -> str:
    step = trace.steps[position]
    tensor = trace.tensors[step.output]
    inputs = ", ".join(trace.tensors[i].name for i in step.inputs)
    call = f"<p>{position + 1}. <code>{escape(tensor.name)} = {escape(step.op)}({escape(inputs)})</code></p>"
    return call + _tables(trace.arrays[step.output], tensor.dtype, tensor.axes, trace.axis_labels(tensor.name))


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
