"""The page that translates: loads on a click, writes what Python writes, and shows what the model thinks."""

import json

import numpy as np
import pytest
import torch
from chromium import DESKTOP, PHONE
from helpers import ROOT, fault, require_node, toc_files
from probe import SCRIPT
from translation_cases import SENTENCES, save_random_model

from stepformer import decode, translator_page
from stepformer.checkpoint import find, load_model, read_model
from stepformer.data.pair import Pair
from stepformer.data.tokenizer import BOS, EOS
from stepformer.formatting import format_number
from stepformer.translation_program import NO_POSITIONS, translation_program
from stepformer.translator import NEVER, Translator

SHIPPED = translator_page.is_shipped()
PAIRS = [Pair(text, "", (), ()) for text, _ in translator_page.EXAMPLES]
HEADS = [f"Without head {head} of decoder.layers.0.cross_attention" for head in (0, 2)]
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Translator</title>
<link rel="icon" href="data:,">
<style>:root {{ color-scheme: light dark }}</style>
<script defer src="stepformer.js"></script>
<script defer src="stepformer-translate.js"></script>
</head>
<body><main>{body}</main></body>
</html>
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """The shipped model, or while there is none one that has learnt nothing."""
    return find("small") if SHIPPED else save_random_model(tmp_path_factory.mktemp("model") / "model")


@pytest.fixture(scope="module")
def stored(directory):
    return read_model(directory)


@pytest.fixture(scope="module")
def python(directory):
    return Translator(*load_model(directory))


@pytest.fixture(scope="module")
def folder(stored, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    for name in ("stepformer.js", "stepformer-translate.js"):
        (folder / name).write_text((SCRIPT.parent / name).read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "data").mkdir()
    (folder / "data" / "translator.js").write_text(translator_page.script(stored), encoding="utf-8")
    html = translator_page.page_html(stored, PAIRS)
    (folder / "index.html").write_text(PAGE.format(body=html), encoding="utf-8")
    return folder


@pytest.fixture
def open_translator(folder, open_page):
    """Open the page: returns the page and the element."""

    def open_translator(name="index.html", **options):
        page = open_page((folder / name).as_uri(), **options)
        page.wait_for_selector("stepformer-translator:is([data-ready], [data-error])", state="attached")
        return page, page.locator("stepformer-translator")

    return open_translator


def translate(element, text):
    return element.evaluate("(e, text) => e.translator.translate(text)", text)


def program(stored, text, target, breaks=False):
    src = [*translator_page.tokenizers(stored)[0].encode(text), EOS]
    return translation_program(stored, src, target, breaks=breaks)


def target_of(element):
    return element.evaluate("e => e.translator.result.target")


def close(got, wanted):
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-9)


# ---- loading and translating -----------------------------------------------------------------------------------------


def test_nothing_loads_before_the_click_and_then_it_loads_once(open_translator, python):
    page, element = open_translator()
    requested = []
    page.on("request", lambda request: requested.append(request.url.rpartition("/")[2]))
    box = element.get_by_role("textbox", name="An English sentence")
    box.fill(SENTENCES[0])
    assert "loads the model" in element.locator(".tr").inner_text()
    page.wait_for_timeout(100)
    assert requested == []
    element.get_by_role("button", name="Translate").click()
    page.wait_for_selector("stepformer-translator[data-model]:not([data-busy])", state="attached")
    assert requested == ["translator.js"]
    translate(element, SENTENCES[1])
    assert requested == ["translator.js"]
    assert "loads the model" not in element.locator(".tr").inner_text()


@pytest.mark.parametrize("number", range(5))
def test_each_example_is_translated_with_one_click_as_python_translates_it(number, open_translator, python):
    page, element = open_translator()
    source, right = translator_page.EXAMPLES[number]
    element.get_by_role("button", name=source, exact=True).click()
    page.wait_for_selector("stepformer-translator[data-position]:not([data-busy])", state="attached")
    (wanted,) = python.translate([source])
    words = element.locator(".tr-out button").all_inner_texts()
    assert words == [*wanted.tokens, *(["end"] if wanted.finished else [])]
    told = "Translation: " if wanted.finished else "Translation, cut off because it did not end: "
    assert element.locator("[aria-live]").text_content() == told + wanted.text
    if SHIPPED:
        assert wanted.text == right


