"""Question mode: a number is hidden wherever it would stand, wrong answers are named, and everyone can be asked."""

import re

import numpy as np
import pytest
from chromium import DESKTOP, PHONE
from helpers import LONG, ROOT, require_node, toc_files
from probe import DEEP_FOCUS, api, attention_program, load_deferred
from test_access import axe

from stepformer import examples, leaf, ops, record
from stepformer.widgets import player_html

# d_k = 4. scores [[2, 4], [0, 6]], scaled by 2: [[1, 2], [0, 3]].
QUERY = [[1.0, 1, 0, 0], [0, 0, 1, 1]]
KEY = [[2.0, 0, 0, 0], [2, 2, 3, 3]]
VALUE = [[1.0, 0], [0, 10]]
# softmax of (1, 2): exp(-1) / (1 + exp(-1)) = 0.3679 / 1.3679
WEIGHT = 0.26894142137

# All that stands in the shadow root: texts, attributes, and what is typed into fields.
EVERYTHING = """host => {
  const found = [];
  for (const node of host.shadowRoot.querySelectorAll('*')) {
    if (node.tagName === 'STYLE') continue;
    for (const { name, value } of node.attributes) found.push(`${name}=${value}`);
    if ('value' in node) found.push(`value ${node.value}`);
    for (const child of node.childNodes) if (child.nodeType === 3) found.push(child.data);
  }
  return found;
}"""


@pytest.fixture
def asked(show_on_page):
    """A page with the attention above at a step."""

    def asked(start="weights", trace=None, **options):
        return show_on_page(player_html(trace or attention_program(QUERY, KEY, VALUE), start=start), **options)

    return asked


def ask(page, options="{}"):
    api(page, f"return player.ask({options})")
    return page.get_by_role("group", name="A question about this result")


def answer(page, *texts):
    fields = page.locator(".ask-field")
    for i, text in enumerate(texts):
        fields.nth(i).fill(text)
    fields.first.press("Enter")
    return page.locator(".ask [role=status]").inner_text()


