"""The player for every reader: the help, what a screen reader is told, focus, touch, forced colours, and languages."""

import json
import re

import numpy as np
import pytest
from chromium import DESKTOP, PHONE
from interface_texts import all_tables
from probe import DEEP_FOCUS, SCRIPT, api, attention_program, page_text, tab_to
from stepformer_book.ledger import model_ledger_html
from touch import TOO_SMALL

from stepformer import examples as example_programs
from stepformer import leaf, mistakes, ops, record
from stepformer.formatting import format_number
from stepformer.timeline import timeline
from stepformer.widgets import player_html

WORDS = ["Tom", "chase", "Jerry"]
COLOURS = "<style>:root { color-scheme: light dark; background: Canvas }</style><h1>Probe</h1>"


def said(page):
    """What a screen reader is told."""
    return page.locator("[aria-live=polite]").first.text_content()


def cell(page, name, row, column):
    """A cell of a small matrix on show."""
    rows = page.locator(f"[role=grid]:visible[aria-label^='{name}:'] [role=row]:has([role=gridcell])")
    return rows.nth(row).locator("[role=gridcell]").nth(column)


@pytest.fixture
def attention(show_on_page):
    """A page with the running example and its known mistakes, at its second step."""
    trace = example_programs.attention().with_breaks(*mistakes.ATTENTION)
    return show_on_page(COLOURS + player_html(trace, start="scores"))


@pytest.fixture
def chase(show_on_page):
    """Numbers that can be checked by hand: the scores of Tom, chase and Jerry."""
    numbers = [[1, 0], [2, -0.5], [0, 3]]
    return show_on_page(player_html(attention_program(numbers, numbers, numbers, WORDS, WORDS), start="scores"))


# ---- the help ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["Escape", "?", "button", "outside"])
def test_the_help_opens_over_the_page_and_gives_the_focus_back(way, attention):
    tab_to(attention, "gridcell")
    focused = "({shadowRoot}) => [shadowRoot.activeElement.row, shadowRoot.activeElement.column]"
    attention.keyboard.press("ArrowRight")
    before = attention.locator("stepformer-player").evaluate(focused)
    attention.keyboard.press("?")
    dialog = attention.get_by_role("dialog", name="Keyboard")
    assert dialog.evaluate("e => e.matches(':modal')")
    if way == "button":
        dialog.get_by_role("button", name="Close").click()
    elif way == "outside":
        attention.mouse.click(4, 4)
    else:
        attention.keyboard.press(way)
    assert dialog.count() == 0
    assert attention.locator("stepformer-player").evaluate(focused) == before


def test_a_click_inside_the_help_or_a_key_there_does_nothing_to_the_player(attention):
    attention.get_by_role("button", name="Keyboard").click()
    dialog = attention.get_by_role("dialog", name="Keyboard")
    dialog.get_by_text("Stepping").click()
    for key in ("]", "p", "r", "c", "Control+z"):
        attention.keyboard.press(key)
    assert dialog.is_visible()
    state = api(attention, "return [player.step, player.playing, player.comparing]")
    assert state == [1, False, False]
    attention.keyboard.press("Escape")
    assert attention.evaluate(DEEP_FOCUS) == "button"


# 640: a window of 1280 at 200 %.
@pytest.mark.parametrize("width", [320, 640, 1280])
def test_the_help_fits_the_window_and_scrolls_inside(width, show_on_page):
    page = show_on_page(player_html(example_programs.attention()), viewport={"width": width, "height": 400})
    page.get_by_role("button", name="Keyboard").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Keyboard")
    box = dialog.bounding_box()
    assert 0 <= box["x"] <= width - box["width"]
    assert 0 <= box["y"] <= 400 - box["height"]
    assert dialog.evaluate("e => e.scrollWidth <= e.clientWidth && e.scrollHeight > e.clientHeight")
    last = dialog.locator("kbd").last
    last.scroll_into_view_if_needed()
    assert last.evaluate("e => e.getBoundingClientRect().bottom <= innerHeight")


