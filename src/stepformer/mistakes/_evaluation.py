"""Known mistakes in comparing attention with an alignment."""

from stepformer.trace import Break, Edit

# The rows of the words 汤姆, 在, 追逐, 猫 and 。 as they are *read*, each one step after it was written.
_READ_LATE = [
    [0.06, 0.55, 0.30, 0.02, 0.03, 0.02],
    [0.03, 0.28, 0.60, 0.03, 0.04, 0.01],
    [0.04, 0.02, 0.05, 0.46, 0.38, 0.03],
    [0.02, 0.03, 0.02, 0.03, 0.04, 0.80],
    [0.01, 0.02, 0.02, 0.03, 0.05, 0.37],
]

READ_ONE_ROW_LATE = Break(
    "Read the row of the word instead of the row that wrote it",
    Edit("weights", value=_READ_LATE),
    "Nearly every link goes to the word after the right one, and the error rises from 0.11 to 0.67. The model is the "
    "same.",
    "links_are_read_where_the_word_is_written",
)

TAKE_POSSIBLE_FOR_SURE = Break(
    "Take every possible link for a sure one",
    (
        Edit("sure_links", inputs=("links", "possible")),
        Edit("number_of_sure_in_each_row", inputs=("possible",)),
    ),
    "The error rises to 0.17, because links are missed that nobody has to draw.",
    "possible_links_may_be_left_out",
)

ALIGNMENT = (READ_ONE_ROW_LATE, TAKE_POSSIBLE_FOR_SURE)
"""Mistakes with the alignment error rate."""
