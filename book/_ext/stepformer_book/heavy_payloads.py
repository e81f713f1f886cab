"""Payloads of more than 100 KB leave their pages: each becomes a script that the element loads on a click.

Notebooks hold every payload, so that they are complete by themselves. A page that held them too would load megabytes
of trained weights for readers who only pass by. What stays is the element with its tables and a button
(`web/element.js`).
"""

import gzip
import hashlib
import re
from pathlib import Path

from stepformer.data.page import call

LARGEST = 100_000
"""Bytes of a payload that may stand in a page."""
FOLDER = "payloads"
PAYLOAD = re.compile(r'<(stepformer-[\w-]+)><script type="application/json">(.*?)</script>', re.DOTALL)


def without_heavy_payloads(html: str) -> tuple[str, dict[str, str]]:
    """Take the large payloads out of a page.

    Args:
        html: the page, or its body.

    Returns:
        The page, and name -> script of what was taken out. The names are those of the contents, so that two pages with
        the same player share one script.
    """
    scripts: dict[str, str] = {}

    def take(found: re.Match[str]) -> str:
        tag, text = found.groups()
        if len(text.encode()) <= LARGEST:
            return found[0]
        name = f"{FOLDER}/{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        scripts[name] = call(name, text)
        wire = len(gzip.compress(scripts[name].encode(), mtime=0))
        return f'<{tag} data-deferred="{name}" data-megabytes="{max(0.1, wire / 1e6):.1f}">'

    return PAYLOAD.sub(take, html), scripts


def move(app, pagename, templatename, context, doctree) -> None:
    """Move the large payloads of a page into scripts beside the other data sets."""
    if app.builder.format != "html" or "body" not in context:
        return
    context["body"], scripts = without_heavy_payloads(context["body"])
    for name, script in scripts.items():
        path = Path(app.outdir) / "_static" / "data" / f"{name}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script, encoding="utf-8")


def setup(app) -> None:
    """Register the handler of the pages."""
    app.connect("html-page-context", move)
