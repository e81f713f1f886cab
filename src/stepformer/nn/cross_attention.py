"""Cross-attention in torch, one head, as in `stepformer.reference.cross_attention`."""

import torch
from torch import nn

from stepformer.nn._layers import check_sizes
from stepformer.nn.attention import Attended, check_lengths, scaled_dot_product_attention, without_hidden_rows


class CrossAttention(nn.Module):
    """Attention whose queries come from one sequence, and whose keys and values come from another.

    Formula: `attention(w_q(x), w_k(memory), w_v(memory))` (Vaswani et al. 2017, section 3.2.3), one head, no bias.

    Args:
        d_model: width of both inputs.
        d_k: width of queries and keys.
        d_v: width of values and of the output; d_k if not given.
    """

    def __init__(self, d_model: int, d_k: int, d_v: int | None = None) -> None:
        super().__init__()
        check_sizes(d_model=d_model, d_k=d_k, d_v=d_k if d_v is None else d_v)
        self.w_q = nn.Linear(d_model, d_k, bias=False)
        self.w_k = nn.Linear(d_model, d_k, bias=False)
        self.w_v = nn.Linear(d_model, d_k if d_v is None else d_v, bias=False)

    def forward(
        self,
        x: torch.Tensor,
        memory: torch.Tensor,
        memory_mask: torch.Tensor | None = None,
        need_weights: bool = False,
    ) -> Attended:
        """Let every row of x attend to every row of the memory.

        Args:
            x: (…, n_tgt, d_model), the side that asks.
            memory: (…, n_src, d_model), the side that is asked.
            memory_mask: booleans (…, 1, n_src) or (…, n_tgt, n_src), True = may attend. It hides padding of the memory.
            need_weights: also return the weights.

        Returns:
            output (…, n_tgt, d_v), and weights (…, n_tgt, n_src) or None.
        """
        check_lengths(x, memory, memory)
        # Before the projections: 0 · NaN in a gradient of their weights would be NaN.
        memory, _ = without_hidden_rows(x, memory, memory, memory_mask)
        key, value = self.w_k(memory), self.w_v(memory)
        return scaled_dot_product_attention(self.w_q(x), key, value, memory_mask, need_weights=need_weights)
