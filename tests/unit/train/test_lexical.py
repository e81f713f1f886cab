"""The lexical start: IBM model 1 against a computation word by word, and what becomes of the embeddings."""

from collections import defaultdict

import numpy as np
import pytest
import torch
from small_training import config, data

from stepformer.nn import EncoderDecoder, Transformer
from stepformer.train.lexical import ADDED, SMALLEST, lexical_start, lexicon
from stepformer.train.log import Memory
from stepformer.train.trainer import Training

# 4 the, 5 cat, 6 sleeps, 7 runs | 4 猫, 5 睡, 6 跑; a word may stand twice
PAIRS = [([4, 5, 6], [4, 5]), ([4, 5, 7], [4, 6]), ([4, 4, 7], [6]), ([8], [7, 7])]


def slowly(pairs, rounds):
    """p(target | source) of IBM model 1 as the paper writes it."""
    p = defaultdict(lambda: 1.0)
    for _ in range(rounds):
        counts, totals = defaultdict(float), defaultdict(float)
        for source, target in pairs:
            for t in target:
                total = sum(p[s, t] for s in source)
                for s in source:
                    counts[s, t] += p[s, t] / total
                    totals[s] += p[s, t] / total
        p = {(s, t): count / (totals[s] + ADDED) for (s, t), count in counts.items()}
    return p


@pytest.mark.parametrize("rounds", [1, 5])
def test_the_lexicon_is_that_of_model_1_in_both_directions(rounds):
    forth = slowly(PAIRS, rounds)
    back = slowly([(target, source) for source, target in PAIRS], rounds)
    expected = np.zeros((9, 8))
    for (s, t), p in forth.items():
        strength = (p * back[t, s]) ** 0.5
        expected[s, t] = strength if strength >= SMALLEST else 0.0
    np.testing.assert_allclose(lexicon(PAIRS, 9, 8, rounds), expected, atol=1e-6)


def test_words_find_each_other():
    table = lexicon(PAIRS, 9, 8)
    assert table[5:9].argmax(axis=1).tolist() == [4, 5, 6, 7]


def model(seed=0, **options):
    return Transformer(9, 8, 6, 2, 1, 8, generator=torch.Generator().manual_seed(seed), **options)


def test_translations_begin_as_similar_vectors_and_unknown_words_stay_as_they_were():
    new, before = model(), model()
    lexical_start(new, PAIRS, share=0.99)
    likeness = torch.nn.functional.cosine_similarity(
        new.src_embedding.weight[5:9, None], new.tgt_embedding.weight[None, 4:], dim=-1
    )
    assert likeness.argmax(dim=1).tolist() == [0, 1, 2, 3]
    assert likeness[3, 3] > 0.9
    handing_on = ("cross_attention.w_v.weight", "cross_attention.w_o.weight")
    for name, value in new.state_dict().items():
        if name.endswith(handing_on):
            assert torch.equal(value, torch.eye(6))
            continue
        unknown = slice(4) if name.endswith("embedding.weight") else slice(None)
        assert torch.equal(value[unknown], before.state_dict()[name][unknown]), name
    # Of a vector that the lexicon gives, 1 - share² of the square of its length stays random.
    lexical_start(random := model(), PAIRS, share=0.0)
    assert torch.equal(random.src_embedding.weight, before.src_embedding.weight)


def test_a_recurrent_model_takes_the_embeddings_too():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = EncoderDecoder(9, 8, 6, 5)
    before = network.src_embedding.weight.clone()
    lexical_start(network, PAIRS)
    assert (network.src_embedding.weight != before).any(dim=1).tolist() == [False] * 4 + [True] * 5


def test_a_tied_output_follows_and_one_table_for_both_is_refused():
    tied = model(tie_output=True)
    lexical_start(tied, PAIRS)
    assert tied.output.weight is tied.tgt_embedding.weight
    shared = Transformer(9, 9, 6, 2, 1, 8, share_embeddings=True)
    with pytest.raises(ValueError, match="one for the target"):
        lexical_start(shared, PAIRS)
    with pytest.raises(ValueError, match="from 0 to 1"):
        lexical_start(tied, PAIRS, 1.5)


def test_a_training_begins_with_it_when_it_is_asked_to():
    pairs = data()
    random = Training(config(), pairs, Memory()).model
    training = Training(config(start__lexical=0.7), pairs, Memory())
    assert not torch.equal(training.model.src_embedding.weight, random.src_embedding.weight)
    lexical_start(random, pairs.train, 0.7)
    for name, value in training.model.state_dict().items():
        assert torch.equal(value, random.state_dict()[name]), name
