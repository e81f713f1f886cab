"""The attention page as Jupyter Book shows it without our player: the same page, its widgets from stock ipywidgets.

Everything else stays: text, formulas, pictures, theme. In place of each player stand a slider over the steps and every
matrix of the program as a table; in place of each exercise its question, its fields and a button. html-manager and
require.js come with the page, in the versions that myst-nb names, as a book that reads offline would carry them.
Nothing in this page computes, for that would need a kernel: of the two pages it has less to do. It looks for MathJax 2
and reports errors on a page with version 3, but mounts.
"""

import json
import re
import subprocess
from html import escape
from pathlib import Path

import ipywidgets
from browser import Site
from ipywidgets.embed import embed_data
from results import ROOT

from stepformer.formatting import format_cell
from stepformer.trace import Trace

STOCK = ROOT / "web" / "node_modules" / ".stock-widgets"
HTML_MANAGER, REQUIRE = "@jupyter-widgets/html-manager@1.0.6", "requirejs@2.3.4"
ELEMENT = re.compile(
    r"<stepformer-(player|exercise)><script type=\"application/json\">(.*?)</script>.*?</stepformer-\1>"
)
OUR_SCRIPT = re.compile(r'<script[^>]*src="[^"]*/stepformer\.js[^"]*"[^>]*></script>')
# Not deferred, as myst-nb writes them.
STOCK_SCRIPTS = '<script src="/stock/require.js"></script><script src="/stock/embed-amd.js"></script>'


def matrices(payload: str) -> ipywidgets.VBox:
    """Return a program's matrices as tables under a slider over its steps."""
    trace = Trace.from_json(payload)
    names = [trace.tensors[step.output].name for step in trace.steps]
    tables = [_table(tensor.name, trace) for tensor in trace.tensors]
    layout = ipywidgets.Layout(grid_template_columns="repeat(2, auto)")
    steps = ipywidgets.IntSlider(min=0, max=len(names) - 1, description="step")
    return ipywidgets.VBox([ipywidgets.HTML(escape(trace.title)), steps, ipywidgets.GridBox(tables, layout=layout)])


def _table(name: str, trace: Trace) -> ipywidgets.HTML:
    array, tensor = trace[name], trace.tensors[trace.find(name)]
    rows = array.reshape(-1, array.shape[-1]) if array.ndim else array.reshape(1, 1)
    cells = "".join(f"<tr>{''.join(f'<td>{format_cell(x, tensor.dtype)}</td>' for x in row)}</tr>" for row in rows)
    return ipywidgets.HTML(f"<b>{escape(name)}</b><table>{cells}</table>")


def exercise(payload: str) -> ipywidgets.VBox:
    """Return an exercise's question, its fields or choices, and a button."""
    document = json.loads(payload)
    if document["kind"] == "choice":
        answers = [ipywidgets.RadioButtons(options=document["choices"])]
    else:
        answers = [ipywidgets.FloatText(description=field) for field in document["fields"]]
    button = ipywidgets.Button(description="Check")
    return ipywidgets.VBox([ipywidgets.HTML(escape(document["question"])), *answers, button, ipywidgets.HTML()])


def stock_page(page: str) -> tuple[str, int]:
    """Return the page with stock widgets in place of ours, and how many HTML widgets it shows when it is mounted."""
    elements = ELEMENT.findall(page)
    boxes = [{"player": matrices, "exercise": exercise}[kind](payload) for kind, payload in elements]
    data = embed_data(views=boxes)
    state = json.dumps(data["manager_state"]).replace("<", "\\u003c")
    views = iter(json.dumps(view).replace("<", "\\u003c") for view in data["view_specs"])
    page = ELEMENT.sub(
        lambda _: f'<script type="application/vnd.jupyter.widget-view+json">{next(views)}</script>', page
    )
    page, scripts = OUR_SCRIPT.subn(STOCK_SCRIPTS, page)
    if not elements or scripts != 1:
        raise SystemExit(
            "The attention page has no players, or not one script of ours: this comparison must be adapted."
        )
    state = f'<script type="application/vnd.jupyter.widget-state+json">{state}</script>'
    return page.replace("</body>", f"{state}</body>"), sum(map(_html_widgets, boxes))


def _html_widgets(box: ipywidgets.Box) -> int:
    children = [_html_widgets(child) if isinstance(child, ipywidgets.Box) else 0 for child in box.children]
    return sum(children) + sum(isinstance(child, ipywidgets.HTML) for child in box.children)


def fetch_stock_scripts() -> tuple[Path, Path]:
    """Return the files of html-manager and require.js; `make setup` downloads them once, with npm."""
    from vendor import fetch

    STOCK.mkdir(parents=True, exist_ok=True)
    return fetch(HTML_MANAGER, STOCK) / "dist" / "embed-amd.js", fetch(REQUIRE, STOCK) / "require.js"


def add_stock_scripts(site: Site) -> None:
    """Put html-manager and require.js on the site."""
    manager, require = fetch_stock_scripts()
    site.pages["/stock/embed-amd.js"] = manager.read_bytes()
    esbuild = ROOT / "web" / "node_modules" / ".bin" / "esbuild"
    site.pages["/stock/require.js"] = subprocess.run(
        [esbuild, "--minify", require], check=True, capture_output=True
    ).stdout


if __name__ == "__main__":
    fetch_stock_scripts()
