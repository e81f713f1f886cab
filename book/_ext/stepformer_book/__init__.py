"""What this book adds to Sphinx: the map of the machine, players on pages, the table of ops, page heads."""

from stepformer_book import figures, front_door, machine_map, ops_table, page_head, player, theme_files, typography


def setup(app) -> dict:
    """Register all parts."""
    for part in (figures, front_door, machine_map, player, ops_table, page_head, theme_files, typography):
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
