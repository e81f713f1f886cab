"""The residual stream of a decoder at each depth, for all words of a test set."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from stepformer.evaluate.forced import Ids, batches, device_of
from stepformer.nn._layers import writing


class Stream(NamedTuple):
    """What a decoder holds while it is handed n right translations of N words together, each without its <eos>.

    Attributes:
        states: (depths, N, d_model), after the embedding and each sub-layer.
        words: (N,) the id of the word that each row is to write.
        sentences: (N,) the position of the pair that each row belongs to.
    """

    states: torch.Tensor
    words: np.ndarray
    sentences: np.ndarray


def stream_of(model: torch.nn.Module, ids: Sequence[Ids], batch_size: int = 64) -> Stream:
    """Keep the residual stream at every depth.

    Formula: what goes into each norm of the decoder, `x[0] = embedding`, `x[l + 1] = x[l] + sublayer(norm(x[l]))`.

    Args:
        model: a Transformer with norms before its sub-layers.
        ids: n pairs of token ids, without <bos> and <eos>.
        batch_size: sentences in a batch.

    Returns:
        The stream. The rows come sorted by the length of their sentences.

    Raises:
        ValueError: the norms stand after the sub-layers, so nothing goes into the first one but a sum.
    """
    decoder = model.decoder
    if not decoder.layers[0].norm_first:
        raise ValueError("This decoder normalises after its sub-layers, so no stream goes into its norms.")
    norms = [
        norm
        for layer in decoder.layers
        for norm in (layer.self_attention_norm, layer.cross_attention_norm, layer.feed_forward_norm)
    ]
    seen, states, words, sentences = [], [], [], []
    hooks = [norm.register_forward_pre_hook(lambda _, x: seen.append(x[0])) for norm in (*norms, decoder.norm)]
    try:
        with writing(model):
            for batch in batches(ids, batch_size, device_of(model)):
                seen.clear()
                model(batch.src, batch.tgt_in)
                for row, position in enumerate(batch.positions):
                    n = len(ids[position][1])
                    states.append(torch.stack([x[row, :n] for x in seen]))
                    words.extend(ids[position][1])
                    sentences.extend([position] * n)
    finally:
        for hook in hooks:
            hook.remove()
    return Stream(torch.cat(states, dim=1), np.array(words), np.array(sentences))
