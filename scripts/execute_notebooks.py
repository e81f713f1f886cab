"""Execute the chapters and store them with their outputs in the stored form of `normalise_notebook.py`.

    python scripts/execute_notebooks.py                   every chapter
    python scripts/execute_notebooks.py 05_attention …    these only

A chapter is written only when all of it ran and its outputs may be stored; otherwise its file stays as it was, and
the message names chapter, cell, source and error.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import nbclient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from normalise_notebook import dumps, normalise, problems, read

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = ROOT / "chapters"
CELL_TIMEOUT = 600

# One thread: sums are then added in one order, whatever the number of cores.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class ChapterError(Exception):
    """A chapter did not run to its end, or its outputs may not be stored. The message is for the author."""


def execute(path: Path, on_cell=lambda done, total: None) -> NotebookNode:
    """Execute one notebook in a fresh kernel, in its own folder.

    Args:
        path: the notebook's file; it is not written.
        on_cell: called with (cells done, cells in all) after each cell.

    Returns:
        The executed notebook in the stored form.

    Raises:
        ChapterError: a cell fails, takes too long or ends its kernel, or an output may not be stored.
    """
    notebook = read(path)
    running = 0

    def started(cell, cell_index):
        nonlocal running
        running = cell_index

    def finished(cell, cell_index):
        on_cell(cell_index + 1, len(notebook.cells))

    with tempfile.TemporaryDirectory() as profile:
        client = nbclient.NotebookClient(
            notebook,
            timeout=CELL_TIMEOUT,
            kernel_name="python3",
            resources={"metadata": {"path": str(path.parent)}},
            store_widget_state=False,
            extra_arguments=["--log-level=ERROR"],
            on_cell_start=started,
            on_cell_complete=finished,
        )
        # An empty IPython folder, so that the author's own start-up files leave no trace in the outputs.
        environment = os.environ | ONE_THREAD | {"IPYTHONDIR": profile}
        try:
            client.execute(env=environment)
        except CellExecutionError as error:
            raise ChapterError(_failure(path, notebook, running, f"{error.ename}: {error.evalue}")) from None
        except CellTimeoutError:
            raise ChapterError(_failure(path, notebook, running, f"no result after {CELL_TIMEOUT} s")) from None
        except DeadKernelError:
            raise ChapterError(_failure(path, notebook, running, "the kernel died")) from None
    notebook = normalise(notebook)
    if complaints := problems(notebook):
        raise ChapterError("\n".join(f"{path.name}: {complaint}" for complaint in complaints))
    return notebook


def _failure(path: Path, notebook: NotebookNode, index: int, message: str) -> str:
    source = "\n".join(f"    {line}" for line in notebook.cells[index].source.split("\n"))
    return f"{path.name}, cell {index + 1} of {len(notebook.cells)} failed:\n{source}\n  {message}"


def _show_progress(name: str, done: int, total: int) -> None:
    if sys.stdout.isatty():
        bar = ("█" * round(20 * done / total)).ljust(20, "·")
        print(f"\r{name:<32} {bar} {done}/{total}", end="", flush=True)


def _find(name: str) -> Path:
    path = Path(name) if name.endswith(".ipynb") else CHAPTERS / f"{name}.ipynb"
    if not path.is_file():
        known = ", ".join(sorted(chapter.stem for chapter in CHAPTERS.glob("*.ipynb"))) or "none yet"
        raise ChapterError(f"There is no chapter {name!r}. Chapters: {known}.")
    return path.resolve()


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chapters", nargs="*", help="names such as 05_attention, or paths; all when none is given")
    options = parser.parse_args(arguments)
    failed = 0
    for name in options.chapters or sorted(str(path) for path in CHAPTERS.glob("*.ipynb")):
        try:
            path = _find(name)
            notebook = execute(path, lambda done, total, name=path.stem: _show_progress(name, done, total))
            path.write_text(dumps(notebook), encoding="utf-8")
            _show_progress(path.stem, len(notebook.cells), len(notebook.cells))
            print("" if sys.stdout.isatty() else f"{path.stem}: {len(notebook.cells)} cells")
        except ChapterError as error:
            print(f"\n{error}\n", file=sys.stderr)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
