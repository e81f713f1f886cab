"""Pages of one's own with players on them, for what the chapters do not show: odd tokens, sizes and payloads."""

from html import escape
from pathlib import Path

from helpers import PACKAGE

SCRIPT = PACKAGE / "widgets" / "static" / "stepformer.js"

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<script defer src="{script}"></script>
</head>
<body><main>{body}</main></body>
</html>
"""


def write_page(folder: Path, *elements: str, title: str = "Probe") -> str:
    """Write a page that holds the elements and the player's script; return its file:// address."""
    path = folder / "probe.html"
    text = PAGE.format(title=escape(title), script=SCRIPT.as_uri(), body="\n".join(elements))
    path.write_text(text, encoding="utf-8")
    return path.as_uri()
