"""On the pages of the book a finger hits whatever can be touched in our elements, whatever is open."""

import pytest
from chromium import DESKTOP, ELEMENTS, NAMES_OF_ELEMENTS, PHONE
from helpers import LONG, toc_files
from probe import load_deferred
from touch import TOO_SMALL

# `make test` measures pages that hold each of our elements, `make test-all` each page.
SOME = ("01_tokens_and_vectors", "05_attention", "18_looking_inside", "ledger", "four_machines", "try_it")
MEASURED = [name for name in toc_files() if LONG or name.split("/")[-1] in SOME]
PLACES = [*(f"stepformer-{name}" for name in NAMES_OF_ELEMENTS), "figure.machine", "details.machine-here"]

# Opens what can be opened and does what a reader can do, one thing after the other.
OPEN = "(e) => e.shadowRoot?.querySelectorAll('details').forEach((one) => { one.open = true; })"
ACTS = {
    "a switch is on": "const [one] = player.session.program.breaks; if (one) player.break(one.name)",
    "before and after": "player.compare()",
    "where it comes from": "player.reset(); [...player.host.shadowRoot.querySelectorAll('button')]"
                           ".find((one) => one.textContent.startsWith('Where does'))?.click()",
    "a question": "await player.ask({ another: true })",
    "a question for a row": "await player.ask({ row: true, another: true })",
}  # fmt: skip
PLAYERS = """async () => {{
  for (const {{ player }} of document.querySelectorAll('stepformer-player')) if (player) {{ {act} }}
}}"""


def small(page, state):
    return [f"{state}, {place}: {found}" for place in PLACES for element in page.query_selector_all(place)
            for found in element.evaluate(TOO_SMALL)]  # fmt: skip


@pytest.mark.parametrize(("viewport", "touch"), [(PHONE, True), (DESKTOP, False)], ids=["phone", "desktop"])
@pytest.mark.parametrize("name", MEASURED)
def test_whatever_can_be_touched_is_large_enough(name, viewport, touch, served, open_page):
    page = open_page(f"{served}/{name}.html", viewport=viewport, has_touch=touch, is_mobile=touch)
    found = small(page, "at first")
    load_deferred(page)
    page.eval_on_selector_all("details.machine-here", "all => all.forEach((one) => { one.open = true; })")
    if page.locator("stepformer-translator").count():
        translate(page)
    page.eval_on_selector_all(ELEMENTS, f"all => all.forEach({OPEN})")
    page.wait_for_load_state("networkidle")  # menus come with their own scripts
    found += small(page, "all is open")
    for state, act in ACTS.items():
        page.evaluate(PLAYERS.format(act=act))
        found += small(page, state)
    assert found == []


def translate(page):
    """A translation by beam search, with the program of a prediction open: all that the page can show."""
    element = page.locator("stepformer-translator")
    element.evaluate("e => e.translator.translate('Tom chasess Jerry.')")
    page.wait_for_selector("stepformer-translator[data-position]:not([data-busy])", state="attached")
    element.evaluate("e => e.translator.again({ search: 'beam' })")
    page.wait_for_selector("stepformer-translator[data-position]:not([data-busy])", state="attached")
    element.evaluate("e => e.translator.open()")
