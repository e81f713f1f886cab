"""The parameter column of table 3 of "Attention Is All You Need": what it prints, and of which vocabulary it speaks.

The paper prints millions, rounded, and does not say how it counts. So a row fits a range of vocabularies.
"""

from collections.abc import Sequence
from typing import NamedTuple

from stepformer.model_ledger import PAPER, ledger


class Row(NamedTuple):
    """One row: its name, what differs from base, and the millions of parameters that are printed."""

    name: str
    differs: dict[str, int]
    millions: int

    @property
    def settings(self) -> dict[str, int]:
        """All settings of the row, with one vocabulary for all of them."""
        return PAPER | self.differs


ROWS = (
    Row("base", {}, 65),
    Row("(B) d_k = 16", {"d_k": 16}, 58),
    Row("(B) d_k = 32", {"d_k": 32}, 60),
    Row("(C) N = 2", {"n_layers": 2}, 36),
    Row("(C) N = 4", {"n_layers": 4}, 50),
    Row("(C) N = 8", {"n_layers": 8}, 80),
    Row("(C) d_model = 256", {"d_model": 256, "d_k": 32, "d_v": 32}, 28),
    Row("(C) d_model = 1024", {"d_model": 1024, "d_k": 128, "d_v": 128}, 168),
    Row("(C) d_ff = 1024", {"d_ff": 1024}, 53),
    Row("(C) d_ff = 4096", {"d_ff": 4096}, 90),
    Row("big", {"d_model": 1024, "d_ff": 4096, "n_heads": 16}, 213),
)
"""The rows that print a number of parameters; the others have as many as base."""


def vocabularies(row: Row, attention_bias: int = 0, output_bias: int = 0) -> tuple[int, int]:
    """The smallest and the largest vocabulary with which the count rounds to what the row prints.

    Formula: the count is `c + V·w`, with the width w of a row of the table (one more with a bias of the output).

    Args:
        row: one of `ROWS`.
        attention_bias: 1 if the projections of an attention have biases.
        output_bias: 1 if the output layer has one.

    Returns:
        Two numbers of words.
    """
    switches = {"attention_bias": attention_bias, "output_bias": output_bias}
    one, two = (ledger(row.settings | switches | {"src_vocab_size": size}).parameters for size in (1, 2))
    width = two - one
    others, half = one - width, 500_000
    first = -(-(row.millions * 1_000_000 - half - others) // width)
    last = (row.millions * 1_000_000 + half - others - 1) // width
    return first, last


def common_vocabularies(
    attention_bias: int = 0, output_bias: int = 0, rows: Sequence[Row] = ROWS[:-1]
) -> tuple[int, int] | None:
    """The vocabularies with which all of these rows come out as printed.

    Args:
        attention_bias: as for `vocabularies`.
        output_bias: as for `vocabularies`.
        rows: some of `ROWS`; all but big, if not given.

    Returns:
        The smallest and the largest, or None if no vocabulary serves all.
    """
    ranges = [vocabularies(row, attention_bias, output_bias) for row in rows]
    first, last = max(low for low, _ in ranges), min(high for _, high in ranges)
    return (first, last) if first <= last else None
