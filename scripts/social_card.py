"""Draw `book/_static/social-card.png`, the picture that a shared link shows: `python scripts/social_card.py`.

The matrix on it is the running example's own attention weights. Needs Playwright and Chromium.
"""

import argparse
import json
from html import escape
from importlib.resources import files
from pathlib import Path

from playwright.sync_api import sync_playwright

from stepformer import examples

STATIC = Path(__file__).resolve().parent.parent / "book" / "_static"
WIDTH, HEIGHT = 1200, 630

PAGE = """<!doctype html><meta charset="utf-8"><style>
@font-face {{ font-family: CardSerif; src: url("fonts/serif-roman.woff2"); font-weight: 400 700; }}
@font-face {{ font-family: CardSans; src: url("fonts/sans.woff2"); font-weight: 400 700; }}
body {{ margin: 0; width: {width}px; height: {height}px; background: #fdfcf8; color: #24221e;
  font-family: CardSerif; box-sizing: border-box; padding-right: 64px;
  display: grid; grid-template-columns: 1fr auto; align-items: center; }}
h1 {{ font-size: 70px; line-height: 1.08; margin: 0 0 30px 76px; letter-spacing: -.015em; font-weight: 600; }}
p {{ font: 600 30px CardSans; margin: 0 0 0 78px; color: #5d584e; }}
table {{ border-spacing: 8px; font: 600 27px CardSans, "Noto Sans CJK SC"; }}
th {{ padding: 4px 10px; font-weight: 600; }}
thead th {{ color: {source}; }} tbody th {{ color: {target}; text-align: right; }}
td {{ width: 100px; height: 92px; text-align: center; border-radius: 8px;
  font-variant-numeric: tabular-nums; }}
</style><div><h1>The Transformer<br>you can put<br>your hands in</h1><p>stepformer</p></div>
<table><thead><tr><th></th>{columns}</tr></thead><tbody>{rows}</tbody></table>"""


def shade(weight: float) -> str:
    """Return the style of a cell: the more weight, the darker."""
    ink, paper = "#24221e", "#fdfcf8"
    return f"background: rgb(36 34 30 / {0.05 + 0.9 * weight:.2f}); color: {paper if weight > 0.45 else ink}"


def page() -> str:
    """Return the card as HTML."""
    colours = json.loads(files("stepformer").joinpath("colours.json").read_text(encoding="utf-8"))
    weights = examples.attention()["weights"]
    rows = []
    for word, row in zip(examples.TARGET, weights, strict=True):
        cells = "".join(f'<td style="{shade(weight)}">{weight:.2f}</td>' for weight in row)
        rows.append(f"<tr><th>{escape(word)}</th>{cells}</tr>")
    columns = "".join(f"<th>{escape(word)}</th>" for word in examples.SOURCE)
    source, target = colours["source"][0], colours["target"][0]
    return PAGE.format(width=WIDTH, height=HEIGHT, source=source, target=target, columns=columns, rows="".join(rows))


def main() -> None:
    """Render the card with Chromium."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chromium", default="/usr/bin/chromium", help="the browser to draw with")
    chromium = parser.parse_args().chromium
    source = STATIC / "social-card.html"
    source.write_text(page(), encoding="utf-8")
    try:
        with sync_playwright() as playwright:
            flags = ["--no-sandbox", "--disable-gpu"]
            browser = playwright.chromium.launch(executable_path=chromium, args=flags)
            tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            tab.goto(source.as_uri())
            tab.evaluate("document.fonts.ready")
            tab.screenshot(path=STATIC / "social-card.png")
            browser.close()
    finally:
        source.unlink()


if __name__ == "__main__":
    main()
