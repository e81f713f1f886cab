"""Judging a translation, and where the model looked when it wrote: BLEU on two sentences, and an alignment error."""

import numpy as np

from stepformer.ops import add, divide, hardmax, multiply, subtract, total
from stepformer.recording import leaf, record
from stepformer.trace import Trace

REFERENCE = "汤姆在追逐杰瑞。"
HYPOTHESES = {
    "one word is missing": "汤姆追逐杰瑞。",
    "the roles are swapped": "杰瑞在追逐汤姆。",
    "another way to say it": "汤姆正追着杰瑞跑呢。",
}
"""Translations of `Tom is chasing Jerry.`: nearly right, wrong, and as good as the reference."""

ALIGNED_SOURCE = ["Tom", "is", "chasing", "the", "cat", "."]
ALIGNED_TARGET = ["汤姆", "在", "追逐", "猫", "。"]

LOOKED_AT = np.array(
    [
        [0.82, 0.05, 0.04, 0.02, 0.05, 0.01],  # has read <bos>, writes 汤姆
        [0.06, 0.55, 0.30, 0.02, 0.03, 0.02],  # writes 在
        [0.03, 0.28, 0.60, 0.03, 0.04, 0.01],  # writes 追逐
        [0.04, 0.02, 0.05, 0.46, 0.38, 0.03],  # writes 猫, and looks at the article a little more than at the noun
        [0.02, 0.03, 0.02, 0.03, 0.04, 0.80],  # writes 。
        [0.01, 0.02, 0.02, 0.03, 0.05, 0.37],  # has read 。, writes <eos>
    ]
)
"""(6, 6): one row for each word that was read, from <bos>. What is missing to 1 looked at the source's <eos>."""

SURE_LINKS = np.array([[1, 0, 0, 0, 0, 0], [0] * 6, [0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1]]) * 1.0
POSSIBLE_LINKS = np.array(
    [[1, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 1, 0], [0] * 5 + [1.0]]
)
"""(5, 6) each: 在 goes with `is`, and with the ending of `chasing`; 猫 may take `the` along."""


def alignment_error() -> Trace:
    """How far attention is from the alignment of people: the best column of each row, and what of it is right.

    Returns:
        A program with the leaves weights, sure and possible (5, 6). Its result is "error_rate".
    """
    with record("Alignment error: does it look at the word that it translates?") as trace:
        axes, labels = ("tgt", "src"), {"tgt": ALIGNED_TARGET, "src": ALIGNED_SOURCE}
        weights = leaf("weights", LOOKED_AT[:-1], axes, labels)
        sure, possible = leaf("sure", SURE_LINKS, axes), leaf("possible", POSSIBLE_LINKS, axes)
        one = leaf("one", np.array(1.0), ())
        links = hardmax(weights, name="links")
        found = add(
            _count(multiply(links, sure, name="sure_links"), "sure_found"),
            _count(multiply(links, possible, name="possible_links"), "possible_found"),
            name="found",
        )
        wanted = add(_count(links, "number_of_links"), _count(sure, "number_of_sure"), name="wanted")
        subtract(one, divide(found, wanted, name="agreement"), name="error_rate")
    return trace


def _count(x: np.ndarray, name: str) -> np.ndarray:
    return total(total(x, name=f"{name}_in_each_row"), name=name)
