"""What the sentences of the grammar show, each with an example, and how often."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Phenomenon(NamedTuple):
    """Something that sentences do.

    Attributes:
        description: what, in one line.
        english: an example.
        chinese: its translation.
        weight: how many of about a hundred sentences are made for it; others show it by chance.
        core: whether it belongs to the core of the grammar.
    """

    description: str
    english: str
    chinese: str
    weight: int
    core: bool


PHENOMENA: dict[str, Phenomenon] = {
    "present": Phenomenon("present tense: the bare verb", "Tom chases Jerry.", "汤姆追逐杰瑞。", 4, True),
    "past": Phenomenon("past tense: 了 after the verb", "Tom chased Jerry.", "汤姆追逐了杰瑞。", 4, True),
    "progressive": Phenomenon(
        "what is going on: 正在 before the verb", "The cat is sleeping.", "那只猫正在睡觉。", 4, True
    ),
    "future": Phenomenon("future: 会 before the verb", "Anna will read a book.", "安娜会读一本书。", 4, True),
    "negation": Phenomenon(
        "not: 不, and 没有 of what has not happened or is not going on",
        "Tom did not chase Jerry.",
        "汤姆没有追逐杰瑞。",
        9,
        True,
    ),
    "yes_no": Phenomenon(
        "yes–no question: 吗 at the end, nothing moves", "Did Tom chase Jerry?", "汤姆追逐了杰瑞吗？", 7, True
    ),
    "classifier": Phenomenon(
        "a word between the determiner or number and the noun, chosen by the noun",
        "The boy bought a book.",
        "那个男孩买了一本书。",
        4,
        True,
    ),
    "adjective": Phenomenon(
        "adjectives: with 的, or bare if short",
        "The clever dog saw a small cat.",
        "那只聪明的狗看见了一只小猫。",
        7,
        True,
    ),
    "relative": Phenomenon(
        "relative clause: it moves before its noun, with 的",
        "The cat that chased Jerry is sleeping.",
        "追逐杰瑞的那只猫正在睡觉。",
        22,
        True,
    ),
    "time": Phenomenon("time: before the verb", "Tom chased Jerry yesterday.", "汤姆昨天追逐了杰瑞。", 6, True),
    "place": Phenomenon(
        "place: before the verb, with 在", "The cat slept in the garden.", "那只猫在花园里睡觉了。", 6, True
    ),
    "plural": Phenomenon(
        "plural: 们 of people, 那些, 这些, 一些", "The children saw some birds.", "孩子们看见了一些鸟。", 5, False
    ),
    "number": Phenomenon(
        "numbers with classifiers; two of them is 两", "Anna has two cats.", "安娜有两只猫。", 5, False
    ),
    "possessive": Phenomenon("whose: 的", "The dog bit Tom's friend.", "那只狗咬了汤姆的朋友。", 5, False),
    "pronoun": Phenomenon("personal pronouns", "She saw us.", "她看见了我们。", 4, False),
    "modal": Phenomenon("can, should, may, must, want to", "You should rest.", "你应该休息。", 5, False),
    "be": Phenomenon(
        "what somebody is or is like or where: 是, 很, 在", "Anna is a doctor.", "安娜是医生。", 5, False
    ),
    "ba": Phenomenon(
        "把: a known object that something is done to stands before the verb",
        "Tom opened the door.",
        "汤姆把那扇门打开了。",
        6,
        False,
    ),
    "wh_question": Phenomenon(
        "who, what, why, where: the Chinese word stays in its place",
        "Who did Tom chase?",
        "汤姆追逐了谁？",
        7,
        False,
    ),
    "because": Phenomenon(
        "because: 因为 … 所以 …, always the reason first",
        "Tom laughed because Jerry danced.",
        "因为杰瑞跳舞了，所以汤姆笑了。",
        0,
        False,
    ),
    "although": Phenomenon(
        "although and but: 虽然 … 但是 …",
        "Although Tom slept, Jerry worked.",
        "虽然汤姆睡觉了，但是杰瑞工作了。",
        0,
        False,
    ),
    "clauses": Phenomenon(
        "clauses in a row", "Tom sang, and Jerry danced.", "汤姆唱歌了，杰瑞跳舞了。", 0, False
    ),
}  # fmt: skip
"""Every phenomenon by its name. Those that join clauses have no weight: the number of clauses decides."""

ALL = frozenset(PHENOMENA)
CORE = frozenset(name for name, phenomenon in PHENOMENA.items() if phenomenon.core)
TENSES = frozenset({"present", "past", "progressive", "future"})
WEIGHTS = {name: phenomenon.weight for name, phenomenon in PHENOMENA.items() if phenomenon.weight}

ONE_CLAUSE = (1.0,)
CLAUSES = (0.74, 0.18, 0.04, 0.04)
"""The usual shares of sentences with 1, 2, 3 and 4 clauses."""


def checked(phenomena: Iterable[str], clauses: Sequence[float] | None) -> tuple[frozenset[str], tuple[float, ...]]:
    """Check what sentences are asked for.

    Args:
        phenomena: names.
        clauses: shares of sentences with 1, 2, 3 … clauses, or None for the usual ones.

    Returns:
        The phenomena, and the shares, which add up to 1.

    Raises:
        ValueError: a name is unknown, or no tense is there; shares are negative or all zero; or nothing can join the
            clauses.
    """
    names = frozenset(phenomena)
    if unknown := sorted(names - ALL):
        raise ValueError(f"Unknown phenomena {unknown}; there are {sorted(ALL)}.")
    if not names & TENSES:
        raise ValueError(f"The phenomena {sorted(names)} have no tense; add one of {sorted(TENSES)}.")
    joints = names & {"because", "although", "clauses"}
    if clauses is None:
        clauses = CLAUSES if "clauses" in joints else ONE_CLAUSE
    total = sum(clauses)
    if not total > 0 or min(clauses) < 0:
        raise ValueError(f"clauses is {tuple(clauses)}; shares of sentences with 1, 2, 3 … clauses are expected.")
    if (any(clauses[1:2]) and not joints) or (any(clauses[2:]) and "clauses" not in joints):
        raise ValueError(f"clauses is {tuple(clauses)}, but the phenomena {sorted(names)} cannot join clauses.")
    return names, tuple(share / total for share in clauses)
