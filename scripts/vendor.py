"""Fetch and cut down the files the site carries with it: `python scripts/vendor.py`.

The results are committed, so that building the book downloads nothing; run this only to change a version.
Needs npm, and `pip install fonttools brotli` beside the book's own requirements.
"""

import io
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer
from vendor_icons import ICONS_PACKAGE, rename, subset_icons

STATIC = Path(__file__).resolve().parent.parent / "book" / "_static"

EXTENSION = STATIC.parent / "_ext" / "vendor"

# Turns LaTeX into MathML when the book is built; no page loads it.
TEMML = "temml@0.13.5"

ASCII = set(range(0x20, 0x7F))
LATIN_1 = set(range(0xA0, 0x100))
PUNCTUATION_AND_MATHS = set(map(ord, "–—‘’“”•…−×÷·√∞≤≥≠≈±←↑→↓∑∂Δαβγθλμσ′"))
# Letters as formulas slant them, in both alphabets, and the signs between them.
SLANTED = (set(range(0x1D434, 0x1D468)) - {0x1D455}) | {0x210E} | set(range(0x1D6E2, 0x1D71C))
GREEK = set(range(0x391, 0x3AA)) - {0x3A2} | set(range(0x3B1, 0x3CA)) | set(map(ord, "ϵϕϑϱϖ"))
SIGNS = set(map(ord, "′″ℓℝ∀∃∇∈∉∏∑−∓∗∘∝∞∧∨∩∪∫∼≅≈≠≡≤≥≪≫⊂⊆⊕⊗⊙⊤⊥⋅⋮⋯⋱⌈⌉⌊⌋⟨⟩∥∣←↑→↓↔⇐⇒⇔↦◦‖ˆ˜¯˙⏞⏟"))
NAMES_AND_PINYIN = set(map(ord, "ıŁłŠšŽžČčćŞşğāáǎàēéěèīíǐìōóǒòūúǔùǖǘǚǜ"))


@dataclass(frozen=True)
class Face:
    """One font file of the book: its source, and the characters and the part of its axes it keeps."""

    file: str
    name: str
    package: str
    member: str
    axes: dict
    characters: set
    features: tuple = ("ccmp", "kern", "liga", "lnum", "locl", "mark", "tnum")


# Ligatures would join characters of code: the monospaced face keeps none.
FACES = [
    Face(
        "serif-roman.woff2", "Stepformer Serif", "source-serif@4.5.1", "VAR/SourceSerif4Variable-Roman.ttf",
        {"opsz": 18, "wght": (400, 700)}, ASCII | LATIN_1 | PUNCTUATION_AND_MATHS | NAMES_AND_PINYIN,
    ),
    Face(
        "serif-italic.woff2", "Stepformer Serif Italic", "source-serif@4.5.1",
        "VAR/SourceSerif4Variable-Italic.ttf", {"opsz": 18, "wght": 400},
        ASCII | LATIN_1 | PUNCTUATION_AND_MATHS,
    ),
    Face(
        "sans.woff2", "Stepformer Sans", "source-sans@3.52.0", "VF/SourceSans3VF-Upright.ttf",
        {"wght": (400, 700)}, ASCII | PUNCTUATION_AND_MATHS,
    ),
    Face(
        "code.woff2", "Stepformer Code", "source-code-pro@2.42.0", "VF/SourceCodeVF-Upright.ttf",
        {"wght": 400}, ASCII | LATIN_1 | PUNCTUATION_AND_MATHS, ("ccmp",),
    ),
    Face(
        "math.woff2", "Stepformer Math", "@fontsource/stix-two-math@5.3.0",
        "files/stix-two-math-latin-400-normal.woff2",
        {}, ASCII | PUNCTUATION_AND_MATHS | SLANTED | GREEK | SIGNS, ("ccmp", "dtls", "kern", "mark", "ssty", "ss04"),
    ),
]  # fmt: skip

LICENCES = {
    TEMML: "MIT",
    "source-serif@4.5.1": "OFL-1.1",
    "source-sans@3.52.0": "OFL-1.1",
    "source-code-pro@2.42.0": "OFL-1.1",
    "@fontsource/stix-two-math@5.3.0": "OFL-1.1",
    ICONS_PACKAGE: "OFL-1.1",
}

README = """\
# Files from other projects

Written by `scripts/vendor.py`; change a version there, not here. Packages are named as npm names them.

| files | package | licence | what was done |
|---|---|---|---|
{rows}

The licence texts stand in `licences/`. The font licence reserves the original names for unchanged fonts, so
the cut fonts carry names of their own.
"""


