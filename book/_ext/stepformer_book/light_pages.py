"""Finished pages, made light: drawn at once from their own text, scripts and pictures later.

Nothing here needs a script in the page, so it holds from a disk, offline, in print and without JavaScript as well.
"""

import json
import re
from pathlib import Path

from stepformer_book.page_styles import PageStyles

SCRIPT = re.compile(r'<script (?![^>]*\btype=)[^>]*\bsrc="([^"]+)"[^>]*></script>\n?')
# It starts on an event that is over by then, and is of use only where there are tabs.
TABS = re.compile(r'<script (?![^>]*\bdefer\b)([^>]*\bsrc="[^"]*/design-tabs\.js[^>]*></script>)')
OPTIONS = re.compile(r'<script src="[^"]*_static/documentation_options\.js[^"]*"></script>')
# Loaded at the end of the page anyway; asked for early, they keep the text waiting.
PRELOADED = re.compile(r'<link rel="preload" as="script" [^>]*>\n?')
EMPTY_SCRIPT = re.compile(r"[ \t]*<script [^>]*scripts/fontawesome\.js[^>]*></script>\n?")
PICTURE = re.compile(r'<img (?=[^>]*\bsrc="[^"]*_images/)(?![^>]*\bloading=)([^>]*)>')
SIZE = re.compile(r"width: (\d+)px; height: (\d+)px")
CODE = re.compile(r"<pre>(.*?)</pre>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
# The faces of the text; without this they would be asked for when the text is laid out, and move it when they come.
FONTS = ("serif-roman", "sans")
CHARSET = '<meta charset="utf-8" />'
EARLY_FONTS = (
    'if (location.protocol !== "file:") for (const href of %(fonts)s) document.head.append(Object.assign('
    'document.createElement("link"), { rel: "preload", as: "font", type: "font/woff2", crossOrigin: "", href }));'
)
# Where a reader lets no site store anything, asking is an error; the theme and the search stop there. Until the page is
# left, they may store in it.
STORAGE = (
    'try { localStorage; } catch { const kept = new Map(); Object.defineProperty(window, "localStorage", { value: { '
    "getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, String(value)), "
    "removeItem: (key) => kept.delete(key) } }); }"
)
# In the order of the page, once there is text to read; in a tab that is not drawn, such as one behind others, after a
# while. `data-scripts` says that they have not all run.
LATE_SCRIPTS = """<script>
((sources) => {
  const { dataset } = document.documentElement;
  dataset.scripts = "waiting";
  const load = () => {
    const script = (src) => Object.assign(document.createElement("script"), { src, async: false });
    const scripts = sources.splice(0).map(script);
    if (!scripts.length) return;
    scripts.at(-1).onload = scripts.at(-1).onerror = () => delete dataset.scripts;
    document.head.append(...scripts);
  };
  addEventListener("load", () => setTimeout(load, 2000));
  new PerformanceObserver(load).observe({ type: "paint", buffered: true });
})(%s);
</script>
"""
# The theme's script would put light or dark in the place of "auto" later, and all of the page would be styled again.
UNKNOWN_THEME = 'localStorage.getItem("theme") || "auto"'
KNOWN_THEME = (
    '((mode) => mode !== "auto" ? mode : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")'
    "(document.documentElement.dataset.mode)"
)
# Pages whose scripts in the body use those of the head.
SCRIPTS_FIRST = {"search.html"}


def with_late_scripts(page: str, options: str) -> str:
    """Let scripts wait until the text is drawn; the few options that scripts in the page change are written into it."""
    page = OPTIONS.sub(lambda _: f"<script>{options}</script>", page)
    page = TABS.sub(r"<script defer \1" if "sd-tab-set" in page else "", page)
    late = [source for source in SCRIPT.findall(page) if "design-tabs" not in source]
    page = SCRIPT.sub(lambda match: match[0] if "design-tabs" in match[1] else "", page)
    return page.replace("</body>", LATE_SCRIPTS % json.dumps(late) + "</body>", 1)


def with_early_fonts(page: str, up: str) -> str:
    """Ask for the faces of the text before anything else; `up` leads to the folder of the site.

    A script does, because a browser that reads from a disk refuses to load a font early, and says so on the console.
    """
    script = EARLY_FONTS % {"fonts": json.dumps([f"{up}_static/fonts/{font}.woff2" for font in FONTS])}
    return page.replace(CHARSET, f"{CHARSET}<script>{script}</script>", 1)


def with_storage(page: str) -> str:
    """Give scripts a storage, before the first of them asks for one, where the browser refuses it."""
    return page.replace(CHARSET, f"{CHARSET}<script>{STORAGE}</script>", 1)


def with_late_pictures(page: str) -> str:
    """Let pictures load when they come near, in a place that is kept for them."""

    def late(match: re.Match) -> str:
        size = SIZE.search(match[1])
        place = f' width="{size[1]}" height="{size[2]}"' if size and " width=" not in match[1] else ""
        return f'<img loading="lazy" decoding="async"{place} {match[1]}>'

    return PICTURE.sub(late, page)


def with_late_code(page: str) -> str:
    """Tell the style sheet how many lines a block of code has, so that it can keep their place and lay them out later.

    Code is most of a chapter's elements: a span for each of its words.
    """

    def counted(match: re.Match) -> str:
        lines = len(TAG.sub("", match[1]).removesuffix("\n").split("\n"))
        return f'<pre style="--lines: {lines}">{match[1]}</pre>'

    return CODE.sub(counted, page)


def lighten(app, exception) -> None:
    """Rewrite the finished pages."""
    if exception or app.builder.format != "html":
        return
    site = Path(app.outdir)
    styles = PageStyles(site)
    options = re.sub(r"\s+", " ", (site / "_static/documentation_options.js").read_text(encoding="utf-8"))
    for path in sorted(site.rglob("*.html")):
        if "_static" in path.relative_to(site).parts:
            continue
        page = path.read_text(encoding="utf-8").replace(UNKNOWN_THEME, KNOWN_THEME)
        page = EMPTY_SCRIPT.sub("", PRELOADED.sub("", page))
        if path.name not in SCRIPTS_FIRST:
            page = with_late_scripts(page, options)
        page = with_storage(with_early_fonts(page, "../" * (len(path.relative_to(site).parts) - 1)))
        page = with_late_code(with_late_pictures(styles.put_in(page, path)))
        path.write_text(page, encoding="utf-8")


def setup(app) -> None:
    """Run when everything else has been written."""
    app.connect("build-finished", lighten, priority=900)
