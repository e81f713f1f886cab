"""Recurrent networks in NumPy: RNN, LSTM and GRU, step by step. Torch twins: `stepformer.nn.recurrent`.

Each reads a sequence from left to right and keeps a hidden state: a vector that the next step receives together with
the next input. A loop over the positions is part of the program, so a recorded one is for its own length only.

A gate or a candidate is one linear layer on input and state side by side: its weight (d_in + d_hidden, d_hidden) has
the rows of the input above those of the state. `stepformer.params.to_arrays` makes these from torch's parameters.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from stepformer.ops import add, concat, hold, linear, multiply, row, sigmoid, stack, subtract, tanh, zero_masked
from stepformer.recording import axes_of, scope
from stepformer.reference._finite import check_finite
from stepformer.trace import given_array

Params = Mapping[str, np.ndarray]
State = tuple[np.ndarray, ...]
RESETS = ("after", "before")


class Read(NamedTuple):
    """What a recurrent network makes of a sequence.

    Attributes:
        states: (…, n, d_hidden) the hidden state after each step; zeros over padding.
        hidden: (…, d_hidden) the hidden state after the last word; `deep` has one row for each layer and direction.
        cell: the same of the cell state; None but for an LSTM.
    """

    states: np.ndarray
    hidden: np.ndarray
    cell: np.ndarray | None = None


# ---- one step -----------------------------------------------------------------------------------------------------


def rnn_step(x: np.ndarray, hidden: np.ndarray, params: Params) -> np.ndarray:
    """One step of a plain recurrent network.

    Formula: `h' = tanh([x, h] @ weight + bias)` (Elman 1990, with tanh).

    Args:
        x: (…, d_in) the input of this step.
        hidden: (…, d_hidden) the state before it.
        params: "weight" (d_in + d_hidden, d_hidden), "bias" (d_hidden,).

    Returns:
        (…, d_hidden) the state after it.

    Raises:
        ValueError: shapes do not fit, or a parameter is missing.
    """
    _need(params, "weight", "bias")
    joined = _join(x, hidden)
    return tanh(linear(joined, params["weight"], params["bias"], name="sum"), name="hidden")


def lstm_step(x: np.ndarray, hidden: np.ndarray, cell: np.ndarray, params: Params) -> tuple[np.ndarray, np.ndarray]:
    """One step of a long short-term memory: three gates decide what is kept, what is written and what is shown.

    Formula: with `f, i, o = sigmoid([x, h] @ W + b)` and `g = tanh([x, h] @ W_g + b_g)`, each with weights of its own:
    `c' = f * c + i * g`, `h' = o * tanh(c')` (Hochreiter and Schmidhuber 1997; the forget gate f: Gers et al. 2000).

    Args:
        x: (…, d_in) the input of this step.
        hidden: (…, d_hidden) the state before it.
        cell: (…, d_hidden) the cell state before it.
        params: "forget.weight" (d_in + d_hidden, d_hidden), "forget.bias" (d_hidden,), and likewise of "input",
            "candidate" and "output".

    Returns:
        The state and the cell state after it, both (…, d_hidden).

    Raises:
        ValueError: shapes do not fit, or a parameter is missing.
    """
    joined = _join(x, hidden)
    forget = _gate("forget", joined, params, name="forget_gate")
    write = _gate("input", joined, params, name="input_gate")
    candidate = tanh(_layer("candidate", joined, params), name="candidate")
    show = _gate("output", joined, params, name="output_gate")
    kept = multiply(forget, cell, name="kept")
    cell = add(kept, multiply(write, candidate, name="written"), name="cell")
    return multiply(show, tanh(cell, name="squashed_cell"), name="hidden"), cell


def gru_step(x: np.ndarray, hidden: np.ndarray, params: Params, reset: str = "after") -> np.ndarray:
    """One step of a gated recurrent unit.

    Formula: with `r, z = sigmoid([x, h] @ W + b)`, each with weights of its own, and `n` the candidate,
    `h' = n + z * (h − n)`, which is `(1 − z) * n + z * h`: an update gate of 1 keeps the old state (Cho et al. 2014,
    eq. 7; torch). Chung et al. 2014 write the opposite: their z is 1 − z here. Two candidates are published:

    - reset "after": `n = tanh(x @ W_x + b_x + r * (h @ W_h + b_h))`, as torch and cuDNN have it;
    - reset "before": `n = tanh(x @ W_x + b_x + (r * h) @ W_h + b_h)`, as Cho et al. 2014, eq. 8.

    Args:
        x: (…, d_in) the input of this step.
        hidden: (…, d_hidden) the state before it.
        params: "reset.weight" (d_in + d_hidden, d_hidden), "reset.bias" (d_hidden,), likewise of "update", and
            "candidate.w_x.weight" (d_in, d_hidden), "candidate.w_h.weight" (d_hidden, d_hidden) with their biases.
        reset: whether the reset gate acts "after" or "before" the matrix product.

    Returns:
        (…, d_hidden) the state after it.

    Raises:
        ValueError: shapes do not fit, a parameter is missing, or `reset` is neither.
    """
    if reset not in RESETS:
        raise ValueError(f"reset is {reset!r}; the reset gate acts 'after' or 'before' the matrix product.")
    _need(params, *(f"candidate.{side}.{kind}" for side in ("w_x", "w_h") for kind in ("weight", "bias")))
    joined = _join(x, hidden)
    gate = _gate("reset", joined, params, name="reset_gate")
    update = _gate("update", joined, params, name="update_gate")
    from_input = linear(x, params["candidate.w_x.weight"], params["candidate.w_x.bias"], name="from_input")
    w_h = params["candidate.w_h.weight"], params["candidate.w_h.bias"]
    if reset == "after":
        from_state = multiply(gate, linear(hidden, *w_h, name="state_product"), name="from_state")
    else:
        from_state = linear(multiply(gate, hidden, name="state_product"), *w_h, name="from_state")
    candidate = tanh(add(from_input, from_state, name="candidate_sum"), name="candidate")
    kept = multiply(update, subtract(hidden, candidate, name="difference"), name="kept")
    return add(candidate, kept, name="hidden")


# ---- a whole sequence -----------------------------------------------------------------------------------------------


def rnn(
    x: np.ndarray, hidden: np.ndarray, params: Params, mask: np.ndarray | None = None, backward: bool = False
) -> Read:
    """A plain recurrent network over a sequence.

    Formula: `h[t] = rnn_step(x[t], h[t − 1])`, t = 1 … n; over padding the state stays as it is.

    Args:
        x: (…, n, d_in) finite numbers, except over padding, which may hold anything.
        hidden: (…, d_hidden) the state before the first word, usually zeros.
        params: as for `rnn_step`.
        mask: booleans (…, 1, n), True = a word, as `padding_mask` gives them; None: there is no padding.
        backward: read from right to left.

    Returns:
        The states (…, n, d_hidden), and the state after the last word that was read.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: shapes do not fit, a number is not finite, or the sequence is empty.
    """
    with scope("rnn"):
        return _read(x, (hidden,), lambda x, h: (rnn_step(x, h, params),), mask, backward)


def lstm(
    x: np.ndarray,
    hidden: np.ndarray,
    cell: np.ndarray,
    params: Params,
    mask: np.ndarray | None = None,
    backward: bool = False,
) -> Read:
    """A long short-term memory over a sequence.

    Formula: `h[t], c[t] = lstm_step(x[t], h[t − 1], c[t − 1])`, t = 1 … n; over padding both stay as they are.

    Args:
        x: (…, n, d_in), as for `rnn`.
        hidden: (…, d_hidden) the state before the first word, usually zeros.
        cell: (…, d_hidden) the cell state before the first word, usually zeros.
        params: as for `lstm_step`.
        mask: as for `rnn`.
        backward: as for `rnn`.

    Returns:
        The states (…, n, d_hidden), and state and cell state after the last word that was read.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: as for `rnn`.
    """
    with scope("lstm"):
        return _read(x, (hidden, cell), lambda x, h, c: lstm_step(x, h, c, params), mask, backward)


def gru(
    x: np.ndarray,
    hidden: np.ndarray,
    params: Params,
    mask: np.ndarray | None = None,
    backward: bool = False,
    reset: str = "after",
) -> Read:
    """A gated recurrent unit over a sequence.

    Formula: `h[t] = gru_step(x[t], h[t − 1])`, t = 1 … n; over padding the state stays as it is.

    Args:
        x: (…, n, d_in), as for `rnn`.
        hidden: (…, d_hidden) the state before the first word, usually zeros.
        params: as for `gru_step`.
        mask: as for `rnn`.
        backward: as for `rnn`.
        reset: as for `gru_step`.

    Returns:
        The states (…, n, d_hidden), and the state after the last word that was read.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: as for `rnn` and `gru_step`.
    """
    with scope("gru"):
        return _read(x, (hidden,), lambda x, h: (gru_step(x, h, params, reset),), mask, backward)


def deep(
    kind: str,
    x: np.ndarray,
    hidden: np.ndarray,
    params: Params,
    cell: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    reset: str = "after",
) -> Read:
    """Several layers, each reading the states of the one below, in one direction or in both.

    Formula: layer k reads the states of layer k − 1; with two directions, the states of both side by side, the forward
    ones first, as in torch.

    Args:
        kind: "rnn", "lstm" or "gru".
        x: (…, n, d_in), as for `rnn`.
        hidden: (…, n_layers · n_directions, d_hidden), one row for each layer and direction, in torch's order: layer 0
            forward, layer 0 backward, layer 1 forward …
        params: those of a step under "layers.0.forward.", "layers.0.backward.", "layers.1.forward." and so on. There
            are as many layers and directions as there are parameters.
        cell: the same shape as `hidden`; for an LSTM.
        mask: as for `rnn`.
        reset: as for `gru_step`.

    Returns:
        The states of the last layer (…, n, n_directions · d_hidden), and the last state of each layer and direction in
        the shape of `hidden`; the cell states likewise, for an LSTM.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: the kind is unknown, there are no layers, or as for `rnn`.
    """
    passes = {"rnn": rnn, "lstm": lstm, "gru": partial(gru, reset=reset)}
    if kind not in passes:
        raise ValueError(f"kind is {kind!r}; it is one of {', '.join(passes)}.")
    layers = _layers(params)
    given = [hidden] if cell is None else [hidden, cell]
    if len(given) != (2 if kind == "lstm" else 1):
        raise ValueError(f"{kind}: a cell state is {'missing' if kind == 'lstm' else 'given'}; an LSTM alone has one.")
    count = sum(map(len, layers))
    for name, state in zip(("hidden", "cell"), given, strict=False):
        if np.ndim(state) < 2 or np.shape(state)[-2] != count:
            raise ValueError(f"{kind}: {name} has shape {np.shape(state)}; it must be (…, {count}, d_hidden).")
    states, last = x, []
    for k, directions in enumerate(layers):
        outputs = []
        for direction in directions:
            path = f"layers.{k}.{direction}"
            part = {name.removeprefix(f"{path}."): p for name, p in params.items() if name.startswith(f"{path}.")}
            with scope(path):
                start = [
                    row(s, index=len(last), name=name) for name, s in zip(("hidden_0", "cell_0"), given, strict=False)
                ]
                read = passes[kind](states, *start, part, mask=mask, backward=direction == "backward")
            outputs.append(read.states)
            last.append(read[1:])
        states = outputs[0] if len(outputs) == 1 else concat(*outputs, name=f"layers.{k}.states")
    finals = [stack(*parts, name=name) for name, parts in zip(("hidden", "cell"), zip(*last, strict=True), strict=True)
              if parts[0] is not None]  # fmt: skip
    return Read(states, *finals)


def _read(x: np.ndarray, start: State, step: Callable[..., State], mask: np.ndarray | None, backward: bool) -> Read:
    """Loop over the positions: the part that all recurrent networks share."""
    x = _checked(x, mask)
    n, state = x.shape[-2], start
    states: list[np.ndarray] = [x] * n
    for t in reversed(range(n)) if backward else range(n):
        with scope(f"step_{t + 1}"):
            new = step(row(x, index=t, name="x"), *state)
            if mask is not None:
                names = ("held_hidden", "held_cell")
                new = tuple(hold(*pair, mask, index=t, name=name)
                            for *pair, name in zip(new, state, names, strict=False))  # fmt: skip
        state = new
        states[t] = state[0]
    names = axes_of(x)
    axes = None if names is None else (*names[:-1], axes_of(state[0])[-1])
    stacked = stack(*states, name="states", axes=axes)
    if mask is not None:
        stacked = zero_masked(stacked, mask, name="visible_states")
    return Read(stacked, *state)


def _checked(x: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
    x = given_array(x, "x")
    if x.ndim < 2 or x.shape[-2] == 0:
        raise ValueError(f"x has shape {x.shape}; it must be (…, n, d_in) with n of 1 or more.")
    if mask is not None:
        mask = given_array(mask, "mask")
        if mask.dtype != np.bool_:
            raise TypeError(f"mask must be boolean, True = a word; it is {mask.dtype} of shape {mask.shape}.")
        if mask.shape != (*x.shape[:-2], 1, x.shape[-2]):
            raise ValueError(f"mask has shape {mask.shape}; for x {x.shape} it must be (…, 1, n).")
        x = zero_masked(x, mask, name="visible_x")
    check_finite(x=x)
    return x


def _join(x: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """Input and state side by side; the axis is named after both."""
    of_input, of_state = axes_of(x), axes_of(hidden)
    axes = (*of_input[:-1], f"{of_input[-1]} and {of_state[-1]}") if of_input and of_state else None
    return concat(x, hidden, name="joined", axes=axes)


def _layer(part: str, joined: np.ndarray, params: Params) -> np.ndarray:
    _need(params, f"{part}.weight", f"{part}.bias")
    return linear(joined, params[f"{part}.weight"], params[f"{part}.bias"], name=f"{part}_sum")


def _gate(part: str, joined: np.ndarray, params: Params, name: str) -> np.ndarray:
    return sigmoid(_layer(part, joined, params), name=name)


def _need(params: Params, *names: str) -> None:
    missing = [name for name in names if name not in params]
    if missing:
        raise ValueError(f"params lack {', '.join(missing)}; there are: {', '.join(sorted(params)) or 'none'}.")


def _layers(params: Params) -> list[list[str]]:
    """The directions of each layer, as the names of the parameters have them."""
    paths = {tuple(name.split(".")[1:3]) for name in params if name.startswith("layers.")}
    layers = []
    while directions := [d for d in ("forward", "backward") if (str(len(layers)), d) in paths]:
        layers.append(directions)
    if not layers:
        raise ValueError(f"params hold no layers.0.forward.…; there are: {', '.join(sorted(params)) or 'none'}.")
    return layers
