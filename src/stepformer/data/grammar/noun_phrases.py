"""Noun phrases: "the small cat that chased Jerry", 追逐杰瑞的那只小猫."""

import functools
from collections.abc import Callable
from typing import NamedTuple

from stepformer.data.grammar.draw import Draw, Use, Word
from stepformer.data.grammar.lexicon import Adjective, Noun, Verb, lexicon


class NounPhrase(NamedTuple):
    """A noun phrase in both languages.

    Attributes:
        english: its English words.
        chinese: its Chinese words.
        agreement: the verb form that goes with it: "third", "plural" or "I".
        noun: the noun at its head; None if it is a pronoun.
        known: whether it is known who or what is meant: "the cat", not "a cat".
        relative: whether it ends in a relative clause.
    """

    english: list[Word]
    chinese: list[Word]
    agreement: str
    noun: Noun | None
    known: bool = True
    relative: bool = False


Relative = Callable[[Draw, Noun, str, bool], tuple[list[Word], list[Word]] | None]
"""Makes a relative clause, of English and Chinese words: (draw, noun, agreement, whether it is a known one)."""

ABOUT_NOUNS = frozenset({"classifier", "adjective", "relative", "plural", "possessive", "number"})
"""The phenomena that only a common noun can show."""

KNOWN = {False: ("the",) * 4 + ("this", "that"), True: ("the",) * 4 + ("these", "those")}
UNKNOWN = {False: ("a",) * 3, True: ("some",) * 2}
DETERMINERS = {
    (plural, known): (() if known is False else KNOWN[plural]) + (() if known else UNKNOWN[plural])
    for plural in (False, True)
    for known in (False, True, None)
}
"""The determiners by (plural, known), each as often as it is to be drawn."""

IN_CHINESE = {"a": "一", "some": "一些", "the": "那", "that": "那", "this": "这", "those": "那些", "these": "这些"}

ORDER = ("opinion", "size", "age", "colour")
"""How adjectives follow each other, in both languages."""

AFTER = {"opinion": {"size", "colour"}, "size": {"colour"}}
"""Which of them are drawn together: "a beautiful small cat", "a small black cat"."""


def noun_phrase(
    draw: Draw,
    verb: Verb | None,
    role: str,
    known: bool | None = None,
    relative: Relative | None = None,
    counted: bool = False,
) -> NounPhrase | None:
    """Draw a noun phrase. Nobody is mentioned twice in a clause.

    Args:
        draw: the choices.
        verb: the verb beside it; None beside "be".
        role: one of `ROLES`.
        known: whether it must be known (True) or unknown (False) who or what is meant; None for either.
        relative: makes a relative clause; None for none.
        counted: whether nouns that are not counted are left out.

    Returns:
        The phrase; None if what was drawn does not fit together.
    """
    nouns = draw.nouns(verb, role)
    if nouns.person and known is not False and draw.shows("pronoun", 0.08):
        return _pronoun(draw, role)
    names = nouns.names if known is not False else ()
    common = () if not draw.allows("classifier") else nouns.counted if counted else nouns.common
    if names and not (common and draw.chance(0.85 if draw.wanted & ABOUT_NOUNS else 0.65)):
        noun = draw.choice(names)
    elif common:
        noun = draw.choice(common)
    else:
        return None
    if not draw.mention(noun.singular):
        return None
    draw.uses.append(Use(verb.base if verb else "", role, noun.singular))
    if noun.kind == "noun":
        return _common(draw, noun, role, known, relative)
    english = [Word(noun.singular)]
    return NounPhrase(english, [Word(noun.chinese, english)], "third", noun, known=noun.kind == "name")


def _pronoun(draw: Draw, role: str) -> NounPhrase | None:
    """Draw a pronoun. Without reflexives, nobody helps herself: there is no "me" or "us" where there is an "I"."""
    pronoun = draw.choice(lexicon().phrases["pronoun"])
    if not draw.mention(pronoun.chinese[0][0]):
        return None
    english = [Word(pronoun.english[0 if role == "subject" else 1])]
    return NounPhrase(english, [Word(pronoun.chinese[0], english)], pronoun.use, None)


