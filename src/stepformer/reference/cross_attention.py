"""Cross-attention in NumPy: one sequence asks another. Torch twin: `stepformer.nn.cross_attention`."""

from collections.abc import Mapping

import numpy as np

from stepformer.ops import matmul, zero_masked
from stepformer.recording import scope
from stepformer.reference.attention import Attended, attend, check_finite
from stepformer.reference.masks import check_mask


def cross_attention(
    x: np.ndarray,
    memory: np.ndarray,
    params: Mapping[str, np.ndarray],
    memory_mask: np.ndarray | None = None,
) -> Attended:
    """Attention whose queries come from one sequence, and whose keys and values come from another.

    Formula: `attention(x @ w_q, memory @ w_k, memory @ w_v)` (Vaswani et al. 2017, section 3.2.3), one head, no bias.

    Args:
        x: (…, n_tgt, d_model) finite numbers, one row for each token of the side that asks.
        memory: (…, n_src, d_model), one row for each token of the side that is asked: the encoder's output. Finite,
            except in rows that are masked for every query, which may hold anything.
        params: "w_q.weight" (d_model, d_k), "w_k.weight" (d_model, d_k), "w_v.weight" (d_model, d_v).
        memory_mask: booleans (…, 1, n_src) or (…, n_tgt, n_src), True = may attend. It hides padding of the memory;
            a row of x that may attend to nothing gets zeros.

    Returns:
        output (…, n_tgt, d_v) and weights (…, n_tgt, n_src); each row of weights sums to 1, or to 0 if fully masked.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: a shape does not fit, or a number that counts is not finite.
    """
    for name, sequence in (("x", x), ("memory", memory)):
        if np.ndim(sequence) < 2:
            raise ValueError(f"{name} has shape {np.shape(sequence)}; it must be (…, n, d_model).")
    if memory_mask is not None:
        check_mask(memory_mask, x, memory)
    check_finite(x, memory, memory, memory_mask, ("x", "memory", "memory"))
    with scope("cross_attention"):
        if memory_mask is not None:
            # Before the projections, so that padding which holds NaN does not reach them.
            memory = zero_masked(memory, memory_mask, name="visible_memory")
        query = matmul(x, params["w_q.weight"], name="query")
        key = matmul(memory, params["w_k.weight"], name="key")
        value = matmul(memory, params["w_v.weight"], name="value")
        with scope("attention"):
            return attend(query, key, value, memory_mask)
