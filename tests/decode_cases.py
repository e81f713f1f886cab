"""What the tests of decoding share: models that are a table of probabilities, and all sentences they can write."""

import itertools
import math
from typing import NamedTuple

import numpy as np
import torch

from stepformer import examples, nn
from stepformer.data.tokenizer import EOS, PAD, SPECIAL, WordTokenizer
from stepformer.params import from_arrays
from stepformer.translator import Translator


class Written(NamedTuple):
    """What each row has written: the cache of a table."""

    words: tuple[tuple[int, ...], ...]

    def select(self, rows):
        return Written(tuple(self.words[row] for row in rows.tolist()))


class Table:
    """A model that looks up what comes next: `next_word(sentence, words so far)` gives a probability for each word.

    The first id of a source names the sentence. There is no padding to ignore, and nothing is computed.
    """

    def __init__(self, next_word):
        self.next_word = next_word
        self.encoded = self.decoded = 0

    def encode(self, src):
        self.encoded += 1
        return src[:, :1].unsqueeze(-1), (src != 0).unsqueeze(1)

    def decode(self, tgt, memory, memory_mask=None, cache=None):
        assert len(tgt) == len(memory) == len(memory_mask)
        self.decoded += len(tgt)
        known = cache.words if cache else [()] * len(tgt)
        written = Written(tuple((*old, *new) for old, new in zip(known, tgt.tolist(), strict=True)))
        sentences = memory[:, 0, 0].tolist()
        # The first word read is the start mark.
        rows = [self.next_word(*pair) for pair in zip(sentences, (words[1:] for words in written.words), strict=True)]
        return torch.tensor(np.array(rows)).unsqueeze(1), written

    def project(self, x):
        return x.log()


def of_dictionary(probabilities, otherwise):
    """A table for one sentence, in words: {"": {"a": .5, …}, "a": …}; words are e (the end), a, b, c."""

    def next_word(_, words):
        row = probabilities.get("".join(WORDS[word] for word in words), otherwise)
        return [row.get(word, 0.0) for word in WORDS]

    return Table(next_word)


WORDS = "eab"
END = 0


def spelled(ids):
    return "".join(WORDS[k] for k in ids)


def random_table(seed, vocab_size, sharpness=1.0):
    """Probabilities drawn anew for every sentence and every beginning."""

    def next_word(sentence, words):
        rng = np.random.default_rng([seed, sentence, *words, len(words)])
        return rng.dirichlet(np.full(vocab_size, 1 / sharpness))

    return Table(next_word)


def all_sentences(table, sentence, vocab_size, max_len, end=END):
    """Every finished sentence of at most max_len words, the end counted: (ids, log-probability, number of words)."""
    others = [word for word in range(vocab_size) if word != end]
    for n in range(max_len):
        for ids in itertools.product(others, repeat=n):
            logs = [math.log(table.next_word(sentence, ids[:k])[word]) for k, word in enumerate((*ids, end))]
            yield ids, sum(logs), n + 1


class WithoutEndOfSource(nn.Transformer):
    """The designed Transformer knows no end mark of the source; trained models do."""

    def encode(self, src):
        return super().encode(src.masked_fill(src == EOS, PAD))


def toy_translator():
    """The book's designed Transformer, which translates sentences of three words, between two tokenizers.

    Its own vocabularies lack some of the four special words that every tokenizer has: they get rows that say nothing.
    """
    params = dict(examples.TRANSFORMER_PARAMS)
    source, target = examples.ENGLISH_WORDS[1:], examples.CHINESE_WORDS[3:]
    nothing = params["src_embedding.weight"][:1]
    params["src_embedding.weight"] = np.concatenate([nothing] * 4 + [params["src_embedding.weight"][1:]])
    for name, axis, unknown in (("tgt_embedding.weight", 0, nothing), ("output.weight", 1, np.zeros((10, 1)))):
        params[name] = np.concatenate([params[name][:3], unknown, params[name][3:]] if axis == 0 else
                                      [params[name][:, :3], unknown, params[name][:, 3:]], axis=axis)  # fmt: skip
    params["output.bias"] = np.insert(params["output.bias"], 3, -9.0)
    model = WithoutEndOfSource(len(source) + 4, len(target) + 4, 10, 2, 1, 14, max_len=30).double().eval()
    model.load_state_dict(from_arrays(params, like=model.state_dict()))
    words = [WordTokenizer([*SPECIAL, *side], language) for side, language in ((source, "en"), (target, "zh"))]
    return Translator(model, *words, {"title": "the designed Transformer"})
