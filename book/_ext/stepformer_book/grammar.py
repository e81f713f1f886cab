"""`{grammar}`: tables of the controlled grammar, computed from `stepformer.data.grammar` when the book is built."""

import functools
import itertools

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from stepformer.data.grammar import PHENOMENA, SUBJECT_ONLY, Corpus, corpus, lexicon, pairs
from stepformer.data.grammar.sentences import in_script
from stepformer.data.pair import Pair
from stepformer_book.ops_table import row

SPLITS = {
    "train": "what the models learn from",
    "dev": "like training, for choosing",
    "random": "like training, never seen",
    "unseen_pairs": "a verb and a noun that training never has together",
    "subject_only": f"as object, one of {', '.join(sorted(SUBJECT_ONLY))}, which training has as subjects alone",
    "longer": "more words than any sentence of training",
    **{f"clauses_{k}": f"{k} {'clause' if k == 1 else 'clauses'}" for k in range(1, 5)},
    **{f"clauses_{k}": f"{k} clauses: more than in training" for k in (5, 6)},
}
KINDS = {"name": "names", "noun": "nouns", "mass": "nouns that are not counted"}
SEED = 1


@functools.cache
def whole_corpus() -> Corpus:
    """The corpus as it is by default."""
    return corpus()


def linked(pair: Pair) -> list[nodes.Node]:
    """The English words, numbered, and below them the Chinese words with the numbers that they are linked to."""
    english, chinese = nodes.line("", ""), nodes.line("", "")
    for s, word in enumerate(pair.source_tokens, start=1):
        english += [nodes.Text(word), nodes.subscript("", str(s)), nodes.Text(" ")]
    for t, word in enumerate(pair.target_tokens):
        sure = [str(s + 1) for at, s in sorted(pair.sure) if at == t]
        rest = [str(s + 1) for at, s in sorted(pair.possible - pair.sure) if at == t]
        numbers = ",".join(sure) + (f"({','.join(rest)})" if rest else "")
        chinese += [nodes.Text(word), nodes.subscript("", numbers), nodes.Text(" ")]
    return [nodes.line_block("", english, chinese, support_smartquotes=False)]  # the token is 's, not ’s


def samples() -> dict[str, Pair]:
    """For each phenomenon the shortest of 400 sentences that shows it as its rarest one, none twice."""
    drawn = [pair for pair in itertools.islice(pairs(SEED), 400) if len(pair.source_tokens) > 4]
    drawn.sort(key=lambda pair: len(pair.source_tokens))
    chosen: dict[str, Pair] = {}
    for name in PHENOMENA:
        chosen[name] = next(pair for pair in drawn if name in pair.phenomena and pair not in chosen.values())
    return chosen


def table(headings: tuple[str, ...], rows: list[nodes.row], widths: tuple[int, ...]) -> nodes.table:
    """Put rows under headings."""
    columns = [nodes.colspec(colwidth=width) for width in widths]
    head = nodes.thead("", row(*[[[nodes.Text(heading)]] for heading in headings]))
    return nodes.table("", nodes.tgroup("", *columns, head, nodes.tbody("", *rows), cols=len(columns)))


def texts(*cells: str) -> nodes.row:
    """A row of plain texts."""
    return row(*[[[nodes.Text(cell)]] for cell in cells])


def words() -> nodes.Node:
    """How many words of each kind the lexicon holds."""
    found = lexicon()
    counts = {label: sum(noun.kind == kind for noun in found.nouns) for kind, label in KINDS.items()}
    counts |= {"verbs": len(found.verbs), "adjectives": len(found.adjectives)}
    counts |= {f"{kind}s": len(phrases) for kind, phrases in found.phrases.items()}
    counts |= {"English word forms, all together": len(found.english), "Chinese words": len(found.chinese)}
    return table(("Kind", "Number"), [texts(label, str(n)) for label, n in counts.items()], (70, 30))


def phenomena() -> nodes.Node:
    """What the sentences show, and how many of the training sentences show it."""
    train = whole_corpus().train
    rows = []
    for name, phenomenon in PHENOMENA.items():
        share = sum(name in pair.phenomena for pair in train) / len(train)
        first = [[nodes.literal("", name)], [nodes.Text(phenomenon.description)]]
        example = [[nodes.Text(phenomenon.english)], [nodes.Text(phenomenon.chinese)]]
        rows.append(row(first, example, [[nodes.Text(f"{share:.0%}")]]))
    return table(("Phenomenon", "Example", "Of training"), rows, (40, 45, 15))


def splits() -> nodes.Node:
    """The splits with their sizes and lengths."""
    whole = whole_corpus()
    rows = []
    for name, pairs_ in {"train": whole.train, "dev": whole.dev, **whole.test}.items():
        lengths = [len(pair.source_tokens) for pair in pairs_]
        first = [[nodes.literal("", name)], [nodes.Text(SPLITS[name])]]
        numbers = (f"{len(pairs_):,}", f"{sum(lengths) / len(lengths):.1f}", str(max(lengths)))
        rows.append(row(first, *[[[nodes.Text(number)]] for number in numbers]))
    return table(("Split", "Pairs", "Words, mean", "Words, most"), rows, (55, 15, 15, 15))


def drawn() -> nodes.Node:
    """A sentence for each phenomenon with its links, and in traditional characters."""
    rows = []
    for name, pair in samples().items():
        other = nodes.paragraph("", in_script(pair, "traditional").target)
        cell = nodes.entry("", *linked(pair), other)
        rows.append(nodes.row("", nodes.entry("", nodes.paragraph("", "", nodes.literal("", name))), cell))
    return table(("Phenomenon", "Words and links; in traditional characters"), rows, (20, 80))


PARTS = {"words": words, "phenomena": phenomena, "splits": splits, "samples": drawn}


class GrammarDirective(SphinxDirective):
    """One of the tables: `words`, `phenomena`, `splits` or `samples`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Build the table."""
        self.env.note_reread()
        return [PARTS[directives.choice(self.arguments[0], tuple(PARTS))]()]


def setup(app) -> None:
    """Register the directive."""
    app.add_directive("grammar", GrammarDirective)
