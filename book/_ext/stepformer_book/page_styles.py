"""The style rules that a page needs, written into the page: it is drawn without waiting for any style sheet.

The theme brings half a megabyte of rules, of which a page uses a fifth. A rule stays when every class, id and element
that it names stands in the page or in a text of the theme's scripts, which may add it later; what is not certain stays.
The style sheets themselves stay in the site as they came, with their licences.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import tinycss2

OWN = "stepformer.css"
"""Our own style sheet is kept whole: our elements add its classes while they are used."""
LINK = re.compile(r'[ \t]*<link (?=[^>]*rel="stylesheet")[^>]*href="([^"?#]+)[^"]*"[^>]*>\n?')
TAG = re.compile(r"""<[a-zA-Z](?:[^>"']|"[^"]*"|'[^']*')*>""")
WORD = re.compile(r"-?[A-Za-z_][\w-]*")
STRING = re.compile(r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`""")
ADDRESS = re.compile(r"""url\((["']?)(?!data:|["'#])([^)"']+)\1\)""")
# Parts of Bootstrap and of the theme that their scripts know and no page of the book has, unless it holds them itself.
UNUSED = ("accordion", "carousel", "offcanvas", "popover", "toast", "nav-tabs", "nav-pills", "list-group", "thebe")
# Classes that a script puts together from parts.
BUILT = ("bs-tooltip",)


def page_words(page: str) -> set[str]:
    """Return the words in the tags of a page: its elements, classes and ids, and more."""
    return {word for tag in TAG.findall(page) for word in WORD.findall(tag)}


def script_words(scripts: Iterable[str]) -> set[str]:
    """Return the words in the texts of scripts, from which they make elements and classes."""
    found = {word for script in scripts for text in STRING.findall(script) for word in WORD.findall(text)}
    return {word for word in found if not word.startswith(UNUSED)}


def without_unused(rules: Iterable, words: set[str]) -> str:
    """Write the rules, parsed, that may apply where only these words occur."""
    parts = []
    for rule in rules:
        if rule.type == "qualified-rule":
            if kept := [one for one in _split(rule.prelude) if _may_apply(one, words)]:
                selectors = ",".join(tinycss2.serialize(one).strip() for one in kept)
                parts.append(f"{selectors}{{{_tight(tinycss2.serialize(rule.content))}}}")
        elif rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports"):
            if inner := without_unused(tinycss2.parse_rule_list(rule.content, True, True), words):
                parts.append(f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}")
        elif rule.type == "at-rule":
            if rule.lower_at_keyword != "charset":
                parts.append(rule.serialize())
        else:
            raise ValueError(f"The style sheet cannot be read at line {rule.source_line}: {rule.message}")
    return "\n".join(parts)


def _tight(declarations: str) -> str:
    return re.sub(r"\s+", " ", declarations).strip().removesuffix(";")


def _split(tokens: list) -> list[list]:
    parts: list[list] = [[]]
    for token in tokens:
        if token == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _names(selector: list) -> Iterator[str]:
    """Find the classes, ids and elements that must all be there; what stands in `:not(…)` or `[…]` is not asked."""
    before = None
    for token in selector:
        if token.type == "hash" or (token.type == "ident" and before != ":"):
            yield token.value
        before = token.value if token.type == "literal" else None


def _may_apply(selector: list, words: set[str]) -> bool:
    return all(name in words or not WORD.fullmatch(name) or name.startswith(BUILT) for name in _names(selector))


def read_sheet(path: Path, folder: Path) -> list:
    """Parse a style sheet with those that it imports, its addresses made relative to the folder of the site."""

    def from_root(match: re.Match) -> str:
        base = path.parent.relative_to(folder).as_posix()
        return f"url({posixpath.normpath(posixpath.join(base, match[2]))})"

    rules = []
    text = ADDRESS.sub(from_root, path.read_text(encoding="utf-8"))
    for rule in tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True):
        if rule.type == "at-rule" and rule.lower_at_keyword == "import":
            (name,) = [token.value for token in rule.prelude if token.type == "string"]
            rules += read_sheet((path.parent / name).resolve(), folder)
        else:
            rules.append(rule)
    return rules


class PageStyles:
    """Writes the rules of each page of a site into the page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        static = self.folder / "_static"
        scripts = [*static.glob("*.js"), *static.glob("scripts/*.js"), self.folder / "search.html"]
        theirs = [path for path in scripts if not path.name.startswith("stepformer") and path.name != "widget.js"]
        self.words = script_words(path.read_text(encoding="utf-8") for path in theirs)
        self._rules = cache(lambda path: read_sheet(path, self.folder))

    def put_in(self, page: str, path: Path) -> str:
        """Return the page with one style element in place of the links to its style sheets."""
        names = LINK.findall(page)
        if not names:
            return page
        words = page_words(page) | self.words
        parts = []
        for name in names:
            sheet = (path.parent / name).resolve()
            if sheet.name == OWN:
                parts.append("\n".join(_tight(rule.serialize()) for rule in self._rules(sheet)))
            else:
                parts.append(without_unused(self._rules(sheet), words))
        up = "../" * (len(path.resolve().relative_to(self.folder).parts) - 1)
        styles = "\n".join(parts).replace("url(_static/", f"url({up}_static/")
        if "</" in styles:
            raise ValueError("A style sheet holds an end tag, which would end the style element of the page.")
        first = LINK.search(page).start()
        rest = LINK.sub("", page)
        return f"{rest[:first]}<style>{styles}</style>\n{rest[first:]}"
