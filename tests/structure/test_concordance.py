"""Every row of the concordance names things that exist, and tests that run and speak of them."""

import ast
import functools
import importlib

import pytest
from helpers import ROOT

from stepformer import nn
from stepformer.concordance import ROWS

PARITY = ROOT / "tests" / "parity"


def named(base, path):
    """The object of a dotted name."""
    return functools.reduce(getattr, path.split("."), base)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.piece)
def test_what_a_row_names_exists(row):
    module, _, function = row.reference.partition(".")
    assert callable(named(importlib.import_module(f"stepformer.reference.{module}"), function))
    assert callable(named(nn, row.nn))
    assert not row.torch or callable(named(importlib.import_module("torch"), row.torch))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.piece)
def test_the_tests_of_a_row_run_and_their_file_speaks_of_its_names(row):
    assert row.tests
    for test in row.tests:
        file, name = test.split("::")
        source = (PARITY / file).read_text(encoding="utf-8")
        functions = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
        assert name.startswith("test_")
        assert name in functions, f"{file} has no {name}"
        marks = " ".join(ast.unparse(mark) for mark in functions[name].decorator_list)
        assert "skip" not in marks
        assert "xfail" not in marks
    sources = "".join((PARITY / file).read_text(encoding="utf-8") for file in {t.split("::")[0] for t in row.tests})
    words = {node.attr for node in ast.walk(ast.parse(sources)) if isinstance(node, ast.Attribute)}
    words |= {node.id for node in ast.walk(ast.parse(sources)) if isinstance(node, ast.Name)}
    for path in filter(None, (row.reference, row.nn, row.torch)):
        assert path.split(".")[-1] in words, f"no test of this row uses {path}"


def test_a_row_compares_with_torch_wherever_torch_has_the_piece():
    alone = [row.piece for row in ROWS if not row.torch]
    assert alone == [
        "the input block: embeddings, scaled, with positions",
        "logits, with the table of the target or their own",
        "sinusoidal positions",
    ]


def test_no_piece_stands_twice():
    assert len({row.piece for row in ROWS}) == len({(row.reference, row.nn) for row in ROWS}) == len(ROWS)
