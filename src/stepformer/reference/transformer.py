"""The whole Transformer in NumPy, from token ids to logits. Torch twin: `stepformer.nn.transformer`.

What a model has is read from its parameters: the number of layers, learned positions (else sinusoids), a norm after
the last layer, an output layer of its own (else the table of the target).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from stepformer.ops import linear, padding_mask, transpose
from stepformer.params import select
from stepformer.recording import leaf, scope
from stepformer.reference.decoder import decoder
from stepformer.reference.encoder import encoder
from stepformer.reference.input_block import input_block
from stepformer.reference.masks import target_mask


class Encoded(NamedTuple):
    """What the encoder hands to the decoder: one row for each token of the source, and which rows are no padding."""

    memory: np.ndarray
    mask: np.ndarray


def transformer(
    src: np.ndarray,
    tgt: np.ndarray,
    params: Mapping[str, np.ndarray],
    n_heads: int,
    pad_id: int = 0,
    norm_first: bool = False,
    activation: str = "relu",
) -> np.ndarray:
    """From the tokens of the source and of the target so far, the logits of the token that comes next.

    Formula: `project(decode(tgt, encode(src)))` (Vaswani et al. 2017, figure 1, without the softmax). Row i of the
    result depends on all of `src` and on `tgt` up to i.

    Args:
        src: (…, n_src) token ids.
        tgt: (…, n_tgt) token ids, beginning with that of <bos>.
        params: "src_embedding.weight" (src_vocab_size, d_model), "tgt_embedding.weight" (tgt_vocab_size, d_model),
            "encoder.layers.0.…", "decoder.layers.0.…", "output.weight" (d_model, tgt_vocab_size), "output.bias", as
            `params.to_arrays(nn.Transformer(…).state_dict())` gives them.
        n_heads: number of heads.
        pad_id: the id of padding on both sides.
        norm_first: normalise what goes into a sub-layer, not the sum that comes after it.
        activation: of the feed-forward networks, "relu" or "gelu".

    Returns:
        (…, n_tgt, tgt_vocab_size). The rows of padding are to be ignored.

    Raises:
        TypeError: ids are not whole numbers.
        ValueError: an id is in no vocabulary, a sequence is longer than learned positions reach, or shapes do not fit.
    """
    memory, mask = encode(src, params, n_heads, pad_id, norm_first, activation)
    x = decode(tgt, memory, params, n_heads, mask, pad_id, norm_first, activation)
    return project(x, params)


def encode(
    src: np.ndarray,
    params: Mapping[str, np.ndarray],
    n_heads: int,
    pad_id: int = 0,
    norm_first: bool = False,
    activation: str = "relu",
) -> Encoded:
    """Read the source: one vector for each token, with its context in it.

    Formula: `encoder(input_block(src), padding_mask(src))` (Vaswani et al. 2017, figure 1, left).

    Args:
        src: (…, n_src) token ids.
        params: as for `transformer`; those of the source are used.
        n_heads: number of heads.
        pad_id: the id of padding.
        norm_first: normalise what goes into a sub-layer, not the sum that comes after it.
        activation: of the feed-forward networks, "relu" or "gelu".

    Returns:
        memory (…, n_src, d_model) and mask (…, 1, n_src), True = no padding.
    """
    mask = padding_mask(src, pad_id=pad_id, name="src_mask")
    x = input_block(src, params, "src")
    with scope("encoder"):
        return Encoded(encoder(x, select(params, "encoder"), n_heads, mask, norm_first, activation), mask)


def decode(
    tgt: np.ndarray,
    memory: np.ndarray,
    params: Mapping[str, np.ndarray],
    n_heads: int,
    memory_mask: np.ndarray | None = None,
    pad_id: int = 0,
    norm_first: bool = False,
    activation: str = "relu",
) -> np.ndarray:
    """Write the target: one vector for each position, which knows what comes before it and the source.

    Formula: `decoder(input_block(tgt), memory, target_mask(tgt))` (Vaswani et al. 2017, figure 1, right).

    Args:
        tgt: (…, n_tgt) token ids; in training the target shifted by one, later what has been written so far.
        memory: (…, n_src, d_model), what `encode` returned.
        params: as for `transformer`; those of the target are used.
        n_heads: number of heads.
        memory_mask: booleans (…, 1, n_src), what `encode` returned with it; None where there is no padding.
        pad_id: the id of padding.
        norm_first: normalise what goes into a sub-layer, not the sum that comes after it.
        activation: of the feed-forward networks, "relu" or "gelu".

    Returns:
        (…, n_tgt, d_model).
    """
    x = input_block(tgt, params, "tgt")
    mask = target_mask(tgt, x, pad_id)
    with scope("decoder"):
        return decoder(x, memory, select(params, "decoder"), n_heads, mask, memory_mask, norm_first, activation)


def project(x: np.ndarray, params: Mapping[str, np.ndarray]) -> np.ndarray:
    """A score for each word of the target's vocabulary; softmax makes probabilities of them.

    Formula: `x @ output.weight + output.bias`; without an "output.weight" the table of the target takes its place,
    transposed (weight tying: Vaswani et al. 2017, section 3.4; Press and Wolf 2017).

    Args:
        x: (…, n_tgt, d_model), what `decode` returned.
        params: "output.weight" (d_model, tgt_vocab_size), or "tgt_embedding.weight"; and "output.bias".

    Returns:
        (…, n_tgt, tgt_vocab_size).
    """
    tied = "output.weight" not in params
    weight = transpose(params["tgt_embedding.weight"], name="output_weight") if tied else params["output.weight"]
    return linear(x, weight, params["output.bias"], name="logits")


AXES = {
    "src_embedding.weight": ("src_vocabulary", "d_model"),
    "tgt_embedding.weight": ("tgt_vocabulary", "d_model"),
    "positions.embedding.weight": ("position", "d_model"),
    "w_1.weight": ("d_model", "d_ff"),
    "w_1.bias": ("d_ff",),
    "w_2.weight": ("d_ff", "d_model"),
    "output.weight": ("d_model", "tgt_vocabulary"),
    "output.bias": ("tgt_vocabulary",),
}
"""The axes of a parameter by the end of its name. All others are "d_model" along every axis."""


def leaves(
    params: Mapping[str, np.ndarray], labels: Mapping[str, Sequence[str]] | None = None
) -> dict[str, np.ndarray]:
    """Declare all parameters of a model as inputs of the program that is being recorded.

    Formula: `out[name] = leaf(name, params[name], axes)`, with axes named after the end of the name.

    Args:
        params: name -> array, as for `transformer`.
        labels: axis name -> one text for each position, for example "tgt_vocabulary" -> words.

    Returns:
        The same names -> the arrays that are to be handed on.
    """
    declared = {}
    for name, array in params.items():
        ending = next((ending for ending in AXES if name.endswith(ending)), None)
        axes = AXES[ending] if ending else ("d_model",) * np.ndim(array)
        known = {axis: labels[axis] for axis in axes if axis in (labels or {})}
        declared[name] = leaf(name, array, axes, known)
    return declared
