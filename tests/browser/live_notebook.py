"""JupyterLab and Notebook for the tests: a server of one's own, and what a test does in an open notebook."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from nbformat.v4 import new_code_cell, new_notebook
from normalise_notebook import dumps, normalise

# Both talk on the console and ask their own server for what is not there; none of it is ours.
TALK = ("",)

# Only a live view is ever ready: neither runs a script of a stored output.
LIVE = ".jp-OutputArea-output stepformer-player[data-ready]"

# Each application: its module, where it opens a notebook, and how its page lets a test reach it.
APPS = {
    "jupyterlab": (
        "lab/tree/{name}?reset",
        ("--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly"),
    ),
    "notebook": ("notebooks/{name}", ("--JupyterNotebookApp.expose_app_in_browser=True",)),
}


def write_notebook(path: Path, cells: Sequence[str]) -> None:
    """A notebook of code cells that names its kernel."""
    notebook = normalise(new_notebook(cells=[new_code_cell(source) for source in cells]))
    path.write_text(dumps(notebook), encoding="utf-8")


@contextmanager
def serve(folder: Path, app: str = "jupyterlab") -> Iterator[str]:
    """The address of a server for the notebooks in a folder, `…/{name}`; it reads no setting of this computer."""
    own = {name: str(folder / ".jupyter" / name) for name in (
        "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR",
    )}  # fmt: skip
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place, options = APPS[app]
    command = [
        sys.executable, "-m", app, "--allow-root", "--no-browser", "--ip=127.0.0.1", f"--port={port}",
        "--ServerApp.port_retries=0", "--IdentityProvider.token=", *options, "--log-level=ERROR",
        f"--ServerApp.root_dir={folder}",
    ]  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    with open(folder / "log.txt", "w") as log:
        server = subprocess.Popen(command, env=os.environ | own, stdout=log, stderr=subprocess.STDOUT)
    try:
        for _ in range(300):
            assert server.poll() is None, f"{app} ended: {(folder / 'log.txt').read_text()[-2000:]}"
            try:
                with urlopen(f"{address}/api/status"):
                    break
            except (URLError, ConnectionError):
                time.sleep(0.1)
        yield f"{address}/{place}"
    finally:
        server.terminate()
        server.wait(timeout=30)


def open_in(address: str, open_page, name: str, **options):
    """Open a notebook and wait for its kernel: returns the page."""
    page = open_page(address.format(name=name), permit=TALK, **options)
    page.set_default_timeout(60_000)
    page.wait_for_function("window.jupyterapp?.shell.currentWidget?.context?.isReady")
    page.wait_for_function("jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'")
    return page


def show_every_cell(page) -> None:
    """Cells far from view are in the page as well; a notebook leaves them out otherwise."""
    page.evaluate("""() => {
      const { content } = jupyterapp.shell.currentWidget;
      content.notebookConfig = { ...content.notebookConfig, windowingMode: 'none' };
    }""")


def run_all(page) -> None:
    """Run every cell and wait until the kernel is idle."""
    assert page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')") is not False
    page.wait_for_function("jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'")


def run_cell(page, number: int) -> str:
    """Run one cell and return its text output."""
    page.evaluate("""async (index) => {
      jupyterapp.shell.currentWidget.content.activeCellIndex = index;
      await jupyterapp.commands.execute('notebook:run-cell');
    }""", number)  # fmt: skip
    return output(page, number)


def output(page, number: int) -> str:
    """The text output of a cell as it is now."""
    return page.evaluate("""(index) => {
      const outputs = jupyterapp.shell.currentWidget.content.widgets[index].model.outputs.toJSON();
      return outputs.map((output) => output.text ?? output.evalue ?? '').join('');
    }""", number)  # fmt: skip


def run_until(page, number: int, wanted: str) -> None:
    """Run a cell until it says what is wanted: quick changes of a widget are sent one at a time, each when the one
    before has been taken, so the last may come after the next run."""
    for _ in range(10):
        if (said := run_cell(page, number)) == wanted:
            return
        page.wait_for_timeout(300)
    assert said == wanted