def _common(draw: Draw, noun: Noun, role: str, known: bool | None, relative: Relative | None) -> NounPhrase | None:
    """A counted noun with all that stands before and after it."""
    number = draw.shows("number", 0.06)
    plural = number or draw.shows("plural", 0.06)
    agreement = "plural" if plural else "third"
    determiner = _determiner(draw, noun, role, plural, number, known)
    owned = determiner == "owner"
    clause = None
    if relative and determiner in ("the", "a") and draw.shows("relative", 0.12):
        clause = relative(draw, noun, agreement, determiner == "the")
        if clause is None:
            return None
    adjectives = _adjectives(draw, noun, only_bare=owned)  # not 我的漂亮的猫
    head = Word(noun.plural if plural else noun.singular)
    people = plural and not number and "person" in noun.classes
    with_men = people and not clause and (owned or determiner == "the")  # 孩子们, but 那些孩子 after a clause

    english, before = [], []
    if owned:
        english, before = _owner(draw)
        if not english:
            return None
    elif determiner:
        article = determiner != "a" or (adjectives[0].word if adjectives else head.text)[0] not in "aeiou"
        english = [Word(determiner if article else "an")]
        if not with_men:
            word = "那些" if determiner == "the" and plural and not number else IN_CHINESE[determiner]
            weak = determiner in ("a", "the")
            before = [Word(word, () if weak else english, english if weak else ())]
    if number:
        digit = draw.choice(lexicon().phrases["number"])
        english = [*english, Word(digit.english[0])]
        before = [*before, Word(digit.chinese[0], english[-1:])]
    if number or not (plural or owned):
        before = [*before, Word(noun.classifier, possible=[*english[-1:], head])]
        draw.used.add("classifier")
    if clause:  # 追逐杰瑞的那只猫, but 一只追逐杰瑞的猫
        before = [*clause[1], *before] if determiner == "the" else [*before, *clause[1]]

    english, chinese = list(english), list(before)
    for adjective in adjectives:
        word = Word(adjective.word)
        english.append(word)
        chinese.append(Word(adjective.chinese, [word]))
        if "bare" not in adjective.use:
            chinese.append(Word("的", possible=[word]))
    chinese.append(Word(noun.chinese, [head]))
    if with_men:
        chinese.append(Word("们", possible=[head]))
    english = [*english, head, *(clause[0] if clause else [])]
    return NounPhrase(
        english, chinese, agreement, noun, owned or determiner not in ("", "a", "some"), clause is not None
    )


def _determiner(draw: Draw, noun: Noun, role: str, plural: bool, number: bool, known: bool | None) -> str:
    """Choose what a noun phrase begins with: "owner", an English determiner, or nothing."""
    ownable = role != "owner" and known is not False and "stranger" not in noun.classes
    if ownable and draw.shows("possessive", 0.08):
        return "owner"
    if number:
        return "the" if known or (known is None and draw.chance(0.3)) else ""
    if plural and role == "object" and not known and draw.chance(0.25):
        return ""  # "she likes cats"
    return draw.choice(DETERMINERS[plural, known])


@functools.cache
def adjectives_of(noun: Noun, only_bare: bool = False) -> tuple[Adjective, ...]:
    """The adjectives that may stand before a noun.

    Args:
        noun: the noun.
        only_bare: whether to leave out those that take 的.

    Returns:
        Those said of its classes; none that would double its first character, as in 老老师 and 大大象.
    """
    return tuple(
        adjective
        for adjective in lexicon().adjectives
        if adjective.classes & noun.classes
        and "predicative" not in adjective.use
        and adjective.chinese[0] != noun.chinese[0]
        and not (only_bare and "bare" not in adjective.use)
    )


def _adjectives(draw: Draw, noun: Noun, only_bare: bool) -> list[Adjective]:
    """None, one or two adjectives for a noun."""
    fitting = adjectives_of(noun, only_bare)
    if not fitting or not draw.shows("adjective", 0.15):
        return []
    first = draw.choice(fitting)
    if draw.chance(0.2):
        kind = next(kind for kind in ORDER if kind in first.use)
        after = [a for a in fitting if "bare" in a.use and AFTER.get(kind, set()) & a.use]
        if after:
            return [first, draw.choice(after)]
    return [first]


def _owner(draw: Draw) -> tuple[list[Word], list[Word]]:
    """Whose it is: "my", "Tom's", "the teacher's". Nothing if it would be somebody's own."""
    if draw.chance(0.4):
        pronoun = draw.choice(lexicon().phrases["pronoun"])
        english = [Word(pronoun.english[2])]
        return english, [Word(pronoun.chinese[0], english), Word("的", possible=english)]
    nouns = draw.nouns(None, "owner")
    common = nouns.counted if draw.allows("classifier") else ()
    noun = draw.choice(nouns.names + common)
    if not draw.mention(noun.singular):
        return [], []
    draw.uses.append(Use("", "owner", noun.singular))
    owner = Word(noun.singular)
    english, chinese = [owner], [Word(noun.chinese, [owner])]
    if noun.kind == "noun":
        draw.used.add("classifier")
        the = Word("the")
        english = [the, owner]
        chinese = [Word("那", possible=[the]), Word(noun.classifier, possible=english), *chinese]
    english.append(Word("'s"))
    return english, [*chinese, Word("的", english[-1:])]
