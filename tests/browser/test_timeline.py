"""The training timeline on a page: what is shown at each moment is what the snapshots hold."""

from datetime import datetime

import pytest
from chromium import PHONE
from helpers import ROOT, require_node
from playwright.sync_api import expect

from stepformer.timeline import payload, timeline

DOCUMENT = payload("small")
LAST = len(DOCUMENT["snapshots"]) - 1


@pytest.fixture
def show(show_on_page):
    """Open a page with timelines: returns the page and the first timeline."""

    def show(*elements, **options):
        page = show_on_page(*(elements or [timeline("small").html()]), **options)
        return page, page.locator("stepformer-timeline").first

    return show


def scrub(element, snapshot):
    """Move the slider as a reader does, with the keys."""
    slider = element.get_by_role("slider")
    slider.press("Home")
    for _ in range(snapshot):
        slider.press("ArrowRight")


def expected_table(snapshot, sentence=0, layer=-1, heads=None):
    table = DOCUMENT["snapshots"][snapshot]["sentences"][sentence]["attention"][layer]
    table = [table[k] for k in heads] if heads else table
    rows = range(len(table[0]))
    return [
        [f"{sum(head[i][j] for head in table) / len(table) / 1000 + 1e-9:.2f}" for j in range(len(table[0][i]))]
        for i in rows
    ]


def shown_table(element):
    return [row.locator("td").all_inner_texts() for row in element.locator(".tr-matrix tbody tr").all()]


def shown_bars(element):
    """The words and shares as they stand there, and which one carries the sign."""
    bars = [bar for bar in element.locator(".tr-bar").all() if bar.is_visible()]
    texts = [bar.locator("[lang=zh]").inner_text() for bar in bars]
    signed = [text for text, bar in zip(texts, bars, strict=True) if "✓" in bar.inner_text()]
    return list(zip(texts, [bar.locator(".tr-number").inner_text() for bar in bars], strict=True)), signed


def expected_bars(snapshot, sentence, position):
    bars = DOCUMENT["snapshots"][snapshot]["sentences"][sentence]["next"][position]
    return [(word, "< 0.01" if 0 < share < 5 else f"{share / 1000 + 1e-9:.2f}") for word, share in bars]


def test_it_begins_before_the_first_step(show):
    _, element = show()
    assert element.get_attribute("data-snapshot") == "0"
    assert element.get_by_text("before the first step").first.is_visible()
    assert element.get_by_text("no loss yet").is_visible()
    assert shown_table(element) == expected_table(0)


@pytest.mark.parametrize("sentence", [0, 1])
def test_scrubbing_shows_what_each_snapshot_holds(sentence, show):
    _, element = show()
    element.get_by_role("combobox").select_option(str(sentence))
    tgt = DOCUMENT["sentences"][sentence]["tgt"]
    for snapshot, stored in enumerate(DOCUMENT["snapshots"]):
        scrub(element, snapshot)
        assert element.get_attribute("data-snapshot") == str(snapshot)
        assert shown_table(element) == expected_table(snapshot, sentence)
        bars, signed = shown_bars(element)
        assert bars == expected_bars(snapshot, sentence, 0)
        assert signed == [word for word, _ in bars if word == tgt[0]]
        if snapshot:
            moment = f"after step {stored['step']:,}"
            assert element.get_by_role("slider").get_attribute("aria-valuetext") == moment
            assert element.locator("b", has_text=moment).is_visible()
            assert element.get_by_text(f"loss {DOCUMENT['losses'][snapshot]:.2f}").is_visible()


def test_a_click_on_a_word_shows_what_is_expected_in_its_place(show):
    _, element = show()
    scrub(element, LAST)
    for position, word in enumerate(DOCUMENT["sentences"][0]["tgt"]):
        button = element.get_by_role("button", name=f"What is expected in the place of {word}", exact=True)
        button.press("Enter")
        assert button.get_attribute("aria-pressed") == "true"
        bars, signed = shown_bars(element)
        assert bars == expected_bars(LAST, 0, position)
        assert signed == [word], "at the end it is right everywhere"
        assert element.get_by_role("heading", name=f"What it expects in the place of {word}").is_visible()


def test_layers_and_heads_are_chosen_and_averaged(show):
    _, element = show()
    scrub(element, 5)
    layers, heads = element.get_by_role("group", name="layer"), element.get_by_role("group", name="head")
    layers.get_by_role("radio", name="0").check()
    assert shown_table(element) == expected_table(5, layer=0)
    heads.get_by_role("radio", name="2").check()
    assert shown_table(element) == expected_table(5, layer=0, heads=[2])
    layers.get_by_role("radio", name="1").check()
    assert shown_table(element) == expected_table(5, layer=1, heads=[2])
    layers.get_by_role("radio", name="average").check()
    both = [DOCUMENT["snapshots"][5]["sentences"][0]["attention"][k][2] for k in (0, 1)]
    means = [[(a + b) / 2000 for a, b in zip(*rows, strict=True)] for rows in zip(*both, strict=True)]
    values = element.evaluate("(e) => e.timeline.values().weights")
    assert values == [pytest.approx(row, abs=1e-12) for row in means]


