"""Every page of the table of contents, opened straight from disk: as quiet and complete as from a server."""

import pytest
from chromium import ELEMENTS
from helpers import fault, toc_files
from probe import load_deferred


@fault("BOOK-05", "BOOK-06")
@pytest.mark.parametrize("name", toc_files())
def test_a_page_opened_from_disk_says_nothing_asks_nobody_and_all_its_players_mount(name, site, open_page):
    page = open_page(f"{site.as_uri()}/{name}.html", until="networkidle")
    load_deferred(page)
    assert page.locator(f"{ELEMENTS}:not([data-ready])").count() == 0
    assert page.locator("main").inner_text().strip()
