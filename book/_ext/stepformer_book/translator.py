"""`{translator}`: type a sentence, and the shipped small model translates it on the page."""

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from stepformer import translator_page
from stepformer.checkpoint import read_model

MISSING = (
    "The trained model is not in this installation: the folder models/small of the package is missing. With it, this "
    "page translates."
)
logger = logging.getLogger(__name__)


class TranslatorDirective(SphinxDirective):
    """The translator as a live element; a note, and a warning of the build, where there is no model."""

    def run(self) -> list[nodes.Node]:
        """Return it as HTML."""
        self.env.note_reread()
        if not translator_page.is_shipped():
            logger.warning(MISSING, location=self.get_location())
            return [nodes.note("", nodes.paragraph("", MISSING))]
        html = translator_page.page_html(read_model("small"))
        return [nodes.container("", nodes.raw("", html, format="html"), classes=["live-player"])]


def setup(app) -> None:
    """Register the directive."""
    app.add_directive("translator", TranslatorDirective)
