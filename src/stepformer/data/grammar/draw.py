"""Chance: which phenomena a sentence shows, and which words it uses."""

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple, TypeVar

from stepformer.data.grammar.lexicon import Noun, Verb

T = TypeVar("T")


class Word:
    """One word of a sentence. Two words are the same only if they are one object, so links survive any reordering.

    Attributes:
        text: the word.
        sure: of a Chinese word: the English words that it stands for.
        possible: of a Chinese word: English words that it belongs to.
    """

    __slots__ = ("possible", "sure", "text")

    def __init__(self, text: str, sure: Sequence["Word"] = (), possible: Sequence["Word"] = ()) -> None:
        self.text = text
        self.sure = tuple(sure)
        self.possible = tuple(possible)


class Use(NamedTuple):
    """One noun in its place beside a verb.

    Attributes:
        verb: the base form of the verb; empty beside "be", and for owners.
        role: one of `ROLES`.
        noun: the English singular.
    """

    verb: str
    role: str
    noun: str


ROLES = ("subject", "object", "recipient", "owner")
"""What a noun can be: who does it, what it is done to, who something is given to, whose something is."""


class Candidates(NamedTuple):
    """Nouns that may stand in one place, each as often as it is to be drawn.

    Attributes:
        person: whether a pronoun may stand there.
        names: names.
        counted: nouns that are counted.
        common: the same, and those that are not counted.
    """

    person: bool
    names: tuple[Noun, ...]
    counted: tuple[Noun, ...]
    common: tuple[Noun, ...]


Nouns = Callable[[Verb | None, str], Candidates]
"""Which nouns a corpus lets stand beside a verb in a role; the verb is None beside "be", and for owners."""


class Draw:
    """The choices behind one clause.

    Attributes:
        nouns: which nouns may stand beside a verb.
        wanted: the phenomena that the clause is for: they come about more often than by chance.
        used: the phenomena that it shows.
        uses: the nouns beside the verbs.
    """

    def __init__(
        self,
        random: Random,
        phenomena: frozenset[str],
        nouns: Nouns,
        wanted: frozenset[str] = frozenset(),
    ) -> None:
        self._random = random.random
        self._phenomena = phenomena
        self.nouns = nouns
        self.wanted = wanted
        self.used: set[str] = set()
        self.uses: list[Use] = []
        self._mentioned: set[str] = set()

    def again(self) -> None:
        """Forget what was drawn so far."""
        self.used.clear()
        self.uses.clear()
        self._mentioned.clear()

    def mention(self, word: str) -> bool:
        """Mention somebody, something or a deed.

        Args:
            word: a noun, a pronoun or a verb.

        Returns:
            Whether this is the first time in this clause.
        """
        new = word not in self._mentioned
        self._mentioned.add(word)
        return new

    def chance(self, p: float) -> bool:
        """Be lucky.

        Args:
            p: how often, 0 to 1.

        Returns:
            True with probability p.
        """
        return self._random() < p

    def shows(self, phenomenon: str, p: float) -> bool:
        """Decide whether to show a phenomenon here, and note it.

        Args:
            phenomenon: its name.
            p: how often, where it is neither wanted nor ruled out.

        Returns:
            Whether the clause shows it.
        """
        if phenomenon not in self._phenomena:
            return False
        yes = self._random() < (0.7 if phenomenon in self.wanted else p)
        if yes:
            self.used.add(phenomenon)
        return yes

    def allows(self, phenomenon: str) -> bool:
        """Whether the sentence may show a phenomenon.

        Args:
            phenomenon: its name.

        Returns:
            False if it is ruled out.
        """
        return phenomenon in self._phenomena

    def choice(self, options: Sequence[T]) -> T:
        """Choose one of some options, all equally likely.

        Args:
            options: one or more.

        Returns:
            One of them.
        """
        return options[int(self._random() * len(options))]