def test_play_goes_to_the_end_and_pause_stops_it(show):
    page, element = show()
    page.clock.install(time=datetime(2026, 1, 1))
    page.clock.pause_at(datetime(2026, 1, 2))
    element.get_by_role("button", name="Play").click()
    page.clock.run_for(2500)
    assert element.get_attribute("data-snapshot") == "2"
    assert element.get_by_role("status").inner_text() == "", "what goes by is not read out"
    element.get_by_role("button", name="Pause").click()
    page.clock.run_for(5000)
    assert element.get_attribute("data-snapshot") == "2"
    element.get_by_role("button", name="Play").click()
    page.clock.run_for(20_000)
    assert element.get_attribute("data-snapshot") == str(LAST)
    assert element.get_by_role("button", name="Play").is_visible(), "it stopped by itself"
    element.get_by_role("button", name="Play").click()
    assert element.get_attribute("data-snapshot") == "0", "from the end it begins again"
    element.get_by_role("slider").press("ArrowRight")
    page.clock.run_for(5000)
    assert element.get_attribute("data-snapshot") == "1", "who takes the slider stops it"


def test_who_wants_less_motion_sees_none(show):
    page, element = show(reduced_motion="reduce")
    element.get_by_role("button", name="Play").click()
    assert element.locator(".tr-fill").first.evaluate("(e) => getComputedStyle(e).transitionDuration") == "0s"
    page.emulate_media(reduced_motion="no-preference")
    assert element.locator(".tr-fill").first.evaluate("(e) => getComputedStyle(e).transitionDuration") == "0.3s"


def test_what_is_chosen_is_said(show):
    _, element = show()
    scrub(element, LAST)
    said = "In the place of 汤姆 it expects 汤姆, 0.90, and looks most at Tom, 0.99."
    expect(element.get_by_role("status")).to_have_text(said)


def test_the_marker_stands_over_the_thumb_and_the_curve_falls(show):
    _, element = show()
    scrub(element, 3)
    assert float(element.locator(".tl-marker").get_attribute("x1")) == pytest.approx(300 / LAST)
    points = [tuple(map(float, p.split(","))) for p in element.locator("polyline").get_attribute("points").split()]
    assert points == sorted(points)
    assert points[0][1] == 0 < points[-1][1] == pytest.approx(40 * (1 - 0.853 / 4.205), abs=6)
    moments = {one["step"]: k for k, one in enumerate(DOCUMENT["snapshots"])}
    for (step, _), (x, _) in zip(DOCUMENT["loss"], points, strict=True):
        if step in moments:
            assert x == pytest.approx(100 * moments[step] / LAST, abs=0.01)


def test_a_model_with_one_layer_and_one_head_leaves_nothing_to_choose(show):
    _, element = show(timeline("gru_attention").html())
    assert element.get_by_role("radio").count() == 0
    scrub(element, 9)
    last = payload("gru_attention")["snapshots"][-1]["sentences"][0]["attention"][0][0]
    assert shown_table(element) == [[f"{x / 1000 + 1e-9:.2f}" for x in row] for row in last]


def test_two_timelines_on_a_page_do_not_disturb_each_other(show):
    page, first = show(timeline("small").html(), timeline("base", sentence=3).html())
    second = page.locator("stepformer-timeline").nth(1)
    scrub(second, 4)
    second.get_by_role("group", name="head").get_by_role("radio", name="1").check()
    assert first.get_attribute("data-snapshot") == "0"
    assert first.get_by_role("group", name="head").get_by_role("radio", name="average").is_checked()


@pytest.mark.parametrize(
    "broken", ["", "{}", '{"format":"stepformer.timeline/2"}', '{"format":"stepformer.timeline/1"}', "[]"]
)
def test_a_broken_payload_leaves_a_message_and_the_table(broken, show):
    html = timeline("small").html()
    before, _, after = html.partition(timeline("small").payload)
    _, element = show(before + broken + after)
    assert element.get_attribute("data-error")
    assert element.get_by_role("alert").is_visible()
    assert element.locator(".stepformer-fallback table").is_visible()


def test_words_reach_the_page_as_text(show):
    html = timeline("small").html()
    _, element = show(html.replace('"Tom"', '"\\u003cimg src=x onerror=alert(1)>"').replace("汤姆", "\\u003cb>汤"))
    assert "<img src=x" in element.locator(".tr-matrix thead").inner_text()
    assert element.locator("img, td b, th b, li b").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 900}, PHONE, {**PHONE, "width": 320}])
def test_axe_finds_nothing_and_no_page_scrolls_sideways(viewport, scheme, show):
    require_node("axe-core")
    page, element = show(viewport=viewport, color_scheme=scheme)
    page.add_style_tag(content=":root { color-scheme: light dark }")
    element.get_by_role("combobox").select_option("1")
    scrub(element, 5)
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    page.evaluate((ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    result = page.evaluate("axe.run({include: ['stepformer-timeline']}, {resultTypes: ['violations']})")
    assert [(v["id"], [n["html"] for n in v["nodes"]][:2]) for v in result["violations"]] == []
