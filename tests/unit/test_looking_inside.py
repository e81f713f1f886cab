"""Looking into a model: parts that are taken away, weights that are replaced, and the stream read at each depth."""

import json

import numpy as np
import pytest
import torch
from agreement import assert_agree
from engine import ask_engine, from_engine
from translation_cases import EVERY_SHAPE, random_model, save_random_model

from stepformer import checks, examples, mistakes
from stepformer.checkpoint import SHIPPED, load_model, read_model
from stepformer.data.tokenizer import EOS, PAD
from stepformer.evaluate.perplexity import perplexity
from stepformer.looking_inside import plane as planes
from stepformer.looking_inside.heads import Head, heads_of, read_without_each, without_heads
from stepformer.looking_inside.lens import lens_program, stream_names
from stepformer.looking_inside.positions import further_back
from stepformer.looking_inside.reading import ids_of, read
from stepformer.looking_inside.stream import stream_of
from stepformer.looking_inside.weights import only_best, permuted, uniform, with_weights
from stepformer.looking_inside.words import cost_of_words
from stepformer.nn import AdditiveAttention, Transformer
from stepformer.nn.attention_weights import attention_weights
from stepformer.translation_program import translation_program
from stepformer.translator import Translator

SRC, TGT = (5, 6, 4, 2), (1, 4, 9, 5, 6)
PAIRS = [((5, 6, 4), (4, 9, 5, 6)), ((7, 8), (5,)), ((9, 4, 5, 6, 7), (8, 8, 4))]
CROSS = "decoder.layers.1.cross_attention"


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Transformer(12, 11, d_model=16, n_heads=4, n_layers=2, d_ff=20, dropout=0.2, max_len=20).double().eval()


@pytest.fixture(scope="module", params=EVERY_SHAPE)
def directory(request, tmp_path_factory):
    return save_random_model(tmp_path_factory.mktemp("models") / "model", request.param)


def logits(model, src=SRC, tgt=TGT):
    with torch.no_grad():
        return model(torch.tensor([src]), torch.tensor([tgt]))[0].double().numpy()


# ---- reading --------------------------------------------------------------------------------------------------------


def test_a_reading_has_the_loss_that_perplexity_has(model):
    assert read(model, PAIRS).loss == pytest.approx(perplexity(model, PAIRS).loss)


def test_a_reading_does_not_depend_on_the_batch_and_keeps_the_order(model):
    together, alone = read(model, PAIRS), [read(model, [pair]) for pair in PAIRS]
    for k, one in enumerate(alone):
        np.testing.assert_allclose(together.log_p[k], one.log_p[0], rtol=0, atol=1e-12)
        assert together.right[k].tolist() == one.right[0].tolist()
        assert together.log_p[k].shape == (len(PAIRS[k][1]) + 1,)


def test_a_reading_is_without_dropout_and_leaves_the_mode(model):
    wanted = read(model, PAIRS).loss
    model.train()
    try:
        assert read(model, PAIRS).loss == wanted
        assert model.training
    finally:
        model.eval()
    with pytest.raises(ValueError, match="nothing to read"):
        read(model, [])


def test_a_sentence_is_exact_in_one_reading_if_greedy_search_writes_it(trained):
    translator, pairs = trained
    ids = ids_of(translator, pairs)
    written = [one.text == pair.target for one, pair in zip(translator.translate([p.source for p in pairs]), pairs,
                                                          strict=True)]  # fmt: skip
    assert [row.all() for row in read(translator.model, ids).right] == written
    assert 0 < sum(written) < len(written)


@pytest.fixture(scope="module")
def trained():
    """The model that comes with the package, and sentences of which it gets some and not all."""
    from stepformer.data.pair import Pair

    right = [("Tom chases Jerry.", "汤姆追逐杰瑞。"), ("Jerry chases Tom.", "杰瑞追逐汤姆。"),
             ("Tom did not chase Jerry.", "汤姆没有追逐杰瑞。")]  # fmt: skip
    swapped = ("Anna sees Paul.", "保罗看见安娜。")
    return Translator.load("small"), [Pair(*pair) for pair in (*right, swapped)]


# ---- heads ----------------------------------------------------------------------------------------------------------


