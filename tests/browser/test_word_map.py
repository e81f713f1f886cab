"""The word map on a page: what is typed is answered as Python answers it, with some words and with the whole table."""

import re
import shutil

import pytest
from chromium import PHONE
from helpers import ROOT, fault, require_node
from probe import SCRIPT, page_text

from stepformer import word_map
from stepformer.data import page as page_data
from stepformer.data import vectors

TABLE = vectors.load()
SUM = "king - man + woman"
CENTRE = "dot => [dot.cx.baseVal.value, dot.cy.baseVal.value]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder as a site has it: the page, our script, and the script with the data beside it."""
    folder = tmp_path_factory.mktemp("map")
    (folder / "data").mkdir()
    for script in (SCRIPT, SCRIPT.with_name("stepformer-word-map.js")):
        shutil.copy(script, folder)
    (folder / "data" / "vectors.js").write_text(page_data.script("vectors"), encoding="utf-8")
    return folder


@pytest.fixture
def open_map(folder, open_page):
    """Open a page from the disk with maps on it: returns the page and the first map."""

    def open_map(*elements, **options):
        body = "\n".join(elements or [word_map.show(TABLE).html()])
        text = page_text(body)
        (folder / "page.html").write_text(text, encoding="utf-8")
        page = open_page((folder / "page.html").as_uri(), **options)
        page.wait_for_selector("stepformer-word-map:is([data-ready], [data-error])")
        return page, page.locator("stepformer-word-map").first

    return open_map


def ask(element, text):
    element.get_by_role("textbox").fill(text)
    element.get_by_role("textbox").press("Enter")


def load_all(page, element):
    element.get_by_role("button", name="Load all 4,000 words").first.click()
    page.wait_for_selector("stepformer-word-map[data-words='4000']")


def shown(element):
    """The list of nearest words as the reader sees it."""
    return [
        (item.get_by_role("button").inner_text(), item.locator("span").inner_text())
        for item in element.get_by_role("listitem").all()
    ]


def expected(text, words=None, exclude=True):
    """What Python answers, among some words or all."""
    terms = [part for part in text.split() if part not in "+-"]
    signs = [-1 if f"- {word}" in text else 1 for word in terms]
    query = sum(sign * TABLE[word] for sign, word in zip(signs, terms, strict=True))
    answers = TABLE.nearest(query, n=len(TABLE), exclude=terms if exclude else ())
    return [(word, cosine) for word, cosine in answers if words is None or word in words][:8]


def as_shown(answers):
    return [(word, f"{cosine:.2f}".replace("-", "−")) for word, cosine in answers]


def test_it_is_ready_at_once_with_its_first_words_and_its_first_question(open_map):
    _, element = open_map()
    assert element.get_attribute("data-words") == str(len(TABLE.plane.words))
    assert element.get_attribute("data-query") == "king − man + woman"
    assert shown(element) == as_shown(expected(SUM, TABLE.plane.words))
    assert shown(element)[0][0] == "queen"


@pytest.mark.parametrize("text", ["cat", "coffee", "paris - france + italy", "cat + dog"])
def test_what_is_typed_is_answered_as_python_answers_it(text, open_map):
    page, element = open_map()
    ask(element, text)
    assert shown(element) == as_shown(expected(text, TABLE.plane.words))
    load_all(page, element)
    assert shown(element) == as_shown(expected(text))
    numbers = element.evaluate("e => e.wordMap.nearest.map(([, cosine]) => cosine)")
    assert numbers == pytest.approx([cosine for _, cosine in expected(text)], abs=1e-12)


def test_points_lie_where_the_program_puts_them(open_map):
    _, element = open_map()
    places = element.evaluate("e => e.wordMap.values('coordinates')")
    trace = word_map.program(TABLE)
    assert places == [pytest.approx(row, abs=1e-12) for row in trace["coordinates"].tolist()]
    # Left and right, up and down on the picture are as in the numbers.
    marks = element.locator(".wm-point").all()
    dots = {mark.locator("title").text_content(): mark.locator(".wm-dot").evaluate(CENTRE) for mark in marks}
    at = dict(zip(TABLE.plane.words, places, strict=True))
    for a, b in (("cheese", "russia"), ("mother", "moscow"), ("dog", "rice")):
        for axis, turned in ((0, 1), (1, -1)):
            assert (dots[a][axis] - dots[b][axis]) * turned * (at[a][axis] - at[b][axis]) > 0


def test_the_box_lets_the_words_of_the_question_answer(open_map):
    page, element = open_map()
    load_all(page, element)
    box = element.get_by_role("checkbox")
    box.check()
    assert shown(element) == as_shown(expected(SUM, exclude=False))
    assert [word for word, _ in shown(element)[:2]] == ["king", "queen"]
    box.uncheck()
    assert shown(element)[0][0] == "queen"


