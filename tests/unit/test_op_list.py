"""Every op of the list is complete: formula, docstring, twin and explanation in the engine, calls for the tests."""

import inspect
import re

import numpy as np
import pytest
from calls import EDGES, RANDOM, REFUSED, random_calls
from engine import ask_engine, engine_ops, from_engine, to_engine

from stepformer import ops
from stepformer.ops import OPS


@pytest.fixture(scope="module")
def answers():
    """One random call of each op, answered by the engine."""
    calls = {name: random_calls(name, 1)[0] for name in RANDOM}
    cases = [{"op": name, "inputs": [to_engine(x) for x in inputs], "attributes": attributes}
             for name, (inputs, attributes) in calls.items()]  # fmt: skip
    return dict(zip(RANDOM, ask_engine(cases=cases)["cases"], strict=True))


def test_the_list_the_exports_and_the_engine_name_the_same_ops():
    assert sorted(OPS) == sorted(set(ops.__all__) - {"OPS"})
    assert sorted(OPS) == sorted(engine_ops())


@pytest.mark.parametrize("table", [RANDOM, EDGES, REFUSED], ids=["random", "edges", "refused"])
def test_the_tests_have_calls_of_every_op(table):
    assert sorted(table) == sorted(OPS)


@pytest.mark.parametrize("name", OPS)
def test_an_op_has_a_formula_in_latex(name):
    latex = OPS[name].latex
    assert len(latex) > 5
    assert "=" in latex
    assert latex.count("{") == latex.count("}")
    assert len(re.findall(r"\\left\b", latex)) == len(re.findall(r"\\right\b", latex))


@pytest.mark.parametrize("name", OPS)
def test_an_op_has_a_full_docstring(name):
    text = inspect.getdoc(OPS[name].function)
    assert OPS[name].summary.endswith(".")
    assert [part for part in ("Formula: `", "Args:", "Returns:") if part not in text] == []
    described = re.findall(r"^    \*?([a-z_]+): ", text.split("Args:")[1].split("Returns:")[0], re.M)
    assert described == [*OPS[name].tensor_names, *OPS[name].attributes]
    refuses = bool(re.search(r"raise |_bools\(|_ids\(", inspect.getsource(OPS[name].function)))
    assert not refuses or "Raises:" in text


@pytest.mark.parametrize("name", OPS)
def test_an_op_has_a_twin_in_the_engine(name, answers):
    assert "error" not in answers[name]
    inputs, attributes = random_calls(name, 1)[0]
    assert from_engine(answers[name]).shape == np.shape(OPS[name].function(*inputs, **attributes))


@pytest.mark.parametrize("name", OPS)
def test_every_cell_of_an_op_is_explained(name, answers):
    assert len(answers[name]["explained"]) == len(answers[name]["data"]) > 0
