"""What this book adds to Sphinx: the map of the machine, players on pages, the table of ops, page heads."""

from stepformer_book import machine_map, ops_table, page_head, player, theme_files


def setup(app) -> dict:
    """Register all parts."""
    for part in (machine_map, player, ops_table, page_head, theme_files):
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
