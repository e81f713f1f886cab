"""`{break-it}`: every known mistake of the book, chapter by chapter, read from `stepformer.mistakes`."""

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from stepformer.checks import CHECKS
from stepformer.examples import EXAMPLES
from stepformer.formatting import format_cell
from stepformer.mistakes.catalogue import Entry, catalogue
from stepformer.trace import Break, Edit, Step, Trace
from stepformer_book.chapter_heads import ROOT, finished_chapters
from stepformer_book.markdown import block, paragraph, section

SHOWN_LETTERS = 170
SHOWN_NUMBERS = 8


class BreakItDirective(SphinxDirective):
    """One section for each chapter, one entry for each switch."""

    def run(self) -> list[nodes.Node]:
        """Build the sections."""
        self.env.note_reread()
        return [*self.sections()]

    def sections(self) -> Iterator[nodes.section]:
        """Make the sections of the chapters that have switches."""
        entries, meanings = list(catalogue()), fault_meanings()
        programs = {entry.program: EXAMPLES[entry.program]() for entry in entries}
        for chapter in finished_chapters():
            own = [entry for group in chapter.mistakes for entry in entries if entry.group == group]
            if own:
                made = section(
                    f"{chapter.number} · {chapter.title}", f"break-{chapter.name.replace('_', '-')}", directive=self
                )
                made += paragraph(f"The switches are in the players of {chapter.link}.", self)
                items = (self.item(entry, programs[entry.program], meanings) for entry in own)
                # The words are those of the player, to the letter.
                made += nodes.definition_list("", *items, classes=["mistakes"], support_smartquotes=False)
                yield made

    def item(self, entry: Entry, program: Trace, meanings: dict[str, str]) -> nodes.definition_list_item:
        """Make one entry: the name of the switch, what a reader sees, what is edited, what catches it."""
        mistake = entry.mistake
        rule = CHECKS[mistake.caught_by].__doc__.splitlines()[0]
        facts = [("Edits", words(edit_words(mistake, program))), ("Caught by", f"`{mistake.caught_by}`: {rule}")]
        facts += [(f"Known as {identifier}", meanings[identifier]) for identifier in entry.faults]
        body = [nodes.paragraph("", mistake.symptom)]
        body += block("\n".join(f"- **{name}**\n  {text}" for name, text in facts), self)
        term = nodes.term("", mistake.name)
        return nodes.definition_list_item("", term, nodes.definition("", *body))


def fault_meanings() -> dict[str, str]:
    """Read what goes wrong in each fault that public code is known for, by its id."""
    text = (ROOT / "tests" / "structure" / "faults.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([A-Z]+-\d+)\s+(.+)$", text, flags=re.M))


def words(edits: list[str]) -> str:
    """Join the edits of a mistake, as many as are read at a glance, and count the rest."""
    shown = edits[:1]
    for edit in edits[1:]:
        if len("; ".join([*shown, edit])) > SHOWN_LETTERS:
            return f"{'; '.join(shown)}; and {len(edits) - len(shown)} more of the kind."
        shown.append(edit)
    return "; ".join(shown) + "."


def edit_words(mistake: Break, program: Trace) -> list[str]:
    """Say what each edit of a mistake does to a program: what is computed instead of what, or what is given."""
    broken = program.with_breaks(mistake).broken(mistake.name)
    said = [_given(e, broken) if e.value is not None else _computed(e, program, broken) for e in mistake.edits]
    return [text for text in said if text]


def _given(edit: Edit, broken: Trace) -> str:
    target = broken.find(edit.tensor)
    name, tensor, array = _name(broken, target), broken.tensors[target], broken.arrays[target]
    if tensor.vocabulary:
        return f"`{name}` is `{' '.join(tensor.vocabulary[i] for i in array)}`"
    if array.size > SHOWN_NUMBERS:
        return f"`{name}` is replaced by other numbers"
    return f"`{name}` is {', '.join(format_cell(x, tensor.dtype) for x in array.ravel())}"


def _computed(edit: Edit, program: Trace, broken: Trace) -> str:
    """What is computed instead of what; nothing where the edit leaves a step as it is, so that it outlasts others."""
    target = program.find(edit.tensor)
    before, after = (next(s for s in trace.steps if s.output == target) for trace in (program, broken))
    if before == after:
        return ""
    changed = {key for key, value in after.attributes.items() if before.attributes.get(key) not in (value, None)}
    old, new = _call(program, before, changed), _call(broken, after, changed)
    return f"`{_name(program, target)}` is `{new}` instead of `{old}`"


def _call(program: Trace, step: Step, attributes: set[str]) -> str:
    inputs = [_name(program, i, beside=step.output) for i in step.inputs]
    return f"{step.op}({', '.join([*inputs, *(f'{key}={step.attributes[key]}' for key in sorted(attributes))])})"


def _name(program: Trace, position: int, beside: int | None = None) -> str:
    """The shortest end of a tensor's name that only it has, or what it is called within the scopes of a neighbour."""
    full = program.tensors[position].name
    parts = full.split(".")
    names = [".".join(parts[-k:]) for k in range(1, len(parts) + 1)]
    found = next(name for name in names if _finds(program, name) == position)
    if beside is not None:
        scopes = program.tensors[beside].name.split(".")[:-1]
        shared = next((k for k in range(len(scopes), 0, -1) if parts[:k] == scopes[:k]), 0)
        found = min(found, ".".join(parts[shared:]), key=len)
    return found


def _finds(program: Trace, name: str) -> int | None:
    try:
        return program.find(name)
    except KeyError:
        return None


def setup(app) -> None:
    """Register the directive."""
    app.add_directive("break-it", BreakItDirective)
