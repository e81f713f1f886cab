"""JupyterLab: the players of a chapter are live, and what is edited in the page arrives in Python, and back."""

import shutil

import pytest
from helpers import CHAPTERS, LONG, ROOT, calls_of_show, fault
from live_notebook import LIVE, open_in, run_all, run_cell, run_until, serve, show_every_cell, write_notebook

pytestmark = pytest.mark.slow

# A chapter takes JupyterLab some twelve seconds: `make test` opens the first of the main line, `make test-all` each.
OPENED = [path for path in CHAPTERS if LONG or path.stem == "05_attention"]

PROBE = [
    "from stepformer import examples\nfrom stepformer.widgets import show",
    "player = show(examples.attention(), start='scores')\nplayer",
    "print(player.edits, player.values['query'][0, 0])",
    "player.set('query', (1, 1), -2.5)",
    "from stepformer import word_map\nfrom stepformer.data import vectors\nword_map.show(vectors.load())",
    "from stepformer.timeline import timeline\ntimeline('small', sentence=1)",
    """from stepformer.train import Config, Dashboard, train
config = Config.from_dict({
    "model": {"kind": "transformer", "d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 32, "max_len": 40},
    "data": {"n_train": 200, "n_dev": 10, "batch_size": 16, "phenomena": ["core"]},
    "optimiser": {"lr": 0.003},
    "schedule": {"kind": "constant", "warmup": 0},
    "budget": {"steps": 200, "dev_every": 100},
})
run = train(config, observers=[Dashboard(seconds=0.5, share=1.0)])""",
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab of its own, with a chapter and a probe notebook in its folder."""
    folder = tmp_path_factory.mktemp("lab") / "chapters"
    folder.mkdir()
    for chapter in CHAPTERS:
        shutil.copy(chapter, folder)
    # Chapters read their measured figures from here.
    (folder.parent / "bench").mkdir()
    for figures in (ROOT / "bench").glob("*.json"):
        shutil.copy(figures, folder.parent / "bench")
    write_notebook(folder / "probe.ipynb", PROBE)
    with serve(folder) as address:
        yield address


@pytest.fixture
def open_notebook(lab, open_page):
    """Open a notebook in JupyterLab and wait for its kernel: returns the page."""
    return lambda name: open_in(lab, open_page, name)


@fault("VIZ-09")
@pytest.mark.parametrize("path", OPENED, ids=lambda path: path.stem)
def test_every_player_of_a_chapter_is_live(path, open_notebook):
    page = open_notebook(path.name)
    show_every_cell(page)
    run_all(page)
    page.wait_for_function(f"document.querySelectorAll({LIVE!r}).length >= {calls_of_show(path)}")
    assert page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    assert page.evaluate(f"[...document.querySelectorAll({LIVE!r})].filter((e) => e.dataset.error).length") == 0


@fault("VIZ-13")
def test_an_edit_in_the_page_reaches_python_and_an_edit_in_python_reaches_the_page(open_notebook):
    page = open_notebook("probe.ipynb")
    run_cell(page, 0)
    run_cell(page, 1)
    view = page.locator(LIVE)
    view.wait_for(state="attached")
    assert view.count() == 1

    # Ten quick changes: one view, one edit, the last value.
    cell = page.locator("[role=grid][aria-label^='query:'] [role=gridcell]").first
    view.evaluate("(element) => { for (let i = 1; i <= 10; i++) element.player.set('query', [0, 0], i); }")
    run_until(page, 2, "[['query', [0, 0], 10]] 10.0\n")
    assert page.locator(LIVE).count() == 1
    assert cell.inner_text().strip() == "10.00"

    run_cell(page, 3)
    page.wait_for_function("(element) => element.player.values('query')[1][1] === -2.5", arg=view.element_handle())

    # Undo belongs to the player, not to the notebook, and reaches Python as well.
    cell.click()
    cells = page.evaluate("jupyterapp.shell.currentWidget.content.widgets.length")
    page.keyboard.press("Control+z")
    page.wait_for_function("(element) => element.player.edits.length === 1", arg=view.element_handle())
    assert page.evaluate("jupyterapp.shell.currentWidget.content.widgets.length") == cells
    run_until(page, 2, "[['query', [0, 0], 10]] 10.0\n")

    view.get_by_text("Share", exact=True).click()
    view.get_by_role("button", name="Copy as NumPy").wait_for()
    assert view.get_by_role("button", name="Copy link").count() == 0, "no address leads to a widget"


def test_the_word_map_gets_the_whole_table_from_python(open_notebook):
    page = open_notebook("probe.ipynb")
    run_cell(page, 4)
    view = page.locator(".jp-OutputArea-output stepformer-word-map[data-ready]")
    view.wait_for(state="attached")
    assert view.get_attribute("data-words") == "79"
    view.get_by_role("textbox").fill("elephant")
    view.get_by_role("textbox").press("Enter")
    view.locator(".notice").get_by_role("button", name="Load all").click()
    page.wait_for_selector("stepformer-word-map[data-query='elephant'][data-words='4000']")
    requests = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert not [name for name in requests if "vectors.js" in name], "JupyterLab has no such file"


def test_the_timeline_is_live(open_notebook):
    page = open_notebook("probe.ipynb")
    run_cell(page, 5)
    view = page.locator(".jp-OutputArea-output stepformer-timeline[data-ready]")
    view.wait_for(state="attached")
    view.get_by_role("slider").press("End")
    assert view.get_attribute("data-snapshot") == "9"
    assert view.locator(".tr-matrix tbody th").first.inner_text() == "追逐"
    assert view.locator(".tl-moment b").inner_text() == "after step 8,000"


def test_a_training_is_watched_while_it_goes_on(open_notebook):
    page = open_notebook("probe.ipynb")
    show_every_cell(page)
    page.evaluate("""() => {
      jupyterapp.shell.currentWidget.content.activeCellIndex = 6;
      jupyterapp.commands.execute('notebook:run-cell').then(() => { globalThis.cellHasRun = true; });
    }""")
    # Both pictures are there, and the text moves on, while the cell runs.
    seen = """(least) => {
      const board = document.querySelector('.jp-OutputArea-output .widget-vbox');
      const pictures = [...(board?.querySelectorAll('img') ?? [])];
      const step = Number(/step (\\d+) of 200 · loss [\\d.]+ · [\\d,]+ tokens.s/.exec(board?.innerText)?.[1]);
      const drawn = pictures.length === 2 && pictures.every((picture) => picture.naturalWidth > 200);
      return drawn && step > least && !globalThis.cellHasRun && board.innerText.includes('s left') && step;
    }"""
    first = page.wait_for_function(seen, arg=0, timeout=180_000).json_value()
    assert page.wait_for_function(seen, arg=first, timeout=180_000).json_value() > first
    page.wait_for_function("globalThis.cellHasRun", timeout=180_000)
    board = page.locator(".jp-OutputArea-output .widget-vbox")
    assert board.count() == 1
    assert "step 200 of 200" in board.inner_text()
    assert board.inner_text().rstrip().endswith("All steps are done.")
    assert page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
