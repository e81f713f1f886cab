"""`{four-machines} sentence`: what four trained machines make of a sentence, in a table and in four players."""

from html import escape
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from stepformer.four_machines import MACHINES, Machine, are_shipped, programs
from stepformer_book.ops_table import row

MISSING = f"The trained models {', '.join(MACHINES)} are not all in this installation. With them, they stand here."
HEADINGS = ("Machine", "Parameters", "Stored in", "What it writes", "Verdict")
VERDICTS = {True: "right", False: "wrong", None: ""}
logger = logging.getLogger(__name__)


def machine_html(machine: Machine) -> str:
    """One machine: its name, what it wrote, and its player."""
    head = f"<strong>{escape(machine.title)}</strong>"
    verdict = f" ({VERDICTS[machine.is_right]})" if machine.is_right is not None else ""
    text = f'<p>{head}: <span lang="zh">{escape(machine.translation)}</span>{verdict}</p>'
    return f'<div class="machine-of-four">{text}{machine.html()}</div>'


class FourMachinesDirective(SphinxDirective):
    """Let the machines translate while the book is built. The option `right` is the right translation."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {"right": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return the table, and the players beside one another."""
        # The page holds what the code computes: read it again in every build.
        self.env.note_reread()
        if not are_shipped():
            logger.warning(MISSING, location=self.get_location())
            return [nodes.note("", nodes.paragraph("", MISSING))]
        machines = programs(self.arguments[0], self.options.get("right"))
        players = "".join(machine_html(machine) for machine in machines)
        html = f'<div class="four-machines">{players}</div>'
        return [_table(machines), nodes.container("", nodes.raw("", html, format="html"), classes=["live-player"])]


def _table(machines: tuple[Machine, ...]) -> nodes.table:
    rows = []
    for machine in machines:
        written = nodes.inline("", machine.translation, classes=["zh"])
        size = f"{machine.size / 1e6:.1f} MB"
        texts = [nodes.Text(x) for x in (machine.title, f"{machine.parameters:,}", size)]
        rows.append(row(*[[[node]] for node in (*texts, written, nodes.Text(VERDICTS[machine.is_right]))]))
    columns = [nodes.colspec(colwidth=20) for _ in HEADINGS]
    head = nodes.thead("", row(*[[[nodes.Text(heading)]] for heading in HEADINGS]))
    group = nodes.tgroup("", *columns, head, nodes.tbody("", *rows), cols=len(columns))
    return nodes.table("", group)


def setup(app) -> None:
    """Register the directive."""
    app.add_directive("four-machines", FourMachinesDirective)
