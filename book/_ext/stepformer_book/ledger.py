"""`{ledger}` and `{training-ledger}`: forms that count what a Transformer costs, and what it costs to train it.

`{table-3}`: the paper's counts and what they imply.
"""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from stepformer import training_ledger
from stepformer.examples.table_3 import ROWS, vocabularies
from stepformer.model_ledger import ledger, payload, write_number
from stepformer.widgets.ledger_view import ledger_html
from stepformer_book.ops_table import row

PAPERS_VOCABULARY = 37_000
FITTING_VOCABULARY = 41_100
HEADINGS = ("Row", "The paper: millions", "Vocabularies that give it", "Counted with 41,100 words", "With 37,000")


def model_ledger_html() -> str:
    """The element, and inside it the count of the base model for readers without JavaScript."""
    count = ledger()
    total = {"block": "all", "parameters": count.parameters, "flops_per_token": count.flops_per_token}
    rows = [
        (line["block"], write_number(line["parameters"]), write_number(line["flops_per_token"]))
        for line in [*count.by_block, total]
    ]
    return ledger_html(payload(), ("block", "parameters", "FLOPs per token"), rows)


def training_ledger_html() -> str:
    """The same for a training: base on a million pairs."""
    return ledger_html(training_ledger.payload(), ("what", "how much"), training_ledger.lines())


class LedgerDirective(SphinxDirective):
    """The ledger as a live element."""

    def run(self) -> list[nodes.Node]:
        """Return it as HTML."""
        self.env.note_reread()
        return [nodes.container("", nodes.raw("", self.html(), format="html"), classes=["live-player"])]

    def html(self) -> str:
        """What stands on the page."""
        return model_ledger_html()


class TrainingLedgerDirective(LedgerDirective):
    """The ledger of a training as a live element."""

    def html(self) -> str:
        """What stands on the page."""
        return training_ledger_html()


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
    app.add_directive("training-ledger", TrainingLedgerDirective)
    app.add_directive("table-3", Table3Directive)
