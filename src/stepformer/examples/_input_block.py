"""What enters the encoder and the decoder, as recorded programs.

The tables are those of the toy Transformer, so that the reader meets the same numbers when the whole model is put
together. Both sides have ten columns with the same names.
"""

from collections.abc import Sequence

import numpy as np

from stepformer.examples._transformer import CHINESE_WORDS, ENGLISH_WORDS, STREAM_COLUMNS, TRANSFORMER_PARAMS
from stepformer.ops import padding_mask
from stepformer.recording import leaf, record
from stepformer.reference.input_block import input_block
from stepformer.reference.masks import target_mask
from stepformer.trace import Trace

_WORDS = {"src": ENGLISH_WORDS, "tgt": CHINESE_WORDS}
_SENTENCES = {"src": ["Tom", "chase", "Jerry"], "tgt": ["<bos>", "汤姆", "追逐", "杰瑞"]}

PADDED_IDS = np.array([[1, 3, 2], [2, 5, 0]])
"""(2, 3): Tom chase Jerry, and Jerry swim with one token of padding."""


def _tokens(side: str, words: Sequence[str]) -> np.ndarray:
    vocabulary = _WORDS[side]
    return leaf(side, np.array([vocabulary.index(word) for word in words]), side, vocabulary=vocabulary)


def _table(side: str) -> dict[str, np.ndarray]:
    name, axis = f"{side}_embedding.weight", f"{side}_vocabulary"
    labels = {axis: _WORDS[side], "d_model": STREAM_COLUMNS}
    return {name: leaf(name, TRANSFORMER_PARAMS[name], (axis, "d_model"), labels)}


def source_input() -> Trace:
    """What enters the encoder: three English words, looked up, multiplied by √d_model, with positions added.

    Returns:
        A program with the token leaf src (3,) and the table src_embedding.weight (11, 10).
    """
    with record("The input of the encoder") as trace:
        input_block(_tokens("src", _SENTENCES["src"]), _table("src"), "src")
    return trace


def target_input() -> Trace:
    """What enters the decoder: the Chinese words so far, which begin with <bos>, by the same steps.

    Returns:
        A program with the token leaf tgt (4,) and the table tgt_embedding.weight (13, 10).
    """
    with record("The input of the decoder") as trace:
        input_block(_tokens("tgt", _SENTENCES["tgt"]), _table("tgt"), "tgt")
    return trace


def both_inputs() -> Trace:
    """Both sides in one program, with the masks that go along with them.

    Returns:
        A program with the token leaves src (3,) and tgt (4,), and one table for each.
    """
    with record("Both inputs and their masks") as trace:
        src, tgt = (_tokens(side, _SENTENCES[side]) for side in ("src", "tgt"))
        tables = _table("src") | _table("tgt")
        input_block(src, tables, "src")
        padding_mask(src, pad_id=0, name="src_mask")
        target_mask(tgt, input_block(tgt, tables, "tgt"), 0)
    return trace


def padded_input() -> Trace:
    """Two sentences of different lengths in one array: the shorter one is filled up, and a mask says where.

    Returns:
        A program with the leaf src (2, 3), whose numbers are ids, and the table src_embedding.weight (11, 10).
    """
    with record("Two sentences in one batch") as trace:
        labels = {"sentence": ["Tom chase Jerry", "Jerry swim"]}
        src = leaf("src", PADDED_IDS, ("sentence", "place"), labels)
        input_block(src, _table("src"), "src")
        padding_mask(src, pad_id=0, name="src_mask")
    return trace
