"""The cache of the Transformer where nothing is trained: a short way for a step, room for tokens, shared sources."""

import pytest
import torch
from agreement import assert_agree
from transformer_cases import TGT_WORDS, model

from stepformer.nn._cache import SMALLEST_ROOM, KeyValueCache
from stepformer.nn.attention_weights import kept

TOLERANCE = 1e-10
MODELS = {"post-norm": model(), "pre-norm": model(norm_first=True), "learned": model(positions="learned", max_len=90)}
every_model = pytest.mark.parametrize("kind", MODELS)
SRC = torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0], [9, 3, 2, 0]])


def words(batch, n, seed=0):
    return torch.randint(1, TGT_WORDS, (batch, n), generator=torch.Generator().manual_seed(seed))


def stepped(module, tgt, encoded, cache=None):
    """Word by word; return all rows and the last cache."""
    rows = []
    for word in tgt.split(1, dim=1):
        output, cache = module.decode(word, *encoded, cache)
        rows.append(output)
    return torch.cat(rows, dim=1), cache


@every_model
@pytest.mark.parametrize("how", [torch.no_grad, torch.inference_mode])
def test_the_short_way_gives_the_rows_of_the_whole_target(kind, how):
    """Over more tokens than the first room holds."""
    module, tgt = MODELS[kind].eval(), words(3, SMALLEST_ROOM * 2 + 3)
    encoded = module.encode(SRC)
    whole = module.decode(tgt, *encoded)
    with how():
        rows, cache = stepped(module, tgt, encoded)
    assert_agree(rows, whole.output.detach().numpy(), TOLERANCE)
    for mine, theirs in zip(cache.layers, whole.cache.layers, strict=True):
        for known, other in zip(mine, theirs, strict=True):
            assert_agree(known.key, other.key.detach().numpy(), TOLERANCE)
            assert_agree(known.value, other.value.detach().numpy(), TOLERANCE)


def test_the_short_way_is_taken_and_the_long_one_where_it_must_be(monkeypatch):
    module, tgt = MODELS["post-norm"].eval(), words(3, 3)
    steps = []
    own = type(module.decoder.layers[0]).step
    monkeypatch.setattr(type(module.decoder.layers[0]), "step", lambda self, *a: steps.append(1) or own(self, *a))

    def count(run):
        steps.clear()
        run()
        return len(steps)

    encoded = [x.detach() for x in module.encode(SRC)]
    padded = torch.tensor([[1, 2, 3], [1, 2, 0], [1, 0, 0]])
    with torch.no_grad():
        assert count(lambda: stepped(module, tgt, encoded)) == 2 * 3, "each layer, but for the first word"
        assert count(lambda: stepped(module, padded, encoded)) == 0, "there is padding in the target"
        with kept(module) as weights:
            assert count(lambda: stepped(module, tgt, encoded)) == 0, "nobody would see the weights"
        assert len(weights) == 2 * 3
        module.train()
        assert count(lambda: stepped(module, tgt, encoded)) == 0, "there is dropout"
        module.eval()
    assert count(lambda: stepped(module, tgt, encoded)) == 0, "there are gradients"


@pytest.mark.parametrize("how", [torch.no_grad, torch.inference_mode])
def test_two_ways_on_from_one_cache_do_not_see_each_other(how):
    """New tokens are written behind the old ones: the second way on must not write over the first."""
    module, tgt = MODELS["post-norm"].eval(), words(3, 4)
    encoded = module.encode(SRC)
    with how():
        _, cache = stepped(module, tgt, encoded)
        firsts = [known.clone() for layer in cache.layers for known in layer.self_attention]
        one, two = words(3, 2, seed=1), words(3, 2, seed=2)
        output, after_one = module.decode(one[:, :1], *encoded, cache)
        _, after_two = module.decode(two[:, :1], *encoded, cache)
        again = module.decode(one[:, :1], *encoded, cache).output
        assert torch.equal(output, again)
        rest = module.decode(one[:, 1:], *encoded, after_one).output
        other = module.decode(two[:, 1:], *encoded, after_two).output
        lasts = [known for layer in cache.layers for known in layer.self_attention]
        assert all(torch.equal(a, b) for a, b in zip(firsts, lasts, strict=True))
    for branch, row in ((one, rest), (two, other)):
        whole = module.decode(torch.cat([tgt, branch], dim=1), *encoded).output[:, -1:]
        assert_agree(row, whole.detach().numpy(), TOLERANCE)


def test_a_cache_of_inference_mode_goes_on_outside_of_it():
    module, tgt = MODELS["post-norm"].eval(), words(3, 4)
    with torch.inference_mode():
        encoded = module.encode(SRC)
        _, cache = stepped(module, tgt[:, :2], encoded)
    with torch.no_grad():
        rows, _ = stepped(module, tgt[:, 2:], [x.clone() for x in encoded], cache)
    whole = module.decode(tgt, *module.encode(SRC)).output[:, 2:]
    assert_agree(rows, whole.detach().numpy(), TOLERANCE)


SELECTIONS = {
    "a beam begins": [[0, 0, 1, 1, 2, 2]],
    "a beam is mixed": [[0, 0, 0, 1, 1, 1, 2, 2, 2], [2, 0, 0, 5, 5, 4, 8, 6, 7]],
    "places differ": [[0, 0, 1, 1, 2, 2], [0, 1, 2, 5]],
    "a sentence ends": [[0, 0, 1, 1, 2, 2], [1, 0, 4, 5], [0, 2, 3]],
    "all but one end": [[0, 2], [1], [0, 0]],
    "sources in another order": [[2, 0], [1, 0, 1]],
    "one after the other twice": [[0, 1, 0, 1]],
}


