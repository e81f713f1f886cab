"""Who may import whom in the package: read from the sources, so that an import inside a function counts too."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import PACKAGE

# The modules that together are one layer.
TRACE = {"trace", "trace_json", "recording", "formatting"}

# What each module or sub-package may import: of the package, and of the world beside the standard library.
# trace <- ops <- reference; nn, data, params <- train; the rest are leaves under cli.
RULES: dict[str, tuple[set[str], set[str]]] = {
    "trace": (TRACE, {"numpy"}),
    "trace_json": (TRACE, {"numpy"}),
    "recording": (TRACE, {"numpy"}),
    "formatting": (set(), {"numpy"}),
    "ops": (TRACE, {"numpy"}),
    "reference": (TRACE | {"ops", "params"}, {"numpy"}),
    "params": (set(), {"numpy", "safetensors"}),
    "widgets": (TRACE, {"numpy", "anywidget", "traitlets"}),
    "examples": (TRACE | {"ops", "reference", "model_ledger"}, {"numpy"}),
    "checks": (TRACE | {"ops", "reference"}, {"numpy"}),
    "mistakes": (TRACE, set()),
    "exercises": (TRACE | {"ops", "reference", "widgets", "examples", "evaluate"}, {"numpy"}),
    "plots": (TRACE, {"numpy", "matplotlib"}),
    "nn": (set(), {"torch"}),
    "data": (set(), {"numpy", "tokenizers", "hsk_sentences_audio"}),
    "skip_gram": ({"nn"}, {"numpy", "torch"}),
    "word_map": (TRACE | {"ops", "data", "widgets"}, {"numpy"}),
    "decode": ({"nn"}, {"numpy", "torch"}),
    "translator": ({"checkpoint", "data", "decode", "nn"}, {"torch"}),
    "evaluate": ({"nn", "data", "plots"}, {"numpy", "torch", "sacrebleu", "matplotlib"}),
    "looking_inside": (
        TRACE
        | {"ops", "params", "reference", "nn", "data", "checkpoint", "evaluate", "translator", "translation_program"},
        {"numpy", "torch"},
    ),
    "ledger": (TRACE | {"nn", "reference"}, {"numpy", "torch"}),
    "concordance": (set(), set()),
    "model_ledger": (TRACE | {"ops"}, {"numpy"}),
    "training_ledger": (TRACE | {"ops", "model_ledger", "widgets"}, {"numpy"}),
    "checkpoint": ({"params", "data", "model_kinds"}, {"numpy"}),
    "model_kinds": ({"nn"}, {"torch"}),
    "train": (
        {"nn", "data", "params", "checkpoint", "model_kinds", "plots"},
        {"numpy", "torch", "tqdm", "ipywidgets", "IPython"},
    ),
    "cli": (
        TRACE
        | {
            "__init__",
            "nn",
            "data",
            "params",
            "train",
            "decode",
            "evaluate",
            "model_ledger",
            "training_ledger",
            "reference",
            "widgets",
        }
        | {"checkpoint", "translator", "translation_program", "translator_page", "training_ledger"},
        {"numpy", "tqdm", "torch"},
    ),
    "translation_program": (TRACE | {"ops", "reference", "checkpoint"}, {"numpy"}),
    "recurrent_program": (TRACE | {"ops", "reference", "checkpoint"}, {"numpy"}),
    "four_machines": (
        {"trace", "checkpoint", "data", "recurrent_program", "translation_program", "widgets"},
        set(),
    ),
    "timeline": ({"trace_json", "checkpoint", "widgets"}, set()),
    "translator_page": (TRACE | {"checkpoint", "data", "translation_program", "widgets"}, set()),
    "__init__": (TRACE | {"ops", "widgets"}, set()),
}


SOURCES = sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    """The module or sub-package of the package that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(source: str, part: str) -> tuple[set[str], set[str]]:
    """Return (parts of stepformer, other packages outside the standard library) that a source imports anywhere."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}: write stepformer.… in full"
            whole = node.module == "stepformer"
            names += [f"stepformer.{alias.name}" for alias in node.names] if whole else [node.module]
    # `from stepformer import Trace` takes a name of the package itself, `from stepformer import ops` a module.
    parts = {part_of(path) for path in SOURCES}
    ours = [[*name.split("."), "__init__"][1] for name in names if name.split(".")[0] == "stepformer"]
    inside = {name if name in parts else "__init__" for name in ours}
    outside = {name.split(".")[0] for name in names} - {"stepformer"} - set(sys.stdlib_module_names)
    return inside - {part}, outside


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_what_its_rule_allows(path):
    part = part_of(path)
    assert part in RULES, f"{part} has no rule yet: add one, the narrowest that serves"
    inside, outside = imported(path.read_text(encoding="utf-8"), part)
    assert inside <= RULES[part][0], f"{part} may not import {sorted(inside - RULES[part][0])} of the package"
    assert outside <= RULES[part][1], f"{part} may not import {sorted(outside - RULES[part][1])}"


@pytest.mark.parametrize("part", ["trace", "recording", "ops", "reference", "params", "widgets"])
def test_the_rules_keep_torch_out_of_what_the_page_needs(part):
    allowed, outside = RULES[part]
    assert "torch" not in outside
    assert all("torch" not in RULES[other][1] for other in allowed)


def test_the_reader_of_imports_sees_every_kind():
    source = """
import numpy.linalg, os.path
from stepformer import ops, Trace
from stepformer.nn.multi_head_attention import MultiHeadAttention
def late():
    import torch
    import stepformer
"""
    assert imported(source, "ops") == ({"nn", "__init__"}, {"numpy", "torch"})


@pytest.mark.parametrize("absent", ["torch", "matplotlib", "anywidget", "IPython"])
def test_import_stepformer_loads_none_of_the_heavy_packages(absent):
    code = f"import sys, stepformer; sys.exit({absent!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", ["stepformer.ops", "stepformer.reference.transformer", "stepformer.widgets", "stepformer.translator_page"]
)
def test_what_the_page_needs_runs_where_torch_and_matplotlib_are_not_installed(part):
    code = f"import sys; sys.modules.update(torch=None, matplotlib=None); import {part}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_reference_needs_numpy_alone():
    code = "import sys; sys.modules.update(safetensors=None, anywidget=None); import stepformer.reference.transformer"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_matplotlib_is_imported_on_use_only():
    for path in SOURCES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith("matplotlib") for name in names), f"{path.name}, line {node.lineno}"
