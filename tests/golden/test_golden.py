"""Golden programs: the results that torch gave must come out of Python's run and of the engine's.

`python scripts/make_golden.py` writes the files again, after a program was changed on purpose.
"""

import json
from pathlib import Path

import make_golden
import numpy as np
import pytest
from agreement import assert_agree
from engine import ask_engine, from_engine

from stepformer import Trace

TOLERANCE = 1e-10
PATHS = sorted(Path(__file__).parent.glob("*.json"))
FILES = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in PATHS}
RUNS = [(name, k) for name, document in FILES.items() for k in range(len(document["runs"]))]


def array(fields):
    return np.array(fields["data"], dtype={"int": int, "float": float}[fields["dtype"]]).reshape(fields["shape"])


@pytest.fixture(scope="module")
def traces():
    return {name: Trace.from_json(json.dumps(document["program"])) for name, document in FILES.items()}


@pytest.fixture(scope="module")
def answers():
    programs = [
        {"program": FILES[name]["program"], "overrides": FILES[name]["runs"][k]["overrides"], "breaks": []}
        for name, k in RUNS
    ]
    return dict(zip(RUNS, ask_engine(programs=programs)["programs"], strict=True))


@pytest.mark.parametrize(("name", "k"), RUNS)
def test_python_gives_what_torch_gave(name, k, traces):
    run = FILES[name]["runs"][k]
    again = traces[name].run({key: array(x) for key, x in run["overrides"].items()})
    assert len(run["expected"]) >= 2
    for key, expected in run["expected"].items():
        assert_agree(again[key], array(expected), TOLERANCE, key)


@pytest.mark.parametrize(("name", "k"), RUNS)
def test_the_engine_gives_what_torch_gave(name, k, answers):
    for key, expected in FILES[name]["runs"][k]["expected"].items():
        assert_agree(from_engine(answers[name, k][key]), array(expected), TOLERANCE, key)


def test_the_files_are_of_the_programs_as_they_are_now():
    hint = "run: python scripts/make_golden.py"
    documents = make_golden.documents()
    assert sorted(documents) == sorted(FILES), hint
    for name, document in documents.items():
        assert document["program"] == FILES[name]["program"], f"{name}: {hint}"
        assert len(document["runs"]) == len(FILES[name]["runs"]) > 3, f"{name}: {hint}"
        for new, stored in zip(document["runs"], FILES[name]["runs"], strict=True):
            assert new["overrides"] == stored["overrides"], f"{name}: {hint}"
            for key, fields in new["expected"].items():
                assert_agree(array(fields), array(stored["expected"][key]), TOLERANCE, f"{name}, {key}: {hint}")
