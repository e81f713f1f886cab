"""What the tests of layers and of the whole model share: small models, sentences of every kind, their programs."""

import numpy as np
import torch

from stepformer import leaf, nn, record
from stepformer.params import to_arrays
from stepformer.reference import transformer as reference

D_MODEL, N_HEADS, D_FF, N_SRC, N_TGT = 10, 2, 14, 3, 4
SRC_WORDS, TGT_WORDS = 11, 13
PAD = 0

ORDERS = [(norm_first, activation) for norm_first in (False, True) for activation in ("relu", "gelu")]
"""Both orders of norm and sub-layer, both activations."""

SENTENCES = {
    "one sentence": ([3, 4, 5], [1, 2, 6, 7]),
    "a batch of one": ([[3, 4, 5]], [[1, 2, 6, 7]]),
    "length one": ([[3]], [[1]]),
    "one source token": ([[3], [9]], [[1, 2, 6], [1, 5, 0]]),
    "ragged": ([[3, 4, 5, 6], [7, 8, 0, 0], [9, 0, 0, 0]], [[1, 2, 0, 0, 0], [1, 3, 4, 5, 6], [1, 7, 8, 0, 0]]),
    "no padding": ([[3, 4, 5], [6, 7, 8]], [[1, 2, 3, 4], [1, 5, 6, 7]]),
    "nothing to read": ([[0, 0, 0], [3, 4, 0]], [[1, 2], [1, 3]]),
    "padding at the left": ([[0, 0, 5], [6, 7, 8]], [[0, 0, 1, 2], [1, 5, 6, 0]]),
    "two leading axes": ([[[3, 4], [5, 0]]], [[[1, 2, 3], [1, 4, 0]]]),
}
"""Token ids of source and target; 0 is padding."""


def sentences(kind):
    return tuple(torch.tensor(tokens) for tokens in SENTENCES[kind])


def uneven(module, seed=0):
    """The same module, in double precision, without dropout, with no gain 1 and no bias 0 left."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in module.double().eval().named_parameters():
            noise = torch.empty_like(parameter).normal_(std=0.3, generator=generator)
            if not name.endswith("embedding.weight"):
                parameter.add_(noise)
    return module


def model(norm_first=False, activation="relu", **options):
    sizes = {"d_model": D_MODEL, "n_heads": N_HEADS, "n_encoder_layers": 2, "n_decoder_layers": 3, "d_ff": D_FF}
    sizes |= {"generator": torch.Generator().manual_seed(5)} | options
    return uneven(nn.Transformer(SRC_WORDS, TGT_WORDS, norm_first=norm_first, activation=activation, **sizes))


def arrays(module):
    return to_arrays(module.state_dict())


def program(module, src, tgt, **options):
    """The whole model as a recorded program; source and target, one sentence each, are its leaves."""
    with record("Transformer") as trace:
        words = {"src": [f"s{i}" for i in range(SRC_WORDS)], "tgt": [f"t{i}" for i in range(TGT_WORDS)]}
        tokens = [leaf(side, ids, side, vocabulary=words[side]) for side, ids in (("src", src), ("tgt", tgt))]
        reference.transformer(*tokens, reference.leaves(arrays(module)), N_HEADS, **options)
    return trace


def real(tokens):
    """Where a token is no padding."""
    return np.asarray(tokens) != PAD


def torchs_layer(kind, module):
    """A layer of torch's own, of this kind, with the weights of ours and without dropout."""
    own = kind(
        D_MODEL, N_HEADS, D_FF, 0.0, module.feed_forward.activation, batch_first=True, norm_first=module.norm_first,
        dtype=torch.float64,
    )  # fmt: skip
    own.load_state_dict(nn.to_torch_names(module.state_dict()))
    return own
