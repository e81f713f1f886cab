"""What the chapter on scaling up shows: shared work is that of one, tiles are the whole, masks make the model."""

import itertools

import numpy as np
import pytest
import torch
from agreement import assert_agree
from torch.nn import functional as F

from stepformer import examples, exercises, mistakes

# ---- work that is shared --------------------------------------------------------------------------------------------


def whole_gradient(trace):
    """By torch's autograd, of the mean over all words of half the squared error."""
    x, wanted = (np.vstack([trace[f"worker_{k}.{name}"] for k in (1, 2)]) for name in ("x", "wanted"))
    weight = torch.tensor(trace["weight"], requires_grad=True)
    error = torch.as_tensor(x) @ weight - torch.as_tensor(wanted)
    (0.5 * error.square().sum() / len(x)).backward()
    return weight.grad.numpy()


@pytest.mark.parametrize("sizes", [(3, 1), (1, 3), (2, 2), (5, 2)])
def test_the_gradient_of_the_workers_is_that_of_the_whole_batch_however_it_is_shared(sizes):
    rng = np.random.default_rng(sizes)
    given = {f"worker_{k}.{name}": rng.normal(size=(n, width))
             for k, n in enumerate(sizes, start=1) for name, width in (("x", 5), ("wanted", 2))}  # fmt: skip
    trace = examples.data_parallel().run(given)
    assert_agree(trace["all_reduce.gradient"], whole_gradient(trace), 1e-12)
    assert_agree(trace["difference"], np.zeros((5, 2)), 1e-12)


def test_a_mean_of_means_is_wrong_for_unequal_shares_alone():
    average = mistakes.DATA_PARALLEL[0]
    broken = examples.data_parallel().with_breaks(average).broken(average.name)
    means = [broken[f"worker_{k}.gradient"] for k in (1, 2)]
    assert_agree(broken["all_reduce.gradient"], np.mean(means, axis=0), 1e-12)
    assert np.abs(broken["difference"]).max() > 0.1
    rows = {"x": examples.FOUR_VECTORS, "wanted": np.eye(2)[[0, 1, 0, 1]]}
    equal = {f"worker_{k}.{name}": x[2 * k - 2 : 2 * k] for k in (1, 2) for name, x in rows.items()}
    assert_agree(broken.run(equal)["difference"], np.zeros((5, 2)), 1e-12)


def test_a_feed_forward_network_on_two_devices_is_the_one_of_chapter_02():
    trace, whole = examples.tensor_parallel(), examples.feed_forward()
    assert_agree(trace["all_reduce.output"], whole["feed_forward.output"], 1e-12)
    assert_agree(trace["whole.w_1.weight"], examples.EXPANSION_PARAMS["w_1.weight"], 0)
    (broken,) = (trace.with_breaks(b).broken(b.name) for b in mistakes.TENSOR_PARALLEL)
    assert_agree(broken["difference"], np.tile(examples.EXPANSION_PARAMS["w_2.bias"], (3, 1)), 1e-12)


@pytest.mark.parametrize(("p", "m"), list(itertools.product([1, 2, 3, 5], [1, 2, 4, 8])))
def test_a_pipeline_reads_every_micro_batch_once_each_way_and_waits_as_long_as_it_must(p, m):
    table = examples.pipeline(p, m)
    assert table.shape == (p, 2 * (m + p - 1))
    assert np.isinf(table).sum() == p * 2 * (p - 1)
    assert np.isinf(table).mean() == pytest.approx((p - 1) / (m + p - 1))
    for row in table:
        work = row[np.isfinite(row)]
        assert work.tolist() == [*range(1, m + 1), *range(-m, 0)]
    for k in range(1, m + 1):
        there, back = (np.argwhere(table == sign * k)[:, 1] for sign in (1, -1))
        assert (np.diff(there) == 1).all()
        assert (np.diff(back) == -1).all()
        assert back.min() > there.max()


# ---- attention in tiles ---------------------------------------------------------------------------------------------


def test_tiles_are_attention_over_all_six_words_and_keep_no_row_of_six():
    trace = examples.attention_in_tiles()
    expected = F.scaled_dot_product_attention(
        *map(torch.tensor, (examples.GARDEN_QUERY, examples.GARDEN_KEY, examples.GARDEN_VALUE))
    )
    assert_agree(trace["output"], expected.numpy(), 1e-12)
    assert max(trace[t.name].shape[-1] for t in trace.tensors if t.name.startswith("tile_")) == 4  # d_k
    best = trace["at_once.weights"].argmax(axis=1)
    assert [examples.GARDEN[k] for k in best] == ["chase", "garden"]


@pytest.mark.parametrize("cut", [1, 2, 4, 5])
def test_tiles_may_be_of_any_length(cut):
    key, value = examples.GARDEN_KEY, examples.GARDEN_VALUE
    parts = [slice(0, cut), slice(cut, 5), slice(5, 6)] if cut < 5 else [slice(0, 3), slice(3, 5), slice(5, 6)]
    given = {f"tile_{k}.{name}": x[rows] for k, rows in enumerate(parts, start=1)
             for name, x in (("key", key), ("value", value))}  # fmt: skip
    assert_agree(examples.attention_in_tiles().run(given)["output"], examples.attention_in_tiles()["output"], 1e-12)


