"""A controlled grammar: English sentences with their Chinese translations, and which word stands for which.

`pairs` streams them without end; `corpus` draws sentences for training and tests that each hold one thing back. The
words are in `data/files/lexicon.tsv`; the rules are small functions that build both sentences at once:
`noun_phrases`, `verbs`, `clauses` and `sentences`.
"""

from stepformer.data.grammar.lexicon import lexicon
from stepformer.data.grammar.phenomena import ALL, CLAUSES, CORE, ONE_CLAUSE, PHENOMENA, Phenomenon
from stepformer.data.grammar.splits import SUBJECT_ONLY, Corpus, corpus, held_out, pairs

__all__ = [
    "ALL",
    "CLAUSES",
    "CORE",
    "ONE_CLAUSE",
    "PHENOMENA",
    "SUBJECT_ONLY",
    "Corpus",
    "Phenomenon",
    "corpus",
    "held_out",
    "lexicon",
    "pairs",
]
