"""A whole Transformer that translates sentences of three words, as a recorded program.

Its weights are designed: one layer on each side, ten columns that have a name and keep it from the first step to the
last. Each part has one job, so that a reader can take it away and see what is missing. A trained model has neither
names nor such a tidy division of labour.
"""

from collections.abc import Mapping

import numpy as np

from stepformer.ops import softmax
from stepformer.recording import leaf, record
from stepformer.reference.transformer import AXES
from stepformer.reference.transformer import transformer as _transformer
from stepformer.trace import Trace

ENGLISH_WORDS = ["<pad>", "Tom", "Jerry", "chase", "see", "swim", "pay", "bank", "shore", "river", "money"]
CHINESE_WORDS = [
    "<pad>", "<bos>", "<eos>", "汤姆", "杰瑞", "追逐", "看见", "游", "付", "银行", "河岸", "河", "钱",
]  # fmt: skip
STREAM_COLUMNS = ["sine", "cosine", "being", "cat", "action", "money", "motion", "place", "water", "end"]
"""What each of the ten columns means, on both sides. Cat has mouse as its negative, motion rest, end the beginning."""

D_FF = 14


def _row(**features: float) -> np.ndarray:
    row = np.zeros(len(STREAM_COLUMNS))
    for name, value in features.items():
        row[STREAM_COLUMNS.index(name)] = value
    return row


def _vectors(**words: dict[str, float]) -> np.ndarray:
    """A table of word vectors. Its −0.32 takes off what the slow cosines add everywhere: √10 · 0.32 is nearly 1."""
    slow = _row(cat=-0.32, money=-0.32, place=-0.32, end=-0.32)
    return np.round([_row(**features) + slow for features in words.values()], 2)


def _matrix(n_rows: int, n_columns: int, cells: Mapping[tuple[int | str, int | str], float]) -> np.ndarray:
    """A matrix with these cells, and zeros elsewhere. A text is the name of a column of the stream."""
    matrix = np.zeros((n_rows, n_columns))
    for place, value in cells.items():
        matrix[tuple(STREAM_COLUMNS.index(k) if isinstance(k, str) else k for k in place)] = value
    return matrix


def _bias(cells: Mapping[int, float], n: int = 10) -> np.ndarray:
    return np.array([cells.get(k, 0.0) for k in range(n)])


# ---- the parts, in the order in which they are used. Head 0 has columns 0 to 4, head 1 columns 5 to 9 --------------

_SOURCE_VECTORS = _vectors(
    pad={},
    Tom=dict(being=0.6, action=-0.4, cat=0.4, place=-0.4),
    Jerry=dict(being=0.6, action=-0.3, cat=-0.4, place=-0.1),
    chase=dict(being=-0.4, action=0.6, motion=0.4, place=-0.4),
    see=dict(being=-0.2, action=0.6, motion=-0.4, place=0.1),
    swim=dict(being=-0.4, action=0.5, water=0.5, place=-0.4),
    pay=dict(being=-0.4, action=0.5, money=0.5, place=-0.4),
    bank=dict(being=-0.3, action=-0.3, place=0.7),
    shore=dict(being=-0.35, action=-0.35, place=0.4, water=0.3),
    river=dict(being=-0.3, action=-0.3, water=0.7, place=-0.1),
    money=dict(being=-0.3, action=-0.3, money=0.7, place=-0.1),
)
"""(11, 10): what each English word is. Sine and cosine are left to the position."""

_TARGET_VECTORS = _vectors(
    pad={},
    bos=dict(end=-0.6),
    eos=dict(end=0.5),
    tom=dict(being=0.4, action=-0.2, cat=0.2),
    jerry=dict(being=0.4, action=-0.2, cat=-0.2),
    chase=dict(being=-0.2, action=0.5, motion=0.2),
    see=dict(being=-0.2, action=0.5, motion=-0.2),
    swim=dict(being=-0.2, action=0.5, motion=0.1),
    pay=dict(being=-0.2, action=0.5, motion=-0.1),
    bank=dict(action=-0.2, place=0.3, money=0.1),
    shore=dict(action=-0.2, place=0.3, water=0.1),
    river=dict(action=-0.2, water=0.2),
    money=dict(action=-0.2, money=0.2),
)
"""(13, 10): what the decoder must know of a word that it has written: above all, whether it was an action."""

# A place asks whether there is water (head 0) or money (head 1). Who does not ask looks at beings.
_ENCODER_ATTENTION = {
    "w_q.weight": _matrix(10, 10, {("place", 0): 2.0, ("place", 5): 2.0}),
    "w_q.bias": _bias({1: 1.5, 6: 1.5}),
    "w_k.weight": _matrix(10, 10, {("water", 0): 2.0, ("being", 1): 1.0, ("money", 5): 2.0, ("being", 6): 1.0}),
    "w_v.weight": _matrix(10, 10, {("water", 0): 1.0, ("money", 5): 1.0}),
    "w_o.weight": _matrix(
        10,
        10,
        {(0, "water"): 1.2, (5, "money"): 1.2}
        | {(head, other): -0.6 for head in (0, 5) for other in ("being", "action")},
    ),
}

