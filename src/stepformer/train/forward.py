"""How a model is run in training: in half precision, compiled, or with less memory. The model itself stays as it is."""

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from stepformer.nn import DecoderLayer, EncoderLayer
from stepformer.train.config import Compute, ConfigError

LAYERS = (EncoderLayer, DecoderLayer)
"""What keeps many activations, and can be computed again."""


def forward_of(model: nn.Module, settings: Compute) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Say how a model is run in training.

    Args:
        model: with forward(src, tgt) → logits; its layers are changed in place where `recompute` is set.
        settings: precision, compile and recompute are used.

    Returns:
        A function of source and target, (…, n_src) and (…, n_tgt) token ids, to logits in float32.

    Raises:
        ConfigError: the model has no layers that could be computed again.
    """
    if settings.recompute:
        _recompute(model)
    run = torch.compile(model, dynamic=True) if settings.compile else model
    if settings.precision == "float32":
        return run
    dtype = getattr(torch, settings.precision)

    def in_half(src: torch.Tensor, tgt: torch.Tensor) -> torch.Tensor:
        with torch.autocast(src.device.type, dtype=dtype):
            return run(src, tgt).float()

    return in_half


def restore(model: nn.Module) -> None:
    """Let a model's layers keep their activations again.

    Args:
        model: as `forward_of` left it; changed in place.
    """
    for layer in model.modules():
        if isinstance(layer, LAYERS):
            vars(layer).pop("forward", None)


def _recompute(model: nn.Module) -> None:
    """Activation checkpointing (Chen et al. 2016): of each layer its input is kept, and the rest computed twice."""
    layers = [layer for layer in model.modules() if isinstance(layer, LAYERS)]
    if not layers:
        raise ConfigError("compute.recompute is true; only a transformer has layers that can be computed again.")

    def run(layer: nn.Module, plain: Callable[..., Any], *inputs: Any, **named: Any) -> Any:
        if not (layer.training and torch.is_grad_enabled()):
            return plain(*inputs, **named)
        return checkpoint(plain, *inputs, use_reentrant=False, **named)

    for layer in layers:
        layer.forward = functools.partial(run, layer, layer.forward)
