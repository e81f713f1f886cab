"""Self-attention in NumPy: every token asks every token. Torch twin: `stepformer.nn.self_attention`."""

from collections.abc import Mapping

import numpy as np

from stepformer.ops import matmul
from stepformer.recording import scope
from stepformer.reference.attention import Attended, attend, check_finite
from stepformer.reference.masks import check_mask


def self_attention(x: np.ndarray, params: Mapping[str, np.ndarray], mask: np.ndarray | None = None) -> Attended:
    """Attention whose queries, keys and values are three projections of one sequence.

    Formula: `attention(x @ w_q, x @ w_k, x @ w_v)` (Vaswani et al. 2017, section 3.2.3), one head, no bias.

    Args:
        x: (…, n, d_model) finite numbers, one row for each token.
        params: "w_q.weight" (d_model, d_k), "w_k.weight" (d_model, d_k), "w_v.weight" (d_model, d_v).
        mask: booleans (…, n, n) or (…, 1, n), True = may attend. It hides keys; the output of a padded token is
            computed like any other and is to be ignored. A token that may attend to nothing gets zeros.

    Returns:
        output (…, n, d_v) and weights (…, n, n); each row of weights sums to 1, or to 0 if fully masked.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: a shape does not fit, or a number of `x` is not finite.
    """
    if np.ndim(x) < 2:
        raise ValueError(f"x has shape {np.shape(x)}; it must be (…, n, d_model).")
    if mask is not None:
        check_mask(mask, x, x)
    check_finite(x, x, x, None)
    with scope("self_attention"):
        query = matmul(x, params["w_q.weight"], name="query")
        key = matmul(x, params["w_k.weight"], name="key")
        value = matmul(x, params["w_v.weight"], name="value")
        with scope("attention"):
            return attend(query, key, value, mask)
