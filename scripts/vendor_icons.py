"""Cut the theme's icon font down to the icons that can appear on our pages.

The theme ships 1,400 icons (156 KB); its templates, scripts and style sheet name a few dozen. A file of the
same name in `book/_static` takes the place of the theme's. The names of the icons kept are written beside the
font: the book's extension drops the style rules of all others.
"""

import io
import re
from pathlib import Path

import pydata_sphinx_theme
import sphinx_book_theme
from fontTools import subset
from fontTools.ttLib import TTFont

# The version inside the theme; subset_icons() checks it.
ICONS_PACKAGE = "@fortawesome/fontawesome-free@6.5.2"
THEME = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme"
STYLES = THEME / "static" / "styles" / "pydata-sphinx-theme.css"
FONT = THEME / "static" / "vendor" / "fontawesome" / "webfonts" / "fa-solid-900.woff2"
# sphinx-design and sphinx-togglebutton draw their own icons; the theme's are in these files.
SOURCES = [
    *THEME.rglob("*.html"),
    *Path(pydata_sphinx_theme.__file__).parent.glob("*.py"),
    *Path(sphinx_book_theme.__file__).parent.rglob("*.html"),
    *Path(sphinx_book_theme.__file__).parent.rglob("*.py"),
    THEME / "static" / "scripts" / "pydata-sphinx-theme.js",
]
BOOK_THEME = Path(sphinx_book_theme.__file__).parent / "theme" / "sphinx_book_theme"
BOOK_STYLES = BOOK_THEME / "static" / "styles" / "sphinx-book-theme.css"

ICON_NAME = re.compile(r"\.(fa-[\w-]+):before")


def code_points(styles: str) -> dict[str, int]:
    """Map each icon class of the style sheet to the character that draws it."""
    rules = re.findall(r'((?:\.fa-[\w-]+:before,?)+)\{content:"\\([0-9a-f]+)"\}', styles)
    return {name: int(code, 16) for names, code in rules for name in ICON_NAME.findall(names)}


def icons_in_use() -> tuple[set[str], set[int]]:
    """Return the icon classes that templates and code name, and the characters they and the styles draw."""
    styles = STYLES.read_text(encoding="utf-8")
    known = code_points(styles)
    named = {name for path in SOURCES for name in re.findall(r"fa-[\w-]+", path.read_text(encoding="utf-8"))}
    named &= set(known)
    without_classes = re.sub(r"(?:\.fa-[\w-]+:before,?)+\{[^}]*\}", "", styles)
    numbers = re.findall(r"\\(f[0-9a-f]{3})\b", without_classes + BOOK_STYLES.read_text(encoding="utf-8"))
    return named, {known[name] for name in named} | {int(number, 16) for number in numbers}


def rename(font: TTFont, name: str) -> None:
    """Give a changed font a name of its own, as its licence asks."""
    kept = [record for record in font["name"].names if record.nameID in (0, 5, 13, 14)]
    font["name"].names = kept
    for name_id, text in ((1, name), (2, "Regular"), (3, name), (4, name), (6, name.replace(" ", "-"))):
        font["name"].setName(text, name_id, 3, 1, 0x409)


def subset_icons(target: Path) -> int:
    """Write the cut font to `target`; return the number of icons it holds."""
    version = re.search(r"Font Awesome Free ([\d.]+)", STYLES.read_text(encoding="utf-8"))[1]
    if not ICONS_PACKAGE.endswith(f"@{version}"):
        raise SystemExit(f"the theme brings Font Awesome {version}: change ICONS_PACKAGE")
    options = subset.Options(layout_features=[], hinting=False, ignore_missing_unicodes=True)
    subsetter = subset.Subsetter(options)
    names, characters = icons_in_use()
    subsetter.populate(unicodes=characters)
    font = TTFont(FONT)
    subsetter.subset(font)
    rename(font, "Stepformer Icons")
    font.flavor = "woff2"
    result = io.BytesIO()
    font.save(result)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(result.getvalue())
    (target.parents[1] / "icons.txt").write_text("\n".join(sorted(names)) + "\n", encoding="utf-8")
    return len(font.getBestCmap())
