"""Encoder, decoder and the whole model: what must not matter, how they begin, what they refuse, others' mistakes."""

import copy
import re
import warnings

import numpy as np
import pytest
import torch
from agreement import assert_agree
from helpers import fault
from hypothesis import given, settings
from hypothesis import strategies as st
from transformer_cases import (
    D_FF,
    D_MODEL,
    N_HEADS,
    PAD,
    SRC_WORDS,
    TGT_WORDS,
    arrays,
    model,
    program,
    real,
    uneven,
)

from stepformer import Break, Edit, TraceError, nn, record
from stepformer.nn._layers import Dropout
from stepformer.params import from_arrays, load, save
from stepformer.reference import transformer as reference
from stepformer.reference.decoder import decoder_layer
from stepformer.reference.encoder import encoder, encoder_layer

TOLERANCE = 1e-10

MODELS = {
    "post-norm": model(),
    "pre-norm": model(norm_first=True, activation="gelu"),
    "learned": model(positions="learned", max_len=16),
}
every_model = pytest.mark.parametrize("kind", MODELS)


@st.composite
def batches(draw):
    """Source and target of one to three sentences of any lengths, padded at the right."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n_sentences, longest = draw(st.integers(1, 3)), draw(st.integers(1, 7))

    def side(words):
        tokens = rng.integers(1, words, size=(n_sentences, longest))
        for row, length in zip(tokens, rng.integers(1, longest + 1, size=n_sentences), strict=True):
            row[length:] = PAD
        return torch.as_tensor(tokens)

    return side(SRC_WORDS), side(TGT_WORDS)


def logits(kind, src, tgt, numpy=False):
    """The logits of torch, or of the reference."""
    if not numpy:
        return MODELS[kind](src, tgt).detach().numpy()
    options = {"norm_first": kind == "pre-norm", "activation": "gelu" if kind == "pre-norm" else "relu"}
    return reference.transformer(src.numpy(), tgt.numpy(), arrays(MODELS[kind]), N_HEADS, **options)


both_sides = pytest.mark.parametrize("numpy", [False, True], ids=["torch", "numpy"])


# ---- what must not matter -------------------------------------------------------------------------------------------


@pytest.mark.slow
@every_model
@both_sides
@given(batches(), st.integers(1, 3))
@settings(max_examples=20)
def test_more_padding_changes_nothing(kind, numpy, batch, more):
    src, tgt = batch
    padded = [torch.nn.functional.pad(tokens, (0, more), value=PAD) for tokens in batch]
    counts = real(tgt)
    before, after = logits(kind, src, tgt, numpy), logits(kind, *padded, numpy)
    assert_agree(after[:, : tgt.shape[1]][counts], before[counts], TOLERANCE)


@pytest.mark.slow
@every_model
@both_sides
@given(batches(), st.data())
@settings(max_examples=20)
def test_a_later_target_token_changes_no_earlier_row(kind, numpy, batch, data):
    """The leak detector: change one token of the target, and only rows from there on may differ."""
    src, tgt = batch
    changed = data.draw(st.integers(0, tgt.shape[1] - 1))
    other = tgt.clone()
    other[:, changed] = torch.where(tgt[:, changed] == 1, 2, 1)
    before, after = logits(kind, src, tgt, numpy), logits(kind, src, other, numpy)
    assert_agree(after[:, :changed], before[:, :changed], 1e-12)
    assert np.abs(after[:, changed] - before[:, changed]).max() > 1e-6


@pytest.mark.slow
@every_model
@both_sides
@given(batches())
@settings(max_examples=20)
def test_a_sentence_does_not_depend_on_its_neighbours(kind, numpy, batch):
    src, tgt = batch
    together = logits(kind, src, tgt, numpy)
    for row in range(len(src)):
        n_src, n_tgt = real(src[row]).sum(), real(tgt[row]).sum()
        alone = logits(kind, src[row, :n_src], tgt[row, :n_tgt], numpy)
        assert_agree(together[row, :n_tgt], alone, TOLERANCE)


@every_model
@given(batches(), st.data())
@settings(max_examples=20)
def test_decoding_with_a_cache_gives_the_same_rows(kind, batch, data):
    """However the target is cut into pieces, padding included."""
    module = MODELS[kind]
    src, tgt = batch
    memory, mask = module.encode(src)
    whole = module.decode(tgt, memory, mask)
    rest, cache, rows = tgt, None, []
    while rest.shape[1]:
        n = data.draw(st.integers(1, rest.shape[1]))
        output, cache = module.decode(rest[:, :n], memory, mask, cache)
        rows.append(output)
        rest = rest[:, n:]
    assert_agree(torch.cat(rows, dim=1), whole.output.detach().numpy(), TOLERANCE)
    assert torch.equal(cache.mask, whole.cache.mask)
    for mine, theirs in zip(cache.layers, whole.cache.layers, strict=True):
        for k in (0, 1):
            assert_agree(mine[k].key, theirs[k].key.detach().numpy(), TOLERANCE)


def test_a_cache_can_be_reordered_for_a_beam():
    module = MODELS["post-norm"]
    src = torch.tensor([[3, 4, 5], [6, 7, 0], [8, 0, 0]])
    tgt = torch.tensor([[1, 2, 3], [1, 5, 6], [1, 7, 0]])
    rows = torch.tensor([2, 0, 0])
    memory, mask = module.encode(src)
    _, cache = module.decode(tgt[:, :2], memory, mask)
    mine = module.decode(tgt[rows, 2:], memory[rows], mask[rows], cache.select(rows)).output
    theirs = module.decode(tgt[rows], memory[rows], mask[rows]).output[:, 2:]
    assert_agree(mine, theirs.detach().numpy(), TOLERANCE)


def test_a_cache_is_never_changed_by_its_use():
    module = MODELS["post-norm"]
    memory, mask = module.encode(torch.tensor([[3, 4]]))
    _, cache = module.decode(torch.tensor([[1, 2]]), memory, mask)
    first = module.decode(torch.tensor([[3]]), memory, mask, cache).output
    module.decode(torch.tensor([[9]]), memory, mask, cache)
    assert torch.equal(first, module.decode(torch.tensor([[3]]), memory, mask, cache).output)
    assert cache.mask.shape[-1] == 2


def test_the_memory_is_projected_once():
    """With a cache, a step no longer looks at the memory that it is given."""
    module = MODELS["post-norm"]
    memory, mask = module.encode(torch.tensor([[3, 4, 5]]))
    _, cache = module.decode(torch.tensor([[1]]), memory, mask)
    step = torch.tensor([[2]])
    assert torch.equal(*(module.decode(step, x, mask, cache).output for x in (memory, memory + 1.0)))


@both_sides
def test_the_order_of_words_matters_on_both_sides(numpy):
    """Without positions, attention would not see it."""
    src, tgt = torch.tensor([[3, 4, 5]]), torch.tensor([[1, 2, 6]])
    before = logits("post-norm", src, tgt, numpy)
    assert np.abs(logits("post-norm", src.flip(1), tgt, numpy) - before).max() > 0.01
    assert np.abs(logits("post-norm", src, tgt[:, [0, 2, 1]], numpy) - before)[:, 1:].max() > 0.01


# ---- known mistakes -------------------------------------------------------------------------------------------------


@fault("LN-04")
def test_a_norm_over_positions_would_leak_the_future_through_the_decoder():
    trace = program(MODELS["post-norm"], [3, 4, 5], [1, 2, 3, 4, 5])
    norms = [t.name for t in trace.tensors if re.match(r"decoder.*_norm\.(mean|variance)$", t.name)]
    assert len(norms) == 3 * 3 * 2
    trace = trace.with_breaks(Break("over positions", [Edit(n, attributes={"axis": -2}) for n in norms], "", ""))
    other = {"tgt": [1, 2, 3, 9, 5]}
    assert np.array_equal(trace.run(other)["logits"][:3], trace["logits"][:3])
    wrong = trace.broken("over positions")
    assert np.abs(wrong.run(other)["logits"][:3] - wrong["logits"][:3]).max() > 1e-3


def test_without_the_causal_mask_the_program_leaks():
    trace = program(MODELS["post-norm"], [3, 4, 5], [1, 2, 3, 4, 5])
    peeking = Break("no causal mask", [Edit("target_mask", op="copy", inputs=["padding_mask"])], "", "")
    wrong = trace.with_breaks(peeking).broken("no causal mask")
    other = {"tgt": [1, 2, 3, 9, 5]}
    assert np.array_equal(trace.run(other)["logits"][:3], trace["logits"][:3])
    assert np.abs(wrong.run(other)["logits"][:3] - wrong["logits"][:3]).max() > 1e-3


@fault("MOD-01")
@pytest.mark.parametrize("norm_first", [False, True])
def test_a_sentence_of_padding_gives_the_same_finite_rows_in_every_mode(norm_first):
    """torch's layers give NaN, zeros or something else, depending on gradients and mode."""
    module = model(norm_first)
    src, tgt = torch.tensor([[0, 0, 0], [3, 4, 0]]), torch.tensor([[1, 2, 0], [1, 5, 6]])
    expected = module(src, tgt)
    assert expected.isfinite().all()
    expected.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in module.parameters())
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert torch.equal(module(src, tgt), expected)
    layer = nn.EncoderLayer(D_MODEL, N_HEADS, D_FF, dropout=0.0).double()
    x, nothing = torch.randn(1, 3, D_MODEL, dtype=torch.float64), torch.zeros(1, 1, 3, dtype=torch.bool)
    assert_agree(layer.train()(x, nothing), layer.eval()(x, nothing).detach().numpy(), 1e-12)


