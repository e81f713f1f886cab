"""Formulas: each of the book becomes MathML when it is built, in characters that our mathematical font holds."""

import re
from xml.etree import ElementTree

import nbformat
import pytest
from fontTools.ttLib import TTFont
from helpers import CHAPTERS, ROOT
from markdown_it import MarkdownIt
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from stepformer_book.mathematics import to_mathml

from stepformer.concordance import ROWS
from stepformer.ops import OPS

MARKDOWN = MarkdownIt().enable("table").use(dollarmath_plugin).use(amsmath_plugin)
SPACES = set(" \u00a0\u2009\u2005\u2002\u2003\u200b\u2061")


def formulas_of(text):
    """The formulas of a page as (LaTeX, whether on lines of its own)."""
    tokens = MARKDOWN.parse(text)
    inside = [child for token in tokens for child in token.children or []]
    for token in tokens + inside:
        if token.type.startswith("math") or token.type == "amsmath":
            yield token.content.strip(), not token.type.startswith("math_inline")


def every_formula():
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "book").glob("*.md")}
    for path in CHAPTERS:
        cells = nbformat.read(path, as_version=4).cells
        pages[path.stem] = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    found = {formula: name for name, text in pages.items() for formula in formulas_of(text)}
    found |= {(op.latex, False): name for name, op in OPS.items()}
    return found | {(row.formula, False): "concordance" for row in ROWS if row.formula}


FORMULAS = every_formula()


def shown(mathml):
    """The characters a reader sees; a lone letter is slanted by the browser."""
    for element in ElementTree.fromstring(mathml).iter():
        text = (element.text or "").strip()
        if element.tag == "mi" and len(text) == 1 and element.get("mathvariant") != "normal":
            yield slanted(text)
        else:
            yield from text


def slanted(letter):
    """The mathematical italic of a letter, as MathML Core maps it."""
    if letter == "h":
        return "ℎ"
    for first, last, start in (("A", "Z", 0x1D434), ("a", "z", 0x1D44E), ("Α", "Ω", 0x1D6E2), ("α", "ω", 0x1D6FC)):
        if first <= letter <= last:
            return chr(start + ord(letter) - ord(first))
    return letter


def test_every_formula_of_the_book_becomes_mathml():
    assert len(FORMULAS) > 600
    for (latex, display), page in FORMULAS.items():
        mathml = to_mathml(latex, display)
        root = ElementTree.fromstring(mathml)
        assert root.get("alttext") == " ".join(latex.split())
        assert (root.get("display") == "block") is display, page
        left = [text for text in root.itertext() if "\\" in text or "&" in text]
        assert left == [], f"{page}: {latex} leaves {left}"


def test_our_font_holds_every_character_of_the_formulas():
    with TTFont(ROOT / "book" / "_static" / "fonts" / "math.woff2") as font:
        held = {chr(code) for code in font.getBestCmap()} | SPACES
        assert "MATH" in font, "the table by which a browser sets fractions and roots"
    missing = {}
    for (latex, display), page in FORMULAS.items():
        for letter in set(shown(to_mathml(latex, display))) - held:
            missing.setdefault(letter, f"{page}: {latex}")
    assert missing == {}, "add them to FACES in scripts/vendor.py"


@pytest.mark.parametrize(
    ("latex", "tags"),
    [
        (r"\frac{a}{b}", ["mfrac"]),
        (r"\sqrt{d_k}", ["msqrt", "msub"]),
        (r"\sum_{i=1}^n x_i", ["munderover", "msub"]),
        (r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}", ["mtable", "mtr", "mtr"]),
        (r"a &= b \\ c &= d", ["mtable", "mtr", "mtr"]),
    ],
)
def test_a_formula_has_the_structure_that_its_source_says(latex, tags):
    built = [element.tag for element in ElementTree.fromstring(to_mathml(latex, True)).iter()]
    assert [tag for tag in built if tag in tags] == tags


@pytest.mark.parametrize(
    ("latex", "said"), [(r"\fraq{a}{b}", r"\fraq"), (r"\frac{a", "Unexpected end"), ("x^{2", "x^{2")]
)
def test_a_formula_with_a_slip_stops_the_build_with_a_reason(latex, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        to_mathml(latex)


def test_a_formula_cannot_become_markup():
    mathml = to_mathml(r"a < b \text{<script>}")
    assert [element.tag for element in ElementTree.fromstring(mathml).iter() if element.tag == "script"] == []
    assert "<script" not in mathml
