"""A trained recurrent translator as a recorded program: the weights of a model directory, run by the NumPy reference.

As `stepformer.translation_program` does for a Transformer, for the kinds "gru" and "gru_attention". These read one word
after the other, so a program is for the lengths of its two sentences: the words may be changed, not their number.
"""

from collections.abc import Sequence

import numpy as np

from stepformer.checkpoint import Stored
from stepformer.ops import softmax
from stepformer.recording import leaf, record
from stepformer.reference.encoder_decoder import encoder_decoder
from stepformer.reference.recurrent_attention import recurrent_attention
from stepformer.trace import Trace

BOS = 1
"""The id that begins a sentence, the same in every vocabulary (`stepformer.data.tokenizer`)."""
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
    kind, arguments = stored.info["kind"], stored.info["arguments"]
    if kind not in KINDS:
        raise ValueError(f"The model is of kind {kind!r}; recorded as this program can be {' and '.join(KINDS)}.")
    words = {side: stored.info[f"{side}_tokenizer"]["vocabulary"] for side in ("src", "tgt")}
    labels = {f"{side}_vocabulary": vocabulary for side, vocabulary in words.items()}
    lengths = {"src": len(src), "tgt": len(tgt)}
    with record(title or stored.info["record"].get("title", "A trained recurrent translator"), lengths) as trace:
        ids = [leaf(side, np.array(given, dtype=int), (side,), vocabulary=words[side])
               for side, given in (("src", src), ("tgt", tgt))]  # fmt: skip
        params = {}
        for name, array in sorted(stored.arrays.items()):  # the order of a file may change from run to run
            array = (array.astype(np.float16) if half else array).astype(np.float64)
            axes = next(axes for ending, axes in AXES.items() if name.endswith(ending))
            known = {axis: labels[axis] for axis in axes if axis in labels}
            params[name] = leaf(name, array, axes, known)
        d_hidden, pad_id = arguments["d_hidden"], arguments["pad_id"]
        if kind == "gru":
            start = leaf("start", np.zeros(d_hidden), ("d_hidden",))
            logits = encoder_decoder(*ids, start, params, arguments["kind"], pad_id)
        else:
            start = leaf("start", np.zeros((2, d_hidden)), ("direction", "d_hidden"))
            logits = recurrent_attention(*ids, start, params, pad_id)
        softmax(logits, name="probabilities")
    return trace