def test_without_a_head_it_is_the_program_with_the_head_switched_off(directory):
    model = load_model(directory).model.double()
    trace = translation_program(random_stored(directory), SRC, TGT)
    heads = heads_of(model)
    assert len(heads) == len(trace.breaks) - 1  # one break is for the positions
    before = logits(model)
    for path, number in heads[::5]:
        with without_heads(model, [Head(path, number)]):
            got = logits(model)
        wanted = trace.broken(f"Without head {number} of {path}")["logits"]
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-6 * max(1, np.abs(wanted).max()))
        assert np.abs(got - before).max() > 1e-6
    np.testing.assert_array_equal(logits(model), before)


def random_stored(directory):
    return read_model(directory)


def test_several_heads_of_one_attention_go_together_and_come_back_after_an_error(model):
    before, every = logits(model), [Head(CROSS, k) for k in range(4)]

    def fail():
        with without_heads(model, every):
            assert not model.get_submodule(CROSS).w_o.weight.any()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    np.testing.assert_array_equal(logits(model), before)
    with pytest.raises(ValueError, match="has no head"), without_heads(model, [Head(CROSS, 4)]):
        pass


def test_a_reading_without_each_head_is_the_reading_without_it(model):
    readings = read_without_each(model, PAIRS)
    assert list(readings) == heads_of(model)
    assert len(readings) == 4 * 2 * 3
    with without_heads(model, [Head(CROSS, 2)]):
        assert read(model, PAIRS).loss == readings[Head(CROSS, 2)].loss
    assert len({round(one.loss, 9) for one in readings.values()}) == len(readings)


# ---- weights --------------------------------------------------------------------------------------------------------


def padded_logits(model):
    with torch.no_grad():
        return model(torch.tensor([[5, 6, 4, 2], [7, 2, PAD, PAD]]), torch.tensor([[1, 4, 9], [1, 5, PAD]]))


def test_its_own_weights_change_nothing(model):
    before = padded_logits(model)
    with with_weights(model.get_submodule(CROSS), lambda weights: weights):
        torch.testing.assert_close(padded_logits(model), before, rtol=0, atol=1e-12)
    assert torch.equal(padded_logits(model), before)


def test_one_change_within_another_comes_and_goes(model):
    attention, before = model.get_submodule(CROSS), padded_logits(model)
    with with_weights(attention, uniform):
        outer = padded_logits(model)
        with with_weights(attention, only_best):
            inner = padded_logits(model)
        assert torch.equal(padded_logits(model), outer)
        attention_weights(model, torch.tensor([SRC]), torch.tensor([TGT]))
        assert torch.equal(padded_logits(model), outer)
    assert not torch.equal(inner, outer)
    assert torch.equal(padded_logits(model), before)
    assert "attend" not in vars(attention)


def test_another_kind_of_model_is_told_so():
    gru, with_attention = (load_model(SHIPPED / name).model for name in ("gru", "gru_attention"))
    other = next(part for part in with_attention.modules() if isinstance(part, AdditiveAttention))
    with pytest.raises(TypeError, match="AdditiveAttention is no multi-head attention"), with_weights(other, uniform):
        pass
    for other in (gru, with_attention):
        with pytest.raises(TypeError, match="has no positions"), further_back(other, src=1):
            pass
    with pytest.raises(TypeError, match="EncoderDecoder does not hide"):
        cost_of_words(gru, ((5, 6), (7, 8)))
    for name in ("gru", "gru_attention"):
        with pytest.raises(ValueError, match="the model is no Transformer"):
            lens_program(read_model(SHIPPED / name), SRC, TGT)


def test_heads_may_come_one_by_one(model):
    two = [Head(CROSS, 0), Head(CROSS, 3)]
    with without_heads(model, two):
        wanted = logits(model)
    with without_heads(model, (head for head in two)):
        assert np.array_equal(logits(model), wanted)
    assert not np.array_equal(logits(model), wanted)


def seen_weights(model, change):
    """The weights that an attention really used, with padding in the batch."""
    used = []

    def keep(weights):
        used.append((weights, change(weights)))
        return used[-1][1]

    with with_weights(model.get_submodule(CROSS), keep):
        changed = padded_logits(model)
    return *used[0], changed


