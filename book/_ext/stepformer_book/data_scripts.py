"""Data that a page loads on the reader's request: one classic script for each set, beside the player's script."""

from pathlib import Path

from stepformer.data.page import DATA_SETS, script


def write_scripts(app, exception) -> None:
    """Write the scripts into the built site; they are made of the package's data, so no copy of it is kept."""
    if exception is None and app.builder.format == "html":
        folder = Path(app.outdir) / "_static" / "data"
        folder.mkdir(parents=True, exist_ok=True)
        for name in DATA_SETS:
            (folder / f"{name}.js").write_text(script(name), encoding="utf-8")


def setup(app) -> None:
    """Register the writer."""
    app.connect("build-finished", write_scripts)
