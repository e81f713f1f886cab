"""A small language: sentences about animals, people, food, places and colours, drawn from a handful of patterns.

Words of one class stand in the same places of the same sentences, and nothing else tells them apart: just what
word2vec needs to find the classes.
"""

import numpy as np

CLASSES: dict[str, tuple[str, ...]] = {
    "animal": ("cat", "dog", "mouse", "rabbit", "horse", "cow"),
    "person": ("tom", "anna", "peter", "mary", "paul", "lucy"),
    "food": ("bread", "cheese", "rice", "soup", "cake", "fruit"),
    "place": ("garden", "kitchen", "forest", "park", "school", "house"),
    "colour": ("red", "green", "blue", "white", "black", "brown"),
    "motion": ("runs", "walks", "jumps", "dances"),
    "pursuit": ("chases", "follows", "finds", "sees"),
    "meal": ("eats", "cooks", "buys", "tastes"),
}
"""The words of each class. Beside them the language has the words the, in, to, and, with, a."""

PATTERNS: tuple[str, ...] = (
    "the animal pursuit the animal",
    "the colour animal motion in the place",
    "a colour animal pursuit a colour animal",
    "the animal pursuit the animal in the place",
    "person meal food",
    "person meal food in the place",
    "person meal food with person",
    "person and person meal food and food",
    "person motion to the place",
    "person pursuit the colour animal",
)
"""A word of a pattern that names a class stands for any of its words."""


def sentences(n: int, generator: np.random.Generator) -> list[list[str]]:
    """Draw sentences: a pattern, then a word for each of its classes, everything equally likely.

    Args:
        n: how many.
        generator: the source of chance.

    Returns:
        n lists of words.

    Raises:
        ValueError: n is negative.
    """
    if n < 0:
        raise ValueError(f"n is {n}; it must be 0 or more.")
    patterns = [pattern.split() for pattern in PATTERNS]
    drawn = []
    for k in generator.integers(len(patterns), size=n):
        choices = [CLASSES.get(part, (part,)) for part in patterns[k]]
        drawn.append([words[generator.integers(len(words))] for words in choices])
    return drawn


def class_of(word: str) -> str | None:
    """The class of a word.

    Args:
        word: a word of the language.

    Returns:
        A key of `CLASSES`, or None for words such as "the".
    """
    return next((name for name, words in CLASSES.items() if word in words), None)
