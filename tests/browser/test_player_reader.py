"""What a reader does with the player by mouse and keyboard, and what the page and a screen reader say to it."""

import re

import numpy as np
import pytest
from probe import DEEP_FOCUS, api, tab_to

from stepformer import examples as example_programs
from stepformer import leaf, mistakes, record
from stepformer.formatting import format_number
from stepformer.reference.attention import scaled_dot_product_attention
from stepformer.widgets import player_html

ATTENTION_STEPS = ["key_transposed", "scores", "scaled_scores", "weights", "output"]


def grid(page, name):
    """The grid of the matrix on show that has this name."""
    return page.locator(f"[role=grid]:visible[aria-label^='{name}:']")


def cell(page, name, row, column):
    """A cell of a small matrix on show."""
    return grid(page, name).locator("[role=row]:has([role=gridcell])").nth(row).locator("[role=gridcell]").nth(column)


def step(page):
    """The number of the step on show, as the element says it."""
    return int(page.locator("stepformer-player").get_attribute("data-step"))


def announced(page):
    """What a screen reader is told."""
    return page.locator("[aria-live=polite]").text_content()


def in_words(number):
    """A number as a screen reader is told it: its sign is a word."""
    return format_number(number).replace("−", "minus ")


@pytest.fixture
def attention(show_on_page):
    """A page with the running example and its known mistakes, at its second step: query · key_transposed = scores."""
    trace = example_programs.attention().with_breaks(*mistakes.ATTENTION)
    return show_on_page(player_html(trace, start="scores"))


# ---- steps ---------------------------------------------------------------------------------------------------------


def test_each_entry_of_the_step_list_leads_to_its_step(attention):
    entries = attention.locator("button.step")
    assert [title.split(".")[-1] for title in entries.evaluate_all("all => all.map((e) => e.title)")] == ATTENTION_STEPS
    for i in (4, 0, 3):
        entries.nth(i).click()
        assert step(attention) == i
        assert grid(attention, ATTENTION_STEPS[i]).count() == 1
        assert attention.locator("[aria-current=step]").all_inner_texts() == [entries.nth(i).inner_text()]


def test_next_and_previous_stop_at_the_ends(attention):
    back, forward = (attention.get_by_role("button", name=name) for name in ("Previous step", "Next step"))
    for _ in range(3):
        back.press("Enter")  # Playwright clicks on nothing that is aria-disabled
    assert step(attention) == 0
    assert back.get_attribute("aria-disabled") == "true"
    for _ in range(6):
        forward.press("Enter")
    assert step(attention) == 4
    assert forward.get_attribute("aria-disabled") == "true"
    assert attention.get_by_text("Step 5 of 5", exact=True).is_visible()


def test_play_steps_on_by_itself_pauses_when_asked_and_stops_at_the_end(attention):
    api(attention, "player.goto(2)")
    button = attention.get_by_role("button", name="Play")
    button.click()
    attention.wait_for_selector("stepformer-player[data-step='3']")
    attention.get_by_role("button", name="Pause").click()
    attention.wait_for_timeout(1900)
    assert step(attention) == 3, "it went on after Pause"
    button.click()
    attention.wait_for_selector("stepformer-player[data-step='4']")
    button.wait_for()
    assert api(attention, "return player.playing") is False


# ---- a cell and its arithmetic -------------------------------------------------------------------------------------


def test_a_chosen_cell_shows_its_arithmetic_and_lights_the_cells_it_is_made_of(attention):
    trace = example_programs.attention()
    cell(attention, "scores", 2, 1).click()
    panel = attention.get_by_role("group", name="How the chosen cell is computed")
    assert panel.inner_text().startswith("scores[杰瑞, chase] = ")
    assert format_number(trace["scores"][2, 1]) in panel.inner_text()

    numbers = panel.locator("button[title*='[']")
    query, key = trace["query"][2], trace["key"][1]
    pairs = [format_number(x) for pair in zip(query, key, strict=True) for x in pair]
    assert [text.strip("()") for text in numbers.all_inner_texts()] == pairs

    def lit(name):
        return attention.locator(f"[role=grid][aria-label^='{name}:'] .lit").all_inner_texts()

    assert lit("query") == [format_number(x) for x in query]
    assert lit("key_transposed") == [format_number(x) for x in key]
    assert lit("scores") == []

    numbers.nth(2).hover()
    assert attention.locator(".pointed").all_inner_texts() == [format_number(query[1])]
    numbers.nth(2).click()
    assert panel.inner_text().startswith("query[杰瑞, ")
    assert cell(attention, "query", 2, 1).evaluate("e => e === e.getRootNode().activeElement")


