"""The kinds of models that can be trained, stored and asked to translate, each under the name that files give it.

Every kind offers `forward(src, tgt)` and `encode`, `decode`, `project`. A new kind is one entry of `KINDS`: its class,
whose arguments JSON can hold, and how to read these arguments off a model.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import nn

from stepformer.nn import EncoderDecoder, LearnedPositions, RecurrentAttention, Transformer


class Kind(NamedTuple):
    """One kind of model.

    Attributes:
        model: its class.
        arguments: from a model to the arguments that build one of the same shape.
    """

    model: type[nn.Module]
    arguments: Callable[[Any], dict[str, Any]]


def build(kind: str, arguments: Mapping[str, Any], seed: int = 0) -> nn.Module:
    """Make a new model; torch's own random numbers are afterwards where they were before.

    Args:
        kind: a key of `KINDS`.
        arguments: those of the class, by name.
        seed: of the first values of the parameters.

    Returns:
        The model, in training mode.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: the kind or an argument is unknown, one is missing, or a value is out of range.
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(KINDS)}.")
    model = KINDS[kind].model
    allowed = {
        name: parameter for name, parameter in inspect.signature(model).parameters.items() if name != "generator"
    }
    needed = [name for name, parameter in allowed.items() if parameter.default is parameter.empty]
    if unknown := sorted(set(arguments) - set(allowed)):
        raise ValueError(f"arguments of a {kind}: {', '.join(unknown)} unknown; there are {', '.join(allowed)}.")
    if missing := [name for name in needed if name not in arguments]:
        raise ValueError(f"arguments of a {kind}: {', '.join(missing)} missing.")
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        takes_generator = "generator" in inspect.signature(model).parameters
        return model(**arguments, **({"generator": torch.Generator().manual_seed(seed)} if takes_generator else {}))


def kind_of(model: nn.Module) -> tuple[str, dict[str, Any]]:
    """Tell which kind a model is of, and the arguments that build one of the same shape.

    Args:
        model: an instance of a class of `KINDS`.

    Returns:
        A key of `KINDS`, and the arguments by name, as JSON can hold them.

    Raises:
        TypeError: it is of no kind that can be stored.
    """
    for name, kind in KINDS.items():
        if type(model) is kind.model:
            return name, kind.arguments(model)
    raise TypeError(f"model is a {type(model).__name__}; kinds that can be stored are {', '.join(KINDS)}.")


def _of_transformer(model: Transformer) -> dict[str, Any]:
    layer = model.encoder.layers[0]
    attention, network = layer.self_attention, layer.feed_forward
    learned = isinstance(model.src_positions, LearnedPositions)
    rows = model.src_positions.embedding.weight if learned else model.src_positions.table
    return {
        "src_vocab_size": len(model.src_embedding.weight),
        "tgt_vocab_size": len(model.tgt_embedding.weight),
        "d_model": int(layer.d_model),
        "n_heads": int(attention.n_heads),
        "d_ff": network.w_1.out_features,
        "dropout": float(attention.dropout),
        "activation": network.activation,
        "norm_first": bool(layer.norm_first),
        "final_norm": model.encoder.norm is not None,
        "n_encoder_layers": len(model.encoder.layers),
        "n_decoder_layers": len(model.decoder.layers),
        "positions": "learned" if learned else "sinusoidal",
        "max_len": len(rows),
        "pad_id": int(model.pad_id),
        "share_embeddings": model.tgt_embedding is model.src_embedding,
        "tie_output": model.output.weight is model.tgt_embedding.weight,
    }


def _of_encoder_decoder(model: EncoderDecoder) -> dict[str, Any]:
    return {
        "src_vocab_size": len(model.src_embedding.weight),
        "tgt_vocab_size": len(model.tgt_embedding.weight),
        "d_embedding": model.src_embedding.weight.shape[1],
        "d_hidden": model.encoder.hidden_size,
        "kind": type(model.encoder).__name__.lower(),
        "pad_id": int(model.pad_id),
    }


def _of_recurrent_attention(model: RecurrentAttention) -> dict[str, Any]:
    return {
        "src_vocab_size": len(model.src_embedding.weight),
        "tgt_vocab_size": len(model.tgt_embedding.weight),
        "d_embedding": model.src_embedding.weight.shape[1],
        "d_hidden": model.encoder.hidden_size,
        "d_attention": len(model.cross_attention.v),
        "dropout": float(model.dropout.share),
        "pad_id": int(model.pad_id),
    }


KINDS: dict[str, Kind] = {
    "transformer": Kind(Transformer, _of_transformer),
    "gru": Kind(EncoderDecoder, _of_encoder_decoder),
    "gru_attention": Kind(RecurrentAttention, _of_recurrent_attention),
}
"""The name of each kind in files -> the kind."""
