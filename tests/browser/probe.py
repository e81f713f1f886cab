"""Pages of one's own with players on them, for what the chapters do not show: odd tokens, sizes and payloads;
and what tests of players say to them."""

from html import escape
from pathlib import Path

from helpers import PACKAGE

from stepformer import Trace, leaf, record
from stepformer.reference.attention import scaled_dot_product_attention

SCRIPT = PACKAGE / "widgets" / "static" / "stepformer.js"
# Elements with a script of their own, which comes after that of all others.
OWN_SCRIPTS = {"translator": "translate", "timeline": "timeline", "word-map": "word-map", "ledger": "ledger"}

# The matrices that a reader sees: those of the next step wait beside them.
SHOWN = ".equation:not([data-waiting])"
# What Chromium says, for developers only, when something asks for the layout of what waits.
LOOKED_OUT_OF_SIGHT = "Rendering was performed in a subtree hidden by content-visibility."

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<script defer src="{script}"></script>{own}
</head>
<body><main>{body}</main></body>
</html>
"""


def page_text(body: str, title: str = "Probe", folder: str = "") -> str:
    """A page with our elements in it, whose scripts lie in `folder` (an address that ends in a slash)."""
    names = [name for element, name in OWN_SCRIPTS.items() if f"<stepformer-{element}" in body]
    own = "".join(f'\n<script defer src="{folder}stepformer-{name}.js"></script>' for name in names)
    return PAGE.format(title=escape(title), script=f"{folder}{SCRIPT.name}", own=own, body=body)


def write_page(folder: Path, *elements: str, title: str = "Probe") -> str:
    """Write a page that holds the elements and the player's script; return its file:// address."""
    path = folder / "probe.html"
    path.write_text(page_text("\n".join(elements), title, f"{SCRIPT.parent.as_uri()}/"), encoding="utf-8")
    return path.as_uri()


def load_deferred(page) -> None:
    """Load every payload that a page of the site loads on a click."""
    page.eval_on_selector_all("[data-deferred]", "all => Promise.all(all.map((element) => element.load()))")


def attention_program(query, key, value, tgt=None, src=None) -> Trace:
    """Attention between leaves of the given numbers, with the words as labels."""
    labels = {axis: words for axis, words in (("tgt", tgt), ("src", src)) if words is not None}
    with record() as trace:
        scaled_dot_product_attention(
            leaf("query", query, ("tgt", "d_k"), {axis: words for axis, words in labels.items() if axis == "tgt"}),
            leaf("key", key, ("src", "d_k"), {axis: words for axis, words in labels.items() if axis == "src"}),
            leaf("value", value, ("src", "d_v")),
        )
    return trace


def api(page, script, nth=0):
    """Run `script`, in which `player` is the nth player's API, and return its value."""
    return page.locator("stepformer-player").nth(nth).evaluate(f"({{player}}) => {{ {script} }}")


def headings(page, axis, grid):
    """The labels of the rows or columns of the matrix whose name begins with `grid`, as the page shows them."""
    matrix = page.locator(f"[role=grid][aria-label^='{grid}:']")
    return [label for label in matrix.locator(f"[role={axis}header]").all_inner_texts() if label.strip()]


DEEP_FOCUS = """() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at?.getAttribute('role') ?? at?.tagName.toLowerCase() ?? null;
}"""


def tab_to(page, role, most=60):
    """Press Tab until an element of the role has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate(DEEP_FOCUS) == role:
            return
    raise AssertionError(f"{most} times Tab never reached a {role}")
