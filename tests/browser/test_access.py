"""Every page for every reader: on a phone, with assistive technology, without JavaScript, in print."""

import pytest
from chromium import DESKTOP, ELEMENTS, PHONE
from helpers import ROOT, finished_chapters, require_node, toc_files
from probe import load_deferred

every_page = pytest.mark.parametrize("name", toc_files())
every_chapter = pytest.mark.parametrize("path", finished_chapters(), ids=lambda path: path.stem)


@every_page
def test_a_phone_never_scrolls_a_page_sideways(name, served, open_page):
    page = open_page(f"{served}/{name}.html", viewport=PHONE, has_touch=True, is_mobile=True)
    # 640: a window of 1280 at 200 %.
    for width in (640, PHONE["width"], 320):
        page.set_viewport_size({**PHONE, "width": width})
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"at {width} px the page is {wide} px wide: {page.evaluate(WIDEST)}"
        assert page.evaluate(CUT) == [], "formulas that are cut off"
    assert page.evaluate(MOVED) == [], "code that is given another height when it is laid out"


# A formula that is wider than its own box does not widen what scrolls around it: its end can not be reached.
CUT = """[...document.querySelectorAll('math')]
  .filter((formula) => formula.scrollWidth > formula.clientWidth + 1 && formula.clientWidth > 0)
  .map((formula) => formula.getAttribute('alttext'))"""
# Code far below is not laid out, but its place is kept; else the page would move under a reader who scrolls.
MOVED = """() => [...document.querySelectorAll('pre')].flatMap((code) => {
  const kept = code.getBoundingClientRect().height;
  code.style.contentVisibility = 'visible';
  const taken = code.getBoundingClientRect().height;
  return Math.abs(kept - taken) < 0.1 ? [] : [`${kept} px kept, ${taken} px taken: ${code.textContent.slice(0, 40)}`];
})"""
WIDEST = """() => [...document.querySelectorAll('main *')]
  .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
  .slice(0, 5).map((e) => `${e.tagName}.${e.className}`)"""


@pytest.mark.parametrize("way", ["tap", "key"])
def test_on_a_phone_a_link_to_a_place_of_the_page_closes_the_sidebar_and_leads_there(way, served, open_page):
    page = open_page(f"{served}/chapters/05_attention.html", viewport=PHONE, has_touch=True, is_mobile=True)
    dialog = page.locator("#pst-secondary-sidebar-modal")
    for _ in range(2):  # the second time the address holds the place already
        page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
        page.locator(".secondary-toggle").tap()
        link = dialog.get_by_role("link").nth(3)
        link.tap() if way == "tap" else link.press("Enter")
        dialog.wait_for(state="hidden")
        page.wait_for_function(AT_ITS_PLACE)
        assert page.evaluate("document.activeElement === document.body"), "Tab goes on from the place"
    page.keyboard.press("Tab")
    assert page.evaluate("Math.abs(document.activeElement.getBoundingClientRect().top) < innerHeight")
    page.evaluate("scrollTo({ top: 900, behavior: 'instant' })")
    page.locator(".primary-toggle").tap()
    page.locator("#pst-primary-sidebar-modal .current > a[href='#']").tap()
    page.locator("#pst-primary-sidebar-modal").wait_for(state="hidden")
    page.wait_for_function("scrollY === 0")


# Below the bar at the top of the page, and not far below.
AT_ITS_PLACE = """() => {
  const { top } = document.querySelector(decodeURIComponent(location.hash)).getBoundingClientRect();
  return top >= 0 && top < 150;
}"""


@every_page
def test_axe_finds_nothing_in_our_elements(name, served, open_page):
    require_node("axe-core")
    page = open_page(f"{served}/{name}.html", color_scheme="light", viewport=DESKTOP)
    ours = [selector for selector in (ELEMENTS, "figure.machine") if page.locator(selector).count()]
    if not ours:
        return
    page.evaluate((ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    if page.locator("[data-deferred]").count():
        assert axe(page, ["[data-deferred]"]) == []
        load_deferred(page)
    assert axe(page, ours) == []
    # In the dark only colours change, and axe takes its time.
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark]")
    assert axe(page, ours, runOnly=["color-contrast"]) == []


def axe(page, ours, **options):
    """What axe finds in the elements that match a selector of ours."""
    options = {"resultTypes": ["violations"]} | options
    result = page.evaluate("([ours, options]) => axe.run({include: ours.map((s) => [s])}, options)", [ours, options])
    assert result["passes"], "axe looked at nothing"
    return [f"{rule['id']}: {node['target']} {node['failureSummary']}"
            for rule in result["violations"] for node in rule["nodes"]]  # fmt: skip


@every_chapter
def test_without_javascript_the_numbers_stand_there_as_tables(path, served, open_page):
    # Without JavaScript the browser drops the scripts that the theme asks it to load early.
    page = open_page(f"{served}/chapters/{path.stem}.html", java_script_enabled=False, permit=("/_static/scripts/",))
    players = page.locator("stepformer-player")
    assert players.count() >= 1
    for player in players.all():
        assert player.locator(".stepformer-fallback table").first.is_visible()


@every_chapter
def test_in_print_each_player_shows_its_current_step(path, served, open_page):
    page = open_page(f"{served}/chapters/{path.stem}.html")
    load_deferred(page)
    page.emulate_media(media="print")
    for player in page.locator("stepformer-player").all():
        assert player.locator("[role=grid]").first.is_visible()