@every_model
@pytest.mark.parametrize("name", SELECTIONS)
@pytest.mark.parametrize("goes_on", ["the short way", "with padding"])
def test_rows_are_selected_as_if_each_had_a_source_of_its_own(kind, name, goes_on):
    module = MODELS[kind].eval()
    tgt, rows = words(3, 2), torch.arange(3)
    with torch.no_grad():
        memory, mask = module.encode(SRC)
        _, cache = stepped(module, tgt, (memory, mask))
        for k, chosen in enumerate(map(torch.tensor, SELECTIONS[name])):
            rows, tgt = rows[chosen], tgt[chosen]
            new = words(len(rows), 1, seed=k)
            if goes_on == "with padding":
                new[0] = 0
            tgt = torch.cat([tgt, new], dim=1)
            output, cache = module.decode(new, memory[rows], mask[rows], cache.select(chosen))
            whole = module.decode(tgt, memory[rows], mask[rows]).output[:, -1:]
            assert_agree(output, whole.numpy(), TOLERANCE)
    with torch.enable_grad():
        assert cache.select(torch.arange(len(rows))).sources is None


@every_model
def test_a_long_beam_is_mixed_without_its_keys_being_moved(kind):
    """Beyond the first room, gone on from twice, and with fewer rows at the end."""
    module, generator = MODELS[kind].eval(), torch.Generator().manual_seed(0)
    rows, first = torch.arange(3).repeat_interleave(2), 2 * torch.arange(3).repeat_interleave(2)
    with torch.no_grad():
        memory, mask = (x[rows] for x in module.encode(SRC))
        tgt = words(3, 1)[rows]
        _, cache = module.decode(tgt[::2], memory[::2], mask[::2])
        cache = cache.select(rows)
        for k in range(SMALLEST_ROOM + 3):
            new = words(6, 1, seed=k)
            tgt = torch.cat([tgt, new], dim=1)
            output, after = module.decode(new, memory, mask, cache)
            if k == 1:  # the same again, after another word was written into its place
                module.decode(words(6, 1, seed=k + 100), memory, mask, cache)
                output, after = module.decode(new, memory, mask, cache)
            chosen = first + torch.randint(2, (6,), generator=generator)
            moved = after.select(chosen)
            assert moved.layers is after.layers, "only the table of origins changes"
            tgt, cache = tgt[chosen], moved
        fewer = torch.tensor([0, 3, 2])
        new = words(3, 1, seed=99)
        output, _ = module.decode(new, memory[fewer], mask[fewer], cache.select(fewer))
        whole = module.decode(torch.cat([tgt[fewer], new], dim=1), memory[fewer], mask[fewer]).output[:, -1:]
        assert_agree(output, whole.numpy(), TOLERANCE)
        new = words(6, 1, seed=98)
        output, _ = module.decode(new, memory, mask, cache)
        whole = module.decode(torch.cat([tgt, new], dim=1), memory, mask).output[:, -1:]
        assert_agree(output, whole.numpy(), TOLERANCE)


@every_model
def test_another_mask_of_the_source_is_heeded_at_the_next_step(kind):
    module, tgt = MODELS[kind].eval(), words(3, 3)
    with torch.no_grad():
        memory, mask = module.encode(SRC)
        _, cache = stepped(module, tgt[:, :2], (memory, mask))
        narrower = mask.clone()
        narrower[:, :, 1] = False
        for other in (narrower, mask, None):
            after = module.decode(tgt[:, 2:], memory, other, cache).output
            fresh = module.decode(tgt[:, 2:], memory, other, cache._replace(reading=None)).output
            assert torch.equal(after, fresh)
        assert not torch.allclose(after, module.decode(tgt[:, 2:], memory, narrower, cache).output)


def test_sources_are_stored_once():
    module = MODELS["post-norm"].eval()
    with torch.no_grad():
        encoded = module.encode(SRC)
        _, cache = stepped(module, words(3, 2), encoded)
        beam = cache.select(torch.tensor([0, 0, 1, 1, 2, 2]))
        mixed = beam.select(torch.tensor([1, 0, 2, 2, 5, 4]))
        fewer = beam.select(torch.tensor([2, 3, 4]))
    assert (beam.copies, mixed.copies, fewer.copies) == (2, 2, 0)
    sizes = [one.layers[0].cross_attention.key.shape[0] for one in (cache, beam, mixed, fewer)]
    assert sizes == [3, 3, 3, 2]
    assert mixed.layers[0].cross_attention.key.data_ptr() == cache.layers[0].cross_attention.key.data_ptr()


def test_room_is_used_by_the_longest_only():
    key, value = torch.randn(2, 3, 2, 1, 4).unbind(0)
    with torch.no_grad():
        one = KeyValueCache(key, value).extended(key + 1, value + 1)
        longer = one.extended(key + 2, value + 2)
        assert longer.room is one.room, "nothing was copied"
        other = one.extended(key + 3, value + 3)
        assert other.room is not one.room
    for cache, numbers in ((one, (0, 1)), (longer, (0, 1, 2)), (other, (0, 1, 3))):
        assert torch.equal(cache.key, torch.cat([key + k for k in numbers], dim=-2))
        assert torch.equal(cache.value, torch.cat([value + k for k in numbers], dim=-2))
