"""What an edit has changed, and the way back: marks and amounts, undo and redo, before and after side by side."""

from decimal import Decimal

import numpy as np
import pytest
from helpers import ROOT, require_node
from probe import DEEP_FOCUS, api, tab_to
from test_access import axe

from stepformer import examples as example_programs
from stepformer import leaf, mistakes, ops, record
from stepformer.formatting import format_number
from stepformer.widgets import player_html

PLAYER = "stepformer-player"


def matrix(page, name):
    """The matrix on show of this name."""
    return page.locator(f"[role=grid]:visible[aria-label^='{name}:']")


def numbers(page, name):
    """The numbers of a matrix on show, row by row, as the page prints them."""
    rows = matrix(page, name).locator("[role=row]:has([role=gridcell])").all()
    return [row.locator("[role=gridcell]").all_inner_texts() for row in rows]


@pytest.fixture
def attention(show_on_page):
    """The running example with its known mistakes, at its second step."""
    return show_on_page(player_html(example_programs.attention().with_breaks(*mistakes.ATTENTION), start="scores"))


def edited(**cells):
    """The running example after edits of its query, and before."""
    trace = example_programs.attention()
    query = trace["query"].copy()
    for place, value in cells.items():
        query[tuple(map(int, place.removeprefix("at_").split("_")))] = value
    return trace.run({"query": query}), trace


def test_a_changed_cell_says_by_how_much_and_its_corner_says_which_way(attention):
    api(attention, "player.set('query', [0, 1], -2.5); player.set('query', [1, 1], 4)")
    now, before = edited(at_0_1=-2.5, at_1_1=4)
    cells = matrix(attention, "scores").locator("[role=gridcell]").all()
    seen = set()
    for cell, new, old in zip(cells, now["scores"].flat, before["scores"].flat, strict=True):
        image, place = cell.evaluate("e => (s => [s.backgroundImage, s.backgroundPosition])(getComputedStyle(e))")
        if new == old:
            assert image == "none"
            continue
        by = f"{'+' if new > old else ''}{format_number(new - old, 2 if fits(new, old) else 3)}"
        assert cell.get_attribute("title").endswith(f": {by}")
        assert cell.get_attribute("aria-label").endswith(f", by {by}")
        # A triangle with its right angle in the corner: above for a number that grew, below for one that shrank.
        assert image.startswith(f"linear-gradient(to {'left bottom' if new > old else 'right top'}, ")
        assert place == ("100% 0%" if new > old else "0% 100%")
        seen.add(bool(new > old))
    assert seen == {True, False}, "the edit must make some scores larger and some smaller"
    for text in ("changed: more, or another value", "changed: less"):
        assert attention.get_by_text(text).is_visible()


def fits(new, old):
    """Whether the numbers as they are printed differ by what is printed as their difference."""
    new, old, change = (Decimal(format_number(x).replace("−", "-")) for x in (new, old, new - old))
    return new - old == change


ROUNDED = [
    # 8.05 − 0.34 is 7.71; with a third decimal 7.70 is seen to be rounded down.
    (8.046, 0.3412, "0.34, changed from 8.05 to 0.34, by −7.705", True),
    (8.046, 1.046, "1.05, changed from 8.05 to 1.05, by −7.00", False),
    (0.004, 0.0016, "changed from 0.004 to 0.002, by −0.002", False),
]


@pytest.mark.parametrize(("old", "new", "said", "rough"), ROUNDED)
def test_a_change_does_not_contradict_the_numbers_beside_it(old, new, said, rough, show_on_page):
    with record() as trace:
        ops.multiply(leaf("x", [[old, 5.0]], ("row", "column")), leaf("one", 1.0, ()), name="y")
    page = show_on_page(player_html(trace))
    api(page, f"player.set('x', [0, 0], {new})")
    assert matrix(page, "y").locator("[role=gridcell]").first.get_attribute("aria-label").endswith(said)
    api(page, "player.compare()")
    note = page.get_by_text("Each number is rounded by itself")
    assert note.is_visible() == rough


def test_undo_and_redo_by_button_and_by_key(attention):
    before = api(attention, "return player.values('output')")
    for name in ("Undo", "Redo", "Compare"):
        assert not attention.get_by_role("button", name=name).is_visible(), "nothing has been done yet"
    tab_to(attention, "gridcell")
    for digit in "12":
        attention.keyboard.press(digit)
        attention.keyboard.press("Enter")
    after = api(attention, "return player.values('output')")
    attention.keyboard.press("Control+z")
    assert api(attention, "return player.edits") == [["query", [0, 0], 1]]
    assert attention.evaluate(DEEP_FOCUS) == "gridcell"
    attention.get_by_role("button", name="Undo").click()
    assert api(attention, "return [player.edits, player.values('output')]") == [[], before]
    assert attention.get_by_role("button", name="Undo").get_attribute("aria-disabled") == "true"
    attention.keyboard.press("Control+z")
    assert attention.locator("[aria-live=polite]").text_content() == "There is nothing to undo."
    attention.get_by_role("button", name="Redo").click()
    attention.keyboard.press("Control+Shift+Z")
    assert api(attention, "return player.values('output')") == after
    attention.get_by_role("switch").first.click()
    attention.keyboard.press("Control+z")
    assert api(attention, "return [player.breaks, player.edits.length]") == [[], 1]
    assert not attention.get_by_role("switch").first.is_checked()


