"""Attention between the states of two recurrent networks, as recorded programs.

The features of the states are named, so that a reader can check by eye why 追逐 attends to chase. Real models have
no such names.
"""

import numpy as np

from stepformer.ops import divide, embed, matmul, padding_mask, scale, softmax, transpose
from stepformer.recording import leaf, record, scope
from stepformer.reference.attention import additive_attention as _additive_attention
from stepformer.reference.attention import scaled_dot_product_attention
from stepformer.trace import Trace

SOURCE = ["Tom", "chase", "Jerry"]
TARGET = ["汤姆", "追逐", "杰瑞", "<eos>"]
VOCABULARY = ["<pad>", "Tom", "chase", "Jerry"]
STATE_FEATURES = ["name", "action", "first", "last", "constant", "cat", "mouse", "motion", "person", "seen"]
KEY_FEATURES = ["name", "action", "first", "last", "constant"]
VALUE_FEATURES = ["name", "cat", "mouse", "motion", "hunting", "first", "last"]

ENCODER_STATES = np.array(
    [
        [1.2, 0.0, 1.0, -0.4, 0.5, 1.4, 0.1, 0.2, 0.9, 0.1],
        [0.2, 1.5, 0.3, 0.0, 0.5, 0.4, 0.1, 1.5, 0.2, 0.5],
        [1.1, 0.3, -0.3, 1.2, 0.5, 0.1, 1.3, 0.4, 0.8, 0.8],
    ]
)
"""(3, 10): one state of the recurrent encoder per source word. Each state still holds a little of the words before."""

DECODER_STATES = np.array(
    [
        [1.1, 0.1, 1.3, -0.2, 0.5, 0.2, 0.1, 0.1, 0.6, 0.0],
        [-0.1, 1.8, 0.2, 0.1, 0.5, 0.8, 0.1, 0.7, 0.1, 0.4],
        [1.0, -0.1, -0.3, 1.5, 0.5, 0.3, 0.4, 0.9, 0.5, 0.7],
        [0.1, 0.2, 0.1, 0.3, 0.5, 0.2, 0.6, 0.3, 0.1, 1.0],
    ]
)
"""(4, 10): the decoder's state just before it writes each target word."""

W_QUERY = np.array(
    [
        [1.2, 0.0, 0.2, 0.1, 0.0],
        [-0.1, 1.6, 0.0, 0.0, 0.0],
        [0.2, 0.0, 1.5, -0.1, 0.0],
        [0.0, 0.0, -0.1, 1.4, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.2, 0.0, 0.0, 0.0],
        [0.2, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, -0.1, 0.0],
    ]
)
"""(10, 5): turns a decoder state into what it looks for."""

W_KEY = np.array(
    [
        [1.3, 0.0, 0.1, 0.1, 0.0],
        [-0.2, 1.4, 0.0, 0.0, 0.0],
        [0.1, 0.0, 1.5, -0.2, 0.0],
        [0.1, 0.0, -0.2, 1.4, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
        [0.1, 0.0, 0.0, 0.0, 0.0],
        [0.1, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.3, 0.0, 0.0, 0.0],
        [0.2, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, -0.1, 0.1, 0.0],
    ]
)
"""(10, 5): turns an encoder state into what it can be found by."""

W_VALUE = np.array(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.5, 1.2, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1],
        [0.0, 1.2, 0.0, 0.0, 0.3, 0.0, 0.0],
        [0.0, 0.0, 1.2, 0.0, -0.2, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.9, 0.3, 0.0, 0.0],
        [0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.2],
    ]
)
"""(10, 7): turns an encoder state into what it has to say."""

# The products have two decimals exactly; rounding only takes off the last bits that binary arithmetic adds.
QUERY = np.round(DECODER_STATES @ W_QUERY, 2)
"""(4, 5): one query per target word."""
KEY = np.round(ENCODER_STATES @ W_KEY, 2)
"""(3, 5): one key per source word."""
VALUE = np.round(ENCODER_STATES @ W_VALUE, 2)
"""(3, 7): one value per source word."""

PADDING_KEYS = np.array([[0.9, 1.6, 0.8, 0.7, 0.5], [1.2, 0.4, 1.1, 0.6, 0.5], [0.3, 1.1, 0.2, 1.3, 0.5]])
"""(3, 5): what may stand in the rows of padding: nothing that means anything, yet it matches some queries."""
PADDING_VALUES = np.full((3, 7), 9.0)
"""(3, 7): values so large that any weight on padding is seen in the output at once."""

