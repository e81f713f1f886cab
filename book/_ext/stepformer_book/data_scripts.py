"""Data that a page loads on the reader's request: one classic script for each set, beside the player's script."""

from pathlib import Path

from stepformer import translator_page
from stepformer.checkpoint import read_model
from stepformer.data.page import DATA_SETS, script


def scripts() -> dict[str, str]:
    """Each data set as a script; that of the shipped model only where it is there (see `translator`)."""
    made = {name: script(name) for name in DATA_SETS}
    if translator_page.is_shipped():
        made[translator_page.DATA] = translator_page.script(read_model("small"))
    return made


def write_scripts(app, exception) -> None:
    """Write the scripts into the built site; they are made of the package's data, so no copy of it is kept."""
    if exception is None and app.builder.format == "html":
        folder = Path(app.outdir) / "_static" / "data"
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in scripts().items():
            (folder / f"{name}.js").write_text(text, encoding="utf-8")


def setup(app) -> None:
    """Register the writer."""
    app.connect("build-finished", write_scripts)