@fault("MOD-01", "ATT-07")
@pytest.mark.parametrize("norm_first", [False, True])
def test_nan_in_padding_reaches_neither_a_row_that_counts_nor_a_gradient(norm_first):
    layers = {
        "encoder": uneven(nn.EncoderLayer(D_MODEL, N_HEADS, D_FF, norm_first=norm_first)),
        "decoder": uneven(nn.DecoderLayer(D_MODEL, N_HEADS, D_FF, norm_first=norm_first)),
    }
    clean = torch.randn(2, 4, D_MODEL, dtype=torch.float64)
    mask = torch.tensor([[[True, True, False, False]], [[True, True, True, True]]])
    spoilt = clean.clone()
    spoilt[0, 2:] = torch.tensor([[torch.nan], [torch.inf]])
    calls = {"encoder": lambda layer, x: layer(x, mask), "decoder": lambda layer, x: layer(x, x, mask, mask).output}
    for name, layer in layers.items():
        rows, gradients = [], []
        for x in (clean, spoilt):
            output = calls[name](layer, x)[mask.squeeze(1)]
            rows.append(output)
            gradients.append(torch.autograd.grad(output.square().sum(), list(layer.parameters())))
        assert_agree(rows[1], rows[0].detach().numpy(), 1e-12)
        for mine, expected in zip(*gradients, strict=True):
            assert mine.isfinite().all(), name
            assert_agree(mine, expected.numpy(), 1e-9)


