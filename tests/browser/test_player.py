"""The player on a static page: keyboard, edits, and the mistakes that viewers of attention are known for."""

import json
import re

import numpy as np
import pytest
from helpers import fault
from probe import DEEP_FOCUS, SCRIPT, api, attention_program, headings, tab_to, write_page

from stepformer import TraceError, leaf, mistakes, record
from stepformer import examples as example_programs
from stepformer.reference.attention import scaled_dot_product_attention
from stepformer.reference.multi_head_attention import multi_head_attention
from stepformer.widgets import player_html, show

HTML_TOKENS = ["<script>document.title = 'run'</script>", "a<b", "&amp;", "<unk>"]


# ---- by keyboard alone ---------------------------------------------------------------------------------------------


def test_step_find_a_cell_edit_it_and_reset_by_keyboard_alone(show_on_page):
    page = show_on_page(player_html(example_programs.attention()))
    element = page.locator("stepformer-player")
    first = api(page, "return player.values('output')")
    tab_to(page, "gridcell")
    page.keyboard.press("]")
    page.keyboard.press("]")
    assert element.get_attribute("data-step") == "2"
    page.keyboard.press("[")
    page.keyboard.press("[")
    assert element.get_attribute("data-step") == "0"

    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    assert api(page, "return player.edits") == [["attention.key_transposed", [1, 2], 2]]
    assert api(page, "return player.values('output')") != first
    assert page.evaluate(DEEP_FOCUS) == "gridcell", "after an edit the focus must be back in the matrix"

    page.keyboard.press("r")
    assert api(page, "return player.edits") == []
    assert api(page, "return player.values('output')") == first


def test_escape_keeps_the_old_value_and_text_that_is_no_number_is_refused_with_a_reason(show_on_page):
    page = show_on_page(player_html(example_programs.attention()))
    tab_to(page, "gridcell")
    page.keyboard.press("7")
    page.keyboard.press("Escape")
    assert api(page, "return player.edits") == []
    page.keyboard.press("Enter")
    page.keyboard.press("Control+A")
    page.keyboard.type("seven")
    page.keyboard.press("Enter")
    assert page.get_by_text("A number is needed").is_visible()
    assert api(page, "return player.edits") == []


def test_the_break_switches_are_reached_by_tab_and_flipped_by_space(show_on_page):
    page = show_on_page(player_html(example_programs.attention().with_breaks(*mistakes.ATTENTION)))
    before = api(page, "return player.values('weights')")
    tab_to(page, "switch")
    page.keyboard.press("Space")
    assert api(page, "return player.breaks") == [mistakes.ATTENTION[0].name]
    assert api(page, "return player.values('weights')") != before
    assert page.locator(".symptom").get_by_text(mistakes.ATTENTION[0].symptom).is_visible()
    assert page.get_by_text(mistakes.ATTENTION[0].caught_by).is_visible()


# ---- edits ---------------------------------------------------------------------------------------------------------


def test_the_page_computes_what_python_computes_after_an_edit(show_on_page):
    trace = example_programs.attention()
    page = show_on_page(player_html(trace))
    query = trace["query"].copy()
    query[1, 2] = -4.5
    api(page, "player.set('query', [1, 2], -4.5)")
    expected = trace.run({"query": query})
    for step in expected.steps:
        name = expected.tensors[step.output].name
        np.testing.assert_allclose(api(page, f"return player.values({name!r})"), expected[name], rtol=0, atol=1e-12)


def test_a_change_is_told_to_the_page_around_it(show_on_page):
    page = show_on_page(player_html(example_programs.attention()))
    heard = api(page, """
      const heard = [];
      document.addEventListener('stepformer:change', (event) => heard.push(event.detail));
      player.next(); player.set('query', [0, 0], 9);
      return heard;""")  # fmt: skip
    assert [detail["step"] for detail in heard] == [1, 1]
    assert heard[1]["edits"] == [["query", [0, 0], 9]]


def test_an_edit_that_can_not_be_computed_is_undone_and_said(show_on_page):
    page = show_on_page(player_html(example_programs.temperature()))
    before = api(page, "return player.values('weights')")
    api(page, "player.set('temperature', [], 0)")
    assert api(page, "return player.values('weights')") == before
    assert page.locator("[role=alert]").first.inner_text().strip()


