"""Several models as one: the mean of probabilities, with and without cache, in any search."""

import pytest
import torch

from stepformer.decode import Ensemble, beam, greedy
from stepformer.nn import EncoderDecoder, Transformer

SRC = torch.tensor([[4, 5, 6, 2], [7, 2, 0, 0], [6, 4, 2, 0]])
TGT = torch.tensor([[1, 4, 5], [1, 6, 4], [1, 5, 5]])


def transformers(*seeds):
    shape = dict(d_model=8, n_heads=2, n_layers=1, d_ff=12, dropout=0.3, max_len=20)
    return [Transformer(9, 8, **shape, generator=torch.Generator().manual_seed(seed)).eval() for seed in seeds]


def networks(*seeds):
    made = []
    for seed in seeds:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            made.append(EncoderDecoder(9, 8, 5, 6))
    return made


@pytest.mark.parametrize("members", [transformers(0, 1, 2), networks(0, 1, 2)], ids=["transformer", "gru"])
def test_probabilities_are_the_mean_of_the_members_at_once_and_word_by_word(members):
    ensemble = Ensemble(members)
    with torch.no_grad():
        mean = sum(member(SRC, TGT).softmax(dim=-1) for member in members) / 3
        assert torch.allclose(ensemble(SRC, TGT).exp(), mean, atol=1e-6)
        memory, mask = ensemble.encode(SRC)
        cache = None
        for i in range(TGT.shape[-1]):
            output, cache = ensemble.decode(TGT[:, i : i + 1], memory, mask, cache)
            assert torch.allclose(ensemble.project(output)[:, 0].exp(), mean[:, i], atol=1e-6)


def test_a_beam_scores_its_hypotheses_by_the_mean_and_keeps_the_caches_of_every_member_in_order():
    ensemble = Ensemble(transformers(3, 4))
    for row, hypotheses in enumerate(beam(ensemble, SRC, 6, size=3, n_best=3)):
        for found in hypotheses:
            ids = [*found.ids, *([2] if found.finished and found.ids[-1:] != [2] else [])]
            logs = ensemble(SRC[row : row + 1], torch.tensor([[1, *ids[:-1]]]))[0]
            score = sum(logs[i, word].item() for i, word in enumerate(ids))
            assert found.score == pytest.approx(score, abs=1e-4)


def test_one_member_alone_or_twice_writes_what_it_writes_itself_and_dropout_rests():
    model = transformers(5)[0]
    alone = [found.ids for found in greedy(model, SRC, 6)]
    for members in ([model], [model, model]):
        ensemble = Ensemble(members).train()
        assert [found.ids for found in greedy(ensemble, SRC, 6)] == alone
        assert ensemble.training


def test_an_ensemble_of_nobody_is_refused():
    with pytest.raises(ValueError, match="one model or more"):
        Ensemble([])
