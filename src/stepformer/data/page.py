"""Data sets that a page loads only when the reader asks for them: each is one classic script.

A script, unlike a file of data, also loads from a page that was opened from a disk. It calls `stepformerData(name,
data)`, which `web/data.js` defines and waits for. In JupyterLab the same data arrive through the widget.
"""

import json
from collections.abc import Callable
from typing import Any

from stepformer.data import vectors

DATA_SETS: dict[str, Callable[[], Any]] = {"vectors": vectors.for_the_page}
"""Every data set by name; what each function returns, JSON can hold."""


def script(name: str) -> str:
    """The script that hands a data set to the page.

    Args:
        name: a key of `DATA_SETS`.

    Returns:
        JavaScript, one line.

    Raises:
        KeyError: there is no such data set.
    """
    return call(name, DATA_SETS[name]())


def call(name: str, data: Any) -> str:
    """The script that hands some data to the page.

    Args:
        name: what the page asks for.
        data: anything that JSON can hold.

    Returns:
        JavaScript, one line.
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return f"stepformerData({json.dumps(name)},{text});\n"
