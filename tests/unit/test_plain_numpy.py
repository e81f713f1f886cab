"""The plain NumPy that the player copies computes what the ops of the package compute."""

import inspect
import runpy

import numpy as np
import pytest
from calls import EDGES, random_calls
from helpers import ROOT

from stepformer import ops

PLAIN = runpy.run_path(str(ROOT / "web" / "share" / "plain_numpy.py"))


def test_every_op_and_nothing_else_is_there():
    functions = {name for name, value in PLAIN.items() if inspect.isfunction(value)}
    assert functions == set(ops.OPS)


def as_in_a_program(x, parameter):
    """An input as a program holds it: whole numbers only where they are ids."""
    x = np.asarray(x)
    return x.astype(float) if x.dtype.kind in "iuf" and parameter not in ("tokens", "targets") else x


@pytest.mark.parametrize("name", sorted(ops.OPS))
def test_a_plain_function_gives_what_its_op_gives(name):
    op = ops.OPS[name].function
    defaults = {
        key: parameter.default
        for key, parameter in inspect.signature(op).parameters.items()
        if parameter.default is not parameter.empty and key not in ("name", "axes")
    }
    for inputs, attributes in [*random_calls(name, 25), *EDGES.get(name, [])]:
        names = [*inspect.signature(op).parameters]
        arrays = [as_in_a_program(x, names[min(i, len(names) - 1)]) for i, x in enumerate(inputs)]
        with np.errstate(all="ignore"):
            expected = op(*inputs, **attributes)
            given = PLAIN[name](*arrays, **(defaults | attributes))
        assert given.shape == expected.shape
        assert given.dtype.kind == expected.dtype.kind or name == "copy"  # which was given floats
        largest = max([1.0, *np.abs(expected[np.isfinite(expected)]).flat])
        np.testing.assert_allclose(given, expected, rtol=0, atol=1e-9 * largest)