@fault("MOD-05", "ATT-11")
@pytest.mark.parametrize("mask", [torch.ones(1, 4), torch.zeros(1, 4), torch.ones(1, 4, dtype=torch.int64)])
def test_a_mask_that_is_not_boolean_is_refused_by_every_layer(mask):
    x = torch.randn(2, 4, D_MODEL)
    encoder_stack, decoder_stack = nn.Encoder(1, D_MODEL, N_HEADS, D_FF), nn.Decoder(1, D_MODEL, N_HEADS, D_FF)
    module = nn.Transformer(SRC_WORDS, TGT_WORDS, D_MODEL, N_HEADS, 1, D_FF)
    for call in (
        lambda: encoder_stack(x, mask),
        lambda: decoder_stack(x, x, mask),
        lambda: decoder_stack(x, x, None, mask),
        lambda: module.decode(torch.ones(2, 3, dtype=torch.int64), x, mask),
        lambda: encoder_layer(x.numpy(), {}, N_HEADS, mask.numpy()),
        lambda: decoder_layer(x.numpy(), x.numpy(), {}, N_HEADS, None, mask.numpy()),
    ):
        with pytest.raises(TypeError, match="mask must be boolean, True = may attend; it is"):
            call()


@fault("MOD-06")
def test_two_boolean_masks_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for norm_first in (False, True):
            module = model(norm_first).train()
            module(torch.tensor([[3, 4, 0]]), torch.tensor([[1, 2, 0]])).sum().backward()
            module.to_torch()


