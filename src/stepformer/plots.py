"""The book's figures: matrices, curves and histograms in one style. matplotlib is imported when one is drawn.

A figure shows itself as the last value of a cell, with or without pyplot. It brings its own white card and its own
font, so it reads the same on a light page and a dark one, and Chinese labels need nothing installed. All figures are
as wide as the column of text, so that their letters have one size. No function changes matplotlib's settings.
"""

import functools
import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stepformer.formatting import format_cell, format_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HERE = Path(__file__).parent
FONTS = (HERE / "fonts" / "latin.otf", HERE / "fonts" / "chinese.otf")
"""Cut by scripts/make_font.py to the characters that the book uses."""
ROLES: dict[str, str] = {role: light for role, (light, _) in json.loads((HERE / "colours.json").read_text()).items()}
"""The colour of each role: query, key, value, source, target, changed."""

# The player's own colours (web/player/style.css): what fills a cell means its number, here as there.
INK, QUIET, PAPER = "#1d2126", "#59626d", "#ffffff"
POSITIVE, NEGATIVE, SHARE = "#2f7fb8", "#cf6136", "#5b5fb0"
STRONGEST = 0.61
"""A full cell holds this part of its colour, so that dark digits stay readable on it."""

RULE, WASH = "#d9dde1", "#f4f5f6"
# Lines that stand for no role are grey; they differ in shade, in dashes and in markers.
SERIES = [(INK, "-", "o"), ("#7d8893", (0, (5, 1.6)), "s"), ("#444d57", (0, (1.2, 1.4)), "^"), ("#a3acb5", "-.", "D")]

WIDTH, DPI = 7.2, 160
"""Inches, and pixels per inch. An inch is shown 100 pixels wide; the rest is sharpness on fine screens."""
CELL_WIDTH, CELL_HEIGHT, SMALLEST_WRITTEN_CELL = 0.92, 0.34, 0.42
"""Inches: the size of a cell, and the width below which a cell shows its colour only."""
MOST_LABELS = 24
"""Of more positions only every second, fourth … is named."""