def test_several_players_on_a_page_do_not_disturb_each_other(show_on_page):
    html = player_html(example_programs.attention())
    page = show_on_page(html, html)
    api(page, "player.next(); player.set('query', [0, 0], 9)", nth=0)
    assert api(page, "return [player.step, player.edits.length]", nth=1) == [0, 0]


# ---- known mistakes of viewers -------------------------------------------------------------------------------------


@fault("VIZ-01")
def test_tokens_are_text_never_html(show_on_page):
    numbers = np.arange(8.0).reshape(4, 2)
    html = player_html(attention_program(numbers, numbers, numbers, HTML_TOKENS, HTML_TOKENS), start="weights")
    page = show_on_page(html, java_script_enabled=True)
    assert page.title() == "Probe"
    assert headings(page, "row", "weights") == HTML_TOKENS
    assert headings(page, "column", "weights") == HTML_TOKENS
    scripts = page.evaluate("document.querySelectorAll('script:not([type])').length")
    assert scripts == 1, "a script element was made out of a token"


@fault("VIZ-01")
def test_tokens_are_text_in_the_fallback_too(tmp_path, open_page):
    numbers = np.arange(8.0).reshape(4, 2)
    address = write_page(tmp_path, player_html(attention_program(numbers, numbers, numbers, HTML_TOKENS, HTML_TOKENS)))
    page = open_page(address, java_script_enabled=False)
    shown = page.locator(".stepformer-fallback th").all_inner_texts()
    assert set(HTML_TOKENS) <= set(shown)


@fault("VIZ-04")
def test_numpy_scalars_and_arrays_become_plain_numbers_where_they_come_in(show_on_page):
    numbers = np.arange(6, dtype=np.float32).reshape(3, 2)
    player = show(attention_program(numbers, numbers, numbers, np.array(["a", "b", "c"]), np.array(["d", "e", "f"])))
    player.set("query", np.array([1, 0]), np.float32(0.5))
    assert json.loads(json.dumps(player.edits)) == [["query", [1, 0], 0.5]]
    bundle, _ = player._repr_mimebundle_()
    page = show_on_page(bundle["text/html"])
    assert api(page, "return player.values('query')") == numbers.tolist()


@fault("VIZ-06")
def test_rows_are_labelled_with_queries_and_columns_with_keys(show_on_page):
    tgt, src = ["汤姆", "追逐"], ["Tom", "chase", "Jerry"]
    rng = np.random.default_rng(5)
    program = attention_program(rng.normal(size=(2, 5)), rng.normal(size=(3, 5)), rng.normal(size=(3, 7)), tgt, src)
    page = show_on_page(player_html(program, start="weights"))
    assert headings(page, "row", "weights") == tgt
    assert headings(page, "column", "weights") == src


@fault("VIZ-06")
def test_a_wrong_number_of_labels_is_refused():
    with pytest.raises(TraceError, match="3"), record():
        leaf("query", np.zeros((2, 5)), ("tgt", "d_k"), {"tgt": ["a", "b", "c"]})


SAME_AS_MISSING = """(cell) => {
  const draw = (text) => {
    const canvas = document.createElement('canvas');
    const pen = canvas.getContext('2d');
    pen.font = getComputedStyle(cell).font;
    pen.fillText(text, 5, 40);
    return canvas.toDataURL();
  };
  const missing = draw(String.fromCodePoint(0x10FFFE));
  return [...cell.textContent.trim()].filter((character) => draw(character) === missing);
}"""


@fault("VIZ-08")
def test_chinese_is_drawn_and_emoji_reach_the_page_unharmed(show_on_page):
    words = ["我", "追逐", "🙂"]
    numbers = np.eye(3)
    page = show_on_page(player_html(attention_program(numbers, numbers, numbers, words, words), start="weights"))
    assert headings(page, "row", "weights") == words
    heads = page.locator("[role=grid][aria-label^='weights:'] [role=rowheader]")
    for word in words[:2]:
        assert heads.filter(has_text=word).evaluate(SAME_AS_MISSING) == [], f"{word} is drawn as empty boxes"


