"""Embedding in torch: one row of a table for each token, as in `stepformer.reference.embedding`."""

import torch
from torch import nn

from stepformer.nn._layers import check_sizes
from stepformer.nn.masks import check_ids


class Embedding(nn.Module):
    """A table of vectors, one for each word of the vocabulary; training changes its rows.

    Formula: `out[i] = weight[tokens[i]]` (Vaswani et al. 2017, section 3.4, without the factor √d_model).

    Args:
        vocab_size: number of words, 1 or more.
        d_model: width of a vector, 1 or more.
        padding_idx: the id of padding, if there is one: its row starts at zero and gets no gradient, so it stays zero.
            Without it no row is touched.
    """

    def __init__(self, vocab_size: int, d_model: int, padding_idx: int | None = None) -> None:
        super().__init__()
        check_sizes(vocab_size=vocab_size, d_model=d_model)
        if padding_idx is not None and not 0 <= padding_idx < vocab_size:
            raise ValueError(f"padding_idx is {padding_idx}; it must be an id, 0 … {vocab_size - 1}, or None.")
        self.padding_idx = padding_idx
        self.weight = nn.Parameter(torch.randn(vocab_size, d_model))
        if padding_idx is not None:
            with torch.no_grad():
                self.weight[padding_idx] = 0.0

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Look up the vector of each token.

        Args:
            tokens: (…, n) token ids.

        Returns:
            (…, n, d_model).

        Raises:
            TypeError: `tokens` are not whole numbers.
            ValueError: an id is not a row of the table.
        """
        check_ids(tokens)
        if tokens.numel() and not (tokens.min() >= 0 and tokens.max() < len(self.weight)):
            raise ValueError(
                f"ids go from {tokens.min()} to {tokens.max()}, but the table has the rows 0 … {len(self.weight) - 1}."
            )
        return nn.functional.embedding(tokens.long(), self.weight, self.padding_idx)
