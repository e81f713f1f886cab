"""One decoder layer that translates `Tom chase Jerry`, and the batch that such a layer is trained on, as programs.

The layer is that of the whole model, with its weights and its ten named columns. The memory is set by hand: what the
encoder may have left, with a row for each word and a row for each place.
"""

import numpy as np

from stepformer.examples._transformer import CHINESE_WORDS, STREAM_COLUMNS, declared
from stepformer.ops import add, count_tokens, embed, first_rows, one_hot, padding_mask, softmax, trim
from stepformer.recording import leaf, record
from stepformer.reference.masks import target_mask
from stepformer.reference.transformer import decode, project
from stepformer.trace import Trace

READ_WORDS_OF_SOURCE = ["<pad>", "Tom", "Jerry", "chase", "see"]

ENCODED_WORDS = np.array(
    [  # sine, cosine, being, cat, action, money, motion, place, water, end
        [0.0, 0.0, -0.3, 0.2, 0.9, 0.4, -0.9, 1.2, 0.3, 0.1],  # <pad>
        [0.0, 0.0, 2.0, 1.0, -1.4, -0.1, -0.1, -1.4, -0.1, -0.1],  # Tom
        [0.0, 0.0, 2.4, -1.5, -1.0, -0.1, 0.0, -0.3, 0.0, -0.1],  # Jerry
        [0.0, 0.0, -1.4, -0.2, 1.9, -0.2, 1.0, -1.6, -0.2, -0.2],  # chase
        [0.0, 0.0, -0.8, -0.2, 2.2, -0.2, -1.9, 0.1, -0.2, -0.2],  # see
    ]
)
"""(5, 10): what an encoder may have left of each word. The row of padding means nothing, and it is not zero."""

ENCODED_PLACES = np.zeros((6, 10))
ENCODED_PLACES[:, :2] = [[0.0, 1.2], [1.0, 0.6], [1.1, -0.5], [0.2, -1.2], [-0.9, -0.8], [-1.1, 0.3]]
"""(6, 10): and of each position: a sine and a cosine that one step turns by the same angle."""

BATCH_WORDS = CHINESE_WORDS[:7]
TARGET_BATCH = np.array([[1, 3, 5, 2, 0], [1, 3, 5, 4, 2]])
"""(2, 5): `<bos> 汤姆 追逐 <eos> <pad>` and `<bos> 汤姆 追逐 杰瑞 <eos>`, as ids of BATCH_WORDS."""


def decoder(src: str = "Tom chase Jerry", tgt: str = "<bos> 汤姆 追逐 杰瑞") -> Trace:
    """A decoder of one layer, from the words of the target to the probabilities of the next words.

    Args:
        src: words of the source, at most 6.
        tgt: words of the target, at most as many as the reader likes.

    Returns:
        A program with the token leaves src and tgt, the memory's rows, and the parameters of the layer.
    """
    with record("A decoder layer: which word comes next?") as trace:
        memory, mask = _memory(src.split())
        tokens = leaf("tgt", _ids(tgt.split(), CHINESE_WORDS), "tgt", vocabulary=CHINESE_WORDS)
        params = declared(("tgt", "decoder", "output"))
        logits = project(decode(tokens, memory, params, n_heads=2, memory_mask=mask), params)
        softmax(logits, name="probabilities")
    return trace


def padded_decoder() -> Trace:
    """The same layer on a pair of sentences that were filled up, both to the length 5.

    Returns:
        A program with the token leaves src (5,) and tgt (5,).
    """
    return decoder("Tom chase Jerry <pad> <pad>", "<bos> 汤姆 追逐 杰瑞 <pad>")


def shifted_target() -> Trace:
    """A batch of two targets: what the decoder reads, what it is to answer, who may see whom, and what counts.

    Returns:
        A program with the leaf target (2, 5), token ids.
    """
    with record("The target, shifted by one") as trace:
        names = {"sentence": ["short", "long"]}
        target = leaf("target", TARGET_BATCH, ("sentence", "position"), names)
        tgt_in = trim(target, back=1, name="tgt_in")
        tgt_out = trim(target, front=1, name="tgt_out")
        target_mask(tgt_in, one_hot(tgt_in, vocab_size=len(BATCH_WORDS), name="x"), pad_id=0)
        count_tokens(tgt_out, pad_id=0, name="count")
    return trace


def _memory(words: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Declare the source and what the encoder left of it: memory (n, 10), and the padding mask (1, n)."""
    tokens = leaf("src", _ids(words, READ_WORDS_OF_SOURCE), "src", vocabulary=READ_WORDS_OF_SOURCE)
    labels = {"source vocabulary": READ_WORDS_OF_SOURCE, "d_model": STREAM_COLUMNS}
    table = leaf("encoded_words", ENCODED_WORDS, ("source vocabulary", "d_model"), labels)
    rows = embed(tokens, table, name="encoded_word")
    places = first_rows(leaf("encoded_places", ENCODED_PLACES, ("place", "d_model")), rows, name="encoded_place")
    return add(rows, places, name="memory"), padding_mask(tokens, pad_id=0, name="memory_mask")


def _ids(words: list[str], vocabulary: list[str]) -> np.ndarray:
    return np.array([vocabulary.index(word) for word in words])