# ---- what a screen reader is told ----------------------------------------------------------------------------------


def test_a_cell_is_said_with_its_place_its_value_and_its_arithmetic_in_words(chase):
    cell(chase, "scores", 1, 0).click()
    assert said(chase) == "scores, row chase, column Tom: 2.00, from 2.00 times 1.00 plus minus 0.50 times 0.00."
    cell(chase, "query", 1, 1).click()
    assert said(chase) == "query, row chase, column 1: minus 0.50."
    api(chase, "player.next()")
    assert said(chase) == "Step 3 of 5: scaled_scores, by scale."
    cell(chase, "scaled_scores", 2, 1).click()
    assert said(chase) == (
        "scaled_scores, row Jerry, column chase: minus 1.06, from minus 1.50 over the square root of 2."
    )
    api(chase, "player.next()")
    cell(chase, "weights", 0, 1).click()
    assert re.fullmatch(
        r"weights, row Tom, column chase: 0\.\d\d, from "
        r"e to the power of open bracket 1\.41 minus max close bracket over total\.",
        said(chase),
    )


def test_masks_and_what_they_hide_are_said_in_words(show_on_page):
    with record() as trace:
        scores = leaf("scores", [[1.0, 2.0], [3.0, 4.0]], ("query", "key"))
        allowed = leaf("allowed", [[True, False], [True, True]], ("query", "key"))
        ops.mask(scores, allowed, name="masked_scores")
    page = show_on_page(player_html(trace))
    cell(page, "masked_scores", 0, 1).click()
    assert said(page) == (
        "masked_scores, row 0, column 1: minus infinity. Refused by the mask, therefore minus infinity."
    )
    cell(page, "allowed", 1, 0).click()
    assert said(page) == "allowed, row 1, column 0: may attend."
    page.keyboard.press("Space")
    assert said(page) == "allowed, row 1, column 0 is now masked. Results changed: 1."
    assert cell(page, "masked_scores", 1, 0).get_attribute("aria-label") == "−∞, changed from 3.00 to −∞"


def test_arithmetic_with_roots_squares_and_long_sums_has_no_sign_that_is_passed_over(show_on_page):
    rng = np.random.default_rng(5)
    with record() as trace:
        x = leaf("x", rng.normal(size=(2, 11)).round(2), ("token", "d"))
        normed = ops.layer_norm(x, leaf("gain", np.ones(11), ("d",)), leaf("bias", np.zeros(11), ("d",)), name="normed")
        ops.matmul(normed, leaf("W", rng.normal(size=(11, 2)).round(2), ("d", "e")), name="out")
        ops.softmax(leaf("s", rng.normal(size=(2, 3)).round(2), ("token", "e3")), name="p")
        ops.gelu(leaf("g", rng.normal(size=(2, 3)).round(2), ("token", "e3")), name="g_out")
        ops.tanh(leaf("h", rng.normal(size=(2, 3)).round(2), ("token", "e3")), name="h_out")
    page = show_on_page(player_html(trace))
    heard = []
    for step in range(5):
        api(page, f"player.goto({step}); player.look([1, 1])")
        heard.append(said(page))
    assert all(", from " in text for text in heard)
    assert [text for text in heard if re.search(r"[−·/√∞²^()+×]|  | ,", text)] == []
    assert "plus 3 more terms plus" in heard[1]
    assert "the square root of" in heard[0]
    assert "the hyperbolic tangent of" in heard[4]


