"""The program of byte-pair encoding: its counts are those of the words, its merges those of the library."""

import itertools
import json
from collections import Counter

import numpy as np
import tokenizers
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stepformer import examples
from stepformer.data.tokenizer import BpeTokenizer
from stepformer.examples import LETTERS, MERGES, PIECES, WORD_COUNTS


def merges_of_the_library(word_counts, n_merges):
    """What `tokenizers` joins, for words that occur so often."""
    model = tokenizers.Tokenizer(tokenizers.models.BPE())
    model.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    n_letters = len(set("".join(word_counts)))
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=n_letters + n_merges, min_frequency=1, show_progress=False)
    model.train_from_iterator((f"{word} " * count for word, count in word_counts.items()), trainer)
    return [tuple(pair) for pair in json.loads(model.to_str())["model"]["merges"]]


def merges_of_the_program(values):
    """The pair with the largest count in each round, the first of equal ones, by the pieces that it is made of."""
    pieces, merges = list(LETTERS), []
    for k in range(len(MERGES)):
        counts = values[f"round_{k + 1}.pair_counts"]
        first, second = np.unravel_index(counts.argmax(), counts.shape)
        if counts[first, second] > 0:
            merges.append((pieces[first], pieces[second]))
        pieces.append(pieces[first] + pieces[second])
    return merges


def test_the_program_joins_what_the_library_joins():
    trace = examples.byte_pair_encoding()
    assert merges_of_the_program(trace.values) == merges_of_the_library(WORD_COUNTS, 4) == list(MERGES)
    assert "chase" in PIECES
    assert list(PIECES) == [*"acdehs", "se", "ase", "ch", "chase"]


@settings(max_examples=25)
@given(st.dictionaries(st.text("".join(LETTERS), min_size=1, max_size=6), st.integers(1, 9), min_size=1, max_size=4))
def test_on_other_words_it_joins_what_the_library_joins(word_counts):
    # The library numbers the letters that occur; ours keep their order, so that equal counts are decided alike.
    merged = merges_of_the_library(word_counts, 4)
    letters = examples.letters_of_words(word_counts)
    values = examples.byte_pair_encoding().run({"pieces": letters, "one_down": np.eye(len(letters), k=1)}).values
    pieces, expected = dict.fromkeys(LETTERS), []
    for pair in merged:
        joined = "".join(pair)
        assume(joined not in pieces)  # the library makes one piece of it, where the program has two columns
        pieces[joined] = None
        expected.append(pair)
    assert merges_of_the_program(values) == expected


def test_the_pairs_are_counted_as_one_counts_them_by_hand():
    values = examples.byte_pair_encoding().values
    counted = Counter()
    for word, count in WORD_COUNTS.items():
        for pair in itertools.pairwise(word):
            counted[pair] += count
    counts = values["round_1.pair_counts"]
    found = {(PIECES[i], PIECES[j]): counts[i, j] for i, j in zip(*np.nonzero(counts), strict=True)}
    assert found == counted
    assert counted["s", "e"] == 12
    written = [[PIECES[i] for i in np.flatnonzero(row)] for row in values["round_4.pieces"]]
    assert written[:8] == [["chase"], ["s"], [], ["chase"], ["d"], [], ["se"], ["e"]]
    assert written[8] == ["s"]
    assert not any(written[9:])


def test_the_tokenizer_cuts_the_words_as_the_program_does():
    sentences = [word for word, count in WORD_COUNTS.items() for _ in range(count)]
    tokenizer = BpeTokenizer.learn(sentences, "zh", max_size=4 + len(PIECES))  # without the sign for a space
    assert tokenizer.merges == MERGES
    assert [tokenizer.tokens(word) for word in ("chases", "chased", "sees", "chase")] == [
        ["chase", "s"],
        ["chase", "d"],
        ["se", "e", "s"],
        ["chase"],
    ]
