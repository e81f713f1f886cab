"""Encoder and decoder in NumPy: two recurrent networks with one vector between them.

Torch twin: `stepformer.nn.encoder_decoder`. The encoder reads the source; its state after the last word, the context,
is where the decoder starts. Nothing else passes from one to the other.

Parameters are named as in the twin: "src_embedding.weight", "tgt_embedding.weight", "encoder.layers.0.forward.…",
"decoder.layers.0.forward.…", "output.weight", "output.bias"; what … stands for depends on the kind of network, see
`stepformer.reference.recurrent`.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from stepformer.ops import copy, embed, hardmax, linear, matmul, padding_mask, row, stack
from stepformer.params import select
from stepformer.recording import axes_of, scope
from stepformer.reference.recurrent import Read, gru, gru_step, rnn, rnn_step

Params = Mapping[str, np.ndarray]
KINDS = {"rnn": (rnn, rnn_step), "gru": (gru, gru_step)}
"""The networks that both halves can be: a whole sequence, and one step of it."""


class Encoded(NamedTuple):
    """What the encoder leaves.

    Attributes:
        context: (…, d_hidden) the state after the last word: all that the decoder gets.
        states: (…, n_src, d_hidden) the states on the way, which the decoder never sees; zeros over padding.
    """

    context: np.ndarray
    states: np.ndarray


class Written(NamedTuple):
    """What a decoder writes that reads its own words.

    Attributes:
        words: (…, n_steps, tgt_vocab_size) the most probable word of each step, a 1 in its column.
        logits: (…, n_steps, tgt_vocab_size) the numbers before softmax.
    """

    words: np.ndarray
    logits: np.ndarray


def encode(src: np.ndarray, start: np.ndarray, params: Params, kind: str = "gru", pad_id: int | None = None) -> Encoded:
    """Read the source; keep the state after its last word.

    Formula: `h[t] = step(x[t], h[t − 1])`, `c = h[n_src]` (Sutskever et al. 2014, section 2).

    Args:
        src: (…, n_src) token ids.
        start: (…, d_hidden) the state before the first word, usually zeros.
        params: those of the whole model.
        kind: "rnn" or "gru".
        pad_id: the id of padding, over which the state stays as it is; None: there is no padding.

    Returns:
        The context, and the states on the way.

    Raises:
        TypeError: `src` are not whole numbers.
        ValueError: the kind is unknown, shapes do not fit, an id is no row of the table, or a parameter is missing.
    """
    read, _ = _networks(kind)
    mask = None if pad_id is None else padding_mask(src, pad_id=pad_id, name="src_mask")
    x = embed(src, params["src_embedding.weight"], name="src_embedded")
    with scope("encoder"):
        states, last, _ = read(x, start, select(params, "encoder.layers.0.forward"), mask=mask)
    return Encoded(copy(last, name="context"), states)


def decode(tgt: np.ndarray, context: np.ndarray, params: Params, kind: str = "gru") -> Read:
    """Run the decoder over a target that is given, as in training: teacher forcing.

    Formula: `s[t] = step(y[t − 1], s[t − 1])`, `s[0] = c`, y the vectors of the given words.

    Args:
        tgt: (…, n_tgt) token ids; the first is the start mark, the others are the target shifted by one.
        context: (…, d_hidden) what the encoder left.
        params: those of the whole model.
        kind: "rnn" or "gru".

    Returns:
        The states (…, n_tgt, d_hidden), one for each word to be predicted, and the last of them.

    Raises:
        TypeError: `tgt` are not whole numbers.
        ValueError: as for `encode`.
    """
    read, _ = _networks(kind)
    x = embed(tgt, params["tgt_embedding.weight"], name="tgt_embedded")
    with scope("decoder"):
        return read(x, context, select(params, "decoder.layers.0.forward"))


def project(states: np.ndarray, params: Params) -> np.ndarray:
    """From a state of the decoder to a number for each word of the target vocabulary.

    Formula: `logits = states @ output.weight + output.bias`; softmax makes probabilities of them.

    Args:
        states: (…, d_hidden).
        params: "output.weight" (d_hidden, tgt_vocab_size), "output.bias" (tgt_vocab_size,), among others.

    Returns:
        (…, tgt_vocab_size).

    Raises:
        ValueError: shapes do not fit.
    """
    return linear(states, params["output.weight"], params["output.bias"], name="logits")


def encoder_decoder(
    src: np.ndarray,
    tgt: np.ndarray,
    start: np.ndarray,
    params: Params,
    kind: str = "gru",
    pad_id: int | None = None,
) -> np.ndarray:
    """Read a source and predict every word of a target that is given.

    Formula: `project(decode(tgt, encode(src).context).states)`.

    Args:
        src: (…, n_src) token ids.
        tgt: (…, n_tgt) token ids, the start mark first.
        start: (…, d_hidden) the encoder's state before the first word, usually zeros.
        params: those of the whole model.
        kind: "rnn" or "gru".
        pad_id: the id of padding in the source; None: there is none.

    Returns:
        Logits (…, n_tgt, tgt_vocab_size).

    Raises:
        TypeError: `src` or `tgt` are not whole numbers.
        ValueError: as for `encode`.
    """
    context = encode(src, start, params, kind, pad_id).context
    return project(decode(tgt, context, params, kind).states, params)


def feed_back(bos: np.ndarray, context: np.ndarray, params: Params, n_steps: int, kind: str = "gru") -> Written:
    """Let the decoder write on its own: each step reads the word that the step before found most probable.

    Formula: `y[t] = hardmax(logits[t]) @ tgt_embedding.weight`, which is the row of the most probable word. It writes
    n_steps words, also after the end mark: a recorded program has a fixed length. `greedy` stops.

    Args:
        bos: (…, 1) the id of the start mark.
        context: (…, d_hidden) what the encoder left.
        params: those of the whole model.
        n_steps: how many words to write, 1 or more.
        kind: "rnn" or "gru".

    Returns:
        The words and their logits.

    Raises:
        TypeError: `bos` are not whole numbers.
        ValueError: as for `encode`, or `n_steps` is below 1.
    """
    if n_steps < 1:
        raise ValueError(f"n_steps is {n_steps}; it must be 1 or more.")
    _, step = _networks(kind)
    table, own = params["tgt_embedding.weight"], select(params, "decoder.layers.0.forward")
    first = embed(bos, table, name="bos_embedded")
    state, words, logits = context, [], []
    for t in range(n_steps):
        with scope(f"decoder.step_{t + 1}"):
            x = row(first, index=0, name="x") if t == 0 else matmul(words[-1], table, name="x")
            state = step(x, state, own)
            logits.append(project(state, params))
            words.append(hardmax(logits[-1], name="word"))
    names = axes_of(logits[0])
    axes = None if names is None else (*names[:-1], "written", names[-1])
    return Written(stack(*words, name="words", axes=axes), stack(*logits, name="all_logits", axes=axes))


def greedy(
    src: np.ndarray,
    start: np.ndarray,
    params: Params,
    bos_id: int,
    eos_id: int,
    max_len: int,
    kind: str = "gru",
    pad_id: int | None = None,
) -> list[int]:
    """Translate one sentence: feed the most probable word back until it is the end mark.

    Formula: `s[t] = step(y[t − 1], s[t − 1])`, `y[t] = argmax(project(s[t]))`, with `y[0] = bos_id` and `s[0]` the
    context, until `y[t]` is `eos_id`. The number of steps is known only at the end, so this can not be a recorded
    program; `feed_back` is one, of fixed length.

    Args:
        src: (n_src,) token ids of one sentence.
        start: (d_hidden,) the encoder's state before the first word, usually zeros.
        params: those of the whole model.
        bos_id: the id of the start mark, which is read first and not returned.
        eos_id: the id of the end mark.
        max_len: the largest number of words to write, 1 or more.
        kind: "rnn" or "gru".
        pad_id: the id of padding in the source; None: there is none.

    Returns:
        The ids that were written. The last is `eos_id`, unless `max_len` was reached first.

    Raises:
        TypeError: `src` are not whole numbers.
        ValueError: as for `encode`, `src` is not one sentence, or `max_len` is below 1.
    """
    if np.ndim(src) != 1 or max_len < 1:
        raise ValueError(f"greedy: src has shape {np.shape(src)} and max_len is {max_len}; it must be one sentence, "
                         "(n_src,), and 1 or more.")  # fmt: skip
    _, step = _networks(kind)
    table, own = params["tgt_embedding.weight"], select(params, "decoder.layers.0.forward")
    state, written = encode(src, start, params, kind, pad_id).context, [bos_id]
    while len(written) <= max_len and (len(written) == 1 or written[-1] != eos_id):
        state = step(embed(np.array(written[-1:]), table)[0], state, own)
        written.append(int(project(state, params).argmax()))
    return written[1:]


def _networks(kind: str):
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it is one of {', '.join(KINDS)}.")
    return KINDS[kind]
