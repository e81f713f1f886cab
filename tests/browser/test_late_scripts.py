"""Pages are drawn before they ask for a script, in their last colours, and get their scripts in any case."""

import pytest

PAGE = "chapters/05_attention.html"


@pytest.fixture
def first_look(served, chromium):
    """Open a page, with a script of ours before all of its own."""
    contexts = []

    def first_look(script="", **options):
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.add_init_script(script)
        page.goto(f"{served}/{PAGE}")
        return page

    yield first_look
    for context in contexts:
        context.close()


# The first paint comes when the test says so, and no clock asks for the scripts instead of it.
HELD = """
  window.PerformanceObserver = class {
    constructor(told) { window.paint = told; }
    observe({ type }) { window.waitsFor = type; }
  };
  const later = window.setTimeout;
  window.setTimeout = (act, time, ...rest) => (time === 2000 ? 0 : later(act, time, ...rest));
"""
ASKED = "performance.getEntriesByType('resource').filter((one) => one.initiatorType === 'script').length"


def test_no_script_is_asked_for_before_the_first_paint(first_look):
    page = first_look(HELD)
    assert page.evaluate("waitsFor") == "paint"
    assert page.evaluate(ASKED) == 0
    page.evaluate("paint()")
    page.wait_for_selector("html:not([data-scripts])", state="attached")
    assert page.evaluate(ASKED) > 5


def test_a_page_that_is_never_drawn_gets_its_scripts_all_the_same(first_look):
    page = first_look("window.PerformanceObserver = class { observe() {} };")
    page.wait_for_selector("stepformer-player[data-ready]")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("mode", ["auto", "light", "dark"])
def test_the_colours_are_those_of_the_reader_before_any_script_runs(mode, scheme, first_look):
    # Without the paint that they wait for, the scripts have not come yet.
    page = first_look(
        f"localStorage.setItem('mode', '{mode}'); window.PerformanceObserver = class {{ observe() {{}} }};",
        color_scheme=scheme,
    )
    assert page.get_attribute("html", "data-scripts") == "waiting"
    assert page.get_attribute("html", "data-theme") == (scheme if mode == "auto" else mode)
    page.wait_for_selector("html:not([data-scripts])", state="attached")
    assert page.get_attribute("html", "data-theme") == (scheme if mode == "auto" else mode)
