"""JupyterLab and Notebook: a player among other widgets, displayed twice, made anew, cleared away."""

from pathlib import Path

import pytest
from live_notebook import APPS, LIVE, open_in, run_cell, run_until, serve, write_notebook

pytestmark = pytest.mark.slow

CELLS = {
    "imports": """
import ipywidgets as w
from IPython.display import clear_output, display
from stepformer import examples, mistakes
from stepformer.widgets import show
TRACE = examples.attention().with_breaks(*mistakes.ATTENTION)
""",
    "tabs": """
player = show(TRACE, start="scores")
slider = w.FloatSlider(min=-2, max=2, step=0.5, value=0, description="query")
slider.observe(lambda change: player.set("query", [0, 0], change["new"]), "value")
heard = []
player.observe(lambda change: heard.append(float(change["new"]["query"][0, 0])), names="values")
tabs = w.Tab([w.Label("Look into the other tabs."), w.VBox([slider, w.HBox([player])]), w.Accordion([player])],
             titles=["Words", "In boxes", "Accordion"])
tabs
""",
    "row": """
narrow, wide = show(TRACE), show(TRACE)
narrow.layout.width = "400px"
w.HBox([narrow, w.Button(description="between"), wide], layout=w.Layout(width="100%"))
""",
    "slide": "slider.value = 1.5",
    "heard": "print(heard, player.edits)",
    "output": """
player = show(TRACE, start="scores")
slider = w.FloatSlider(min=-2, max=2, step=0.5, value=0)
def change(x):
    player.set("query", [0, 0], x)
    print("weight", player.values["attention.weights"].round(3)[0, 0])
display(player, slider, w.interactive_output(change, {"x": slider}))
""",
    "made": """
slider = w.IntSlider(min=0, max=40)
def draw(x):
    global player
    player = show(TRACE, start=x % 3)
    display(player)
display(slider, w.interactive_output(draw, {"x": slider}))
""",
    "made next": "slider.value += 1",
    "closing": """
slider = w.IntSlider(min=0, max=40)
player = None
def draw(x):
    global player
    if player:
        player.close()
    player = show(TRACE, start=x % 3)
    display(player)
display(slider, w.interactive_output(draw, {"x": slider}))
""",
    "twice": """
player = show(TRACE, start="scores")
display(player)
display(player)
""",
    "state": "print(player.edits, player.state['step'], player.state['breaks'])",
    "again": "show(TRACE, start='scores')",
    "clear": "one = show(TRACE)\ndisplay(one)\nclear_output()",
    "close": "player.close()",
}
VIEW = "stepformer-player[data-ready]"
NUMBER = {name: number for number, name in enumerate(CELLS)}


@pytest.fixture(scope="module", params=APPS)
def opened(request, opener, tmp_path_factory):
    """The notebook in JupyterLab or in Notebook 7, in one page and with one kernel for all tests."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    write_notebook(folder / "layouts.ipynb", list(CELLS.values()))
    with serve(folder, request.param) as address, opener() as open_page:
        page = open_in(address, open_page, "layouts.ipynb")
        run_cell(page, NUMBER["imports"])
        yield page


@pytest.fixture
def notebook(opened):
    """The page without any output; `run(name)` runs a cell of CELLS."""
    opened.evaluate("jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    opened.wait_for_function("!document.querySelector('stepformer-player')")
    return opened


def run(page, name):
    return run_cell(page, NUMBER[name])


def wait_for_views(page, count):
    page.wait_for_function(f"document.querySelectorAll({LIVE!r}).length === {count}")
    return page.locator(LIVE)


def keep_weakly(page):
    """Remember the views on show without holding them."""
    page.evaluate("""() => {
      window.weak ??= [];
      for (const host of document.querySelectorAll('stepformer-player')) {
        if (weak.some((ref) => ref.deref() === host)) continue;
        weak.push(new WeakRef(host));
        host.player.play(); // what plays while it is cleared away must stop as well
      }
    }""")


def alive(page):
    """How many remembered views are still in memory, after garbage collection."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.enable")
    for _ in range(4):
        session.send("HeapProfiler.collectGarbage")
        page.wait_for_timeout(100)
    session.detach()
    return page.evaluate("weak.filter((ref) => ref.deref()).length")


def test_a_player_in_a_tab_that_is_opened_later_has_its_width_and_hears_the_slider(notebook):
    page = notebook
    run(page, "tabs")
    views = wait_for_views(page, 2)
    # The tabs turn to the first one when all are there.
    page.locator(".jupyter-widget-tab .widget-label", has_text="Look into the other tabs.").wait_for(timeout=10_000)
    assert [views.nth(i).evaluate("(view) => view.clientWidth") for i in range(2)] == [0, 0]
    room = page.locator(".jupyter-widget-tab").bounding_box()["width"]

    page.get_by_role("tab", name="In boxes").click()
    boxed = page.locator(f".widget-hbox {VIEW}")
    boxed.get_by_role("grid").first.wait_for(timeout=10_000)
    page.wait_for_function("([view, room]) => view.getBoundingClientRect().width > 0.8 * room",
                           arg=[boxed.element_handle(), room])  # fmt: skip
    page.wait_for_function("(view) => view.player.measures.room !== 520", arg=boxed.element_handle())  # what it assumed
    assert boxed.evaluate("(view) => view.player.measures.room") > 0.4 * room

    run(page, "slide")
    page.wait_for_function("(view) => view.player.values('query')[0][0] === 1.5", arg=boxed.element_handle())
    boxed.evaluate("(view) => view.player.set('query', [0, 0], -0.5)")
    run_until(page, NUMBER["heard"], "[1.5, -0.5] [['query', [0, 0], -0.5]]\n")

    page.get_by_role("tab", name="Accordion").click()
    page.locator(".jupyter-widget-Collapse-header").click()
    folded = page.locator(f".widget-accordion {VIEW}")
    folded.get_by_role("grid").first.wait_for()
    assert folded.evaluate("(view) => view.player.values('query')[0][0]") == -0.5
    assert folded.bounding_box()["width"] > 0.8 * room


