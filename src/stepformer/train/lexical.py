"""A start that knows some words: from counts of what stands opposite what, before the first step.

A Transformer spends its first minutes on finding out which word belongs to which. Counting finds much of that in a
second: IBM model 1, the oldest of the statistical translation models, run in both directions. What it finds is written
into the two tables of embeddings, so that a word and its translation begin as similar vectors, and cross-attention
begins by handing on what it looks at. It helps where pairs and time are few. Nothing but the training pairs is used,
and nothing is frozen.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from stepformer.data.batches import EncodedPair

ROUNDS = 5
"""Of expectation and maximisation; more change little."""
SMALLEST = 0.01
"""Weaker links are chance, and are dropped."""
ADDED = 0.5
"""Added to the count by which probabilities are divided: what was seen once is not certain."""


def lexicon(pairs: Sequence[EncodedPair], src_vocab_size: int, tgt_vocab_size: int, rounds: int = ROUNDS) -> np.ndarray:
    """How strongly each source word and each target word belong together.

    Formula: `sqrt(p(tgt | src) * p(src | tgt))`, both from IBM model 1 (Brown et al. 1993, section 4.2):
    `count(s, t) = sum over pairs of p(t | s) / sum over the pair's source words s' of p(t | s')`,
    `p(t | s) = count(s, t) / (ADDED + sum over t' of count(s, t'))`.

    Args:
        pairs: token ids of sources and targets.
        src_vocab_size: number of source words.
        tgt_vocab_size: number of target words.
        rounds: how often counts and probabilities are computed from each other.

    Returns:
        (src_vocab_size, tgt_vocab_size) numbers from 0 to 1; links weaker than SMALLEST are 0.
    """
    cells = _Cells(pairs, tgt_vocab_size)
    strengths = np.ones(len(cells.pairs))
    sources, targets = cells.pairs // tgt_vocab_size, cells.pairs % tgt_vocab_size
    for of_group, given in ((cells.targets, sources), (cells.sources, targets)):
        probability = np.ones(len(cells.pairs))
        for _ in range(rounds):
            weights = probability[cells.pair]
            shares = weights / np.bincount(of_group, weights)[of_group]
            counts = np.bincount(cells.pair, shares)
            probability = counts / (ADDED + np.bincount(given, counts)[given])
        strengths *= probability
    strengths = np.sqrt(strengths)
    table = np.zeros(src_vocab_size * tgt_vocab_size, dtype=np.float32)
    table[cells.pairs] = np.where(strengths < SMALLEST, 0.0, strengths)
    return table.reshape(src_vocab_size, tgt_vocab_size)


def lexical_start(model: nn.Module, pairs: Sequence[EncodedPair], share: float = 0.9) -> None:
    """Let a new model begin with similar vectors for words that belong together.

    Formula: `lexicon ≈ (U sqrt(S)) (V sqrt(S))^T` with as many singular values as the embeddings are wide; the rows of
    both factors, made one long, come into the tables with weight `share` and the random values that were there with
    `sqrt(1 - share ** 2)`. Words that the lexicon does not know keep their random values. In every cross-attention,
    `w_v` and `w_o` become the identity: what it looks at reaches the sum as it is.

    Args:
        model: with `src_embedding` and `tgt_embedding` of equal width; changed in place.
        pairs: token ids of the training pairs.
        share: how much of a vector comes from the lexicon, from 0 to 1.

    Raises:
        ValueError: the share is out of range, or the tables are one, or differ in width.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share is {share}; it must be from 0 to 1.")
    tables = model.src_embedding.weight, model.tgt_embedding.weight
    if tables[0] is tables[1] or tables[0].shape[1] != tables[1].shape[1]:
        raise ValueError("A lexical start needs a table for the source and one for the target, of the same width.")
    links = torch.from_numpy(lexicon(pairs, len(tables[0]), len(tables[1])))
    left, values, right = torch.linalg.svd(links, full_matrices=False)
    with torch.no_grad():
        for table, vectors in zip(tables, (left, right.mT), strict=True):
            width = min(table.shape[1], len(values))
            vectors = vectors[:, :width] * values[:width].sqrt()
            vectors = nn.functional.pad(vectors, (0, table.shape[1] - width))
            norms = vectors.norm(dim=1, keepdim=True)
            mixed = share * vectors / norms.clamp(min=SMALLEST) + (1 - share**2) ** 0.5 * table
            table.copy_(torch.where(norms > SMALLEST, mixed, table))
        for layer in getattr(model.decoder, "layers", ()):
            for linear in (layer.cross_attention.w_v, layer.cross_attention.w_o):
                nn.init.eye_(linear.weight)


class _Cells:
    """All places of the tables "source word × target word" of all pairs, as flat arrays.

    Attributes:
        pairs: the different pairs of words, each as source id · size of the target vocabulary + target id, sorted.
        pair: for each cell, which of them it is.
        sources: for each cell, the number of its source word, counted through all sentences.
        targets: the same of its target word.
    """

    def __init__(self, pairs: Sequence[EncodedPair], tgt_vocab_size: int) -> None:
        keys, sources, targets = [], [], []
        first_source = first_target = 0
        for source, target in pairs:
            n, m = len(source), len(target)
            rows, columns = (np.asarray(ids, dtype=int) for ids in (source, target))
            keys.append(np.add.outer(rows * tgt_vocab_size, columns).ravel())
            sources.append(np.repeat(np.arange(first_source, first_source + n), m))
            targets.append(np.tile(np.arange(first_target, first_target + m), n))
            first_source, first_target = first_source + n, first_target + m
        self.pairs, self.pair = np.unique(np.concatenate(keys), return_inverse=True)
        self.sources, self.targets = np.concatenate(sources), np.concatenate(targets)
