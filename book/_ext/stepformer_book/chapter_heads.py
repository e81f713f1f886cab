"""What the chapters say of themselves: their heads, and the mistakes and exercises that their code shows."""

import ast
import json
import re
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
CALLS = {"exercises.show", "exercises.check"}


@dataclass(frozen=True)
class Chapter:
    """The head of a finished chapter, as Markdown, and what is in it.

    Attributes:
        name: the notebook's, such as "05_attention".
        title: its heading.
        minutes: how long reading takes, as the head says.
        objectives: what a reader can do afterwards, one text each.
        mistakes: names of the groups of `stepformer.mistakes` that its players offer, in order.
        exercises: ids in the order of the page.
    """

    name: str
    title: str
    minutes: int
    objectives: tuple[str, ...]
    mistakes: tuple[str, ...]
    exercises: tuple[str, ...]

    @property
    def number(self) -> int:
        """The number of the chapter, 0 for the first."""
        return int(self.name.split("_")[0])

    @property
    def link(self) -> str:
        """A link to the chapter, for a page in `book/`."""
        return f"[{self.title}](../chapters/{self.name}.ipynb)"


def read_chapter(path: Path) -> Chapter:
    """Read one notebook.

    Raises:
        ValueError: its head lacks the objectives or the time.
    """
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    head = "".join(cells[0]["source"])
    title = re.search(r"^# (.+)$", head, flags=re.M)
    time = re.search(r"^\*\*Time\*\* about (\d+) minutes", head, flags=re.M)
    able = re.search(r"^\*\*After this chapter you can\*\*\n\n((?:- .+\n(?:  .+\n)*)+)", head, flags=re.M)
    if not (title and time and able):
        raise ValueError(f"{path.name}: its head needs a title, “After this chapter you can” and the time.")
    objectives = [" ".join(item.split()) for item in re.split(r"^- ", able[1], flags=re.M)[1:]]
    trees = [ast.parse("".join(cell["source"])) for cell in cells if cell["cell_type"] == "code"]
    nodes = [node for tree in trees for node in _in_order(tree)]
    groups = [ast.unparse(n).split(".")[1] for n in nodes if ast.unparse(n).startswith("mistakes.") and _is_name(n)]
    asked = [n.args[0].value for n in nodes if isinstance(n, ast.Call) and ast.unparse(n.func) in CALLS]
    return Chapter(
        path.stem,
        title[1],
        int(time[1]),
        tuple(item.rstrip(";.") for item in objectives),
        tuple(dict.fromkeys(groups)),
        tuple(dict.fromkeys(asked)),
    )


def _in_order(tree: ast.AST) -> list[ast.AST]:
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Call)]
    return sorted(nodes, key=lambda node: (node.lineno, node.col_offset))


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)


def finished_chapters(root: Path = ROOT) -> list[Chapter]:
    """Read the chapters of the table of contents, in its order."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    files = [entry["file"] for part in toc["parts"] for entry in part["chapters"]]
    return [read_chapter(root / f"{file}.ipynb") for file in files if file.startswith("chapters/")]
