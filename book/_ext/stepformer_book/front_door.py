"""Write `index.html`, which leads to the landing page, with a title and a link for who stops there."""

from pathlib import Path

PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>stepformer</title>
<meta http-equiv="refresh" content="0; url={landing}">
<link rel="icon" href="data:,">
<p><a href="{landing}">stepformer</a></p>
"""


def write_index(app, exception) -> None:
    """Write the page; its empty icon keeps the browser from asking for one while it is led on."""
    if not exception and app.builder.format == "html":
        landing = app.builder.get_target_uri(app.config.root_doc)
        Path(app.outdir, "index.html").write_text(PAGE.format(landing=landing), encoding="utf-8")


def setup(app) -> None:
    """Write it before sphinx-external-toc would write a bare one."""
    app.connect("build-finished", write_index, priority=400)
