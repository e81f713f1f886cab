"""`{ops-table}`: every recorded op with its formula, read from `stepformer.ops`."""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from stepformer.ops import OPS

HEADINGS = ("Operation", "Formula")


def row(*cells: list[list[nodes.Node]]) -> nodes.row:
    """Make one row of the table; each cell is a list of paragraphs, each paragraph a list of its contents."""
    entries = [nodes.entry("", *[nodes.paragraph("", "", *content) for content in cell]) for cell in cells]
    return nodes.row("", *entries)


class OpsTableDirective(SphinxDirective):
    """One row for each op: its name and the first line of its docstring, then its formula."""

    def run(self) -> list[nodes.Node]:
        """Build the table."""
        # The page holds what the code says: read it again in every build.
        self.env.note_reread()
        rows = []
        for name, op in OPS.items():
            summary, messages = self.parse_inline(op.summary)
            rows.append(row([[nodes.literal("", name)], [*summary, *messages]], [[nodes.math("", op.latex)]]))
        columns = [nodes.colspec(colwidth=50) for _ in HEADINGS]
        head = nodes.thead("", row(*[[[nodes.Text(heading)]] for heading in HEADINGS]))
        group = nodes.tgroup("", *columns, head, nodes.tbody("", *rows), cols=len(columns))
        return [nodes.table("", group, classes=["ops-table"])]


def setup(app) -> None:
    """Register the directive."""
    app.add_directive("ops-table", OpsTableDirective)