def spoken(page):
    """Every name and value of the accessibility tree, as Chromium gives it to a screen reader."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    return [str(node.get(part, {}).get("value", "")) for node in nodes for part in ("name", "value", "description")]


# ---- what is hidden ------------------------------------------------------------------------------------------------
def leaks(page, number):
    """Where a number stands: in the shadow root, or in what a screen reader is given."""
    host = page.locator("stepformer-player").first
    pattern = re.compile(rf"(?<![\d.]){re.escape(number)}\d*(?!\d)")
    return [text for text in (*host.evaluate(EVERYTHING), *spoken(page)) if pattern.search(text)]


@pytest.mark.parametrize(
    ("start", "cell", "number"), [("weights", [0, 0], "0.27"), ("scores", [1, 1], "6.00"), ("output", [0, 1], "7.31")]
)
def test_the_hidden_number_stands_nowhere(asked, start, cell, number):
    page = asked(start)
    api(page, f"player.look({cell})")
    # It is the largest of its matrix in two of three: the scale would tell it as well.
    assert len(leaks(page, number)) >= 2
    ask(page)
    assert leaks(page, number) == []
    cell = page.locator(".cell.chosen")
    assert cell.inner_text() == "?"
    assert cell.get_attribute("aria-label") == "hidden, you are asked for it"
    assert cell.get_attribute("title") is None
    assert not re.search("positive|negative|share", cell.get_attribute("class"))
    # Nor does it come back while the reader moves about, types, or wants to see the arithmetic.
    page.get_by_role("gridcell", name="hidden, you are asked for it").focus()
    for key in ("w", "c", "Enter"):
        page.keyboard.press(key)
        assert leaks(page, number) == [], key
    answer(page, "99")
    api(page, "player.look([0, 0], 0)")
    assert leaks(page, number) == []
    # The answer brings it back, with its arithmetic.
    assert answer(page, number).replace("✓", "").strip().startswith("Right")
    assert len(leaks(page, number)) >= 2
    assert page.get_by_role("group", name="How the chosen cell is computed").is_visible()


def test_a_saved_table_does_not_tell(asked):
    page = asked("weights")
    ask(page, "{cell: [0, 0]}")
    page.get_by_text("Share", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save matrix (CSV)").click()
    rows = download.value.path().read_text(encoding="utf-8").splitlines()
    assert rows[1].split(",")[1] == '"?"'
    assert float(rows[1].split(",")[2]) == pytest.approx(1 - WEIGHT)


def test_a_filled_hand_out_waits_for_the_answer(asked):
    page = asked()
    page.evaluate("() => { window.print = () => { window.printed = (window.printed ?? 0) + 1; }; }")
    question = ask(page)
    for kind in ("filled", "both"):
        api(page, f"return player.handout('{kind}')")
    assert "Answer first" in question.get_by_role("status").inner_text()
    assert page.evaluate("window.printed") is None
    api(page, "return player.handout('blank')")
    page.wait_for_function("window.printed === 1")


@pytest.mark.parametrize("cell", ["[0.5, 0]", "[0, NaN]", "'00'", "[0, 5]", "[0]", "null"])
def test_a_cell_that_does_not_exist_is_refused_and_the_next_one_asked(asked, cell):
    page = asked()
    ask(page, f"{{cell: {cell}}}")
    if cell != "null":  # the chosen one, then
        assert "no cell that can be asked about" in page.get_by_role("alert").inner_text()
    ask(page, "{cell: [0, 0]}")
    assert answer(page, "0.27").endswith("The arithmetic below is the way there.")


def test_another_head_on_show_is_another_question(asked):
    with record() as trace:
        x = leaf("x", np.round(np.random.default_rng(5).normal(size=(4, 6)), 2), ("tgt", "d_model"))
        ops.softmax(ops.split_heads(x, n_heads=2))
    page = asked(1, trace)
    ask(page, "{cell: [0, 1, 2]}")
    page.locator(".slice label").nth(1).click()
    assert api(page, "return player.question.cell[1]") == [1, 1, 2]
    assert page.locator(".cell.asked").count() == 1


def test_nothing_is_marked_before_the_first_hint(asked):
    page = asked()
    assert page.locator(".cell.lit").count() == 2
    ask(page)
    assert page.locator(".cell.lit").count() == 0
    page.get_by_role("button", name="Hint 1 of 3").click()
    assert page.locator(".cell.lit").count() == 2
    assert api(page, "return player.question.hints") == 1


# ---- answers -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("start", "cell", "text", "said"),
    [
        ("scaled_scores", [0, 1], "4", "without the scaling"),
        ("scaled_scores", [0, 1], "1", "divided by the width itself"),
        # exp(2) / (exp(2) + exp(4)) = 0.1192
        ("weights", [0, 0], "0.12", "without the scaling"),
        # column (1, 0): exp(1) / (exp(1) + 1) = 0.7311, which stands in the same row as well
        ("weights", [0, 0], "0,73", "down the columns"),
        ("weights", [0, 0], "2.72", "exponential alone"),
        ("weights", [0, 0], "-0.27", "the sign is not"),
        ("weights", [0, 0], "27", "per cent"),
        # the average of the rows of value with unscaled weights: 10 · 0.8808
        ("output", [0, 1], "8.81", "without the scaling"),
        ("scores", [1, 1], "-inf", "It is not −∞"),
        ("weights", [0, 0], "0.5", "Not yet"),
        ("weights", [0, 0], "a", "is not a number"),
    ],
)
def test_a_wrong_answer_is_named(asked, start, cell, text, said):
    page = asked(start)
    ask(page, f"{{cell: {cell}}}")
    assert said in answer(page, text)
    assert api(page, "return player.question.answered") is False
    assert page.locator(".cell.asked").inner_text() == "?"


@pytest.mark.parametrize("text", ["0.27", "0,27", "0.2689", "7/26"])
def test_a_right_answer_in_the_forms_that_readers_type(asked, text):
    page = asked()
    ask(page, "{cell: [0, 0]}")
    assert "at the first try" in answer(page, text)
    assert api(page, "return player.question") == {
        "cell": ["attention.weights", [0, 0]],
        "row": False,
        "hints": 0,
        "answered": True,
    }
    assert "Asked: 1. Right at the first try: 1. Hints: 0." in page.locator(".ask").inner_text()


def test_three_hints_lead_to_the_number_and_do_not_tell_it(asked):
    page = asked("scores")
    box = ask(page, "{cell: [1, 1]}")
    for i in (1, 2, 3):
        page.get_by_role("button", name=f"Hint {i} of 3").click()
    hints = box.get_by_role("listitem").all_inner_texts()
    # 0 · 2 + 0 · 2 + 1 · 3 + 1 · 3 = 6
    assert hints[0].startswith("Row 1 of query meets column 1 of key_transposed.")
    assert hints[1] == "Work this out: 0.00 · 2.00 + 0.00 · 2.00 + 1.00 · 3.00 + 1.00 · 3.00"
    assert hints[2].endswith("= 3.00 so far; one term is left: 1.00 · 3.00")
    assert leaks(page, "6.00") == []
    assert "found the last step yourself" in answer(page, "6")


def test_a_row_says_which_positions_are_right(asked):
    page = asked()
    ask(page, "{cell: [0, 0], row: true}")
    assert page.locator(".cell.asked").count() == 2
    assert "Right so far: 1 of 2" in answer(page, "0.27", "0.5")
    assert page.locator(".ask-field[aria-invalid]").count() == 1
    # One mistake behind the whole row is said once: unscaled (0.1192, 0.8808).
    assert answer(page, "0.12", "0.88").replace("✗", "").strip().startswith("That comes out without the scaling")
    assert "adds up to 1" in answer(page, "0.4", "0.9")
    assert "Right." in answer(page, "0.27", "0.73")


def test_masks_and_words_are_chosen_from_a_list(asked):
    with record() as trace:
        x = leaf("x", [[1.0, 2], [3, 4], [5, 6]], ("tgt", "d"))
        ops.causal_mask(x, x)
    page = asked(0, trace)
    ask(page, "{cell: [0, 2]}")
    field = page.locator(".ask-field")
    assert field.locator("option").all_inner_texts() == ["choose …", "masked", "may attend"]
    page.get_by_role("button", name="Check").click()
    assert "Choose an answer first" in page.locator(".ask [role=status]").inner_text()
    field.select_option("may attend")
    page.get_by_role("button", name="Check").click()
    assert "Look at what decides" in page.locator(".ask [role=status]").inner_text()
    field.select_option("masked")
    page.get_by_role("button", name="Check").click()
    assert "Right" in page.locator(".ask [role=status]").inner_text()


def test_minus_infinity_has_a_button(asked):
    with record() as trace:
        scores = leaf("scores", [[1.0, 2], [3, 4]], ("tgt", "src"))
        ops.mask(scores, leaf("allowed", [[True, False], [True, True]], ("tgt", "src")))
    page = asked(0, trace)
    ask(page, "{cell: [0, 1]}")
    assert "What does a masked score become" in answer(page, "7")
    page.get_by_role("button", name=re.compile("^Write −∞")).click()
    page.get_by_role("button", name="Check").click()
    assert "Right" in page.locator(".ask [role=status]").inner_text()


# ---- moving about --------------------------------------------------------------------------------------------------
def test_by_keyboard_alone(asked):
    page = asked()
    page.get_by_role("gridcell").last.focus()
    page.keyboard.press("q")
    page.locator(".ask-field").wait_for()
    assert page.evaluate(DEEP_FOCUS) == "input"
    first = api(page, "return player.question.cell[1]")
    page.keyboard.type("0.5")
    page.keyboard.press("Enter")
    assert page.evaluate(DEEP_FOCUS) == "input"
    page.get_by_role("button", name="Show me").press("Enter")
    assert page.get_by_role("button", name="Next question").evaluate("button => button.matches(':focus')")
    page.keyboard.press("Enter")
    assert api(page, "return player.question.cell[1]") != first
    assert page.evaluate(DEEP_FOCUS) == "input"
    page.keyboard.press("Escape")
    assert api(page, "return player.question") is None
    assert page.locator(".ask").count() == 0
    assert page.get_by_role("group", name="How the chosen cell is computed").is_visible()
    assert page.evaluate(DEEP_FOCUS) == "gridcell"


def test_another_cell_is_one_where_a_slip_does_not_pass_for_right(asked):
    # weights[汤姆, Tom] of chapter 05: 0.876 along the row, 0.880 down the column
    page = asked(trace=examples.attention())
    question = ask(page, "{cell: [0, 0]}")
    assert "A well-known slip gives nearly the same number" in answer(page, "0.88")
    seen = set()
    for _ in range(11):
        ask(page, "{another: true}")
        seen.add(tuple(api(page, "return player.question.cell[1]")))
    assert len(seen) > 3
    assert (0, 0) not in seen
    assert question.is_visible()


def test_a_lecture_is_not_interrupted_by_a_question(asked):
    page = asked()
    api(page, "return player.present(true)")
    api(page, "return player.ask()")
    assert api(page, "return player.question") is None
    assert page.locator(".ask").count() == 0


def test_everyone_is_asked_the_same(asked):
    def cells(page):
        found = []
        for _ in range(4):
            ask(page, "{another: true}")
            found.append(api(page, "return player.question.cell[1]"))
        return found

    assert cells(asked()) == cells(asked())


def test_a_digit_typed_on_the_cell_goes_into_the_field(asked):
    page = asked()
    ask(page, "{cell: [0, 0]}")
    page.locator(".cell.asked").focus()
    page.keyboard.type("0.27")
    page.keyboard.press("Enter")
    assert "at the first try" in page.locator(".ask [role=status]").inner_text()
    assert api(page, "return player.edits") == []


def test_another_cell_that_is_chosen_is_asked_for_and_an_edit_ends_it(asked):
    page = asked()
    ask(page, "{cell: [0, 0]}")
    api(page, "player.look([1, 1])")
    assert api(page, "return player.question.cell[1]") == [1, 1]
    assert page.locator(".cell.asked").count() == 1
    api(page, "player.set('query', [0, 0], 5)")
    assert api(page, "return player.question") is None
    assert page.locator(".cell.asked").count() == 0
    assert page.get_by_role("group", name="How the chosen cell is computed").is_visible()


def test_stepping_leaves_the_question_or_asks_the_next(asked):
    page = asked("scores")
    ask(page)
    api(page, "player.next()")
    assert api(page, "return player.question") is None
    ask(page)
    page.get_by_label("Ask at every step").check()
    api(page, "player.next()")
    assert api(page, "return player.question.cell[0]") == "attention.weights"
    assert page.locator(".cell.asked.chosen:visible").count() == 1
    api(page, "player.previous()")
    assert api(page, "return player.question.cell[0]") == "attention.scaled_scores"


def test_a_result_set_by_hand_is_not_asked_for(asked):
    page = asked("scores")
    api(page, "player.set('scores', [0, 0], 5)")
    api(page, "return player.ask()")
    assert api(page, "return player.question") is None
    assert "no arithmetic leads to it" in page.get_by_role("alert").inner_text()


def test_a_folded_block_opens(asked):
    page = asked(0, examples.transformer())
    api(
        page,
        "const [block] = player.session.blocks.all; player.fold([block.path]); player.showBlock(block)",
    )
    ask(page)
    assert page.locator(".cell.asked").count() == 1
    assert api(page, "return player.session.block") is None


# ---- every reader --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_question_mode(asked, scheme):
    require_node("axe-core")
    page = asked(color_scheme=scheme, viewport=DESKTOP)
    page.evaluate("scheme => { document.documentElement.style.colorScheme = scheme }", scheme)
    assert api(page, "return getComputedStyle(player.host).colorScheme") == scheme
    page.evaluate((ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    for options in ("{cell: [0, 0]}", "{cell: [0, 0], row: true}"):
        ask(page, options)
        assert axe(page, ["stepformer-player"]) == []
    page.get_by_role("button", name="Hint 1 of 3").click()
    answer(page, "0.27", "5")
    assert axe(page, ["stepformer-player"]) == []
    page.get_by_role("button", name="Show me").click()
    assert axe(page, ["stepformer-player"]) == []


@pytest.mark.parametrize("width", [390, 320])
def test_a_phone_does_not_scroll_sideways_and_targets_are_large(asked, width):
    page = asked(viewport={**PHONE, "width": width})
    ask(page, "{cell: [0, 0], row: true}")
    page.get_by_role("button", name="Hint 1 of 3").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = [
        target.bounding_box()
        for target in page.locator(".ask :is(button, .ask-field, label)").all()
        if target.is_visible()
    ]
    assert len(boxes) >= 7
    assert all(box["height"] >= 24 and box["width"] >= 24 for box in boxes)


# Of the pages, `make test` asks in four and `make test-all` in each.
ASKED = [name for name in toc_files() if LONG or name.split("/")[-1][:2] in ("05", "06", "08", "11")]


@pytest.mark.parametrize("name", ASKED)
def test_axe_finds_nothing_in_a_page_that_asks(name, served, open_page):
    require_node("axe-core")
    page = open_page(f"{served}/{name}.html", color_scheme="light", viewport=DESKTOP)
    load_deferred(page)
    if not page.locator("stepformer-player").count():
        return
    page.evaluate((ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    count = page.locator("stepformer-player").count()
    for nth in range(count):
        api(page, "return player.ask({another: true})", nth)
    assert page.locator(".ask").count() >= 1
    assert axe(page, ["stepformer-player"]) == []
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark]")
    assert axe(page, ["stepformer-player"], runOnly=["color-contrast"]) == []
