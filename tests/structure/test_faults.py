"""Every known mistake of faults.txt has a test that is marked with its id."""

import ast
import functools
import re

import pytest
from helpers import ROOT, fault, listed_faults


def marked_faults(source: str) -> set[str]:
    """Return the ids in the `fault(...)` calls that mark a test: its decorators and its parameters' `marks`."""
    marks: list[ast.expr] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and re.match("[Tt]est", node.name):
            marks += [call for decorator in node.decorator_list for call in _parts(decorator)]
    return {
        argument.value
        for call in marks
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "fault"
        for argument in call.args
        if isinstance(argument, ast.Constant)
    }


def _parts(decorator: ast.expr) -> list[ast.expr]:
    """The decorator itself, and the marks inside `@pytest.mark.parametrize(..., [pytest.param(..., marks=…)])`."""
    values = [node.value for node in ast.walk(decorator) if isinstance(node, ast.keyword) and node.arg == "marks"]
    return [decorator, *(part for value in values for part in ast.walk(value))]


@functools.cache
def all_marked_faults() -> set[str]:
    return set().union(*(marked_faults(path.read_text(encoding="utf-8")) for path in ROOT.glob("tests/**/test_*.py")))


@pytest.mark.parametrize("identifier", listed_faults())
def test_each_known_fault_has_a_test(identifier):
    assert identifier in all_marked_faults(), f"no test is marked fault({identifier!r}): {listed_faults()[identifier]}"


def test_no_test_names_an_unlisted_fault():
    assert all_marked_faults() <= set(listed_faults())


def test_marks_are_found_where_pytest_sees_them_and_nowhere_else():
    source = """
@fault("A-1", "A-2")
def test_one(): ...
@pytest.mark.parametrize("x", [pytest.param(1, marks=fault("B-1")), pytest.param(2, marks=[fault("B-2")])])
def test_two(x): ...
@fault("C-1")
def helper(): ...
# @fault("D-1")
fault("E-1")
"""
    assert marked_faults(source) == {"A-1", "A-2", "B-1", "B-2"}


def test_the_marker_carries_its_ids():
    assert fault("A-1", "A-2").mark.args == ("A-1", "A-2")
