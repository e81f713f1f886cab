"""What is large: matrices of 64 × 64, of which the page holds what is near; 16 heads; a program of 500 steps."""

import numpy as np
import pytest
from probe import api, attention_program

from stepformer.formatting import format_number
from stepformer.widgets import player_html


def grid(page, name):
    return page.locator(f"[role=grid][aria-label^='{name}:']")


# The drawn cells that can be seen, below the column labels and beside the row labels: row and column as a screen
# reader counts them, and what stands there. A place of the visible box without a cell counts as null.
SEEN = """(box) => {
  box.scrollIntoView({ block: 'center' });
  const { left, top, width, height } = box.getBoundingClientRect();
  const edge = (selector, side) => box.querySelector(selector).getBoundingClientRect()[side];
  const [x, y] = [edge('.corner', 'right'), edge('.top', 'bottom')];
  const seen = [];
  for (let down = y + 4; down < top + box.clientHeight - 4; down += 13) {
    for (let across = x + 4; across < left + box.clientWidth - 4; across += 20) {
      const cell = box.getRootNode().elementFromPoint(across, down)?.closest('.cell');
      seen.push(cell && [cell.parentNode.ariaRowIndex - 2, cell.ariaColIndex - 2, cell.textContent]);
    }
  }
  return seen;
}"""
SETTLED = """(box) => new Promise((resolve) => {
  let before = null;
  const look = () => {
    const now = `${box.scrollTop} ${box.scrollLeft}`;
    if (now === before) return resolve();
    before = now;
    requestAnimationFrame(() => requestAnimationFrame(look));
  };
  look();
})"""


def assert_seen(box, array, corner=None):
    """Every visible place holds a cell with the number of its place; the cell in `corner` is among them."""
    box.evaluate(SETTLED)
    seen = box.evaluate(SEEN)
    assert len(seen) > 50
    assert None not in seen, "a blank place"
    for row, column, text in seen:
        assert text == format_number(array[row, column]), (row, column)
    if corner:
        assert list(corner) in [place[:2] for place in seen]


# ---- 64 × 64 -------------------------------------------------------------------------------------------------------


@pytest.fixture
def wide(workloads, show_on_page):
    """A page of attention between 64 tokens, 64 wide, at the scores, and NumPy's numbers for it."""
    arrays = workloads.wide()
    trace = attention_program(*arrays.values())
    page = show_on_page(player_html(trace, start="scores"))
    return page, arrays["query"] @ arrays["key"].T


def test_of_64_by_64_only_what_is_near_is_in_the_page_but_all_of_it_is_announced(wide):
    page, scores = wide
    box = grid(page, "scores")
    assert_seen(box, scores, (0, 0))
    drawn = box.get_by_role("gridcell").count()
    assert 100 < drawn < 64 * 64 / 4
    assert box.get_attribute("aria-rowcount") == "65"
    assert box.get_attribute("aria-colcount") == "65"
    assert box.evaluate("(box) => box.scrollHeight") > 64 * 26
    assert box.evaluate("(box) => box.scrollWidth") > 64 * 20


def test_by_keyboard_to_every_corner_of_64_by_64(wide):
    page, scores = wide
    box = grid(page, "scores")
    box.get_by_role("gridcell").first.focus()
    for keys, corner in (("Control+End", (63, 63)), ("Home", (63, 0)), ("Control+Home", (0, 0)), ("End", (0, 63))):
        page.keyboard.press(keys)
        assert_seen(box, scores, corner)
        at = box.evaluate("""(box) => { const cell = box.getRootNode().activeElement;
          return [cell.parentNode.ariaRowIndex - 2, cell.ariaColIndex - 2, cell.textContent]; }""")
        assert at == [*corner, format_number(scores[corner])]
        assert api(page, "return player.cell") == ["output", list(corner)]
    for _ in range(8):
        page.keyboard.press("PageDown")
    assert_seen(box, scores, (63, 63))


def test_by_wheel_to_the_end_of_64_by_64_and_back_without_a_blank_place(wide):
    page, scores = wide
    box = grid(page, "scores")
    box.evaluate("(box) => box.scrollIntoView({ block: 'center' })")
    box.hover()
    for way in (1, -1):
        for _ in range(12):
            page.mouse.wheel(137 * way, 211 * way)
            assert_seen(box, scores)
        for _ in range(6):
            page.mouse.wheel(900 * way, 900 * way)
        assert_seen(box, scores, (63, 63) if way > 0 else (0, 0))
    assert box.get_by_role("gridcell").count() < 64 * 64 / 4


def test_an_edit_far_off_in_64_by_64_reaches_what_follows_from_it(workloads, wide):
    page, scores = wide
    box = grid(page, "query")
    box.get_by_role("gridcell").first.click()
    page.keyboard.press("Control+End")
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    arrays = workloads.wide()
    arrays["query"][63, 63] = 5
    assert api(page, "return player.edits") == [["query", [63, 63], 5]]
    expected = arrays["query"] @ arrays["key"].T
    assert not np.allclose(expected, scores)
    np.testing.assert_allclose(api(page, "return player.values('scores')"), expected, rtol=0, atol=1e-11)
    result = grid(page, "scores")
    api(page, "player.look([63, 63])")
    assert_seen(result, expected, (63, 63))
    assert {row for row, *_ in result.evaluate("""(box) => [...box.querySelectorAll('.cell.changed')]
      .map((cell) => [cell.parentNode.ariaRowIndex - 2])""")} == {63}


