"""Embedding in NumPy: one row of a table for each token. Torch twin: `stepformer.nn.embedding`."""

from collections.abc import Mapping

import numpy as np

from stepformer.ops import embed, matmul, one_hot
from stepformer.recording import scope


def embedding(tokens: np.ndarray, params: Mapping[str, np.ndarray]) -> np.ndarray:
    """Look up the vector of each token.

    Formula: `out[i] = weight[tokens[i]]` (Vaswani et al. 2017, section 3.4, without the factor √d_model).

    Args:
        tokens: (…, n) token ids.
        params: "weight" (vocab_size, d_model), one row for each word of the vocabulary.

    Returns:
        (…, n, d_model).

    Raises:
        TypeError: `tokens` are not whole numbers.
        ValueError: an id is not a row of the table, or the table is no matrix.
    """
    with scope("embedding"):
        return embed(tokens, params["weight"], name="output")


def embedding_by_product(tokens: np.ndarray, params: Mapping[str, np.ndarray]) -> np.ndarray:
    """The same vectors by a matrix product: one-hot rows times the table.

    Formula: `out = one_hot(tokens) @ weight`. Nobody computes it like this, for all products but one are with 0; it
    shows that a look-up is a linear layer without a bias, and so can be trained like one.

    Args:
        tokens: (…, n) token ids.
        params: "weight" (vocab_size, d_model), one row for each word of the vocabulary.

    Returns:
        (…, n, d_model).

    Raises:
        TypeError: `tokens` are not whole numbers.
        ValueError: an id is not a row of the table.
    """
    with scope("embedding"):
        rows = one_hot(tokens, vocab_size=len(params["weight"]), name="one_hot")
        return matmul(rows, params["weight"], name="product")