def matrix(
    array: np.ndarray,
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    title: str = "",
    kind: str = "diverging",
    *,
    row_role: str | None = None,
    column_role: str | None = None,
    decimals: int = 2,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw one matrix as the player does: coloured cells with their numbers, and the scale.

    Args:
        array: (n, m) numbers or booleans; −∞ is shown as a masked cell.
        row_labels: n texts, or None for the positions.
        column_labels: m texts, or None for the positions.
        title: what the matrix is.
        kind: "diverging", a scale centred on zero, or "probability", a scale from 0 to 1.
        row_role: the role whose colour the row labels take, for example "target".
        column_role: the role whose colour the column labels take, for example "source".
        decimals: digits after the point; 0 for whole numbers beside −∞, which no array of integers can hold.
        ax: where to draw; None makes a figure.

    Returns:
        The figure.

    Raises:
        ValueError: the array is no matrix, labels do not fit it, the kind or a role is unknown, or a probability is
            outside 0 to 1.
    """
    if ax is None:
        roles = {"row_role": row_role, "column_role": column_role}
        return matrices({title: array}, row_labels, column_labels, kind, **roles, decimals=decimals)
    with _style():
        return _Matrices({title: array}, row_labels, column_labels, kind, row_role, column_role, decimals).draw([ax])


def matrices(
    arrays: Mapping[str, np.ndarray],
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    kind: str = "diverging",
    *,
    row_role: str | None = None,
    column_role: str | None = None,
    decimals: int = 2,
) -> "Figure":
    """Draw several matrices of one shape side by side, on one scale, so that their colours compare.

    Args:
        arrays: title -> (n, m) array, all of one shape.
        row_labels: n texts, or None for the positions.
        column_labels: m texts, or None for the positions.
        kind: as for `matrix`.
        row_role: as for `matrix`.
        column_role: as for `matrix`.
        decimals: as for `matrix`.

    Returns:
        The figure.

    Raises:
        ValueError: the shapes differ, or as for `matrix`.
    """
    with _style():
        drawing = _Matrices(arrays, row_labels, column_labels, kind, row_role, column_role, decimals)
        return drawing.draw(_new_figure(len(arrays), drawing.height)[1])


def curves(
    x: Sequence[float],
    lines: Mapping[str, Sequence[float]] | None = None,
    *,
    points: Mapping[str, Sequence[float]] | None = None,
    x_label: str,
    y_label: str,
    title: str = "",
    log_x: bool = False,
    log_y: bool = False,
    roles: Mapping[str, str] | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw quantities against x: lines for what a formula says or what belongs together, points for measurements.

    The first line and the first points share a shade of grey, and so on: give a measurement and its formula the
    same place.

    Args:
        x: (n,) positions.
        lines: label -> (n,) numbers, drawn as lines.
        points: label -> (n,) numbers, drawn as points.
        x_label: what x is, with its unit if it has one.
        y_label: what the numbers are, with their unit if they have one.
        title: what the figure shows.
        log_x: a logarithmic axis, marked at the positions themselves.
        log_y: a logarithmic axis.
        roles: label -> role, for what has a colour of its own in the book.
        ax: where to draw; None makes a figure.

    Returns:
        The figure.

    Raises:
        ValueError: there is nothing to draw, a series has another length than x, or a role is unknown.
    """
    lines, points, roles = dict(lines or {}), dict(points or {}), dict(roles or {})
    for label, y in [*lines.items(), *points.items()]:
        if np.shape(y) != np.shape(x):
            raise ValueError(f"curves: {label!r} has shape {np.shape(y)}, and x has {np.shape(x)}.")
    if not lines and not points:
        raise ValueError("curves: there is nothing to draw: give lines, points or both.")
    with _style():
        ax = ax or _new_figure(1, 3.1)[1][0]
        for (label, y), (shade, dashes, _) in zip(lines.items(), _series(len(lines)), strict=True):
            ax.plot(x, y, label=label, color=_role_colour(roles.get(label), shade), linestyle=dashes)
        for (label, y), (shade, _, marker) in zip(points.items(), _series(len(points)), strict=True):
            colour = _role_colour(roles.get(label), shade)
            ax.plot(x, y, label=label, color=colour, linestyle="none", marker=marker)
        if log_x:
            ax.set_xscale("log")
            ax.set_xticks(list(x), [f"{position:g}" for position in x])
            ax.minorticks_off()
        if log_y:
            ax.set_yscale("log")
        ax.set(xlabel=x_label, ylabel=y_label, title=title)
        if len(lines) + len(points) > 1:
            ax.legend()
        return ax.figure


def histograms(
    samples: Mapping[str, np.ndarray],
    *,
    x_label: str,
    y_label: str = "density",
    title: str = "",
    bins: int = 40,
    roles: Mapping[str, str] | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw how several sets of numbers are distributed, as outlines over one set of bins; each has area 1.

    Args:
        samples: label -> numbers of any shape.
        x_label: what the numbers are, with their unit if they have one.
        y_label: what the height is.
        title: what the figure shows.
        bins: number of bins from the smallest to the largest number.
        roles: as for `curves`.
        ax: where to draw; None makes a figure.

    Returns:
        The figure.

    Raises:
        ValueError: there are no numbers, one is not finite, or a role is unknown.
    """
    roles = dict(roles or {})
    flat = {label: np.ravel(numbers) for label, numbers in samples.items()}
    if not flat or not all(numbers.size and np.isfinite(numbers).all() for numbers in flat.values()):
        raise ValueError("histograms: every set must hold numbers, all of them finite.")
    edges = np.histogram_bin_edges(np.concatenate(list(flat.values())), bins)
    with _style():
        ax = ax or _new_figure(1, 2.7)[1][0]
        for (label, numbers), (shade, dashes, _) in zip(flat.items(), _series(len(flat)), strict=True):
            colour = _role_colour(roles.get(label), shade)
            heights, _ = np.histogram(numbers, edges, density=True)
            ax.stairs(heights, edges, label=label, color=colour, linestyle=dashes, linewidth=1.6)
            ax.stairs(heights, edges, color=colour, alpha=0.1, fill=True)
        ax.set(xlabel=x_label, ylabel=y_label, title=title)
        ax.set_ylim(bottom=0)
        if len(flat) > 1:
            ax.legend()
        return ax.figure


def panels(n: int, height: float = 3.0) -> "tuple[Figure, list[Axes]]":
    """Make a figure with n empty panels side by side, to be drawn in with `ax=`.

    Args:
        n: number of panels.
        height: inches.

    Returns:
        The figure, and its n axes from left to right.
    """
    with _style():
        return _new_figure(n, height)


def blocks(columns: Mapping[str, Sequence[str | Sequence[str]]], unit: float = 0.5) -> "Figure":
    """Draw columns of blocks, to be read from the bottom to the top, side by side.

    Args:
        columns: title -> blocks in the order in which they compute. A list of names has a way around it, and a sum at
            its end.
        unit: inches from one block to the next.

    Returns:
        The figure.

    Raises:
        ValueError: there is nothing to draw.
    """
    if not columns or not all(columns.values()):
        raise ValueError("blocks: there is nothing to draw: give at least one block for each title.")
    heights = [sum(1 if isinstance(part, str) else len(part) + 1 for part in column) for column in columns.values()]
    with _style():
        figure, axes = _new_figure(len(columns), unit * (max(heights) + 1.6) + 0.4)
        for ax, (title, column) in zip(axes, columns.items(), strict=True):
            _draw_column(ax, column)
            ax.set(title=title, xlim=(-2.2, 2.2), ylim=(-1, max(heights) + 0.6))
            ax.set_axis_off()
        return figure


def tree(
    levels: Sequence[Sequence[tuple[str, int, float, bool]]],
    root: str,
    *,
    chosen: str = "",
    title: str = "",
) -> "Figure":
    """Draw how a search went: a column for each word, the most probable beginnings at the top.

    Args:
        levels: for each step its beginnings, each as (the word it adds, position of the beginning before it in the
            level before, its probability, whether it was kept).
        root: what every sentence begins with.
        chosen: the words of the sentence that was chosen, with spaces between them; its way is drawn strongly.
        title: what the figure shows.

    Returns:
        The figure. What was not kept is drawn pale.

    Raises:
        ValueError: there is nothing to draw, or a beginning has no beginning before it.
    """
    if not levels or not all(levels):
        raise ValueError("tree: there is nothing to draw: give one level or more, none of them empty.")
    places = [[(0.0, 0.0)]]
    on_the_way, words = [[True]], chosen.split()
    with _style():
        figure, (ax,) = _new_figure(1, 0.75 + 0.44 * max(map(len, levels)))
        box = {"boxstyle": "round,pad=0.35", "linewidth": 1.0}
        ax.text(0, 0, root, ha="center", va="center", size=9.5, bbox=box | {"facecolor": WASH, "edgecolor": QUIET})
        for depth, level in enumerate(levels, start=1):
            places.append([])
            on_the_way.append([])
            for i, (word, parent, probability, kept) in enumerate(level):
                if not 0 <= parent < len(places[depth - 1]):
                    raise ValueError(f"tree: {word!r} in level {depth} goes on from {parent}, which is not there.")
                here, before = (depth, -i), places[depth - 1][parent]
                strong = on_the_way[depth - 1][parent] and depth <= len(words) and words[depth - 1] == word
                colour = ROLES["target"] if strong else QUIET if kept else RULE
                ax.plot(*zip(before, here, strict=True), color=colour, linewidth=2.0 if strong else 1.2, zorder=1)
                label = f"{word}  {format_number(probability, 2 if probability >= 0.095 else 3)}"
                ax.text(*here, label, ha="center", va="center", size=9.5, color=INK if kept else QUIET,
                        bbox=box | {"facecolor": PAPER, "edgecolor": colour}, zorder=2)  # fmt: skip
                places[-1].append(here)
                on_the_way[-1].append(strong)
        ax.set(title=title, xlim=(-0.4, len(levels) + 0.45), ylim=(0.6 - max(map(len, levels)), 0.5))
        ax.set_axis_off()
        return figure


def plane(points: np.ndarray, words: Sequence[str], kinds: Sequence[str], *, title: str = "") -> "Figure":
    """Draw words where their vectors lie on a plane; kinds differ in marker and shade.

    Args:
        points: (n, 2) coordinates.
        words: n texts.
        kinds: for each word what it is; at most four kinds.
        title: what the figure shows.

    Returns:
        The figure. Its axes have no numbers: only what lies near to what has a meaning.

    Raises:
        ValueError: there is nothing to draw, or not one word and one kind for each point.
    """
    points = np.asarray(points)
    if points.shape != (len(words), 2) or len(words) != len(kinds) or not len(words):
        raise ValueError(
            f"plane: points have the shape {points.shape} with {len(words)} words and {len(kinds)} kinds; each of one "
            "or more points needs two coordinates, a word and a kind."
        )
    present = list(dict.fromkeys(kinds))
    with _style():
        figure, (ax,) = _new_figure(1, 4.6)
        for kind, (shade, _, marker) in zip(present, _series(len(present)), strict=True):
            own = [i for i, one in enumerate(kinds) if one == kind]
            ax.plot(*points[own].T, label=kind, color=shade, linestyle="none", marker=marker)
        for (x, y), word in zip(points, words, strict=True):
            ax.annotate(word, (x, y), (0, 4), textcoords="offset points", ha="center", va="bottom", size=8)
        ax.set(title=title, xticks=[], yticks=[])
        ax.margins(0.06, 0.08)
        ax.legend()
        return figure


def links(
    weights: np.ndarray,
    target: Sequence[str],
    source: Sequence[str],
    *,
    gold: Collection[tuple[int, int]] = (),
    title: str = "",
) -> "Figure":
    """Draw attention as lines: from each word of the target to the words of the source, the thicker the more weight.

    Args:
        weights: (n_tgt, n_src) shares from 0 to 1; a line is drawn from 0.05 on.
        target: n_tgt words, drawn below.
        source: n_src words, drawn above.
        gold: links (target position, source position) that people would draw; a line that is none of them is dashed.
        title: what the figure shows.

    Returns:
        The figure.

    Raises:
        ValueError: the weights do not fit the words, or one is no share.
    """
    weights = np.asarray(weights)
    if weights.shape != (len(target), len(source)) or not weights.size:
        raise ValueError(
            f"links: weights have shape {weights.shape}, for {len(target)} words below and {len(source)} above."
        )
    if not ((weights >= 0) & (weights <= 1 + 1e-9)).all():
        raise ValueError("links: every weight must lie from 0 to 1.")
    above, below = (np.linspace(0, 1, 2 * len(words) + 1)[1::2] for words in (source, target))
    with _style():
        figure, (ax,) = _new_figure(1, 2.4)
        for i, j in zip(*np.nonzero(weights >= 0.05), strict=True):
            share, right = float(weights[i, j]), not gold or (i, j) in gold
            ax.plot([below[i], above[j]], [0.16, 0.84], color=SHARE, alpha=0.25 + 0.75 * share,
                    linewidth=0.6 + 5 * share, linestyle="-" if right else (0, (2, 1)))  # fmt: skip
        for places, words, y, role in ((above, source, 0.93, "source"), (below, target, 0.07, "target")):
            for x, word in zip(places, words, strict=True):
                ax.text(x, y, word, ha="center", va="center", size=10.5, color=ROLES[role])
        ax.set(title=title, xlim=(0, 1), ylim=(0, 1))
        ax.set_axis_off()
        return figure


def png(figure: "Figure") -> bytes:
    """A figure of this module as a picture, for a file.

    Args:
        figure: what a function of this module returned.

    Returns:
        The bytes of a PNG file.
    """
    return figure._repr_png_()[0]


def can_draw(text: str) -> bool:
    """Tell whether there is a glyph for each character of a text: in the book's fonts, or in those of the computer.

    Args:
        text: a label.

    Returns:
        True or False; where it is False, a figure would show empty boxes.
    """
    return all(c.isspace() or ord(c) in _drawable() for c in text)


def _draw_column(ax: "Axes", column: Sequence[str | Sequence[str]]) -> None:
    line = {"color": QUIET, "linewidth": 1.3, "zorder": 1}

    def arrow(start: tuple[float, float], end: tuple[float, float]) -> None:
        style = {"arrowstyle": "->", "color": QUIET, "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", end, start, arrowprops=style, zorder=1)

    def draw(text: str, y: float) -> None:
        face = WASH if text != "+" else PAPER
        box = {"boxstyle": "round,pad=0.35" if text != "+" else "circle,pad=0.2", "facecolor": face, "edgecolor": QUIET}
        ax.text(0, y, text, ha="center", va="center", bbox=box, zorder=2)

    y = 0.0
    for part in column:
        names = [part] if isinstance(part, str) else [*part, "+"]
        if not isinstance(part, str):
            around, end = y - 0.55, y + len(part)
            ax.plot([0, 1.6, 1.6], [around, around, end], **line)
            arrow((1.6, end), (0.16, end))
        for name in names:
            draw(name, y)
            y += 1
    arrow((0, -0.9), (0, y - 0.1))


# ---- matrices -----------------------------------------------------------------------------------------------------


class _Matrices:
    """Checked matrices of one shape, with what they share: labels, colours, scale and size of cells."""

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray],
        row_labels: Sequence[str] | None,
        column_labels: Sequence[str] | None,
        kind: str,
        row_role: str | None,
        column_role: str | None,
        decimals: int,
    ) -> None:
        self.decimals = decimals
        self.arrays = {title: _checked(array, kind) for title, array in arrays.items()}
        shapes = {array.shape for array in self.arrays.values()}
        if len(shapes) != 1:
            raise ValueError(f"matrices: all must have one shape; these have {sorted(shapes)}.")
        ((self.n_rows, self.n_columns),) = shapes
        self.kind = "mask" if all(array.dtype == bool for array in self.arrays.values()) else kind
        largest = max(np.abs(array[np.isfinite(array)]).max(initial=0) for array in self.arrays.values())
        self.reach = float(largest) or 1.0 if self.kind == "diverging" else 1.0
        self.rows = _checked_labels("row_labels", row_labels, self.n_rows), _role_colour(row_role, QUIET)
        self.columns = _checked_labels("column_labels", column_labels, self.n_columns), _role_colour(column_role, QUIET)
        self.cell_width = min(CELL_WIDTH, (WIDTH / len(arrays) - 1.0) / self.n_columns)
        self.cell_height = min(CELL_HEIGHT, self.cell_width)
        room = self.cell_width * _every(self.n_columns)
        self.slanted = max(map(_text_width, self.columns[0])) > room

    @property
    def height(self) -> float:
        """Inches that a figure needs: cells, title, labels and scale."""
        labels = 0.2 + 0.6 * max(map(_text_width, self.columns[0])) if self.slanted else 0.25
        return self.n_rows * self.cell_height + 0.45 + labels + (0.0 if self.kind == "mask" else 0.4)

    def draw(self, axes: "Sequence[Axes]") -> "Figure":
        for ax, (title, array) in zip(axes, self.arrays.items(), strict=True):
            image = self._draw_cells(ax, array)
            ax.set_box_aspect(self.n_rows * self.cell_height / (self.n_columns * self.cell_width))
            ax.set_title(title, pad=7)
            if ax is axes[0]:
                _label_axis(ax.yaxis, *self.rows)
            else:
                ax.set_yticks([])
            ax.xaxis.tick_top()
            _label_axis(ax.xaxis, *self.columns)
            for text in ax.get_xticklabels() if self.slanted else []:
                text.set(rotation=40, ha="left", rotation_mode="anchor")
        if self.kind != "mask":
            self._draw_scale(image, axes)
        return axes[0].figure

    def _draw_cells(self, ax: "Axes", array: np.ndarray) -> Any:
        from matplotlib.patches import Rectangle

        numbers = np.where(np.isfinite(array), array, np.nan).astype(float)
        low = -self.reach if self.kind == "diverging" else 0.0
        image = ax.imshow(numbers, cmap=_colour_map(self.kind), vmin=low, vmax=self.reach, aspect="auto")
        written = self.cell_width >= SMALLEST_WRITTEN_CELL
        ax.set_axisbelow(False)  # the lines between the cells lie on them
        ax.set_xticks(np.arange(-0.5, self.n_columns), minor=True)
        ax.set_yticks(np.arange(-0.5, self.n_rows), minor=True)
        ax.grid(False)
        ax.grid(which="minor", color=PAPER, linewidth=1 if written else 0.3)
        ax.tick_params(which="minor", length=0)
        ax.spines[:].set_visible(False)
        dtype = {"b": "bool", "f": "float"}.get(array.dtype.kind, "int")
        for (i, j), number in np.ndenumerate(array):
            masked = number == -np.inf or (dtype == "bool" and not number)
            if masked:
                corner = (j - 0.5, i - 0.5)
                ax.add_patch(Rectangle(corner, 1, 1, facecolor=WASH, edgecolor=RULE, hatch="////", linewidth=0))
            if written:
                colour = QUIET if masked else INK
                ax.text(j, i, format_cell(number, dtype, self.decimals), ha="center", va="center", color=colour, size=9)
        return image

    def _draw_scale(self, image: Any, axes: "Sequence[Axes]") -> None:
        ends = [-self.reach, 0, self.reach] if self.kind == "diverging" else [0, 1]
        bar = axes[0].figure.colorbar(image, ax=list(axes), location="bottom", shrink=0.22, aspect=26, pad=0.04)
        bar.outline.set_visible(False)
        bar.set_ticks(ends, labels=[format_number(end, 2).removesuffix(".00") for end in ends])
        bar.ax.tick_params(length=0, labelsize=8, pad=2)


def _checked(array: np.ndarray, kind: str) -> np.ndarray:
    array = np.asarray(array)
    if kind not in ("diverging", "probability"):
        raise ValueError(f"matrix: kind is {kind!r}; it is 'diverging' or 'probability'.")
    if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "fiub":
        raise ValueError(f"matrix: a matrix of numbers (n, m) is drawn; this is {array.dtype} of shape {array.shape}.")
    if np.isnan(array).any() or np.isposinf(array).any():
        raise ValueError("matrix: it holds NaN or infinity; only −∞, a masked cell, can be drawn.")
    if kind == "probability" and (array.min() < 0 or array.max() > 1 + 1e-9):
        raise ValueError(f"matrix: a probability lies between 0 and 1; these reach {array.min()} and {array.max()}.")
    return array


def _checked_labels(name: str, labels: Sequence[str] | None, n: int) -> list[str]:
    labels = [str(i) for i in range(n)] if labels is None else [str(label) for label in labels]
    if len(labels) != n:
        raise ValueError(f"matrix: {name} has {len(labels)} texts for {n} positions.")
    return labels


def _label_axis(axis: Any, labels: list[str], colour: str) -> None:
    places = range(0, len(labels), _every(len(labels)))
    axis.set_ticks(list(places), [labels[place] for place in places])
    axis.set_tick_params(length=0, labelcolor=colour, labelsize=9)
    for text in axis.get_ticklabels():
        text.set_va("center" if axis.axis_name == "y" else "baseline")


def _every(n: int) -> int:
    """Every how many of n positions one is named."""
    return next(step for step in (1, 2, 4, 8, 10, 20, 50, 100, n) if n <= MOST_LABELS * step)


def _text_width(text: str) -> float:
    """Roughly, in inches at the size of labels; a Chinese character is two letters wide."""
    return 0.075 * sum(2 if character > "\u2e7f" else 1 for character in text)


@functools.cache
def _colour_map(kind: str) -> Any:
    from matplotlib.colors import LinearSegmentedColormap, to_rgb

    def tint(colour: str, part: float = STRONGEST) -> list[float]:
        return [part * c + (1 - part) * p for c, p in zip(to_rgb(colour), to_rgb(PAPER), strict=True)]

    stops = {
        "diverging": [tint(NEGATIVE), PAPER, tint(POSITIVE)],
        "probability": [PAPER, tint(SHARE)],
        "mask": [PAPER, tint(INK, 0.16)],
    }
    return LinearSegmentedColormap.from_list(f"stepformer-{kind}", stops[kind])


# ---- style --------------------------------------------------------------------------------------------------------


def _series(n: int) -> list[tuple]:
    """A shade, a dash pattern and a marker for each of n series."""
    return [SERIES[i % len(SERIES)] for i in range(n)]


def _role_colour(role: str | None, otherwise: str) -> str:
    if role is None:
        return otherwise
    if role not in ROLES:
        raise ValueError(f"There is no role {role!r}; the roles are {', '.join(ROLES)}.")
    return ROLES[role]


@functools.cache
def _font_families() -> tuple[str, ...]:
    """The book's fonts, then what the computer has for characters that the book does not use."""
    from matplotlib import font_manager

    for font in FONTS:
        font_manager.fontManager.addfont(font)
    installed = set(font_manager.get_font_names())
    others = ("Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", "DejaVu Sans")
    return ("Stepformer Plots", "Stepformer Plots Chinese", *(family for family in others if family in installed))


@functools.cache
def _drawable() -> frozenset[int]:
    """The code points that one of the families has a glyph for."""
    from matplotlib import font_manager

    paths = [font_manager.findfont(family, fallback_to_default=False) for family in _font_families()]
    return frozenset().union(*(font_manager.get_font(path).get_charmap() for path in paths))


@contextmanager
def _style() -> Iterator[None]:
    """Hold matplotlib's defaults and the book's style on top, for as long as the block lasts."""
    import matplotlib as mpl

    style = {
        "figure.facecolor": PAPER,
        "axes.facecolor": PAPER,
        "savefig.facecolor": PAPER,
        "font.family": list(_font_families()),
        "font.size": 10,
        "mathtext.fontset": "cm",
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": QUIET,
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 10.5,
        "axes.titlelocation": "left",
        "axes.grid": True,
        "axes.grid.axis": "y",
        "axes.axisbelow": True,
        "grid.color": RULE,
        "grid.linewidth": 0.6,
        "xtick.color": QUIET,
        "ytick.color": QUIET,
        "xtick.labelsize": 9,
        "ytick.labelsize": 9,
        "lines.linewidth": 1.7,
        "lines.markersize": 5.5,
        "legend.frameon": False,
        "legend.fontsize": 9,
        "legend.handlelength": 2.6,
        "hatch.linewidth": 0.5,
    }
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(style)
        yield


@functools.cache
def _figure_class() -> type:
    from matplotlib.figure import Figure

    class BookFigure(Figure):
        """A figure that notebooks show by itself and that describes itself in words."""

        def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
            picture = io.BytesIO()
            with _style():
                self.savefig(picture, format="png", dpi=DPI)
            width, height = 100 * self.get_size_inches()
            return picture.getvalue(), {"width": round(width), "height": round(height)}

        def __repr__(self) -> str:
            return "Figure: " + "; ".join(filter(None, map(_description, self.axes)))

    return BookFigure


def _description(ax: "Axes") -> str:
    axes = f"{ax.get_ylabel()} against {ax.get_xlabel()}" if ax.get_xlabel() and ax.get_ylabel() else ""
    return ": ".join(filter(None, [ax.get_title(loc="left"), axes]))


def _new_figure(n_panels: int, height: float) -> "tuple[Figure, list[Axes]]":
    figure = _figure_class()(figsize=(WIDTH, height), dpi=DPI, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1, wspace=0.04)
    return figure, list(figure.subplots(1, n_panels, squeeze=False)[0])