def test_an_input_cell_shows_what_is_made_from_it(attention):
    cell(attention, "query", 1, 0).click()
    made = grid(attention, "scores").locator(".fed")
    assert made.count() == 3
    assert made.first.evaluate("e => e.row") == 1
    assert attention.get_by_text("A given value: nothing computes it.").is_visible()


def test_a_long_sum_is_shortened_until_it_is_asked_for(show_on_page):
    rng = np.random.default_rng(2)
    with record() as trace:
        arrays = {"query": (3, 20), "key": (4, 20), "value": (4, 2)}
        leaves = [leaf(name, rng.normal(size=shape).round(2), (f"{name}s", "d")) for name, shape in arrays.items()]
        scaled_dot_product_attention(*leaves)
    page = show_on_page(player_html(trace, start="scores"))
    numbers = page.get_by_role("group", name="How the chosen cell is computed").locator("button[title*='[']")
    assert numbers.count() == 16
    page.get_by_role("button", name="… 12 more …").first.click()
    assert numbers.count() == 40


# ---- edits ---------------------------------------------------------------------------------------------------------


def test_an_edit_marks_every_changed_cell_with_its_old_and_new_value_and_reset_takes_it_back(attention):
    trace = example_programs.attention()
    query = trace["query"].copy()
    query[0, 1] = 2.5
    edited = trace.run({"query": query})
    cell(attention, "query", 0, 1).click()
    attention.keyboard.type("2,5")
    attention.keyboard.press("Enter")
    assert api(attention, "return player.edits") == [["query", [0, 1], 2.5]]

    changed = edited["scores"] != trace["scores"]
    assert changed.any()
    assert not changed.all()
    for (row, column), is_changed in np.ndenumerate(changed):
        shown = cell(attention, "scores", row, column)
        old, new = (format_number(t["scores"][row, column]) for t in (trace, edited))
        assert shown.inner_text() == new
        assert (shown.get_attribute("title") or "").startswith(f"was {old}, now {new}: ") == is_changed
        assert ("changed from" in (shown.get_attribute("aria-label") or "")) == is_changed
        corner = shown.evaluate("e => getComputedStyle(e).backgroundImage")
        assert (corner != "none") == is_changed, "the mark must not be a matter of colour alone"
    assert attention.locator("button[title='attention.output']").inner_text().endswith("changed by your edits")
    assert "changed" not in attention.locator("button[title='attention.key_transposed']").inner_text()

    attention.get_by_role("button", name="Reset").click()
    assert attention.locator("[role=gridcell].changed").count() == 0
    assert not attention.get_by_role("button", name="Reset").is_visible()
    np.testing.assert_allclose(api(attention, "return player.values('scores')"), trace["scores"], rtol=0, atol=1e-12)


def test_an_edited_result_says_that_it_no_longer_follows_its_inputs(attention):
    cell(attention, "scores", 0, 0).click()
    attention.keyboard.type("9")
    attention.keyboard.press("Enter")
    assert attention.get_by_text("You set this result by hand.").is_visible()
    assert attention.locator("figcaption:has-text('scores') >> text=set by hand").is_visible()


def test_the_slider_edits_while_it_moves(attention):
    cell(attention, "query", 3, 2).click()
    attention.get_by_role("slider").fill("-1.5")
    assert api(attention, "return player.edits") == [["query", [3, 2], -1.5]]
    assert cell(attention, "query", 3, 2).inner_text() == "−1.50"
    attention.get_by_role("slider").press("ArrowRight")
    (edit,) = api(attention, "return player.edits")
    assert edit[2] > -1.5


def test_leaving_the_field_takes_the_value_and_a_wrong_one_does_not_get_lost(attention):
    cell(attention, "query", 0, 0).click()
    attention.keyboard.type("foot")
    field = attention.locator("input[type=text]")
    assert not field.count(), "letters must not open the field"
    attention.keyboard.press("Enter")
    field.fill("1/0")
    attention.locator(".title").click()
    assert field.input_value() == "1/0"
    assert field.get_attribute("aria-invalid") == "true"
    assert attention.get_by_text("A number is needed").is_visible()
    field.fill("1/4")
    attention.locator(".title").click()
    assert api(attention, "return player.edits") == [["query", [0, 0], 0.25]]


