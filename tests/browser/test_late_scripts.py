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


def test_text_is_drawn_before_any_script_is_asked_for(first_look):
    page = first_look()
    page.wait_for_selector("html:not([data-scripts])", state="attached")
    drawn, asked = page.evaluate("""() => [
      performance.getEntriesByName('first-contentful-paint')[0].startTime,
      performance.getEntriesByType('resource')
        .filter((one) => one.initiatorType === 'script').map((one) => one.startTime),
    ]""")
    assert len(asked) > 5
    assert min(asked) > drawn


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