# ---- 16 heads ------------------------------------------------------------------------------------------------------


@pytest.fixture
def sixteen(workloads, show_on_page):
    """A page of self-attention with 16 heads, and what NumPy gives: the weights (head, src, src), and what they mix."""
    trace = workloads.sixteen_heads()
    page = show_on_page(player_html(trace, start="weights"))
    x = trace["query"]
    parts = {}
    for name in ("w_q", "w_k", "w_v"):
        projected = x @ trace[f"{name}.weight"] + trace[f"{name}.bias"]
        parts[name] = projected.reshape(12, 16, 4).transpose(1, 0, 2)
    scores = parts["w_q"] @ parts["w_k"].transpose(0, 2, 1) / 2
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    return page, weights, weights @ parts["w_v"]


def test_each_of_16_heads_is_shown_by_keyboard_as_numpy_computes_it(sixteen):
    page, weights, _ = sixteen
    picker = page.get_by_role("combobox", name="head")
    assert picker.locator("option").count() == 16
    box = grid(page, "weights")
    assert box.get_attribute("aria-rowcount") == "13"
    picker.focus()
    for head in range(16):
        assert picker.evaluate("(select) => select.selectedIndex") == head
        shown = [row.locator("[role=gridcell]").all_inner_texts() for row in box.get_by_role("row").all()[1:]]
        assert shown == [[format_number(x) for x in row] for row in weights[head]]
        page.keyboard.press("ArrowDown")
    assert picker.evaluate("(select) => select.selectedIndex") == 15


def test_the_walk_back_crosses_from_the_merged_columns_into_their_head(sixteen):
    page, weights, mixed = sixteen
    api(page, "player.goto(player.session.positions.get(player.session.program.find('merged_heads')))")
    api(page, "player.look([3, 37])")
    page.get_by_role("button", name="Where does it come from?").click()
    page.keyboard.press("Enter")
    assert api(page, "return player.cell") == ["output", [9, 3, 1]]
    value = api(page, "return player.scene.chosenCell().value")
    np.testing.assert_allclose(value, mixed[9, 3, 1], rtol=0, atol=1e-12)
    assert page.get_by_role("combobox", name="head").evaluate("(select) => select.selectedIndex") == 9
    page.keyboard.press("Enter")
    slot, index = api(page, "return player.cell")
    assert (slot, index[:2]) == ("output", [9, 3])
    np.testing.assert_allclose(api(page, "return player.scene.chosenCell().value"), weights[9, 3, index[2]], atol=1e-12)


# ---- 500 steps -----------------------------------------------------------------------------------------------------


def test_507_steps_by_keyboard_to_the_last_and_its_numbers(workloads, show_on_page):
    trace = workloads.many_steps(22)
    page = show_on_page(player_html(trace))
    last = len(trace.steps) - 1
    assert last == 506
    page.locator(".steps button[aria-current]").focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    assert page.locator("stepformer-player").get_attribute("data-step") == str(last)
    shown = page.locator(".steps button[aria-current]")
    assert page.evaluate("""() => { const root = document.querySelector('stepformer-player').shadowRoot;
      return root.activeElement === root.querySelector('.steps button[aria-current]'); }""")
    page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
    # A list scrolls by whole pixels, and its end may lie between two.
    assert shown.evaluate("""(button) => { const list = button.closest('.steps').lastChild.getBoundingClientRect();
      const { top, bottom } = button.getBoundingClientRect(); return top >= list.top && bottom < list.bottom + 1; }""")
    name = trace.tensors[trace.steps[last].output].name
    np.testing.assert_allclose(api(page, f"return player.values({name!r})"), trace[name], rtol=0, atol=1e-11)
    box = grid(page, "output").last
    cells = [row.locator("[role=gridcell]").all_inner_texts() for row in box.get_by_role("row").all()[1:]]
    assert cells == [[format_number(x) for x in row] for row in trace[name]]
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    api(page, "player.goto(506); player.previous()")
    assert page.locator("stepformer-player").get_attribute("data-step") == "505"


def test_an_edit_in_the_last_of_507_steps_reaches_the_last_and_marks_what_is_between(workloads, show_on_page):
    trace = workloads.many_steps(22)
    page = show_on_page(player_html(trace))
    leaf = "encoder.layers.21.feed_forward.w_2.bias"
    bias = trace[leaf].copy()
    bias[2] = 40
    api(page, f"player.set({leaf!r}, [2], 40); player.goto(506)")
    expected = trace.run({leaf: bias})
    names = [trace.tensors[step.output].name for step in trace.steps]
    changed = [name for name in names if not np.allclose(expected[name], trace[name], rtol=0, atol=1e-9)]
    assert names[-1] in changed
    assert 2 < len(changed) < 10
    for name in names[-10:]:
        np.testing.assert_allclose(api(page, f"return player.values({name!r})"), expected[name], rtol=0, atol=1e-11)
    marked = page.locator(".steps button.step.changed").evaluate_all("all => all.map((button) => button.title)")
    assert marked == changed
