"""Clauses: a subject and what is said of it, in the word order of each language."""

import functools
from typing import NamedTuple

from stepformer.data.grammar.draw import Draw, Use, Word
from stepformer.data.grammar.lexicon import Adjective, Noun, Phrase, Verb, lexicon
from stepformer.data.grammar.noun_phrases import NounPhrase, noun_phrase
from stepformer.data.grammar.verbs import BE, HANDLED, tense_of, verb_group


class Clause(NamedTuple):
    """A clause without its full stop.

    Attributes:
        english: its English words.
        chinese: its Chinese words.
        question: whether it asks.
        asks: the English words that 吗 belongs to; None where no 吗 follows.
    """

    english: list[Word]
    chinese: list[Word]
    question: bool = False
    asks: list[Word] | None = None


Words = tuple[list[Word], list[Word]]
"""English and Chinese words of one part of a clause."""

NOTHING: Words = ([], [])

ASKED = ("who", "whom", "what", "why", "where")
"""What is asked for; "who" is the subject here, "whom" the object, although both are written "who"."""


def clause(draw: Draw, statement: bool = False) -> Clause | None:
    """Draw a clause.

    Args:
        draw: the choices.
        statement: whether it must not be a question.

    Returns:
        The clause; None if what was drawn does not fit together.
    """
    asked = ""
    if not statement and draw.shows("wh_question", 0.08):
        asked = draw.choice(ASKED)
    elif not statement and draw.shows("yes_no", 0.1):
        asked = "yes_no"
    if asked == "where":
        return _where(draw) if draw.allows("be") else None
    if asked in ("", "yes_no") and draw.shows("be", 0.07):
        return _being(draw, asked)
    return _doing(draw, asked)


def _doing(draw: Draw, asked: str) -> Clause | None:
    """A clause with a verb: who does what to whom, where and when."""
    verbs = _verbs(draw, asked)
    if not verbs:
        return None
    verb = draw.choice(verbs)
    draw.mention(verb.base)
    plain = asked in ("", "yes_no", "why")  # who, whom and what are asked of plain tenses alone
    negative = ""
    if asked in ("", "why") and verb.base != "have" and draw.shows("negation", 0.1):
        negative = "n't" if asked or draw.chance(0.3) else "not"
    modal = None
    if plain and verb.use != "state" and draw.shows("modal", 0.07):
        modal = draw.choice(lexicon().phrases["modal"])
        if (asked and modal.use in ("must", "may")) or (negative and modal.use == "must"):
            return None
        if negative and modal.use == "may":
            negative = "not"

    # The subject. Of somebody unknown, things are only told.
    known = True if negative or asked or modal else None
    subject = _asked_for("who") if asked == "who" else noun_phrase(draw, verb, "subject", known, relative_clause)
    if subject is None:
        return None
    tense = "" if modal else tense_of(draw, verb, subject.agreement, bool(negative), bool(asked))
    if tense is None or (tense == "present" and not subject.known):
        return None
    inverted = asked in ("yes_no", "whom", "what", "why")
    group = verb_group(verb, tense, subject.agreement, negative, inverted, modal, why=asked == "why")

    # Whom or what it is done to, who it is given to, where it is put.
    object_ = recipient = spot = None
    if asked in ("whom", "what"):
        object_ = _asked_for(asked)
    elif verb.whom:
        known = False if verb.base == "have" else True if negative or verb.use == "put" else None
        inside = relative_clause if verb.use not in ("put", "give") else None
        object_ = noun_phrase(draw, verb, "object", known, inside, counted=verb.use in HANDLED)
        if object_ is None:
            return None
    if verb.use == "give":
        recipient = noun_phrase(draw, verb, "recipient", True)
        if recipient is None or (not object_.known and object_.english[0].text == object_.noun.plural):
            return None  # 给了安娜书 wants a number before 书
    if verb.use == "put":
        spot = draw.choice(_phrases("place", "spot"))

    # Where and when. After a relative clause they would seem to belong to it; so time may only stand in front.
    closed = object_ is not None and object_.relative
    place = time = adverb = None
    if verb.use in ("activity", "event", "result") and not closed and draw.shows("place", 0.12):
        place = draw.choice(_phrases("place", "scene"))
    if verb.use != "state" and draw.shows("time", 0.12):
        if tense == "present" and not asked and not negative and draw.chance(0.5):
            adverb = draw.choice(lexicon().phrases["adverb"])
        else:
            times = _phrases("time", tense)
            time = draw.choice(times) if times else None
        if time is None and adverb is None:
            return None
    front = time is not None and asked == "" and (closed or draw.chance(0.3))
    if time and closed and not front:
        return None

    where_english, where = _place(place, group.going_on)
    when_english, when = _fixed(time)
    often_english, often = _fixed(adverb)
    end_english, end = _end(spot, recipient)
    group.main.possible = tuple(end_english[:1])  # 放在 holds the "on", 给 the "to"
    object_english, object_chinese = (object_.english, object_.chinese) if object_ else NOTHING
    why_english, why = _fixed(WHY if asked == "why" else None)

    english = [*why_english, *(when_english if front else [])]
    if inverted:
        if asked != "yes_no":  # what is asked for stands first
            english += object_english if asked in ("whom", "what") else []
        with_it = group.middle[:1] if negative == "n't" else []  # "why didn't Tom …"
        english += [*group.auxiliary, *with_it, *subject.english, *group.middle[len(with_it) :]]
    else:
        english += [*subject.english, *often_english, *group.auxiliary, *group.middle]
    english += [group.verb, *([] if asked in ("whom", "what") else object_english)]
    english += [*end_english, *where_english, *([] if front else when_english)]

    chinese = [*when, *subject.chinese] if front else [*subject.chinese, *when]
    chinese += [*often, *why, *group.before, *where]
    if verb.use in HANDLED and object_.known and (verb.use != "result" or tense != "present"):
        # 把那扇门打开了, 把那本书放在了桌子上, 把那本书给了安娜; but of what is always done, 打开那扇门
        draw.used.add("ba")
        chinese += [Word("把", possible=[group.verb]), *object_chinese, group.main, *group.done, *end]
    else:
        chinese += [group.main, *group.done, *end, *object_chinese]
    return Clause(english, chinese, bool(asked), group.auxiliary if asked == "yes_no" else None)


