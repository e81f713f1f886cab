"""The classroom: a lecture that fills the screen, and hand-outs on paper."""

import numpy as np
import pytest
from helpers import ROOT, require_node
from probe import SHOWN, api
from test_access import axe

from stepformer import examples as example_programs
from stepformer import leaf, mistakes, ops, record
from stepformer.formatting import format_number
from stepformer.widgets import player_html

SCREENS = {"720p": (1280, 720), "1080p": (1920, 1080), "4:3": (1024, 768)}
PROGRAMS = {
    "05": example_programs.attention,
    "08": example_programs.multi_head_attention,
    "11": example_programs.encoder_layer,
}
LECTURE = "stepformer-player dialog.screen[open]"
# Whether all of the step is in sight, the smallest number on show in pixels, and the step.
LOOK = """() => {
  const {player} = document.querySelector('stepformer-player');
  const room = player.stage.parentElement;
  const frame = room.getBoundingClientRect();
  const inside = player.equation.matrices.every(({element, box}) => {
    const place = element.getBoundingClientRect();
    return place.right <= frame.right + 1 && place.bottom <= frame.bottom + 1 && box.scrollWidth <= box.clientWidth + 1
      && place.left >= frame.left - 1 && place.top >= frame.top - 1;
  });
  const sizes = player.equation.matrices.map(({box}) => {
    const cell = box.querySelector('.cell');
    return parseFloat(getComputedStyle(cell).fontSize) * cell.getBoundingClientRect().height / cell.offsetHeight;
  });
  return {inside, size: Math.min(...sizes), step: player.step, scrolls: room.scrollHeight > room.clientHeight + 1};
}"""
KEEP_OPEN = "window.printed = 0; window.print = () => { window.printed += 1 }; null"
HANDOUT = ".stepformer-handout"


def step(page, nth=0):
    return api(page, "return player.step", nth=nth)


@pytest.fixture
def lecture(show_on_page):
    """A page with a player in a lecture."""

    def lecture(trace, start=0, **options):
        page = show_on_page(player_html(trace, start=start), **options)
        page.locator("[role=gridcell]").first.focus()
        page.keyboard.press("l")
        page.wait_for_selector(LECTURE)
        return page

    return lecture


# ---- the lecture -----------------------------------------------------------------------------------------------------
def test_each_key_is_one_step_and_leaves_nothing_else(lecture):
    page = lecture(example_programs.attention())
    for key, expected in [
        ("ArrowRight", 1), ("ArrowDown", 2), (" ", 3), ("PageDown", 4), ("PageDown", 4), ("ArrowLeft", 3),
        ("ArrowUp", 2), ("PageUp", 1), ("Backspace", 0), ("Backspace", 0), ("Enter", 1), ("End", 4), ("Home", 0),
    ]:  # fmt: skip
        page.keyboard.press(key)
        assert step(page) == expected, key
    page.keyboard.type("4")
    assert step(page) == 0
    assert page.get_by_text("Go to step 4: press Enter.").is_visible()
    page.keyboard.press("Enter")
    assert step(page) == 3
    # Keys that mean something else in the player and its matrices.
    for key in ("r", "p", "[", "?", "s", "5", "Escape"):
        page.keyboard.press(key)
    assert api(page, "return [player.edits.length, player.playing]") == [0, False]


