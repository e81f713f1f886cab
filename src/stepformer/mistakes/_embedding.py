"""Known mistakes with ids, with cosine similarity and with sums of word vectors."""

from stepformer.trace import Break, Edit

IDS_OF_ANOTHER_VOCABULARY = Break(
    "Ids of another vocabulary",
    Edit("tokens", value=[3, 4, 5]),
    "No shape is wrong and no error comes: every word just gets the row of the word after it. It happens when the text "
    "was turned into ids with one list of words and the table was trained with another.",
    "each_word_gets_its_own_row",
)

DOT_FOR_COSINE = Break(
    "The dot product in the place of the cosine",
    Edit("units", op="copy", inputs=("vectors",)),
    "The long vector of animal wins everywhere: cat and kitten both seem to be more like animal than like each other, "
    "and a word is no longer as like itself as can be.",
    "a_word_is_as_like_itself_as_can_be",
)

SUM_FOR_LENGTH = Break(
    "Divide by the sum of the row instead of its length",
    Edit("lengths", op="row_total", inputs=("vectors",)),
    "Positive and negative numbers cancel in the sum, so the rows do not become equally long. Cosines above 1 give "
    "it away.",
    "a_word_is_as_like_itself_as_can_be",
)

ALLOW_THE_QUESTION = Break(
    "Let the words of the question be answers",
    Edit("candidates", op="copy", inputs=("cosine",)),
    "The answer is king. The sum has moved only a little away from where it started.",
    "the_answer_is_not_in_the_question",
)

WRONG_WORD_TAKEN_AWAY = Break(
    "Take away the wrong word",
    Edit("signs", value=[[-1.0, 1.0, 1.0]]),
    "man − king + woman: the answer is what is left over, and its cosine is about 0.",
    "the_second_word_is_taken_away",
)

LOOK_UP = (IDS_OF_ANOTHER_VOCABULARY,)
"""A mistake between text and table."""

COSINE = (DOT_FOR_COSINE, SUM_FOR_LENGTH)
"""Mistakes in comparing vectors."""

ANALOGY = (ALLOW_THE_QUESTION, WRONG_WORD_TAKEN_AWAY)
"""Mistakes in calculating with words."""
