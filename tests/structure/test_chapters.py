"""Chapters as they are stored: in the table of contents, normalised, plain Markdown, plain Python, working links."""

import ast
import re

import pytest
from helpers import CHAPTERS, ROOT, toc_files
from markdown_it import MarkdownIt
from normalise_notebook import dumps, normalise, problems, read

every_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)


def test_the_toc_lists_every_chapter_and_only_files_that_exist():
    files = toc_files()
    assert len(files) == len(set(files)), "a page is listed twice"
    for file in files:
        assert any((ROOT / f"{file}{ending}").is_file() for ending in (".md", ".ipynb")), f"{file} does not exist"
    listed = {file for file in files if file.startswith("chapters/")}
    assert listed == {f"chapters/{path.stem}" for path in CHAPTERS}
    assert len(CHAPTERS) >= 1


@every_chapter
def test_stored_form(path):
    notebook = read(path)
    assert problems(notebook) == []
    assert dumps(normalise(notebook)) == path.read_text(encoding="utf-8"), "run `make execute`, which normalises"


# ---- Markdown cells: what JupyterLab, GitHub and the site all render ----------------------------------------------

TOKENS = {
    "paragraph", "heading", "inline", "text", "softbreak", "hardbreak", "em", "strong", "link", "image", "code_inline",
    "fence", "bullet_list", "ordered_list", "list_item", "blockquote", "hr", "html_block", "html_inline",
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
HTML = re.compile(r"</?(details|summary)>|<details open>")
FENCE_LANGUAGES = {"", "python", "text", "bash", "json"}

# Outside code and math. Each renders as its own source in JupyterLab or on GitHub.
FORBIDDEN = {
    r"^\s*:{3,}": "a ::: block",
    r"\{[\w:+-]+\}\s*`": "a {role}`…`",
    r"^\([\w:-]+\)=": "a (target)=",
    r"\[\^[\w-]+\]": "a footnote",
    r"\{\{.*?\}\}": "a {{substitution}}",
    r"^\+\+\+": "a cell break +++",
    r"\\begin\{": "an environment outside $$ … $$",
    r"\\\(|\\\[": r"math in \( \) or \[ \]",
    r"«math»\s*\([\w:-]+\)\s*$": "an equation label",
}


def forbidden_constructs(markdown: str) -> list[str]:
    """Return, in words, what a Markdown cell holds that not every reader's tool renders."""
    found = []
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    for token in [token for parent in tokens for token in (parent, *(parent.children or []))]:
        if token.type.removesuffix("_open").removesuffix("_close") not in TOKENS:
            found.append(f"{token.type}: {token.content[:60]}")
        if token.type == "fence" and token.info.strip() not in FENCE_LANGUAGES:
            found.append(f"a fenced block of kind {token.info!r}")
        if token.type in ("html_block", "html_inline"):
            found += [f"HTML: {tag}" for tag in re.findall(r"<[^>]*>?", token.content) if not HTML.fullmatch(tag)]
        if token.type == "image" and not token.content.strip():
            found.append(f"an image without a description: {token.attrs['src']}")
    text = re.sub(r"^(```|~~~).*?^\1", "", markdown, flags=re.M | re.S)
    text = re.sub(r"(?<!\\)\$\$.+?\$\$|(?<![\\$])\$(?!\s)[^$\n]+?\$", "«math»", text, flags=re.S)
    text = re.sub(r"(?<!\})`[^`]+`", "", text)
    found += [name for pattern, name in FORBIDDEN.items() if re.search(pattern, text, flags=re.M)]
    return found


@every_chapter
def test_markdown_cells_use_only_what_every_tool_renders(path):
    cells = [cell for cell in read(path).cells if cell.cell_type == "markdown"]
    found = {cell.id: forbidden_constructs(cell.source) for cell in cells}
    assert {name: constructs for name, constructs in found.items() if constructs} == {}


@pytest.mark.parametrize(
    "markdown",
    [
        "# Title\n\nText, *em*, **strong**, `code {x}`, [link](a.md), $a_{ij} < \\sqrt{d_k}$.\n\n> quoted",
        "$$\n\\begin{aligned} a &= b \\end{aligned}\n$$",
        "| a | b |\n|---|---|\n| $x$ | `y` |",
        "<details>\n<summary>Solution</summary>\n\nIt is **7**.\n\n</details>",
        "```python\nx[{1}]  # ::: $\n```",
        "1. one\n2. two\n   - deep\n\n---",
    ],
)
def test_plain_constructs_are_accepted(markdown):
    assert forbidden_constructs(markdown) == []


@pytest.mark.parametrize(
    "markdown",
    [
        "```{note}\nx\n```",
        ":::{note}\nx\n:::",
        "See {ref}`attention`.",
        "(attention)=\n# Attention",
        "a[^1]\n\n[^1]: b",
        "<div class='x'>y</div>",
        "a <span>b</span>",
        "<details onclick='x'>",
        "![](map.svg)",
        "\\begin{align} a \\end{align}",
        "{{ name }}",
        "$$a$$ (equation-1)",
        "\\(a\\)",
        "    indented code",
    ],
)
def test_constructs_that_only_one_tool_renders_are_found(markdown):
    assert forbidden_constructs(markdown) != []


# ---- links ---------------------------------------------------------------------------------------------------------


def links(markdown: str) -> list[str]:
    """Return the targets of all links and images of a Markdown text."""
    tokens = [child for token in MarkdownIt("commonmark").parse(markdown) for child in token.children or []]
    return [token.attrs[key] for token in tokens for key in ("href", "src") if key in token.attrs]


PAGES = [*CHAPTERS, *sorted((ROOT / "book").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_relative_links_lead_to_files(path):
    if path.suffix == ".ipynb":
        text = "\n\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    else:
        text = path.read_text(encoding="utf-8")
    for link in links(text):
        if re.match(r"[a-z]+:", link):
            assert link.startswith(("https:", "mailto:")), f"{link} is neither relative nor https"
            continue
        target = link.partition("#")[0]
        candidates = [path.parent / f"{target}{ending}" for ending in ("", ".md", ".ipynb")]
        assert not target or any(candidate.exists() for candidate in candidates), f"{link} leads nowhere"


def test_links_are_found():
    assert links("[a](b.md) ![c](d.svg) <https://e.org> `[f](g)`") == ["b.md", "d.svg", "https://e.org"]


# ---- code cells ----------------------------------------------------------------------------------------------------

CLOCKS = {"time", "timeit", "perf_counter", "monotonic", "process_time", "datetime", "now"}


def code_faults(source: str) -> list[str]:
    """Return, in words, what a chapter's code cell holds that it must not: magics, clocks, progress bars."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return [f"not plain Python (a magic or shell command?): {error.text}"]
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names |= {alias.name.split(".")[0] for node in imports for alias in node.names}
    names |= {node.module.split(".")[0] for node in imports if isinstance(node, ast.ImportFrom) and node.module}
    found = [f"it reads a clock: {name}" for name in sorted(names & CLOCKS)]
    unstable = sorted(names & {"tqdm", "uuid", "secrets"})
    return found + [f"its output changes with every run: {name}" for name in unstable]


@every_chapter
def test_code_cells_are_plain_python_and_time_nothing(path):
    cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
    found = {cell.id: code_faults(cell.source) for cell in cells}
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.parametrize(
    "source", ["%timeit f()", "!ls", "import time", "from time import perf_counter", "from tqdm.auto import tqdm"]
)
def test_clocks_and_magics_are_found(source):
    assert code_faults(source) != []


def test_plain_code_is_accepted():
    assert code_faults("import numpy as np\ntimes = np.arange(3)\ntimes @ times") == []