def test_an_unknown_word_is_said_with_near_spellings_and_nothing_is_lost(open_map):
    _page, element = open_map()
    ask(element, "cat")
    before = shown(element)
    ask(element, "qeuen - man")
    notice = element.locator(".notice")
    assert "“qeuen” is not among the 79 words here." in notice.inner_text()
    assert shown(element) == before
    assert element.get_by_role("textbox").input_value() == "qeuen - man"
    notice.get_by_role("button", name="queen").click()
    assert element.get_attribute("data-query") == "queen − man"
    assert notice.inner_text() == ""


def test_a_word_beyond_the_first_ones_is_found_by_loading_from_the_message(open_map):
    page, element = open_map()
    ask(element, "elephant")
    element.locator(".notice").get_by_role("button", name="Load all").click()
    page.wait_for_selector("stepformer-word-map[data-query='elephant']")
    assert shown(element) == as_shown(expected("elephant"))
    assert not element.get_by_role("button", name="Load all").is_visible()
    ask(element, "elefant")
    assert "not among the 4,000 words" in element.locator(".notice").inner_text()
    suggested = [b.inner_text() for b in element.locator(".notice").get_by_role("button").all()]
    with pytest.raises(KeyError) as caught:
        TABLE["elefant"]
    assert suggested == caught.value.near, "the page and Python suggest the same"


@pytest.mark.parametrize(("text", "said"), [("", "Type a word first."), ("king - king", "everything cancels out")])
def test_a_question_without_a_direction_is_said(text, said, open_map):
    _, element = open_map()
    before = shown(element)
    ask(element, text)
    assert said in element.locator(".notice").inner_text()
    assert shown(element) == before


def test_a_hyphen_between_letters_is_no_sign_and_subtraction_wants_spaces(open_map):
    _, element = open_map()
    before = shown(element)
    ask(element, "woman + king-man")
    notice = element.locator(".notice")
    assert "“king-man” is not among the 79 words here. To subtract, put spaces around the sign: " in notice.inner_text()
    assert shown(element) == before
    notice.get_by_role("button", name="king − man", exact=True).click()
    assert element.get_attribute("data-query") == "woman + king − man"
    assert shown(element) == as_shown(expected("woman + king - man", TABLE.plane.words))
    assert notice.inner_text() == ""
    ask(element, "a-" * 50_000 + "a")
    assert len(notice.inner_text()) < 300


def test_a_word_with_a_hyphen_is_a_word_where_the_table_has_it(open_map):
    _, element = open_map(word_map.show(TABLE).html().replace('"queen"', '"queen-mother"'))
    ask(element, "queen-mother")
    assert element.get_attribute("data-query") == "queen-mother"
    assert shown(element)[1:] == as_shown(expected("queen", TABLE.plane.words))[1:]


def test_two_signs_side_by_side_are_named(open_map):
    _, element = open_map()
    before = shown(element)
    ask(element, "king -- man")
    said = "The signs − − stand side by side. Put a word between them, or keep one of them."
    assert element.locator(".notice").inner_text() == said
    assert shown(element) == before


@fault("VIZ-01")
@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "a<b", "&amp;", "<unk>"])
def test_what_is_typed_is_text_and_never_markup(text, open_map):
    page, element = open_map()
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    ask(element, text)
    assert text.split()[0].lower() in element.locator(".notice").inner_text()
    assert element.evaluate("e => e.shadowRoot.querySelectorAll('script, img').length") == 0
    assert dialogs == []


@fault("VIZ-08")
def test_chinese_and_full_width_words_are_understood_or_said(open_map):
    _, element = open_map()
    ask(element, "ｐａｒｉｓ － ｆｒａｎｃｅ ＋ Ｉｔａｌｙ")
    assert element.get_attribute("data-query") == "paris − france + italy"
    ask(element, "汤姆")
    assert "“汤姆” is not among" in element.locator(".notice").inner_text()


def test_words_stay_on_the_map_until_they_are_cleared(open_map):
    page, element = open_map()
    load_all(page, element)
    names = element.locator(".wm-point title")
    for word in ("elephant", "piano"):
        ask(element, word)
    assert {"elephant", "piano"} <= {*names.all_text_contents()}
    element.get_by_role("button", name="Clear my words").click()
    assert not {"elephant", "piano"} & {*names.all_text_contents()}
    assert element.get_attribute("data-query") == "king − man + woman"


def test_a_point_and_a_button_ask_for_their_word_and_the_keyboard_is_enough(open_map):
    page, element = open_map()
    element.locator(".wm-point", has=page.locator("title", has_text=re.compile("^cheese$"))).click()
    assert element.get_attribute("data-query") == "cheese"
    element.get_by_role("listitem").first.get_by_role("button").focus()
    word = shown(element)[0][0]
    page.keyboard.press("Enter")
    assert element.get_attribute("data-query") == word
    element.get_by_text("All points as a table").click()
    rows = element.get_by_role("row").all_inner_texts()
    assert len(rows) == 1 + element.locator(".wm-point").count()
    element.get_by_role("rowheader", name="tokyo").get_by_role("button").press("Enter")
    assert element.get_attribute("data-query") == "tokyo"


