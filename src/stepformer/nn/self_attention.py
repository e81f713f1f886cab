"""Self-attention in torch, one head, as in `stepformer.reference.self_attention`."""

import torch
from torch import nn

from stepformer.nn._layers import check_sizes
from stepformer.nn.attention import Attended, scaled_dot_product_attention


class SelfAttention(nn.Module):
    """Attention whose queries, keys and values are three projections of one sequence.

    Formula: `attention(w_q(x), w_k(x), w_v(x))` (Vaswani et al. 2017, section 3.2.3), one head, no bias.

    Args:
        d_model: width of the inputs.
        d_k: width of queries and keys.
        d_v: width of values and of the output; d_k if not given.
    """

    def __init__(self, d_model: int, d_k: int, d_v: int | None = None) -> None:
        super().__init__()
        check_sizes(d_model=d_model, d_k=d_k, d_v=d_k if d_v is None else d_v)
        self.w_q = nn.Linear(d_model, d_k, bias=False)
        self.w_k = nn.Linear(d_model, d_k, bias=False)
        self.w_v = nn.Linear(d_model, d_k if d_v is None else d_v, bias=False)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None, need_weights: bool = False) -> Attended:
        """Project the sequence three times, then let every token attend to every token.

        Args:
            x: (…, n, d_model).
            mask: booleans (…, n, n) or (…, 1, n), True = may attend. It hides keys, never queries.
            need_weights: also return the weights.

        Returns:
            output (…, n, d_v), and weights (…, n, n) or None.
        """
        return scaled_dot_product_attention(self.w_q(x), self.w_k(x), self.w_v(x), mask, need_weights=need_weights)
