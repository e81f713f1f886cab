"""Tables of words in a terminal, where a Chinese character is as wide as two letters."""

import unicodedata
from collections.abc import Sequence

from stepformer.cli._common import visible

SHADES = " ░▒▓█"
"""From no weight to all of it; each stands for a fifth."""
NUMBER_WIDTH = 4


def width(text: str) -> int:
    """How many columns of a terminal a text takes.

    Args:
        text: without control characters.

    Returns:
        The number of columns: wide characters take two, accents that stand on others none.
    """
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def alignment(rows: Sequence[str], columns: Sequence[str], weights: Sequence[Sequence[float]]) -> str:
    """Draw where each written word looked: a shade and two digits for each word that was read.

    Args:
        rows: the words that were written.
        columns: the words that were read.
        weights: for each row a number from 0 to 1 for each column.

    Returns:
        Lines without a final line break; nothing for no words.
    """
    if not rows or not columns:
        return ""
    rows, columns = [visible(word) for word in rows], [visible(word) for word in columns]
    margin = max(map(width, rows))
    widths = [max(width(word), NUMBER_WIDTH) for word in columns]
    head = "  ".join(_filled(word, size) for word, size in zip(columns, widths, strict=True))
    lines = [f"{' ' * margin} │ {head}", f"{'─' * (margin + 1)}┼{'─' * (sum(widths) + 2 * len(widths))}"]
    for word, line in zip(rows, weights, strict=True):
        cells = "  ".join(_filled(_cell(weight), size) for weight, size in zip(line, widths, strict=True))
        lines.append(f"{_filled(word, margin)} │ {cells}")
    return "\n".join(line.rstrip() for line in lines)


def _cell(weight: float) -> str:
    if weight < 0.005:
        return "·"
    shade = SHADES[min(int(weight * len(SHADES)), len(SHADES) - 1)]
    number = f"{weight:.2f}"
    return f"{shade}{number[1:] if number[0] == '0' else number[:3]}"


def _filled(text: str, size: int) -> str:
    return text + " " * (size - width(text))