def fetch(package: str, into: Path) -> Path:
    """Download `name@version` with npm and return the folder it was unpacked to."""
    folder = into / package.replace("@", "-").replace("/", "-")
    if not folder.exists():
        packed = subprocess.run(
            ["npm", "pack", "--silent", package], cwd=into, check=True, capture_output=True, text=True
        )
        with tarfile.open(into / packed.stdout.strip().splitlines()[-1]) as archive:
            archive.extractall(folder, filter="data")
    return folder / "package"


def cut_font(path: Path, face: Face) -> bytes:
    """Return the font at `path` as woff2 with only what `face` keeps."""
    options = subset.Options(layout_features=list(face.features), hinting=False, notdef_outline=True)
    # 13 and 14 are the licence, which must travel with the font.
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=face.characters)
    font = TTFont(path)
    subsetter.subset(font)
    smaller = io.BytesIO()
    font.save(smaller)
    smaller.seek(0)
    font = TTFont(smaller)
    if face.axes:
        font = instancer.instantiateVariableFont(font, face.axes)
    missing = "".join(sorted(chr(c) for c in face.characters - set(font.getBestCmap())))
    if missing:
        raise SystemExit(f"{face.member} has no glyph for {missing}")
    if "MATH" in font:
        narrow_roots(font)
    rename(font, face.name)
    if "STAT" in font:  # names of styles for a menu of fonts; they are cut away, and Firefox complains of the gaps
        del font["STAT"]
    font.flavor = "woff2"
    result = io.BytesIO()
    font.save(result)
    return result.getvalue()


def narrow_roots(font: TTFont) -> None:
    """Give the root signs of all heights the width of the smallest.

    Chromium keeps room for the widest of them whatever its height, which leaves a gap behind every root.
    """
    root = font.getBestCmap()[ord("√")]
    width, _ = font["hmtx"][root]
    variants = font["MATH"].table.MathVariants
    roots = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(root)]
    heights = [record.VariantGlyph for record in roots.MathGlyphVariantRecord]
    parts = [record.glyph for record in roots.GlyphAssembly.PartRecords]
    for name in {*heights, *parts} - {root}:
        wide, bearing = font["hmtx"][name]
        glyph = font["glyf"][name]
        glyph.coordinates.scale((width / wide, 1))
        glyph.coordinates.toInt()
        glyph.recalcBounds(font["glyf"])
        font["hmtx"][name] = (width, round(bearing * width / wide))


def licence_text(package: Path) -> Path:
    """Find the licence file of an unpacked package."""
    return next(path for path in sorted(package.iterdir()) if path.name.upper().startswith("LICENSE"))


def main() -> None:
    """Fetch, cut, copy, and write down what was done."""
    vendor = STATIC / "vendor"
    rows = []
    (vendor / "licences").mkdir(parents=True, exist_ok=True)
    (STATIC / "fonts").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        for package in LICENCES:
            name = package.rpartition("@")[0].rpartition("/")[2]
            shutil.copy(licence_text(fetch(package, Path(temporary))), vendor / "licences" / f"{name}.txt")
        EXTENSION.mkdir(exist_ok=True)
        shutil.copy(fetch(TEMML, Path(temporary)) / "dist" / "temml.min.js", EXTENSION)
        rows.append(("../_ext/vendor/temml.min.js", TEMML, LICENCES[TEMML], "unchanged; runs when the book is built"))
        for face in FACES:
            data = cut_font(fetch(face.package, Path(temporary)) / face.member, face)
            (STATIC / "fonts" / face.file).write_bytes(data)
            axes = ", ".join(f"{axis} {limits}" for axis, limits in face.axes.items())
            done = f"cut to {len(face.characters)} characters{f' and {axes}' if axes else ''}; renamed {face.name}"
            rows.append((f"fonts/{face.file}", face.package, LICENCES[face.package], done))
    icons = subset_icons(vendor / "fontawesome" / "webfonts" / "fa-solid-900.woff2")
    done = f"cut to the {icons} icons the theme uses, from the copy inside pydata-sphinx-theme; renamed"
    rows.append(("vendor/fontawesome/", ICONS_PACKAGE, LICENCES[ICONS_PACKAGE], done))
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    (vendor / "README.md").write_text(README.format(rows=table), encoding="utf-8")


if __name__ == "__main__":
    main()
