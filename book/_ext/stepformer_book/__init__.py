"""What this book adds to Sphinx: the map of the machine, players, the ledger and the translator, tables, page heads."""

from stepformer_book import (
    break_it,
    concordance,
    data_scripts,
    figures,
    folded_inputs,
    four_machines,
    front_door,
    grammar,
    heavy_payloads,
    ledger,
    lessons,
    light_pages,
    machine_map,
    mathematics,
    ops_table,
    page_head,
    player,
    question_bank,
    report_error,
    theme_files,
    translator,
    typography,
)


def setup(app) -> dict:
    """Register all parts."""
    for part in (
        break_it, concordance, data_scripts, figures, folded_inputs, four_machines, front_door, grammar,
        heavy_payloads, ledger, lessons, light_pages, machine_map, mathematics, player, ops_table, page_head,
        question_bank, report_error, theme_files, translator, typography,
    ):  # fmt: skip
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