@pytest.mark.parametrize("change", [uniform, only_best, permuted(torch.Generator().manual_seed(0))])
def test_other_weights_are_shares_and_leave_padding_alone(model, change):
    own, other, changed = seen_weights(model, change)
    assert (other[1, ..., 2:] == 0).all()
    torch.testing.assert_close(other.sum(-1), torch.ones_like(other.sum(-1)))
    assert not torch.allclose(own, other, atol=1e-3)
    assert (changed - padded_logits(model)).abs().max() > 1e-6


def test_what_each_change_does(model):
    own, even, _ = seen_weights(model, uniform)
    assert torch.equal(even[0], torch.full_like(even[0], 1 / 4))
    assert torch.equal(even[1, ..., :2], torch.full_like(even[1, ..., :2], 1 / 2))
    own, best, _ = seen_weights(model, only_best)
    assert torch.equal(best.argmax(-1), own.argmax(-1))
    own, dealt, _ = seen_weights(model, permuted(torch.Generator().manual_seed(1)))
    torch.testing.assert_close(dealt.sort(-1).values, own.sort(-1).values, rtol=0, atol=0)
    assert not torch.equal(dealt, own)


def test_a_query_that_may_attend_to_nothing_still_gets_nothing():
    nothing = torch.zeros(1, 2, 3)
    for change in (uniform, only_best, permuted(torch.Generator().manual_seed(0))):
        assert torch.equal(change(nothing), nothing)


# ---- words and positions --------------------------------------------------------------------------------------------


def test_the_cost_of_a_word_is_what_a_mask_over_it_costs(model):
    """Another way to hide a word: leave it in its place and forbid every attention to look there."""
    source, target = PAIRS[0]
    cost = cost_of_words(model, PAIRS[0])
    assert cost.shape == (4, 3)
    src, tgt = torch.tensor([[*source, EOS]]), torch.tensor([[1, *target]])
    wanted = []
    for hidden in (None, 0, 1, 2):
        mask = torch.ones(1, 1, 4, dtype=torch.bool)
        if hidden is not None:
            mask[..., hidden] = False
        with torch.no_grad():
            x = model._input(src, model.src_embedding, model.src_positions, 0)
            memory = model.encoder(x, mask)
            log_p = model.project(model.decode(tgt, memory, mask).output).log_softmax(-1)
        wanted.append(log_p[0, range(4), list(target)].numpy())
    np.testing.assert_allclose(cost, (wanted[0] - np.array(wanted[1:])).T, rtol=0, atol=1e-10)


def test_further_back_is_the_tail_of_a_longer_table(model):
    before = logits(model)
    with further_back(model, src=3, tgt=2):
        moved = logits(model)
    for positions, by in ((model.src_positions, 3), (model.tgt_positions, 2)):
        positions.table = positions.table.roll(-by, 0)
    np.testing.assert_allclose(logits(model), moved, rtol=0, atol=1e-12)
    for positions, by in ((model.src_positions, 3), (model.tgt_positions, 2)):
        positions.table = positions.table.roll(by, 0)
    np.testing.assert_array_equal(logits(model), before)
    assert np.abs(moved - before).max() > 1e-3
    with pytest.raises(ValueError, match="max_len is 20"), further_back(model, src=18):
        logits(model)


# ---- the lens -------------------------------------------------------------------------------------------------------


def test_at_the_last_depth_the_lens_says_what_the_model_says(directory):
    stored = random_stored(directory)
    trace = lens_program(stored, SRC, TGT, breaks=False)
    depths = stream_names(stored.info["arguments"]["n_decoder_layers"], stored.info["arguments"]["norm_first"])
    assert trace.axis_labels("lens.chances")[0][:4] == ["embedding", "0 self", "0 cross", "0 feed"]
    last = list(depths)[-1].replace(" ", "_")
    if stored.info["arguments"]["norm_first"] or not stored.info["arguments"].get("final_norm"):
        np.testing.assert_array_equal(trace[f"lens.{last}.logits"], trace["logits"])
    model = load_model(directory).model.double()
    np.testing.assert_allclose(trace[f"lens.{last}.logits"], logits(model), rtol=0, atol=1e-9)
    assert len(depths) == 1 + 3 * stored.info["arguments"]["n_decoder_layers"]


