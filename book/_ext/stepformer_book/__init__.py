"""What this book adds to Sphinx: the map of the machine, players, the ledger and the translator, tables, page heads."""

from stepformer_book import (
    concordance,
    data_scripts,
    figures,
    front_door,
    grammar,
    ledger,
    machine_map,
    ops_table,
    page_head,
    player,
    theme_files,
    translator,
    typography,
)


def setup(app) -> dict:
    """Register all parts."""
    for part in (
        concordance, data_scripts, figures, front_door, grammar, ledger, machine_map, player, ops_table, page_head,
        theme_files, translator, typography,
    ):  # fmt: skip
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
