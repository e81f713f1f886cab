"""What stands in the head of each page: description, social card, colours of roles, the player's script."""

import json
from html import escape
from importlib.resources import files

from docutils import nodes

SITE = "stepformer"
CARD = "social-card.png"
LONGEST_DESCRIPTION = 200
# Elements whose script comes after that of all others, from which it takes the engine.
OWN_SCRIPTS = {
    "<stepformer-translator": "stepformer-translate.js",
    "<stepformer-timeline": "stepformer-timeline.js",
    "<stepformer-word-map": "stepformer-word-map.js",
    "<stepformer-ledger": "stepformer-ledger.js",
}
ELEMENTS = ("<stepformer-player", "<stepformer-exercise", *OWN_SCRIPTS)
# A result comes with an excerpt of its page, which a browser may not fetch when the book is read from a disk.
SEARCH_FROM_DISK = 'if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;'


def role_colours() -> str:
    """Write one CSS variable for each role, from the table that players and plots read too."""
    colours = json.loads(files("stepformer").joinpath("colours.json").read_text(encoding="utf-8"))
    rules = "".join(f"--role-{role}:light-dark({light},{dark});" for role, (light, dark) in colours.items())
    return f":root{{{rules}}}"


def description(doctree) -> str:
    """Take the first paragraph of a page, cut at a word."""
    paragraph = next(iter(doctree.findall(nodes.paragraph)), None) if doctree else None
    words = paragraph.astext().split() if paragraph is not None else []
    text = " ".join(words)
    if len(text) > LONGEST_DESCRIPTION:
        text = text[:LONGEST_DESCRIPTION].rpartition(" ")[0].rstrip(",;:.") + " …"
    return text


def add_head(app, pagename, templatename, context, doctree) -> None:
    """Add our part of the head, and the player's script where the page holds one of its elements."""
    title = context.get("title") or SITE
    about = (context.get("meta") or {}).get("description") or description(doctree)
    card = context["pathto"](f"_static/{CARD}", resource=True)
    properties = {"og:site_name": SITE, "og:title": title, "og:type": "article", "og:image": card}
    tags = [f'<meta property="{name}" content="{escape(text)}">' for name, text in properties.items()]
    if about:
        tags.append(f'<meta name="description" content="{escape(about)}">')
        tags.append(f'<meta property="og:description" content="{escape(about)}">')
    tags.append('<meta name="twitter:card" content="summary_large_image">')
    tags.append(f"<style>{role_colours()}</style>")
    context["metatags"] = context.get("metatags", "") + "\n".join(tags)
    if any(element in context.get("body", "") for element in ELEMENTS):
        app.add_js_file("stepformer.js", loading_method="defer")
    for element, script in OWN_SCRIPTS.items():
        if element in context.get("body", ""):
            app.add_js_file(script, loading_method="defer", priority=600)
    if pagename == "search":
        app.add_js_file(None, body=SEARCH_FROM_DISK)


def setup(app) -> None:
    """Register what each page of the book has, and the handler of the heads."""
    app.add_css_file("stepformer.css")
    app.add_js_file("sidebar_dialogs.js", loading_method="defer")
    app.connect("html-page-context", add_head)
