"""The logit lens (nostalgebraist 2020): read the residual stream through the output layer at each depth.

A decoder adds to one stream of vectors, sub-layer by sub-layer, and only the last state is read. The lens reads every
state as if it were the last one, through the same norm and the same output layer.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from stepformer.checkpoint import Stored
from stepformer.ops import hardmax, multiply, softmax, stack, total
from stepformer.params import select
from stepformer.recording import scope
from stepformer.reference._layers import final_norm
from stepformer.reference.transformer import project
from stepformer.trace import Trace
from stepformer.translation_program import BOS, translation_program

SUBLAYERS = ("self_attention", "cross_attention", "feed_forward")
DEPTH = "depth"
"""The axis along which `lens.chances` goes from the embedding to the last layer, with labels such as "1 cross"."""


def lens_program(
    stored: Stored,
    src: Sequence[int],
    tgt: Sequence[int] = (BOS,),
    half: bool = True,
    title: str = "",
    breaks: bool = True,
) -> Trace:
    """Record a trained Transformer, and at each depth what it would say if it ended there.

    Formula: `probabilities = softmax(project(norm(stream)))` for the stream after the embedding and each sub-layer
    of the decoder. With norms before the sub-layers, `norm` is the one after the last layer; with norms after them, as
    in the paper, each state has been normalised already.

    Args:
        stored: what `checkpoint.read_model` returned.
        src: the ids of the source, <eos> included.
        tgt: the ids of what is written so far, <bos> included.
        half: round the parameters to float16, as the page stores them.
        title: for the player's heading.
        breaks: with the switches that take a head or the positions away.

    Returns:
        The program of `translation_program`, which goes on: for each depth a scope such as
        "lens.layer_0_cross_attention" with "logits" and "probabilities" (n_tgt, tgt_vocab_size), and at the end
        "lens.chances" (depths, n_tgt), the probability at each depth of the word that the whole model says.

    Raises:
        ValueError: the model is no Transformer, or an id is in no vocabulary.
    """
    if stored.info["kind"] != "transformer":
        raise ValueError(f"the model is no Transformer but {stored.info['kind']!r}, which has no stream to read.")
    n_layers, norm_first = (stored.info["arguments"].get(name) for name in ("n_decoder_layers", "norm_first"))
    stream = stream_names(n_layers, norm_first)

    def read_each_depth(trace: Trace, params: Mapping[str, np.ndarray]) -> None:
        norm = select(params, "decoder")
        states = {depth: trace[name] for depth, name in stream.items()}
        final = trace["logits"]
        with scope("lens"):
            said, chances = hardmax(final, name="said"), []
            for depth, state in states.items():
                with scope(depth.replace(" ", "_")):
                    # At the last depth this is what the model itself computes.
                    logits = project(final_norm(state, norm), params)
                    probabilities = softmax(logits, name="probabilities")
                    of_said = multiply(probabilities, said, name="of_the_word_said")
                    chances.append(total(of_said, name="chance"))
            stack(*chances, name="chances", axes=(DEPTH, "tgt"))

    trace = translation_program(stored, src, tgt, half, title, breaks=breaks, then=read_each_depth)
    trace.labels[DEPTH] = tuple(_short(depth) for depth in stream)
    return trace


def stream_names(n_layers: int, norm_first: bool) -> dict[str, str]:
    """Where the residual stream of a decoder stands in its program.

    Formula: the input, then the sum after each sub-layer, or with norms after the sub-layers what each norm returns.

    Args:
        n_layers: number of layers of the decoder.
        norm_first: whether the norms stand before the sub-layers.

    Returns:
        The name of each depth -> the name of a tensor, from the embedding to the last layer.
    """
    end = "_residual" if norm_first else "_norm.output"
    inside = {
        f"layer {i} {name.replace('_', ' ')}": f"decoder.layers.{i}.{name}{end}"
        for i in range(n_layers)
        for name in SUBLAYERS
    }
    return {"embedding": "tgt_input.with_positions", **inside}


def _short(depth: str) -> str:
    """A label that fits beside a row: "layer 1 cross attention" becomes "1 cross"."""
    words = depth.split()
    return " ".join(words[1:3]) if len(words) > 1 else depth
