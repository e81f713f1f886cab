"""A ledger as a widget with two faces: change a setting and see what a training costs."""

from collections.abc import Sequence
from html import escape

from stepformer.widgets.dual import DualWidget, element


class LedgerView(DualWidget):
    """A form whose results are counted as one types.

    Attributes:
        lines: the results at the start: what is counted, and how much it is.
    """

    def __init__(self, payload: str, lines: Sequence[tuple[str, str]]) -> None:
        self.lines = tuple(lines)
        super().__init__(kind="ledger", payload=payload)

    def html(self) -> str:
        """The form as a custom element; without a script, the results that it begins with."""
        return ledger_html(self.payload, ("what", "how much"), self.lines)

    def __repr__(self) -> str:
        return "LedgerView(" + "; ".join(f"{text}: {amount}" for text, amount in self.lines) + ")"


def ledger_html(payload: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The ledger of a page without a kernel.

    Args:
        payload: what `stepformer.model_ledger.write_page` returned.
        heads: of the columns of the table for readers without JavaScript.
        rows: of that table, the name of each row first.

    Returns:
        A `stepformer-ledger` element.
    """
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(
        f"<tr><th>{escape(name)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
        for name, *cells in rows
    )
    table = f"<table><tr>{head}</tr>{body}</table>"
    return element("stepformer-ledger", payload, f'<div class="stepformer-fallback">{table}</div>')