def test_a_token_is_chosen_from_the_vocabulary_and_escape_keeps_the_old_one(show_on_page):
    trace = example_programs.attention_over_words()
    page = show_on_page(player_html(trace, start="key"))
    words = trace.tensors[trace.find("src")].vocabulary
    before = trace["src"].tolist()
    cell(page, "src", 0, 0).click()
    page.keyboard.press("Enter")
    choice = page.get_by_role("combobox", name="Another token")
    assert choice.locator("option").all_inner_texts() == list(words)
    new = next(i for i in range(len(words)) if i != before[0])
    choice.select_option(words[new])
    page.keyboard.press("Enter")
    assert api(page, "return player.values('src')") == [new, *before[1:]]
    assert api(page, "return player.values('key')[0]") == trace["key_table"][new].tolist()
    assert grid(page, "key").locator("[role=rowheader]").first.inner_text() == words[new]

    page.keyboard.press("Enter")
    choice.select_option(words[before[0]])
    page.keyboard.press("Escape")
    assert api(page, "return player.values('src')[0]") == new


def test_a_mask_cell_is_toggled_by_the_space_bar_and_by_a_second_click(show_on_page):
    page = show_on_page(player_html(example_programs.causal_self_attention(), start="masked_scores"))
    before = api(page, "return player.values('weights')")
    refused = cell(page, "causal_mask", 0, 1)
    assert (refused.inner_text(), refused.get_attribute("aria-label")) == ("·", "masked")
    refused.click()
    assert api(page, "return player.edits") == [], "the first click only chooses"
    page.keyboard.press("Space")
    assert api(page, "return player.edits") == [["causal_mask", [0, 1], True]]
    assert refused.inner_text() == "✓"
    assert announced(page).startswith("causal_mask, row ")
    assert "may attend" in announced(page)
    assert api(page, "return player.values('weights')") != before
    refused.click()
    assert api(page, "return player.values('weights')") == before


# ---- break it ------------------------------------------------------------------------------------------------------


def test_several_mistakes_are_on_at_once_and_each_says_what_it_does_and_which_test_catches_it(attention):
    one, two = mistakes.ATTENTION[0], mistakes.ATTENTION[3]
    trace = example_programs.attention().with_breaks(*mistakes.ATTENTION)
    for on in (one, two):
        attention.get_by_role("switch", name=on.name).click()
        assert attention.locator(".symptom").get_by_text(on.symptom).is_visible()
        assert attention.get_by_text(on.caught_by).is_visible()
    assert api(attention, "return player.breaks") == [one.name, two.name]
    assert attention.locator(".symptom").get_by_text(one.symptom).is_visible()
    np.testing.assert_allclose(
        api(attention, "return player.values('output')"), trace.broken(one.name, two.name)["output"], atol=1e-12
    )
    attention.get_by_role("switch", name=one.name).click()
    assert not attention.locator(".symptom").get_by_text(one.symptom).is_visible()
    assert attention.locator(".symptom").get_by_text(two.symptom).is_visible()
    attention.get_by_role("button", name="Reset").click()
    assert not attention.get_by_role("switch", name=two.name).is_checked()


# ---- heads ---------------------------------------------------------------------------------------------------------


def test_the_chosen_head_is_kept_from_step_to_step(show_on_page):
    trace = example_programs.multi_head_attention()
    page = show_on_page(player_html(trace, start="scores"))
    axis = trace.tensors[trace.find("scores")].axes[0]
    heads = page.get_by_role("group", name=axis, exact=True).get_by_role("radio")
    assert heads.count() == trace["scores"].shape[0] > 1
    assert heads.first.is_checked()
    heads.nth(1).check(force=True)
    assert cell(page, "scores", 0, 0).inner_text() == format_number(trace["scores"][1, 0, 0])
    for name in ("scaled_scores", "weights"):
        page.keyboard.press("]")
        assert heads.nth(1).is_checked()
        rows = range(trace[name].shape[1])
        shown = [cell(page, name, row, 0).inner_text() for row in rows]
        assert shown == [format_number(trace[name][1, row, 0]) for row in rows]


# ---- keys, help, announcements -------------------------------------------------------------------------------------


def test_keys_and_their_list(attention):
    keys = attention.get_by_role("dialog", name="Keyboard")
    tab_to(attention, "gridcell")
    assert keys.count() == 0
    attention.keyboard.press("?")
    assert keys.is_visible()
    assert keys.locator("kbd").count() == keys.locator("tbody tr").count() >= 8
    attention.keyboard.press("?")
    assert keys.count() == 0
    assert attention.evaluate(DEEP_FOCUS) == "gridcell"
    attention.keyboard.press("p")
    assert api(attention, "return player.playing") is True
    attention.keyboard.press("p")
    assert api(attention, "return player.playing") is False


def test_single_keys_do_nothing_to_a_reader_who_types(attention):
    cell(attention, "query", 0, 0).click()
    attention.keyboard.press("Enter")
    attention.keyboard.type("p]r?")
    assert attention.locator("input[type=text]").input_value() == "p]r?"
    assert (step(attention), api(attention, "return player.playing")) == (1, False)


