"""Words as vectors, as recorded programs: look a row up, compare rows by their angle, and calculate with them.

The vectors are designed. Their columns have names, so that one can see why two words are alike; those of a trained
model have none.
"""

import numpy as np

from stepformer.ops import divide, embed, hardmax, mask, matmul, row_norm, transpose
from stepformer.recording import leaf, record
from stepformer.reference.embedding import embedding, embedding_by_product
from stepformer.trace import Trace

SENTENCE_WORDS = ["Tom", "chase", "Jerry"]
SMALL_VOCABULARY = ["<pad>", "<unk>", "Tom", "chase", "Jerry", "cat", "mouse"]
SENTENCE_IDS = np.array([2, 3, 4])
"""(3,): the rows of Tom, chase and Jerry in the small vocabulary."""
TABLE_FEATURES = ["name", "action", "cat", "mouse"]

EMBEDDING_TABLE = np.array(
    [
        [0.0, 0.0, 0.0, 0.0],  # <pad>
        [0.1, 0.1, 0.1, 0.1],  # <unk>
        [1.4, -0.2, 1.1, -0.5],  # Tom
        [-0.4, 1.5, 0.1, 0.2],  # chase
        [1.3, -0.1, -0.4, 1.2],  # Jerry
        [-0.6, -0.2, 1.3, -0.3],  # cat
        [-0.5, -0.3, -0.2, 1.4],  # mouse
    ]
)
"""(7, 4): one row for each word of the small vocabulary."""

COMPARED_WORDS = ["cat", "kitten", "mouse", "animal", "cheese"]
COMPARED_FEATURES = ["feline", "rodent", "alive", "edible"]

COMPARED_VECTORS = np.array(
    [
        [1.2, -0.3, 0.9, -0.1],  # cat
        [0.6, -0.1, 0.5, 0.0],  # kitten: nearly the same direction, half as long
        [-0.3, 1.3, 0.8, 0.2],  # mouse
        [1.8, 2.1, 3.2, 0.8],  # animal: long, as vectors of frequent words often are
        [-0.2, 0.3, -0.4, 1.5],  # cheese
    ]
)
"""(5, 4). By the dot product, everything that lives is most like animal; by the angle, cat is most like kitten."""

ROYAL_WORDS = ["king", "queen", "prince", "man", "woman", "bread"]
ROYAL_FEATURES = ["royal", "female", "person", "young", "edible"]

ROYAL_VECTORS = np.array(
    [
        [1.6, -0.4, 1.1, -0.3, 0.1],  # king
        [1.3, 0.8, 1.0, 0.1, -0.2],  # queen
        [1.2, -0.5, 0.8, 1.2, 0.0],  # prince
        [0.1, -0.4, 1.2, 0.1, 0.2],  # man
        [0.0, 0.1, 1.2, 0.2, 0.1],  # woman
        [-0.1, 0.1, -0.6, -0.1, 1.7],  # bread
    ]
)
"""(6, 5). king − man + woman lies nearest to king itself; of the other words, nearest to queen."""

KING_MAN_WOMAN = np.array([0, 3, 4])
"""(3,): the rows of king, man and woman."""


def look_up() -> Trace:
    """Rows of a table for the tokens of a sentence, by a product with one-hot rows and by looking up.

    Returns:
        A program with the leaves tokens (3,), whose numbers are ids, and table (7, 4).
    """
    with record("From ids to vectors: a product and a look-up") as trace:
        tokens = leaf("tokens", SENTENCE_IDS, "word", {"word": SENTENCE_WORDS})
        labels = {"vocabulary": SMALL_VOCABULARY, "feature": TABLE_FEATURES}
        table = leaf("table", EMBEDDING_TABLE, ("vocabulary", "feature"), labels)
        embedding_by_product(tokens, {"weight": table})
        embedding(tokens, {"weight": table})
    return trace


def cosine_similarity() -> Trace:
    """How alike is every word to every word: rows divided by their length, then dot products.

    Returns:
        A program with the leaf vectors (5, 4).
    """
    with record("Cosine similarity: which words point the same way?") as trace:
        labels = {"word": COMPARED_WORDS, "feature": COMPARED_FEATURES}
        vectors = leaf("vectors", COMPARED_VECTORS, ("word", "feature"), labels)
        units = divide(vectors, row_norm(vectors, name="lengths"), name="units")
        matmul(units, transpose(units, name="units_transposed"), name="cosine")
    return trace


def analogy() -> Trace:
    """Calculate king − man + woman, its cosine with every word, and the nearest word that may be an answer.

    Returns:
        A program with the leaves vectors (6, 5), terms (3,), whose words can be changed, signs (1, 3) and
        may_answer (1, 6).
    """
    with record("king − man + woman") as trace:
        terms = leaf("terms", KING_MAN_WOMAN, "term", vocabulary=ROYAL_WORDS)
        signs = leaf("signs", np.array([[1.0, -1.0, 1.0]]), ("sum", "term"))
        labels = {"word": ROYAL_WORDS, "feature": ROYAL_FEATURES}
        vectors = leaf("vectors", ROYAL_VECTORS, ("word", "feature"), labels)
        may_answer = leaf("may_answer", ~np.isin(np.arange(6), KING_MAN_WOMAN)[None], ("sum", "word"))
        summed = matmul(signs, embed(terms, vectors, name="term_vectors"), name="summed")
        unit = divide(summed, row_norm(summed, name="summed_length"), name="summed_unit")
        units = divide(vectors, row_norm(vectors, name="lengths"), name="units")
        cosine = matmul(unit, transpose(units, name="units_transposed"), name="cosine")
        hardmax(mask(cosine, may_answer, name="candidates"), name="answer")
    return trace