@fault("MOD-08")
def test_no_two_layers_begin_alike():
    """torch's encoder copies its first layer, and all begin with the same numbers."""
    module = nn.Transformer(SRC_WORDS, TGT_WORDS, D_MODEL, N_HEADS, 3, D_FF)
    matrices = [p for name, p in module.named_parameters() if p.ndim > 1]
    for i, a in enumerate(matrices):
        for b in matrices[:i]:
            assert a.shape != b.shape or not torch.equal(a, b)
    for stack in (nn.Encoder(2, D_MODEL, N_HEADS, D_FF), nn.Decoder(2, D_MODEL, N_HEADS, D_FF)):
        first, second = (layer.feed_forward.w_1.weight for layer in stack.layers)
        assert not torch.equal(first, second)
    own = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2)
    assert torch.equal(own.layers[0].linear1.weight, own.layers[1].linear1.weight)


@fault("MOD-10")
@pytest.mark.parametrize("make", [nn.EncoderLayer, nn.DecoderLayer])
def test_a_width_that_the_heads_do_not_divide_is_refused_at_once(make):
    with pytest.raises(ValueError, match="d_model = 10 can not be split into n_heads = 3"):
        make(10, 3, D_FF)


@fault("PE-03")
def test_a_sentence_longer_than_max_len_is_refused_with_both_numbers():
    for positions in ("sinusoidal", "learned"):
        module = model(positions=positions, max_len=4)
        ids = torch.ones(1, 5, dtype=torch.int64)
        module(ids[:, :4], ids[:, :4])
        with pytest.raises(ValueError, match="5 > 4"):
            module.encode(ids)
        memory, mask = module.encode(ids[:, :2])
        _, cache = module.decode(ids[:, :4], memory, mask)
        with pytest.raises(ValueError, match="5 > 4"):
            module.decode(ids[:, :1], memory, mask, cache)
    with pytest.raises(ValueError, match="5 > 4"):
        reference.encode(ids.numpy(), arrays(module), N_HEADS)


@fault("PE-05")
def test_weights_load_where_max_len_is_another():
    short, long = model(max_len=4), model(max_len=8)
    long.load_state_dict(short.state_dict())
    assert not any("table" in name for name in short.state_dict())


@fault("PE-09")
@both_sides
def test_embeddings_are_multiplied_by_the_root_of_d_model_before_positions_are_added(numpy):
    module = MODELS["post-norm"]
    tokens = torch.tensor([3, 4])
    table = module.src_embedding.weight.detach().numpy()
    expected = table[[3, 4]] * 10**0.5 + np.array([[0, 1] * 5, np.sin([1, 1 + np.pi / 2])[[0, 1] * 5]])
    if numpy:
        mine = reference.input_block(tokens.numpy(), arrays(module), "src")
    else:
        mine = module._input(tokens, module.src_embedding, module.src_positions, 0).detach().numpy()
    assert_agree(mine[0], expected[0], 1e-12)
    assert_agree(mine[1, :2], expected[1, :2], 1e-12)


# ---- how a model begins ---------------------------------------------------------------------------------------------


def test_the_first_values_are_xaviers_and_the_generator_decides_them():
    sizes = (500, 300, 64, 8, 2, 256)
    one, same, other = (
        nn.Transformer(*sizes, generator=torch.Generator().manual_seed(seed)).state_dict() for seed in (1, 1, 2)
    )
    for name, tensor in one.items():
        assert torch.equal(tensor, same[name]), name
        if name.endswith("embedding.weight"):
            assert abs(tensor.std().item() - 64**-0.5) < 0.01
        elif tensor.ndim > 1:
            bound = (6 / sum(tensor.shape)) ** 0.5
            assert 0.95 * bound < tensor.abs().max() <= bound, name
            assert abs(tensor.std().item() - bound / 3**0.5) < 0.05 * bound, name
            assert not torch.equal(tensor, other[name])
        else:
            assert torch.equal(tensor, torch.full_like(tensor, float(name.endswith("gain")))), name


def test_making_a_model_sets_no_seed():
    torch.manual_seed(3)
    first = nn.Transformer(5, 5, 4, 1, 1, 4).output.weight
    second = nn.Transformer(5, 5, 4, 1, 1, 4).output.weight
    assert not torch.equal(first, second)


