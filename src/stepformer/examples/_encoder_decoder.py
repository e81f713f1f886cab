"""Two small recurrent networks that translate `Tom chase Jerry`, as recorded programs.

Their numbers are set by hand and follow one idea. The state has a column for each word that counts, and in each step
every column grows: a word is rehearsed from the moment it is heard, so the word that was heard first is the loudest.
The decoder says the loudest word, and the word that it then reads is struck out of its state. When all have been said,
what is left is the end. A trained network has no such columns, but it too has the same few numbers for all that it has
read.
"""

import numpy as np

from stepformer.ops import softmax
from stepformer.recording import leaf, record
from stepformer.reference.encoder_decoder import decode, encode, feed_back, project
from stepformer.reference.loss import cross_entropy
from stepformer.trace import Trace

SPOKEN_WORDS = ["<pad>", "<eos>", "the", "a", "Tom", "Jerry", "chase", "run"]
TRANSLATED_WORDS = ["<pad>", "<bos>", "<eos>", "汤姆", "杰瑞", "追逐", "跑"]
HEARD_FEATURES = ["animal", "cat", "mouse", "motion", "hunting", "end"]
STATE_COLUMNS = ["Tom", "Jerry", "chase", "run", "end"]

_VECTORS = [
    [1.0, 1.0, 0.0, 0.0, 0.0, 0.0],  # Tom, 汤姆: an animal, a cat
    [1.0, 0.0, 1.0, 0.0, 0.0, 0.0],  # Jerry, 杰瑞: an animal, a mouse
    [0.0, 0.0, 0.0, 1.0, 1.0, 0.0],  # chase, 追逐: motion and hunting
    [0.0, 0.0, 0.0, 1.0, 0.0, 0.0],  # run, 跑: motion
]
_NOTHING, _END = [0.0] * 6, [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]

ENCODER_DECODER_PARAMS = {
    # <pad> means nothing, and that is not the same as zeros: nobody ever trained this row.
    "src_embedding.weight": np.array([[0.6, 0.3, 0.9, 0.8, 0.9, 0.2], _END, _NOTHING, _NOTHING, *_VECTORS]),
    "tgt_embedding.weight": np.array([[0.5, 0.4, 0.7, 0.3, 0.6, 0.1], _NOTHING, _END, *_VECTORS]),
    "encoder.layers.0.forward.weight": np.array(
        [
            [0.0, 0.15, 0.0, 0.0, 0.0],  # an animal …
            [0.25, -0.15, 0.0, 0.0, 0.0],  # … that is a cat is Tom, not Jerry
            [0.0, 0.1, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.25, 0.0],  # motion …
            [0.0, 0.0, 0.25, -0.25, 0.0],  # … with hunting is chase, not run
            [0.0, 0.0, 0.0, 0.0, 1.0],
            [1.5, 0.0, 0.0, 0.0, 0.0],  # from here on: what was heard is rehearsed
            [0.0, 1.5, 0.0, 0.0, 0.0],
            [0.0, 0.0, 1.5, 0.0, 0.0],
            [0.0, 0.0, 0.0, 1.5, 0.0],
            [0.0, 0.0, 0.0, 0.0, 1.2],
        ]
    ),
    "encoder.layers.0.forward.bias": np.zeros(5),
    "decoder.layers.0.forward.weight": np.array(
        [
            [0.0, -2.0, 0.0, 0.0, 0.0],  # the same code, with the opposite sign: what was said is struck out
            [-3.0, 2.0, 0.0, 0.0, 0.0],
            [0.0, -1.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, -3.0, 0.0],
            [0.0, 0.0, -3.0, 3.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.5],
            [1.2, 0.0, 0.0, 0.0, 0.0],  # from here on: what is left to say is kept
            [0.0, 1.2, 0.0, 0.0, 0.0],
            [0.0, 0.0, 1.2, 0.0, 0.0],
            [0.0, 0.0, 0.0, 1.2, 0.0],
            [0.0, 0.0, 0.0, 0.0, 1.2],
        ]
    ),
    "decoder.layers.0.forward.bias": np.zeros(5),
    "output.weight": np.array(
        [
            [0.0, 0.0, 0.0, 15.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 15.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 15.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 15.0],
            [0.0, 0.0, 6.0, 0.0, 0.0, 0.0, 0.0],
        ]
    ),
    "output.bias": np.array([-9.0, -9.0, -1.0, 0.0, 0.0, 0.0, 0.0]),
}
"""Source vectors (8, 6) and target vectors (7, 6); each network (6 + 5, 5); from a state to the vocabulary (5, 7)."""

