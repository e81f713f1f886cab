"""Positions in torch: sinusoidal, learned, rotary, linear biases, as in `stepformer.reference.positional_encoding`.

Tokens are counted from `start`, which is 0 except where a decoder that keeps its past sees only the newest tokens.
"""

import torch
from torch import nn

from stepformer.nn._layers import check_sizes


class SinusoidalPositions(nn.Module):
    """Add to each token the fixed sinusoidal row of its position. There is nothing to learn.

    Formula: `x + table[start : start + n]`, `table[pos, 2i] = sin(pos / base^(2i/d))`, `table[pos, 2i + 1]` its cosine
    (Vaswani et al. 2017, section 3.5). The table is a buffer that is not saved: the formula gives it again, so weights
    saved with one max_len load into a module with another.

    Args:
        d_model: width of the tokens; an odd width lacks the last cosine.
        max_len: length of the longest sequence.
        base: the wavelengths grow from 2π towards 2π · base, in tokens.
    """

    table: torch.Tensor

    def __init__(self, d_model: int, max_len: int, base: float = 10000.0) -> None:
        super().__init__()
        check_sizes(d_model=d_model, max_len=max_len)
        _check_base(base)
        self.base = base
        table = sinusoidal_table(max_len, d_model, base).to(torch.get_default_dtype())
        self.register_buffer("table", table, persistent=False)

    def _apply(self, fn, recurse: bool = True) -> "SinusoidalPositions":
        # After .double() and its kin the table is computed anew; converted, it would stay as coarse as it was.
        super()._apply(fn, recurse)
        max_len, d_model = self.table.shape
        table = sinusoidal_table(max_len, d_model, self.base)
        self.table = table.to(self.table.dtype).to(self.table.device)
        return self

    def forward(self, x: torch.Tensor, start: int = 0) -> torch.Tensor:
        """Add the rows of the positions from `start` on.

        Args:
            x: (…, n, d_model) embeddings.
            start: position of the first token.

        Returns:
            The shape of `x`.

        Raises:
            ValueError: a position lies beyond max_len.
        """
        return x + _rows(self.table, x, start)


class LearnedPositions(nn.Module):
    """Add to each token a row that is learned for its position.

    Formula: `x + table[start : start + n]` (Gehring et al. 2017, section 3.1). A row that no training sequence is long
    enough to reach keeps its random start.

    Args:
        max_len: length of the longest sequence; beyond it there is no row.
        d_model: width of the tokens.
    """

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        check_sizes(max_len=max_len, d_model=d_model)
        self.embedding = nn.Embedding(max_len, d_model)

    def forward(self, x: torch.Tensor, start: int = 0) -> torch.Tensor:
        """Add the rows of the positions from `start` on.

        Args:
            x: (…, n, d_model) embeddings.
            start: position of the first token.

        Returns:
            The shape of `x`.

        Raises:
            ValueError: a position lies beyond max_len.
        """
        return x + _rows(self.embedding.weight, x, start)


class Rotary(nn.Module):
    """Turn the pairs of columns of queries and of keys by angles that grow with the position.

    Formula: pair i of row pos turns by the angle `pos / base^(2i/d_k)` (Su et al. 2021, section 3.2.2). There is
    nothing to learn and no longest sequence.

    Args:
        d_k: width of the queries and keys of one head, even.
        base: the slowest pair turns once in about 2π · base tokens.
    """

    def __init__(self, d_k: int, base: float = 10000.0) -> None:
        super().__init__()
        check_sizes(d_k=d_k)
        _check_base(base)
        if d_k % 2:
            raise ValueError(f"d_k = {d_k} is odd, and columns turn in pairs.")
        self.frequencies = base ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)

    def forward(self, x: torch.Tensor, start: int = 0) -> torch.Tensor:
        """Turn queries or keys; call it for both.

        Args:
            x: (…, n, d_k).
            start: position of the first token.

        Returns:
            The shape of `x`.

        Raises:
            ValueError: the width is not d_k.
        """
        if x.shape[-1] != 2 * len(self.frequencies):
            raise ValueError(f"x has shape {tuple(x.shape)}; its width must be d_k = {2 * len(self.frequencies)}.")
        # Angles in double precision: far into a text, single precision would blur neighbouring positions.
        positions = torch.arange(start, start + x.shape[-2], dtype=torch.float64)
        angles = torch.outer(positions, self.frequencies)
        cosine, sine = angles.cos().to(x), angles.sin().to(x)
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], dim=-1).flatten(-2)


def distance_bias(query: torch.Tensor, key: torch.Tensor, slope: float) -> torch.Tensor:
    """Attention with linear biases (ALiBi): a penalty in proportion to distance, to be added to scaled scores.

    Formula: `out[i, j] = −slope * |i + (n_k − n_q) − j|` (Press et al. 2022, section 3).

    Args:
        query: (…, n_q, d); its length, kind and device are used.
        key: (…, n_k, d); only its length is used.
        slope: penalty per token of distance, positive.

    Returns:
        (n_q, n_k), 0 or negative.

    Raises:
        ValueError: `slope` is not positive.
    """
    if not 0 < slope < float("inf"):
        raise ValueError(f"slope is {slope}; it must be positive and finite.")
    n_q, n_k = query.shape[-2], key.shape[-2]
    rows, columns = (torch.arange(n, dtype=query.dtype, device=query.device) for n in (n_q, n_k))
    return -slope * (rows.unsqueeze(-1) + (n_k - n_q) - columns).abs()


def sinusoidal_table(max_len: int, d_model: int, base: float = 10000.0) -> torch.Tensor:
    """The rows of sines and cosines for the positions 0 … max_len − 1, interleaved.

    Formula: `out[pos, 2i] = sin(pos / base^(2i/d))`, `out[pos, 2i + 1] = cos(pos / base^(2i/d))`.

    Args:
        max_len: number of rows.
        d_model: number of columns; an odd number lacks the last cosine.
        base: the wavelengths grow from 2π towards 2π · base, in tokens.

    Returns:
        (max_len, d_model) in double precision.
    """
    positions = torch.arange(max_len, dtype=torch.float64).unsqueeze(-1)
    angles = positions / base ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[:, :d_model].contiguous()


def _check_base(base: float) -> None:
    if not 0 < base < float("inf"):
        raise ValueError(f"base is {base}; it must be positive and finite.")


def _rows(table: torch.Tensor, x: torch.Tensor, start: int) -> torch.Tensor:
    """The rows of the table for the tokens of x, or an error that says which number is too large."""
    if x.ndim < 2 or x.shape[-1] != table.shape[-1]:
        raise ValueError(f"x has shape {tuple(x.shape)}; it must be (…, n, d_model) with d_model = {table.shape[-1]}.")
    if start < 0:
        raise ValueError(f"start is {start}; positions count from 0.")
    end, max_len = start + x.shape[-2], len(table)
    if end > max_len:
        raise ValueError(f"The last token is number {end}, but max_len is {max_len}: {end} > {max_len}.")
    return table[start:end]
