"""What readers do most, in Firefox: chapters, player, exercise and the other elements, from a server and from a disk.

One node process drives Firefox through all of it (`firefox.mjs`); each flow is a test of its own here, which compares
what the page showed with NumPy.
"""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from firefox import HINT, find_firefox
from helpers import ROOT, calls_of_show, fault, missing, require_node

from stepformer import Trace, examples, exercises, translator_page
from stepformer.checkpoint import find, load_model
from stepformer.data import vectors
from stepformer.formatting import format_number
from stepformer.model_ledger import PAPER, ledger, write_number
from stepformer.timeline import payload
from stepformer.translator import Translator

SCORE = exercises.find("attention.score")
SENTENCE = "Tom chases Jerry."
TEXTS = {
    "answers": ["99", repr(float(SCORE.wrong[0].answer)), repr(float(SCORE.answer))],
    "words": "paris - france + italy",
    "ledger": "256",
    "sentence": SENTENCE,
}
CHAPTERS = {"5": "05_attention", "8": "08_multi_head_attention", "14": "14_transformer", "18": "18_looking_inside"}
ATTENTION = examples.attention()
OWN = ("file:", "data:", "blob:", "about:", "http://127.0.0.1:")


@pytest.fixture(scope="module")
def flows(site, served):
    """What was seen in each flow, by way and name such as "http editing"."""
    node = require_node("puppeteer-core")
    firefox = find_firefox()
    if not firefox:
        missing(HINT)
    asked = {"firefox": firefox, "bases": {"http": served, "file": site.as_uri()}, "texts": TEXTS}
    command = [node, str(ROOT / "tests" / "browser" / "firefox.mjs")]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["flows"]


@pytest.fixture(params=["http", "file"])
def seen(request, flows):
    """Give what a flow saw; the flow that failed fails its test alone."""

    def seen(name):
        flow = flows[f"{request.param} {name}"]
        assert "error" not in flow, flow["error"]
        return flow["seen"]

    return seen


def as_shown(rows):
    return [[format_number(number) for number in row] for row in np.asarray(rows).tolist()]


def with_cell(name, index, value):
    """The example with another number in one cell of a leaf."""
    array = ATTENTION[name].copy()
    array[tuple(index)] = value
    return ATTENTION.run({name: array})


def assert_same(values, trace):
    assert values
    for name, value in values.items():
        np.testing.assert_allclose(value, trace[name], rtol=0, atol=1e-12, err_msg=name)


@fault("BOOK-05", "BOOK-06")
@pytest.mark.parametrize("number", CHAPTERS)
def test_every_element_of_a_chapter_mounts_the_heavy_ones_on_a_click(number, seen):
    page = seen(f"chapter {number}")
    assert page["broken"] == []
    assert page["players"] >= calls_of_show(ROOT / "chapters" / f"{CHAPTERS[number]}.ipynb") >= 1
    assert bool(page["waiting"]) == (number == "18")


def test_steps_by_button_by_key_and_in_the_list(seen):
    assert seen("stepping")["steps"] == [1, 2, 1, 2, 3, 2, 3]


def test_a_cell_is_chosen_by_click_and_by_arrow_and_explained(seen):
    choice = seen("choosing")
    assert choice["clicked"] == ["output", [1, 1]]
    assert choice["moved"] == ["output", [2, 0]]
    assert choice["panel"].strip() == "scores[杰瑞, Tom] = " + format_number(ATTENTION["scores"][2, 0])


def test_a_typed_number_gives_what_numpy_gives_and_marks_the_row_that_follows_from_it(seen):
    edit = seen("editing")
    assert edit["edits"] == [["query", [1, 2], -4.5]]
    expected = with_cell("query", [1, 2], -4.5)
    assert_same(edit["values"], expected)
    assert [[text for text, _ in row] for row in edit["output"]] == as_shown(expected["output"])
    assert [[marked for _, marked in row] for row in edit["output"]] == [[i == 1] * 7 for i in range(4)]


def test_undo_and_redo_by_button_and_by_key_and_compare(seen):
    edit = seen("editing")
    assert edit["counts"] == [0, 1, 0, 1]
    assert edit["compared"] == ["output before", "change", "output now"]
    assert edit["back"] == ["weights", "value", "output"]


def test_a_mistake_is_switched_on_and_off(seen):
    switch = seen("switching")
    trace = Trace.from_json(switch["payload"])
    (name,) = switch["breaks"]
    assert_same(switch["values"], trace.broken(name))
    assert not np.allclose(switch["values"]["attention.weights"], trace["attention.weights"])
    assert switch["after"] == []


