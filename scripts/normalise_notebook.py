"""Bring a notebook into the one form in which it is stored, so that two executions give the same bytes.

    python scripts/normalise_notebook.py chapters/*.ipynb            rewrite in place
    python scripts/normalise_notebook.py --check chapters/*.ipynb    only report, exit 1 when something is wrong

Nothing that depends on the machine, the moment or the editor is kept: widget state, timings, random cell ids,
execution counts of an interactive session, the Python patch version. What must not be stored at all (text on
stderr, a folder of this computer) is not removed but reported: it has a cause that should be mended.
"""

from __future__ import annotations

import argparse
import copy
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # importing it takes three seconds: it is imported on use
    from nbformat import NotebookNode

KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
LANGUAGE_INFO = {"name": "python", "pygments_lexer": "ipython3"}
NOTEBOOK_METADATA = {"mystnb", "stepformer"}
CELL_METADATA = {"tags", "mystnb"}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"

_FOLDERS = "home|Users|root|tmp|var|usr|opt|work|workspace|private|mnt|srv|etc|builds"
# The characters before the slash keep relative paths, addresses, closing tags and base64 text out.
_ABSOLUTE_PATH = re.compile(rf"(?<![\w.+/=:<~-])/(?:{_FOLDERS})/[\w.-]+|\b[A-Z]:\\\w+|file:///\w+|site-packages")
_PLOT_REPR = re.compile(r"\[?<(matplotlib|Figure|Axes)|Text\(|\(?array\(\[<Axes")
_MEMORY_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,}")


def normalise(notebook: NotebookNode) -> NotebookNode:
    """Return a copy of the notebook in the stored form; the notebook itself stays as it is."""
    from nbformat import NotebookNode

    notebook = copy.deepcopy(notebook)
    kept = {key: value for key, value in notebook.metadata.items() if key in NOTEBOOK_METADATA}
    notebook.metadata = NotebookNode(kernelspec=KERNELSPEC, language_info=LANGUAGE_INFO, **kept)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    count = 0
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id = f"c-{number:03d}"
        cell.metadata = NotebookNode({key: cell.metadata[key] for key in sorted(cell.metadata) if key in CELL_METADATA})
        cell.source = "\n".join(line.rstrip() for line in cell.source.strip("\n").split("\n"))
        if cell.cell_type != "code":
            continue
        ran = cell.execution_count is not None and bool(cell.source.strip())
        count += ran
        cell.execution_count = count if ran else None
        cell.outputs = _join_streams(cell.outputs)
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = cell.execution_count
            if output.output_type == "error":
                # An expected error is read for its last line; the way there names files of this computer.
                output.traceback = [f"{output.ename}: {output.evalue}"]
            if "text/html" in output.get("data", {}):
                output.data.pop(WIDGET_VIEW, None)
    return notebook


def _join_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join neighbouring pieces of the same stream: where a print is split depends on timing."""
    joined: list[NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            joined.append(output)
    return joined


def problems(notebook: NotebookNode) -> list[str]:
    """List what a stored notebook must not hold: one line of text per finding, naming the cell."""
    found = []
    if "widgets" in notebook.metadata:
        found.append("the notebook's metadata holds widget state")
    for number, cell in enumerate(notebook.cells, start=1):
        place = f"cell {number}"
        if match := _ABSOLUTE_PATH.search(cell.source):
            found.append(f"{place}: its source names a folder of one computer: {match.group()}")
        if cell.cell_type != "code":
            continue
        if cell.source.strip() and cell.execution_count is None:
            found.append(f"{place}: never executed")
        for output in cell.outputs:
            found += [f"{place}: {problem}" for problem in _output_problems(cell, output)]
    return found


def _output_problems(cell: NotebookNode, output: NotebookNode) -> list[str]:
    found = []
    if output.output_type == "stream" and output.name == "stderr":
        found.append(f"text on stderr: {_first_line(output.text)}")
    if output.output_type == "error" and "raises-exception" not in cell.metadata.get("tags", []):
        found.append(f"an error without the tag raises-exception: {output.ename}: {_first_line(output.evalue)}")
    if WIDGET_VIEW in output.get("data", {}):
        found.append("a widget without text/html: nothing would be left of it on the page")
    if output.output_type == "execute_result" and _PLOT_REPR.match(output.data.get("text/plain", "")):
        found.append(f"the repr of a plotting call ({output.data['text/plain'][:40]}); end the cell with plt.show()")
    for text in output_texts(output):
        if match := _ABSOLUTE_PATH.search(text):
            found.append(f"its output names a folder of one computer: {match.group()}")
        if match := _MEMORY_ADDRESS.search(text):
            found.append(f"its output holds a memory address ({match.group()}), which changes with every run")
    return found


def output_texts(output: NotebookNode) -> list[str]:
    """Return the readable texts of one output: a stream's text, a traceback, or each text/… representation."""
    if output.output_type == "stream":
        return [output.text]
    if output.output_type == "error":
        return ["\n".join(output.traceback)]
    return [text for kind, text in sorted(output.data.items()) if kind.startswith("text/")]


def _first_line(text: str) -> str:
    return text.strip().split("\n")[0][:120]


def dumps(notebook: NotebookNode) -> str:
    """Write the notebook as the text of its file."""
    import nbformat

    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def read(path: Path) -> NotebookNode:
    """Read and validate a notebook file."""
    import nbformat

    notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    nbformat.validate(notebook)
    return notebook


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when something is wrong")
    parser.add_argument("notebooks", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    wrong = 0
    for path in options.notebooks:
        notebook = read(path)
        text = dumps(normalise(notebook))
        complaints = problems(notebook if options.check else normalise(notebook))
        if options.check and text != path.read_text(encoding="utf-8"):
            complaints.insert(0, "not in the stored form; run `make execute` or scripts/normalise_notebook.py")
        if not options.check:
            path.write_text(text, encoding="utf-8")
        for complaint in complaints:
            print(f"{path}: {complaint}", file=sys.stderr)
        wrong += bool(complaints)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