# Head 0: a word that is no action asks for an action before it. Head 1 clears away what the word itself is.
_DECODER_ATTENTION = {
    "w_q.weight": _matrix(10, 10, {("action", 0): -4.0, ("sine", 5): 4.0, ("cosine", 6): 4.0}),
    "w_q.bias": _bias({1: 1.5}),
    "w_k.weight": _matrix(10, 10, {("action", 0): 2.0, ("end", 1): -1.5, ("sine", 5): 4.0, ("cosine", 6): 4.0}),
    "w_v.weight": _matrix(
        10,
        10,
        {("action", 0): 1.0}
        | {(name, 5 + k): 1.0 for k, name in enumerate(("being", "action", "cat", "motion", "place"))},
    ),
    "w_o.weight": _matrix(
        10,
        10,
        {(0, "end"): 3.0}
        | {(5 + k, name): -0.8 for k, name in enumerate(("being", "action", "cat", "motion", "place"))},
    ),
}

_FETCHED = ("being", "action", "cat", "motion", "place", "water", "money", "place")
# Both heads ask for the word at the same position, and fetch different columns of it.
_CROSS_ATTENTION = {
    "w_q.weight": _matrix(
        10,
        10,
        {(name, 5 * head + k): 4.0 for head in (0, 1) for k, name in enumerate(("sine", "cosine"))}
        | {("end", 1): 0.5, ("end", 6): 0.5},
    ),
    "w_k.weight": _matrix(
        10, 10, {(name, 5 * head + k): 4.0 for head in (0, 1) for k, name in enumerate(("sine", "cosine"))}
    ),
    "w_v.weight": _matrix(10, 10, {(name, k): 1.0 for k, name in enumerate(_FETCHED)}),
    "w_o.weight": _matrix(10, 10, {(k, name): 1.0 if name == "place" else 2.0 for k, name in enumerate(_FETCHED)}),
}

# Each unit of a feed-forward network waits until its column is above 0.5, or below −0.5, and then adds to it.
_SHARPENED = ("being", "action", "cat", "motion", "water", "money", "place")
_ENCODER_UNITS = [f"{name} {sign}" for name in _SHARPENED for sign in ("+", "−")]
_ENCODER_NETWORK = {
    "w_1.weight": _matrix(
        10, D_FF, {(name, 2 * k + j): (1.0, -1.0)[j] for k, name in enumerate(_SHARPENED) for j in (0, 1)}
    ),
    "w_1.bias": np.full(D_FF, -0.5),
    "w_2.weight": _matrix(
        D_FF, 10, {(2 * k + j, name): (0.8, -0.8)[j] for k, name in enumerate(_SHARPENED) for j in (0, 1)}
    ),
}
_DECODER_UNITS = [*_SHARPENED, "mouse", "rest", "end", "free", "free", "free", "free"]
# The unit "end" takes away what else there is to say.
_DECODER_NETWORK = {
    "w_1.weight": _matrix(
        10,
        D_FF,
        {(name, k): 1.0 for k, name in enumerate(_SHARPENED)}
        | {("cat", 7): -1.0, ("motion", 8): -1.0, ("end", 9): 1.0},
    ),
    "w_1.bias": _bias({k: -0.5 for k in range(9)} | {9: -0.8}, D_FF),
    "w_2.weight": _matrix(
        D_FF,
        10,
        {(k, name): 0.8 for k, name in enumerate(_SHARPENED)}
        | {(7, "cat"): -0.8, (8, "motion"): -0.8, (9, "end"): 2.0}
        | {(9, name): -1.0 for name in ("being", "place", "water", "money")},
    ),
}

_WRITTEN = dict(
    eos=dict(end=6.5),
    tom=dict(being=2.6, cat=2.6, end=-1.3),
    jerry=dict(being=2.6, cat=-2.6, end=-1.3),
    chase=dict(action=2.6, motion=3.4, water=-1.0, money=-1.0, end=-1.3),
    see=dict(action=2.6, motion=-2.6, end=-1.3),
    swim=dict(action=3.1, water=1.8, being=-0.6, end=-1.3),
    pay=dict(action=3.1, money=1.8, being=-0.6, end=-1.3),
    bank=dict(place=3.1, money=2.0, action=-2.1, end=-1.3),
    shore=dict(place=3.1, water=2.0, action=-2.1, end=-1.3),
    river=dict(water=2.3, being=-1.0, action=-2.6, place=-2.6, end=-1.3),
    money=dict(money=2.3, being=-1.0, action=-2.6, place=-2.6, end=-1.3),
)
"""What a row must be like for each Chinese word to be written next."""


