"""The ledger on a page, opened from the disk: it counts as Python counts, and says what can not be counted."""

import json
import re

import pytest
from chromium import DESKTOP, PHONE
from helpers import ROOT, require_node
from probe import write_page
from stepformer_book.ledger import model_ledger_html, training_ledger_html

from stepformer import training_ledger
from stepformer.model_ledger import BLOCKS, PAPER, PRESETS, ledger, write_number

LARGEST = PAPER | {"d_model": 1_000_000, "d_ff": 10_000_000, "n_layers": 10_000, "src_vocab_size": 100_000_000}
CONFIGURATIONS = [
    {},
    {"d_model": 256, "n_heads": 4, "n_layers": 3, "d_ff": 1000},
    {"d_k": 16},
    {"n_heads": 7, "d_k": 5, "d_v": 9},
    {"n_encoder_layers": 2, "n_decoder_layers": 9},
    {"src_vocab_size": 800, "tgt_vocab_size": 700, "share_embeddings": 0, "tie_output": 0, "n_src": 3, "n_tgt": 8},
    {"attention_bias": 1, "output_bias": 1, "final_norm": 1, "learned_positions": 1024},
    LARGEST,
]


@pytest.fixture
def page_ledger(show_on_page):
    def page_ledger(html=None, **options):
        page = show_on_page(html or model_ledger_html(), **options)
        return page, page.locator("stepformer-ledger")

    return page_ledger


def field(element, name):
    return element.get_by_label(re.compile(rf"^{name}"))


def enter(element, name, value):
    """Type a number, or set a switch, as a reader does."""
    element.get_by_text("More settings").evaluate("e => { e.parentElement.open = true; }")
    box = field(element, name)
    if box.get_attribute("type") == "checkbox":
        box.set_checked(bool(value))
    else:
        box.fill(str(value))


def rows(element):
    return [tuple(row.locator("td").all_inner_texts()) for row in element.locator(".lg-table tbody tr").all()]


def expected(settings):
    count = ledger(settings)
    lines = [(row["parameters"], row["flops_per_token"]) for row in count.by_block]
    lines.append((count.parameters, count.flops_per_token))
    return [tuple(map(write_number, line)) for line in lines]


@pytest.mark.parametrize("changes", CONFIGURATIONS, ids=lambda c: " ".join(c) if len(c) < 10 else "largest")
def test_what_is_typed_is_counted_as_python_counts_it(changes, page_ledger):
    _page, element = page_ledger()
    for name, value in changes.items():
        enter(element, name, value)
    assert element.get_attribute("data-invalid") is None
    assert rows(element) == expected(PAPER | changes)
    assert len(rows(element)) == len(BLOCKS) + 1
    assert expected(PAPER | changes)[-1][0] in element.locator(".exercise > p").inner_text()


@pytest.mark.parametrize("name", PRESETS)
def test_presets_fill_the_form(name, page_ledger):
    _page, element = page_ledger()
    enter(element, "d_k", 3)
    element.get_by_role("button", name=name).click()
    assert rows(element) == expected(PRESETS[name])
    assert field(element, "d_k").input_value() == ""


@pytest.mark.parametrize("text", ["37000", "37,000", " 37 000 ", "37_000", "３７０００", "3.7e4"])
def test_numbers_may_be_written_in_several_ways(text, page_ledger):
    _page, element = page_ledger()
    enter(element, "src_vocab_size", text)
    assert rows(element) == expected(PAPER | {"src_vocab_size": 37_000})


BAD = [
    ("d_model", "0", "d_model is “0”; it must be a whole number from 1 to 1,000,000"),
    ("d_model", "-5", "d_model is “-5”; it must be a whole number from 1"),
    ("d_ff", "2.5", "d_ff is “2.5”; it must be a whole number"),
    ("n_layers", "99999999999999999999", "it must be a whole number from 1 to 10,000"),
    ("n_src", "", "n_src is “”; it must be a whole number"),
    ("n_src", "many <b>", "n_src is “many <b>”; it must be a whole number"),
    ("d_k", "0x10", "d_k is “0x10”; it must be"),
    ("n_heads", "7", "d_model is 512 and n_heads 7; d_model must be divisible by n_heads"),
    ("tgt_vocab_size", "9", "share_embeddings needs one vocabulary: src_vocab_size is 41100 and tgt_vocab_size 9"),
]


@pytest.mark.parametrize(("name", "text", "message"), BAD)
def test_what_can_not_be_counted_is_said_at_its_field_and_nothing_is_lost(name, text, message, page_ledger):
    _page, element = page_ledger()
    before = rows(element)
    enter(element, name, text)
    box = field(element, name)
    assert element.get_attribute("data-invalid") == name
    assert box.get_attribute("aria-invalid") == "true"
    assert message in box.locator("xpath=..").inner_text()
    assert box.input_value() == text
    assert rows(element) == before
    assert "last configuration that is possible" in element.locator(".exercise > p").inner_text()
    element.get_by_role("button", name="base").click()
    assert element.get_attribute("data-invalid") is None
    assert element.locator("[aria-invalid]").count() == 0


def test_a_problem_in_a_folded_setting_is_shown(page_ledger):
    _page, element = page_ledger()
    element.evaluate("e => e.ledger.set('d_v', 'x')")
    assert element.get_by_text("d_v is “x”").is_visible()


