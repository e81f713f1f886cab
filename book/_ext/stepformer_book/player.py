"""`{player} name`: a live player of one of `stepformer.examples` on a page."""

from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from stepformer import mistakes
from stepformer.examples import EXAMPLES
from stepformer.widgets import player_html


class PlayerDirective(SphinxDirective):
    """Run the example while the book is built and write its player, with the readable tables inside.

    The option `start` names the result of the step that the player opens at, `breaks` groups of known mistakes.
    """

    required_arguments = 1
    option_spec: ClassVar = {"start": directives.unchanged_required, "breaks": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return the player as HTML."""
        name = self.arguments[0]
        if name not in EXAMPLES:
            raise self.error(f"no example is named {name!r}; there are: {', '.join(sorted(EXAMPLES))}")
        # The page holds what the code computes: read it again in every build.
        self.env.note_reread()
        switches = [mistake for group in self.options.get("breaks", "").split() for mistake in getattr(mistakes, group)]
        html = player_html(EXAMPLES[name]().with_breaks(*switches), start=self.options.get("start", 0))
        return [nodes.container("", nodes.raw("", html, format="html"), classes=["live-player"])]


def setup(app) -> None:
    """Register the directive."""
    app.add_directive("player", PlayerDirective)