def test_what_the_page_knows_of_each_word_is_what_numpy_computes(open_translator, stored):
    _, element = open_translator()
    for text in SENTENCES[:3]:
        translate(element, text)
        target = target_of(element)
        trace = program(stored, text, target)
        rows = element.evaluate("e => e.translator.result.view.probabilities.map((row) => [...row])")
        close(rows, trace["probabilities"][: len(rows)])
        softmaxes = [step.scope for step in trace.steps if step.op == "softmax"]
        paths = [scope for scope in softmaxes if scope.endswith("cross_attention.attention")]
        for layer, path in enumerate(paths):
            weights = trace[f"{path}.weights"]
            for head in ("average", 0, 3):
                shown = element.evaluate(
                    "(e, [layer, head]) => { const view = e.translator.attention; view.layer = layer; view.head = head;"
                    " return view.weights(); }",
                    [layer, head],
                )
                wanted = weights.mean(axis=0) if head == "average" else weights[head]
                close(shown, wanted[: len(shown)])


@fault("VIZ-06")
def test_the_table_the_lines_and_the_bars_show_the_chosen_position(open_translator, stored):
    _, element = open_translator()
    translate(element, SENTENCES[1])
    element.locator(".tr-out button").nth(1).click()
    assert element.get_attribute("data-position") == "1"
    row = element.evaluate("e => [...e.translator.result.view.probabilities[1]]")
    best = element.locator(".tr-bars button").first
    words = stored.info["tgt_tokenizer"]["vocabulary"]
    assert best.inner_text() == words[int(np.argmax(row))].replace("<eos>", "end")
    assert element.locator(".tr-bar .tr-number").first.inner_text() == format_number(max(row))
    element.get_by_role("group", name="layer").get_by_role("radio", name="0").check()
    element.get_by_role("group", name="head", exact=True).get_by_role("radio", name="1").check()
    weights = element.evaluate("e => e.translator.attention.weights()")
    cells = element.locator(".tr-matrix tbody tr").nth(1).locator("td").all_inner_texts()
    assert cells == [format_number(x) for x in weights[1]]
    columns = element.locator(".tr-matrix thead th").all_inner_texts()
    assert columns == ["The", "cat", "that", "chased", "Jerry", "is", "sleeping", ".", "end"]
    written = element.locator(".tr-out button").all_inner_texts()
    assert element.locator(".tr-matrix tbody th").all_inner_texts() == written
    drawn = sum(x > 0.02 for line in weights for x in line)
    assert element.locator("line.tr-line").count() == drawn > 0
    figure = element.locator(".tr-figure")
    assert figure.get_attribute("aria-label").count("looks most at") == len(weights)
    figure.locator(".tr-to li").nth(0).click()
    assert element.get_attribute("data-position") == "0"


def test_another_word_can_be_written_and_the_model_goes_on_from_it(open_translator, stored):
    page, element = open_translator()
    translate(element, SENTENCES[0])
    before = target_of(element)
    other = element.locator(".tr-bars button[aria-pressed=false]").filter(has_not_text="end").first
    word = stored.info["tgt_tokenizer"]["vocabulary"].index(other.inner_text())
    other.click()
    page.wait_for_selector("stepformer-translator:not([data-busy])", state="attached")
    target = target_of(element)
    assert target[:2] == [BOS, word]
    assert target != before
    ids = [BOS, word]
    while len(ids) < len(target):
        ids.append(int(program(stored, SENTENCES[0], ids)["probabilities"][-1].argmax()))
    assert target == ids
    assert "Words at the beginning that were set by you: 1." in element.locator(".tr").inner_text()
    element.get_by_role("button", name="Let the model write all of it").click()
    page.wait_for_selector("stepformer-translator:not([data-busy])", state="attached")
    assert target_of(element) == before