def test_a_folded_block_is_one_step_and_stays_folded(lecture):
    page = lecture(example_programs.transformer())
    path, first = api(
        page, "const {path, first} = player.session.blocks.all[0]; player.fold([path]); return [path, first]"
    )
    page.keyboard.press("End")
    page.keyboard.press("Home")
    page.keyboard.type(str(first + 1))
    page.keyboard.press("Enter")
    assert api(page, "return [player.folded, player.session.block.path]") == [[path], path]
    page.keyboard.press("PageUp")
    assert step(page) == first - 1


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("chapter", PROGRAMS)
def test_every_step_is_in_sight_and_large(chapter, screen, lecture):
    width, height = SCREENS[screen]
    page = lecture(PROGRAMS[chapter](), viewport={"width": width, "height": height})
    steps = api(page, "return player.session.steps.length")
    sizes = []
    for i in range(steps):
        look = page.evaluate(LOOK)
        assert look["step"] == i
        assert look["inside"], look
        assert not look["scrolls"], look
        sizes.append(look["size"])
        page.keyboard.press("PageDown")
    assert min(sizes) >= 11, sizes
    if chapter == "05" and screen != "4:3":
        assert min(sizes) >= 26 * height / 720, sizes
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_notes_are_hidden_and_e_or_a_click_shows_the_arithmetic(lecture):
    page = lecture(example_programs.attention().with_breaks(*mistakes.ATTENTION), start="scores")
    dialog = page.locator(LECTURE)
    assert dialog.get_by_role("grid").count() == 3
    for hidden in (".steps", ".breaks", ".footer", ".transport"):
        assert dialog.locator(hidden).count() == 0
    panel = dialog.locator(".panel")
    assert not panel.is_visible()
    before = api(page, "return player.cell[1]")
    page.keyboard.press("Shift+ArrowDown")
    assert api(page, "return player.cell[1]") == [before[0] + 1, before[1]], "the first press moves already"
    page.keyboard.press("Shift+ArrowUp")
    assert api(page, "return player.cell[1]") == before
    page.keyboard.press("e")
    assert panel.is_visible()
    assert page.evaluate(LOOK)["inside"]
    page.keyboard.press("e")
    assert not panel.is_visible()
    cell = dialog.locator(".term:last-child .cell").nth(4)
    cell.click()
    assert panel.is_visible()
    assert api(page, "return player.cell") == ["output", [1, 1]]
    cell = dialog.locator(".cell.chosen")
    cell.click()
    cell.click()
    assert page.locator("stepformer-player input[type=text]").count() == 0, "a lecture edits nothing"
    page.keyboard.press("Shift+ArrowRight")
    assert api(page, "return [player.step, ...player.cell[1]]") == [1, 1, 2]


def test_a_result_waits_for_the_next_key(lecture):
    page = lecture(example_programs.attention())
    result = page.locator(LECTURE).locator(f"{SHOWN} .term:last-child .cell").first
    page.keyboard.press("h")
    assert not result.is_visible()
    page.keyboard.press("e")
    assert not page.locator(LECTURE).locator(".panel").is_visible(), "the arithmetic would tell"
    page.keyboard.press("e")
    page.keyboard.press("PageDown")
    assert (step(page), result.is_visible()) == (0, True)
    page.keyboard.press("PageDown")
    assert (step(page), result.is_visible()) == (1, False)
    page.keyboard.press("PageUp")
    assert (step(page), result.is_visible()) == (0, True)
    page.keyboard.press("h")
    page.keyboard.press("PageDown")
    assert (step(page), result.is_visible()) == (1, True)


def test_keys_go_on_after_a_click_on_a_cell_that_is_hidden_then(lecture):
    page = lecture(example_programs.attention())
    page.locator(LECTURE).locator(".term:last-child .cell").first.click()
    page.keyboard.press("h")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert step(page) == 1
    page.keyboard.press("Escape")
    page.wait_for_function("!document.querySelector('stepformer-player').shadowRoot.querySelector('dialog[open]')")


def test_blank_invert_and_the_list_of_keys(lecture):
    page = lecture(example_programs.attention())
    room = page.locator(LECTURE).locator(".room")
    page.keyboard.press("b")
    assert not room.is_visible()
    page.keyboard.press("PageDown")
    assert room.is_visible()
    assert step(page) == 0, "the key that brings the picture back is no step"
    player = "document.querySelector('stepformer-player').player"
    paper = f"getComputedStyle({player}.stage.closest('.lecture')).backgroundColor"
    light = page.evaluate(paper)
    page.keyboard.press("i")
    assert page.evaluate(paper) != light
    page.keyboard.press("i")
    assert page.evaluate(paper) == light
    assert page.get_by_text("go to step 7").count() == 0 or not page.get_by_text("go to step 7").is_visible()
    page.keyboard.press("t")
    assert page.get_by_text("go to step 7").is_visible()
    page.keyboard.press("t")
    assert not page.get_by_text("go to step 7").is_visible()


