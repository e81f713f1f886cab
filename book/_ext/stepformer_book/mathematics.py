"""Formulas as MathML, written when the book is built: a page needs no script for them, and a screen reader reads them.

Temml turns LaTeX into MathML. It is a JavaScript library, vendored beside this package, and runs in V8 inside Python,
so that building the book needs no Node.
"""

import re
from functools import cache
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError

TEMML = Path(__file__).parent.parent / "vendor" / "temml.min.js"


@cache
def _temml():
    """A JavaScript context with Temml in it; made once for a build."""
    from py_mini_racer import MiniRacer

    context = MiniRacer()
    context.eval(TEMML.read_text(encoding="utf-8"))
    return context


@cache
def to_mathml(latex: str, display: bool = False) -> str:
    """Turn LaTeX into MathML.

    Args:
        latex: a formula, without dollar signs.
        display: whether it stands on lines of its own.

    Returns:
        A `math` element, whose `alttext` is the LaTeX.

    Raises:
        ValueError: Temml does not know a command, or braces do not match.
    """
    from py_mini_racer import JSEvalException

    # Several lines without an environment, as LaTeX writers for the web expect it.
    text = f"\\begin{{split}}{latex}\\end{{split}}" if display and _has_lines(latex) else latex
    try:
        written = _temml().call("temml.renderToString", text, {"displayMode": display, "throwOnError": True})
    except JSEvalException as error:
        reason = re.search(r"ParseError: (.*)", str(error))
        raise ValueError(f"formula {latex!r}: {reason[1] if reason else error}") from None
    return written.replace("<math", f'<math alttext="{escape(" ".join(latex.split()))}"', 1)


def _has_lines(latex: str) -> bool:
    return r"\\" in latex and r"\begin{" not in latex


def _written(translator, node: nodes.Element, display: bool) -> str:
    try:
        return to_mathml(node.astext(), display)
    except ValueError as error:
        raise ExtensionError(f"{translator.builder.current_docname}: {error}") from None


def visit_inline(translator, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    translator.body.append(_written(translator, node, display=False))
    raise nodes.SkipNode


def visit_display(translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own, in a box that scrolls where the page is too narrow for it."""
    box = translator.starttag(node, "div", CLASS="math notranslate nohighlight")
    translator.body.append(f"{box}{_written(translator, node, display=True)}</div>\n")
    raise nodes.SkipNode


def setup(app) -> None:
    """Offer the renderer; the configuration chooses it by `html_math_renderer`."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
