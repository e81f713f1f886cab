"""Trim the theme's copied files: style rules of icons that our icon font does not hold, and log messages."""

import re
from pathlib import Path

ICON_RULE = re.compile(r'((?:\.fa-[\w-]+:before,?)+)\{content:"\\[0-9a-f]+(?:\\[0-9a-f]+)?"\}')
ICON_NAME = re.compile(r"\.(fa-[\w-]+):before")


def without_unused_icons(styles: str, icons: set[str]) -> str:
    """Drop the rules of icons that are not in `icons`; they are a third of the theme's style sheet."""
    return ICON_RULE.sub(lambda rule: rule[0] if icons & set(ICON_NAME.findall(rule[1])) else "", styles)


def without_messages(script: str) -> str:
    """Make the theme quiet: a reader's console should show only what is wrong."""
    return re.sub(r"console\.(?:log|debug|info)\(", "void(", script)


def trim(app, exception) -> None:
    """Rewrite the theme's files in the finished site."""
    if exception or app.builder.format != "html":
        return
    site = Path(app.outdir)
    static = site / "_static"
    icons = set((Path(app.confdir) / "book/_static/vendor/fontawesome/icons.txt").read_text("utf-8").split())
    styles = static / "styles" / "pydata-sphinx-theme.css"
    styles.write_text(without_unused_icons(styles.read_text("utf-8"), icons), "utf-8")
    scripts = ("scripts/pydata-sphinx-theme.js", "scripts/sphinx-book-theme.js", "togglebutton.js")
    for script in (*(static / name for name in scripts), site / "search.html"):
        script.write_text(without_messages(script.read_text("utf-8")), "utf-8")


def setup(app) -> None:
    """Trim when the build is finished."""
    app.connect("build-finished", trim)
