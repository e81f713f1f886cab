"""What readers without JavaScript see: escaped, cut where it is long, and correct for any number of axes."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from calls import f

from stepformer import leaf, ops, record
from stepformer.widgets.fallback import LONGEST, MOST_GIVEN, MOST_ROWS, fallback_html


class Reader(HTMLParser):
    """Collects tags and cell texts, and checks that every tag is closed in its turn."""

    def __init__(self):
        super().__init__()
        self.tags, self.open, self.texts = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1], data))


def read(trace):
    reader = Reader()
    reader.feed(fallback_html(trace))
    reader.close()
    assert reader.open == []
    return reader


def copy_of(array, axes, labels=None, title="", name="result"):
    with record(title) as trace:
        ops.copy(leaf("x", array, axes, labels), name=name)
    return trace


def test_a_matrix_is_a_table_with_its_labels_and_the_shown_numbers():
    labels = {"tgt": ["汤姆", "追逐"], "src": ["Tom", "chase"]}
    trace = copy_of([[1.0, -2.5], [0.125, 0.0]], ("tgt", "src"), labels, "T")
    reader = read(trace)
    assert [text for tag, text in reader.texts if tag == "th"] == ["Tom", "chase", "汤姆", "追逐"]
    assert [text for tag, text in reader.texts if tag == "td"] == ["1.00", "−2.50", "0.13", "0.00"]
    assert ("strong", "T") in reader.texts
    assert ("code", "result = copy(x)") in reader.texts


def test_every_step_is_listed_with_its_inputs_in_order():
    with record() as trace:
        a, b = leaf("a", f(2, 3), ("i", "j")), leaf("b", f(3, 2), ("j", "k"))
        ops.relu(ops.matmul(a, b, name="product"), name="positive")
    html = fallback_html(trace)
    assert re.findall(r"<p>(\d)\. <code>(.*?)</code></p>", html) == [
        ("1", "product = matmul(a, b)"),
        ("2", "positive = relu(product)"),
    ]


def test_every_text_is_escaped():
    evil = "<img src=x onerror=alert(1)>&\"'"
    with record(evil) as trace:
        tokens = leaf(evil, [0, 1], evil, vocabulary=[evil, "</table>"])
        ops.padding_mask(tokens, pad_id=0, name=f"{evil}2")
        ops.copy(leaf("heads", f(2, 2, 2), ("<b>", evil, "<i>"), {"<b>": [evil, "b"]}))
    html = fallback_html(trace)
    ours = {"div", "p", "strong", "code", "table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert set(read(trace).tags) == ours
    assert "<img" not in html
    assert "&lt;img src=x onerror=alert(1)&gt;&amp;&quot;&#x27;" in html


def test_long_axes_are_cut_and_say_so():
    reader = read(copy_of(f(100, 100), ("i", "j")))
    cells = [text for tag, text in reader.texts if tag == "td"]
    assert len([text for text in cells if text != "…"]) == MOST_ROWS**2
    assert cells.count("…") == MOST_ROWS
    assert [text for tag, text in reader.texts if tag == "th"].count("…") == 2
    assert len(fallback_html(copy_of(f(100, 100), ("i", "j")))) < 5000


def copies(n, rows):
    with record("Long") as trace:
        x = leaf("x", f(rows, 8), ("i", "j"))
        for k in range(n):
            x = ops.copy(x, name=f"copy_{k}")
    return trace


@pytest.mark.parametrize(("n", "rows"), [(100, 8), (40, MOST_GIVEN // 8 + 1)], ids=["long", "many given numbers"])
def test_of_a_program_too_large_to_be_printed_the_step_it_begins_at_is(n, rows):
    for start, printed in ((30, 30), (0, n - 1)):
        html = fallback_html(copies(n, rows), start)
        assert re.findall(r"<p>(\d+)\. <code>(\w+)", html) == [(str(printed + 1), f"copy_{printed}")]
        assert f"Of the {n} steps" in html
        assert len(html) < LONGEST / 10


def test_a_program_that_just_fits_is_printed_whole():
    html = fallback_html(copies(40, MOST_GIVEN // 8))
    assert html.count("<code>") == 40
    assert "Of the" not in html


def test_axes_that_just_fit_are_not_cut():
    assert "…" not in fallback_html(copy_of(f(MOST_ROWS, MOST_ROWS), ("i", "j")))
    assert "…" in fallback_html(copy_of(f(MOST_ROWS + 1, 2), ("i", "j")))
    assert "…" in fallback_html(copy_of(f(2, MOST_ROWS + 1), ("i", "j")))


@pytest.mark.parametrize(
    ("shape", "tables", "cells"),
    [
        ((), 1, 1),
        ((3,), 1, 3),
        ((2, 3), 1, 6),
        ((2, 2, 3), 2, 12),
        ((2, 3, 2, 2), 6, 24),
        ((0, 3), 1, 0),
        ((2, 0), 1, 0),
    ],
)
def test_any_number_of_axes_becomes_tables_of_the_last_two(shape, tables, cells):
    reader = read(copy_of(f(*shape), [f"a{k}" for k in range(len(shape))]))
    assert reader.tags.count("table") == tables
    assert len([text for tag, text in reader.texts if tag == "td"]) == cells


def test_the_caption_of_a_table_says_where_in_the_leading_axes_it_lies():
    reader = read(copy_of(f(2, 2, 1), ("head", "i", "j"), {"head": ["first", "second"]}))
    assert [text for tag, text in reader.texts if tag == "caption"] == ["head first", "head second"]
    first = f(2, 2, 1)
    assert next(text for tag, text in reader.texts if tag == "td") == f"−{-first[0, 0, 0]:.2f}"


def test_masks_and_infinities_are_shown_as_signs():
    with record() as trace:
        scores = leaf("s", f(1, 2), ("i", "j"))
        ops.mask(scores, leaf("m", [[True, False]], ("i", "j")))
        ops.copy(leaf("n", np.array([[True, False]]), ("i", "j")))
        ops.copy(leaf("ids", np.array([[3, -1]]), ("i", "j")))
    texts = [text for tag, text in read(trace).texts if tag == "td"]
    assert texts == ["−3.00", "−∞", "✓", "·", "3", "−1"]