ADDITIVE_PARAMS = {
    "w_query": np.array(
        [
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [-1.0, -1.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, -1.0, -1.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, -1.0, -1.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        ]
    ),
    "w_key": np.array(
        [
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [1.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 1.0, 1.0],
            [3.0, -3.0, 3.0, -3.0, 3.0, -3.0],
        ]
    ),
    "v": np.array([1.2, -1.2, 1.2, -1.2, 1.2, -1.2]),
}
"""Three pairs of units, for action, first and last: 1.2·tanh(k − q + 1.5) − 1.2·tanh(k − q − 1.5) is large where key
and query agree. The ±1.5 is 3 times the constant feature 0.5."""


def _query_key_value(key: np.ndarray = KEY, value: np.ndarray = VALUE, source_labels: bool = True):
    labels = {"src": SOURCE} if source_labels else {}
    return (
        leaf("query", QUERY, ("tgt", "d_k"), {"tgt": TARGET, "d_k": KEY_FEATURES}),
        leaf("key", key, ("src", "d_k"), labels),
        leaf("value", value, ("src", "d_v"), {"d_v": VALUE_FEATURES}),
    )


def attention() -> Trace:
    """Scaled dot-product attention: each target word asks the source sentence.

    Returns:
        A program with the leaves query (4, 5), key (3, 5) and value (3, 7).
    """
    with record("Attention: each target word asks the source sentence") as trace:
        scaled_dot_product_attention(*_query_key_value())
    return trace


def attention_from_states() -> Trace:
    """Attention as it first was: queries from a recurrent decoder, keys and values from a recurrent encoder.

    Returns:
        A program with the leaves decoder_states (4, 10), encoder_states (3, 10) and the three projections.
    """
    with record("Attention between two recurrent networks") as trace:
        decoder = leaf("decoder_states", DECODER_STATES, ("tgt", "state"), {"tgt": TARGET, "state": STATE_FEATURES})
        encoder = leaf("encoder_states", ENCODER_STATES, ("src", "state"), {"src": SOURCE})
        w_query = leaf("w_query", W_QUERY, ("state", "d_k"), {"d_k": KEY_FEATURES})
        w_key = leaf("w_key", W_KEY, ("state", "d_k"))
        w_value = leaf("w_value", W_VALUE, ("state", "d_v"), {"d_v": VALUE_FEATURES})
        query = matmul(decoder, w_query, name="query")
        key = matmul(encoder, w_key, name="key")
        value = matmul(encoder, w_value, name="value")
        scaled_dot_product_attention(query, key, value)
    return trace


def padded_attention() -> Trace:
    """Attention to a source sentence that was filled up with padding to the length of a longer one.

    Returns:
        A program whose mask is computed from the token leaf src (6,).
    """
    key, value = np.concatenate([KEY, PADDING_KEYS]), np.concatenate([VALUE, PADDING_VALUES])
    with record("Attention with a padding mask") as trace:
        tokens = leaf("src", np.array([1, 2, 3, 0, 0, 0]), "src", vocabulary=VOCABULARY)
        allowed = padding_mask(tokens, pad_id=0, name="padding_mask")
        scaled_dot_product_attention(*_query_key_value(key, value, source_labels=False), mask=allowed)
    return trace


def temperature() -> Trace:
    """Attention with a temperature: below 1 the weights sharpen, above 1 they flatten.

    Returns:
        A program with the extra leaf temperature, one number.
    """
    with record("Attention with a temperature") as trace:
        query, key, value = _query_key_value()
        degree = leaf("temperature", np.array(1.0), ())
        with scope("attention"):
            scores = matmul(query, transpose(key, name="key_transposed"), name="scores")
            scaled = scale(scores, query, name="scaled_scores")
            weights = softmax(divide(scaled, degree, name="tempered_scores"), name="weights")
            matmul(weights, value, name="output")
    return trace


def additive_attention() -> Trace:
    """Additive attention, the first kind: a small network scores every pair of query and key.

    Returns:
        A program with the leaves query, key, value and the network's three weights.
    """
    with record("Additive attention") as trace:
        query, key, value = _query_key_value()
        params = {
            "w_query": leaf("w_query", ADDITIVE_PARAMS["w_query"], ("d_k", "unit")),
            "w_key": leaf("w_key", ADDITIVE_PARAMS["w_key"], ("d_k", "unit")),
            "v": leaf("w_score", ADDITIVE_PARAMS["v"], "unit"),
        }
        _additive_attention(query, key, value, params)
    return trace


def attention_over_words() -> Trace:
    """Attention whose keys and values are looked up by word, so that a reader can type another source sentence.

    Returns:
        A program with the token leaf src; its length is free.
    """
    key_table = np.concatenate([np.zeros((1, 5)), KEY])
    value_table = np.concatenate([np.zeros((1, 7)), VALUE])
    with record("Attention over words you choose") as trace:
        tokens = leaf("src", np.array([1, 2, 3]), "src", vocabulary=VOCABULARY)
        query = leaf("query", QUERY, ("tgt", "d_k"), {"tgt": TARGET, "d_k": KEY_FEATURES})
        keys = leaf("key_table", key_table, ("vocabulary", "d_k"), {"vocabulary": VOCABULARY})
        values = leaf("value_table", value_table, ("vocabulary", "d_v"), {"d_v": VALUE_FEATURES})
        allowed = padding_mask(tokens, pad_id=0, name="padding_mask")
        key, value = embed(tokens, keys, name="key"), embed(tokens, values, name="value")
        scaled_dot_product_attention(query, key, value, mask=allowed)
    return trace
