"""Our names of parameters and those of torch's own Transformer: the same numbers, to be carried over either way.

torch keeps the weights of query, key and value in one matrix and numbers its norms.
"""

from collections.abc import Mapping

import torch

OURS, THEIRS = "feed_forward.w_1.weight", "linear1.weight"
"""How a layer is recognised."""


def to_torch_names(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Turn the parameters of our encoder, decoder, layer or Transformer into those of torch's.

    Args:
        state: our `state_dict()`.

    Returns:
        To be loaded into `torch.nn.TransformerEncoder`, `TransformerDecoder`, one of their layers or
        `torch.nn.Transformer`. Embeddings and the output layer, which torch's have not, are left out.
    """
    return {theirs: torch.cat([state[name] for name in ours]) for ours, theirs in _pairs(state, OURS)}


def from_torch_names(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Turn the parameters of torch's encoder, decoder, layer or Transformer into those of ours.

    Args:
        state: torch's `state_dict()`.

    Returns:
        To be loaded into ours; into a whole Transformer with `strict=False`, for it has more.
    """
    pairs = [(ours, state[theirs].chunk(len(ours))) for ours, theirs in _pairs(state, THEIRS)]
    return {name: part for ours, parts in pairs for name, part in zip(ours, parts, strict=True)}


def _pairs(state: Mapping[str, torch.Tensor], mark: str) -> list[tuple[tuple[str, ...], str]]:
    """For each parameter of torch's its name, and the names of ours that together make it."""
    pairs: list[tuple[tuple[str, ...], str]] = []
    for layer in [name.removesuffix(mark) for name in state if name.endswith(mark)]:
        across = {f"{layer}cross_attention.w_q.weight", f"{layer}multihead_attn.in_proj_weight"} & state.keys()
        attentions = {"self_attention": "self_attn"} | ({"cross_attention": "multihead_attn"} if across else {})
        for ours, theirs in attentions.items():
            for kind in ("weight", "bias"):
                parts = tuple(f"{layer}{ours}.w_{role}.{kind}" for role in "qkv")
                pairs.append((parts, f"{layer}{theirs}.in_proj_{kind}"))
                pairs.append(((f"{layer}{ours}.w_o.{kind}",), f"{layer}{theirs}.out_proj.{kind}"))
        for k, kind in ((k, kind) for k in (1, 2) for kind in ("weight", "bias")):
            pairs.append(((f"{layer}feed_forward.w_{k}.{kind}",), f"{layer}linear{k}.{kind}"))
        for k, name in enumerate([*attentions, "feed_forward"], start=1):
            pairs += _norm(f"{layer}{name}_norm", f"{layer}norm{k}")
    for stack in ("", "encoder.", "decoder."):
        if {f"{stack}norm.gain", f"{stack}norm.weight"} & state.keys():
            pairs += _norm(f"{stack}norm", f"{stack}norm")
    return pairs


def _norm(ours: str, theirs: str) -> list[tuple[tuple[str, ...], str]]:
    return [((f"{ours}.gain",), f"{theirs}.weight"), ((f"{ours}.bias",), f"{theirs}.bias")]
