"""Positions, as recorded programs: what attention does without them, and how they are added, learned or turned.

Word vectors have six columns, three pairs. Columns are named by the formula, 2·i and 2·i+1. The word vectors leave
the first pair nearly free for the position and keep the meaning in the others; a trained model finds its own way to
share the columns.
"""

from collections.abc import Sequence

import numpy as np

from stepformer.ops import embed, matmul, scale_up, transpose
from stepformer.recording import leaf, record
from stepformer.reference.positional_encoding import add_learned_positions, add_positions, rotary
from stepformer.reference.self_attention import self_attention
from stepformer.trace import Trace

VOCABULARY = ["<pad>", "Tom", "chase", "Jerry"]
SENTENCE = np.array([1, 2, 3])
PAIR_COLUMNS = ["2·0", "2·0+1", "2·1", "2·1+1", "2·2", "2·2+1"]
LOOK_BACK_FEATURES = ["sine", "cosine"]
WORD_VALUE_FEATURES = ["cat", "mouse", "motion", "name"]

WORD_VECTORS = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # <pad>
        [0.04, -0.04, 0.6, -0.1, 0.02, 0.1],  # Tom
        [-0.04, 0.02, 0.04, 0.45, 0.02, -0.35],  # chase
        [0.02, 0.04, -0.02, -0.08, 0.62, 0.12],  # Jerry
    ]
)
"""(4, 6): one row per word, before the multiplication by √6."""

WORD_ORDER_PARAMS = {
    "w_q.weight": np.array([[2.63, 1.44], [-1.44, 2.63], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]),
    "w_k.weight": np.array([[2.63, -1.44], [1.44, 2.63], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]),
    "w_v.weight": np.array(
        [
            [0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0],
            [0.7, 0.0, 0.0, 0.4],
            [0.0, 0.0, 0.5, -0.2],
            [0.0, 0.7, 0.0, 0.4],
            [0.0, 0.0, -0.5, 0.2],
        ]
    ),
}
"""(6, 2), (6, 2), (6, 4). Queries turn the first pair half a position back, keys half a position forward, both three
times as long; so a query fits best the key of the word before it. Motion and name are differences of columns, in which
the slow cosines, near 1 for every word, cancel."""

LEARNED_TABLE = np.array(
    [
        [0.8, 0.9, 0.3, 0.1, -0.2, 0.0],
        [0.4, -0.1, -0.3, 0.5, 0.1, 0.2],
        [0.0, -0.2, 0.3, 0.1, 0.4, -0.1],
        [-0.4, -0.1, -0.3, -0.2, 0.1, 0.3],
        [-0.8, -0.2, 0.3, 0.0, -0.3, 0.1],
    ]
)
"""(5, 6): what training might leave behind. The first column falls from early to late, the second marks the first
position, the third alternates."""

ROTARY_QUERY = np.tile([1.5, 0.5], (4, 1))
"""(4, 2): one and the same query at four positions."""
ROTARY_KEY = np.tile([1.0, 1.0], (3, 1))
"""(3, 2): one and the same key at three positions."""


def _scaled_words(columns: Sequence[str] = PAIR_COLUMNS) -> np.ndarray:
    """Declare the sentence and the word vectors with names for their columns; look up and multiply by √d_model."""
    tokens = leaf("src", SENTENCE, "src", vocabulary=VOCABULARY)
    labels = {"vocabulary": VOCABULARY, "d_model": columns}
    vectors = leaf("word_vectors", WORD_VECTORS, ("vocabulary", "d_model"), labels)
    return scale_up(embed(tokens, vectors, name="embedding"), name="scaled_embedding")


def _attend_to_the_word_before(x: np.ndarray) -> None:
    features = {"d_k": LOOK_BACK_FEATURES, "d_v": WORD_VALUE_FEATURES}
    axes = {"w_q.weight": "d_k", "w_k.weight": "d_k", "w_v.weight": "d_v"}
    params = {
        name: leaf(name, WORD_ORDER_PARAMS[name], ("d_model", axis), {axis: features[axis]})
        for name, axis in axes.items()
    }
    self_attention(x, params)


def attention_without_positions() -> Trace:
    """Self-attention over words alone: in another order every word gets the same output.

    Returns:
        A program with the token leaf src (3,), the word vectors and three projections.
    """
    with record("Self-attention without positions") as trace:
        _attend_to_the_word_before(_scaled_words())
    return trace


def attention_with_positions() -> Trace:
    """The same layer with positions: every word looks at the word before it.

    Returns:
        A program with the token leaf src (3,), the word vectors and three projections.
    """
    with record("Self-attention with positions: each word looks at the word before it") as trace:
        _attend_to_the_word_before(add_positions(_scaled_words()))
    return trace


def sinusoidal_positions() -> Trace:
    """From words to the input of the first layer: look up, multiply by √d_model, add the sinusoidal positions.

    Returns:
        A program with the token leaf src (3,) and the word vectors (4, 6).
    """
    with record("Words with sinusoidal positions") as trace:
        add_positions(_scaled_words())
    return trace


def positions_in_a_batch() -> Trace:
    """Two sentences at once, the same words in another order; both get the same table.

    Returns:
        A program with the leaf embedding (2, 3, 6).
    """
    embedding = WORD_VECTORS[np.array([[1, 2, 3], [3, 2, 1]])]
    labels = {"sentence": ["Tom chase Jerry", "Jerry chase Tom"], "d_model": PAIR_COLUMNS}
    with record("Positions for a batch of two sentences") as trace:
        words = leaf("embedding", embedding, ("sentence", "position", "d_model"), labels)
        add_positions(scale_up(words, name="scaled_embedding"))
    return trace


def learned_positions() -> Trace:
    """Learned positions: a table with one row for each of five positions.

    Returns:
        A program with the token leaf src (3,), the word vectors (4, 6) and the position_table (5, 6).
    """
    with record("Words with learned positions") as trace:
        x = _scaled_words(list("012345"))  # learned columns come in no pairs
        table = leaf("position_table", LEARNED_TABLE, ("position", "d_model"))
        add_learned_positions(x, {"embedding.weight": table})
    return trace


def rotary_positions() -> Trace:
    """Rotary positions in two dimensions: one query at four places, one key at three, turned and compared.

    Returns:
        A program with the leaves query (4, 2) and key (3, 2).
    """
    with record("Rotary positions: turn queries and keys") as trace:
        query = leaf("query", ROTARY_QUERY, ("query position", "d_k"))
        key = leaf("key", ROTARY_KEY, ("key position", "d_k"))
        rotated_query, rotated_key = rotary(query, key)
        matmul(rotated_query, transpose(rotated_key, name="key_transposed"), name="scores")
    return trace
