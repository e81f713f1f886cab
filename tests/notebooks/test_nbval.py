"""The chapters' outputs are validated in earnest: what must fail, fails, with the very options that `make test` uses.

One probe notebook, executed and then validated, holds a cell for each thing that goes wrong in practice.
"""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import nbformat
import pytest
from execute_notebooks import ONE_THREAD
from helpers import CHAPTERS, ROOT, fault
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
from normalise_notebook import normalise, problems, read

pytestmark = pytest.mark.slow

CELLS = {
    "setup": "import sys, time, warnings\nimport numpy as np\nimport matplotlib.pyplot as plt\n"
             "from stepformer import examples\nfrom stepformer.widgets import show",
    "stable": "print(1 / 3)",
    "address": "object()",
    "our widget": "show(next(iter(examples.EXAMPLES.values()))())",
    "warning": "warnings.warn('x')\nprint('ok')",
    "progress": "print(f'{time.perf_counter()} it/s', file=sys.stderr)",
    "pieces": "print('a', flush=True)\ntime.sleep(0.3)\nprint('b')",
    "unseeded": "print(np.random.default_rng().normal(size=2))",
    "seeded": "print(np.random.default_rng(7).normal(size=2).round(4))",
    "expected error": "raise ValueError('mask row is empty')",
    "unexpected error": "raise ValueError('mask row is empty')",
    "plot": "plt.plot([1, 2])",
    "changed text": "print('new')",
    "changed html": "show(next(iter(examples.EXAMPLES.values()))())",
    "output lost": "print('kept')",
    "output gained": "print('kept')",
}  # fmt: skip


def nbval_options():
    """The options that `make test` validates the chapters with."""
    recipe = re.search(r"^test:.*\n\t(.*)", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M)[1]
    return [word for word in recipe.split() if word.startswith("--nbval")]


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    """The probe notebook, executed once and tampered with: the path of its file."""
    tags = {"expected error": ["raises-exception"]}
    cells = [new_code_cell(source, metadata={"tags": tags.get(name, [])}) for name, source in CELLS.items()]
    notebook = new_notebook(cells=cells)
    path = tmp_path_factory.mktemp("probe") / "probe.ipynb"
    client = NotebookClient(notebook, kernel_name="python3", allow_errors=True, store_widget_state=False,
                            extra_arguments=["--log-level=ERROR"])  # fmt: skip
    client.execute(env=os.environ | ONE_THREAD)
    notebook = normalise(notebook)
    stored = dict(zip(CELLS, notebook.cells, strict=True))
    stored["changed text"].outputs[0].text = "old\n"
    html = stored["changed html"].outputs[0].data
    html["text/html"] = html["text/html"].replace('"format"', '"Format"', 1)
    stored["output lost"].outputs += stored["stable"].outputs
    stored["output gained"].outputs = []
    nbformat.write(notebook, path)
    return path


def validate(path, *options):
    """Run nbval on a notebook: cell name -> whether it passed."""
    report = path.with_suffix(".xml")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, f"--junitxml={report}", path]
    subprocess.run(command, cwd=path.parent, capture_output=True, env=os.environ | ONE_THREAD)
    passed = {}
    for case in ElementTree.parse(report).iter("testcase"):
        number = int(re.search(r"\d+", case.get("name"))[0])
        passed[list(CELLS)[number]] = case.find("failure") is None and case.find("error") is None
    return passed


@pytest.fixture(scope="module")
def passed(probe):
    return validate(probe, *nbval_options())


def found_before_storing(probe, name):
    """The normaliser's findings for one cell: an author hears of the problem when executing, not in CI."""
    number = list(CELLS).index(name) + 1
    return [problem for problem in problems(read(probe)) if problem.startswith(f"cell {number}:")]


def test_the_probe_is_validated_cell_by_cell(passed):
    assert set(passed) == set(CELLS)
    assert passed["setup"]
    assert passed["stable"]


@fault("NBV-01")
def test_a_memory_address_fails_and_our_widgets_have_none(probe, passed):
    assert not passed["address"]
    assert found_before_storing(probe, "address")
    assert passed["our widget"]
    assert not found_before_storing(probe, "our widget")


@fault("NBV-02")
def test_a_warning_on_stderr_fails(probe, passed):
    assert not passed["warning"]
    assert found_before_storing(probe, "warning")


@fault("NBV-03")
def test_a_progress_bar_fails_and_a_print_in_pieces_does_not(probe, passed):
    assert not passed["progress"]
    assert found_before_storing(probe, "progress")
    assert passed["pieces"]
    assert not found_before_storing(probe, "pieces")


@fault("NBV-04")
def test_unseeded_numbers_fail_and_seeded_rounded_ones_do_not(passed):
    assert not passed["unseeded"]
    assert passed["seeded"]


@fault("NBV-04")
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_no_chapter_prints_numbers_to_the_last_digits(path):
    texts = [output.text for cell in read(path).cells for output in cell.get("outputs", [])
             if output.output_type == "stream"]  # fmt: skip
    assert [found for text in texts for found in re.findall(r"\d\.\d{9,}", text)] == []


@fault("NBV-06")
def test_every_cell_is_compared_not_only_marked_ones(probe, passed):
    assert nbval_options() == ["--nbval", "--nbval-current-env"]
    assert not passed["changed text"]
    assert not passed["changed html"]
    assert not passed["output lost"]
    assert not passed["output gained"]
    lax = validate(probe, "--nbval-lax", "--nbval-current-env")
    assert lax["changed text"], "if lax compared too, this test would no longer show anything"


@fault("NBV-07")
def test_an_error_is_accepted_where_its_cell_is_tagged_and_nowhere_else(probe, passed):
    assert passed["expected error"]
    assert not found_before_storing(probe, "expected error")
    assert not passed["unexpected error"]
    assert found_before_storing(probe, "unexpected error")


@fault("NBV-08")
def test_a_plotting_cell_that_leaves_a_repr_is_refused(probe):
    assert any("plotting call" in problem for problem in found_before_storing(probe, "plot"))
