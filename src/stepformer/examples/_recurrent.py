"""Recurrent networks as recorded programs: a state over Tom, chase, Jerry; an LSTM that tells two stories; a GRU.

All weights are set by hand, so that every column of a state has a name. The programs are unrolled: each is for
sentences of its own length.
"""

from collections.abc import Sequence

import numpy as np

from stepformer.examples._what_you_need import FIVE_FEATURES, READ_WORDS, THREE_VECTORS
from stepformer.ops import embed, linear, padding_mask, softmax
from stepformer.recording import leaf, record
from stepformer.reference.recurrent import gru, lstm, rnn
from stepformer.trace import Trace

# ---- a plain recurrent network ------------------------------------------------------------------------------------

SEEN = ["being", "action", "cat", "mouse"]
"""What each number of the state stands for: how much of it was read so far."""

RNN_PARAMS = {
    "weight": np.array(
        [
            [0.8, 0.0, 0.0, 0.0],  # the word is a being
            [0.0, 0.9, 0.0, 0.0],  # an action
            [0.0, 0.0, 0.9, 0.0],  # a cat
            [0.0, 0.0, 0.0, 0.9],  # a mouse
            [0.0, 0.2, 0.0, 0.0],  # motion speaks for an action, too
            [0.5, 0.1, 0.0, 0.0],  # the state so far: a being; after a being, an action is likely
            [0.1, 0.5, 0.0, 0.0],  # an action; after an action, a being
            [0.0, 0.0, 0.6, 0.0],  # a cat
            [0.0, 0.0, 0.0, 0.6],  # a mouse
        ]
    ),
    "bias": np.array([-0.1, -0.1, 0.0, 0.0]),
}
"""(5 + 4, 4) and (4,): the rows of the word, then the rows of the state before it."""

RNN_WORDS = ["<pad>", *READ_WORDS]
WORD_TABLE = np.concatenate([np.zeros((1, 5)), THREE_VECTORS])
"""(4, 5): a row of zeros for padding, then Tom, chase and Jerry."""


def recurrent_network() -> Trace:
    """A plain recurrent network reads the running example; words can be replaced, their number is fixed.

    Returns:
        A program with the token leaf src (3,), the table word_vectors (4, 5), hidden_0 (4,), weight (9, 4), bias (4,).
    """
    with record("A recurrent network reads, word by word", {"src": 3}) as trace:
        x = _looked_up(["Tom", "chase", "Jerry"], RNN_WORDS, WORD_TABLE, FIVE_FEATURES)
        rnn(x, _start("hidden_0", SEEN), _leaves(RNN_PARAMS, FIVE_FEATURES, SEEN))
    return trace


def padded_recurrent_network() -> Trace:
    """The same sentence filled up with padding: over padding the state is held.

    Returns:
        A program as `recurrent_network`, with src (5,).
    """
    with record("A recurrent network and padding", {"src": 5}) as trace:
        src, x = _tokens_and_vectors(["Tom", "chase", "Jerry", "<pad>", "<pad>"], RNN_WORDS, WORD_TABLE, FIVE_FEATURES)
        mask = padding_mask(src, pad_id=0, name="words")
        rnn(x, _start("hidden_0", SEEN), _leaves(RNN_PARAMS, FIVE_FEATURES, SEEN), mask)
    return trace


# ---- LSTM: which pronoun? -----------------------------------------------------------------------------------------

PRONOUNS = ["他", "她"]
PEOPLE = ["John", "Mary", "sleep", "sing"]
PEOPLE_FEATURES = ["man's name", "woman's name", "verb"]
PEOPLE_TABLE = np.array(
    [
        [0.9, 0.1, 0.0],  # John
        [0.1, 0.9, 0.0],  # Mary
        [0.0, 0.0, 1.1],  # sleep
        [0.0, 0.0, 0.8],  # sing
    ]
)
GENDERS = ["male", "female"]