def test_in_a_row_a_player_is_as_wide_as_its_layout_says_or_takes_what_is_left(notebook):
    page = notebook
    run(page, "row")
    views = wait_for_views(page, 2)
    room = page.locator(".widget-hbox").last.bounding_box()["width"]
    narrow, wide = (views.nth(i).bounding_box()["width"] for i in range(2))
    assert 390 <= narrow <= 400
    assert room - 600 < wide <= room - narrow


def test_interactive_output_sets_cells_of_one_player(notebook):
    page = notebook
    run(page, "output")
    view = wait_for_views(page, 1)
    # By mouse: Notebook keeps the arrow keys of this slider to itself.
    track = page.locator(".widget-slider .noUi-base")
    track.scroll_into_view_if_needed()
    track.click(position={"x": track.bounding_box()["width"] * 2.5 / 4, "y": 1})  # 0.5 on the way from -2 to 2
    page.wait_for_function("(view) => view.player.values('query')[0][0] === 0.5", arg=view.element_handle())
    weight = view.evaluate("(view) => view.player.values('attention.weights')[0][0].toFixed(3)").rstrip("0")
    page.get_by_text(f"weight {weight}", exact=True).wait_for()
    assert page.locator(LIVE).count() == 1


@pytest.mark.parametrize("way", ["made", "closing"])
def test_a_player_made_in_each_call_replaces_the_one_before(way, notebook):
    page = notebook
    run(page, way)
    wait_for_views(page, 1)
    for step in range(1, 13):
        keep_weakly(page)
        run(page, "made next")
        page.wait_for_function(f"""() => {{
          const views = document.querySelectorAll('stepformer-player');
          return views.length === 1 && views[0].dataset.step === '{step % 3}' && !views[0].player.playing;
        }}""")
    keep_weakly(page)
    assert alive(page) <= 2, "the one on show, and at most one that JupyterLab has not let go of"


def test_a_player_displayed_twice_is_one_and_sends_each_change_once(notebook):
    page = notebook
    run(page, "twice")
    views = wait_for_views(page, 2)
    page.evaluate("""() => {
      window.sent = 0;
      jupyterapp.shell.currentWidget.sessionContext.session.kernel.anyMessage.connect((_, { msg, direction }) => {
        if (direction === 'send' && msg.header.msg_type === 'comm_msg') window.sent += 1;
      });
    }""")
    acts = [
        (0, "set('query', [0, 0], 2)", "[['query', [0, 0], 2]] 1 []\n"),
        (1, "break(player.session.program.breaks[0].name)", "[['query', [0, 0], 2]] 1 ['{}']\n"),
        (1, "goto(0)", "[['query', [0, 0], 2]] 0 ['{}']\n"),
        (0, "undo()", "[['query', [0, 0], 2]] 0 []\n"),
        (1, "undo()", "[['query', [0, 0], 2]] 0 ['{}']\n"),
        (0, "reset()", "[] 0 []\n"),
    ]
    name = views.nth(0).evaluate("(view) => view.player.session.program.breaks[0].name")
    for count, (nth, act, said) in enumerate(acts, start=1):
        views.nth(nth).evaluate(f"({{ player }}) => {{ player.{act}; }}")
        run_until(page, NUMBER["state"], said.format(name))
        shown = [views.nth(i).evaluate("""({ player }) =>
          [player.edits, player.breaks, player.step, player.values('attention.weights')]""") for i in range(2)]
        assert shown[0] == shown[1], act
        assert page.evaluate("sent") == count, f"{act} is one message"
    run(page, "close")
    page.wait_for_function("!document.querySelector('stepformer-player')")


def test_a_cell_that_runs_thirty_times_and_cleared_outputs_leave_no_view_behind(notebook):
    page = notebook
    page.evaluate("window.weak = []")
    for _ in range(30):
        run(page, "again")
        wait_for_views(page, 1)
        keep_weakly(page)
    assert page.evaluate("weak.length") == 30
    assert alive(page) <= 2, "the one on show, and at most one that JupyterLab has not let go of"
    run(page, "clear")
    page.evaluate("jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    page.wait_for_function("!document.querySelector('stepformer-player')")
    assert alive(page) <= 1


def test_a_closed_player_is_gone_from_every_place(notebook):
    page = notebook
    run(page, "tabs")
    wait_for_views(page, 2)
    run(page, "close")
    page.wait_for_function("!document.querySelector('stepformer-player')")