WHY = Phrase(("why",), ("为什么",), "")


def _asked_for(asked: str) -> NounPhrase:
    """The question word in the place of a subject or an object."""
    english = [Word("what" if asked == "what" else "who")]
    return NounPhrase(english, [Word("什么" if asked == "what" else "谁", english)], "third", None, known=False)


def _verbs(draw: Draw, asked: str) -> tuple[Verb, ...]:
    """The verbs that fit a question."""
    if not draw.allows("ba"):
        return _that_fit(asked, False)
    return _that_fit(asked, True if "ba" in draw.wanted and draw.chance(0.7) else None)


@functools.cache
def _that_fit(asked: str, handled: bool | None) -> tuple[Verb, ...]:
    """The verbs that fit a question, with 把, without, or (None) both."""
    verbs = [verb for verb in lexicon().verbs if handled in (None, verb.use in HANDLED)]
    if asked == "whom":
        verbs = [verb for verb in verbs if "person" in verb.whom]
    if asked == "what":  # those that take things alone
        verbs = [v for v in verbs if v.whom and not v.whom & {"person", "animal"} and v.use not in ("put", "give")]
    return tuple(verbs)


@functools.cache
def _phrases(kind: str, use: str) -> tuple[Phrase, ...]:
    """The places or times of one use."""
    return tuple(phrase for phrase in lexicon().phrases[kind] if phrase.use == use)


def _fixed(phrase: Phrase | None) -> Words:
    """A fixed phrase, its words linked one by one, or all to the one Chinese word."""
    if phrase is None:
        return NOTHING
    english = [Word(word) for word in phrase.english]
    if len(phrase.chinese) == len(english):
        return english, [Word(word, [its]) for word, its in zip(phrase.chinese, english, strict=True)]
    return english, [Word(word, english) for word in phrase.chinese]


def _place(place: Phrase | None, going_on: Word | None = None) -> Words:
    """A place, 在花园里. After 正在 there is no second 在: 正在花园里睡觉."""
    if place is None:
        return [], [going_on] if going_on else []
    english = [Word(word) for word in place.english]
    preposition, *article, noun = english
    side = [Word(word, [preposition]) for word in place.chinese[1:]]
    if going_on:
        at = going_on
        at.possible = [*at.possible, preposition]
    else:
        at = Word("在", () if side else [preposition], [preposition])
    return english, [at, Word(place.chinese[0], [noun], article), *side]


def _end(spot: Phrase | None, recipient: NounPhrase | None) -> Words:
    """Where something is put (the 在 is in the verb, 放在), or who it is given to."""
    if spot:
        english, (_, *chinese) = _place(spot)
        return english, chinese
    if recipient:
        return [Word("to"), *recipient.english], recipient.chinese
    return NOTHING


def _where(draw: Draw) -> Clause | None:
    """Where somebody or something is: 在哪里."""
    subject = noun_phrase(draw, None, "subject", True, relative_clause, counted=True)
    if subject is None:
        return None
    draw.used.add("be")
    where, be = Word("where"), Word(BE[subject.agreement])
    chinese = [*subject.chinese, Word("在", possible=[be]), Word("哪里", [where])]
    return Clause([where, be, *subject.english], chinese, True)