def test_a_table_that_can_not_be_loaded_is_said_and_may_be_tried_again(folder, open_map):
    data = folder / "data" / "vectors.js"
    away = data.rename(folder / "away.js")
    page, element = open_map(permit=("vectors.js", "ERR_FILE_NOT_FOUND"))
    try:
        element.get_by_role("button", name="Load all").click()
        element.locator(".notice").get_by_text("could not be loaded").wait_for()
        assert shown(element)[0][0] == "queen"
    finally:
        away.rename(data)
    load_all(page, element)
    assert shown(element) == as_shown(expected(SUM))


def test_a_first_question_that_can_not_be_answered_is_said_and_the_map_is_there(open_map):
    html = word_map.show(TABLE).html().replace('"start":"king - man + woman"', '"start":"elephant"')
    page, element = open_map(html)
    assert "“elephant” is not among the 79 words here." in element.locator(".notice").inner_text()
    assert element.locator(".wm-point").count() == 79
    element.get_by_role("checkbox").check()
    load_all(page, element)
    ask(element, "cat")
    assert shown(element)[0] == ("cat", "1.00")


def test_two_maps_on_a_page_load_the_table_once(open_map):
    html = word_map.show(TABLE).html()
    page, _element = open_map(html, html)
    requested = []
    page.on("request", lambda request: requested.append(request.url))
    for map_ in page.locator("stepformer-word-map").all():
        map_.evaluate("e => e.wordMap.load()")
        assert map_.get_attribute("data-words") == "4000"
    assert sum("vectors.js" in url for url in requested) == 1


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda html: html.replace("stepformer.word_map/1", "stepformer.word_map/9"), "stepformer.word_map/9"),
        (lambda html: html.replace('"op":"matmul"', '"op":"matmull"'), "there is no op of this name"),
        (lambda html: html.replace('{"format"', '{"format', 1), "not valid JSON"),
    ],
)
def test_a_damaged_map_says_so_and_shows_its_words(spoil, said, open_map):
    _, element = open_map(spoil(word_map.show(TABLE).html()))
    assert said in element.get_by_role("alert").inner_text()
    assert element.locator(".stepformer-fallback").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 900}, PHONE, {**PHONE, "width": 320}])
def test_axe_finds_nothing_and_no_page_scrolls_sideways(viewport, scheme, open_map):
    require_node("axe-core")
    page, element = open_map(viewport=viewport, color_scheme=scheme)
    page.add_style_tag(content=":root { color-scheme: light dark }")
    ask(element, "qeuen")
    element.get_by_text("All points as a table").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    page.evaluate((ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    result = page.evaluate("axe.run({include: ['stepformer-word-map']}, {resultTypes: ['violations']})")
    assert [(v["id"], [n["html"] for n in v["nodes"]][:2]) for v in result["violations"]] == []


def test_labels_do_not_cover_one_another(open_map):
    for width in (1280, 390):
        _, element = open_map(viewport={"width": width, "height": 900})
        boxes = element.evaluate(
            "e => [...e.shadowRoot.querySelectorAll('.wm-point text')].map((t) => {"
            "const b = t.getBBox(); return [b.x, b.y + 2, b.x + b.width, b.y + b.height - 2, t.textContent]; })"
        )
        assert len(boxes) >= 25
        bold = {"king", "man", "woman", "the sum"}
        covered = [
            (a[4], b[4])
            for i, a in enumerate(boxes)
            for b in boxes[i + 1 :]
            if a[0] < b[2] - 3 and b[0] < a[2] - 3 and a[1] < b[3] - 2 and b[1] < a[3] - 2 and not bold & {a[4], b[4]}
        ]
        assert covered == []


def test_the_built_site_holds_every_data_set_beside_the_script(site):
    for name in page_data.DATA_SETS:
        text = (site / "_static" / "data" / f"{name}.js").read_text(encoding="utf-8")
        assert text == page_data.script(name)


@pytest.mark.parametrize("base", ["served", "site"])
def test_the_map_of_the_chapter_loads_the_table_from_a_server_and_from_a_disk(base, request, open_page):
    place = request.getfixturevalue(base)
    address = place if base == "served" else place.as_uri()
    page = open_page(f"{address}/chapters/01_tokens_and_vectors.html")
    element = page.locator("stepformer-word-map")
    load_all(page, element)
    ask(element, "chase")
    assert shown(element) == as_shown(expected("chase"))


def test_a_suggestion_mends_the_word_it_is_for_and_stays_in_the_box(open_map):
    _, element = open_map()
    box = element.get_by_role("textbox")
    ask(element, "king + kin")
    element.locator(".notice").get_by_role("button", name="king", exact=True).click()
    assert box.input_value() == "king + king", "not the first letters of another word"
    ask(element, "kingg - zzzzz + man")
    element.locator(".notice").get_by_role("button", name="king", exact=True).click()
    assert box.input_value() == "king − zzzzz + man", "the other word is still unknown, and the first stays mended"
    ask(element, "a" * 100_000)
    assert len(element.locator(".notice").inner_text()) < 300
