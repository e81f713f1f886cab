"""Exercises of the chapter on recurrent networks. Every accepted number is computed."""

import numpy as np

from stepformer.exercises.exercise import Choice, Code, Number, Wrong
from stepformer.reference.recurrent import rnn

_UNIT = {"weight": np.ones((2, 1)), "bias": np.zeros(1)}
_STATES = rnn(np.array([[1.0], [2.0]]), np.zeros(1), _UNIT).states[:, 0]

STATE = Number(
    id="recurrent.state",
    question="A recurrent network has one input and one unit, both weights are 1, the bias and the first state are 0. "
    "It reads 1, then 2. What is its state after the 2? Give four decimals.",
    answer=_STATES[1],
    wrong=[
        Wrong(
            np.tanh(2.0), "That is tanh(2): the step has forgotten the state after the 1, which is tanh(1) = 0.7616."
        ),
        Wrong(np.tanh(3.0), "That is tanh(1 + 2). The state after the 1 is tanh(1), not 1 itself."),
        Wrong(2 + np.tanh(1.0), "That is the sum. The state is its tanh."),
        Wrong(_STATES[0], "That is the state after the 1. Take one more step."),
    ],
    right="Yes: tanh(2 + tanh(1)). Inside the second tanh stands the whole first step.",
    tolerance=0.0002,
    hint="First state: tanh(1 · 1 + 1 · 0). Second state: tanh(1 · 2 + 1 · first state).",
)

_FORGET, _CELL, _INPUT, _CANDIDATE = 0.5, 2.0, 0.25, -1.0

CELL = Number(
    id="recurrent.cell",
    question="One number of the cell state of an LSTM is 2. The forget gate is 0.5, the input gate 0.25, the candidate "
    "−1. What is the new cell state?",
    answer=_FORGET * _CELL + _INPUT * _CANDIDATE,
    wrong=[
        Wrong(
            _INPUT * _CELL + _FORGET * _CANDIDATE, "You swapped the gates. The forget gate multiplies the old memory."
        ),
        Wrong(_CELL + _INPUT * _CANDIDATE, "The forget gate is missing: of the old 2 only the half is kept."),
        Wrong(_FORGET * _CELL - _INPUT * _CANDIDATE, "The candidate is negative, so writing it lowers the memory."),
        Wrong(_FORGET * _CELL, "That is what is kept. Add what is written, input gate times candidate."),
    ],
    right="Yes: 0.5 · 2 − 0.25 · 1. Half of the old is kept, a quarter of the new is written.",
    tolerance=0.001,
    hint="Keep: forget gate times old cell state. Write: input gate times candidate. Add the two.",
)

UPDATE = Choice(
    id="recurrent.update",
    level="recall",
    question="In the GRU of this book and of torch, the update gate of one column is 1 at every word. What happens to "
    "that number of the state?",
    choices=[
        "It never changes.",
        "At every word it is replaced by the candidate.",
        "It becomes 0.",
        "It becomes the mean of the old number and the candidate.",
    ],
    answer=0,
    wrong=[
        Wrong(
            1,
            "That is the other published convention, in which z stands before the candidate. Here h' = (1 − z)n + zh.",
        ),
        Wrong(2, "In an LSTM, a forget gate of 0 with nothing written does that. In a GRU the two shares sum to 1."),
        Wrong(3, "That would be a gate of 1/2."),
    ],
    right="Yes. (1 − 1) · n + 1 · h is h. Such a number is remembered for as long as its gate stays at 1.",
    hint="Put z = 1 into h' = (1 − z) · n + z · h.",
)

_WEIGHT, _STEPS = 0.9, 50

GRADIENT = Number(
    id="recurrent.gradient",
    level="think",
    question="A linear network has one unit, h' = 0.9 · h + x. By how much does its state after step 51 change if the "
    "state after step 1 is raised by 1? Give four decimals.",
    answer=_WEIGHT**_STEPS,
    wrong=[
        Wrong(_WEIGHT * _STEPS, "The factor of each step multiplies; it is not added up."),
        Wrong(_WEIGHT ** (_STEPS + 1), "From step 1 to step 51 there are 50 steps, not 51."),
        Wrong(_WEIGHT, "That is one step. There are 50 in a row."),
        Wrong(1.0, "Each of the 50 steps multiplies what is left of it by 0.9."),
    ],
    right="Yes: 0.9 to the power of 50 is about half a per cent. Even a weight near 1 forgets in some tens of steps.",
    tolerance=0.0002,
    hint="One step multiplies the change by 0.9. How many steps lie between the two states?",
)

PARALLEL = Choice(
    id="recurrent.parallel",
    level="recall",
    question="Which part of a recurrent layer can be computed for all words at the same time?",
    choices=[
        "The products of the inputs with their weights.",
        "The products of the states with their weights.",
        "The tanh or the gates.",
        "Nothing at all.",
    ],
    answer=0,
    wrong=[
        Wrong(1, "The state of step t is known only after step t − 1, so these products have to wait for one another."),
        Wrong(2, "They need the sum of both products, and the one with the state has to wait."),
        Wrong(3, "The inputs are all known at the beginning. Which products need only them?"),
    ],
    right="Yes. Good implementations make them in one matrix product. What stays is the chain of the states.",
    hint="What does a step need besides its own word?",
)


def _state_forgotten(x, hidden, weight, bias):
    return np.stack([np.tanh(np.append(row, hidden) @ weight + bias) for row in x])


def _states(x, hidden, weight, bias, squash=np.tanh, first_input=True):
    states = []
    for row in x:
        joined = np.append(row, hidden) if first_input else np.append(hidden, row)
        hidden = squash(joined @ weight + bias)
        states.append(hidden)
    return np.stack(states)


def _right(x, hidden, weight, bias):
    return rnn(x, hidden, {"weight": weight, "bias": bias}).states


def _cases() -> list[tuple]:
    draws = np.random.default_rng(0)
    sizes = ((3, 5, 4), (6, 2, 3))
    return [
        tuple(np.round(draws.normal(size=shape), 3) for shape in ((n, d_in), (d,), (d_in + d, d), (d,)))
        for n, d_in, d in sizes
    ]


WRITE = Code(
    id="recurrent.write",
    question="Write rnn(x, hidden, weight, bias) in NumPy: it returns the states, one row for each row of x. The rows "
    "of weight are those of the input, then those of the state.",
    solution=_right,
    cases=_cases(),
    wrong=[
        Wrong(_state_forgotten, "Every step starts from the first state. Hand the new state on to the next step."),
        Wrong(lambda *given: _states(*given, squash=lambda x: x), "The tanh is missing."),
        Wrong(lambda *given: _states(*given, first_input=False), "Input and state are joined the wrong way round."),
        Wrong(lambda *given: _right(*given)[-1], "This is the last state only. Return all of them, one row per word."),
        Wrong(lambda x, *given: _right(x[::-1], *given)[::-1], "Your function reads from right to left."),
    ],
    right="Your function agrees with the library on every case.",
)

EXERCISES = (STATE, CELL, UPDATE, GRADIENT, PARALLEL, WRITE)
