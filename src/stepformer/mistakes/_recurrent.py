"""Known mistakes with recurrent networks."""

from stepformer.trace import Break, Edit


def _before(t: int, kind: str = "hidden") -> str:
    """The name of the state that step t receives."""
    return f"step_{t - 1}.{kind}" if t > 1 else f"{kind}_0"


FORGET_THE_STATE = Break(
    "Start every step from zeros",
    (
        Edit("step_2.joined", inputs=("step_2.x", "hidden_0")),
        Edit("step_3.joined", inputs=("step_3.x", "hidden_0")),
    ),
    "Each state knows its own word only: after chase nothing is left of Tom. The network still runs, and still learns "
    "something, so the mistake is easy to miss.",
    "each_step_receives_the_state_before_it",
)

STATE_AFTER_PADDING = Break(
    "Take the state after the padding",
    tuple(Edit(f"step_{t}.held_hidden", op="copy") for t in (4, 5)),
    "The network goes on over the padding, and the last state fades: the same sentence gives another result in a batch "
    "with a longer one.",
    "last_state_is_that_of_the_last_word",
)

NO_FORGET_GATE = Break(
    "Leave the forget gate out",
    tuple(Edit(f"step_{t}.kept", op="copy", inputs=(f"step_{t - 1}.cell",)) for t in range(2, 5)),
    "Mary is written beside John instead of in his place: male and female are both near 1, and the pronouns share the "
    "probability. The first LSTM, of 1997, had no forget gate.",
    "cell_is_what_the_gates_keep_and_write",
)

GATES_IN_ANOTHER_ORDER = Break(
    "Swap the forget gate and the input gate",
    tuple(
        edit
        for t in range(1, 5)
        for edit in (
            Edit(f"step_{t}.kept", inputs=(f"step_{t}.input_gate", _before(t, "cell"))),
            Edit(f"step_{t}.written", inputs=(f"step_{t}.forget_gate", f"step_{t}.candidate")),
        )
    ),
    "Names are not written, and verbs overwrite the memory. This happens when weights are copied between libraries "
    "that stack the gates in different orders; torch has input, forget, candidate, output.",
    "cell_is_what_the_gates_keep_and_write",
)

NO_SIGMOID = Break(
    "Leave the sigmoid out of the forget gate",
    tuple(Edit(f"step_{t}.forget_gate", op="copy") for t in range(1, 5)),
    "The gate is no longer between 0 and 1. It multiplies the memory by 4 at a verb and turns its sign at a name, so "
    "the cell state grows without bound.",
    "gates_lie_between_0_and_1",
)

GATES_DO_NOT_SEE_THE_STATE = Break(
    "The gates see the word, not the state",
    tuple(Edit(f"step_{t}.joined", inputs=(f"step_{t}.x", "hidden_0")) for t in (2, 3)),
    "The input gate no longer knows that there is a subject. The dogs are written beside the cat, and the network can "
    "not decide between chases and chase.",
    "each_step_receives_the_state_before_it",
)

UPDATE_THE_OTHER_WAY = Break(
    "Read the update gate the other way round",
    tuple(
        edit
        for t in range(1, 4)
        for edit in (
            Edit(f"step_{t}.difference", inputs=(f"step_{t}.candidate", _before(t))),
            Edit(f"step_{t}.hidden", inputs=(_before(t), f"step_{t}.kept")),
        )
    ),
    "A gate of 1 now takes the candidate instead of keeping the state. Both conventions are published; weights trained "
    "with one are useless under the other.",
    "update_gate_of_1_keeps_the_state",
)

RESET_BEFORE = Break(
    "Reset before the matrix product",
    tuple(
        edit
        for t in range(1, 4)
        for edit in (
            Edit(f"step_{t}.state_product", op="multiply", inputs=(f"step_{t}.reset_gate", _before(t))),
            Edit(
                f"step_{t}.from_state",
                op="linear",
                inputs=(f"step_{t}.state_product", "candidate.w_h.weight", "candidate.w_h.bias"),
            ),
        )
    ),
    "This is the other published GRU, and no mistake by itself. The numbers differ by a few hundredths, enough to "
    "spoil weights that were trained with torch.",
    "reset_gate_acts_after_the_product",
)

RECURRENT = (FORGET_THE_STATE,)
"""A mistake with any recurrent network."""

PADDED_RECURRENT = (STATE_AFTER_PADDING,)
"""A mistake with padded sentences."""

LSTM_GATES = (NO_FORGET_GATE, GATES_IN_ANOTHER_ORDER, NO_SIGMOID)
"""Mistakes with the gates of an LSTM."""

AGREEMENT = (GATES_DO_NOT_SEE_THE_STATE,)
"""A mistake that only a gate which looks at the state can show."""

GRU_GATES = (UPDATE_THE_OTHER_WAY, RESET_BEFORE)
"""Two pairs of conventions that are often confused."""
