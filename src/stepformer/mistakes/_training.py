"""Known mistakes in training: the data, the loss, Adam and its learning rate. None of them crashes."""

from stepformer.trace import Break, Edit

FORGET_TO_SHIFT = Break(
    "Forget to shift the target",
    Edit("tgt_in", value="汤姆 追逐 杰瑞 <eos> <pad>"),
    "Each row is to answer with the very word that it has read. The loss falls as usual, and the table learns that "
    "汤姆 comes after 汤姆.",
    "each_answer_is_read_one_step_later",
)

FORGET_IGNORE_INDEX = Break(
    "Do not tell the loss which id is padding",
    tuple(
        Edit(name, attributes={"pad_id": -100})
        for name in (
            *("loss.target_rows", "loss.count", "gradient.error", "gradient.count"),
            *("after.loss.target_rows", "after.loss.count"),
        )
    ),
    "The count is 5 instead of 4, and the row <pad> of the table learns: after <pad> comes <pad>. −100 is what "
    "torch's cross-entropy leaves out if nobody says otherwise, and no word has that id.",
    "every_word_counts_once_and_padding_not",
)

FORGET_THE_CORRECTION = Break(
    "Forget the bias correction",
    tuple(Edit(f"step_{k}.adam.corrected_{name}", op="copy") for k in (1, 2) for name in ("mean", "square")),
    "The first step is 0.07 instead of 0.1. With Adam's own usual β₂ = 0.999 instead of the paper's 0.98 it would be "
    "0.32, three times too long, just when the weights are least settled.",
    "a_steady_gradient_moves_by_the_rate",
)

FORGET_THE_ROOT = Break(
    "Divide by the mean square instead of its root",
    tuple(Edit(f"step_{k}.adam.root", op="copy") for k in (1, 2)),
    "The small gradient takes steps of 0.2 and the large one of 0.002: the steps are turned upside down, and they "
    "change with the units of the loss.",
    "a_steady_gradient_moves_by_the_rate",
)

RESUME_WITHOUT_THE_COUNT = Break(
    "Resume after the first step, and count from 1 again",
    (
        Edit("step_2.adam.mean_power", inputs=("mean_power", "beta1")),
        Edit("step_2.adam.square_power", inputs=("square_power", "beta2")),
    ),
    "The second step is 0.14 instead of 0.1, although both running means were restored: they are taken for those of a "
    "first step, and corrected too much.",
    "a_steady_gradient_moves_by_the_rate",
)

NO_WARM_UP = Break(
    "Leave out the warm-up",
    Edit("smaller", op="copy"),
    "The rate is highest at step 1, 0.25, twice the highest of the schedule, while Adam has seen one gradient.",
    "the_rate_is_highest_at_the_end_of_warm_up",
)

TWO_RATES = Break(
    "Multiply the schedule by a learning rate of your own",
    Edit("base_rate", value=0.1),
    "The curve has the right form and is ten times too low. The formula is the rate itself, not a factor.",
    "the_rate_is_highest_at_the_end_of_warm_up",
)

TRAINING_STEP = (FORGET_TO_SHIFT, FORGET_IGNORE_INDEX)
"""Mistakes in what is read, what is answered and what is counted."""

ADAM = (FORGET_THE_CORRECTION, FORGET_THE_ROOT, RESUME_WITHOUT_THE_COUNT)
"""Mistakes in the steps of Adam."""

SCHEDULE = (NO_WARM_UP, TWO_RATES)
"""Mistakes in the learning rate."""