def test_numbers_of_layers():
    module = model()
    assert (len(module.encoder.layers), len(module.decoder.layers)) == (2, 3)
    module = nn.Transformer(5, 5, 4, 1, 2, 4)
    assert (len(module.encoder.layers), len(module.decoder.layers)) == (2, 2)


@pytest.mark.parametrize(
    ("norm_first", "final_norm", "expected"),
    [(False, None, False), (True, None, True), (False, True, True), (True, False, False)],
)
def test_a_final_norm_is_there_when_nothing_else_has_normalised(norm_first, final_norm, expected):
    module = nn.Transformer(5, 5, 4, 1, 1, 4, norm_first=norm_first, final_norm=final_norm)
    assert all((stack.norm is not None) == expected for stack in (module.encoder, module.decoder))
    assert any(name.endswith("coder.norm.gain") for name in module.state_dict()) == expected


def test_one_table_for_source_target_and_output():
    """The paper, section 3.4: 37,000 pieces of words and 512 columns are counted once."""
    three = nn.Transformer(13, 13, D_MODEL, N_HEADS, 1, D_FF)
    one = nn.Transformer(13, 13, D_MODEL, N_HEADS, 1, D_FF, share_embeddings=True, tie_output=True)
    counts = [sum(parameter.numel() for parameter in module.parameters()) for module in (three, one)]
    assert counts[0] - counts[1] == 2 * 13 * D_MODEL
    assert one.src_embedding.weight is one.tgt_embedding.weight is one.output.weight
    one.double()
    assert one.src_embedding.weight is one.output.weight
    assert abs(one.output.weight.std().item() - D_MODEL**-0.5) < 0.05, "an embedding's first values, not a matrix's"
    again = nn.Transformer(13, 13, D_MODEL, N_HEADS, 1, D_FF, share_embeddings=True, tie_output=True).double()
    again.load_state_dict(one.state_dict())
    assert torch.equal(again.eval()(*[torch.tensor([[3, 4]])] * 2), one.eval()(*[torch.tensor([[3, 4]])] * 2))


def test_the_reference_ties_the_output_where_it_has_no_weights():
    module = model(tie_output=True)
    params = arrays(module)
    src, tgt = np.array([3, 4]), np.array([1, 2])
    expected = reference.transformer(src, tgt, params, N_HEADS)
    tied = {name: array for name, array in params.items() if name != "output.weight"}
    assert_agree(reference.transformer(src, tgt, tied, N_HEADS), expected, 1e-12)


def test_dropout_is_random_in_training_and_absent_after():
    module = nn.Transformer(SRC_WORDS, TGT_WORDS, D_MODEL, N_HEADS, 2, D_FF, dropout=0.5)
    src, tgt = torch.tensor([[3, 4, 5]]), torch.tensor([[1, 2]])
    assert not torch.equal(module(src, tgt), module(src, tgt))
    module.eval()
    assert torch.equal(module(src, tgt), module(src, tgt))
    none = nn.Transformer(SRC_WORDS, TGT_WORDS, D_MODEL, N_HEADS, 2, D_FF, dropout=0.0)
    assert torch.equal(none(src, tgt), none(src, tgt))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.7])
def test_dropout_drops_its_share_and_keeps_the_mean(share):
    torch.manual_seed(0)
    x = torch.full((400, 500), 3.0, requires_grad=True)
    dropout = Dropout(share)
    dropped = dropout(x)
    kept = torch.tensor(3.0) / (1 - share)
    assert ((dropped == 0) | (dropped - kept).abs().lt(1e-6)).all()
    assert abs((dropped == 0).double().mean().item() - share) < 0.005
    assert abs(dropped.double().mean().item() - 3.0) < 0.02
    (slope,) = torch.autograd.grad(dropped.sum(), x)
    assert torch.allclose(slope * 3.0, dropped)
    assert dropout.eval()(x) is x
    assert (x == 3.0).all(), "the input is as it was"


