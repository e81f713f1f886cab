"""A trained recurrent translator as a recorded program: the weights of a model directory, run by the NumPy reference.

As `stepformer.translation_program` does for a Transformer, for the kinds "gru" and "gru_attention". These read one word
after the other, so a program is for the lengths of its two sentences: the words may be changed, not their number.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from stepformer.checkpoint import Stored
from stepformer.ops import softmax
from stepformer.recording import leaf, record
from stepformer.reference.encoder_decoder import encoder_decoder
from stepformer.reference.recurrent_attention import recurrent_attention
from stepformer.trace import Trace

BOS, EOS = 1, 2
"""The ids that begin and end a sentence, the same in every vocabulary (`stepformer.data.tokenizer`)."""
KINDS = ("gru", "gru_attention")

AXES = {
    "src_embedding.weight": ("src_vocabulary", "d_embedding"),
    "tgt_embedding.weight": ("tgt_vocabulary", "d_embedding"),
    "output.weight": ("d_hidden", "tgt_vocabulary"),
    "output.bias": ("tgt_vocabulary",),
    "w_x.weight": ("d_embedding", "d_hidden"),
    "w_h.weight": ("d_hidden", "d_hidden"),
    "bridge.weight": ("d_hidden", "d_hidden"),
    "combine.weight": ("d_memory and d_hidden", "d_hidden"),
    "w_query": ("d_hidden", "d_attention"),
    "w_key": ("d_memory", "d_attention"),
    "cross_attention.v": ("d_attention",),
    "weight": ("d_embedding and d_hidden", "d_hidden"),
    "bias": ("d_hidden",),
}
"""The axes of a parameter by the end of its name, the first that fits."""


def recurrent_program(
    stored: Stored, src: Sequence[int], tgt: Sequence[int] = (BOS,), half: bool = True, title: str = ""
) -> Trace:
    """Record how a trained recurrent translator predicts the next words of a translation.

    Formula: `softmax(encoder_decoder(src, tgt))`, or `softmax(recurrent_attention(src, tgt))`.

    Args:
        stored: what `checkpoint.read_model` returned.
        src: (n_src,) the ids of the source, <eos> included.
        tgt: (n_tgt,) the ids of what is written so far, <bos> included.
        half: round the parameters to float16, as pages store them.
        title: for the player's heading.

    Returns:
        A program with the leaves "src" and "tgt", fixed at these lengths, "start", the encoder's first state, and every
        parameter. Its result is "probabilities" (n_tgt, tgt_vocab_size).

    Raises:
        ValueError: the model is of another kind, or an id is in no vocabulary.
    """
    arrays = _parameters(stored, half)
    words = {side: stored.info[f"{side}_tokenizer"]["vocabulary"] for side in ("src", "tgt")}
    labels = {f"{side}_vocabulary": vocabulary for side, vocabulary in words.items()}
    lengths = {"src": len(src), "tgt": len(tgt)}
    with record(title or stored.info["record"].get("title", "A trained recurrent translator"), lengths) as trace:
        ids = [leaf(side, np.array(given, dtype=int), (side,), vocabulary=words[side])
               for side, given in (("src", src), ("tgt", tgt))]  # fmt: skip
        params = {}
        for name, array in arrays.items():
            axes = next(axes for ending, axes in AXES.items() if name.endswith(ending))
            known = {axis: labels[axis] for axis in axes if axis in labels}
            params[name] = leaf(name, array, axes, known)
        zeros = _start(stored)
        start = leaf("start", zeros, ("direction", "d_hidden")[-zeros.ndim :])
        softmax(_logits(stored, *ids, start, params), name="probabilities")
    return trace


def translate_greedily(stored: Stored, src: Sequence[int], half: bool = True, max_len: int | None = None) -> list[int]:
    """Translate with the NumPy reference, without torch: always the most probable next word.

    Formula: `tgt_{i+1} = argmax(logits_i)`.

    Args:
        stored: what `checkpoint.read_model` returned.
        src: the ids of the source, <eos> included.
        half: round the parameters to float16, as pages store them.
        max_len: the largest number of words; if not given, 10 more than twice as many as are read, as for a
            `Translator`.

    Returns:
        The ids of the translation; the last one is <eos> if it was finished.

    Raises:
        ValueError: the model is of another kind, or an id is in no vocabulary.
    """
    params = _parameters(stored, half)
    most = 2 * (len(src) - 1) + 10 if max_len is None else max_len
    ids = [BOS]
    while len(ids) <= most and ids[-1] != EOS:
        logits = _logits(stored, np.array(src), np.array(ids), _start(stored), params)
        ids.append(int(logits[-1].argmax()))
    return ids[1:]


def _parameters(stored: Stored, half: bool) -> dict[str, np.ndarray]:
    """In float64, in the order of their names: that of a file may change from run to run."""
    if (kind := stored.info["kind"]) not in KINDS:
        raise ValueError(f"The model is of kind {kind!r}; recorded as this program can be {' and '.join(KINDS)}.")
    return {
        name: (array.astype(np.float16) if half else array).astype(np.float64)
        for name, array in sorted(stored.arrays.items())
    }


def _start(stored: Stored) -> np.ndarray:
    """The encoder's state before the first word, one for each direction in which it reads."""
    d_hidden = stored.info["arguments"]["d_hidden"]
    return np.zeros(d_hidden if stored.info["kind"] == "gru" else (2, d_hidden))


def _logits(
    stored: Stored, src: np.ndarray, tgt: np.ndarray, start: np.ndarray, params: Mapping[str, np.ndarray]
) -> np.ndarray:
    arguments = stored.info["arguments"]
    if stored.info["kind"] == "gru":
        return encoder_decoder(src, tgt, start, params, arguments["kind"], arguments["pad_id"])
    return recurrent_attention(src, tgt, start, params, arguments["pad_id"])
