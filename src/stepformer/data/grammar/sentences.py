"""Sentences: one clause or several, with their punctuation, and the links counted out."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple, TypeVar

from stepformer.data.grammar.clauses import Clause, clause
from stepformer.data.grammar.draw import Draw, Nouns, Use, Word
from stepformer.data.grammar.lexicon import lexicon
from stepformer.data.grammar.phenomena import ALL, WEIGHTS, checked
from stepformer.data.pair import Pair

T = TypeVar("T")


class Sentence(NamedTuple):
    """A pair, and the nouns that stand beside its verbs.

    Attributes:
        pair: the pair.
        uses: every noun with its verb and its role.
    """

    pair: Pair
    uses: tuple[Use, ...]


ATTEMPTS = 1000
"""How often a sentence is tried. Whatever can be said comes about within a few dozen."""


def sentence(random: Random, phenomena: frozenset[str], nouns: Nouns, focus: str, n_clauses: int) -> Sentence:
    """Draw a sentence that shows a phenomenon.

    Args:
        random: the source of chance.
        phenomena: those that it may show.
        nouns: which nouns may stand beside a verb.
        focus: the one that it must show.
        n_clauses: number of its clauses.

    Returns:
        The sentence.

    Raises:
        ValueError: `ATTEMPTS` gave none.
    """
    for _ in range(ATTEMPTS):
        found = _attempt(random, phenomena, nouns, focus, n_clauses)
        if found:
            return found
    raise ValueError(
        f"No sentence of {n_clauses} clauses shows {focus!r} with the phenomena {sorted(phenomena)} alone; allow more."
    )


def _attempt(random: Random, phenomena: frozenset[str], nouns: Nouns, focus: str, n: int) -> Sentence | None:
    chosen = int(random.random() * n)  # the clause that shows it
    parts, used, uses = [], set(), []
    for i in range(n):
        draw = Draw(random, phenomena, nouns, frozenset({focus} if i == chosen else ()))
        part = None
        while part is None:
            draw.again()
            part = clause(draw, statement=n > 1)
            if part is None and random.random() < 0.02:
                return None
        parts.append(part)
        used |= draw.used
        uses += draw.uses
    if n == 1:
        english, chinese = parts[0].english, parts[0].chinese
    else:
        joint = focus if focus in JOINTS else "clauses" if n > 2 else None
        if joint is None:
            options = [name for name in JOINTS if name in phenomena]
            joint = options[int(random.random() * len(options))]
        used.add(joint)
        english, chinese = JOINTS[joint](parts, random.random() < 0.5)
    if focus not in used or not used <= phenomena:
        return None
    return Sentence(_pair(english, chinese, parts[0] if n == 1 else None, used, n), tuple(uses))


def _because(parts: Sequence[Clause], turned: bool) -> tuple[list[Word], list[Word]]:
    """Because A, B. | B because A."""
    first, second = parts
    comma = Word(",")
    because = Word("because")
    if turned:
        english = [*second.english, because, *first.english]
    else:
        english = [because, *first.english, comma, *second.english]
    links = [because] if turned else [because, comma]
    chinese = [Word("因为", [because]), *first.chinese, Word("，", links[1:], [because])]
    return english, [*chinese, Word("所以", possible=links), *second.chinese]


def _although(parts: Sequence[Clause], turned: bool) -> tuple[list[Word], list[Word]]:
    """Although A, B. | A, but B."""
    first, second = parts
    comma = Word(",")
    if turned:
        but = Word("but")
        english = [*first.english, comma, but, *second.english]
        return english, [*first.chinese, Word("，", [comma]), Word("但是", [but]), *second.chinese]
    although = Word("although")
    english = [although, *first.english, comma, *second.english]
    chinese = [Word("虽然", [although]), *first.chinese, Word("，", [comma])]
    return english, [*chinese, Word("但是", possible=[although, comma]), *second.chinese]


def _clauses(parts: Sequence[Clause], turned: bool) -> tuple[list[Word], list[Word]]:
    """A, B, and C."""
    english, chinese = list(parts[0].english), list(parts[0].chinese)
    for part in parts[1:]:
        comma = Word(",")
        joint = [comma, Word("and")] if part is parts[-1] else [comma]
        english += [*joint, *part.english]
        chinese += [Word("，", [comma], joint[1:]), *part.chinese]
    return english, chinese


JOINTS = {"because": _because, "although": _although, "clauses": _clauses}
"""How clauses are joined, by the phenomenon that this is."""


QUESTIONS = frozenset({"yes_no", "wh_question"})


def _pair(english: list[Word], chinese: list[Word], single: Clause | None, used: set[str], n: int) -> Pair:
    """Write the words out, with their punctuation and links."""
    asks = single is not None and single.question
    stop = Word("?" if asks else ".")
    chinese = list(chinese)
    if asks and single.asks is not None:
        chinese.append(Word("吗", possible=[*single.asks, stop]))
    english = [*english, stop]
    chinese.append(Word("？" if asks else "。", [stop]))
    place = {id(word): i for i, word in enumerate(english)}
    sure = frozenset((i, place[id(e)]) for i, word in enumerate(chinese) for e in word.sure)
    possible = frozenset((i, place[id(e)]) for i, word in enumerate(chinese) for e in word.possible)
    words = tuple(word.text for word in english)
    target = tuple(word.text for word in chinese)
    return Pair(_written(words), "".join(target), words, target, sure, sure | possible, frozenset(used), n)


def _written(words: Sequence[str]) -> str:
    """English as it is written: a capital at the start, and no space before punctuation, 's and n't."""
    text = " ".join(words)
    for mark in (",", ".", "?", "'s", "n't"):
        text = text.replace(" " + mark, mark)
    return text[0].upper() + text[1:]


def in_script(pair: Pair, script: str) -> Pair:
    """Write the Chinese of a pair in a script.

    Args:
        pair: a pair in simplified characters.
        script: "simplified" or "traditional".

    Returns:
        The pair in that script.

    Raises:
        ValueError: the script is another.
    """
    if script == "simplified":
        return pair
    if script != "traditional":
        raise ValueError(f"script is {script!r}; it must be 'simplified' or 'traditional'.")
    words = tuple(lexicon().traditional[word] for word in pair.target_tokens)
    return pair._replace(target="".join(words), target_tokens=words)


def sentences(
    random: Random,
    nouns: Nouns,
    phenomena: frozenset[str] = ALL,
    clauses: Sequence[float] | None = None,
) -> Iterator[Sentence]:
    """Draw sentences without end: phenomena by their weights, numbers of clauses by their shares.

    They are dealt like cards: each hand of a hundred or so holds every phenomenon as often as its weight says.

    Args:
        random: the source of chance.
        nouns: which nouns may stand beside a verb.
        phenomena: those that may be shown.
        clauses: the shares of sentences with 1, 2, 3 … clauses; by default `CLAUSES` where the phenomena have a way
            to join clauses, else one.

    Yields:
        Sentences, without end; one may come again.

    Raises:
        ValueError: a phenomenon is unknown, or the clauses cannot be joined.
    """
    phenomena, shares = checked(phenomena, clauses)
    foci = [name for name, weight in WEIGHTS.items() if name in phenomena for _ in range(weight)]
    counts = _dealt(random, [n for n, share in enumerate(shares, start=1) for _ in range(round(100 * share))])
    of_one = _dealt(random, foci)
    of_two = _dealt(random, [name for name in JOINTS if name in phenomena])
    of_many = _dealt(random, [name for name in foci if name not in QUESTIONS])  # clauses in a row are statements
    for n in counts:
        focus = next(of_one if n == 1 else of_two if n == 2 else of_many)
        yield sentence(random, phenomena, nouns, focus, n)


def _dealt(random: Random, items: Sequence[T]) -> Iterator[T]:
    """Deal the items like cards, all of them in an order by chance, and again without end."""
    while items:
        # random.shuffle may change from one version of Python to the next, random.random does not.
        order = sorted((random.random(), i) for i in range(len(items)))
        yield from (items[i] for _, i in order)