def test_dropout_is_independent_from_place_to_place_and_keeps_kinds_and_odd_shapes():
    """Four numbers share one draw of 64 bits: that must not be seen."""
    torch.manual_seed(0)
    zero = (Dropout(0.5)(torch.ones(100_000, 4)) == 0).double()
    assert torch.allclose(torch.corrcoef(zero.T), torch.eye(4, dtype=torch.float64), atol=0.02)
    assert torch.corrcoef(torch.stack([zero[1:, 0], zero[:-1, 3]]))[0, 1].abs() < 0.02
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        x = torch.ones(3, 5, 7, dtype=dtype)
        dropped = Dropout(0.5)(x)
        assert (dropped.dtype, dropped.shape) == (dtype, x.shape)
        assert set(dropped.flatten().tolist()) == {0.0, 2.0}
    assert Dropout(0.5)(torch.ones(0, 3)).shape == (0, 3)
    # A share beyond the fineness of the draw still drops nearly everything, and never divides by zero.
    assert Dropout(0.999999)(torch.ones(1000)).isfinite().all()


def test_dropout_stands_at_every_place_of_the_paper():
    """After the input block, after each sub-layer; and in attention and network, as torch's layers have it."""
    module = nn.Transformer(SRC_WORDS, TGT_WORDS, D_MODEL, N_HEADS, 1, D_FF, dropout=0.25)
    modules = dict(module.named_modules())
    expected = {"dropout", "encoder.layers.0.dropout", "decoder.layers.0.dropout"}
    expected |= {f"{side}.layers.0.feed_forward.dropout" for side in ("encoder", "decoder")}
    assert {name for name, m in modules.items() if isinstance(m, Dropout) and m.share == 0.25} == expected
    attentions = [m for m in modules.values() if isinstance(m, nn.MultiHeadAttention)]
    assert [m.dropout for m in attentions] == [0.25] * 3


def test_parameters_go_to_a_file_and_back(tmp_path):
    module, other = model(), model(generator=torch.Generator().manual_seed(9))
    save(tmp_path / "model", arrays(module), {"n_heads": N_HEADS})
    other.load_state_dict(from_arrays(load(tmp_path / "model")[0], other.state_dict()))
    src, tgt = torch.tensor([[3, 4, 0]]), torch.tensor([[1, 2]])
    assert torch.equal(other(src, tgt), module(src, tgt))


def test_a_model_can_be_copied_and_turned_to_single_precision():
    module = MODELS["post-norm"]
    src, tgt = torch.tensor([[3, 4, 0]]), torch.tensor([[1, 2]])
    single = copy.deepcopy(module).float()(src, tgt)
    assert single.dtype == torch.float32
    assert_agree(single.double(), module(src, tgt).detach().numpy(), 1e-4)


# ---- the reference: names, and what it reads from the parameters -----------------------------------------------------


def test_results_are_named_after_the_parameters_they_come_from():
    trace = program(MODELS["pre-norm"], [3, 4], [1, 2], norm_first=True, activation="gelu")
    names = {tensor.name for tensor in trace.tensors}
    for layer in ("encoder.layers.1", "decoder.layers.2"):
        assert {f"{layer}.self_attention.w_q.weight", f"{layer}.self_attention.projected_query"} <= names
        assert {f"{layer}.feed_forward.w_1.weight", f"{layer}.feed_forward.hidden"} <= names
        assert {f"{layer}.self_attention_norm.gain", f"{layer}.self_attention_norm.normalised"} <= names
        assert f"{layer}.feed_forward_residual" in names
    assert {"src_input.with_positions", "tgt_input.with_positions", "src_mask", "target_mask", "logits"} <= names
    assert {"encoder.norm.output", "decoder.norm.output"} <= names
    assert trace["encoder.norm.output"].shape == (2, D_MODEL)


def test_axes_carry_the_words():
    trace = program(MODELS["post-norm"], [3, 4, 5], [1, 2])
    axes = {tensor.name: tensor.axes for tensor in trace.tensors}
    assert axes["decoder.layers.0.cross_attention.attention.weights"][-2:] == ("tgt", "src")
    assert axes["encoder.layers.0.self_attention.attention.weights"][-2:] == ("src", "src")
    assert axes["logits"] == ("tgt", "tgt_vocabulary")
    assert axes["encoder.layers.0.feed_forward.hidden"] == ("src", "d_ff")
    assert axes["encoder.layers.0.feed_forward_norm.output"] == ("src", "d_model")


def test_labels_of_the_vocabulary_name_the_columns_of_the_logits():
    words = [f"word {i}" for i in range(TGT_WORDS)]
    with record() as trace:
        declared = reference.leaves(arrays(MODELS["post-norm"]), {"tgt_vocabulary": words})
    assert list(declared) == list(arrays(MODELS["post-norm"]))
    assert trace.labels == {"tgt_vocabulary": tuple(words)}


