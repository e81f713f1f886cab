"""`{concordance}`: the paper, our functions and torch's modules side by side, read from `stepformer.concordance`."""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from stepformer.concordance import ROWS
from stepformer_book.ops_table import row

HEADINGS = ("In the paper", "In NumPy, in our torch, in torch itself")


class ConcordanceDirective(SphinxDirective):
    """One row for each piece; below its names, the file of the tests that compare them."""

    def run(self) -> list[nodes.Node]:
        """Build the table."""
        # The page holds what the code says: read it again in every build.
        self.env.note_reread()
        rows = []
        for piece in ROWS:
            paper = [[nodes.Text(f"{piece.section}: {piece.piece}")]]
            if piece.formula:
                paper.append([nodes.math("", piece.formula)])
            code = [[nodes.literal("", f"reference.{piece.reference}")], [nodes.literal("", f"nn.{piece.nn}")]]
            there = nodes.literal("", f"torch.{piece.torch}") if piece.torch else nodes.Text("nothing like it in torch")
            code.append([there])
            files = ", ".join(dict.fromkeys(test.split("::")[0] for test in piece.tests))
            code.append([nodes.Text("compared in "), nodes.literal("", files)])
            rows.append(row(paper, code))
        columns = [nodes.colspec(colwidth=width) for width in (45, 55)]
        head = nodes.thead("", row(*[[[nodes.Text(heading)]] for heading in HEADINGS]))
        group = nodes.tgroup("", *columns, head, nodes.tbody("", *rows), cols=len(columns))
        return [nodes.table("", group, classes=["concordance"])]


def setup(app) -> None:
    """Register the directive."""
    app.add_directive("concordance", ConcordanceDirective)
