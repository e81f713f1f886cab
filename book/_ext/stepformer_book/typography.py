"""Keep together what a browser would break: a formula and the full stop after it, and a shape in a narrow table."""

import re

from docutils import nodes

SHAPE = re.compile(r"(?<=\w) × (?=\w)")
CLOSING = re.compile(r"[.,;:!?)\]’”…]+")


def keep_punctuation(app, doctree) -> None:
    """Put an inline formula and the punctuation after it into one piece that is not broken."""
    for formula in list(doctree.findall(nodes.math)):
        parent = formula.parent
        place = parent.index(formula)
        after = parent[place + 1] if place + 1 < len(parent) else None
        closing = CLOSING.match(after.astext()) if isinstance(after, nodes.Text) else None
        if closing:
            parent[place + 1] = nodes.Text(after.astext()[closing.end() :])
            parent[place] = nodes.inline("", "", formula, nodes.Text(closing[0]), classes=["unbroken"])


def keep_shapes(app, doctree) -> None:
    """Let no shape in a table, such as 4 × 6, be broken."""
    for entry in doctree.findall(nodes.entry):
        for text in list(entry.findall(nodes.Text)):
            if SHAPE.search(text):
                text.parent.replace(text, nodes.Text(SHAPE.sub("\u00a0×\u00a0", text)))


def setup(app) -> None:
    """Run on every page after it is read."""
    app.connect("doctree-read", keep_punctuation)
    app.connect("doctree-read", keep_shapes)
