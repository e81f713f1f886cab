"""JupyterLab: the players of a chapter are live, and what is edited in the page arrives in Python, and back."""

import os
import shutil
import socket
import subprocess
import sys
import time
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from helpers import CHAPTERS, LONG, ROOT, calls_of_show, fault
from nbformat.v4 import new_code_cell, new_notebook
from normalise_notebook import dumps, normalise

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
]

# JupyterLab talks on the console and asks its own server for what is not there; none of it is ours.
LAB_TALK = ("",)


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
    probe = normalise(new_notebook(cells=[new_code_cell(source) for source in PROBE]))  # names its kernel
    (folder / "probe.ipynb").write_text(dumps(probe), encoding="utf-8")
    own = {name: str(folder / ".jupyter" / name) for name in (
        "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR",
    )}  # fmt: skip
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable, "-m", "jupyterlab", "--allow-root", "--no-browser", "--ip=127.0.0.1", f"--port={port}",
        "--ServerApp.port_retries=0", "--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly", "--log-level=ERROR", f"--ServerApp.root_dir={folder}",
    ]  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    with open(folder / "log.txt", "w") as log:
        server = subprocess.Popen(command, env=os.environ | own, stdout=log, stderr=subprocess.STDOUT)
    try:
        for _ in range(300):
            assert server.poll() is None, f"JupyterLab ended: {(folder / 'log.txt').read_text()[-2000:]}"
            try:
                with urlopen(f"{address}/api/status"):
                    break
            except (URLError, ConnectionError):
                time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=30)


@pytest.fixture
def open_notebook(lab, open_page):
    """Open a notebook in JupyterLab and wait for its kernel: returns the page."""

    def open_notebook(name):
        page = open_page(f"{lab}/lab/tree/{name}?reset", permit=LAB_TALK)
        page.set_default_timeout(60_000)
        page.wait_for_function("window.jupyterapp?.shell.currentWidget?.context?.isReady")
        page.wait_for_function("jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'")
        return page

    return open_notebook


def run_all(page):
    assert page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')") is not False
    page.wait_for_function("jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'")


def run_cell(page, number):
    """Run one cell and return its text output."""
    page.evaluate("""async (index) => {
      jupyterapp.shell.currentWidget.content.activeCellIndex = index;
      await jupyterapp.commands.execute('notebook:run-cell');
    }""", number)  # fmt: skip
    return page.evaluate("""(index) => {
      const outputs = jupyterapp.shell.currentWidget.content.widgets[index].model.outputs.toJSON();
      return outputs.map((output) => output.text ?? output.evalue ?? '').join('');
    }""", number)  # fmt: skip


# Only a live view is ever ready: JupyterLab runs no script of a stored output.
LIVE = ".jp-OutputArea-output stepformer-player[data-ready]"


@fault("VIZ-09")
@pytest.mark.parametrize("path", OPENED, ids=lambda path: path.stem)
def test_every_player_of_a_chapter_is_live(path, open_notebook):
    page = open_notebook(path.name)
    page.evaluate("jupyterapp.shell.currentWidget.content.notebookConfig = {...jupyterapp.shell.currentWidget.content"
                  ".notebookConfig, windowingMode: 'none'}")  # fmt: skip
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
    for _ in range(10):  # JupyterLab sends quick changes one at a time, waiting until each is taken
        if (said := run_cell(page, 2)) == "[['query', [0, 0], 10]] 10.0\n":
            break
        page.wait_for_timeout(300)
    assert said == "[['query', [0, 0], 10]] 10.0\n"
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
    for _ in range(10):
        if (said := run_cell(page, 2)) == "[['query', [0, 0], 10]] 10.0\n":
            break
        page.wait_for_timeout(300)
    assert said == "[['query', [0, 0], 10]] 10.0\n"

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
    view.get_by_role("status").get_by_role("button", name="Load all").click()
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
    assert "after step 8,000" in view.get_by_role("status").inner_text()