def test_arrows_home_and_end_move_from_cell_to_cell_and_stay_inside(attention):
    cell(attention, "query", 0, 0).click()
    at = "({shadowRoot}) => [shadowRoot.activeElement.row, shadowRoot.activeElement.column]"
    for keys, place in (
        (["ArrowUp", "ArrowLeft"], [0, 0]), (["ArrowDown"], [1, 0]), (["End"], [1, 4]), (["ArrowRight"], [1, 4]),
        (["Home"], [1, 0]), (["Control+End"], [3, 4]), (["Control+Home"], [0, 0]),
        (["PageDown"], [3, 0]), (["PageUp"], [0, 0]),
    ):  # fmt: skip
        for key in keys:
            attention.keyboard.press(key)
        assert attention.locator("stepformer-player").evaluate(at) == place, keys
    reached = attention.locator("[role=grid]:visible").evaluate_all("""all => all.map((grid) =>
      grid.querySelectorAll('[tabindex="0"]').length)""")  # fmt: skip
    assert reached == [1, 1, 1], "Tab reaches one cell of each matrix"


def test_a_given_cell_is_called_given_also_after_a_computed_one(attention):
    work = attention.locator(".work")
    for _ in range(2):
        cell(attention, "query", 0, 0).click()
        assert work.inner_text().startswith("A given value")
        cell(attention, "scores", 0, 0).click()
        assert work.inner_text().startswith("= ")


def test_the_field_lies_over_its_cell_and_tab_goes_on_from_there(attention):
    focused = "e => [e.closest('.matrix').querySelector('.name').textContent, e.row, e.column]"
    for key, to in (("Tab", ["key_transposed", 0, 0]), ("Shift+Tab", ["query", 1, 0])):
        one = cell(attention, "query", 1, 0)
        one.focus()
        attention.keyboard.type("3")
        box, field = one.bounding_box(), attention.locator("input.field").bounding_box()
        assert abs(field["x"] - box["x"]) < 1
        assert abs(field["y"] - box["y"]) < 1
        attention.keyboard.press(key)
        player = attention.locator("stepformer-player")
        assert player.evaluate_handle("e => e.shadowRoot.activeElement").evaluate(focused) == to
        assert api(attention, "return player.values('query')[1][0]") == 3


def test_steps_cells_edits_and_reset_are_announced(attention):
    attention.get_by_role("button", name="Next step").click()
    assert announced(attention) == "Step 3 of 5: scaled_scores, by scale."
    cell(attention, "scaled_scores", 1, 2).click()
    said = re.fullmatch(
        r"scaled_scores, row 追逐, column Jerry: (.+), from (.+) over the square root of 5\.", announced(attention)
    )
    assert said, announced(attention)
    scores = example_programs.attention()["scores"]
    assert said.groups() == (in_words(scores[1, 2] / 5**0.5), in_words(scores[1, 2]))
    attention.keyboard.type("4")
    attention.keyboard.press("Enter")
    assert announced(attention) == "scaled_scores, row 追逐, column Jerry is now 4.00. Results changed: 2."
    attention.keyboard.press("r")
    assert announced(attention) == "All edits and switches were undone."


# ---- large matrices ------------------------------------------------------------------------------------------------


def test_ten_thousand_cells_are_reached_edited_and_never_all_drawn(show_on_page):
    big = np.random.default_rng(3).normal(size=(100, 100)).round(3)
    with record() as trace:
        scaled_dot_product_attention(*(leaf(name, big, (f"{name}s", "d")) for name in ("query", "key", "value")))
    page = show_on_page(player_html(trace, start="scores"))
    query = grid(page, "query")
    assert [query.get_attribute(name) for name in ("aria-rowcount", "aria-colcount")] == ["101", "101"]
    query.locator("[role=gridcell]").first.click()
    page.keyboard.press("Control+End")
    last = query.locator("[role=gridcell][aria-colindex='101']").last
    assert last.inner_text() == format_number(big[99, 99])
    assert last.evaluate("e => e === e.getRootNode().activeElement")
    assert last.evaluate("e => e.parentElement.getAttribute('aria-rowindex')") == "101"
    page.keyboard.type("0.5")
    page.keyboard.press("Enter")
    assert api(page, "return player.edits") == [["query", [99, 99], 0.5]]
    assert page.evaluate(DEEP_FOCUS) == "gridcell"
    query.evaluate("e => { e.scrollTop = 0 }")
    page.wait_for_timeout(100)
    assert query.locator("[role=row]:has([role=gridcell])").first.get_attribute("aria-rowindex") == "2"
    drawn = page.locator("[role=gridcell]").count()
    assert 100 < drawn < 2000, f"{drawn} cells are drawn"
