"""What leaves the player: a link to its state, the state as NumPy, a picture, a table, the player for another page."""

import csv
import json
import re
import shutil
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers import ROOT, require_node
from probe import SCRIPT, api, attention_program, write_page
from test_access import axe

from stepformer import examples as example_programs
from stepformer import leaf, mistakes, ops, record
from stepformer.formatting import format_number
from stepformer.widgets import player_html

HTML_TOKENS = ["</svg><script>document.title = 'run'</script>", '=1+"2"', "a\nb', __import__('os')", "&amp;"]
STATE = """const {step, folded, cell, comparing, edits, breaks} = player;
           return {step, folded, cell, comparing, edits, breaks};"""


def copied(page, button, nth=0):
    """The text that a button of the menu copies."""
    player = page.locator("stepformer-player").nth(nth)
    if not player.get_by_role("button", name="Copy as NumPy").is_visible():
        player.get_by_text("Share", exact=True).click()
    player.get_by_role("button", name=button).click()
    player.get_by_text(re.compile("^(Copied|The browser does not)")).wait_for()
    return player.get_by_role("textbox", name="What was copied").input_value()


def saved(page, button):
    """The text of the file that a button of the menu saves."""
    if not page.get_by_role("button", name=button).is_visible():
        page.get_by_text("Share", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    assert page.get_by_text(f"Saved as {download.value.suggested_filename}.").is_visible()
    return download.value.path().read_text(encoding="utf-8")


@pytest.fixture
def pages(tmp_path, open_page):
    """A page of two players with known mistakes, its address, and the way to open it again."""
    html = player_html(example_programs.attention().with_breaks(*mistakes.ATTENTION), start="scores")
    address = write_page(tmp_path, html, html)

    def open_again(mark=""):
        page = open_page(address + mark)
        page.wait_for_selector("stepformer-player[data-ready]")
        return page

    return open_again


# ---- links ---------------------------------------------------------------------------------------------------------
def test_a_link_brings_back_step_cell_edits_and_switches(pages):
    page = pages()
    name = mistakes.ATTENTION[1].name
    api(page, "player.set('query', [0, 1], -2.5); player.set('scores', [1, 2], 0.123456789012345)", nth=1)
    api(page, f"player.break({name!r}); player.next(); player.next(); player.look([2, 1]); player.compare()", nth=1)
    told = api(page, STATE, nth=1)
    assert told["edits"]
    assert told["breaks"] == [name]
    assert told["comparing"]
    link = copied(page, "Copy link", nth=1)

    other = pages(link[link.index("#") :])
    other.wait_for_selector(f"stepformer-player:nth-of-type(2)[data-step='{told['step']}']")
    assert api(other, STATE, nth=1) == told
    assert api(other, "return player.values('output')", nth=1) == api(page, "return player.values('output')", nth=1)
    assert api(other, "return player.edits", nth=0) == []
    assert other.locator("[role=alert]:not(:empty)").count() == 0
    assert other.evaluate("document.querySelectorAll('stepformer-player')[1].getBoundingClientRect().top < 450")
    api(other, "player.undo()", nth=1)
    assert api(other, "return player.edits.length + player.breaks.length", nth=1) == 0


def test_a_link_to_the_page_that_is_open_is_followed_too(pages):
    page = pages()
    api(page, "player.set('query', [0, 1], 7)")
    link = copied(page, "Copy link")
    api(page, "player.reset()")
    page.evaluate("(link) => { location.href = link }", link)
    page.wait_for_function("document.querySelector('stepformer-player').player.edits.length === 1")


def test_a_link_that_does_not_fit_leaves_edits_and_folded_blocks(open_page, tmp_path):
    def opened(trace):
        page = open_page(write_page(tmp_path, player_html(trace)))
        page.wait_for_selector("stepformer-player[data-ready]")
        return page

    page = opened(example_programs.attention())
    api(page, "player.set('query', [0, 1], 7)")
    link = copied(page, "Copy link")
    whole = example_programs.transformer()
    table = next(whole.tensors[i].name for i in whole.leaves if whole.arrays[i].ndim == 2)
    page = opened(whole)
    scope = api(page, "return player.session.blocks.all[0].path")
    api(page, f"player.toggle({scope!r}); player.set({table!r}, [0, 0], 7)")
    before = api(page, STATE)
    assert before["folded"]
    assert before["edits"]
    page.evaluate("(link) => { location.hash = link }", link[link.index("#") :])
    page.get_by_role("alert").filter(has_text="nothing was changed").wait_for()
    after = api(page, STATE)
    assert {name: after[name] for name in ("folded", "edits", "breaks", "step")} == {
        name: before[name] for name in ("folded", "edits", "breaks", "step")
    }


def test_a_damaged_link_and_one_of_other_numbers_open_the_page_with_a_notice(pages, tmp_path, open_page):
    page = pages()
    api(page, "player.set('query', [0, 1], 7)")
    mark = copied(page, "Copy link").split("#")[1]
    for damaged in (
        mark[:-30],
        "stepformer=",
        "stepformer=!!!",
        f"stepformer={'A' * 40_000}",
        mark[:40] + "A" + mark[41:],
    ):
        other = pages(f"#{damaged}")
        notice = other.get_by_role("alert").filter(has_text="The link to this page").first
        notice.wait_for()
        assert api(other, "return player.edits.length") == 0

    def elsewhere(trace):
        other = open_page(f"{write_page(tmp_path, player_html(trace))}#{mark}")
        notice = other.get_by_role("alert").filter(has_text="The link to this page").first
        notice.wait_for()
        return other, notice.inner_text()

    trace = example_programs.attention()
    query = trace["query"].copy()
    query[0, 0] += 1
    with_other_numbers = attention_program(query, trace["key"], trace["value"])
    other, said = elsewhere(with_other_numbers)
    assert "with other numbers" in said
    assert api(other, "return player.edits") == [["query", [0, 1], 7]]
    other, said = elsewhere(example_programs.padded_input())
    assert "does not fit" in said
    assert "nothing was changed" in said
    assert api(other, "return player.edits") == []


def test_the_player_goes_to_another_page_with_its_state(pages, tmp_path, open_page):
    page = pages()
    api(page, "player.set('query', [0, 1], 7); player.goto(3)")
    snippet = copied(page, "Copy to embed")
    assert snippet.count("<script ") == 2
    assert SCRIPT.as_uri() in snippet
    path = tmp_path / "elsewhere.html"
    path.write_text(f'<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">{snippet}', encoding="utf-8")
    other = open_page(path.as_uri())
    other.wait_for_selector("stepformer-player[data-ready][data-step='3']")
    assert api(other, STATE) == api(page, STATE)


def test_a_menu_that_cannot_be_loaded_says_so_and_is_tried_again_when_opened_anew(tmp_path, open_page):
    page_text = (
        write_page(tmp_path, player_html(example_programs.attention())) and (tmp_path / "probe.html").read_text()
    )
    (tmp_path / "probe.html").write_text(page_text.replace(SCRIPT.as_uri(), SCRIPT.name), encoding="utf-8")
    shutil.copy(SCRIPT, tmp_path)
    share = SCRIPT.with_name("stepformer-share.js")
    page = open_page((tmp_path / "probe.html").as_uri(), permit=(share.name, "ERR_FILE_NOT_FOUND"))
    page.get_by_text("Share", exact=True).click()
    page.get_by_role("alert").filter(has_text=share.name).wait_for()
    shutil.copy(share, tmp_path)
    page.get_by_text("Share", exact=True).click()
    page.get_by_text("Share", exact=True).click()
    page.get_by_role("button", name="Copy link").wait_for()


# ---- code ----------------------------------------------------------------------------------------------------------
def names_of_python():
    """A program whose tensors are called as what the copied code itself uses."""
    with record() as trace:
        x = leaf("float", [[0.5, 1.0], [2.0, 3.0]], ("n", "m"))
        ids = leaf("int", [1, 0], "n", vocabulary=("a", "b"))
        mask = leaf("bool", [[True, False], [True, True]], ("n", "m"))
        masked = ops.mask(x, mask, name="len")
        weights = ops.softmax(masked, name="sum")
        ops.hardmax(ops.add(weights, x, name="enumerate"), name="max")
        ops.one_hot(ids, vocab_size=2, name="divmod", axes=("n", "word"))
    return trace


PROGRAMS = {
    "attention": example_programs.attention().with_breaks(*mistakes.ATTENTION),
    "heads": example_programs.multi_head_attention(),
    "tokens": example_programs.padded_input(),
    "whole": example_programs.transformer(),
    "names": names_of_python(),
}


def run(code):
    """What the code leaves behind."""
    left = {}
    exec(compile(code, "copied", "exec"), left)
    return left


def test_the_copied_code_computes_in_python_what_the_page_shows(show_on_page, capsys):
    page = show_on_page(*map(player_html, PROGRAMS.values()))
    for nth, trace in enumerate(PROGRAMS.values()):
        computed = [step.output for step in trace.steps]
        leaf = next(
            x.name for i, x in enumerate(trace.tensors) if i not in computed and trace[x.name].dtype.kind == "f"
        )
        result = trace.tensors[computed[2]].name
        for tensor, value in ((leaf, 0.75), (result, 0.5)):
            place = [0] * trace[tensor].ndim
            value = False if trace[tensor].dtype.kind == "b" else value
            assert api(page, f"return player.set({tensor!r}, {place}, {json.dumps(value)})", nth=nth)
        if trace.breaks:
            assert api(page, f"return player.break({trace.breaks[0].name!r})", nth=nth)
        code = copied(page, "Copy as NumPy", nth=nth)
        assert "stepformer" not in code
        left = run(code)
        assert capsys.readouterr().out.strip(), "the code prints the result on show"
        for tensor in trace.tensors:
            shown = api(page, f"return player.values({tensor.name!r})", nth=nth)
            variable = tensor.name.replace(".", "_")
            variable = variable if isinstance(left.get(variable), np.ndarray) else f"{variable}_"
            np.testing.assert_allclose(left[variable].astype(float), np.array(shown, dtype=float), rtol=0, atol=1e-9)


# ---- picture and table ---------------------------------------------------------------------------------------------
def test_the_picture_holds_every_number_on_show_and_the_table_every_decimal(pages):
    trace = example_programs.attention()
    page = pages()
    page.evaluate("document.querySelectorAll('stepformer-player')[1].remove()")
    api(page, "player.set('query', [0, 1], -2.5)")
    query = trace["query"].copy()
    query[0, 1] = -2.5
    now = trace.run({"query": query})
    svg = ElementTree.fromstring(saved(page, "Save picture (SVG)"))
    texts = [element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")]
    for name in ("query", "key_transposed", "scores"):
        for value in now[name].flat:
            assert format_number(value) in texts
    assert {"query", "key_transposed", "scores", "汤姆", "Jerry"} <= set(texts)
    colours = json.loads((ROOT / "src" / "stepformer" / "colours.json").read_text(encoding="utf-8"))
    corners = list(svg.iter("{http://www.w3.org/2000/svg}path"))
    assert len(corners) == np.count_nonzero(now["scores"] != trace["scores"]) + 1
    assert {corner.get("fill") for corner in corners} == {colours["changed"][0].lower()}

    head, *rows = csv.reader(saved(page, "Save matrix (CSV)").splitlines())
    assert head[1:] == ["Tom", "chase", "Jerry"]
    given = [[float(x) for x in row[1:]] for row in rows]
    np.testing.assert_allclose(given, now["scores"], rtol=0, atol=1e-12)


def test_words_are_text_in_picture_table_and_code(show_on_page):
    numbers = np.arange(8.0).reshape(4, 2)
    page = show_on_page(
        player_html(attention_program(numbers, numbers, numbers, HTML_TOKENS, HTML_TOKENS), start="weights")
    )
    svg = ElementTree.fromstring(saved(page, "Save picture (SVG)"))
    assert not [
        element.tag for element in svg.iter() if element.tag.split("}")[1] not in ("svg", "rect", "text", "path")
    ]
    table = saved(page, "Save matrix (CSV)")
    assert "'=1+" in table, "a spreadsheet must not compute a word"
    run(copied(page, "Copy as NumPy"))
    assert page.title() == "Probe"


@pytest.mark.parametrize("width", [320, 1280])
def test_the_menu_fits_the_page_opens_by_key_and_axe_finds_nothing(width, show_on_page):
    require_node("axe-core")
    page = show_on_page(player_html(example_programs.attention()), viewport={"width": width, "height": 800})
    page.locator("[role=gridcell]").first.focus()
    page.keyboard.press("s")
    page.get_by_role("button", name="Copy as NumPy").click()
    text = page.get_by_role("textbox", name="What was copied")
    text.press("]")
    assert api(page, "return player.step") == 0, "keys in the text are not the player's"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for button in page.locator("button:visible, summary:visible").all():
        box = button.bounding_box()
        assert min(box["width"], box["height"]) >= 24, button.inner_text()
    page.evaluate((ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    assert axe(page, ["stepformer-player"]) == []
