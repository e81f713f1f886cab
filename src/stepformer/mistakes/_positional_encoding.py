"""Known mistakes with positions: in the formula, in what is counted, and in what is turned."""

from stepformer.trace import Break, Edit

FORGET_THE_POSITIONS = Break(
    "Forget the positions",
    Edit("with_positions", op="copy"),
    "Every word weighs all words nearly alike, wherever they stand. “Tom chase Jerry” and “Jerry chase Tom” give the "
    "same three rows in another order.",
    "word_order_changes_the_outputs",
)

SAME_WEIGHTS_OTHER_LAYOUT = Break(
    "Sines first, then cosines, with the old weights",
    Edit("positions", op="sinusoids_in_blocks"),
    "The projections read sine and cosine of the fastest pair in columns 0 and 1. Now two sines stand there, and no "
    "word finds the one before it.",
    "each_word_attends_to_the_word_before_it",
)

EXPONENT_SLIP = Break(
    "Double the number of the column, not of the pair",
    Edit("positions", op="sinusoids_exponent_slip"),
    "Sine and cosine of a pair no longer share a wavelength, and the columns from the middle on hardly move at all.",
    "each_pair_shares_a_wavelength",
)

SINES_THEN_COSINES = Break(
    "Sines first, then cosines",
    Edit("positions", op="sinusoids_in_blocks"),
    "The same numbers stand in other columns. A model that is trained and used like this loses nothing, but weights "
    "from the other layout do not fit.",
    "sine_and_cosine_alternate",
)

COUNT_THE_SENTENCES = Break(
    "Count sentences instead of tokens",
    Edit("with_positions", op="add_batch_positions", inputs=("scaled_embedding",)),
    "All tokens of the first sentence get the row of position 0, all of the second that of position 1: order is lost "
    "again, and what a sentence becomes depends on its neighbours in the batch.",
    "every_token_gets_the_row_of_its_position",
)

DIVIDE_BY_ROOT_D_MODEL = Break(
    "Divide the embedding by √d_model",
    Edit("scaled_embedding", op="scale", inputs=("embedding", "embedding")),
    "The words become d_model times smaller than they should be beside their positions, and nearly drown in them.",
    "embeddings_are_multiplied_by_root_d_model",
)

TURN_QUERIES_ONLY = Break(
    "Turn the queries only",
    Edit("rotated_key", op="copy"),
    "The scores depend on where the query stands and not on where the key stands, so not on their distance.",
    "scores_depend_on_distance_only",
)

WORD_ORDER = (FORGET_THE_POSITIONS, SAME_WEIGHTS_OTHER_LAYOUT)
"""Mistakes that show in what attention finds."""

POSITIONS = (EXPONENT_SLIP, SINES_THEN_COSINES, COUNT_THE_SENTENCES, DIVIDE_BY_ROOT_D_MODEL)
"""Mistakes between the word vectors and the first layer."""

ROTARY = (TURN_QUERIES_ONLY,)
"""Mistakes with rotary positions."""
