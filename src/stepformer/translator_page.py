"""The page that translates: what stands in it, and the script with the model that it loads on a click.

The page holds a small payload: the words that the model knows, which word may follow which, the examples. The script
holds the recorded program (`stepformer.translation_program`) with its weights in float16. Both are made of a model
directory while the book is built; torch is not needed.
"""

import gzip
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from stepformer.checkpoint import CheckpointError, Stored, find
from stepformer.data.grammar import PHENOMENA, pairs
from stepformer.data.page import call
from stepformer.data.pair import Pair
from stepformer.data.tokenizer import BOS, EOS, UNK, Tokenizer, tokenizer_from_json
from stepformer.trace_json import dumps, to_json
from stepformer.translation_program import translate_greedily, translation_program
from stepformer.widgets.dual import element
from stepformer.widgets.player import folded_scopes

PAGE_FORMAT, DATA_FORMAT = "stepformer.translator/1", "stepformer.translation/1"
DATA = "translator"
"""The name of the script, `data/translator.js`, and of the set that it hands over."""

SHOWN = ("present", "relative", "negation", "yes_no", "clauses")
"""The phenomena that the examples are of."""
EXAMPLES = tuple((PHENOMENA[name].english, PHENOMENA[name].chinese) for name in SHOWN)
"""English sentences and their right translations, as the grammar has them."""

GRAMMAR_SENTENCES = 3000
"""So many sentences of the grammar tell which word may follow which."""
MOST_FOLLOWERS = 12
MOST_WORDS = 80
"""Longer sentences take a page too long, even where the model could place them."""


def is_shipped(name: str = "small") -> bool:
    """Whether a model comes with this installation.

    Args:
        name: one of `stepformer.checkpoint.NAMES`.

    Returns:
        True if its folder is there.
    """
    try:
        find(name)
    except CheckpointError:
        return False
    return True


def tokenizers(stored: Stored) -> tuple[Tokenizer, Tokenizer]:
    """The two tokenizers of a stored model, which the page must know how to run.

    Args:
        stored: what `checkpoint.read_model` returned.

    Returns:
        That of the source and that of the target.

    Raises:
        ValueError: one of them does not cut text into words.
    """
    both = [tokenizer_from_json(stored.info[f"{side}_tokenizer"]) for side in ("src", "tgt")]
    for side, tokenizer in zip(("source", "target"), both, strict=True):
        if tokenizer.kind != "word":
            raise ValueError(f"The tokenizer of the {side} is of kind {tokenizer.kind!r}; the page runs 'word' only.")
    return both[0], both[1]


def program_data(stored: Stored) -> dict[str, Any]:
    """What the page needs to translate: the recorded program with its weights, and the tokenizers.

    Args:
        stored: a Transformer.

    Returns:
        `stepformer.translation/1`: JSON can hold it.

    Raises:
        ValueError: the model is no Transformer, or a tokenizer does not cut text into words.
    """
    src_tokenizer, tgt_tokenizer = tokenizers(stored)
    trace = translation_program(stored, [*src_tokenizer.encode(EXAMPLES[0][0]), EOS])
    return {
        "format": DATA_FORMAT,
        "program": json.loads(to_json(trace)),
        "fold": folded_scopes(trace, 1),
        "src_tokenizer": src_tokenizer.to_json(),
        "tgt_tokenizer": tgt_tokenizer.to_json(),
        "max_len": int(stored.info["arguments"]["max_len"]),
    }


def script(stored: Stored) -> str:
    """The classic script that hands the model to the page.

    Args:
        stored: a Transformer.

    Returns:
        JavaScript, one line.

    Raises:
        ValueError: as `program_data`.
    """
    return call(DATA, program_data(stored))


def page_payload(stored: Stored, sentences: Iterable[Pair] | None = None) -> dict[str, Any]:
    """What the page knows before the model is loaded.

    Args:
        stored: a Transformer.
        sentences: of the grammar, for the suggestions; drawn with a fixed seed if not given.

    Returns:
        `stepformer.translator/1`: JSON can hold it.

    Raises:
        ValueError: as `program_data`.
    """
    src_tokenizer, _ = tokenizers(stored)
    if sentences is None:
        sentences = itertools.islice(pairs(0), GRAMMAR_SENTENCES)
    wire = len(gzip.compress(script(stored).encode("utf-8"), mtime=0))
    return {
        "format": PAGE_FORMAT,
        "data": DATA,
        "megabytes": f"{wire / 1e6:.1f}",
        "most_words": min(int(stored.info["arguments"]["max_len"]) - 1, MOST_WORDS),
        "tokenizer": src_tokenizer.to_json(),
        "follow": followers(src_tokenizer, (pair.source for pair in sentences)),
        "examples": [{"source": source, "target": target} for source, target in EXAMPLES],
    }


def followers(tokenizer: Tokenizer, texts: Iterable[str], most: int = MOST_FOLLOWERS) -> list[list[int]]:
    """Which words come after which, in some sentences.

    Args:
        tokenizer: of the source.
        texts: sentences.
        most: how many for each word.

    Returns:
        For each id of the vocabulary the ids that most often come next, the most frequent first; for <bos> those that
        begin a sentence.
    """
    counts: list[Counter[int]] = [Counter() for _ in tokenizer.vocabulary]
    for text in texts:
        ids = [BOS, *tokenizer.encode(text)]
        for word, following in itertools.pairwise(ids):
            if following > UNK:
                counts[word][following] += 1
    return [sorted(found, key=lambda word: (-found[word], word))[:most] for found in counts]


def page_html(stored: Stored, sentences: Iterable[Pair] | None = None) -> str:
    """The element of the page, and inside it, for readers without JavaScript, the examples with their translations.

    Args:
        stored: a Transformer.
        sentences: as for `page_payload`.

    Returns:
        HTML text.

    Raises:
        ValueError: as `program_data`.
    """
    return element("stepformer-translator", dumps(page_payload(stored, sentences)), fallback(stored))


def fallback(stored: Stored, texts: Sequence[str] = tuple(source for source, _ in EXAMPLES)) -> str:
    """A table of sentences and what the model makes of them, computed now.

    Args:
        stored: a Transformer.
        texts: English sentences.

    Returns:
        Safe HTML.
    """
    src_tokenizer, tgt_tokenizer = tokenizers(stored)
    rows = []
    for text in texts:
        written = tgt_tokenizer.decode(translate_greedily(stored, [*src_tokenizer.encode(text), EOS]))
        rows.append(f'<tr><td>{escape(text)}</td><td lang="zh">{escape(written)}</td></tr>')
    head = '<tr><th scope="col">English</th><th scope="col">What the model writes</th></tr>'
    return f'<div class="stepformer-fallback"><table>{head}{"".join(rows)}</table></div>'
