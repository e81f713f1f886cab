"""An exercise as a widget with two faces, like the player."""

from html import escape
from typing import Any, Protocol

from stepformer.trace_json import dumps
from stepformer.widgets.dual import DualWidget, element


class HasDocument(Protocol):
    """What the view needs of an exercise."""

    id: str

    def document(self) -> dict[str, Any]:
        """The JSON object that the page reads."""


class ExerciseView(DualWidget):
    """A question with instant feedback."""

    def __init__(self, exercise: HasDocument) -> None:
        self._document = exercise.document()
        super().__init__(kind="exercise", payload=dumps(self._document))

    def html(self) -> str:
        """The exercise as a custom element for a page without a kernel."""
        choices = "".join(f"<li>{escape(choice)}</li>" for choice in self._document.get("choices", []))
        text = f"<p>{escape(self._document['question'])}</p>{f'<ol>{choices}</ol>' if choices else ''}"
        fallback = f'<div class="stepformer-fallback">{text}</div>'
        return element("stepformer-exercise", self.payload, fallback)

    def __repr__(self) -> str:
        return f"Exercise({self._document['id']!r})"
