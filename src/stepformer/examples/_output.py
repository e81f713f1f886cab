"""The output of the Transformer: from a vector to the next word, and what a whole target costs.

The table of word vectors is that of causal self-attention with seven more words. The decoder's vectors are in the
same ten features, so that a reader can check by eye why 追逐 is the most probable word after 汤姆.
"""

import numpy as np

from stepformer.examples._self_attention import TARGET_EMBEDDING, TARGET_WORDS, WORD_FEATURES
from stepformer.ops import divide, exp, hardmax, linear, softmax, transpose
from stepformer.recording import leaf, record, scope
from stepformer.reference.loss import cross_entropy, smoothed_cross_entropy
from stepformer.reference.sampling import top_k, top_p
from stepformer.trace import Trace

OUTPUT_WORDS = [*TARGET_WORDS, "抓住", "看见", "喜欢", "跑", "猫", "老鼠", "银行"]

OUTPUT_EMBEDDING = np.vstack(
    [
        TARGET_EMBEDDING,
        [
            [0.2, 1.3, 0.2, 0.3, 0.8, 0.0, 0.1, 0.0, 0.1, 0.5],  # 抓住, catch
            [0.3, 1.2, 0.1, 0.1, 0.0, 0.1, 0.0, 0.3, 0.1, 0.5],  # 看见, see
            [0.5, 1.1, 0.1, 0.2, -0.1, 0.0, 0.2, 0.0, 0.3, 0.5],  # 喜欢, like
            [0.1, 1.3, 0.1, 0.1, 1.2, -0.2, 0.0, 0.2, 0.0, 0.5],  # 跑, run
            [1.0, 0.1, 1.1, -0.2, 0.2, -0.1, 0.0, 0.1, 0.1, 0.5],  # 猫, cat
            [1.0, 0.0, -0.2, 1.1, 0.2, 0.0, 0.0, 0.1, 0.1, 0.5],  # 老鼠, mouse
            [-0.1, 0.0, 0.0, 0.0, -0.2, 0.2, 1.3, 1.2, 0.2, 0.5],  # 银行, bank
        ],
    ]
)
"""(13, 10): one row per Chinese word."""

OUTPUT_BIAS = np.array([-2.0, -2.0, 0.8, 0.4, 0.1, 0.4, 0.0, 0.1, 0.18, -0.2, -0.1, -0.1, -0.4])
"""(13,): how common each word is. <pad> and <bos> never follow anything."""

READ_SO_FAR = ["<bos>", "汤姆", "追逐", "杰瑞", "<eos>"]
"""What the decoder has read last at each position. The last one has no next word: the sentence is over."""

DECODER_OUTPUT = np.array(
    [
        [1.3, -0.5, 1.2, -0.4, -0.1, 0.0, -0.3, -0.5, 0.1, 0.6],  # a being, rather a cat
        [-0.6, 1.5, 0.2, 0.6, 1.1, 0.1, -0.3, -0.4, 0.1, 0.6],  # an action, with motion
        [1.4, -0.4, -0.2, 1.3, 0.1, -0.1, -0.2, -0.5, 0.2, 0.6],  # a being, rather a mouse
        [-1.0, -0.9, -0.4, -0.5, -0.4, 0.1, -1.2, 1.1, -0.1, 0.8],  # no being, no action: the end
        [0.2, 0.4, -0.3, 0.1, 0.3, 0.0, -0.2, 0.2, 0.1, 0.5],  # nothing in particular
    ]
)
"""(5, 10): the decoder's last vector at each position, what the next word should be like."""

# The products have two decimals exactly; rounding only takes off the last bits that binary arithmetic adds.
OUTPUT_LOGITS = np.round(DECODER_OUTPUT @ OUTPUT_EMBEDDING.T + OUTPUT_BIAS, 2)
"""(5, 13): the logits of every next word at every position."""

NEXT_TARGETS = np.array([3, 4, 5, 2, 0])
"""(5,): the words that really come next: 汤姆 追逐 杰瑞 <eos>, and <pad> where nothing does."""

_LABELS = {"tgt": READ_SO_FAR, "vocabulary": OUTPUT_WORDS}


def output() -> Trace:
    """The last layer: each vector of the decoder meets the vector of every word, and softmax makes it probabilities.

    Returns:
        A program with the leaves x (4, 10), tgt_embedding.weight (13, 10) and output.bias (13,).
    """
    with record("From the decoder's vectors to the next word") as trace:
        x = leaf("x", DECODER_OUTPUT[:4], ("tgt", "d_model"), {"tgt": READ_SO_FAR[:4], "d_model": WORD_FEATURES})
        words = {"vocabulary": OUTPUT_WORDS}
        embedding = leaf("tgt_embedding.weight", OUTPUT_EMBEDDING, ("vocabulary", "d_model"), words)
        bias = leaf("output.bias", OUTPUT_BIAS, "vocabulary")
        with scope("output"):
            weight = transpose(embedding, name="weight")
        logits = linear(x, weight, bias, name="logits")
        hardmax(softmax(logits, name="probabilities"), name="most_probable")
    return trace


def sampling() -> Trace:
    """What may follow 汤姆: temperature, then the k most probable words, then those that reach the probability p.

    Returns:
        A program with the leaves logits (13,), temperature, k and p, one number each.
    """
    with record("After 汤姆: which words may be chosen, and how often") as trace:
        logits = leaf("logits", OUTPUT_LOGITS[1], "vocabulary", {"vocabulary": OUTPUT_WORDS})
        temperature, k, p = (leaf(name, np.array(x), ()) for name, x in (("temperature", 0.8), ("k", 3.0), ("p", 0.9)))
        tempered = divide(logits, temperature, name="tempered_logits")
        softmax(tempered, name="probabilities")
        top_k(tempered, k)
        top_p(tempered, p)
    return trace


def padded_loss() -> Trace:
    """The loss of a target with padding: a row without an answer costs nothing and is not counted.

    Returns:
        A program with the leaf logits (5, 13) and the token leaf targets (5,).
    """
    with record("The loss of a target with padding, and its perplexity") as trace:
        logits, targets = _logits_and_targets()
        softmax(logits, name="probabilities")
        exp(cross_entropy(logits, targets, pad_id=0), name="perplexity")
    return trace


def smoothed_loss() -> Trace:
    """The same loss with label smoothing: a little of each target goes to all words.

    Returns:
        A program with the leaf logits (5, 13), the token leaf targets (5,) and smoothing, one number.
    """
    with record("The loss with label smoothing") as trace:
        logits, targets = _logits_and_targets()
        smoothing = leaf("smoothing", np.array(0.1), ())
        softmax(logits, name="probabilities")
        smoothed_cross_entropy(logits, targets, smoothing, pad_id=0)
    return trace


def _logits_and_targets() -> tuple[np.ndarray, np.ndarray]:
    logits = leaf("logits", OUTPUT_LOGITS, ("tgt", "vocabulary"), _LABELS)
    return logits, leaf("targets", NEXT_TARGETS, "next word", vocabulary=OUTPUT_WORDS)
