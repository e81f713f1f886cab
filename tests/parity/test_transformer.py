"""The whole model: the reference equals the torch twin, the twin torch's Transformer, and its program runs again."""

import json
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from agreement import assert_agree
from attention_cases import GRADIENTS, VALUES
from engine import ask_engine, from_engine
from transformer_cases import (
    N_HEADS,
    ORDERS,
    PAD,
    SENTENCES,
    SRC_WORDS,
    TGT_WORDS,
    arrays,
    model,
    program,
    real,
    sentences,
)

from stepformer import Trace, nn
from stepformer.reference import transformer as reference

# ---- the reference and the twin -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SENTENCES)
@pytest.mark.parametrize(("norm_first", "activation"), ORDERS)
def test_the_reference_agrees_with_its_twin(kind, norm_first, activation):
    """Everywhere, also in the rows of padding, which nobody needs."""
    module = model(norm_first, activation)
    src, tgt = sentences(kind)
    mine = reference.transformer(src.numpy(), tgt.numpy(), arrays(module), N_HEADS, PAD, norm_first, activation)
    assert_agree(mine, module(src, tgt), VALUES)


@pytest.mark.parametrize(
    "options",
    [
        {"positions": "learned", "max_len": 6},
        {"final_norm": True},
        {"norm_first": True, "final_norm": False},
        {"tie_output": True},
        {"d_model": 9, "n_heads": 3},
        {"d_model": 4, "n_heads": 4, "d_ff": 1},
        {"n_encoder_layers": 1, "n_decoder_layers": 1},
        {"pad_id": 2},
    ],
    ids=str,
)
def test_the_reference_agrees_with_its_twin_in_every_option(options):
    module = model(**options)
    src, tgt = sentences("ragged")
    heads, pad_id = options.get("n_heads", N_HEADS), options.get("pad_id", PAD)
    norm_first = options.get("norm_first", False)
    mine = reference.transformer(src.numpy(), tgt.numpy(), arrays(module), heads, pad_id, norm_first)
    assert_agree(mine, module(src, tgt), VALUES)


def test_the_three_calls_agree_one_by_one():
    module = model()
    src, tgt = sentences("ragged")
    params = arrays(module)
    encoded, theirs = reference.encode(src.numpy(), params, N_HEADS), module.encode(src)
    assert_agree(encoded.memory, theirs.memory, VALUES)
    assert_agree(encoded.mask, theirs.mask, 0)
    x = reference.decode(tgt.numpy(), encoded.memory, params, N_HEADS, encoded.mask)
    assert_agree(x, module.decode(tgt, *theirs).output, VALUES)
    assert_agree(reference.project(x, params), module(src, tgt), VALUES)


@pytest.mark.parametrize("norm_first", [False, True])
def test_nan_in_the_padding_of_the_memory_does_not_reach_a_logit(norm_first):
    module = model(norm_first)
    src, tgt = sentences("ragged")
    memory, mask = module.encode(src)
    spoilt = torch.where(mask.mT, memory, torch.nan)
    clean = module.decode(tgt, memory, mask).output
    assert_agree(module.decode(tgt, spoilt, mask).output, clean.detach().numpy(), VALUES)
    params = arrays(module)
    mine = reference.decode(tgt.numpy(), spoilt.detach().numpy(), params, N_HEADS, mask.numpy(), PAD, norm_first)
    assert_agree(mine, clean, VALUES)


# ---- the twin and torch's Transformer -------------------------------------------------------------------------------


def through_torch(own, module, src, tgt):
    """The logits when torch's Transformer stands between our embeddings and our output layer."""
    x = module._input(src, module.src_embedding, module.src_positions, 0)
    y = module._input(tgt, module.tgt_embedding, module.tgt_positions, 0)
    n = tgt.shape[-1]
    future = torch.ones(n, n, dtype=torch.bool).triu(1)
    src_padding, tgt_padding = src == PAD, tgt == PAD
    return module.output(own(x, y, tgt_mask=future, src_key_padding_mask=src_padding,
                             tgt_key_padding_mask=tgt_padding, memory_key_padding_mask=src_padding))  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["a batch of one", "length one", "one source token", "ragged", "no padding"])
