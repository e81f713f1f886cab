"""stepformer: the Transformer you can put your hands in.

Record a NumPy computation (`record`, `leaf`, `stepformer.ops`), step through it in a notebook or a static page
(`show`), and compare it with the same layers in torch (`stepformer.nn`, imported only on request).
"""

from stepformer import ops
from stepformer.recording import leaf, record, scope
from stepformer.trace import Break, Edit, Trace, TraceError

__all__ = ["Break", "Edit", "Trace", "TraceError", "leaf", "ops", "record", "scope", "show"]
__version__ = "0.1.0"


def __getattr__(name: str):
    # The player needs anywidget, which takes ten times as long to import as the rest: it is loaded on first use.
    if name == "show":
        from stepformer.widgets import show

        return show
    raise AttributeError(f"module 'stepformer' has no attribute {name!r}")
