"""Public docstrings are complete: what, formula, every argument, the result, the errors. ruff checks their form."""

import ast
import functools
import re

import pytest
from helpers import PACKAGE

Function = ast.FunctionDef | ast.AsyncFunctionDef


@functools.cache
def public_functions() -> dict[str, Function]:
    """Return every public function and method of the package by its dotted name."""
    found: dict[str, Function] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            members = node.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_") else [node]
            prefix = f"{module}.{node.name}" if isinstance(node, ast.ClassDef) else module
            for member in members:
                if isinstance(member, Function) and not member.name.startswith("_"):
                    found[f"{prefix}.{member.name}"] = member
    return found


def docstring_gaps(function: Function, needs_formula: bool = False) -> list[str]:
    """Return what a function's docstring lacks, in words."""
    text = ast.get_docstring(function) or ""
    if not text:
        return ["it has no docstring"]
    sections = _sections(text)
    arguments = function.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    names += [a.arg for a in (arguments.vararg, arguments.kwarg) if a]
    names = [name for name in names if name not in ("self", "cls")]
    if any(ast.unparse(decorator) == "check" for decorator in function.decorator_list):
        names = []  # every check takes the same one argument; its module says so once
    gaps = [f"argument {name!r} is not described under Args:" for name in names
            if not re.search(rf"^ *\*{{0,2}}{name}\b.*:", sections.get("Args", ""), re.M)]  # fmt: skip
    returns = ast.unparse(function.returns) if function.returns else "None"
    has_result = returns not in ("None", "Iterator[None]")
    if has_result and names and not sections.keys() & {"Returns", "Yields"}:
        gaps.append("it lacks Returns:")
    if _raises(function) and "Raises" not in sections:
        gaps.append("it raises, and lacks Raises:")
    if needs_formula and has_result and "Formula" not in sections:
        gaps.append("it lacks Formula:")
    return gaps


def _sections(docstring: str) -> dict[str, str]:
    pieces = re.split(r"^(Formula|Args|Returns|Yields|Raises|Attributes|Source):", docstring, flags=re.M)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def _raises(function: Function) -> bool:
    """Tell whether the function itself raises, other than to say that a subclass must define it."""
    nodes: list[ast.AST] = list(function.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Raise) and node.exc and "NotImplementedError" not in ast.unparse(node.exc):
            return True
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            nodes += ast.iter_child_nodes(node)
    return False


@pytest.mark.parametrize("name", public_functions())
def test_docstring_is_complete(name):
    calculates = name.split(".")[0] in ("ops", "reference")
    assert docstring_gaps(public_functions()[name], needs_formula=calculates) == []


@pytest.mark.parametrize(
    ("source", "gap"),
    [
        ("def f(x): ...", "it has no docstring"),
        ('def f(x):\n    """Do."""', "argument 'x' is not described under Args:"),
        ('def f(x, *rest):\n    """Do.\n\n    Args:\n        x: a.\n    """', "argument 'rest' is not described"),
        ('def f(x) -> int:\n    """Do.\n\n    Args:\n        x: a.\n    """', "it lacks Returns:"),
        ('def f():\n    """Do."""\n    raise ValueError("no")', "it raises, and lacks Raises:"),
        ('def f() -> int:\n    """Do."""', "it lacks Formula:"),
    ],
)
def test_a_gap_is_found(source, gap):
    function = ast.parse(source).body[0]
    assert any(found.startswith(gap) for found in docstring_gaps(function, needs_formula=True))