@pytest.mark.parametrize(("norm_first", "activation"), ORDERS)
@pytest.mark.parametrize("final_norm", [True, False])
def test_the_twin_equals_torchs_transformer(kind, norm_first, activation, final_norm):
    """In values and in the gradient of every parameter. Rows of padding are no one's business."""
    module = model(norm_first, activation, final_norm=final_norm)
    own = module.to_torch()
    src, tgt = sentences(kind)
    outputs = module(src, tgt), through_torch(own, module, src, tgt)
    counts = torch.as_tensor(real(tgt)).unsqueeze(-1)
    mine, theirs = (torch.where(counts, output, 0.0) for output in outputs)
    assert_agree(mine, theirs.detach().numpy(), VALUES)
    factors = torch.linspace(-1, 2, mine.numel(), dtype=torch.float64).reshape(mine.shape)
    for parameter in (*module.parameters(), *own.parameters()):
        parameter.grad = None
    (mine * factors).sum().backward()
    gradients = {name: parameter.grad for name, parameter in module.named_parameters()}
    (theirs * factors).sum().backward()
    mine = nn.to_torch_names({name: gradient for name, gradient in gradients.items() if "coder." in name})
    for name, parameter in own.named_parameters():
        assert_agree(mine[name], parameter.grad.numpy(), GRADIENTS, name)


@pytest.mark.parametrize(("norm_first", "activation"), ORDERS)
def test_torchs_transformer_becomes_ours_and_back(norm_first, activation):
    torch.manual_seed(0)
    shape = dict(d_model=10, nhead=2, num_encoder_layers=2, num_decoder_layers=3, dim_feedforward=14, dropout=0.3)
    with pytest.warns(UserWarning, match="nested") if norm_first else nullcontext():
        own = torch.nn.Transformer(**shape, activation=activation, norm_first=norm_first, batch_first=True)
    own = own.double().eval()
    ours = nn.Transformer.from_torch(own, SRC_WORDS, TGT_WORDS, positions="learned", max_len=9, pad_id=3)
    assert not ours.training
    assert ours.decoder.layers[2].self_attention.dropout == 0.3
    assert ours.pad_id == 3
    again = ours.to_torch()
    for name, tensor in own.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor), name
    src, tgt = sentences("ragged")
    counts = torch.as_tensor(real(tgt)).unsqueeze(-1)
    ours = nn.Transformer.from_torch(own, SRC_WORDS, TGT_WORDS)
    expected = torch.where(counts, through_torch(own, ours, src, tgt), 0.0)
    assert_agree(torch.where(counts, ours(src, tgt), 0.0), expected.detach().numpy(), VALUES)


# ---- the program ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained():
    """A small model after ten steps of gradient descent in torch."""
    torch.manual_seed(0)
    module = model().train()
    src = torch.tensor([[3, 4, 5, 0], [6, 7, 8, 9], [4, 0, 0, 0]])
    tgt = torch.tensor([[1, 4, 5, 6, 2, 0], [1, 7, 8, 9, 10, 2], [1, 5, 2, 0, 0, 0]])
    losses = []
    for _ in range(10):
        logits = module(src, tgt[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD)
        gradients = torch.autograd.grad(loss, list(module.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(module.parameters(), gradients, strict=True):
                parameter -= 0.1 * gradient
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.3
    return module.eval()


@pytest.mark.parametrize("norm_first", [False, True])
def test_the_recorded_program_of_a_trained_model_gives_its_logits(trained, norm_first):
    module = trained if not norm_first else model(norm_first=True)
    trace = program(module, [3, 4, 0], [1, 4, 5], norm_first=norm_first)
    logits = module(torch.tensor([3, 4, 0]), torch.tensor([1, 4, 5]))
    assert_agree(trace["logits"], logits, 1e-9)
    again = Trace.from_json(trace.to_json())
    assert_agree(again["logits"], trace["logits"], 0)


@pytest.mark.parametrize("n_src", [1, 2, 7])
@pytest.mark.parametrize("n_tgt", [1, 2, 7])
def test_the_program_run_again_at_another_length_equals_a_fresh_call(trained, n_src, n_tgt):
    rng = np.random.default_rng([n_src, n_tgt])
    src, tgt = rng.integers(0, SRC_WORDS, n_src), rng.integers(0, TGT_WORDS, n_tgt)
    trace = program(trained, [3, 4, 5], [1, 4])
    fresh = reference.transformer(src, tgt, arrays(trained), N_HEADS)
    assert_agree(trace.run({"src": src, "tgt": tgt})["logits"], fresh, 0)
    assert_agree(fresh, trained(torch.as_tensor(src), torch.as_tensor(tgt)), 1e-9)


def test_what_is_computed_is_the_same_with_recording_on_and_off(trained):
    src, tgt = [3, 4, 5], [1, 4, 5, 6]
    trace = program(trained, src, tgt)
    assert np.array_equal(trace["logits"], reference.transformer(src, tgt, arrays(trained), N_HEADS))


def test_the_browser_computes_every_step_of_it_alike(trained):
    trace = program(trained, [3, 4, 0], [1, 4, 5, 6])
    answer = ask_engine(programs=[{"program": json.loads(trace.to_json())}])["programs"][0]
    assert "error" not in answer, answer
    for tensor in trace.tensors:
        assert_agree(from_engine(answer[tensor.name]), trace[tensor.name], 1e-12, tensor.name)