def test_beam_search_and_its_tree_are_those_of_python(open_translator, python):
    page, element = open_translator()
    translate(element, SENTENCES[0])
    element.get_by_role("radio", name="Beam").check()
    page.wait_for_selector("stepformer-translator:not([data-busy])", state="attached")
    ids = torch.tensor([[*python.src_tokenizer.encode(SENTENCES[0]), EOS]])
    limit = python._limit(ids.shape[1] - 1, None)

    def expect(size, alpha):
        (wanted,) = decode.beam(python.model, ids, limit, size, alpha, size, never_ids=NEVER)
        found = element.evaluate("e => e.translator.result.found.hypotheses.map(({ids, score}) => ({ids, score}))")
        assert [tuple(one["ids"]) for one in found] == [one.ids for one in wanted]
        assert [one["score"] for one in found] == pytest.approx([one.score for one in wanted], abs=1e-3)
        listed = element.locator(".tr-best li").all_inner_texts()
        assert [text.split(" (")[0] for text in listed] == [python.tgt_tokenizer.decode(one.ids) for one in wanted]

    expect(4, 0.6)
    for name, value in (("Beam size", "2"), ("Length penalty α", "0")):
        element.get_by_label(name).fill(value)
        element.get_by_label(name).press("Enter")
        page.wait_for_selector("stepformer-translator:not([data-busy])", state="attached")
    expect(2, 0.0)
    kept = element.locator(".tr-node").count()
    element.get_by_label("Show what was dropped").check()
    assert element.locator(".tr-node").count() > kept
    for wrong in ("0", "9", "2.5", "many", ""):
        element.get_by_label("Beam size").fill(wrong)
        element.get_by_label("Beam size").press("Enter")
        assert "whole number from 1 to 8" in element.get_by_role("alert").inner_text()
        assert element.get_by_label("Beam size").input_value() == "2"


def test_each_beginning_of_the_tree_can_be_looked_at_and_opened_in_the_player(open_translator, stored):
    page, element = open_translator()
    translate(element, SENTENCES[0])
    element.get_by_role("radio", name="Beam").check()
    page.wait_for_selector("stepformer-translator:not([data-busy])", state="attached")
    best = target_of(element)
    vocabulary = stored.info["tgt_tokenizer"]["vocabulary"]

    def expect(column, k):
        """Bars, attention and player are those of the beginning, computed afresh in Python."""
        way, score, finished = element.evaluate(
            """(e, [column, k]) => {
              let node = e.translator.result.found.steps[column].filter(({kept}) => kept)[k];
              const {score, finished} = node;
              const way = [];
              for (; node.parent; node = node.parent) if (!node.stayed) way.unshift(node.word);
              return [way, score, finished];
            }""",
            [column, k],
        )
        before = [BOS, *way[:-1]]
        trace = program(stored, SENTENCES[0], before)
        rows = element.evaluate("e => e.translator.result.view.probabilities.map((row) => [...row])")
        close(rows, trace["probabilities"])
        logs = np.log(trace["probabilities"][range(len(way)), way])
        # The page never writes a start mark, but does not share its probability out.
        assert score == pytest.approx(logs.sum(), abs=1e-9)
        assert element.get_attribute("data-position") == str(len(way) - 1)
        shown = element.locator(".tr-out button").all_inner_texts()
        assert shown == [vocabulary[word].replace("<eos>", "end") for word in way]
        pressed = element.locator(".tr-node[aria-pressed=true]")
        assert pressed.count() == 1
        assert pressed.text_content().endswith(format_number(score))
        return before, finished, trace

    first = element.locator(".tr-node").first
    first.click()
    expect(0, 0)
    assert "One of the beginnings" in element.locator(".tr").inner_text()
    first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    before, _, trace = expect(0, 1)
    assert target_of(element) != best
    element.get_by_role("button", name="Open this step in the player").click()
    page.wait_for_selector("stepformer-player[data-ready]")
    player = element.locator("stepformer-player")
    close(player.evaluate("p => p.player.values('probabilities')"), trace["probabilities"])
    assert player.evaluate("p => [...p.player.values('tgt')].map(Number)") == before
    # The way right and left again, and the list, which says the finished ones.
    page.keyboard.press("Escape")
    element.locator(".tr-node").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press(" ")
    expect(1, 0)
    element.locator(".tr-best button").nth(0).click()
    assert target_of(element) == best
    assert "One of the beginnings" not in element.locator(".tr").inner_text()
    assert element.locator(".tr-best button[aria-pressed=true]").count() == 1
    second = element.evaluate("e => e.translator.result.found.hypotheses[1].ids")
    element.locator(".tr-best button").nth(1).click()
    assert target_of(element) == [BOS, *second]


