"""The repository agrees with itself: README and Makefile, pins, paths, licences of vendored files."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
from helpers import PACKAGE, ROOT, tracked_files

from stepformer import Trace, examples, mistakes

README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, flags=re.M))


def make_targets_named_in(text: str) -> set[str]:
    """Return the targets of every `make …` in code font, single words after variables left out."""
    code = re.findall(r"^```.*?^```|`[^`\n]+`", text, flags=re.M | re.S)
    calls = re.findall(r"(?:^|[`;&|]\s*)make((?: +[\w=./<>-]+)+)", "\n".join(code), flags=re.M)
    return {word for call in calls for word in call.split() if "=" not in word}


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "book/how-to-read.md"])
def test_every_make_target_that_a_text_names_exists(name):
    assert make_targets_named_in((ROOT / name).read_text(encoding="utf-8")) <= TARGETS


def test_the_readme_names_every_target():
    assert make_targets_named_in(README) >= TARGETS


def test_make_targets_are_found_in_code_only():
    text = "make peace, `make book`, `make PYTHON=python3.12 test`\n```\nmake lab CHAPTER=05_attention   # open\n```"
    assert make_targets_named_in(text) == {"book", "test", "lab"}


def test_every_target_explains_itself():
    documented = set(re.findall(r"^([a-z-]+):.*## .{10,}", MAKEFILE, flags=re.M))
    phony = set(re.search(r"^\.PHONY: (.*)", MAKEFILE, flags=re.M)[1].split())
    assert documented == TARGETS == phony


def test_make_help_lists_every_target():
    listing = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"make ([a-z-]+) ", listing)) == TARGETS


def code_blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.M | re.S)


def test_the_example_in_the_readme_runs_and_gives_what_it_says():
    (source,) = code_blocks(README, "python")
    names: dict = {}
    exec(source, names)
    results = dict(re.findall(r"^(trace.*?) +# .*?(\[\[.*\]\])$", source, flags=re.M))
    assert len(results) == 2
    for expression, said in results.items():
        assert eval(expression, names).tolist() == ast.literal_eval(said)


def test_the_program_in_contributing_is_a_trace():
    (text,) = code_blocks(CONTRIBUTING, "json")
    trace = Trace.from_json(text)
    assert trace["scores"].tolist() == [[1, 2, 3]]
    assert Trace.from_json(trace.to_json()) == trace


def test_contributing_describes_every_field_of_the_trace_format():
    described = CONTRIBUTING[CONTRIBUTING.index("## The trace format") : CONTRIBUTING.index("## The exercise format")]
    trace = examples.padded_attention().with_breaks(*mistakes.MASKS)
    fields = set(re.findall(r'"(\w+)":', re.sub(r'"(labels|fixed|attributes)":\{[^}]*\}', r'"\1":0', trace.to_json())))
    assert {field for field in fields if f"`{field}`" not in described} == set()


def test_every_requirement_is_pinned_exactly():
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins
    assert [line for line in pins if not re.fullmatch(r"[a-z0-9-]+==[\w.]+", line)] == []


@pytest.mark.slow
def test_every_package_that_is_imported_is_pinned():
    pins = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements.txt").read_text(encoding="utf-8"), flags=re.M))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins |= {re.fullmatch(r"([a-z0-9-]+)==[\w.]+", pin)[1] for pin in project["optional-dependencies"]["bench"]}
    sources = [path for path in tracked_files() if path.suffix == ".py"]
    ours = {path.stem for path in sources} | {path.parent.name for path in sources}
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sources]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    modules = {name.split(".")[0] for name in names} - ours - sys.stdlib_module_names
    providers = packages_distributions()
    # The packages of the bench extra are not installed everywhere: such a module counts as the package of its own name.
    packages = {module: {_canonical(name) for name in providers.get(module, [module])} for module in modules}
    unpinned = {module for module, names in packages.items() if pins.isdisjoint(names)}
    assert unpinned == set()


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_readme_names_the_pinned_torch():
    pin = re.search(r"^torch==.*", (ROOT / "requirements.txt").read_text(encoding="utf-8"), flags=re.M)[0]
    assert set(re.findall(r"torch==[\d.]+", README)) == {pin}


def test_ci_runs_what_a_contributor_runs():
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert run.startswith("#!/usr/bin/env bash")
    assert "set -euo pipefail" in run
    assert run.rstrip().endswith("make test"), "pytest's closing line must be the last one printed"
    assert ".ci/run" in (ROOT / ".github" / "workflows" / "book.yml").read_text(encoding="utf-8")
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111, ".ci/run is not executable"


# Folders of one machine, and the user's own. A path below the repository is written relative to it.
MACHINE_PATH = re.compile(r"(?<![\w.$}~<>:/-])/(?:work|root|tmp|home|Users)/[\w.]")
TEXT = {".py", ".md", ".toml", ".txt", ".yml", ".yaml", ".js", ".css", ".json", ".ipynb", ".cff", ".html", ".svg", ""}


def test_no_tracked_file_names_a_folder_of_one_machine():
    found = []
    for path in tracked_files():
        name = path.relative_to(ROOT)
        if path.suffix in TEXT and "vendor" not in name.parts:
            for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
                if MACHINE_PATH.search(line):
                    found.append(f"{name}:{number}")
    assert found == []


@pytest.mark.parametrize(("text", "is_path"), [("see /{}/me/x", True), ('"/{}/x"', True), ("a/{}/x", False)])
def test_machine_paths_are_found(text, is_path):
    assert bool(MACHINE_PATH.search(text.format("home"))) == is_path


def test_no_large_file_is_tracked_without_reason():
    # Two megabytes each: the larger Transformer of the book, and the network that must fit all into one vector.
    allowed = {f"src/stepformer/models/{name}/weights.safetensors" for name in ("base", "gru")}
    # Two players of the whole trained model, 0.9 megabytes each.
    allowed.add("chapters/18_looking_inside.ipynb")
    large = {str(path.relative_to(ROOT)) for path in tracked_files() if path.stat().st_size > 1_000_000}
    assert large <= allowed


def test_every_vendored_folder_is_listed_with_its_licence():
    vendor = ROOT / "book" / "_static" / "vendor"
    listing = (vendor / "README.md").read_text(encoding="utf-8").lower()
    for folder in vendor.iterdir():
        if folder.is_dir():
            assert folder.name in listing, f"vendor/{folder.name} is not listed in vendor/README.md"
    assert "version" in listing
    assert "licence" in listing


def names_in_the_package() -> set[str]:
    """Return every name in the package's code: parameters, variables, attributes, and names given as text (axes)."""
    names: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.arg(arg=name) | ast.keyword(arg=str(name)) | ast.Name(id=name) | ast.Attribute(attr=name):
                    names.add(name)
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    names.add(name)
                case ast.Constant(value=str(text)) if re.fullmatch(r"[A-Za-z_][\w.]*", text):
                    names.update(text.split("."))
    return names


def notation_names() -> set[str]:
    """Return the names in code font in the notation table's column "In code"."""
    text = (ROOT / "book" / "notation.md").read_text(encoding="utf-8")
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")]
    columns = [cell.strip().lower() for cell in rows[0]]
    column = columns.index("in code")
    return {name for row in rows[2:] for name in re.findall(r"`([^`]+)`", row[column])}


def test_the_notation_table_names_what_the_code_names():
    assert len(notation_names()) >= 15
    words = {word for name in notation_names() for word in re.findall(r"[A-Za-z_]\w*", name)}
    assert words <= names_in_the_package()