SHAPE = """const copy = (node) => node.nodeType === 3 ? node.data
             : node === player.voice.element ? 'voice' : node.localName + '.' + node.className
             + '{' + (node.getAttribute('style') ?? '') + '}[' + [...node.childNodes].map(copy).join('') + ']';
           return copy(player.element)"""


@pytest.mark.parametrize("way", ["Escape", "Leave", "method"])
def test_after_it_the_page_is_as_before(way, show_on_page):
    filler = "<p style='height: 700px'>text</p>"
    page = show_on_page(filler, player_html(example_programs.attention(), start="scores"), filler)
    page.locator(".term:last-child [role=gridcell]").nth(3).click()
    page.evaluate("scrollTo(0, 520)")
    before = [api(page, SHAPE), page.evaluate("scrollY"), api(page, "return player.cell")]
    page.keyboard.press("l")
    page.wait_for_selector(LECTURE)
    assert api(page, SHAPE) != before[0]
    assert page.evaluate("document.fullscreenElement?.localName") == "stepformer-player"
    if way == "method":
        api(page, "return player.present(false)")
    elif way == "Leave":
        page.get_by_role("button", name="Leave").click()
    else:
        # The browser's own key leaves the whole screen, which a script cannot press.
        page.evaluate("document.exitFullscreen()")
    page.wait_for_selector("dialog.screen", state="detached")
    page.wait_for_function("document.fullscreenElement === null")
    assert [api(page, SHAPE), page.evaluate("scrollY"), api(page, "return player.cell")] == before
    assert api(page, "return player.matrix.hasFocus")
    page.keyboard.press("]")
    assert step(page) == 2
    page.keyboard.press("l")
    page.wait_for_selector(LECTURE)


def test_escape_leaves_where_the_whole_screen_is_refused(show_on_page):
    page = show_on_page(player_html(example_programs.attention()))
    page.evaluate("Element.prototype.requestFullscreen = () => Promise.reject(new TypeError('refused')); null")
    page.get_by_text("Classroom", exact=True).click()
    page.get_by_role("button", name="Present").click()
    page.wait_for_selector(LECTURE)
    assert page.evaluate(LOOK)["inside"]
    page.keyboard.press("PageDown")
    page.keyboard.press("t")
    page.keyboard.press("Escape")
    assert page.locator(LECTURE).count() == 1, "the first Escape closes the list"
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog.screen", state="detached")
    assert step(page) == 1