def test_it_works_from_the_keyboard_alone(page_ledger):
    page, element = page_ledger()
    field(element, "d_model").focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("1024")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+a")
    page.keyboard.type("16")
    assert rows(element) == expected(PAPER | {"d_model": 1024, "n_heads": 16})


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("bad", [False, True])
@pytest.mark.parametrize("html", [model_ledger_html, training_ledger_html])
def test_axe_finds_nothing(scheme, bad, html, page_ledger):
    require_node("axe-core")
    page, element = page_ledger(html(), color_scheme=scheme, viewport=DESKTOP)
    page.evaluate("document.documentElement.style.colorScheme = 'light dark'")
    enter(element, "n_heads", 7 if bad else 8)
    page.evaluate((ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    result = page.evaluate("axe.run({include: ['stepformer-ledger']}, {resultTypes: ['violations']})")
    assert [(rule["id"], [node["target"] for node in rule["nodes"]]) for rule in result["violations"]] == []
    assert result["passes"]


@pytest.mark.parametrize("html", [model_ledger_html, training_ledger_html])
def test_on_a_phone_nothing_runs_over_the_edge(html, page_ledger):
    page, element = page_ledger(html(), viewport=PHONE, is_mobile=True, has_touch=True)
    for name, value in LARGEST.items():
        enter(element, name, value)
    for width in (PHONE["width"], 320):
        page.set_viewport_size({**PHONE, "width": width})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


TRAININGS = [
    {},
    {"pairs": 10**9, "epochs": 1, "devices": 64},
    {"batch_size": 1, "recompute": 1, "fused_attention": 0, "n_tgt": 31},
    {"activation_bytes": 2, "optimiser_states": 0, "utilisation": 100, "gflops": 312_000, "d_model": 1024},
    LARGEST | {"pairs": 10**13, "gflops": 1},
]


@pytest.mark.parametrize("changes", TRAININGS, ids=lambda c: " ".join(c) if len(c) < 6 else "largest")
def test_a_training_is_counted_as_python_counts_it(changes, page_ledger):
    _page, element = page_ledger(training_ledger_html())
    for name, value in changes.items():
        enter(element, name, value)
    settings = training_ledger.PRESETS["base"] | changes
    assert rows(element) == [(amount,) for _, amount in training_ledger.lines(settings)]
    assert f"each device needs {rows(element)[-1][0]}." in element.locator(".exercise > p").inner_text()
    element.get_by_role("button", name="base billion").click()
    assert ("1,000,000",) in rows(element)
    enter(element, "utilisation", 101)
    assert element.get_by_text("utilisation is “101”; it must be a whole number from 1 to 100").is_visible()
    assert ("1,000,000",) in rows(element)


@pytest.mark.parametrize(("changes", "message"), [
    ({"batch_size": 63, "devices": 64}, "batch_size is 63; each of 64 devices needs a pair at least"),
    ({"pairs": 33, "epochs": 3}, "batch_size is 100; pairs · epochs is only 33 · 3"),
])  # fmt: skip
def test_a_batch_that_can_not_be_is_refused_as_in_python(changes, message, page_ledger):
    with pytest.raises(training_ledger.ConfigurationError, match=message):
        training_ledger.cost(training_ledger.PRESETS["base"] | changes)
    _page, element = page_ledger(training_ledger_html())
    for name, value in changes.items():
        assert element.get_attribute("data-invalid") is None
        before = rows(element)
        enter(element, name, value)
    assert element.get_attribute("data-invalid") == "batch_size"
    assert element.get_by_text(message).is_visible()
    assert rows(element) == before


def with_first_preset(changes):
    """The form with other settings at the beginning, as the page might get them."""
    html = model_ledger_html()
    document = json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)[1])
    text = json.dumps(next(iter(document["presets"].values())), separators=(",", ":"))
    assert html.count(text) == 1
    return html.replace(text, json.dumps(json.loads(text) | changes))


def test_a_setting_that_is_null_is_left_out(page_ledger):
    _page, element = page_ledger(with_first_preset({"d_k": None, "d_v": None}))
    assert field(element, "d_k").input_value() == ""
    assert rows(element) == expected(PAPER)


def test_a_beginning_that_does_not_fit_is_said_and_others_are_counted(page_ledger):
    _page, element = page_ledger(with_first_preset({"n_heads": 7}))
    assert element.get_by_text("d_model must be divisible by n_heads").is_visible()
    assert set(rows(element)) == {("", "")}
    enter(element, "n_heads", 8)
    assert rows(element) == expected(PAPER)


def broken_payloads():
    html = model_ledger_html()
    yield "not JSON", html.replace('{"format"', '{"format', 1)
    yield "another format", html.replace("stepformer.ledger/1", "stepformer.ledger/9")
    yield "an unknown op", html.replace('"op":"multiply"', '"op":"guess"', 1)


@pytest.mark.parametrize("html", [pytest.param(html, id=name) for name, html in broken_payloads()])
def test_a_broken_payload_leaves_a_message_and_the_table(html, show_on_page):
    page = show_on_page(html)
    element = page.locator("stepformer-ledger")
    assert element.get_attribute("data-error")
    assert element.get_by_role("alert").is_visible()
    assert element.locator(".stepformer-fallback").is_visible()


def test_without_javascript_the_base_model_stands_there(tmp_path, open_page):
    page = open_page(write_page(tmp_path, model_ledger_html()), java_script_enabled=False)
    text = page.locator(".stepformer-fallback").inner_text()
    assert all(parameters in text for parameters, _ in expected(PAPER))


def test_the_form_has_every_setting_once(page_ledger):
    _page, element = page_ledger()
    document = json.loads(element.locator("script").text_content())
    for entry in document["fields"]:
        assert field(element, entry["name"]).count() == 1, entry["name"]