@pytest.mark.parametrize("mistake", mistakes.TILES, ids=lambda b: b.name)
def test_a_maximum_that_never_rises_hides_the_mistakes_of_tiles(mistake):
    trace = examples.attention_in_tiles().with_breaks(mistake)
    wrong = np.abs(trace.broken(mistake.name)["difference"]).max(axis=1)
    assert wrong[0] == pytest.approx(0, abs=1e-12)  # 追逐: its largest score comes first
    assert wrong[1] > 0.1


# ---- layers after 2017 ----------------------------------------------------------------------------------------------


def test_the_layers_of_the_players_are_those_of_torch():
    rms = examples.rms_norm()
    expected = F.rms_norm(torch.tensor(rms["x"]), (5,), torch.tensor(rms["gain"]), eps=1e-5)
    assert_agree(rms["rms_norm.output"], expected.numpy(), 1e-12)
    gated = examples.gated_feed_forward()
    x, w_1, w_3, w_2 = (torch.tensor(gated[name]) for name in ("x", "w_1.weight", "w_3.weight", "w_2.weight"))
    assert_agree(gated["feed_forward.output"], ((F.silu(x @ w_1) * (x @ w_3)) @ w_2).numpy(), 1e-12)


def test_each_head_asks_for_what_its_name_says_and_gets_it_from_its_group():
    trace = examples.grouped_queries()
    weights = trace["attention.weights"]
    best = [examples.FOUR_WORDS[k] for k in weights[:, :, 0].argmax(-1).flat]
    assert dict(zip(examples.ASKING_HEADS, best, strict=True)) == {
        "beings": "Tom", "the deed": "chase", "the cat": "Tom", "the mouse": "Jerry"
    }  # fmt: skip
    assert min(weights[0, 1, 0].max(), weights[1].max(-1).min()) > 0.9
    heads = [torch.tensor(trace[f"projected_{role}"]).unflatten(-1, (-1, 2)).transpose(0, 1)
             for role in ("query", "key", "value")]  # fmt: skip
    output = F.scaled_dot_product_attention(*heads, enable_gqa=True).transpose(0, 1).flatten(1)
    assert_agree(trace["merged_groups"], output.numpy(), 1e-12)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_grouped_queries_run_at_other_lengths(n):
    x = np.random.default_rng(n).normal(size=(n, 5))
    trace = examples.grouped_queries().run({"x": x})
    assert trace["attention.weights"].shape == (2, 2, n, n)
    assert_agree(trace["attention.weights"].sum(-1), np.ones((2, 2, n)), 1e-12)


# ---- one half alone -------------------------------------------------------------------------------------------------


def filled(trace, text):
    row = trace.run({"src": text})["probabilities"][text.split().index("<mask>")]
    return examples.GAP_WORDS[row.argmax()]


def test_the_gap_is_filled_by_what_stands_on_both_sides():
    trace = examples.masked_word().with_breaks(*mistakes.ENCODER_ONLY)
    texts = {"Tom <mask> Jerry": "chase", "Tom <mask>": "sleep", "Jerry <mask> Tom": "chase"}
    assert {text: filled(trace, text) for text in texts} == texts
    blind = trace.broken(mistakes.ENCODER_ONLY[0].name)
    assert filled(blind, "Tom <mask> Jerry") == "sleep"
    rows = [blind.run({"src": text})["probabilities"][1] for text in ("Tom <mask> Jerry", "Tom <mask>")]
    assert_agree(*rows, 1e-12)


def test_padding_does_not_fill_the_gap():
    trace = examples.masked_word()
    rows = [trace.run({"src": np.array(ids)})["probabilities"][1] for ids in ([2, 1, 4], [2, 1, 4, 0, 0])]
    assert_agree(*rows, 1e-12)


@pytest.mark.parametrize("words", list(itertools.permutations(["Tom", "chase", "Jerry"])))
def test_a_decoder_alone_writes_the_words_of_its_source_and_stops(words):
    chinese = {"Tom": "汤姆", "chase": "追逐", "Jerry": "杰瑞"}
    trace, text = examples.decoder_only(), [*words, "→"]
    for _ in range(4):
        row = trace.run({"text": " ".join(text)})["probabilities"][-1]
        assert row.max() > 0.9
        text.append(examples.STREAM_WORDS[row.argmax()])
    assert text[4:] == [*(chinese[word] for word in words), "<eos>"]


def test_no_position_of_the_stream_sees_a_later_word():
    trace = examples.decoder_only()
    other = trace.run({"text": "Tom chase Jerry → 汤姆 杰瑞"})
    assert np.array_equal(other["probabilities"][:5], trace["probabilities"][:5])


def test_designed_numbers_have_at_most_two_decimals():
    for make in (examples.data_parallel, examples.attention_in_tiles, examples.gated_feed_forward,
                 examples.grouped_queries, examples.masked_word, examples.decoder_only):  # fmt: skip
        trace = make()
        computed = {step.output for step in trace.steps}
        for k, array in enumerate(trace.arrays):
            if k not in computed and array.dtype.kind == "f":
                assert np.array_equal(array, array.round(2)), trace.tensors[k].name


# ---- the exercises, by hand -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("shares", 3.0),
        ("cut", 1),
        ("bubble", 3 / 11),
        ("zero", 31.40625),
        ("tokens", 20.079),
        ("turned", 2),
        ("cache", 512),
        ("online", 1.5 * 0.36788 + 1),
    ],
)
def test_answers_worked_out_by_hand(name, answer):
    assert exercises.check(f"scaling_up.{name}", answer).right
