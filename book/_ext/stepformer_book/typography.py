"""Keep punctuation with the formula before it; a browser may otherwise begin the next line with a full stop."""

import re

from docutils import nodes

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


def setup(app) -> None:
    """Run on every page after it is read."""
    app.connect("doctree-read", keep_punctuation)