def test_at_every_depth_the_lens_is_a_decoder_of_fewer_sublayers(directory):
    """An independent way: let torch's layers run, and take hold of what goes through them."""
    stored, model = random_stored(directory), load_model(directory).model.double()
    norm_first = stored.info["arguments"]["norm_first"]
    trace, states = lens_program(stored, SRC, TGT, breaks=False), []
    hooks = []
    for layer in model.decoder.layers:
        norms = (layer.self_attention_norm, layer.cross_attention_norm, layer.feed_forward_norm)
        if norm_first:  # what goes into a norm is the stream
            hooks += [norm.register_forward_pre_hook(lambda _, x: states.append(x[0])) for norm in norms]
        else:
            hooks += [norm.register_forward_hook(lambda _, __, y: states.append(y)) for norm in norms]
    logits(model)
    for hook in hooks:
        hook.remove()
    depths = list(stream_names(len(model.decoder.layers), norm_first))
    # Before the first norm stands the embedding; after the last one of a layer the next one's first.
    names = depths[:-1] if norm_first else depths[1:]
    assert len(states) == len(names)
    with torch.no_grad():
        for name, state in zip(names, states, strict=True):
            rows = state if model.decoder.norm is None else model.decoder.norm(state)
            wanted = model.project(rows)[0].numpy()
            got = trace[f"lens.{name.replace(' ', '_')}.logits"]
            np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-9 * max(1, np.abs(wanted).max()))


def test_the_stream_of_many_sentences_is_that_of_each_program(tmp_path):
    stored = random_model(tmp_path / "model")
    model, names = load_model(tmp_path / "model").model.double(), stream_names(2, norm_first=True)
    ids = [((5, 6, 4), (4, 9, 5, 6)), ((7, 8), (5,)), ((9, 4, 5, 6, 7), (8, 8, 4))]
    stream = stream_of(model, ids, batch_size=2)
    assert stream.states.shape[:2] == (len(names), 8)
    for k, (source, target) in enumerate(ids):
        trace, rows = lens_program(stored, (*source, EOS), (1, *target), breaks=False), stream.sentences == k
        assert stream.words[rows].tolist() == list(target)
        for state, name in zip(stream.states, names.values(), strict=True):
            np.testing.assert_allclose(state[rows], trace[name][:-1], rtol=0, atol=1e-9)
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_a_stream_of_norms_after_the_sublayers_is_refused():
    torch.manual_seed(0)
    with pytest.raises(ValueError, match="normalises after"):
        stream_of(Transformer(12, 11, d_model=16, n_heads=4, n_layers=1, d_ff=20, max_len=20, norm_first=False), PAIRS)


def test_chances_are_those_of_the_word_that_the_model_says(tmp_path):
    trace = lens_program(random_model(tmp_path / "model"), SRC, TGT, breaks=False)
    said = trace["logits"].argmax(-1)
    for k, depth in enumerate(stream_names(2, norm_first=True)):
        probabilities = trace[f"lens.{depth.replace(' ', '_')}.probabilities"]
        np.testing.assert_allclose(trace["lens.chances"][k], probabilities[range(len(said)), said], rtol=0, atol=1e-12)
    again = type(trace).from_json(trace.to_json())
    assert again == trace
    assert again.run({"tgt": np.array([1, 4])})["lens.chances"].shape == (len(trace["lens.chances"]), 2)


def test_the_page_reads_each_depth_as_python_does(tmp_path):
    trace = lens_program(random_model(tmp_path / "model"), SRC, TGT, breaks=False)
    request = {"program": json.loads(trace.to_json()), "overrides": {}, "breaks": []}
    (answer,) = ask_engine(programs=[request])["programs"]
    for name, value in trace.values.items():
        if name.startswith("lens."):
            assert_agree(from_engine(answer[name]), value, 1e-10, name)


# ---- the plane ------------------------------------------------------------------------------------------------------