def test_switches_undo_and_comparison_are_said(attention):
    one, two = mistakes.ATTENTION[:2]
    attention.get_by_role("switch", name=one.name).check()
    assert said(attention) == f"On: {one.name}. What you see: {one.symptom} Switches on: 1."
    attention.get_by_role("switch", name=two.name).check()
    assert said(attention).endswith("Switches on: 2.")
    attention.keyboard.press("c")
    assert said(attention) == "scores, before and after."
    attention.get_by_role("switch", name=one.name).uncheck()
    assert said(attention) == f"Off: {one.name}. Switches on: 1."
    attention.keyboard.press("Control+z")
    assert said(attention) == "Undone. Edits left: 0; switches left: 2."
    attention.keyboard.press("Control+Shift+z")
    assert said(attention) == "Done again. Edits: 0; switches on: 1."


def test_tokens_are_said_as_words(show_on_page):
    with record() as trace:
        table = leaf("table", [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], ("word", "d"))
        ops.embed(leaf("tokens", [0, 2], ("src",), vocabulary=WORDS), table, name="rows")
    page = show_on_page(player_html(trace))
    api(page, "player.look([1], 0)")
    assert said(page) == "tokens, position 1: Jerry."


def test_walking_back_puts_the_focus_on_links_that_say_where_they_lead(chase):
    cell(chase, "scores", 1, 0).click()
    chase.keyboard.press("w")
    terms = chase.get_by_role("group", name="What makes this number")
    names = [re.sub(r"\s+", " ", text) for text in terms.get_by_role("button").all_inner_texts()]
    assert names[:2] == ["key_transposed[0, Tom] 1.00", "query[chase, 0] 2.00"]
    assert chase.evaluate(DEEP_FOCUS) == "button"
    chase.keyboard.press("Tab")
    chase.keyboard.press("Enter")
    assert said(chase) == "query, row chase, column 0: 2.00."


def test_the_grid_gives_each_cell_its_headers(chase):
    """Chromium's own accessibility tree: what it hands to a screen reader."""
    tree = chase.context.new_cdp_session(chase).send("Accessibility.getFullAXTree")["nodes"]
    nodes = {node["nodeId"]: node for node in tree}

    def text(node):
        return node.get("name", {}).get("value", "")

    def role(node):
        return node.get("role", {}).get("value")

    def below(node, wanted):
        found = []
        for child in map(nodes.get, node.get("childIds", [])):
            if child:
                found += [child] if role(child) == wanted else below(child, wanted)
        return found

    grid = next(node for node in tree if role(node) == "grid" and text(node).startswith("scores"))
    assert text(grid) == "scores: 3 × 3, rows tgt, columns src"
    head, *rows = below(grid, "row")
    assert [text(node) for node in below(head, "columnheader")] == WORDS
    assert [[text(node) for node in below(row, "rowheader")] for row in rows] == [[word] for word in WORDS]
    assert [[text(node) for node in below(row, "gridcell")] for row in rows] == [
        ["1.00", "2.00", "0.00"], ["2.00", "4.25", "−1.50"], ["0.00", "−1.50", "9.00"],
    ]  # fmt: skip
    assert [text(node) for node in tree if role(node) == "switch"] == []
    unnamed = [role(node) for node in tree if role(node) in ("button", "link", "slider", "combobox") and not text(node)]
    assert unnamed == []


# ---- focus, touch, colours -----------------------------------------------------------------------------------------

# The focused element, whether its focus can be seen, and where it lies.
FOCUS = """() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  if (!at || at === document.body) return null;
  const colour = (text) => {
    const paint = new OffscreenCanvas(1, 1).getContext('2d');
    paint.fillStyle = text;
    paint.fillRect(0, 0, 1, 1);
    return [...paint.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const look = at.matches('.slice input') ? at.nextElementSibling : at;
  const {outlineStyle, outlineWidth, outlineColor, borderColor, borderWidth} = getComputedStyle(look);
  let behind = look.parentNode;
  const solid = (e) => e instanceof Element && colour(getComputedStyle(e).backgroundColor)[3] === 255;
  while (behind && !solid(behind)) behind = behind.assignedSlot ?? behind.parentNode ?? behind.host;
  const paper = behind ? getComputedStyle(behind).backgroundColor : 'white';
  const [a, b] = [outlineColor, paper].map((c) => light(colour(c))).sort((x, y) => y - x);
  const box = look.getBoundingClientRect();
  // What lies at its middle is itself, a part of it, or its label.
  const root = at.getRootNode();
  const top = root.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  if (!at.dataset.seen) at.dataset.seen = String(++window.stops || (window.stops = 1));
  return {
    what: at.outerHTML.slice(0, 80), stop: at.dataset.seen,
    visible: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2, contrast: (a + 0.05) / (b + 0.05),
    inView: box.width > 0 && box.top >= -1 && box.left >= -1 && box.bottom <= innerHeight + 1 &&
      box.right <= innerWidth + 1,
    covered: !(top && (look.contains(top) || top.contains(look))),
    y: box.top + scrollY, x: box.left,
  };
}"""