def _all_params() -> dict[str, np.ndarray]:
    params = {"src_embedding.weight": _SOURCE_VECTORS, "tgt_embedding.weight": _TARGET_VECTORS}
    encoder, decoder = "encoder.layers.0", "decoder.layers.0"
    attentions = {
        f"{encoder}.self_attention": _ENCODER_ATTENTION,
        f"{decoder}.self_attention": _DECODER_ATTENTION,
        f"{decoder}.cross_attention": _CROSS_ATTENTION,
    }
    networks = {f"{encoder}.feed_forward": _ENCODER_NETWORK, f"{decoder}.feed_forward": _DECODER_NETWORK}
    for path, cells in attentions.items():
        for role in "qkvo":
            params[f"{path}.w_{role}.weight"] = cells[f"w_{role}.weight"]
            params[f"{path}.w_{role}.bias"] = cells.get(f"w_{role}.bias", np.zeros(10))
    for path, cells in networks.items():
        params |= {f"{path}.{name}": array for name, array in cells.items()} | {f"{path}.w_2.bias": np.zeros(10)}
    for path in [*attentions, *networks]:
        gain = np.ones(10)
        if path.startswith("encoder"):
            gain[:2] = 1.4  # the position is small beside the word, and the decoder will ask for it
        params |= {f"{path}_norm.gain": gain, f"{path}_norm.bias": np.zeros(10)}
    params["output.weight"] = np.stack([_row(), _row(), *(_row(**word) for word in _WRITTEN.values())], axis=1)
    params["output.bias"] = np.array([-3.0, -3.0] + [0.0] * 11)
    return params


TRANSFORMER_PARAMS = _all_params()
"""Name -> array: d_model 10, 2 heads, d_ff 14, one layer on each side, vocabularies of 11 and 13."""

_free = ["free"] * 5
_COLUMNS = {
    "encoder.layers.0.self_attention": (
        ["water", "being", *_free[:3], "money", "being", *_free[:3]],
        ["water", *_free[:4], "money", *_free[:4]],
    ),
    "decoder.layers.0.self_attention": (
        ["action", "begin", *_free[:3], "sine", "cosine", *_free[:3]],
        ["action", *_free[:4], "being", "action", "cat", "motion", "place"],
    ),
    "decoder.layers.0.cross_attention": (
        ["sine", "cosine", *_free[:3], "sine", "cosine", *_free[:3]],
        [*_FETCHED, *_free[:2]],
    ),
}
"""What the columns of queries and keys, and those of values, mean in each attention."""


def declared(parts: tuple[str, ...] = ("",)) -> dict[str, np.ndarray]:
    """Declare parameters of the model as leaves, with a name for every column.

    Args:
        parts: how the names of the wanted ones begin; all if not given.

    Returns:
        Name -> array, to be handed to a layer.
    """
    shown = {
        "d_model": STREAM_COLUMNS,
        "src_vocabulary": ENGLISH_WORDS,
        "tgt_vocabulary": CHINESE_WORDS,
        "encoder unit": _ENCODER_UNITS,
        "decoder unit": _DECODER_UNITS,
    }
    for path, (asked, told) in _COLUMNS.items():
        shown |= {f"{_short(path)} question": asked, f"{_short(path)} answer": told}
    params = {}
    for name, array in TRANSFORMER_PARAMS.items():
        if not name.startswith(parts):
            continue
        axes = _axes(name)[-array.ndim :]
        params[name] = leaf(name, array, axes, {axis: shown[axis] for axis in axes})
    return params


def _short(path: str) -> str:
    side, *_, layer = path.split(".")
    return "cross" if layer.startswith("cross") else side


def _axes(name: str) -> tuple[str, ...]:
    path, part, _ = name.rsplit(".", 2) if name.count(".") > 1 else ("", *name.split("."))
    if part in ("w_q", "w_k"):
        return "d_model", f"{_short(path)} question"
    if part == "w_v":
        return "d_model", f"{_short(path)} answer"
    if part == "w_o":
        return (f"{_short(path)} answer", "d_model")
    if part in ("w_1", "w_2"):
        unit = f"{_short(path)} unit"
        return ("d_model", unit) if part == "w_1" else (unit, "d_model")
    return AXES.get(name, ("d_model",))


def transformer() -> Trace:
    """The whole Transformer: from the ids of three English words to the probabilities of the next Chinese words.

    Returns:
        A program with the token leaves src (3,) and tgt (4,), and every parameter of the model.
    """
    with record("The whole Transformer, translating") as trace:
        src = _tokens("src", ["Tom", "chase", "Jerry"], ENGLISH_WORDS)
        tgt = _tokens("tgt", ["<bos>", "汤姆", "追逐", "杰瑞"], CHINESE_WORDS)
        logits = _transformer(src, tgt, declared(), n_heads=2)
        softmax(logits, name="probabilities")
    return trace


def _tokens(side: str, words: list[str], vocabulary: list[str]) -> np.ndarray:
    return leaf(side, np.array([vocabulary.index(word) for word in words]), side, vocabulary=vocabulary)
