"""The input block in torch: from token ids to what enters the first layer, as in `stepformer.reference.input_block`."""

import torch
from torch import nn

from stepformer.nn._layers import Dropout, check_sizes, init_parameters
from stepformer.nn.embedding import Embedding
from stepformer.nn.positional_encoding import LearnedPositions, SinusoidalPositions


def make_positions(kind: str, d_model: int, max_len: int) -> nn.Module:
    """The module that adds positions.

    Args:
        kind: "sinusoidal" or "learned".
        d_model: width of the vectors.
        max_len: length of the longest sequence.

    Returns:
        A new module.

    Raises:
        ValueError: there is no such kind.
    """
    if kind not in ("sinusoidal", "learned"):
        raise ValueError(f"positions are {kind!r}; they must be 'sinusoidal' or 'learned'.")
    return LearnedPositions(max_len, d_model) if kind == "learned" else SinusoidalPositions(d_model, max_len)


def scale_and_place(x: torch.Tensor, positions: nn.Module, dropout: nn.Module, start: int = 0) -> torch.Tensor:
    """Multiply by √d_model, add positions, drop in training: what comes after the look-up.

    Args:
        x: (…, n, d_model) rows of a table.
        positions: what `make_positions` returned.
        dropout: applied to the sum.
        start: position of the first token.

    Returns:
        The shape of `x`.
    """
    return dropout(positions(x * x.shape[-1] ** 0.5, start))


class InputBlock(nn.Module):
    """From token ids to what enters the first layer of an encoder or of a decoder.

    Formula: `dropout(weight[tokens] * sqrt(d_model) + positions)` (Vaswani et al. 2017, sections 3.4, 3.5 and 5.4).

    Args:
        vocab_size: number of words.
        d_model: width of the vectors.
        dropout: the share of the sum that is set to zero at random in training.
        positions: "sinusoidal" or "learned".
        max_len: length of the longest sequence.
        width: of the rows of the table, if it is another; a learned projection without a bias then follows.
        generator: where the first values of the parameters come from; torch's own if not given.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        dropout: float = 0.1,
        positions: str = "sinusoidal",
        max_len: int = 1024,
        width: int | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        width = d_model if width is None else width
        check_sizes(vocab_size=vocab_size, d_model=d_model, max_len=max_len, width=width)
        self.embedding = Embedding(vocab_size, width)
        self.projection = None if width == d_model else nn.Linear(width, d_model, bias=False)
        self.positions = make_positions(positions, d_model, max_len)
        self.dropout = Dropout(dropout)
        init_parameters(self, generator)

    def forward(self, tokens: torch.Tensor, start: int = 0) -> torch.Tensor:
        """Look up, scale, add positions, and drop in training.

        Args:
            tokens: (…, n) token ids.
            start: position of the first token.

        Returns:
            (…, n, d_model).

        Raises:
            TypeError: `tokens` are not whole numbers.
            ValueError: an id is not in the vocabulary, or a position lies beyond max_len.
        """
        x = self.embedding(tokens)
        if self.projection is not None:
            x = self.projection(x)
        return scale_and_place(x, self.positions, self.dropout, start)
