"""Looking into a model: a residual stream read at each depth, and a mean of attention weights over a padded batch."""

import numpy as np

from stepformer.examples._output import OUTPUT_BIAS, OUTPUT_EMBEDDING, OUTPUT_WORDS
from stepformer.examples._self_attention import WORD_FEATURES
from stepformer.ops import add, divide, embed, multiply, softmax, total
from stepformer.recording import leaf, record, scope
from stepformer.reference.normalization import normalise
from stepformer.reference.transformer import project
from stepformer.trace import Trace

LENS_WORDS = ["<bos>", "汤姆", "追逐"]
"""What the decoder has read; it is to say 汤姆, 追逐 and 杰瑞."""

FOUND_BACK = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.0],  # there is nothing before <bos>
        [-0.1, 0.2, -0.1, 0.0, 0.1, 0.0, 0.0, -0.1, 0.0, 0.0],  # after a being, an action
        [0.4, -0.3, 0.1, 0.1, -0.3, 0.0, 0.0, 0.0, 0.0, 0.0],  # after an action, a being
    ]
)
"""(3, 10): what self-attention adds to each row of the stream."""

FOUND_ACROSS = np.array(
    [
        [1.2, -0.8, 1.3, -0.5, -0.1, -0.1, -0.3, -0.9, -0.2, 0.0],  # Tom: a being, a cat
        [-1.6, 1.2, -1.0, 0.5, 0.9, 0.2, -0.4, -0.4, 0.0, 0.0],  # chase: an action with motion
        [1.0, -1.5, -0.5, 1.2, -1.0, -0.1, -0.2, -0.6, 0.1, 0.0],  # Jerry: a being, a mouse
    ]
)
"""(3, 10): what cross-attention adds."""

LENS_GAIN = np.array([1.1, 1.2, 1.0, 1.1, 1.0, 0.9, 0.8, 0.9, 1.0, 0.7])
"""(10,): of the norm after the last layer."""

DEPTHS = ("embedding", "self_attention", "cross_attention")


def logit_lens() -> Trace:
    """A stream of three states, and what the output layer would say to each: the norm comes first, as at the end.

    Returns:
        A program with the token leaf tgt (3,). For each depth it has logits and probabilities (3, 13), such as
        "embedding.logits".
    """
    words = {"tgt_vocabulary": OUTPUT_WORDS}
    with record("The logit lens: what the stream says at each depth", fixed={"tgt": len(LENS_WORDS)}) as trace:
        tgt = leaf(
            "tgt", np.array([OUTPUT_WORDS.index(word) for word in LENS_WORDS]), ("tgt",), vocabulary=OUTPUT_WORDS
        )
        axes = {"d_model": WORD_FEATURES}
        table = leaf("tgt_embedding.weight", OUTPUT_EMBEDDING, ("tgt_vocabulary", "d_model"), words | axes)
        found = [leaf(name, array, ("tgt", "d_model"))
                 for name, array in (("found_back", FOUND_BACK), ("found_across", FOUND_ACROSS))]  # fmt: skip
        norm = {
            "gain": leaf("norm.gain", LENS_GAIN, ("d_model",)),
            "bias": leaf("norm.bias", np.zeros(10), ("d_model",)),
        }
        params = {"tgt_embedding.weight": table, "output.bias": leaf("output.bias", OUTPUT_BIAS, ("tgt_vocabulary",))}
        stream = embed(tgt, table, name="stream_0")
        for k, depth in enumerate(DEPTHS):
            if k:
                stream = add(stream, found[k - 1], name=f"stream_{k}")
            with scope(depth):
                with scope("norm"):
                    rows = normalise(stream, norm)
                softmax(project(rows, params), name="probabilities")
    return trace


HEAD_WEIGHTS = np.array(
    [
        [
            [0.80, 0.10, 0.05, 0.05],  # Anna sees Tom . -> 安娜 看见 汤姆 。
            [0.10, 0.70, 0.10, 0.10],
            [0.05, 0.10, 0.80, 0.05],
            [0.05, 0.05, 0.10, 0.80],
        ],
        [
            [0.85, 0.10, 0.05, 0.0],  # Tom sleeps . -> 汤姆 睡觉, and then a row of padding or two
            [0.10, 0.75, 0.15, 0.0],
            [0.30, 0.40, 0.30, 0.0],
            [0.35, 0.35, 0.30, 0.0],
        ],
    ]
)
"""(2, 4, 4): weights of one head over a batch. Rows of padding have weights as well; nobody uses what they fetch."""

HEAD_LINKS = np.array([np.eye(4), np.diag([1.0, 1.0, 0.0, 0.0])])
"""(2, 4, 4): which source word each target word translates; a row of padding translates none."""

IS_WORD = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]])
"""(2, 4): 1 for a word of the target, 0 for padding."""


def weight_on_links() -> Trace:
    """How much of its weight a head puts on the words that are translated: a mean over the words of a batch.

    Returns:
        A program with the leaves weights and links (2, 4, 4) and is_word (2, 4). Its result is "mean_weight".
    """
    with record("How much weight lies on the right words?", fixed={"tgt": 4, "src": 4}) as trace:
        weights = leaf("weights", HEAD_WEIGHTS, ("sentence", "tgt", "src"))
        links = leaf("links", HEAD_LINKS, ("sentence", "tgt", "src"))
        is_word = leaf("is_word", IS_WORD, ("sentence", "tgt"))
        leaf("every_row", np.ones((2, 4)), ("sentence", "tgt"))  # nothing uses it, until somebody counts padding
        on_links = total(multiply(weights, links, name="linked_weights"), name="on_links")
        counted = multiply(on_links, is_word, name="counted")
        divide(_sum(counted, "weight"), _sum(is_word, "number_of_words"), name="mean_weight")
    return trace


def _sum(x: np.ndarray, name: str) -> np.ndarray:
    return total(total(x, name=f"{name}_of_each_sentence"), name=name)
