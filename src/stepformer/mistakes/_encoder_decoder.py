"""Known mistakes with two recurrent networks: what passes between them, and which word the decoder reads."""

from stepformer.trace import Break, Edit

START_FROM_ZEROS = Break(
    "Start the decoder from zeros",
    Edit("decoder.rnn.step_1.joined", inputs=("decoder.rnn.step_1.x", "start")),
    "Choose other English words: the context changes, and no number of the decoder does. It never hears the source, "
    "and "
    "can only learn what people usually say.",
    "decoder_starts_from_the_context",
)

FIRST_STATE = Break(
    "Hand over the first state instead of the last",
    Edit("context", inputs=("encoder.rnn.step_1.hidden",)),
    "The decoder has heard Tom and nothing else. No shape gives it away: all states are equally wide.",
    "context_is_the_state_after_the_last_word",
)

NOT_SHIFTED = Break(
    "Let the decoder read the word it is to write",
    Edit("tgt", value="汤姆 追逐 杰瑞 <eos>"),
    "The target is not shifted. This decoder strikes out what it reads, so it leaves out the first word. One that is "
    "trained like this learns to copy: its loss falls to almost nothing, and on its own it can not translate.",
    "decoder_reads_the_word_before",
)

START_MARK_FOR_EVER = Break(
    "Read the start mark at every step",
    tuple(Edit(f"decoder.step_{t}.x", op="copy", inputs=("decoder.step_1.x",)) for t in (2, 3, 4)),
    "Nothing that was said is fed back, so the decoder does not know that it has spoken: 汤姆 汤姆 汤姆 汤姆.",
    "each_step_reads_the_word_it_wrote",
)

SLIP = Break(
    "Let the first word slip",
    Edit("decoder.step_1.word", value=[0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]),
    "The first word comes out as 杰瑞, once. The decoder believes what it reads: it strikes 杰瑞 out, says 汤姆 now "
    "and 追逐 after it. One slip, and three words out of four are wrong.",
    "each_word_written_is_the_most_probable",
)

RUN_ON = Break(
    "Read on through the padding",
    (
        Edit("encoder.rnn.visible_x", op="copy"),
        *(Edit(f"encoder.rnn.step_{t}.held_hidden", op="copy") for t in (4, 5)),
    ),
    "The last state is taken at the end of the row of tokens, not at the end of the sentence. Two steps of <pad> "
    "have been "
    "added to it, and the decoder says words that nobody has heard.",
    "context_is_the_state_after_the_last_word",
)

TEACHER_FORCING = (START_FROM_ZEROS, FIRST_STATE, NOT_SHIFTED)
"""Mistakes in the model and in the training data."""

FEEDING_BACK = (START_MARK_FOR_EVER, SLIP)
"""A mistake in the loop that writes, and what one wrong word does to the next."""

READ_PADDING = (RUN_ON,)
"""The mistake that only sentences of different lengths bring out."""
