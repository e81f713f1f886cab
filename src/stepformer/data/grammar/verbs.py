"""The verb and what goes with it: tense, "not" and the auxiliary; 了, 正在, 会, 不 and 没有."""

from typing import NamedTuple

from stepformer.data.grammar.draw import Draw, Word
from stepformer.data.grammar.lexicon import Phrase, Verb

TENSES = {
    "activity": ("present", "past", "progressive", "future"),
    "event": ("present", "past", "future"),
    "state": ("present",),
    "result": ("present", "past", "future"),
    "put": ("present", "past", "future"),
    "give": ("present", "past", "future"),
}
"""The tenses that verbs of each use are drawn in."""

HANDLED = ("result", "put", "give")
"""The uses of verbs that can take 把."""

BE = {"third": "is", "plural": "are", "I": "am"}


class VerbGroup(NamedTuple):
    """A verb with its auxiliaries.

    Attributes:
        auxiliary: what stands before the subject in a question: "did", "is", "will", "can".
        middle: what follows it: "not", "want", "to".
        verb: the form of the verb.
        before: the Chinese words before the place and the verb.
        going_on: 正在 or 在, which also stands for the 在 of a place; None if nothing is going on.
        main: the Chinese verb.
        done: 了, or nothing.
    """

    auxiliary: list[Word]
    middle: list[Word]
    verb: Word
    before: list[Word]
    going_on: Word | None
    main: Word
    done: list[Word]


def tense_of(draw: Draw, verb: Verb, agreement: str, negative: bool, question: bool) -> str | None:
    """Choose the tense of a clause.

    Args:
        draw: the choices.
        verb: the verb.
        agreement: the form that goes with the subject.
        negative: whether the clause says "not".
        question: whether it is a question.

    Returns:
        "present", "past", "progressive" or "future"; None if none fits.
    """
    tenses = [tense for tense in TENSES[verb.use] if draw.allows(tense)]
    if "present" in tenses and (
        # "I put" and "they read" may be present or past: here they are past.
        (verb.past == verb.base and agreement != "third" and not negative and not question)
        # 不打破 and 看见吗 are hardly said: what is over at once has happened or has not.
        or (verb.use in ("event", *HANDLED) and (negative or question))
    ):
        tenses.remove("present")
    if not tenses:
        return None
    tense = draw.choice([tense for tense in tenses if tense in draw.wanted] or tenses)
    draw.used.add(tense)
    return tense


def verb_group(
    verb: Verb,
    tense: str,
    agreement: str,
    negative: str = "",
    inverted: bool = False,
    modal: Phrase | None = None,
    relative: bool = False,
    why: bool = False,
) -> VerbGroup:
    """Put a verb into its tense.

    Args:
        verb: the verb.
        tense: "present", "past", "progressive" or "future"; without meaning beside a modal verb.
        agreement: "third", "plural" or "I".
        negative: "not" or "n't", or empty. There is no "amn't": beside "am" both are "not".
        inverted: whether the auxiliary stands before the subject, so that there must be one.
        modal: a modal verb.
        relative: whether this is in a relative clause, where 了 is left out.
        why: whether this is after 为什么, where 正在 is 在.

    Returns:
        The words of both languages.
    """
    third = agreement == "third"
    clitic = negative == "n't"
    no = [Word(negative)] if negative else []
    auxiliary, form, refused, meant = [], verb.base, "不", []
    middle, going_on, done = no, "", ""
    if modal and modal.use == "want":  # a main verb with a "do" of its own
        if no or inverted:
            auxiliary = [Word("does" if third else "do")]
        want, to = Word(modal.english[third and not auxiliary]), Word("to")
        middle, meant = [*no, want, to], [Word(modal.chinese[0], [want], [to])]
    elif modal:
        if modal.use == "can" and no and not clitic:
            middle, no = [], [Word("cannot")]
            auxiliary = no
        else:
            auxiliary = [Word(modal.english[clitic])]
        meant = [Word(modal.chinese[0], auxiliary)]
    elif tense == "future":
        auxiliary = [Word("wo" if clitic else "will")]
        meant = [Word("会", auxiliary)]
    elif tense == "progressive":
        auxiliary, form, refused = [Word(BE[agreement])], verb.ing, "没有"
        going_on = "在" if no or why else "正在"
        if agreement == "I" and no:
            no[0].text = "not"
    elif no or inverted:
        auxiliary = [Word("did" if tense == "past" else "does" if third else "do")]
        refused = "没有" if tense == "past" else "不"
    else:
        form = verb.past if tense == "past" else verb.third if third else verb.base
    if tense == "past" and not no and not relative:
        done = "了"
    word = Word(form)
    links = [*auxiliary, word]
    return VerbGroup(
        auxiliary,
        middle,
        word,
        [*([Word(refused, no, auxiliary)] if no else []), *meant],
        Word(going_on, possible=links) if going_on else None,
        Word(verb.chinese, [word]),
        [Word(done, possible=links)] if done else [],
    )