def test_a_part_that_is_taken_away_is_missing_in_the_translation_and_in_every_number(open_translator, stored):
    page, element = open_translator()
    whole = translate(element, SENTENCES[1])
    element.get_by_text("Take a part away").click()
    for head in (0, 2):
        element.get_by_label(f"decoder, layer 0: cross-attention, head {head}").uncheck()
        page.wait_for_selector("stepformer-translator:not([data-busy])", state="attached")
    target = target_of(element)
    used = np.ones((stored.info["arguments"]["n_heads"], 1, 1), dtype=bool)
    used[[0, 2]] = False
    trace = program(stored, SENTENCES[1], target, breaks=True)
    missing = trace.broken(HEADS[0]).run({"decoder.layers.0.cross_attention.heads_in_use": used})
    rows = element.evaluate("e => e.translator.result.view.probabilities.map((row) => [...row])")
    close(rows, missing["probabilities"][: len(rows)])
    attention = element.evaluate("e => [...e.translator.result.view.attention[0].data]")
    assert not np.reshape(attention, (len(used), len(target), -1))[0].any()
    told = element.locator("details > p").last.inner_text()
    assert told.endswith(whole), (told, whole)
    element.get_by_role("button", name="Use everything again").click()
    page.wait_for_selector("stepformer-translator:not([data-busy])", state="attached")
    assert element.evaluate("e => e.translator.model.tgt.decode(e.translator.result.target)") == whole
    element.get_by_label("Positions").uncheck()
    page.wait_for_selector("stepformer-translator:not([data-busy])", state="attached")
    rows = element.evaluate("e => e.translator.result.view.probabilities.map((row) => [...row])")
    wanted = program(stored, SENTENCES[1], target_of(element), breaks=True).broken(NO_POSITIONS)["probabilities"]
    close(rows, wanted[: len(rows)])


def test_teacher_forcing_stands_beside_free_running(open_translator, stored):
    _, element = open_translator()
    translate(element, SENTENCES[0])
    element.get_by_text("Teacher forcing beside free running").click()
    right = "汤姆追逐杰瑞。"
    element.get_by_label("A right translation").fill(right)
    result = element.evaluate("e => { const {given, score, predicted} = e.translator.compare.result();"
                              " return {given, score, predicted}; }")  # fmt: skip
    ids = translator_page.tokenizers(stored)[1].encode(right)
    assert result["given"] == [BOS, *ids]
    shares = program(stored, SENTENCES[0], result["given"])["probabilities"]
    assert result["score"] == pytest.approx(sum(np.log(shares[range(len(ids) + 1), [*ids, EOS]])), abs=1e-9)
    assert result["predicted"] == shares.argmax(axis=1).tolist()
    rows = element.locator(".tr-compare tbody tr")
    assert rows.count() == max(len(ids) + 1, element.evaluate("e => e.translator.result.view.probabilities.length"))
    assert rows.first.locator("td").first.inner_text() == "begin"
    element.get_by_label("A right translation").fill("zzz")
    assert "cannot write zzz" in element.locator("details[open] > p").last.inner_text()
    assert not element.locator(".tr-compare").is_visible()
    element.get_by_label("A right translation").fill("")
    assert "Give a right translation" in element.locator("details[open] > p").last.inner_text()


def test_the_step_opens_in_the_player_with_the_parts_that_are_away(open_translator, stored):
    page, element = open_translator()
    translate(element, SENTENCES[0])
    element.evaluate("(e, names) => e.translator.without(names)", HEADS)
    element.locator(".tr-out button").nth(1).click()
    element.get_by_role("button", name="Open this step in the player").click()
    player = element.locator("stepformer-player")
    page.wait_for_selector("stepformer-player[data-ready]")
    target = target_of(element)[:2]
    trace = program(stored, SENTENCES[0], target, breaks=True)
    wanted = trace.broken(*HEADS)
    close(player.evaluate("p => p.player.values('probabilities')"), wanted["probabilities"])
    assert player.evaluate("p => p.player.breaks") == HEADS
    assert "decoder.layers.0" in player.evaluate("p => p.player.folded")
    player.evaluate("p => p.player.reset()")
    close(player.evaluate("p => p.player.values('probabilities')"), trace["probabilities"])
    chosen = element.evaluate("e => e.translator.result.target[2]")
    word = stored.info["tgt_tokenizer"]["vocabulary"][chosen]
    assert word in player.locator(".answer").inner_text()
    element.get_by_role("button", name="Close the player").click()
    assert player.count() == 0


