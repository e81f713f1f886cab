"""Decoding: greedy, beam search and sampling, for any model with encode, decode and project.

All of them take a padded batch, use the model's cache, drop what is finished from the batch, and give for every
sentence what they would give for it alone.
"""

from stepformer.decode.beam_search import beam
from stepformer.decode.ensemble import Ensemble
from stepformer.decode.hypothesis import ALPHA, Hypothesis, LengthPenalty, length_penalties
from stepformer.decode.one_row import greedy, sample
from stepformer.decode.tree import BeamTree, Node, beam_tree

__all__ = [
    "ALPHA",
    "BeamTree",
    "Ensemble",
    "Hypothesis",
    "LengthPenalty",
    "Node",
    "beam",
    "beam_tree",
    "greedy",
    "length_penalties",
    "sample",
]
