"""The input block in NumPy: from token ids to what enters the first layer. Torch twin: `stepformer.nn.input_block`."""

from collections.abc import Mapping

import numpy as np

from stepformer.ops import embed, matmul, scale_up
from stepformer.params import select
from stepformer.recording import scope
from stepformer.reference.positional_encoding import add_learned_positions, add_positions


def input_block(tokens: np.ndarray, params: Mapping[str, np.ndarray], side: str) -> np.ndarray:
    """From token ids to what enters the first layer: look up, scale, add positions.

    Formula: `weight[tokens] * sqrt(d_model) + positions` (Vaswani et al. 2017, sections 3.4 and 3.5); with a
    projection, `weight[tokens] @ projection` takes the place of `weight[tokens]`.

    Args:
        tokens: (…, n) token ids.
        params: "<side>_embedding.weight" (vocab_size, d_model); "<side>_projection.weight" (width, d_model) where the
            table has another width; "<side>_positions.embedding.weight" (max_len, d_model) where positions are
            learned, else they are sinusoidal.
        side: "src" or "tgt".

    Returns:
        (…, n, d_model).

    Raises:
        TypeError: ids are not whole numbers.
        ValueError: an id is not in the vocabulary, the sequence is longer than learned positions reach, or shapes do
            not fit.
    """
    with scope(f"{side}_input"):
        x = embed(tokens, params[f"{side}_embedding.weight"], name="embedded")
        if f"{side}_projection.weight" in params:
            x = matmul(x, params[f"{side}_projection.weight"], name="projected")
        x = scale_up(x, name="scaled")
        if f"{side}_positions.embedding.weight" in params:
            return add_learned_positions(x, select(params, f"{side}_positions"))
        return add_positions(x)
