"""The player's engine computes what NumPy computes, and its explanations evaluate to the same numbers."""

import numpy as np
import pytest
from agreement import assert_agree
from calls import EDGES, RANDOM, REFUSED, random_calls
from engine import ask_engine, from_engine, to_engine

from stepformer import ops
from stepformer.formatting import format_number
from stepformer.ops import OPS

TOLERANCE = 1e-12
SCALES = [1e-3, 1.0, 30.0]
PER_SCALE = 67
"""Random calls of each op at each scale: 201 an op in all."""


def calls_of(name):
    return EDGES[name] + [call for scale in SCALES for call in random_calls(name, PER_SCALE, scale, seed=6)]


def numbers():
    """Numbers and decimals to be shown: at all magnitudes, on ties and beside them."""
    rng = np.random.default_rng(7)
    spread = rng.normal(size=2000) * 10.0 ** rng.integers(-8, 9, size=2000)
    ties = (np.arange(-300, 300) + 0.5) / 100
    computed = np.concatenate([ties, np.nextafter(ties, 0), np.nextafter(ties, np.inf), ties * 3 / 3, 0.1 * ties / 0.1])
    edges = [0.0, -0.0, 1e6, -1e6, 999_999.999, 9.995e6, 9.994e6, 9.9999e9, 1e21, 1e22, 1e23, 1e300, 1.8e308, 5e-324]
    powers = [10.0**k for k in range(-300, 309)]
    shown = [(x, 2) for x in [*spread, *computed, *edges, *powers, -np.inf, np.inf, np.nan]]
    return shown + [(x, d) for x in [*spread[:300], *edges] for d in (0, 1, 3, 4, 6)]


@pytest.fixture(scope="module")
def answers():
    """Everything is asked in one run of node."""
    cases, places = [], {}
    for name in RANDOM:  # an op that the tables do not know yet fails its own tests, see test_op_list
        calls = calls_of(name) + [(inputs, attributes) for inputs, attributes, _ in REFUSED[name]]
        places[name] = slice(len(cases), len(cases) + len(calls))
        cases += [{"op": name, "inputs": [to_engine(x) for x in inputs], "attributes": a} for inputs, a in calls]
    answered = ask_engine(cases=cases, numbers=[[*to_engine(x)["data"], decimals] for x, decimals in numbers()])
    return {name: answered["cases"][place] for name, place in places.items()} | {"numbers": answered["numbers"]}


@pytest.mark.parametrize("name", OPS)
def test_the_engine_agrees_with_numpy(name, answers):
    calls = calls_of(name)
    assert len(calls) > 200
    for (inputs, attributes), answer in zip(calls, answers[name], strict=False):
        what = f"{name} of {[x.shape for x in inputs]} with {attributes}"
        assert "error" not in answer, f"{what}: {answer}"
        assert_agree(from_engine(answer), getattr(ops, name)(*inputs, **attributes), TOLERANCE, what)


@pytest.mark.parametrize("name", OPS)
def test_the_explanation_of_every_cell_evaluates_to_its_value(name, answers):
    cells = 0
    for (inputs, attributes), answer in zip(calls_of(name), answers[name], strict=False):
        explained = from_engine(answer, "explained")
        expected = np.asarray(getattr(ops, name)(*inputs, **attributes))
        assert_agree(explained, expected, TOLERANCE, f"{name} of {[x.shape for x in inputs]} with {attributes}")
        cells += expected.size
    assert cells > (200 if name.startswith("count_") else 500)  # these give one cell a call


@pytest.mark.parametrize("name", OPS)
def test_the_engine_refuses_what_numpy_refuses(name, answers):
    refused = answers[name][len(calls_of(name)) :]
    assert len(refused) == len(REFUSED[name])
    accepted = [case[:2] for case, answer in zip(REFUSED[name], refused, strict=True) if "error" not in answer]
    assert accepted == []
    assert all(answer["error"].startswith(f"{name}: ") for answer in refused)


def test_numbers_are_shown_alike(answers):
    assert len(answers["numbers"]) > 5000
    expected = [format_number(x, decimals) for x, decimals in numbers()]
    different = [
        (case, mine, theirs)
        for case, mine, theirs in zip(numbers(), expected, answers["numbers"], strict=True)
        if mine != theirs
    ]
    assert different == []