def _being(draw: Draw, asked: str) -> Clause | None:
    """A clause with "be": what somebody is like, what they are, where they are."""
    subject = noun_phrase(draw, None, "subject", True, relative_clause, counted=True)
    if subject is None:
        return None
    be = Word(BE[subject.agreement])
    refusal = []
    if not asked and draw.shows("negation", 0.15):
        refusal = [Word("n't" if be.text != "am" and draw.chance(0.3) else "not")]
    no = [Word("不", refusal)] if refusal else []
    classes = frozenset({"person"}) if subject.noun is None or subject.noun.kind == "name" else subject.noun.classes

    kind = draw.choice(("adjective", "adjective", "job", "place"))
    if kind == "adjective":
        fitting = [a for a in _said_of(classes) if a.chinese not in [word.text for word in subject.chinese]]
        if not fitting:
            return None
        draw.used.add("adjective")
        adjective = draw.choice(fitting)
        said = [Word(adjective.word)]
        what = [Word(adjective.chinese, said)]
        if not refusal and not asked:
            what = [Word("很", possible=[be, *said]), *what]
    elif kind == "job":
        if subject.relative or (subject.noun and subject.noun.kind == "noun" and "young" not in classes):
            return None
        job = draw.choice(_jobs())
        many = be.text == "are" and subject.english[0].text != "you"
        word = Word(job.plural if many else job.singular)
        article = [] if many else [Word("an" if job.singular[0] in "aeiou" else "a")]
        said, what = [*article, word], [Word("是", [be]), Word(job.chinese, [word], article)]
    else:
        draw.used.add("place")
        spots = _phrases("place", "spot") if "portable" in classes else ()
        said, what = _place(draw.choice(_phrases("place", "scene") + spots))
        what[0].possible = [*what[0].possible, be]
    if asked:
        return Clause([be, *subject.english, *said], [*subject.chinese, *what], True, [be])
    return Clause([*subject.english, be, *refusal, *said], [*subject.chinese, *no, *what])


@functools.cache
def _said_of(classes: frozenset[str]) -> tuple[Adjective, ...]:
    """The adjectives that "be" says of nouns of some classes."""
    return tuple(a for a in lexicon().adjectives if a.classes & classes and "attributive" not in a.use)


@functools.cache
def _jobs() -> tuple[Noun, ...]:
    """What people are."""
    return tuple(noun for noun in lexicon().nouns if "job" in noun.classes)


def relative_clause(draw: Draw, noun: Noun, agreement: str, known: bool) -> Words | None:
    """Draw a relative clause: "that chased Jerry", 追逐杰瑞的; "that Tom chased", 汤姆追逐的.

    Args:
        draw: the choices.
        noun: what it is about.
        agreement: the verb form that goes with the noun.
        known: whether it is a known one: "the cat that …", not "a cat that …".

    Returns:
        The English words, which follow the noun, and the Chinese words, which stand before it; None if what was drawn
        does not fit together.
    """
    role = "object" if draw.chance(0.4) or not noun.classes & {"person", "animal"} else "subject"
    verb = draw.choice(_verbs(draw, ""))
    if verb.use in ("put", "give") or not draw.mention(verb.base) or noun not in draw.nouns(verb, role).counted:
        return None
    draw.uses.append(Use(verb.base, role, noun.singular))
    negative = "not" if verb.base != "have" and draw.shows("negation", 0.05) else ""
    subject = object_ = None
    if role == "object":
        subject = noun_phrase(draw, verb, "subject", True)
        if subject is None or verb.base == "have" or not (known or len(subject.chinese) == 1):
            return None  # 一只那个男孩看见的猫: after a classifier no other one
        agreement = subject.agreement
    elif verb.whom:
        object_ = noun_phrase(draw, verb, "object", verb.base != "have", counted=verb.use in HANDLED)
        if object_ is None or not (known or object_.noun):
            return None  # 一位看见他的生气的画家 would be his angry artist
    tense = tense_of(draw, verb, agreement, bool(negative), False)
    if tense is None:
        return None
    group = verb_group(verb, tense, agreement, negative, relative=True)
    that = Word("who" if "person" in noun.classes and draw.chance(0.5) else "that")
    of = Word("的", possible=[that])
    before = [*group.before, *_place(None, group.going_on)[1], group.main]
    english = [*group.auxiliary, *group.middle, group.verb]
    if subject:
        return [that, *subject.english, *english], [*subject.chinese, *before, of]
    object_english, object_chinese = (object_.english, object_.chinese) if object_ else NOTHING
    return [that, *english, *object_english], [*before, *object_chinese, of]
