"""Known mistakes between the words and the first layer."""

from stepformer.trace import Break, Edit

_SIDES = ("src", "tgt")

DIVIDE_BY_ROOT_D_MODEL = Break(
    "Divide by √d_model on both sides",
    tuple(
        Edit(f"{side}_input.scaled", op="scale", inputs=(f"{side}_input.embedded", f"{side}_input.embedded"))
        for side in _SIDES
    ),
    "In with_positions the columns from being on look alike in all rows: the positions are there, and the words have "
    "nearly gone. They are ten times smaller than they should be.",
    "words_are_multiplied_by_root_d_model",
)

FORGET_THE_POSITIONS = Break(
    "Forget the positions on both sides",
    tuple(Edit(f"{side}_input.with_positions", op="copy") for side in _SIDES),
    "The first two columns, sine and cosine, are 0 in every row. Put Tom at two places: the two rows are equal.",
    "every_row_knows_its_place",
)

ONE_TABLE_FOR_TWO_LANGUAGES = Break(
    "Look the target up in the table of the source",
    Edit("tgt_input.embedded", inputs=("tgt", "src_embedding.weight")),
    "Nothing complains, for every id is a row of the other table too. 汤姆 has the id 3 and gets the row of chase: an "
    "action that is no being.",
    "each_side_looks_up_in_its_own_table",
)

ANOTHER_ID_FOR_PADDING = Break(
    "Take another id for padding",
    Edit("src_mask", attributes={"pad_id": 1}),
    "The mask hides Tom, who has the id 1, and shows the padding. Whoever made the ids counted from 0, and whoever "
    "made the mask from 1.",
    "the_mask_shows_all_words_and_no_padding",
)

INPUT_BLOCK = (DIVIDE_BY_ROOT_D_MODEL, FORGET_THE_POSITIONS, ONE_TABLE_FOR_TWO_LANGUAGES)
"""Mistakes in what the first layers get."""

PADDED_INPUT = (ANOTHER_ID_FOR_PADDING,)
"""Mistakes with sentences that are filled up."""