def test_a_link_brings_the_state_back(seen):
    shared = seen("sharing")
    assert shared["told"] == {"step": 3, "cell": ["output", [1, 2]], "edits": [["query", [0, 1], -2.5]], "breaks": []}
    assert shared["followed"] == shared["told"]
    assert shared["complaints"] == []


def test_the_copied_numpy_computes_what_the_page_shows(seen):
    shared = seen("sharing")
    script = shared["numpy"] + "\nprint(attention_output.tolist())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    output = json.loads(done.stdout.splitlines()[-1])
    np.testing.assert_allclose(output, with_cell("query", [0, 1], -2.5)["output"], rtol=0, atol=1e-12)


def test_the_walk_back_goes_by_the_largest_term_to_a_given_number_and_home(seen):
    walk = seen("walking")
    terms = ATTENTION["weights"][2] * ATTENTION["value"][:, 1]
    assert walk["terms"] == [format_number(term) for term in sorted(terms, key=abs, reverse=True)]
    start, second, *_, last = walk["way"]
    assert (start["name"], start["index"]) == ("attention.output", [2, 1])
    assert (second["name"], second["index"]) == ("attention.weights", [2, int(np.argmax(abs(terms)))])
    assert not last["made"]
    assert last["value"] == ATTENTION[last["name"]][tuple(last["index"])]
    assert walk["back"] == start


def test_an_exercise_names_the_mistake_and_takes_the_right_answer(seen):
    other, wrong, right = seen("answering")["verdicts"]
    assert other[:2] == ["wrong", "other"]
    assert wrong == ["wrong", "known", SCORE.wrong[0].message]
    assert right == ["right", "right", SCORE.check([SCORE.answer]).message]


def luminance(colour):
    """Of "rgb(36, 34, 30)" or "color(srgb 0.1 0.2 0.3)", by the formula of WCAG."""
    numbers = [float(x) for x in re.findall(r"[\d.]+", colour.replace("srgb", ""))[:3]]
    shares = np.array(numbers) / (255 if colour.startswith("rgb") else 1)
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def test_dark_is_dark_and_both_can_be_read(seen):
    colours = seen("dark")
    for ink, paper in colours["light"] + colours["dark"]:
        light, dark = sorted((luminance(ink), luminance(paper)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5
    for ink, paper in colours["dark"]:
        assert luminance(ink) > luminance(paper)


def test_320_pixels_are_wide_enough_and_the_list_of_steps_opens(seen):
    narrow = seen("narrow")
    width, needed = narrow["seen"]
    assert width == 320
    assert 0 < needed <= width
    assert narrow["list"] > 100


def test_the_word_map_answers_what_is_typed(seen):
    words = seen("words")
    table = vectors.load()
    query = table["paris"] - table["france"] + table["italy"]
    nearest = table.nearest(query, n=len(table), exclude=["paris", "france", "italy"])
    expected = [(word, cosine) for word, cosine in nearest if word in table.plane.words][:8]
    assert words["query"] == "paris − france + italy"
    assert words["nearest"] == [[word, format_number(cosine)] for word, cosine in expected]


def test_the_ledger_counts_what_is_typed(seen):
    count = seen("ledger")
    expected = ledger(PAPER | {"d_model": 256})
    assert count["parameters"] == expected.parameters
    assert write_number(expected.parameters) in count["told"]


def test_the_timeline_shows_the_snapshot_of_the_slider(seen):
    timeline = seen("timeline")
    table = np.mean(payload("small")["snapshots"][3]["sentences"][0]["attention"][-1], axis=0) / 1000
    assert timeline["snapshot"] == "3"
    assert timeline["row"] == [[f"{share + 1e-9:.2f}" for share in row] for row in table.tolist()]


@pytest.mark.skipif(not translator_page.is_shipped(), reason="no trained model comes with the package")
def test_the_translator_translates(seen):
    (wanted,) = Translator(*load_model(find("small"))).translate([SENTENCE])
    assert seen("translating")["words"] == [*wanted.tokens, "end"]


def test_no_page_says_a_word_or_asks_another_host(seen):
    pages = seen("quiet")
    assert pages["complaints"] == []
    # Of files Firefox reports no requests.
    assert [url for url in pages["requests"] if not url.startswith(OWN)] == []
