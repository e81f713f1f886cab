"""A widget with two faces: live in JupyterLab, a custom element of its own on a page without a kernel."""

from pathlib import Path

try:
    import anywidget
    import traitlets
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"The player needs {error.name}, which is not installed: pip install 'stepformer[widgets]', "
        "or in the folder of the project: pip install -e '.[widgets]'.",
        name=error.name,
    ) from error

STATIC = Path(__file__).parent / "static"


class DualWidget(anywidget.AnyWidget):
    """An AnyWidget whose mimebundle also carries `text/html`.

    Subclasses set `kind`, and `html` returns the element with its JSON payload and a readable fallback.
    """

    _esm = STATIC / "widget.js"
    # Our elements take the width that there is and have none of their own, so in a row of widgets (an HBox) they would
    # get none: there they take what the others leave, unless `layout` says how wide they are.
    _css = ".stepformer-widget:not([style*='width']) { flex-grow: 1 }"
    kind = traitlets.Unicode("").tag(sync=True)
    payload = traitlets.Unicode("").tag(sync=True)

    def html(self) -> str:
        """The custom element as HTML text."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        # Stable text: the default repr holds a memory address, which no stored output may contain.
        return {**(data or {}), "text/plain": repr(self), "text/html": self.html()}, metadata


def element(tag: str, payload: str, fallback: str) -> str:
    """The custom element `tag`: strict JSON in a script child, then what readers without JavaScript see.

    Args:
        tag: the element's name.
        payload: JSON text in which every `<` is escaped.
        fallback: safe HTML.

    Returns:
        HTML text.
    """
    return f'<{tag}><script type="application/json">{payload}</script>{fallback}</{tag}>'
