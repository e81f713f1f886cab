"""The scripts that execute, normalise and print notebooks."""

import json

import execute_notebooks
import nbformat
import pytest
from execute_notebooks import ChapterError, execute
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from normalise_notebook import WIDGET_VIEW, dumps, main, normalise, problems
from notebook_text import notebook_text


def notebook_of(*cells, **metadata):
    return new_notebook(cells=list(cells), metadata=metadata)


def executed(source="1", outputs=(), tags=(), count=7):
    return new_code_cell(source, outputs=list(outputs), execution_count=count, metadata={"tags": list(tags)})


def stored(path, *sources):
    nbformat.write(notebook_of(*(new_code_cell(source) for source in sources)), path)
    return path


# ---- normalise -----------------------------------------------------------------------------------------------------


def test_ids_counts_and_kernel_are_the_same_for_everyone():
    cells = [new_markdown_cell("a"), executed(count=41), executed(count=99)]
    notebook = notebook_of(*cells, kernelspec={"name": "mine", "display_name": "Mine"})
    result = normalise(notebook)
    assert [cell.id for cell in result.cells] == ["c-001", "c-002", "c-003"]
    assert [cell.execution_count for cell in result.cells[1:]] == [1, 2]
    assert result.metadata.kernelspec == {"display_name": "Python 3", "language": "python", "name": "python3"}
    assert "version" not in result.metadata.language_info


def test_the_count_of_a_result_follows_its_cell():
    outputs = [new_output("execute_result", {"text/plain": "1"}, execution_count=7)]
    result = normalise(notebook_of(executed(outputs=outputs)))
    assert result.cells[0].outputs[0].execution_count == 1


def test_timings_widget_state_and_editor_settings_are_dropped():
    cell = new_code_cell("1", metadata={"execution": {"iopub.status.busy": "x"}, "collapsed": True, "tags": ["hide"]})
    result = normalise(notebook_of(cell, widgets={"state": {}}, toc={"x": 1}, stepformer={"needs": []}))
    assert result.cells[0].metadata == {"tags": ["hide"]}
    assert set(result.metadata) == {"kernelspec", "language_info", "stepformer"}


def test_the_widget_view_goes_where_html_can_take_its_place_and_stays_to_be_reported_elsewhere():
    both = new_output("display_data", {WIDGET_VIEW: {"model_id": "1"}, "text/html": "<p>", "text/plain": "P"})
    alone = new_output("display_data", {WIDGET_VIEW: {"model_id": "2"}, "text/plain": "P"})
    result = normalise(notebook_of(executed(outputs=[both, alone])))
    assert set(result.cells[0].outputs[0].data) == {"text/html", "text/plain"}
    assert any("without text/html" in problem for problem in problems(result))


def test_pieces_of_one_stream_are_joined_and_other_streams_stay_apart():
    pieces = [("stdout", "a\n"), ("stdout", "b\n"), ("stderr", "c\n"), ("stdout", "d\n")]
    outputs = [new_output("stream", name=name, text=text) for name, text in pieces]
    result = normalise(notebook_of(executed(outputs=outputs)))
    assert [output.text for output in result.cells[0].outputs] == ["a\nb\n", "c\n", "d\n"]


def test_an_expected_error_keeps_its_last_line_alone():
    error = new_output("error", ename="ValueError", evalue="no", traceback=["File x.py:3", "ValueError: no"])
    result = normalise(notebook_of(executed(outputs=[error], tags=["raises-exception"])))
    assert result.cells[0].outputs[0].traceback == ["ValueError: no"]
    assert problems(result) == []


def test_normalising_twice_changes_nothing_and_the_argument_is_never_changed():
    notebook = notebook_of(new_markdown_cell("a  \n\n"), executed("x = 1  \nx\n"))
    before = dumps(notebook)
    once = normalise(notebook)
    assert dumps(notebook) == before
    assert dumps(normalise(once)) == dumps(once) != before


# ---- what may not be stored ----------------------------------------------------------------------------------------