PRONOUN_PARAMS = {
    # Keep the memory (a bias of 4 opens the gate) until a name comes: a new subject clears what was known of the old.
    "forget.weight": np.array([[-8.0, -8.0], [-8.0, -8.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]),
    "forget.bias": np.array([4.0, 4.0]),
    # Write only when a name comes.
    "input.weight": np.array([[8.0, 8.0], [8.0, 8.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]),
    "input.bias": np.array([-4.0, -4.0]),
    # What a name would write: a man's name into male, a woman's into female.
    "candidate.weight": np.array([[3.0, 0.0], [0.0, 3.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]),
    "candidate.bias": np.array([-0.3, -0.3]),
    # Always show what is remembered.
    "output.weight": np.array([[0.0, 0.0], [0.0, 0.0], [0.5, 0.5], [0.0, 0.0], [0.0, 0.0]]),
    "output.bias": np.array([3.0, 3.0]),
}
"""Each weight (3 + 2, 2): the rows of the word, then those of the state before it."""

PRONOUN_OUTPUT = {"weight": np.array([[5.0, -1.0], [-1.0, 5.0]]), "bias": np.array([0.2, 0.0])}
"""(2, 2) and (2,): male speaks for 他, female for 她."""


def pronoun() -> Trace:
    """An LSTM reads “John sleep, Mary sing” and says after each word which pronoun would come next.

    Returns:
        A program with the token leaf src (4,), word_vectors (4, 3), hidden_0 and cell_0 (2,), the weights and biases of
        the gates and of the output.
    """
    with record("LSTM: who is spoken of, he 他 or she 她?", {"src": 4}) as trace:
        x = _looked_up(["John", "sleep", "Mary", "sing"], PEOPLE, PEOPLE_TABLE, PEOPLE_FEATURES)
        _read_and_say(x, PEOPLE_FEATURES, GENDERS, PRONOUN_PARAMS, PRONOUN_OUTPUT, PRONOUNS, "pronoun")
    return trace


# ---- LSTM: chase or chases? ---------------------------------------------------------------------------------------

VERB_FORMS = ["chases", "chase"]
NOUNS = ["cat", "cats", "near", "behind", "dog", "dogs"]
NOUN_FEATURES = ["one", "several", "noun", "preposition"]
NOUN_TABLE = np.array(
    [
        [1.1, 0.0, 1.0, 0.0],  # cat
        [0.0, 1.2, 1.0, 0.0],  # cats
        [0.0, 0.1, 0.0, 1.0],  # near
        [0.1, 0.0, 0.0, 0.9],  # behind
        [0.9, 0.0, 1.1, 0.0],  # dog
        [0.0, 0.8, 1.1, 0.0],  # dogs
    ]
)
NUMBERS = ["singular", "plural", "has subject"]

AGREEMENT_PARAMS = {
    # Nothing is cleared: the number of the subject is needed until the verb.
    "forget.weight": np.array([[0.0] * 3] * 4 + [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.5, 0.5, 1.0]]),
    "forget.bias": np.array([4.0, 4.0, 4.0]),
    # Write when a noun comes, unless the state says that there is a subject already.
    "input.weight": np.array(
        [[0.0] * 3, [0.0] * 3, [7.0, 7.0, 7.0], [-2.0, -2.0, -2.0], [0.0] * 3, [0.0] * 3, [-14.0, -14.0, -14.0]]
    ),
    "input.bias": np.array([-3.0, -3.0, -3.0]),
    "candidate.weight": np.array(
        [[2.0, -0.2, 0.0], [-0.2, 2.0, 0.0], [0.0, 0.0, 2.5], [0.0] * 3, [0.0] * 3, [0.0] * 3, [0.0] * 3]
    ),
    "candidate.bias": np.array([0.0, 0.0, 0.1]),
    "output.weight": np.array([[0.0] * 3, [0.0] * 3, [0.0, 0.0, 0.5], [0.0] * 3, [0.0] * 3, [0.0] * 3, [0.0] * 3]),
    "output.bias": np.array([3.0, 3.0, 3.0]),
}
"""Each weight (4 + 3, 3): the rows of the word, then those of the state before it."""

AGREEMENT_OUTPUT = {"weight": np.array([[4.0, -1.0], [-1.0, 4.0], [0.2, 0.1]]), "bias": np.array([0.0, 0.3])}
"""(3, 2) and (2,): singular speaks for chases, plural for chase."""


def agreement() -> Trace:
    """An LSTM reads “cat near dogs” and keeps the number of the subject for the verb that will come.

    Returns:
        A program with the token leaf src (3,), word_vectors (6, 4), hidden_0 and cell_0 (3,), the weights and biases of
        the gates and of the output.
    """
    with record("LSTM: the cat near the dogs chases, or chase?", {"src": 3}) as trace:
        x = _looked_up(["cat", "near", "dogs"], NOUNS, NOUN_TABLE, NOUN_FEATURES)
        _read_and_say(x, NOUN_FEATURES, NUMBERS, AGREEMENT_PARAMS, AGREEMENT_OUTPUT, VERB_FORMS, "verb form")
    return trace


# ---- GRU ----------------------------------------------------------------------------------------------------------

GRU_PARAMS = {
    # A new being makes the state count less in what is written.
    "reset.weight": np.array([[-0.8] * 4, [0.3] * 4, *[[0.0] * 4] * 7]),
    "reset.bias": np.array([0.5, 0.5, 0.5, 0.5]),
    # Keep each number (the bias opens the gate) until the word has news about it.
    "update.weight": np.array(
        [
            [-3.0, 0.0, 0.0, 0.0],
            [0.0, -5.0, 0.0, 0.0],
            [0.0, 0.0, -5.0, 0.0],
            [0.0, 0.0, 0.0, -5.0],
            [0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0],
        ]
    ),
    "update.bias": np.array([1.5, 3.0, 3.0, 3.0]),
    "candidate.w_x.weight": np.array(
        [
            [0.8, 0.0, 0.0, 0.0],
            [0.0, 0.9, 0.0, 0.0],
            [0.0, 0.0, 0.9, 0.0],
            [0.0, 0.0, 0.0, 0.9],
            [0.0, 0.2, 0.0, 0.0],
        ]
    ),
    "candidate.w_x.bias": np.array([-0.1, -0.1, 0.0, 0.0]),
    "candidate.w_h.weight": np.array(
        [
            [0.3, 0.4, 0.0, 0.0],  # after a being, an action is likely
            [0.4, 0.3, 0.0, 0.0],  # after an action, a being
            [0.0, 0.1, 0.2, 0.0],
            [0.0, 0.0, 0.0, 0.2],
        ]
    ),
    "candidate.w_h.bias": np.array([0.2, 0.1, 0.1, -0.1]),
}
"""Gates (5 + 4, 4); the candidate in two halves, (5, 4) for the word and (4, 4) for the state."""


def gated_recurrent_unit(reset: str = "after") -> Trace:
    """A GRU reads the running example and keeps the cat to the end.

    Args:
        reset: whether the reset gate acts "after" the matrix product, as in torch, or "before", as in the paper.

    Returns:
        A program with the leaves of `recurrent_network` and those of the gates.
    """
    with record(f"GRU: the reset gate {reset} the matrix product", {"src": 3}) as trace:
        x = _looked_up(["Tom", "chase", "Jerry"], RNN_WORDS, WORD_TABLE, FIVE_FEATURES)
        params = _leaves(GRU_PARAMS, FIVE_FEATURES, SEEN)
        gru(x, _start("hidden_0", SEEN), params, reset=reset)
    return trace


# ---- what they share ----------------------------------------------------------------------------------------------


def _tokens_and_vectors(
    words: Sequence[str], vocabulary: Sequence[str], table: np.ndarray, features: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    src = leaf("src", [vocabulary.index(word) for word in words], ("src",), vocabulary=vocabulary)
    word_vectors = leaf("word_vectors", table, ("word", "feature"), {"word": vocabulary, "feature": features})
    return src, embed(src, word_vectors, name="x")


def _looked_up(*given: Sequence[str] | np.ndarray) -> np.ndarray:
    return _tokens_and_vectors(*given)[1]


def _start(name: str, columns: Sequence[str]) -> np.ndarray:
    return leaf(name, np.zeros(len(columns)), ("state",), {"state": columns})


def _leaves(params: dict[str, np.ndarray], features: Sequence[str], columns: Sequence[str]) -> dict[str, np.ndarray]:
    """Declare the parameters; the rows of a weight are what it multiplies: the word, the state before (‹), or both."""
    both = "feature and state"
    labels = {both: [*features, *(f"‹{column}" for column in columns)]}
    rows = {"candidate.w_x.weight": "feature", "candidate.w_h.weight": "state"}
    leaves = {}
    for name, array in params.items():
        axes = (rows.get(name, both), "state")[-array.ndim :]
        leaves[name] = leaf(name, array, axes, labels if both in axes else None)
    return leaves


def _read_and_say(
    x: np.ndarray,
    features: Sequence[str],
    columns: Sequence[str],
    params: dict[str, np.ndarray],
    output: dict[str, np.ndarray],
    answers: Sequence[str],
    axis: str,
) -> None:
    """An LSTM over x, and after each word a distribution over what would come next."""
    given = _leaves(params, features, columns)
    states = lstm(x, _start("hidden_0", columns), _start("cell_0", columns), given).states
    weight = leaf("say.weight", output["weight"], ("state", axis), {axis: answers})
    softmax(linear(states, weight, leaf("say.bias", output["bias"], (axis,)), name="logits"), name="says")