_AXES = {
    "src_embedding.weight": ("source vocabulary", "feature"),
    "tgt_embedding.weight": ("target vocabulary", "feature"),
    "encoder.layers.0.forward.weight": ("feature and state", "state"),
    "encoder.layers.0.forward.bias": ("state",),
    "decoder.layers.0.forward.weight": ("feature and state", "state"),
    "decoder.layers.0.forward.bias": ("state",),
    "output.weight": ("state", "target vocabulary"),
    "output.bias": ("target vocabulary",),
}
_LABELS = {
    "source vocabulary": SPOKEN_WORDS,
    "target vocabulary": TRANSLATED_WORDS,
    "feature": HEARD_FEATURES,
    "state": STATE_COLUMNS,
    "feature and state": [*HEARD_FEATURES, *STATE_COLUMNS],
}


def source_ids(text: str) -> np.ndarray:
    """The ids of an English sentence in `SPOKEN_WORDS`.

    Args:
        text: its words, with spaces between them.

    Returns:
        (n,) token ids.

    Raises:
        ValueError: a word is not in the vocabulary.
    """
    return np.array([SPOKEN_WORDS.index(word) for word in text.split()])


def target_ids(text: str) -> np.ndarray:
    """The ids of a Chinese sentence in `TRANSLATED_WORDS`.

    Args:
        text: its words, with spaces between them.

    Returns:
        (n,) token ids.

    Raises:
        ValueError: a word is not in the vocabulary.
    """
    return np.array([TRANSLATED_WORDS.index(word) for word in text.split()])


def _leaves(halves: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Declare the parameters of some parts of the model. The player shows "encoder.weight" for the long name."""
    return {
        name: leaf(
            name.replace(".layers.0.forward", ""), array, _AXES[name], {axis: _LABELS[axis] for axis in _AXES[name]}
        )
        for name, array in ENCODER_DECODER_PARAMS.items()
        if name.startswith(halves)
    }


def _read(text: str, pad_id: int | None = None) -> np.ndarray:
    """Declare a source and record the encoder; return the context."""
    src = leaf("src", source_ids(text), "src", vocabulary=SPOKEN_WORDS)
    start = leaf("start", np.zeros(5), "state", {"state": STATE_COLUMNS})
    return encode(src, start, _leaves(("src", "encoder")), "rnn", pad_id).context


def read_a_sentence(text: str = "Tom chase Jerry <eos>") -> Trace:
    """The encoder alone: a sentence becomes one vector, the context.

    Args:
        text: the sentence; the program is unrolled for its length.

    Returns:
        A program with the token leaf src, fixed at the length of the text.
    """
    with record("The encoder: a sentence becomes one vector", {"src": len(text.split())}) as trace:
        _read(text)
    return trace


def read_a_padded_sentence() -> Trace:
    """The encoder on a sentence that was filled up: the state is held over padding.

    Returns:
        A program with the token leaf src (5,), then a decoder that writes four words.
    """
    with record("A sentence filled up with padding", {"src": 5}) as trace:
        context = _read("Tom run <eos> <pad> <pad>", pad_id=0)
        _write(context, 4)
    return trace


def teacher_forcing() -> Trace:
    """Encoder and decoder as in training: the decoder reads the right words, whatever it would have said.

    Returns:
        A program with the token leaves src (4,), tgt (4,) and targets (4,), which is tgt one word later.
    """
    answers = "汤姆 追逐 杰瑞 <eos>"
    with record("Teacher forcing: the decoder reads the right words", {"src": 4, "tgt": 4, "target": 4}) as trace:
        context = _read("Tom chase Jerry <eos>")
        tgt = leaf("tgt", target_ids("<bos> 汤姆 追逐 杰瑞"), "tgt", vocabulary=TRANSLATED_WORDS)
        targets = leaf("targets", target_ids(answers), "target", vocabulary=TRANSLATED_WORDS)
        params = _leaves(("tgt", "decoder", "output"))
        logits = project(decode(tgt, context, params, "rnn").states, params)
        softmax(logits, name="probabilities")
        cross_entropy(logits, targets)
    return trace


def feeding_back() -> Trace:
    """Encoder and decoder as in use: the decoder reads the words that it has written itself.

    Returns:
        A program with the token leaf src (4,) and one word of the target, the start mark.
    """
    with record("Feeding back: the decoder reads its own words", {"src": 4, "bos": 1}) as trace:
        context = _read("Tom chase Jerry <eos>")
        _write(context, 4)
    return trace


def _write(context: np.ndarray, n_steps: int) -> None:
    bos = leaf("bos", target_ids("<bos>"), "bos", vocabulary=TRANSLATED_WORDS)
    written = feed_back(bos, context, _leaves(("tgt", "decoder", "output")), n_steps, "rnn")
    softmax(written.logits, name="probabilities")