def stream(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def result_of(text):
    return new_output("execute_result", {"text/plain": text}, execution_count=1)


FOLDER = "/home" + "/me/book"


@pytest.mark.parametrize(
    ("cell", "finding"),
    [
        (executed(outputs=[stream("x", "stderr")]), "stderr"),
        (executed(outputs=[stream(f"see {FOLDER}/a.py")]), "a folder of one computer"),
        (executed(outputs=[result_of(f"PosixPath('{FOLDER}')")]), "a folder of one computer"),
        (executed(outputs=[result_of("C:\\Users\\me")]), "a folder of one computer"),
        (executed(f"open('{FOLDER}/a')"), "a folder of one computer"),
        (new_markdown_cell(f"Look in {FOLDER}/a"), "a folder of one computer"),
        (executed(outputs=[result_of("<object at 0x7f3a5c0b1d90>")]), "a memory address"),
        (executed(outputs=[result_of("Text(0.5, 0, 'x')")]), "the repr of a plotting call"),
        (executed(outputs=[result_of("[<matplotlib.lines.Line2D>]")]), "the repr of a plotting call"),
        (executed(outputs=[new_output("error", ename="E", evalue="m", traceback=[])]), "without the tag"),
        (new_code_cell("1"), "never executed"),
    ],
)
def test_what_may_not_be_stored_is_found(cell, finding):
    assert [finding in problem for problem in problems(notebook_of(cell))] == [True]


# A path inside base64 text, written in parts so that this file names no folder either.
IN_BASE64 = "rZ+" + "/tmp" + "/0aq="


@pytest.mark.parametrize("text", ["a/b", "</div>", "<p>1/2</p>", "../home/x", "https://a.org/home/b", IN_BASE64])
def test_what_only_looks_like_a_folder_is_left_alone(text):
    assert problems(notebook_of(executed(outputs=[stream(text)]))) == []


def test_check_reports_and_changes_nothing(tmp_path, capsys):
    path = stored(tmp_path / "a.ipynb", "1")
    before = path.read_bytes()
    assert main(["--check", str(path)]) == 1
    assert "not in the stored form" in capsys.readouterr().err
    assert path.read_bytes() == before


# ---- execute -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_executing_twice_gives_the_same_bytes_with_one_thread_in_the_chapters_folder(tmp_path):
    source = "import os, pathlib\nprint(os.environ['OPENBLAS_NUM_THREADS'], pathlib.Path('a.ipynb').exists())"
    path = stored(tmp_path / "a.ipynb", source, "sum({'a': 1}.values())", "")
    assert execute_notebooks.main([str(path)]) == 0
    once = path.read_bytes()
    assert execute_notebooks.main([str(path)]) == 0
    assert path.read_bytes() == once
    notebook = json.loads(once)
    assert notebook["cells"][0]["outputs"][0]["text"] == ["1 True\n"]
    assert [cell["execution_count"] for cell in notebook["cells"]] == [1, 2, None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\nx / 0", "a.ipynb, cell 2 of 3 failed:\n    x = 1\n    x / 0\n  ZeroDivisionError: division by zero"),
        ("import warnings; warnings.warn('careful')", "a.ipynb: cell 2: text on stderr: "),
        ("import os; os._exit(1)", "the kernel died"),
    ],
)
def test_a_chapter_that_fails_is_not_written_and_the_message_says_where(tmp_path, source, message):
    path = stored(tmp_path / "a.ipynb", "1", source, "2")
    before = path.read_bytes()
    with pytest.raises(ChapterError) as error:
        execute(path)
    assert message in str(error.value)
    assert execute_notebooks.main([str(path)]) == 1
    assert path.read_bytes() == before


def test_an_unknown_chapter_is_named_beside_the_known_ones(capsys):
    assert execute_notebooks.main(["99_nothing"]) == 1
    assert "There is no chapter '99_nothing'. Chapters: " in capsys.readouterr().err


# ---- text for git diff ---------------------------------------------------------------------------------------------


def test_the_text_shows_sources_and_text_outputs_and_shortens_the_rest():
    html = new_output("display_data", {"text/html": "<p>" * 900, "text/plain": "Player(…)"})
    picture = new_output("display_data", {"image/png": "iVBOR" * 200})
    cells = [new_markdown_cell("# Title"), executed("f(x)", [stream("one\ntwo\n"), html, picture], ["hide-input"])]
    text = notebook_text(json.loads(dumps(notebook_of(*cells))))
    assert text.split("\n")[:7] == ["── 1 markdown", "# Title", "", "── 2 code #hide-input", "f(x)", "→ stdout", "one"]
    assert "Player(…)" in text
    assert "→ text/html (2700 characters, " in text
    assert "→ image/png (1000 characters, " in text
    assert "<p><p>" not in text
    assert "iVBOR" not in text


def test_a_changed_player_is_a_changed_line():
    def text_of(html):
        outputs = [new_output("display_data", {"text/html": html})]
        return notebook_text(json.loads(dumps(notebook_of(executed(outputs=outputs)))))

    assert text_of("<p>1</p>") != text_of("<p>2</p>")