def test_undo_in_the_field_of_a_cell_is_that_of_the_field(attention):
    api(attention, "player.set('query', [0, 0], 9)")
    tab_to(attention, "gridcell")
    attention.keyboard.type("12")
    attention.keyboard.press("Control+z")
    attention.keyboard.press("Escape")
    assert api(attention, "return player.edits") == [["query", [0, 0], 9]]


def test_one_pull_of_the_slider_is_one_step_back(attention):
    attention.locator("[role=gridcell]").first.click()
    slider = attention.locator("input[type=range]")
    before = api(attention, "return player.values('query')")
    slider.focus()
    for _ in range(5):
        attention.keyboard.press("ArrowRight")
    assert api(attention, "return player.values('query')") != before
    attention.keyboard.press("Control+z")
    assert api(attention, "return player.values('query')") == before


def test_undo_reaches_the_page_around_as_a_change(attention):
    heard = api(attention, """
      const heard = [];
      document.addEventListener('stepformer:change', ({detail}) => heard.push(detail.edits.length));
      player.set('query', [0, 0], 9); player.undo(); player.redo();
      return heard;""")  # fmt: skip
    assert heard == [1, 0, 1]


def test_before_and_after_stand_side_by_side_with_the_change_between_them(attention):
    api(attention, "player.set('query', [0, 1], -2.5); player.set('query', [1, 1], 4)")
    now, before = edited(at_0_1=-2.5, at_1_1=4)
    attention.get_by_role("button", name="Compare").click()
    for name, values in {
        "scores before": before["scores"],
        "change": now["scores"] - before["scores"],
        "scores now": now["scores"],
    }.items():
        assert numbers(attention, name) == [[format_number(x) for x in row] for row in values], name
    assert attention.locator("[role=grid]:visible").count() == 3
    tops = [matrix(attention, name).bounding_box()["y"] for name in ("scores before", "scores now")]
    assert abs(tops[0] - tops[1]) < 1, "side by side"
    scales = [
        matrix(attention, name).locator("xpath=following-sibling::*").first.get_attribute("aria-label")
        for name in ("scores before", "scores now")
    ]
    assert scales[0] == scales[1], "the same colour must mean the same number"

    attention.keyboard.press("]")
    assert matrix(attention, "scaled_scores before").is_visible(), "comparing goes on at the next step"
    attention.get_by_role("button", name="Reset").click()
    assert matrix(attention, "scores").is_visible()
    assert not attention.get_by_role("button", name="Compare").is_visible()


def test_what_changed_is_listed_and_each_line_leads_there(attention):
    api(attention, "player.set('query', [0, 1], -2.5)")
    tab_to(attention, "gridcell")
    attention.keyboard.press("c")
    assert attention.locator("[aria-live=polite]").text_content() == "scores, before and after."
    now, before = edited(at_0_1=-2.5)
    lines = attention.get_by_role("group", name="What changed").get_by_role("listitem")
    names = ["scores", "scaled_scores", "weights", "output"]
    assert lines.count() == len(names)
    for line, name in zip(lines.all(), names, strict=True):
        change = now[name] - before[name]
        count = np.count_nonzero(np.abs(change) > 1e-12)
        place = np.unravel_index(np.abs(change).argmax(), change.shape)
        text = line.inner_text()
        assert text.startswith(f"{name} {count} of {change.size} cells, most at [")
        assert f"{format_number(before[name][place])} → {format_number(now[name][place])}" in text
    lines.nth(3).get_by_role("button").click()
    assert attention.locator(PLAYER).get_attribute("data-step") == "4"
    assert matrix(attention, "output now").is_visible()
    assert attention.evaluate(DEEP_FOCUS) == "gridcell"


def test_an_edit_while_comparing_changes_the_result_and_following_a_number_ends_it(attention):
    api(attention, "player.set('query', [0, 1], -2.5)")
    attention.get_by_role("button", name="Compare").click()
    matrix(attention, "scores before").locator("[role=gridcell]").nth(4).click()
    attention.keyboard.press("3")
    attention.keyboard.press("Enter")
    assert api(attention, "return player.edits.at(-1)") == ["attention.scores", [1, 1], 3]
    attention.keyboard.press("Control+z")
    attention.locator("button.ref").first.click()
    assert matrix(attention, "query").is_visible()
    assert attention.get_by_role("button", name="Compare").get_attribute("aria-pressed") == "false"


def test_a_result_of_another_shape_and_tokens_are_compared_too(show_on_page):
    trace = example_programs.attention().with_breaks(*mistakes.ATTENTION)
    page = show_on_page(player_html(trace))
    api(page, f"player.break({mistakes.ATTENTION[0].name!r}); player.compare()")
    for step in range(5):
        api(page, f"player.goto({step})")
        assert page.locator("[role=grid]:visible").count() >= 2


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_comparing_fits_the_page_and_axe_finds_nothing(width, show_on_page):
    require_node("axe-core")
    trace = example_programs.attention().with_breaks(*mistakes.ATTENTION)
    page = show_on_page(player_html(trace, start="scores"), viewport={"width": width, "height": 800})
    api(page, "player.set('query', [0, 1], -2.5); player.compare()")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for button in page.locator("button:visible").all():
        box = button.bounding_box()
        assert min(box["width"], box["height"]) >= 24, button.inner_text()
    page.evaluate((ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    assert axe(page, [PLAYER]) == []
