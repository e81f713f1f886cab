"""What the site's extension makes of a picture in a cell."""

from docutils import nodes
from stepformer_book.figures import describe_figures


def page_with_a_picture(text: str | None) -> nodes.container:
    forms = [nodes.container("", nodes.image(uri="a1b2.png"), mime_type="image/png")]
    if text is not None:
        forms.append(nodes.container("", nodes.literal_block(text, text), mime_type="text/plain"))
    page = nodes.container("", nodes.container("", *forms, nb_element="mime_bundle"))
    describe_figures(None, page)
    return page


def test_a_figure_is_read_out_as_what_it_shows_and_stands_in_a_box_that_may_scroll():
    page = page_with_a_picture("Figure: Dot products: dot product against distance k")
    (image,) = page.findall(nodes.image)
    assert image["alt"] == "Figure: Dot products: dot product against distance k"
    assert image["uri"] == "a1b2.png"
    assert image.parent["classes"] == ["output", "picture"]
    assert image.parent.parent["mime_type"] == "image/png"


def test_a_text_that_describes_nothing_is_not_read_out():
    for text in (None, "<Figure size 640x480 with 1 Axes>"):
        (image,) = page_with_a_picture(text).findall(nodes.image)
        assert "alt" not in image
