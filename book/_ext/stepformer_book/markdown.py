"""What the directives that write whole pages share: sections, and text in Markdown."""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective


def section(title: str, name: str, *, directive: SphinxDirective) -> nodes.section:
    """Make an empty section; its title is a line of Markdown, its id is `name`."""
    heading = nodes.title("", "", *line(title, directive))
    return nodes.section("", heading, ids=[name], names=[name])


def line(text: str, directive: SphinxDirective) -> list[nodes.Node]:
    """Read one line of Markdown: links, code, formulas."""
    content, messages = directive.parse_inline(text)
    return [*content, *messages]


def paragraph(text: str, directive: SphinxDirective, *classes: str) -> nodes.paragraph:
    """Make a paragraph of one line of Markdown."""
    return nodes.paragraph("", "", *line(text, directive), classes=list(classes))


def block(text: str, directive: SphinxDirective) -> list[nodes.Node]:
    """Read several lines of Markdown: paragraphs, lists."""
    box = nodes.Element()
    directive.state.nested_parse(StringList(text.splitlines(), directive.get_source_info()[0]), 0, box)
    return box.children
