"""What several kinds of tests share: known-fault markers, what is missing on this machine, paths."""

import ast
import functools
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "stepformer"
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
NODE_HINT = "Node is missing. On Debian or Ubuntu: apt-get install nodejs npm, then `make setup`."


def fault(*ids: str) -> pytest.MarkDecorator:
    """Mark a test as the one that catches these known mistakes.

    Args:
        ids: such as "ATT-01". `tests/structure/faults.txt` says what each means and has a test to its name.

    Returns:
        A marker, to decorate a test or to be given to `pytest.param(..., marks=)`.
    """
    return pytest.mark.fault(*ids)


@functools.cache
def listed_faults() -> dict[str, str]:
    """Return the known mistakes of other people's code: id -> what goes wrong."""
    lines = (ROOT / "tests" / "structure" / "faults.txt").read_text(encoding="utf-8").splitlines()
    entries = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    assert len({entry[0] for entry in entries}) == len(entries), "an id is listed twice"
    return {identifier: meaning for identifier, meaning in entries}


LONG = bool(os.environ.get("STEPFORMER_LONG"))
"""Whether what `make test` leaves out for its length is to run: one round of `make test-all` sets it."""

only_in_test_all = pytest.mark.skipif(not LONG, reason="takes half a minute or more: `make test-all` runs it")


def missing(hint: str) -> None:
    """End the test because a tool is missing: a failure in continuous integration, a skip elsewhere."""
    if os.environ.get("CI"):
        pytest.fail(hint, pytrace=False)
    pytest.skip(hint)


def require_node(package: str | None = None) -> str:
    """Return the path of node, or end the test with the hint.

    Args:
        package: a package of web/node_modules that the test also needs, for example "esbuild".
    """
    node = shutil.which("node")
    if not node:
        missing(NODE_HINT)
    if package and not (ROOT / "web" / "node_modules" / package).is_dir():
        missing(f"web/node_modules/{package} is missing: run `make setup`.")
    return node


def toc_files() -> list[str]:
    """Return the pages of the table of contents, such as "chapters/05_attention", the landing page first."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [toc["root"], *re.findall(r'"file": "([^"]+)"', json.dumps(toc))]


def finished_chapters() -> list[Path]:
    """Return the chapters of the table of contents, which are those that the site has a page of."""
    return [ROOT / f"{name}.ipynb" for name in toc_files() if name.startswith("chapters/")]


def calls_of_show(chapter: Path) -> int:
    """Return how often a chapter's code calls `show(...)` of the player, wherever that stands in a cell."""
    cells = json.loads(chapter.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    calls = [node.func for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return sum(ast.unparse(call) in ("show", "stepformer.show", "widgets.show") for call in calls)


def tracked_files() -> list[Path]:
    """Return the files of the repository: those git tracks or would track, or all of them outside a repository."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listing.returncode == 0:
        return [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]
    skipped = {".venv", "node_modules", "_build", "__pycache__", ".git"}
    return [path for path in ROOT.rglob("*") if path.is_file() and skipped.isdisjoint(path.relative_to(ROOT).parts)]
