"""The words of the grammar, read from the table `data/files/lexicon.tsv`. To add a word, add a line there."""

import functools
from pathlib import Path
from typing import NamedTuple

PATH = Path(__file__).parents[1] / "files" / "lexicon.tsv"


class Noun(NamedTuple):
    """A name, a noun that is counted, or one that is not.

    Attributes:
        kind: "name", "noun" or "mass".
        singular: the English word.
        plural: its plural, None where it has none.
        chinese: the Chinese word.
        classifier: the Chinese word between a number and the noun; empty for names and for what is not counted.
        classes: what it is, for the verbs and adjectives that go with it.
    """

    kind: str
    singular: str
    plural: str | None
    chinese: str
    classifier: str
    classes: frozenset[str]


class Verb(NamedTuple):
    """A verb.

    Attributes:
        base: "chase".
        third: "chases".
        past: "chased", None where it has no use for it.
        ing: "chasing", None where it has no use for it.
        chinese: the Chinese word.
        use: "activity", "event", "state", "result", "put" or "give".
        who: the classes that can do it.
        whom: the classes that it can be done to; empty where nobody is.
    """

    base: str
    third: str
    past: str | None
    ing: str | None
    chinese: str
    use: str
    who: frozenset[str]
    whom: frozenset[str]


class Adjective(NamedTuple):
    """An adjective.

    Attributes:
        word: the English word.
        chinese: the Chinese word.
        use: its place among others ("opinion", "size", "age", "colour"), "bare" if 的 does not follow, and
            "attributive" or "predicative" if it is only that.
        classes: what it is said of.
    """

    word: str
    chinese: str
    use: frozenset[str]
    classes: frozenset[str]


class Phrase(NamedTuple):
    """A fixed phrase: a place, a time, an adverb, a number, a modal verb or a pronoun.

    Attributes:
        english: the English words: of a phrase one after the other; of a pronoun or a verb its forms.
        chinese: the Chinese words.
        use: what the table says of it.
    """

    english: tuple[str, ...]
    chinese: tuple[str, ...]
    use: str


class Lexicon(NamedTuple):
    """All words.

    Attributes:
        nouns: names, counted and uncounted nouns.
        verbs: the verbs.
        adjectives: the adjectives.
        phrases: "place", "time", "adverb", "modal", "number", "pronoun" → the phrases of that kind.
        english: every English word form; names with a capital letter, the rest without.
        chinese: every Chinese word, in simplified characters.
        traditional: the Chinese words → the same in traditional characters.
    """

    nouns: tuple[Noun, ...]
    verbs: tuple[Verb, ...]
    adjectives: tuple[Adjective, ...]
    phrases: dict[str, tuple[Phrase, ...]]
    english: tuple[str, ...]
    chinese: tuple[str, ...]
    traditional: dict[str, str]


def read(text: str) -> Lexicon:
    """Read the table of words.

    Args:
        text: its lines: kind, English, simplified, traditional, use, classes, parted by tabs; see the table itself.

    Returns:
        The words.

    Raises:
        ValueError: a line is not as it should be; the message names it.
    """
    nouns, verbs, adjectives, phrases = [], [], [], {}
    english: dict[str, None] = {}
    traditional: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        cells = line.split("\t")
        if not 4 <= len(cells) <= 6:
            raise ValueError(f"Line {number} has {len(cells)} columns; 4 to 6 are expected: {line!r}")
        kind, forms, simplified, old, use, classes = (*cells, "", "")[:6]
        words = tuple(None if form == "-" else form for form in forms.split())
        chinese, in_traditional = simplified.split(), old.split()
        if len(chinese) != len(in_traditional):
            raise ValueError(f"Line {number}: {simplified!r} and {old!r} have not the same number of words.")
        for plain, its_twin in zip(chinese, in_traditional, strict=True):
            if traditional.setdefault(plain, its_twin) != its_twin:
                raise ValueError(f"Line {number}: {plain} is {traditional[plain]} in another line, here {its_twin}.")
        english |= dict.fromkeys(word for word in words if word)
        tags = frozenset(classes.split())
        if kind in ("name", "noun", "mass"):
            plural = words[1] if len(words) > 1 else None
            nouns.append(Noun(kind, words[0], plural, simplified, use, tags))
        elif kind == "verb":
            who, _, whom = (frozenset(part.split()) for part in classes.partition(">"))
            verbs.append(Verb(*words, simplified, use, who, whom))
        elif kind == "adjective":
            adjectives.append(Adjective(forms, simplified, frozenset(use.split()), tags))
        elif kind != "word":
            phrases.setdefault(kind, []).append(Phrase(words, tuple(chinese), use))
    traditional.pop("-", None)
    return Lexicon(
        tuple(nouns),
        tuple(verbs),
        tuple(adjectives),
        {kind: tuple(found) for kind, found in phrases.items()},
        tuple(english),
        tuple(traditional),
        traditional,
    )


@functools.cache
def lexicon() -> Lexicon:
    """The words of the grammar.

    Returns:
        The table that comes with the package, read once.
    """
    return read(PATH.read_text(encoding="utf-8"))
