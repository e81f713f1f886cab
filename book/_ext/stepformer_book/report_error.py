"""The link at the foot of each page by which a reader reports an error. It asks nothing of the network by itself."""

from pathlib import Path
from urllib.parse import urlencode

import yaml

ADVICE = "book/how-to-read", "if-you-find-an-error"
"""Where a reader learns what to report and to whom, when the copy of the book names no repository."""


def repository(theme_options: dict, citation: dict) -> str:
    """Return the address of the repository: that of `_config.yml`, else that of CITATION.cff, else nothing."""
    return (theme_options.get("repository_url") or citation.get("repository-code") or "").rstrip("/")


def new_issue(address: str, page: str, title: str) -> str:
    """Return the address of a new issue about a page, with its name filled in."""
    body = f"Page: {page}\n\nWhat is wrong, and in which player and step:\n\nBrowser:\n"
    return f"{address}/issues/new?{urlencode({'title': f'Error on the page {title}', 'body': body})}"


def add_link(app, pagename, templatename, context, doctree) -> None:
    """Give the template of the foot its link."""
    file = Path(app.confdir) / "CITATION.cff"
    citation = yaml.safe_load(file.read_text(encoding="utf-8")) if file.is_file() else {}
    address = repository(app.config.html_theme_options, citation)
    page, place = ADVICE
    here = f"{context['pathto'](page)}#{place}".replace("##", "#")
    context["report_error"] = new_issue(address, pagename, context.get("title") or pagename) if address else here


def setup(app) -> None:
    """Register the handler."""
    app.connect("html-page-context", add_link)