def test_layers_must_be_numbered_without_a_gap():
    params = {name: a for name, a in arrays(MODELS["post-norm"]).items() if not name.startswith("decoder.layers.1.")}
    with pytest.raises(ValueError, match=r"layers \[0, 2\]; they must be numbered 0, 1, 2"):
        reference.transformer(np.array([3]), np.array([1]), params, N_HEADS)
    with pytest.raises(ValueError, match=r"layers \[\]"):
        encoder(np.ones((2, D_MODEL)), {}, N_HEADS)


def test_an_array_that_is_no_leaf_is_refused_in_a_recording():
    params = arrays(MODELS["post-norm"])
    with record(), pytest.raises(TraceError, match="that this recording does not know"):
        reference.transformer(np.array([3]), np.array([1]), params, N_HEADS)


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_heads": 3}, "d_model = 10 can not be split into n_heads = 3 equal heads"),
        ({"n_heads": 0}, "n_heads is 0"),
        ({"d_model": 0}, "d_model is 0; it must be 1 or more"),
        ({"d_ff": 0}, "d_ff is 0"),
        ({"d_ff": -1}, "d_ff is -1"),
        ({"n_layers": 0}, "n_layers is 0"),
        ({"n_encoder_layers": 0}, "n_encoder_layers is 0"),
        ({"n_decoder_layers": -2}, "n_decoder_layers is -2"),
        ({"src_vocab_size": 0}, "src_vocab_size is 0"),
        ({"tgt_vocab_size": -1}, "tgt_vocab_size is -1"),
        ({"max_len": 0}, "max_len is 0"),
        ({"dropout": -0.1}, "dropout is -0.1; it is a share, from 0 to below 1"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"dropout": float("nan")}, "dropout is nan"),
        ({"activation": "tanh"}, "activation is 'tanh'; it must be one of relu, gelu"),
        ({"positions": "rotary"}, "positions are 'rotary'; they must be 'sinusoidal' or 'learned'"),
        ({"pad_id": 11}, "pad_id is 11; it must be an id of both vocabularies, 0 … 10"),
        ({"pad_id": -1}, "pad_id is -1"),
        ({"share_embeddings": True}, "share_embeddings needs one vocabulary; src_vocab_size is 11 and tgt_vocab_size"),
    ],
    ids=str,
)
def test_a_bad_configuration_is_refused_by_name(options, message):
    sizes = {"src_vocab_size": 11, "tgt_vocab_size": 13, "d_model": 10, "n_heads": 2, "n_layers": 1, "d_ff": 14}
    with pytest.raises(ValueError, match=re.escape(message)):
        nn.Transformer(**sizes | options)


@pytest.mark.parametrize("size", [2.0, "2", True, None])
def test_a_size_is_a_whole_number(size):
    with pytest.raises(TypeError, match=re.escape(f"d_ff is {size!r}; it must be a whole number")):
        nn.Transformer(11, 13, 10, 2, 1, size)


def test_odd_sizes_are_fine_where_they_do_not_matter():
    module = uneven(nn.Transformer(7, 5, 9, 3, 1, 5))
    assert module(torch.tensor([[3, 4, 6]]), torch.tensor([[1]])).shape == (1, 1, 5)
    module = uneven(nn.Transformer(1, 1, 1, 1, 1, 1))
    assert module(torch.zeros(1, 1, dtype=torch.int64), torch.zeros(1, 1, dtype=torch.int64)).isfinite().all()


@pytest.mark.parametrize(
    ("src", "tgt", "kind", "message"),
    [
        ([[3, 11]], [[1]], ValueError, "ids go from 3 to 11, but the table has the rows 0 … 10"),
        ([[3]], [[-1]], ValueError, "ids go from -1"),
        ([[3.0]], [[1]], TypeError, "ids, whole numbers"),
        ([[3]], [[1.0]], TypeError, "ids, whole numbers"),
        ([[3], [4]], [[1]], ValueError, r"tgt has shape \(1, 1\) and memory \(2, 1, 10\)"),
        ([3], [[1]], ValueError, r"tgt has shape \(1, 1\) and memory \(1, 10\)"),
    ],
)
def test_tokens_that_do_not_fit_are_refused(src, tgt, kind, message):
    with pytest.raises(kind, match=message):
        MODELS["post-norm"](torch.tensor(src), torch.tensor(tgt))


