"""What a browser would break is kept together when the book is built."""

from docutils import nodes
from docutils.utils import new_document
from stepformer_book.typography import keep_shapes


def test_shapes_in_tables_are_not_broken_and_prose_is_left_as_it_is():
    text = "4 × 6 and n × d_k; × alone"
    document = new_document("page")
    entry = nodes.entry("", nodes.paragraph("", "", nodes.Text(text), nodes.strong("", "10 × 14")))
    document += [nodes.paragraph("", text), nodes.table("", nodes.tgroup("", nodes.tbody("", nodes.row("", entry))))]
    keep_shapes(None, document)
    assert entry.astext() == "4\u00a0×\u00a06 and n\u00a0×\u00a0d_k; × alone10\u00a0×\u00a014"
    assert document[0].astext() == text
