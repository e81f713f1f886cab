"""Recurrent networks in torch, as in `stepformer.reference.recurrent`: torch's fused modules, and one step to look at.

The classes are torch's own RNN, LSTM and GRU: same parameters, same speed. What they add is the book's way of saying
where padding is, and any leading axes. `step` computes one step by hand, for looking, not for training.
"""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from stepformer.nn._layers import check_sizes


class Read(NamedTuple):
    """What a recurrent network makes of a sequence.

    Attributes:
        states: (…, n, n_directions · d_hidden) the states of the last layer; zeros over padding.
        hidden: (…, n_layers · n_directions, d_hidden) the state of each layer and direction after the last word.
        cell: the same of the cell state; None but for an LSTM.
    """

    states: torch.Tensor
    hidden: torch.Tensor
    cell: torch.Tensor | None = None


class _Recurrent(nn.RNNBase):
    """What the three share. The subclasses name torch's module as their second base."""

    def __init__(self, d_in: int, d_hidden: int, n_layers: int = 1, bidirectional: bool = False) -> None:
        check_sizes(d_in=d_in, d_hidden=d_hidden, n_layers=n_layers)
        sizes = int(d_in), int(d_hidden), int(n_layers)  # torch takes no NumPy numbers
        super().__init__(*sizes, bidirectional=bidirectional, batch_first=True)

    def forward(
        self,
        x: torch.Tensor,
        mask: torch.Tensor | None = None,
        hidden: torch.Tensor | None = None,
        cell: torch.Tensor | None = None,
    ) -> Read:
        """Read sequences, each up to its own last word.

        Args:
            x: (…, n, d_in); over padding it may hold anything.
            mask: booleans (…, 1, n), True = a word; padding stands at the end of a sequence. None: there is none.
            hidden: (…, n_layers · n_directions, d_hidden) the states before the first word; zeros if not given.
            cell: the same of the cell state, for an LSTM.

        Returns:
            The states and the last states.

        Raises:
            TypeError: the mask is not boolean.
            ValueError: `x` is not of that width or has no row; the mask has another shape, a word comes after padding,
                or a sequence has no word; or a state has another shape, or there is a cell state without a hidden one
                or for a network that has none.
        """
        if x.ndim < 2 or x.shape[-2] < 1 or x.shape[-1] != self.input_size:
            raise ValueError(
                f"x has shape {tuple(x.shape)}; it must be (…, n, d_in) with n of 1 or more and d_in = "
                f"{self.input_size}."
            )
        leading, (n, d_in) = x.shape[:-2], x.shape[-2:]
        sequences = x.reshape(-1, n, d_in)
        lengths = None if mask is None else _lengths(mask, x)
        start = self._start(hidden, cell, leading)
        if lengths is None:
            states, last = super().forward(sequences, start)
        else:
            packed = pack_padded_sequence(sequences, lengths.cpu(), batch_first=True, enforce_sorted=False)
            packed, last = super().forward(packed, start)
            states = pad_packed_sequence(packed, batch_first=True, total_length=n)[0]
        last = last if isinstance(last, tuple) else (last,)
        finals = (state.transpose(0, 1).reshape(*leading, len(state), state.shape[-1]) for state in last)
        return Read(states.reshape(*leading, n, states.shape[-1]), *finals)

    def _start(
        self, hidden: torch.Tensor | None, cell: torch.Tensor | None, leading: torch.Size
    ) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor] | None:
        """The states before the first word as torch wants them: layers first."""
        is_lstm = isinstance(self, nn.LSTM)
        if (cell is not None) != (hidden is not None and is_lstm):
            raise ValueError("cell: an LSTM takes a hidden state together with a cell state; no other network has one.")
        if hidden is None:
            return None
        given = (hidden,) if cell is None else (hidden, cell)
        needed = (*leading, self.num_layers * (1 + self.bidirectional), self.hidden_size)
        for name, state in zip(("hidden", "cell"), given, strict=False):
            if state.shape != needed:
                raise ValueError(f"{name} has shape {tuple(state.shape)}; for this x it must be {needed}.")
        turned = tuple(s.reshape(-1, *s.shape[-2:]).transpose(0, 1).contiguous() for s in given)
        return turned if is_lstm else turned[0]

    def _sums(self, x: torch.Tensor, hidden: torch.Tensor) -> tuple[tuple[torch.Tensor, ...], tuple[torch.Tensor, ...]]:
        """What comes from the input and what comes from the state, for each gate of the first layer."""
        gates = self.weight_hh_l0.shape[0] // self.hidden_size
        from_input = x @ self.weight_ih_l0.T + self.bias_ih_l0
        from_state = hidden @ self.weight_hh_l0.T + self.bias_hh_l0
        return from_input.chunk(gates, dim=-1), from_state.chunk(gates, dim=-1)