def test_every_step_of_the_trained_model_opens_in_the_player_with_the_numbers_of_python(open_translator, stored):
    page, element = open_translator()
    translate(element, SENTENCES[1])
    last = element.evaluate("e => e.translator.result.view.probabilities.length - 1")
    element.evaluate("(e, last) => { e.translator.choose(last); e.translator.open(); }", last)
    page.wait_for_selector("stepformer-player[data-ready]")
    player = element.locator("stepformer-player")
    trace = program(stored, SENTENCES[1], target_of(element))
    assert player.get_attribute("data-steps") == str(len(trace.steps))
    names = [trace.tensors[step.output].name for step in trace.steps]
    opened = player.evaluate(
        "(p, names) => names.map((name, i) => { p.player.goto(i);"
        " return [p.dataset.step, [p.player.values(name)].flat(9).map(Number)]; })",
        names,
    )
    for i, (name, (step, values)) in enumerate(zip(names, opened, strict=True)):
        assert step == str(i)
        np.testing.assert_allclose(values, np.ravel(trace[name]).astype(float), rtol=0, atol=1e-9, err_msg=name)
    # Layers are folded; a head is chosen where there are several.
    player.evaluate("(p, i) => p.player.goto(i)", names.index("decoder.layers.1.cross_attention.attention.weights"))
    heads = player.get_by_role("group", name="head").get_by_role("radio")
    assert heads.count() == stored.info["arguments"]["n_heads"]


# ---- what the reader types -------------------------------------------------------------------------------------------


def test_unknown_words_are_marked_with_their_nearest_and_mended(open_translator):
    _, element = open_translator()
    box = element.get_by_role("textbox", name="An English sentence")
    box.fill("Tom chasees zzzzzzzz.")
    assert element.locator("mark").all_inner_texts() == ["chasees", "zzzzzzzz"]
    element.locator(".tr-near").get_by_role("button", name="chases", exact=True).click()
    assert box.input_value() == "Tom chases zzzzzzzz."
    assert element.locator("mark").all_inner_texts() == ["zzzzzzzz"]
    assert "zzzzzzzz is unknown" in element.locator(".tr-near").inner_text()
    assert translate(element, box.input_value()) is not None
    # A single sign has no nearest word.
    box.fill("Tom < Jerry.")
    assert "< is unknown; the model reads <unk>" in element.locator(".tr-near").inner_text()
    assert element.locator(".tr-near button").count() == 0


def test_words_are_suggested_and_taken_by_keyboard_alone(open_translator, python):
    page, element = open_translator()
    box = element.get_by_role("textbox", name="An English sentence")
    box.focus()
    page.keyboard.type("Tom ch")
    assert "chases" in element.get_by_role("group", name="Words that begin like this").inner_text()
    page.keyboard.press("Tab")  # to the button that translates
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert box.input_value().startswith("Tom ch")
    assert box.input_value() != "Tom ch"
    box.fill("")
    page.keyboard.type("Tom ")
    assert "did" in element.get_by_role("group", name="What may come next").inner_text().split()
    box.fill(SENTENCES[0])
    page.keyboard.press("Enter")
    page.wait_for_selector("stepformer-translator[data-position]:not([data-busy])", state="attached")
    (wanted,) = python.translate([SENTENCES[0]])
    assert element.locator(".tr-out button").all_inner_texts()[: len(wanted.tokens)] == list(wanted.tokens)


HOSTILE = [
    "<script>document.title = 'injected'</script> Tom",
    "<img src=x onerror=\"document.title='injected'\">",
    "\x00\x01\x07 Tom \x1b[31m chases",
    "\u202eTom\u202c \u200fJerry\u200e \u2066.",
    "👩‍👩‍👧 😀 Tom 🇨🇳",
    "Tom<eos><pad><bos> Jerry",
    "e\u0301" * 40,
    "Tom " * 79,
    "'\"`${1}</p>",
    "汤姆 chases 杰瑞。",
]


