"""The training timeline as a widget with two faces: a slider over what a model looked at and expected."""

from html import escape
from typing import Any

from stepformer.trace_json import dumps
from stepformer.widgets.dual import DualWidget, element

FORMAT = "stepformer.timeline/1"


class TimelineView(DualWidget):
    """How a model learnt, from the first snapshot to the last.

    Attributes:
        document: the timeline, as `stepformer.timeline.payload` makes it.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        super().__init__(kind="timeline", payload=dumps(document))

    def html(self) -> str:
        """The timeline as a custom element; without a script, the last snapshot of the sentence it begins with."""
        return element("stepformer-timeline", self.payload, _fallback(self.document))

    def __repr__(self) -> str:
        steps = [snapshot["step"] for snapshot in self.document["snapshots"]]
        return f"TimelineView({self.document['model']!r}, {len(steps)} snapshots, to step {steps[-1]})"


def _fallback(document: dict[str, Any]) -> str:
    """A row for each word of the target: where the last layer looks, all heads together, and the word it expects."""
    words, last = document["sentences"][document["start"]], document["snapshots"][-1]
    part = last["sentences"][document["start"]]
    heads = part["attention"][-1]
    source = "".join(f'<th scope="col">{escape(word)}</th>' for word in words["src"])
    rows = []
    for i, word in enumerate(words["tgt"]):
        means = [sum(head[i][j] for head in heads) / len(heads) / 1000 for j in range(len(words["src"]))]
        cells = "".join(f"<td>{mean:.2f}</td>" for mean in means)
        expected, share = part["next"][i][0]
        cells += f"<td>{escape(expected)} {share / 1000:.2f}</td>"
        rows.append(f'<tr><th scope="row">{escape(word)}</th>{cells}</tr>')
    caption = f"{document['model']}, after step {last['step']:,}: where the last layer looks, and what it expects"
    head = f'<thead><tr><td></td>{source}<th scope="col">expects</th></tr></thead>'
    table = f"<table><caption>{escape(caption)}</caption>{head}<tbody>{''.join(rows)}</tbody></table>"
    return f'<div class="stepformer-fallback">{table}</div>'
