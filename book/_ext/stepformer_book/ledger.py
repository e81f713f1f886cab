"""`{ledger}`: a form that counts what a Transformer costs. `{table-3}`: the paper's counts and what they imply."""

from html import escape

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from stepformer.examples.table_3 import ROWS, vocabularies
from stepformer.model_ledger import ledger, payload, write_number
from stepformer.widgets.dual import element
from stepformer_book.ops_table import row

PAPERS_VOCABULARY = 37_000
FITTING_VOCABULARY = 41_100
HEADINGS = ("Row", "The paper: millions", "Vocabularies that give it", "Counted with 41,100 words", "With 37,000")


def ledger_html() -> str:
    """The element, and inside it the count of the base model for readers without JavaScript."""
    count = ledger()
    total = {"block": "all", "parameters": count.parameters, "flops_per_token": count.flops_per_token}
    lines = "".join(
        f"<tr><th>{escape(line['block'])}</th><td>{write_number(line['parameters'])}</td>"
        f"<td>{write_number(line['flops_per_token'])}</td></tr>"
        for line in [*count.by_block, total]
    )
    table = f"<table><tr><th>block</th><th>parameters</th><th>FLOPs per token</th></tr>{lines}</table>"
    return element("stepformer-ledger", payload(), f'<div class="stepformer-fallback">{table}</div>')


class LedgerDirective(SphinxDirective):
    """The ledger as a live element."""

    def run(self) -> list[nodes.Node]:
        """Return it as HTML."""
        self.env.note_reread()
        return [nodes.container("", nodes.raw("", ledger_html(), format="html"), classes=["live-player"])]


class Table3Directive(SphinxDirective):
    """One row for each that prints its parameters."""

    def run(self) -> list[nodes.Node]:
        """Build the table."""
        self.env.note_reread()
        rows = []
        for line in ROWS:
            first, last = vocabularies(line)
            counts = [
                ledger(line.settings | {"src_vocab_size": size}).parameters / 1e6
                for size in (FITTING_VOCABULARY, PAPERS_VOCABULARY)
            ]
            texts = [line.name, str(line.millions), f"{first:,} to {last:,}", *(f"{x:.1f}" for x in counts)]
            rows.append(row(*[[[nodes.Text(text)]] for text in texts]))
        columns = [nodes.colspec(colwidth=20) for _ in HEADINGS]
        head = nodes.thead("", row(*[[[nodes.Text(heading)]] for heading in HEADINGS]))
        group = nodes.tgroup("", *columns, head, nodes.tbody("", *rows), cols=len(columns))
        return [nodes.table("", group)]


def setup(app) -> None:
    """Register the directives."""
    app.add_directive("ledger", LedgerDirective)
    app.add_directive("table-3", Table3Directive)