@fault("VIZ-01")
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_translated_as_text_and_injects_nothing(text, open_translator, python):
    page, element = open_translator()
    element.get_by_role("textbox", name="An English sentence").fill(text)
    elements = "e => e.shadowRoot.querySelectorAll('script, img, iframe').length"
    said = translate(element, element.get_by_role("textbox", name="An English sentence").input_value())
    notice = element.get_by_role("alert").inner_text()
    assert (said is None) == bool(notice)
    assert element.evaluate(elements) == 0
    assert page.title() == "Translator"
    shown = element.get_by_role("textbox", name="An English sentence").input_value()
    if said is not None:
        (wanted,) = python.translate([shown])
        assert said == wanted.text


def test_what_is_left_out_is_named_by_its_number_and_only_that(open_translator):
    _, element = open_translator()
    box = element.get_by_role("textbox", name="An English sentence")
    for text, named in (
        ("Tom\x00 chases\x1b \u202eJerry\u202c.\u202c", "U+0000, U+001B, U+202E, U+202C."),
        ("Tom\ud800 chases Jerry.", "U+D800."),
        ("\x07", "U+0007."),
    ):
        box.evaluate("(input, text) => { input.value = text; input.dispatchEvent(new Event('input')); }", text)
        assert f"no text: {named}" in element.locator(".tr-near").inner_text()
    for text in ("Tom\u3000chases\xa0Jerry\x85.", "Tom\u200b chases 😀.", ""):
        box.evaluate("(input, text) => { input.value = text; input.dispatchEvent(new Event('input')); }", text)
        assert "Left out" not in element.locator(".tr-near").inner_text()


def test_what_is_too_long_or_empty_is_said_and_what_was_there_stays(open_translator):
    _, element = open_translator()
    first = translate(element, SENTENCES[0])
    box = element.get_by_role("textbox", name="An English sentence")
    most = element.evaluate("e => e.translator.payload.most_words")
    for text, said in (
        ("Tom " * 250_000, "1000000 characters"),
        ("Tom " * (most + 1), f"at most {most}"),
        ("", "Type a sentence first"),
        ("\u200b \u202e", "Type a sentence first"),
    ):
        box.evaluate("(input, text) => { input.value = text; input.dispatchEvent(new Event('input')); }", text)
        box.press("Enter")
        assert said in element.get_by_role("alert").inner_text()
        assert element.locator(".tr-out").inner_text().replace("\n", "").startswith(first[:1])
    assert translate(element, "Tom " * most) is not None
    assert element.get_by_role("alert").inner_text() == ""


def test_a_newer_sentence_takes_the_place_of_one_that_is_still_being_translated(open_translator, python):
    _, element = open_translator()
    translate(element, SENTENCES[0])
    answers = element.evaluate(
        "async (e, [a, b]) => Promise.all([e.translator.translate(a), e.translator.translate(b)])", [*SENTENCES[1:3]]
    )
    (wanted,) = python.translate([SENTENCES[2]])
    assert answers == [None, wanted.text]
    assert element.evaluate("e => e.translator.result.text") == SENTENCES[2]


# ---- whom it is for --------------------------------------------------------------------------------------------------


def open_everything(page, element):
    """A state in which all parts are on show."""
    element.get_by_role("textbox", name="An English sentence").fill("Tom chasees Jerry")
    translate(element, SENTENCES[1])
    element.evaluate("e => e.translator.again({search: 'beam'})")
    element.evaluate("e => e.shadowRoot.querySelectorAll('details').forEach((one) => (one.open = true))")
    element.get_by_label("A right translation").fill("汤姆追逐杰瑞。")
    element.evaluate("(e, names) => e.translator.without(names)", HEADS)
    element.get_by_role("button", name="Open this step in the player").click()
    page.wait_for_selector("stepformer-player[data-ready]")


# What a finger can not touch: a box or a switch counts with its label.
TOO_SMALL = """e => [...e.shadowRoot.querySelectorAll('button, input, summary')].filter((one) => {
  const { width, height } = (one.closest('label') ?? one).getBoundingClientRect();
  return width && (width < 24 || height < 24);
}).map((one) => one.outerHTML.slice(0, 90))"""


