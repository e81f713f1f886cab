"""Fold the code that proves the numbers of a solution: among the exercises it would tell them in plain sight."""

from docutils import nodes

ASKS = ("exercises.show(", "exercises.check(")


def telling_cells(sources: list[str]) -> list[int]:
    """Find the code cells of a page that tell a solution: from the first exercise to the last, those that assert."""
    asking = [i for i, source in enumerate(sources) if any(asks in source for asks in ASKS)]
    return [i for i in range(asking[0], asking[-1] + 1) if "assert " in sources[i]] if asking else []


def fold_inputs(app, doctree) -> None:
    """Mark these cells as myst-nb does for the tag `hide-input`; it folds them afterwards."""
    cells = [node for node in doctree.findall(nodes.container) if node.get("nb_element") == "cell_code"]
    sources = [next((code.astext() for code in cell.findall(nodes.literal_block)), "") for cell in cells]
    for i in telling_cells(sources):
        if "hide_mode" not in cells[i]:
            cells[i]["hide_mode"] = "input"
            cells[i]["prompt_show"] = "Show the code that checks the solution"
            cells[i]["prompt_hide"] = "Hide the code that checks the solution"


def setup(app) -> None:
    """Run on every page after it is read."""
    app.connect("doctree-read", fold_inputs)
