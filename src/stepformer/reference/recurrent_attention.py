"""Encoder and decoder with attention in NumPy: two recurrent networks, and the whole source in view.

Torch twin: `stepformer.nn.recurrent_attention`. The encoder reads the source in both directions and leaves its state at
every word (Bahdanau et al. 2015). The decoder makes its step, looks at these states with the additive score, and
chooses its word from what it saw and its own state (the order of Luong et al. 2015, without input feeding).

Parameters are named as in the twin: "src_embedding.weight", "tgt_embedding.weight", "encoder.layers.0.forward.…",
"encoder.layers.0.backward.…", "bridge.weight", "bridge.bias", "decoder.layers.0.forward.…", "cross_attention.w_query",
"cross_attention.w_key", "cross_attention.v", "combine.weight", "combine.bias", "output.weight" and "output.bias".
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from stepformer.ops import concat, copy, embed, linear, padding_mask, row, tanh
from stepformer.params import select
from stepformer.recording import axes_of, scope
from stepformer.reference.attention import additive_attention
from stepformer.reference.encoder_decoder import project
from stepformer.reference.recurrent import deep, gru

Params = Mapping[str, np.ndarray]


class Encoded(NamedTuple):
    """What the encoder leaves.

    Attributes:
        memory: (…, n_src, 2 · d_hidden) the states of both directions side by side; zeros over padding.
        hidden: (…, d_hidden) the decoder's first state.
        mask: booleans (…, 1, n_src), True = a word; None if nobody said what padding is.
    """

    memory: np.ndarray
    hidden: np.ndarray
    mask: np.ndarray | None


class Decoded(NamedTuple):
    """What the decoder makes of the words that it reads.

    Attributes:
        output: (…, n_tgt, d_hidden) for each word to be predicted what it is chosen from.
        hidden: (…, d_hidden) the decoder's state after the last word.
        weights: (…, n_tgt, n_src) where it looked; each row sums to 1.
    """

    output: np.ndarray
    hidden: np.ndarray
    weights: np.ndarray


def encode(src: np.ndarray, start: np.ndarray, params: Params, pad_id: int | None = None) -> Encoded:
    """Read the source in both directions; keep the state at every word.

    Formula: `memory[j] = [forward h[j], backward h[j]]`; `hidden = tanh(backward h[1] @ bridge.weight + bridge.bias)`
    (Bahdanau et al. 2015, section 3.2 and appendix A.2.2).

    Args:
        src: (…, n_src) token ids.
        start: (…, 2, d_hidden) the state of each direction before its first word, usually zeros.
        params: those of the whole model.
        pad_id: the id of padding, over which the states stay as they are; None: there is no padding.

    Returns:
        The states, the decoder's first state, and the mask of the padding.

    Raises:
        TypeError: `src` are not whole numbers.
        ValueError: shapes do not fit, an id is no row of the table, or a parameter is missing.
    """
    mask = None if pad_id is None else padding_mask(src, pad_id=pad_id, name="src_mask")
    x = embed(src, params["src_embedding.weight"], name="src_embedded")
    with scope("encoder"):
        read = deep("gru", x, start, select(params, "encoder"), mask=mask)
    with scope("bridge"):
        backward = row(read.hidden, index=1, name="backward")
        hidden = tanh(linear(backward, params["bridge.weight"], params["bridge.bias"], name="sum"), name="hidden")
    names = axes_of(read.states)
    memory = copy(read.states, name="memory", axes=(*names[:-1], "d_memory") if names else None)
    return Encoded(memory, hidden, mask)


def decode(
    tgt: np.ndarray,
    memory: np.ndarray,
    hidden: np.ndarray,
    params: Params,
    memory_mask: np.ndarray | None = None,
) -> Decoded:
    """Run the decoder over words that are given, then let each of its states look at the source.

    Formula: `s[t] = gru_step(y[t − 1], s[t − 1])`; `c[t] = additive_attention(s[t], memory, memory)`;
    `output[t] = tanh([c[t], s[t]] @ combine.weight + combine.bias)` (Luong et al. 2015, eq. 5).

    Args:
        tgt: (…, n_tgt) token ids; at first the start mark and the target shifted by one, later the new words only.
        memory: (…, n_src, 2 · d_hidden) what the encoder left.
        hidden: (…, d_hidden) the state before the first of these words.
        params: those of the whole model.
        memory_mask: booleans (…, 1, n_src), True = a word, or None.

    Returns:
        What the words are chosen from, the last state, and where the decoder looked.

    Raises:
        TypeError: `tgt` are not whole numbers, or the mask is not boolean.
        ValueError: as for `encode`.
    """
    x = embed(tgt, params["tgt_embedding.weight"], name="tgt_embedded")
    with scope("decoder"):
        read = gru(x, hidden, select(params, "decoder.layers.0.forward"))
    with scope("cross_attention"):
        attended = additive_attention(read.states, memory, memory, select(params, "cross_attention"), memory_mask)
    with scope("combine"):
        of_memory, of_state = axes_of(memory), axes_of(read.states)
        axes = (*of_state[:-1], f"{of_memory[-1]} and {of_state[-1]}") if of_memory and of_state else None
        joined = concat(attended.output, read.states, name="joined", axes=axes)
        summed = linear(joined, params["combine.weight"], params["combine.bias"], name="sum")
        output = tanh(summed, name="output")
    return Decoded(output, read.hidden, attended.weights)


def recurrent_attention(
    src: np.ndarray, tgt: np.ndarray, start: np.ndarray, params: Params, pad_id: int | None = None
) -> np.ndarray:
    """Read a source and predict every word of a target that is given.

    Formula: `project(decode(tgt, *encode(src)).output)`.

    Args:
        src: (…, n_src) token ids.
        tgt: (…, n_tgt) token ids, the start mark first.
        start: (…, 2, d_hidden) the state of each direction of the encoder before its first word, usually zeros.
        params: those of the whole model.
        pad_id: the id of padding in the source; None: there is none.

    Returns:
        Logits (…, n_tgt, tgt_vocab_size).

    Raises:
        TypeError: `src` or `tgt` are not whole numbers.
        ValueError: as for `encode`.
    """
    memory, hidden, mask = encode(src, start, params, pad_id)
    return project(decode(tgt, memory, hidden, params, mask).output, params)