@fault("VIZ-09")
def test_our_script_loads_nothing():
    for path in SCRIPT.parent.iterdir():
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"https?://[\w./-]+", text)) <= {"http://www.w3.org/2000/svg"}, path.name
        # An import of a module, and not of the Python that a reader may copy.
        module = r"\bimport\s*[\w{*][^;\"']*?\bfrom\s*[\"']|\bimport\s*[\"']"
        assert not re.search(rf"\brequire\(|\bdefine\(\[|\bimport\(|@import|{module}", text), path.name


@fault("VIZ-12")
@pytest.mark.parametrize("wrong", [None, 0.5, np.eye(3), [[0.5]], (np.eye(2),), "weights"])
def test_what_is_not_a_trace_is_refused_with_what_is_expected(wrong):
    with pytest.raises((TypeError, ValueError), match=r"[Tt]race"):
        show(wrong)


@fault("VIZ-12")
def test_one_token_one_head_and_many_heads_are_shown(show_on_page):
    rng = np.random.default_rng(7)
    params = {}
    for name in ("w_q", "w_k", "w_v", "w_o"):
        params |= {f"{name}.weight": rng.normal(size=(6, 6)).round(2), f"{name}.bias": np.zeros(6)}
    elements = []
    for length, heads in ((1, 1), (1, 3), (4, 3)):
        with record() as trace:
            x = leaf("x", rng.normal(size=(length, 6)).round(2), ("src", "d_model"))
            leaves = {name: leaf(name, array, tuple("ab"[: array.ndim])) for name, array in params.items()}
            multi_head_attention(x, x, x, leaves, heads)
        elements.append(player_html(trace, start="weights"))
    page = show_on_page(*elements)
    assert page.locator("stepformer-player[data-ready]").count() == 3
    assert np.shape(api(page, "return player.values('weights')", nth=0)) == (1, 1, 1)
    assert np.shape(api(page, "return player.values('weights')", nth=2)) == (3, 4, 4)


@fault("VIZ-13")
def test_ten_quick_changes_leave_one_picture_and_the_last_value(show_on_page):
    page = show_on_page(player_html(example_programs.attention(), start="scores"))
    count = "return player.element.getRootNode().querySelectorAll('*').length"
    api(page, "player.set('query', [0, 0], 0)")
    before = api(page, count)
    api(page, "for (let i = 1; i <= 10; i++) player.set('query', [0, 0], i)")
    page.wait_for_timeout(300)
    assert api(page, count) == before
    assert api(page, "return [player.values('query')[0][0], player.edits.length]") == [10, 1]
    cell = page.locator("[role=grid][aria-label^='query:'] [role=gridcell]").first
    assert cell.inner_text().strip() == "10.00"


# ---- payloads that are no good -------------------------------------------------------------------------------------

GOOD = example_programs.attention().to_json()


@pytest.mark.parametrize(
    "payload",
    ["", "not JSON", GOOD[:-40], GOOD.replace("trace/1", "trace/9"), GOOD.replace('"matmul"', '"system"'), "[1]", "{}"],
    ids=["empty", "no JSON", "truncated", "unknown version", "unknown op", "a list", "an empty object"],
)
def test_a_bad_payload_leaves_a_message_and_the_tables(payload, show_on_page):
    good = player_html(example_programs.attention())
    bad = re.sub(r"(?<=json\">).*?(?=</script>)", lambda _: payload, good, flags=re.S)
    page = show_on_page(bad, good)
    broken = page.locator("stepformer-player").first
    assert broken.get_attribute("data-ready") is None
    assert broken.get_attribute("data-error")
    assert broken.locator("[role=alert]").inner_text().strip()
    assert broken.locator(".stepformer-fallback table").first.is_visible()
    assert page.locator("stepformer-player[data-ready]").count() == 1, "the next player must not suffer"


def test_ten_thousand_cells_stay_readable(show_on_page):
    rng = np.random.default_rng(3)
    big = rng.normal(size=(100, 100)).round(3)
    with record() as trace:
        scaled_dot_product_attention(*(leaf(name, big, (f"{name}_row", "d")) for name in ("query", "key", "value")))
    page = show_on_page(player_html(trace, start="weights"))
    assert np.shape(api(page, "return player.values('weights')")) == (100, 100)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
