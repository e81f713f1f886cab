"""What every attention of a model looked at: its weights, which training and decoding never keep."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from stepformer.nn._cache import KeyValueCache
from stepformer.nn._layers import writing
from stepformer.nn.attention import AdditiveAttention, Attended
from stepformer.nn.multi_head_attention import MultiHeadAttention


def attention_weights(model: nn.Module, src: torch.Tensor, tgt: torch.Tensor) -> dict[str, torch.Tensor]:
    """Let a model read a pair of sentences once more, and keep the weights of every attention in it.

    The model is in eval mode meanwhile, and afterwards in the mode that it was in. Row i of a decoder's attention is
    that of the position which has read `tgt[i]` and predicts the word after it.

    Args:
        model: with `forward(src, tgt)`.
        src: (…, n_src) token ids.
        tgt: (…, n_tgt) token ids, the start mark first.

    Returns:
        The path of each attention in the model, such as "decoder.layers.0.cross_attention" -> weights
        (…, n_heads, n_q, n_k), which sum to 1 over the last axis (to 0 where a query may attend to nothing). Empty for
        a model without attention. They are in the order in which the attentions were at work.
    """
    with writing(model), kept(model) as found:
        model(src, tgt)
    # A recurrent decoder attends once for each word.
    return {name: pieces[0] if len(pieces) == 1 else torch.cat(pieces, dim=-2) for name, pieces in found.items()}


@contextmanager
def kept(model: nn.Module) -> Iterator[dict[str, list[torch.Tensor]]]:
    """Keep the weights of whatever attends while this is open; what is computed stays the same.

    Args:
        model: any module.

    Yields:
        The path of each attention -> its weights (…, n_heads, n_q, n_k), one tensor for each time that it attended.
    """
    found: dict[str, list[torch.Tensor]] = {}
    changed: list[tuple[nn.Module, Callable | None]] = []
    hooks = []
    for name, module in model.named_modules():
        if isinstance(module, MultiHeadAttention):
            # Layers call `attend` itself, which no hook of torch's sees.
            changed.append((module, vars(module).get("attend")))
            module.attend = _keeping(module, name, found)
        elif isinstance(module, AdditiveAttention):

            def keep(_module: nn.Module, _inputs: tuple, attended: Attended, name: str = name) -> None:
                found.setdefault(name, []).append(attended.weights.unsqueeze(-3))

            hooks.append(module.register_forward_hook(keep))
    try:
        yield found
    finally:
        for module, before in changed:
            if before is None:
                del module.attend
            else:  # somebody has put another one there
                module.attend = before
        for hook in hooks:
            hook.remove()


def _keeping(module: MultiHeadAttention, name: str, found: dict[str, list[torch.Tensor]]):
    attend = module.attend

    def attend_and_keep(
        query: torch.Tensor, known: KeyValueCache, mask: torch.Tensor | None, need_weights: bool = False
    ) -> Attended:
        attended = attend(query, known, mask, need_weights=True)
        found.setdefault(name, []).append(attended.weights)
        return attended if need_weights else attended._replace(weights=None)

    return attend_and_keep
