"""Figures of the chapters: their words for who cannot see them, and a box of their own to scroll in on a phone."""

from docutils import nodes

WORDS = "Figure: "
"""What the text form of a figure of `stepformer.plots` begins with."""


def describe_figures(app, doctree) -> None:
    """Give every picture of a cell the text form of the same output as its words, and put it into a box.

    The theme lets a box with the class `output` be scrolled by keyboard when its content is wider.
    """
    for bundle in doctree.findall(lambda node: isinstance(node, nodes.container) and _holds(node) == "mime_bundle"):
        forms = {form["mime_type"]: form for form in bundle.children}
        words = forms["text/plain"].astext() if "text/plain" in forms else ""
        for form in forms.values():
            for image in list(form.findall(nodes.image)):
                if words.startswith(WORDS):
                    image["alt"] = words
                image.replace_self(nodes.container("", image.deepcopy(), classes=["output", "picture"]))


def _holds(node: nodes.Element) -> str:
    return node.get("nb_element", "")


def setup(app) -> None:
    """Run on every page after it is read."""
    app.connect("doctree-read", describe_figures)