@pytest.mark.parametrize(
    ("memory", "mask", "message"),
    [
        ((1, 3, 9), None, r"memory has shape \(1, 3, 9\); it must be \(…, n, d_model\) with d_model = 10"),
        ((1, 3, 10), (1, 1, 4), r"mask has shape \(1, 1, 4\); for 2 queries and 3 keys"),
        ((1, 3, 10), (1, 5, 3), r"mask has shape \(1, 5, 3\)"),
        ((1, 3, 10), (3,), r"mask has shape \(3,\)"),
    ],
)
def test_a_memory_or_a_mask_that_does_not_fit_is_refused(memory, mask, message):
    module = MODELS["post-norm"]
    mask = None if mask is None else torch.ones(mask, dtype=torch.bool)
    tgt, memory = torch.tensor([[1, 2]]), torch.ones(memory, dtype=torch.float64)
    with pytest.raises(ValueError, match=message):
        module.decode(tgt, memory, mask)
    numpys = memory.numpy(), arrays(module), N_HEADS, None if mask is None else mask.numpy()
    with pytest.raises(ValueError, match=message.split(";")[0]):
        reference.decode(tgt.numpy(), *numpys)


def test_an_input_of_another_width_is_refused_by_every_layer():
    x = torch.ones(2, 3, 9)
    for call in (
        lambda: nn.EncoderLayer(D_MODEL, N_HEADS, D_FF)(x),
        lambda: nn.DecoderLayer(D_MODEL, N_HEADS, D_FF)(x, torch.ones(2, 3, 10)),
        lambda: nn.EncoderLayer(D_MODEL, N_HEADS, D_FF)(torch.ones(10)),
    ):
        with pytest.raises(ValueError, match=r"x has shape \(.*d_model = 10"):
            call()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_the_reference_refuses_what_is_not_finite_and_counts(bad):
    module = uneven(nn.DecoderLayer(D_MODEL, N_HEADS, D_FF))
    x, memory = np.ones((2, D_MODEL)), np.ones((3, D_MODEL))
    for name, array in (("x", x), ("memory", memory)):
        spoilt = array.copy()
        spoilt[1, 2] = bad
        inputs = {"x": x, "memory": memory} | {name: spoilt}
        with pytest.raises(ValueError, match=rf"{name} is not finite at \(1, 2\)"):
            decoder_layer(*inputs.values(), arrays(module), N_HEADS)
    with pytest.raises(ValueError, match=r"x has shape \(10,\)"):
        encoder_layer(np.ones(10), {}, N_HEADS)


@pytest.mark.parametrize("change", [{"activation": torch.tanh}, {"bias": False}, {"layer_norm_eps": 1e-6}], ids=list)
def test_a_module_of_torch_that_ours_can_not_be_is_refused(change):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that its layer can not take a fast path
        own = torch.nn.Transformer(10, 2, 1, 1, 14, batch_first=True, **change)
    with pytest.raises(ValueError, match="from_torch: ours has biases, eps = 1e-5, the activation relu or gelu"):
        nn.Transformer.from_torch(own, SRC_WORDS, TGT_WORDS)
    own = torch.nn.Transformer(10, 2, 1, 1, 14, batch_first=True)
    own.decoder.norm = None
    with pytest.raises(ValueError, match="final norms True and False"):
        nn.Transformer.from_torch(own, SRC_WORDS, TGT_WORDS)


def test_inputs_and_parameters_are_never_changed():
    module = model()
    src, tgt = torch.tensor([[3, 4, 0]]), torch.tensor([[1, 2, 0]])
    state = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    params = arrays(module)
    before = {name: array.copy() for name, array in params.items()}
    module(src, tgt).sum().backward()
    reference.transformer(src.numpy(), tgt.numpy(), params, N_HEADS)
    assert torch.equal(src, torch.tensor([[3, 4, 0]]))
    assert all(torch.equal(module.state_dict()[name], tensor) for name, tensor in state.items())
    assert all(np.array_equal(params[name], array) for name, array in before.items())
