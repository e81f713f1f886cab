"""A payload that its page does not hold: the tables and a button; a click loads it, from a server and from a disk."""

import pytest
from chromium import PHONE
from helpers import ROOT, require_node
from probe import SCRIPT, load_deferred, page_text
from stepformer_book.heavy_payloads import without_heavy_payloads

from stepformer import examples
from stepformer.widgets import player_html

HTML = player_html(examples.attention(), start="scores")
BUTTON = "Load the player (0.1 MB)"
NAME = "payloads/0123"


@pytest.fixture
def open_deferred(tmp_path, open_page):
    """Open a page with a player beside it and one whose payload is a script: returns the page and the latter."""

    def open_deferred(script=None, **options):
        text = HTML.partition('<script type="application/json">')[2].partition("</script>")[0]
        deferred = HTML.replace(f'<script type="application/json">{text}</script>', "").replace(
            "<stepformer-player>", f'<stepformer-player data-deferred="{NAME}" data-megabytes="0.1">'
        )
        assert text not in deferred
        (tmp_path / "stepformer.js").write_bytes(SCRIPT.read_bytes())
        path = tmp_path / "data" / f"{NAME}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        if script is None:
            from stepformer.data.page import call

            script = call(NAME, text)
        if script:
            path.write_text(script, encoding="utf-8")
        body = page_text(HTML + deferred)
        (tmp_path / "page.html").write_text(body, encoding="utf-8")
        page = open_page((tmp_path / "page.html").as_uri(), **options)
        page.wait_for_selector("stepformer-player[data-ready]")
        return page, page.locator("stepformer-player").nth(1)

    return open_deferred


def test_before_the_click_there_are_the_tables_and_a_button_and_nothing_is_loaded(open_deferred):
    page, element = open_deferred()
    assert element.get_by_role("button", name=BUTTON).is_visible()
    assert element.locator(".stepformer-fallback table").first.is_visible()
    assert element.get_attribute("data-ready") is None
    assert element.evaluate("(e) => e.player") is None
    assert not page.evaluate("performance.getEntriesByType('resource').some(({name}) => name.includes('payloads'))")


def test_after_the_click_it_is_the_same_player_as_any_other(open_deferred):
    page, element = open_deferred()
    other = page.locator("stepformer-player").first
    element.get_by_role("button", name=BUTTON).press("Enter")
    page.wait_for_selector("stepformer-player:nth-of-type(2)[data-ready]")
    assert element.get_attribute("data-deferred") is None
    assert element.get_by_role("button", name=BUTTON).count() == 0
    assert not element.locator(".stepformer-fallback").is_visible()
    shown = "(e) => e.shadowRoot.querySelector('.player').innerText"
    assert element.evaluate(shown) == other.evaluate(shown)
    text = "(e) => e.querySelector('script[type=\"application/json\"]').textContent"
    assert element.evaluate(text) == other.evaluate(text)
    assert element.get_attribute("data-step") == other.get_attribute("data-step")
    assert element.evaluate("(e) => e.shadowRoot.activeElement?.tagName") == "BUTTON", "the focus is not lost"
    element.evaluate("(e) => e.load()")  # does nothing any more
    element.evaluate("(e) => e.player.next()")
    assert element.get_attribute("data-step") != other.get_attribute("data-step")


def test_a_reader_who_went_on_meanwhile_keeps_the_focus(open_deferred):
    page, element = open_deferred()
    page.evaluate("document.querySelector('main').append(document.createElement('input'))")
    element.evaluate("""(e) => {
      e.shadowRoot.querySelector('button').click();
      document.querySelector('input').focus();
    }""")
    page.wait_for_selector("stepformer-player:nth-of-type(2)[data-ready]")
    page.evaluate("new Promise((resolve) => setTimeout(resolve))")
    assert page.evaluate("document.activeElement.tagName") == "INPUT"


def test_two_clicks_load_once(open_deferred):
    _, element = open_deferred()
    element.evaluate("(e) => Promise.all([e.load(), e.load()])")
    assert element.locator("script").count() == 1
    assert element.evaluate("(e) => e.shadowRoot.querySelectorAll('.player').length") == 1