def test_a_plane_keeps_what_lies_in_a_plane():
    draws = np.random.default_rng(0)
    flat = draws.normal(size=(20, 2)) * [5, 2]
    turn = np.linalg.qr(draws.normal(size=(6, 6)))[0][:2]
    rows = flat @ turn + draws.normal(size=6)
    points = planes.plane(rows)
    distances = [np.linalg.norm(x[:, None] - x[None], axis=-1) for x in (rows, points)]
    np.testing.assert_allclose(*distances, rtol=0, atol=1e-10)
    assert planes.kept_in_plane(rows) == pytest.approx(1)
    assert points.var(axis=0)[0] > points.var(axis=0)[1]
    np.testing.assert_allclose(planes.plane(rows[::-1])[::-1], points, rtol=0, atol=1e-10)
    values = np.linalg.eigvalsh(np.cov(draws.normal(size=(30, 5)).T))
    assert 0 < values[-2:].sum() / values.sum() < 1
    with pytest.raises(ValueError, match="two rows"):
        planes.plane(np.ones((1, 3)))


def test_how_much_a_plane_keeps_is_a_share_of_the_variance():
    rows = np.random.default_rng(0).normal(size=(30, 5))
    values = np.linalg.eigvalsh(np.cov(rows.T))
    assert planes.kept_in_plane(rows) == pytest.approx(values[-2:].sum() / values.sum())


def test_neighbours_of_the_same_kind_are_counted():
    rows = np.array([[1.0, 0.1], [1.0, 0.2], [0.1, 1.0], [0.2, 3.0], [1.0, 0.9]])
    kinds = ["a", "a", "b", "b", "b"]
    assert planes.nearest(rows).tolist() == [1, 0, 3, 2, 1]
    found = planes.gathered(rows, kinds)
    assert found.found == pytest.approx(4 / 5)
    draws = np.random.default_rng(0)
    drawn = [planes.gathered(rows, draws.permutation(kinds).tolist()).found for _ in range(4000)]
    assert found.by_chance == pytest.approx(np.mean(drawn), abs=0.02)
    with pytest.raises(ValueError, match="each of two or more rows"):
        planes.gathered(rows, kinds[:-1])


def test_kinds_of_words_are_those_of_the_lexicon():
    english, chinese = planes.kinds_of_words("en"), planes.kinds_of_words("zh")
    assert [english[w] for w in ("Tom", "mice", "chased", "angry")] == list(planes.KINDS)
    assert [chinese[w] for w in ("汤姆", "老鼠", "追逐", "生气")] == list(planes.KINDS)
    assert not {None, "", "the", "not"} & set(english)
    with pytest.raises(ValueError, match="language is 'fr'; it must be en or zh"):
        planes.kinds_of_words("fr")
    rows, words = planes.rows_of(np.arange(8).reshape(4, 2), ["<pad>", "mice", "the", "Tom"], english)
    assert words == ["mice", "Tom"]
    assert rows.tolist() == [[2, 3], [6, 7]]


# ---- the examples ---------------------------------------------------------------------------------------------------


def test_the_stream_of_the_example_says_the_next_words_at_the_end_only():
    trace = examples.logit_lens()
    words = examples.OUTPUT_WORDS
    said = {depth: [words[i] for i in trace[f"{depth}.probabilities"].argmax(-1)]
            for depth in ("embedding", "self_attention", "cross_attention")}  # fmt: skip
    assert said["embedding"][1:] == ["汤姆", "追逐"]  # the table is that of the output, so a word says itself
    assert said["cross_attention"] == ["汤姆", "追逐", "杰瑞"]


def test_the_mean_weight_by_hand():
    trace = examples.weight_on_links().with_breaks(*mistakes.WEIGHT_ON_LINKS)
    assert trace["mean_weight"] == pytest.approx((0.8 + 0.7 + 0.8 + 0.8 + 0.85 + 0.75) / 6)
    (switch,) = mistakes.WEIGHT_ON_LINKS
    broken = trace.broken(switch.name)
    assert broken["mean_weight"] == pytest.approx((0.8 + 0.7 + 0.8 + 0.8 + 0.85 + 0.75) / 8)
    assert checks.CHECKS[switch.caught_by]


def test_the_weights_of_the_trained_model_are_those_that_are_replaced(trained):
    translator, pairs = trained
    (source, target), *_ = ids_of(translator, pairs)
    src, tgt = torch.tensor([[*source, EOS]]), torch.tensor([[1, *target]])
    found = attention_weights(translator.model, src, tgt)[CROSS]
    used = []
    with with_weights(translator.model.get_submodule(CROSS), lambda w: used.append(w) or w), torch.no_grad():
        translator.model(src, tgt)
    torch.testing.assert_close(used[0], found)