@pytest.mark.parametrize(("viewport", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone, dark"])
def test_tab_goes_through_the_whole_player_and_the_focus_is_always_seen(viewport, scheme, show_on_page):
    trace = example_programs.attention().with_breaks(*mistakes.ATTENTION)
    html = COLOURS + "<a href='#'>before</a>" + player_html(trace, start="scores") + "<a href='#'>after</a>"
    page = show_on_page(html, viewport=viewport, color_scheme=scheme)
    api(page, "player.set('query', [0, 0], 5); player.look([1, 1])")
    page.get_by_role("button", name="Where does it come from?").click()
    page.get_by_text("Share", exact=True).click()
    page.get_by_role("button", name="Copy as NumPy").wait_for()
    page.get_by_role("link", name="before").focus()
    stops, problems = [], []
    while len(stops) < 120:
        page.keyboard.press("Tab")
        at = page.evaluate(FOCUS)
        if at is None or ">after<" in at["what"]:
            break
        assert at["stop"] not in [stop["stop"] for stop in stops], "the focus went in a circle"
        stops.append(at)
        for wanted in (at["visible"], at["contrast"] >= 3, at["inView"], not at["covered"]):
            if not wanted:
                problems.append(at)
                break
    assert problems == []
    assert ">after<" in (at or {"what": ""})["what"], "Tab leaves the player at its end"
    seen = " ".join(stop["what"] for stop in stops)
    for part in ("gridcell", 'type="range"', "switch", "summary", "The keys", 'class="go"', "step", "reset", "undo"):
        assert part in seen, part
    # All the way back again, through the same stops.
    back = []
    for _ in stops:
        page.keyboard.press("Shift+Tab")
        back.append(page.evaluate(FOCUS)["stop"])
    assert back == [stop["stop"] for stop in reversed(stops)]


def test_the_help_keeps_the_focus_inside_and_shows_it(attention):
    attention.keyboard.press("Tab")
    tab_to(attention, "gridcell")
    attention.keyboard.press("?")
    at = attention.evaluate(FOCUS)
    assert "Close" in at["what"]
    assert at["visible"]
    assert at["contrast"] >= 3
    inside = "document.querySelector('stepformer-player').shadowRoot.activeElement?.closest('dialog') !== null"
    for _ in range(4):
        attention.keyboard.press("Tab")
        focused = attention.evaluate("document.activeElement.tagName")
        assert focused == "BODY" or attention.evaluate(inside), "behind the dialog nothing takes the focus"


def elements():
    """Each of our elements that needs no data beside it."""
    trace = example_programs.attention().with_breaks(*mistakes.ATTENTION)
    return {
        "player": lambda: player_html(trace, start="weights"),
        "ledger": model_ledger_html,
        "timeline": lambda: timeline("small").html(),
    }


@pytest.mark.parametrize("kind", elements())
def test_a_finger_can_hit_whatever_can_be_touched(kind, show_on_page):
    page = show_on_page(elements()[kind](), viewport=PHONE, has_touch=True, is_mobile=True)
    element = page.locator(f"stepformer-{kind}")
    if kind == "player":
        api(page, "player.set('query', [0, 0], 5); player.look([1, 1])")
        page.get_by_role("button", name="Where does it come from?").click()
        page.locator(".drawer").click()
        page.get_by_role("switch").first.check()
    element.evaluate("e => e.shadowRoot.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert element.evaluate(TOO_SMALL) == []


def test_with_forced_colours_marks_are_told_apart_by_their_form(attention):
    attention.emulate_media(forced_colors="active")
    api(attention, "player.set('query', [0, 0], 5); player.next(); player.look([0, 0]); player.previous()")
    cell(attention, "scores", 1, 1).click()
    looks = attention.locator("[role=gridcell]").evaluate_all("""all => Object.fromEntries(all.map((one) => {
      const mark = ['chosen', 'lit', 'fed', 'changed'].filter((name) => one.classList.contains(name)).join(' ');
      const own = getComputedStyle(one), after = getComputedStyle(one, '::after');
      return [mark, [own.outlineStyle, own.outlineWidth, after.content === 'none' ? '' : after.borderWidth].join(' ')];
    }))""")
    assert {"", "chosen", "lit", "changed"} <= set(looks)
    assert len({looks[mark] for mark in ("", "chosen", "lit", "changed")}) == 4, looks
    cell(attention, "query", 1, 1).click()
    fed = attention.locator(".cell.fed:not(.chosen)").first.evaluate("e => getComputedStyle(e).outlineStyle")
    assert fed == "dotted"
    current = attention.locator("[aria-current=step]").evaluate("e => getComputedStyle(e).outlineStyle")
    assert current == "solid"


# ---- other languages -----------------------------------------------------------------------------------------------


@pytest.fixture
def show_in(tmp_path, open_page):
    """Open a page in another language, with a script before ours: `show_in("de", html, script="…")`."""

    def show_in(lang, html, script="", **options):
        text = page_text(html, folder=f"{SCRIPT.parent.as_uri()}/").replace('lang="en"', f'lang="{lang}"')
        text = text.replace("<script defer", f"<script>{script}</script>\n<script defer", 1)
        path = tmp_path / f"{lang}.html"
        path.write_text(text, encoding="utf-8")
        page = open_page(path.as_uri(), **options)
        page.wait_for_selector("[data-ready]", state="attached")
        return page

    return show_in


ALL_TEXTS = """(e) => {
  const found = [];
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) found.push(node.data);
    for (const name of ['aria-label', 'title', 'aria-valuetext', 'placeholder'])
      if (node.getAttribute?.(name)) found.push(node.getAttribute(name));
    node.childNodes.forEach(walk);
  };
  walk(e.shadowRoot);
  return found;
}"""


def pseudo(text):
    """A text whose every letter is another one; places and the bar of the help stay."""
    parts = re.split(r"(\{\w+\})", text)
    return "".join(part if part.startswith("{") else re.sub(r"[A-Za-z]", "ø", part) for part in parts)


def test_another_language_needs_a_table_and_no_code(show_in):
    tables = {name: {key: pseudo(text) for key, text in texts.items()} for name, texts in all_tables().items()}
    script = f"globalThis.stepformerLanguages = {{ xx: {json.dumps(tables)} }};"
    trace = example_programs.attention().with_breaks(*mistakes.ATTENTION)
    html = player_html(trace, start="scores")
    # What the author of a program wrote, and the names in arithmetic, are its own words.
    data = set(re.findall(r"[A-Za-z]{2,}", html)) | {"max", "exp", "dim"}
    page = show_in("xx-Latn", html, script)
    player = page.locator("stepformer-player")
    left = set()

    def listen():
        for text in player.evaluate(ALL_TEXTS):
            left.update(word for word in re.findall(r"[A-Za-z]{2,}", text) if word not in data)

    for step in range(5):
        api(page, f"player.goto({step}); player.look([1, 1])")
        listen()
    page.keyboard.press("Tab")
    for act in (
        "player.set('query', [0, 0], 5)", "player.break(player.session.program.breaks[0].name)", "player.compare()",
        "player.compare(false)", "player.undo()", "player.redo()", "player.play()", "player.pause()",
        "player.set('query', [0, 0], 'x')", "player.help.open()",
    ):  # fmt: skip
        api(page, act)
        listen()
    page.keyboard.press("Escape")
    api(page, "player.goto(4)")
    cell(page, "output", 1, 1).click()
    page.keyboard.press("w")
    page.locator("summary").first.click()
    page.locator("details .tools button").first.wait_for()
    listen()
    assert left <= ENGINE, left - ENGINE


# The engine's refusals of values that no control of ours can give.
ENGINE = {"finite", "number", "was", "expected", "not"}


def test_what_a_language_lacks_is_shown_in_english(show_in):
    script = "globalThis.stepformerLanguages = { 'zh-Hant': { player: { next: '下一步' } } };"
    page = show_in("zh-hant-TW", player_html(example_programs.attention()), script)
    assert page.get_by_role("button", name="下一步").count() == 1
    assert page.get_by_role("button", name="Previous step").count() == 1


def test_numbers_are_written_read_and_said_as_the_language_does(show_in):
    with record() as trace:
        x = leaf("x", [[1.5, -0.25], [1234.5, 2.0]], ("row", "column"))
        ops.multiply(x, x, name="y")
    page = show_in("de", player_html(trace))
    assert cell(page, "x", 0, 0).inner_text() == "1,50"
    assert cell(page, "x", 0, 1).inner_text() == "−0,25"
    cell(page, "y", 0, 1).click()
    assert said(page) == "y, row 0, column 1: 0,06, from minus 0,25 times minus 0,25."
    cell(page, "x", 0, 0).click()
    for typed, value in (("1,5", 1.5), ("1.5", 1.5), ("1.234", 1234), ("1.234,5", 1234.5), ("0,125", 0.125)):
        page.keyboard.press("Enter")
        page.locator("input[type=text]").fill(typed)
        page.keyboard.press("Enter")
        assert api(page, "return player.values('x')")[0][0] == value, typed
    page.keyboard.press("Enter")
    assert page.locator("input[type=text]").input_value() == "0,125"
    page.keyboard.press("Escape")
    page.get_by_text("Share", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save matrix (CSV)").click()
    assert "-0.25" in download.value.path().read_text(encoding="utf-8"), "files keep the point"


TYPED = [("en", "1,234", 1234), ("zh", "1,234", 1234), ("en", "0,25", 0.25), ("zh-CN", "1,5", 1.5),
         ("x-odd!", "1.5", 1.5), ("", "2,5", 2.5)]  # fmt: skip


@pytest.mark.parametrize(("lang", "typed", "value"), TYPED)
def test_english_and_chinese_pages_write_numbers_as_python_does(lang, typed, value, show_in):
    page = show_in(lang, player_html(example_programs.attention(), start="scores"))
    scores = example_programs.attention()["scores"]
    assert cell(page, "scores", 1, 2).inner_text() == format_number(scores[1, 2])
    cell(page, "query", 0, 0).click()
    page.keyboard.press("Enter")
    page.locator("input[type=text]").fill(typed)
    page.keyboard.press("Enter")
    assert api(page, "return player.values('query')")[0][0] == value


def test_counts_are_grouped_and_read_as_the_language_does(show_in):
    page = show_in("de", model_ledger_html())
    ledger = page.locator("stepformer-ledger")
    english = show_in("en", model_ledger_html()).locator(".lg-table td").first.inner_text()
    assert re.fullmatch(r"\d{1,3}(,\d{3})+", english)
    assert page.locator(".lg-table td").first.inner_text() == english.replace(",", ".")
    vocabulary = ledger.get_by_label(re.compile("^src_vocab_size"))
    vocabulary.fill("37.000")
    assert ledger.get_attribute("data-invalid") is None