class RNN(_Recurrent, nn.RNN):
    """A plain recurrent network: `h' = tanh(x W_x + b_x + h W_h + b_h)` (Elman 1990, with tanh).

    Args:
        d_in: width of the input.
        d_hidden: width of the state.
        n_layers: number of layers.
        bidirectional: also read from right to left.
    """

    def step(self, x: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        """One step of the first layer, left to right, computed by hand.

        Args:
            x: (…, d_in).
            hidden: (…, d_hidden).

        Returns:
            (…, d_hidden) the state after the step.
        """
        (from_input,), (from_state,) = self._sums(x, hidden)
        return torch.tanh(from_input + from_state)


class LSTM(_Recurrent, nn.LSTM):
    """A long short-term memory (Hochreiter and Schmidhuber 1997; forget gate: Gers et al. 2000).

    Args:
        d_in: width of the input.
        d_hidden: width of the state.
        n_layers: number of layers.
        bidirectional: also read from right to left.
    """

    def step(self, x: torch.Tensor, hidden: torch.Tensor, cell: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """One step of the first layer, left to right, computed by hand.

        Args:
            x: (…, d_in).
            hidden: (…, d_hidden).
            cell: (…, d_hidden).

        Returns:
            The state and the cell state after the step, both (…, d_hidden).
        """
        write, forget, candidate, show = (a + b for a, b in zip(*self._sums(x, hidden), strict=True))
        cell = forget.sigmoid() * cell + write.sigmoid() * candidate.tanh()
        return show.sigmoid() * cell.tanh(), cell


class GRU(_Recurrent, nn.GRU):
    """A gated recurrent unit (Cho et al. 2014), the reset gate after the matrix product, as torch and cuDNN have it.

    An update gate of 1 keeps the old state.

    Args:
        d_in: width of the input.
        d_hidden: width of the state.
        n_layers: number of layers.
        bidirectional: also read from right to left.
    """

    def step(self, x: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        """One step of the first layer, left to right, computed by hand.

        Args:
            x: (…, d_in).
            hidden: (…, d_hidden).

        Returns:
            (…, d_hidden) the state after the step.
        """
        (reset_x, update_x, new_x), (reset_h, update_h, new_h) = self._sums(x, hidden)
        reset, update = (reset_x + reset_h).sigmoid(), (update_x + update_h).sigmoid()
        candidate = torch.tanh(new_x + reset * new_h)
        return (1 - update) * candidate + update * hidden


def _lengths(mask: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """How many words each sequence has."""
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must be boolean, True = a word; it is {mask.dtype} of shape {tuple(mask.shape)}.")
    if mask.shape != (*x.shape[:-2], 1, x.shape[-2]):
        raise ValueError(f"mask has shape {tuple(mask.shape)}; for x {tuple(x.shape)} it must be (…, 1, n).")
    words = mask.reshape(-1, x.shape[-2])
    if (words[:, 1:] & ~words[:, :-1]).any():
        raise ValueError("mask: a word comes after padding; packed sequences have their padding at the end.")
    lengths = words.sum(dim=-1)
    if not lengths.all():
        raise ValueError("mask: a sequence has no word at all; torch can not pack it.")
    return lengths
