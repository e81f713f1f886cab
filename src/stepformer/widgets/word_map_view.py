"""The word map as a widget with two faces: type words and see where their vectors lie."""

import json
from collections.abc import Callable
from html import escape
from typing import Any

from stepformer.formatting import format_number
from stepformer.trace import Trace
from stepformer.trace_json import dumps
from stepformer.widgets.dual import DualWidget, element

FORMAT = "stepformer.word_map/1"


class WordMapView(DualWidget):
    """A map of some words at once, and of all words of a table when the reader asks for them.

    Attributes:
        trace: the program of the map, as `stepformer.word_map.program` records it.
    """

    def __init__(self, trace: Trace, start: str, total: int, whole_table: Callable[[], Any]) -> None:
        self.trace = trace
        self._whole_table = whole_table
        document = {"format": FORMAT, "program": json.loads(trace.to_json()), "start": start, "total": total}
        super().__init__(kind="word_map", payload=dumps(document))
        self.on_msg(self._answer)

    def _answer(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """The page in JupyterLab asks for the whole table; a page without a kernel loads a script instead."""
        if isinstance(content, dict) and content.get("ask") == "vectors":
            self.send({"data": "vectors", "content": self._whole_table()})

    def html(self) -> str:
        """The map as a custom element for a page without a kernel; without a script, its words and their places."""
        words = self.trace.tensors[self.trace.find("words")].vocabulary
        rows = "".join(
            f"<tr><th>{escape(word)}</th><td>{format_number(x)}</td><td>{format_number(y)}</td></tr>"
            for word, (x, y) in zip(words, self.trace["coordinates"], strict=True)
        )
        table = f"<table><tr><th>word</th><th>to the right</th><th>up</th></tr>{rows}</table>"
        fallback = f'<div class="stepformer-fallback"><details><summary>Map of words</summary>{table}</details></div>'
        return element("stepformer-word-map", self.payload, fallback)

    def __repr__(self) -> str:
        return f"WordMapView({len(self.trace.tensors[self.trace.find('words')].vocabulary)} words)"