def test_what_cannot_be_loaded_is_said_and_may_be_tried_again(open_deferred, tmp_path):
    page, element = open_deferred(script="", permit=("payloads/0123.js", "ERR_FILE_NOT_FOUND"))
    button = element.get_by_role("button", name=BUTTON)
    button.focus()
    button.press("Enter")
    notice = element.get_by_role("alert").get_by_text("It could not be loaded")
    notice.wait_for()
    assert element.locator(".stepformer-fallback table").first.is_visible()
    assert button.is_enabled()
    assert button.evaluate("e => e === e.getRootNode().activeElement"), "the focus is not lost"
    (tmp_path / "data" / f"{NAME}.js").write_text(f'stepformerData("{NAME}", "{{}}")', encoding="utf-8")
    button.click()
    page.wait_for_selector("stepformer-player[data-error]")
    assert element.locator(".stepformer-fallback table").first.is_visible(), "a payload that is no good leaves them"


def test_while_it_loads_the_button_says_so_and_a_second_click_does_nothing(open_deferred):
    _page, element = open_deferred()
    # What loads the payload does nothing until the test lets it fail.
    element.evaluate("""e => {
      e.calls = 0;
      e.load = () => new Promise((_, no) => { e.calls += 1; e.fail = no; });
    }""")
    button = element.get_by_role("button")
    for calls in (1, 2):
        button.press("Enter")
        assert button.inner_text() == "Loading the player …"
        assert button.get_attribute("aria-disabled") == "true"
        assert element.get_by_role("status").text_content() == "Loading the player …"
        button.press("Enter")
        assert element.evaluate("e => e.calls") == calls
        assert element.get_by_role("alert").text_content() == ""
        element.evaluate("e => e.fail(new Error('the disk is gone'))")
        element.get_by_role("alert").get_by_text("It could not be loaded (the disk is gone).").wait_for()
        assert button.inner_text() == BUTTON
        assert button.get_attribute("aria-disabled") is None


def test_in_print_the_tables_stay_and_the_button_goes(open_deferred):
    page, element = open_deferred()
    page.emulate_media(media="print")
    assert not element.get_by_role("button", name=BUTTON).is_visible()
    assert element.locator(".stepformer-fallback table").first.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(scheme, open_deferred):
    require_node("axe-core")
    page, _ = open_deferred(viewport=PHONE, color_scheme=scheme)
    page.add_style_tag(content=":root { color-scheme: light dark; background: light-dark(#fff, #14181e) }")
    page.evaluate((ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    result = page.evaluate("axe.run({include: ['[data-deferred]']}, {resultTypes: ['violations']})")
    assert [(v["id"], [n["html"] for n in v["nodes"]][:2]) for v in result["violations"]] == []


@pytest.mark.parametrize("base", ["served", "site"])
def test_the_four_machines_load_on_a_click_from_a_server_and_from_a_disk(base, request, open_page):
    place = request.getfixturevalue(base)
    page = open_page(f"{place if base == 'served' else place.as_uri()}/book/four_machines.html")
    assert page.locator("stepformer-player[data-deferred]").count() == 8
    first = page.locator("stepformer-player").nth(2)
    first.get_by_role("button", name="Load the player").click()
    page.wait_for_selector("stepformer-player[data-ready]")
    assert page.locator("stepformer-player[data-deferred]").count() == 7
    load_deferred(page)
    for player in page.locator("stepformer-player").all():
        assert player.get_attribute("data-ready") is not None
        looked_at = player.locator("[role=grid]").last.get_attribute("aria-label")
        assert looked_at.startswith(("context", "weights"))


def test_no_page_of_the_site_holds_a_large_payload(site):
    for path in site.rglob("*.html"):
        html = path.read_text(encoding="utf-8")
        assert without_heavy_payloads(html) == (html, {}), path.name
        for name in html.split('data-deferred="')[1:]:
            assert (site / "_static" / "data" / f"{name.partition(chr(34))[0]}.js").is_file()
