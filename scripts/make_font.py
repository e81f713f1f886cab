"""Cut the two fonts of the figures: `python scripts/make_font.py`.

matplotlib's own font has no Chinese characters. `latin.otf` is Source Sans, the sans serif of the book's pages, with
Latin and the signs of its mathematics; `chinese.otf` is Noto Sans CJK SC with every Chinese character that a page, a
chapter or the package holds. All common characters at once would be half a megabyte. The results are committed; run
this again when a text uses a new character (a test says so). Needs npm, the Debian package
fonts-noto-cjk, and fonttools.
"""

import io
import json
import sys
import tempfile
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from vendor import fetch
from vendor_icons import rename

ROOT = Path(__file__).resolve().parent.parent
FONTS = ROOT / "src" / "stepformer" / "fonts"

LATIN_PACKAGE, LATIN_MEMBER = "source-sans@3.52.0", "OTF/SourceSans3-Regular.otf"
LATIN = {*range(0x20, 0x7F), *range(0xA0, 0x100)}
LATIN |= set(map(ord, "–—‘’“”•…−×÷·√∞‹›≤≥≠≈±←↑→↓∑∂ΔΣαβγθλμσφ′₀₁₂₃₄₅₆₇₈₉✓"))

CHINESE_SOURCE = Path("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc")
CHINESE_FACE, CHINESE_VERSION = 2, "Version 2.004"
CHINESE_PUNCTUATION = set(map(ord, "、。，：；？！（）《》"))


def is_chinese(character: str) -> bool:
    """Tell whether the character is a Chinese one; punctuation is not."""
    return "\u3400" <= character <= "\u9fff" or "\U00020000" <= character <= "\U0003ffff"


def book_texts() -> list[str]:
    """Return the texts of the book: the cells of the chapters, the other pages, and the package's files."""
    cells = [
        "".join(cell["source"])
        for path in sorted((ROOT / "chapters").glob("*.ipynb"))
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
    ]
    pages = sorted((ROOT / "book").rglob("*.md"))
    files = sorted((ROOT / "src" / "stepformer").rglob("*"))
    package = [path for path in files if path.suffix in {".py", ".json", ".tsv"}]
    return cells + [path.read_text(encoding="utf-8") for path in (*pages, *package)]


def chinese_in_the_book() -> set[int]:
    """Return the code points of the book's Chinese characters: those in its text may be in its next figure."""
    return {ord(character) for text in book_texts() for character in text if is_chinese(character)}


def chinese_source() -> TTFont:
    """Open Noto Sans CJK SC.

    Raises:
        SystemExit: it is missing, or of another version than the committed font was cut from.
    """
    if not CHINESE_SOURCE.is_file():
        raise SystemExit("Noto Sans CJK is missing. On Debian or Ubuntu: apt-get install fonts-noto-cjk")
    font = TTFont(CHINESE_SOURCE, fontNumber=CHINESE_FACE, recalcTimestamp=False)
    name, version = (font["name"].getDebugName(i) for i in (4, 5))
    if name != "Noto Sans CJK SC" or not version.startswith(CHINESE_VERSION):
        raise SystemExit(f"this is {name}, {version}; the committed font was cut from {CHINESE_VERSION}")
    return font


def cut(font: TTFont, characters: set[int], name: str) -> bytes:
    """Return the font with these characters only, under a name of its own, as its licence asks.

    The time stamp stays the source's, so that the same characters give the same bytes on every day.

    Raises:
        SystemExit: the font lacks a character.
    """
    missing = "".join(map(chr, sorted(characters - set(font.getBestCmap()))))
    if missing:
        raise SystemExit(f"{font['name'].getDebugName(4)} has no glyph for {missing}")
    options = subset.Options(layout_features=["kern"], hinting=False, notdef_outline=True)
    # 0, 13 and 14 are the copyright and the licence, which must travel with the font.
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=characters)
    subsetter.subset(font)
    rename(font, name)
    # PostScript outlines hold the name a second time.
    outlines = font["CFF "].cff
    outlines.fontNames = [name.replace(" ", "-")]
    outlines[0].rawDict.update(FullName=name, FamilyName=name)
    result = io.BytesIO()
    font.save(result)
    return result.getvalue()


def main() -> int:
    """Write the fonts; return the exit code."""
    FONTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        latin = TTFont(fetch(LATIN_PACKAGE, Path(temporary)) / LATIN_MEMBER, recalcTimestamp=False)
        chinese = CHINESE_PUNCTUATION | chinese_in_the_book()
        fonts = {
            "latin.otf": cut(latin, LATIN, "Stepformer Plots"),
            "chinese.otf": cut(chinese_source(), chinese, "Stepformer Plots Chinese"),
        }
    for name, data in fonts.items():
        (FONTS / name).write_bytes(data)
        print(f"{name}: {len(TTFont(io.BytesIO(data)).getBestCmap())} characters, {len(data) / 1000:.0f} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