def test_of_two_players_one_presents(show_on_page):
    html = player_html(example_programs.attention())
    page = show_on_page(html, html)
    api(page, "return player.present()", nth=0)
    api(page, "return player.present()", nth=1)
    assert page.locator(LECTURE).count() == 1
    page.keyboard.press("PageDown")
    assert [step(page, 0), step(page, 1)] == [0, 1]
    api(page, "return player.present(false)", nth=0)
    assert page.locator(LECTURE).count() == 1, "the other one presents on"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(scheme, lecture):
    require_node("axe-core")
    page = lecture(example_programs.attention(), start="scores", color_scheme=scheme)
    page.keyboard.press("t")
    page.keyboard.press("e")
    page.evaluate((ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    assert axe(page, ["stepformer-player"]) == []
    for button in page.locator(LECTURE).get_by_role("button").all():
        if button.is_visible():
            box = button.bounding_box()
            assert min(box["width"], box["height"]) >= 24, button.inner_text()


# ---- the hand-out ----------------------------------------------------------------------------------------------------
@pytest.fixture
def printed(show_on_page):
    """A page as a printer sees it after the reader asked for a hand-out, and the texts of its table cells."""

    def printed(page, kind, nth=0):
        page.evaluate(KEEP_OPEN)
        api(page, f"return player.handout({kind!r})", nth=nth)
        assert page.evaluate("window.printed") == 1
        page.emulate_media(media="print")
        return page.locator(f"{HANDOUT} article")

    return printed


def cells(article):
    return article.locator("td:not(:empty)").all_inner_texts()


def results(trace, now=None):
    """Every number of every result, as the page writes it."""
    return [format_number(x) for s in trace.steps for x in (now or trace)[trace.tensors[s.output].name].flat]


def test_blank_holds_what_is_given_and_a_box_for_every_result(show_on_page, printed):
    trace = example_programs.attention()
    page = show_on_page(player_html(trace, start="weights"), color_scheme="dark")
    article = printed(page, "blank")
    given = [format_number(x) for i in trace.leaves for x in trace.arrays[i].flat]
    assert sorted(cells(article)) == sorted(given)
    assert article.locator("td.box").count() == len(results(trace))
    assert article.locator("td.box:not(:empty)").count() == 0
    assert article.locator("h2").all_inner_texts() == [
        f"Step {i}. {trace.tensors[s.output].name.split('.')[-1]}" for i, s in enumerate(trace.steps, 1)
    ]
    for text in ("Name", "Date", "CC BY 4.0", "From “Probe”", "汤姆"):
        assert article.get_by_text(text).first.is_visible(), text
    assert not page.locator("stepformer-player").is_visible()
    assert step(page) == 3, "the player stays where it is"


def test_filled_holds_every_number_after_edits_and_switches(show_on_page, printed):
    trace = example_programs.attention().with_breaks(*mistakes.ATTENTION)
    page = show_on_page(player_html(trace))
    api(page, "player.set('query', [0, 1], -2.5)")
    article = printed(page, "filled")
    query = trace["query"].copy()
    query[0, 1] = -2.5
    now = trace.run({"query": query})
    assert sorted(cells(article)) == sorted(
        [format_number(x) for i in trace.leaves for x in now[trace.tensors[i].name].flat] + results(trace, now)
    )
    assert article.get_by_text("Cells edited: 1. Switched on: nothing.").is_visible()


def test_both_is_blank_and_on_new_pages_filled_and_paper_holds_it_alone(show_on_page, printed):
    page = show_on_page(player_html(example_programs.attention()), color_scheme="dark")
    before = page.evaluate("document.body.innerHTML")
    alone = page.pdf(format="A4")
    both = printed(page, "both")
    assert both.count() == 2
    assert both.nth(0).locator("td.box").count() > 0
    assert both.nth(1).locator("td.box").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    paper = page.pdf(format="A4")  # fires afterprint
    count = paper.count(b"/Type /Page\n")
    assert 3 <= count <= 6
    assert count > alone.count(b"/Type /Page\n")
    page.emulate_media(media="screen")
    assert page.locator(HANDOUT).count() == 0
    assert page.evaluate("document.body.innerHTML") == before
    assert page.title() == "Probe"
    # Twice, and the page itself prints as before.
    assert printed(page, "filled").count() == 1
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.pdf(format="A4").count(b"/Type /Page\n") == alone.count(b"/Type /Page\n")


def test_wide_tables_are_cut_large_ones_left_out_and_words_are_text(show_on_page, printed):
    word = "</style><img src=x onerror=\"document.title='run'\">"
    with record(title=word) as trace:
        wide = leaf("wide", np.arange(60.0).reshape(2, 30), ("n", "columns"))
        large = leaf("large", np.ones((30, 64)), ("columns", "model"))
        ops.matmul(wide, large, name="product")
    page = show_on_page(player_html(trace))
    article = printed(page, "filled")
    assert article.get_by_text("columns 11 to 20 of 30").is_visible()
    assert article.get_by_text("large has 30 × 64 numbers").is_visible()
    assert article.locator("figure").count() == 3 + 6
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("img").count() == 0
    assert page.title() == "Probe"


def test_a_long_computation_says_what_is_left_out_and_folding_prints_it_all(show_on_page, printed):
    trace = example_programs.transformer()
    page = show_on_page(player_html(trace))
    article = printed(page, "blank")
    assert article.locator("section").count() == 40
    assert article.get_by_text(f"1 to 40 of {len(trace.steps)}").is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    api(page, "player.fold(player.session.blocks.all.map(({path}) => path))")
    article = printed(page, "blank")
    assert article.locator("section").count() == len(
        api(page, "return [...new Set(player.session.steps.map((_, i) => player.session.blocks.shown(i)))]")
    )
    assert article.locator(".notice").count() == 0