@pytest.mark.parametrize(
    ("viewport", "scheme"), [(DESKTOP, "light"), (PHONE, "dark"), ({**PHONE, "width": 320}, "light")], ids=range(3)
)
def test_axe_finds_nothing_no_page_scrolls_sideways_and_all_can_be_touched(viewport, scheme, open_translator):
    require_node("axe-core")
    page, element = open_translator(viewport=viewport, color_scheme=scheme)
    open_everything(page, element)
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert element.evaluate(TOO_SMALL) == []
    page.evaluate((ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    result = page.evaluate("axe.run({include: ['stepformer-translator']}, {resultTypes: ['violations']})")
    assert [(v["id"], [n["html"] for n in v["nodes"]][:2]) for v in result["violations"]] == []


def test_everything_is_reached_with_the_tab_key(open_translator):
    page, element = open_translator()
    translate(element, SENTENCES[0])
    wanted = element.evaluate(
        "e => [...e.shadowRoot.querySelectorAll('button, summary, input')].filter((one) => one.checkVisibility() &&"
        " !(one.type === 'radio' && !one.checked)).length"
    )
    element.get_by_role("textbox", name="An English sentence").focus()
    seen = set()
    for _ in range(wanted + 10):
        page.keyboard.press("Tab")
        seen.add(element.evaluate("e => [...e.shadowRoot.querySelectorAll('*')].indexOf(e.shadowRoot.activeElement)"))
    assert len(seen - {-1}) >= wanted - 1


def test_without_javascript_the_examples_stand_there_translated(folder, stored, open_page):
    page = open_page((folder / "index.html").as_uri(), java_script_enabled=False)
    table = page.locator("stepformer-translator table")
    assert table.is_visible()
    assert table.locator("td[lang=zh]").count() == 5


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda html: html.replace("stepformer.translator/1", "stepformer.translator/9"), "stepformer.translator/9"),
        (lambda html: html.replace('{"format"', '{"format', 1), "not valid JSON"),
        (lambda html: html.replace('"kind":"word"', '"kind":"bpe"'), "kind"),
    ],
)
def test_a_damaged_page_says_so_and_shows_the_examples(spoil, said, folder, open_translator):
    text = (folder / "index.html").read_text(encoding="utf-8")
    (folder / "damaged.html").write_text(spoil(text), encoding="utf-8")
    _, element = open_translator("damaged.html")
    assert said in element.get_by_role("alert").inner_text()
    assert element.locator(".stepformer-fallback").is_visible()


def test_a_model_that_can_not_be_loaded_is_said_and_can_be_tried_again(folder, open_translator):
    text = (folder / "index.html").read_text(encoding="utf-8")
    (folder / "missing.html").write_text(text.replace('"data":"translator"', '"data":"missing"'), encoding="utf-8")
    _, element = open_translator("missing.html", permit=("missing.js", "ERR_FILE_NOT_FOUND"))
    for _ in range(2):
        assert translate(element, SENTENCES[0]) is None
        assert "could not be loaded" in element.get_by_role("alert").inner_text()
    assert element.get_attribute("data-busy") is None


def test_a_model_of_another_format_is_refused(folder, open_translator):
    (folder / "data" / "other.js").write_text('stepformerData("other",{"format":"stepformer.translation/9"});')
    text = (folder / "index.html").read_text(encoding="utf-8")
    (folder / "other.html").write_text(text.replace('"data":"translator"', '"data":"other"'), encoding="utf-8")
    _, element = open_translator("other.html")
    assert translate(element, SENTENCES[0]) is None
    assert "stepformer.translation/9" in element.get_by_role("alert").inner_text()


@pytest.mark.skipif("book/try_it" not in toc_files(), reason="the page is not in the table of contents")
@pytest.mark.parametrize("base", ["served", "site"])
def test_the_page_of_the_book_translates_from_a_server_and_from_a_disk(base, request, open_page, python):
    place = request.getfixturevalue(base)
    page = open_page(f"{place if base == 'served' else place.as_uri()}/book/try_it.html")
    element = page.locator("stepformer-translator")
    source, right = translator_page.EXAMPLES[0]
    element.get_by_role("button", name=source, exact=True).click()
    page.wait_for_selector("stepformer-translator[data-position]:not([data-busy])", state="attached")
    assert element.evaluate("e => e.translator.model.tgt.decode(e.translator.result.target)") == right
    assert json.loads(element.locator("script").first.text_content())["data"] == translator_page.DATA
