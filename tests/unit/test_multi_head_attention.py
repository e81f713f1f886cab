"""Multi-head attention, in NumPy and in torch: by hand, special cases, the example, the cache, and others' mistakes."""

import itertools
import math

import numpy as np
import pytest
import torch
from agreement import assert_agree
from calls import f
from helpers import fault
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from stepformer import Edit, examples, exercises, leaf, ledger, mistakes, nn, ops, record
from stepformer.checks import CHECKS
from stepformer.params import to_arrays
from stepformer.reference.attention import scaled_dot_product_attention
from stepformer.reference.multi_head_attention import multi_head_attention
from stepformer.trace import Break

PARAMS = examples.MULTI_HEAD_PARAMS
OUTPUT = "multi_head_attention.output"
BOS, TOM, CHASE, JERRY = range(4)
BY, TO = slice(2, 5), slice(5, 8)
CAT, MOUSE, DOG = range(3)


def drawn(n=4, d_model=10, seed=0):
    """Random inputs (n, d_model) and the eight parameters of a layer."""
    rng = np.random.default_rng([seed, n, d_model])
    params = {f"w_{role}.weight": rng.normal(size=(d_model, d_model)) / d_model**0.5 for role in "qkvo"}
    return rng.normal(size=(n, d_model)), params | {f"w_{role}.bias": rng.normal(size=d_model) for role in "qkvo"}


def projected(x, params):
    return [x @ params[f"w_{role}.weight"] + params[f"w_{role}.bias"] for role in "qkv"]


def attend(x, params, n_heads, mask=None):
    return multi_head_attention(x, x, x, params, n_heads, mask)


# ---- what it is -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_heads", [1, 2, 5, 10])
def test_it_is_a_loop_over_heads_each_on_its_block_of_columns(n_heads):
    x, params = drawn()
    d_k = 10 // n_heads
    blocks = [slice(h * d_k, (h + 1) * d_k) for h in range(n_heads)]
    heads = [scaled_dot_product_attention(*(p[:, block] for p in projected(x, params))) for block in blocks]
    merged = np.concatenate([head.output for head in heads], axis=1)
    attended = attend(x, params, n_heads)
    assert_agree(attended.weights, np.stack([head.weights for head in heads]), 1e-12)
    assert_agree(attended.output, merged @ params["w_o.weight"] + params["w_o.bias"], 1e-12)
    parts = [head.output @ params["w_o.weight"][block] for head, block in zip(heads, blocks, strict=True)]
    assert_agree(attended.output, sum(parts) + params["w_o.bias"], 1e-12, "each head writes through its rows of W^O")


def test_one_head_is_plain_attention_between_linear_layers():
    x, params = drawn()
    plain = scaled_dot_product_attention(*projected(x, params))
    one = attend(x, params, 1)
    assert np.array_equal(one.weights[0], plain.weights)
    assert_agree(one.output, plain.output @ params["w_o.weight"] + params["w_o.bias"], 1e-12)


def block_diagonal(blocks):
    n, d = len(blocks), len(blocks[0])
    whole = np.zeros((n * d, n * d))
    for k, block in enumerate(blocks):
        whole[k * d : (k + 1) * d, k * d : (k + 1) * d] = block
    return whole


@given(st.sampled_from([2, 3, 5]), st.integers(0, 50))
def test_splitting_before_projecting_is_the_special_case_of_block_diagonal_weights(n_heads, seed):
    """Each head then sees its slice of the input only, and has h times fewer weights."""
    rng = np.random.default_rng(seed)
    x, params = drawn(4, 30, seed)
    blocks = {role: rng.normal(size=(n_heads, 30 // n_heads, 30 // n_heads)) for role in "qkv"}
    pieces = ops.split_heads(x, n_heads=n_heads)
    biases = {role: params[f"w_{role}.bias"].reshape(n_heads, 1, -1) for role in "qkv"}
    split_first = scaled_dot_product_attention(*(pieces @ blocks[role] + biases[role] for role in "qkv"))
    special = params | {f"w_{role}.weight": block_diagonal(blocks[role]) for role in "qkv"}
    attended = attend(x, special, n_heads)
    assert_agree(attended.weights, split_first.weights, 1e-11)
    output = ops.merge_heads(split_first.output) @ params["w_o.weight"] + params["w_o.bias"]
    assert_agree(attended.output, output, 1e-11)
    assert all(np.count_nonzero(special[f"w_{r}.weight"]) == 30**2 // n_heads == blocks[r].size for r in "qkv")


@pytest.mark.parametrize(("d_model", "expected"), [(10, 440), (512, 1_050_624)])
def test_the_number_of_parameters_does_not_depend_on_the_number_of_heads(d_model, expected):
    for n_heads in (1, 2, d_model // 2, d_model):
        module = nn.MultiHeadAttention(d_model, n_heads)
        assert sum(parameter.numel() for parameter in module.parameters()) == expected


def test_the_number_of_multiplications_does_not_depend_on_the_number_of_heads():
    trace = examples.multi_head_attention()
    heads = ("query_heads", "key_heads", "value_heads")
    one = Break("one", [Edit(name, attributes={"n_heads": 1}) for name in heads], "", "")
    five = Break("five", [Edit(name, attributes={"n_heads": 5}) for name in heads], "", "")
    trace = trace.with_breaks(one, five)
    counts = [ledger.multiplications(t) for t in (trace, trace.broken("one"), trace.broken("five"))]
    assert counts == [4 * 4 * 10 * 10 + 2 * 4 * 4 * 10] * 3


# ---- heads ----------------------------------------------------------------------------------------------------------


@fault("ATT-14")
def test_a_head_is_a_block_of_columns_of_every_token():
    """A bare reshape gives head 0 the first 8 numbers. Merging what was split does not show it: each undoes itself."""
    x = np.arange(24.0).reshape(1, 4, 6)
    expected = np.array([[0.0, 1.0], [6.0, 7.0], [12.0, 13.0], [18.0, 19.0]])
    bare = x.reshape(1, 3, 4, 2)
    for split, merge in (
        (lambda a: ops.split_heads(a, n_heads=3), ops.merge_heads),
        (
            lambda a: nn.multi_head_attention.split_heads(torch.as_tensor(a), 3).numpy(),
            lambda a: nn.multi_head_attention.merge_heads(torch.as_tensor(a)).numpy(),
        ),
    ):
        assert np.array_equal(split(x)[0, 0], expected)
        assert np.array_equal(merge(split(x)), x)
        assert not np.array_equal(split(x), bare)
    assert np.array_equal(bare[0, 0], [[0, 1], [2, 3], [4, 5], [6, 7]])
    assert np.array_equal(bare.reshape(x.shape), x)


@fault("ATT-14")
def test_changing_one_token_changes_one_row_of_every_head():
    """With the bare reshape it would change several rows of one head and none of the others."""
    x, params = drawn()
    changed = x.copy()
    changed[2] += 1.0
    with record() as trace:
        leaves = {name: leaf(name, array, tuple("ab"[: array.ndim])) for name, array in params.items()}
        given_x = leaf("x", x, ("src", "d_model"))
        multi_head_attention(given_x, given_x, given_x, leaves, 2)
    for name in ("query_heads", "key_heads", "value_heads"):
        moved = (trace[name] != trace.run({"x": changed})[name]).any(axis=-1)
        assert moved.tolist() == [[False, False, True, False]] * 2


def test_every_head_is_made_of_all_columns_of_the_input():
    """Not of its own slice: a change in any column of the input reaches the queries of every head."""
    x, params = drawn()
    for column in range(10):
        other = x.copy()
        other[:, column] += 1.0
        before, after = (ops.split_heads(projected(a, params)[0], n_heads=2) for a in (x, other))
        assert (np.abs(after - before).max(axis=(1, 2)) > 0.01).all()


def test_the_same_mask_serves_every_head():
    x, params = drawn()
    mask = ops.causal_mask(x, x)
    attended = attend(x, params, 2, mask)
    assert not attended.weights[:, ~mask].any()
    halves = [[p[:, half] for p in projected(x, params)] for half in (slice(5), slice(5, 10))]
    alone = [scaled_dot_product_attention(*half, mask).weights for half in halves]
    assert_agree(attended.weights, np.stack(alone), 1e-12)


# ---- torch: every mode, and what others got wrong -------------------------------------------------------------------


def modules():
    torch.manual_seed(1)
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    multi = nn.MultiHeadAttention(4, 2, dropout=0.3).double()
    with torch.no_grad():
        multi.w_o.bias.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    return x, multi


@fault("ATT-15")
def test_in_several_heads_it_is_the_width_of_one_head_not_of_the_model():
    """d_model 16 in 4 heads: divided by √4. Divided by √16 the weights would be 0.88 and 0.12."""
    module = nn.MultiHeadAttention(16, 4).double()
    with torch.no_grad():
        for layer in (module.w_q, module.w_k, module.w_v, module.w_o):
            layer.weight.copy_(torch.eye(16))
            layer.bias.zero_()
    query, key = np.zeros((1, 16)), np.zeros((2, 16))
    query[0, 4], key[0, 4] = 8.0, 1.0
    expected = np.array([1 / (1 + math.exp(-4)), 1 / (1 + math.exp(4))])
    params = {name: tensor.numpy().T for name, tensor in module.state_dict().items()}
    assert_agree(multi_head_attention(query, key, key, params, 4).weights[1, 0], expected, 1e-12)
    tensors = [torch.as_tensor(x) for x in (query, key, key)]
    assert_agree(module(*tensors, need_weights=True).weights[1, 0], expected, 1e-12)


@fault("ATT-21")
def test_the_weights_that_are_returned_have_not_been_through_dropout():
    """With one key the weight is 1; after dropout of 0.2 it would be 1.25 or 0."""
    torch.manual_seed(0)
    module = nn.MultiHeadAttention(6, 2, dropout=0.2).train()
    x = torch.randn(50, 1, 6)
    attended = module(x, x, x, need_weights=True)
    assert_agree(attended.weights, np.ones((50, 2, 1, 1), dtype=np.float32), 0)
    assert not torch.equal(attended.output, module.eval()(x, x, x).output)


@pytest.mark.parametrize("need_weights", [False, True])
def test_dropout_acts_in_training_only_and_keeps_the_mean(need_weights):
    torch.manual_seed(0)
    module = nn.MultiHeadAttention(6, 2, dropout=0.5)
    x = torch.randn(3, 5, 6)
    quiet = module.eval()(x, x, x, need_weights=need_weights).output
    assert torch.equal(quiet, module(x, x, x, need_weights=need_weights).output)
    module.train()
    many = module(*[x.expand(4000, 3, 5, 6)] * 3, need_weights=need_weights).output
    assert not torch.equal(many[0], many[1])
    assert (many.mean(0) - quiet).abs().max() < 0.05


@fault("MOD-01")
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("grad", [False, True])
def test_in_every_mode_a_query_without_keys_gets_the_bias_of_the_last_layer(need_weights, training, grad):
    """torch.nn.MultiheadAttention gives NaN, zeros or NaN here, depending on need_weights and on grad mode."""
    x, multi = modules()
    multi.train(training)
    mask = torch.zeros(2, 3, 3, dtype=torch.bool)
    with torch.set_grad_enabled(grad):
        attended = multi(x, x, x, mask, need_weights=need_weights)
    assert_agree(attended.output, np.tile([1.0, 2.0, 3.0, 4.0], (2, 3, 1)), 0)
    if need_weights:
        assert_agree(attended.weights, np.zeros((2, 2, 3, 3)), 0)


@fault("MOD-02")
def test_weights_come_for_each_head_and_heads_differ():
    x, multi = modules()
    weights = multi.eval()(x, x, x, need_weights=True).weights
    assert weights.shape == (2, 2, 3, 3)
    assert (weights[:, 0] - weights[:, 1]).abs().max() > 0.01
    assert_agree(weights.sum(-1), np.ones((2, 2, 3)), 1e-12)


@fault("MOD-06")
def test_two_masks_are_joined_without_a_warning():
    """Warnings are errors in these tests; torch warns when a boolean and a float mask meet."""
    tokens = torch.tensor([[1, 2, 0], [3, 0, 0]])
    x, multi = modules()
    output = multi(x, x, x, nn.target_mask(tokens, x, pad_id=0)).output
    assert torch.isfinite(output).all()


@fault("MOD-10")
@pytest.mark.parametrize(("d_model", "n_heads"), [(10, 3), (10, 0), (10, -2), (4, 8)])
def test_a_width_that_heads_do_not_divide_is_refused_at_construction_naming_both(d_model, n_heads):
    with pytest.raises(ValueError, match=f"d_model = {d_model} can not be split into n_heads = {n_heads} equal heads"):
        nn.MultiHeadAttention(d_model, n_heads)


def test_the_reference_refuses_heads_that_do_not_divide_the_width():
    params = {f"w_{r}.weight": np.eye(10) for r in "qkvo"} | {f"w_{r}.bias": np.zeros(10) for r in "qkvo"}
    with pytest.raises(ValueError, match="can not be split into 3 equal heads"):
        multi_head_attention(f(4, 10), f(3, 10), f(3, 10), params, 3)


def test_widths_of_heads_may_be_chosen_and_parameters_have_the_names_of_the_reference():
    module = nn.MultiHeadAttention(10, 3, d_k=5, d_v=7)
    shapes = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    assert shapes == {
        "w_q.weight": (15, 10), "w_q.bias": (15,), "w_k.weight": (15, 10), "w_k.bias": (15,),
        "w_v.weight": (21, 10), "w_v.bias": (21,), "w_o.weight": (10, 21), "w_o.bias": (10,),
    }  # fmt: skip
    assert nn.MultiHeadAttention(10, 3, d_k=5).w_v.out_features == 15
    assert nn.MultiHeadAttention(10, 2).w_v.out_features == 10
    assert module(torch.ones(2, 4, 10), torch.ones(2, 3, 10), torch.ones(2, 3, 10)).output.shape == (2, 4, 10)
    assert sorted(nn.AdditiveAttention(2, 3, 5).state_dict()) == ["v", "w_key", "w_query"]


def test_without_need_weights_none_are_returned_and_the_output_is_the_same():
    x, multi = modules()
    multi.eval()
    a, b = multi(x, x, x), multi(x, x, x, need_weights=True)
    assert a.weights is None
    assert_agree(a.output, b.output.detach().numpy(), 1e-14)


@fault("MOD-05")
def test_a_padding_mask_must_be_boolean_and_then_hides_the_padding_in_every_head():
    """torch takes a float mask of 0 and 1, adds it, and leaves weight on the padding."""
    x, multi = modules()
    multi.eval()
    mask = nn.padding_mask(torch.tensor([[1, 2, 0], [3, 4, 0]]), pad_id=0)
    weights = multi(x, x, x, mask, need_weights=True).weights
    assert not weights[..., 2].any()
    for wrong in (mask.double(), torch.where(mask, 0.0, -torch.inf)):
        with pytest.raises(TypeError, match="mask must be boolean"):
            multi(x, x, x, wrong)
    arrays = to_arrays(multi.state_dict())
    with pytest.raises(TypeError, match="mask must be boolean"):
        multi_head_attention(*[x[0].numpy()] * 3, arrays, 2, mask[0].double().numpy())
    # torch's own module, with the float mask that means the same, agrees with the boolean one.
    own = torch.nn.MultiheadAttention(4, 2, batch_first=True, dtype=torch.float64).eval()
    own.load_state_dict(
        {
            "in_proj_weight": torch.cat([multi.state_dict()[f"w_{r}.weight"] for r in "qkv"]),
            "in_proj_bias": torch.cat([multi.state_dict()[f"w_{r}.bias"] for r in "qkv"]),
            "out_proj.weight": multi.w_o.weight,
            "out_proj.bias": multi.w_o.bias,
        }
    )
    added = torch.where(mask[:, 0], 0.0, -torch.inf).double()
    theirs = own(x, x, x, key_padding_mask=added, average_attn_weights=False)[1]
    assert_agree(weights, theirs.detach().numpy(), 1e-12)
    leaking = own(x, x, x, key_padding_mask=mask[:, 0].double(), average_attn_weights=False)[1]
    assert leaking[..., 2].min() > 0.05


# ---- the cache ------------------------------------------------------------------------------------------------------


def layer(d_model=10, n_heads=2, **options):
    torch.manual_seed(3)
    return nn.MultiHeadAttention(d_model, n_heads, **options).double().eval()


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("leading", [(), (2,), (3, 2)])
@pytest.mark.parametrize("widths", [{}, {"d_k": 5, "d_v": 7}])
def test_token_by_token_with_a_cache_is_one_pass_with_a_causal_mask(need_weights, leading, widths):
    multi = layer(10, 2, **widths)
    x = torch.randn(*leading, 6, 10, dtype=torch.float64)
    whole = multi(x, x, x, nn.causal_mask(x, x), need_weights=True)
    cache = None
    for t in range(6):
        new, cache = multi.step(x[..., t : t + 1, :], cache, need_weights=need_weights)
        assert_agree(new.output, whole.output[..., t : t + 1, :].detach().numpy(), 1e-12, f"token {t}")
        if need_weights:
            assert_agree(new.weights, whole.weights[..., t : t + 1, : t + 1].detach().numpy(), 1e-12, f"weights {t}")
        else:
            assert new.weights is None
    assert cache.key.shape == (*leading, 2, 6, 5)
    assert cache.value.shape == (*leading, 2, 6, widths.get("d_v", 5))


@fault("ATT-08")
@pytest.mark.parametrize("cuts", [(6,), (1, 5), (4, 2), (2, 1, 3)])
def test_several_tokens_at_once_see_the_past_and_none_of_the_new_ones_that_come_later(cuts):
    """A causal mask aligned at the top left would hide the cached past from the first new tokens."""
    multi = layer()
    x = torch.randn(6, 10, dtype=torch.float64)
    outputs, cache = [], None
    for part in x.split(cuts):
        attended, cache = multi.step(part, cache)
        outputs.append(attended.output)
    assert_agree(torch.cat(outputs), multi(x, x, x, nn.causal_mask(x, x)).output.detach().numpy(), 1e-12)


def test_a_step_leaves_the_cache_it_was_given_as_it_was():
    """Two ways on from one beginning, as a beam search takes them."""
    multi = layer()
    x = torch.randn(3, 10, dtype=torch.float64)
    _, cache = multi.step(x[:1])
    copies = [part.clone() for part in cache]
    first, _ = multi.step(x[1:2], cache)
    other, _ = multi.step(x[2:], cache)
    again, _ = multi.step(x[1:2], cache)
    assert all(torch.equal(part, copy) for part, copy in zip(cache, copies, strict=True))
    assert torch.equal(first.output, again.output)
    assert not torch.equal(first.output, other.output)


def test_the_work_of_a_step_grows_linearly_and_that_of_a_whole_pass_quadratically():
    """Counted, not timed: equal differences for a step, equal second differences for a pass."""
    multi = nn.MultiHeadAttention(10, 2)

    def work(run):
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            run()
        return counter.get_total_flops()

    steps, passes = [], []
    for n in (8, 16, 24, 32):
        x = torch.randn(n + 1, 10)
        _, cache = multi.step(x[:n])
        steps.append(work(lambda x=x, n=n, cache=cache: multi.step(x[n:], cache, need_weights=True)))
        passes.append(work(lambda x=x: multi(x, x, x, nn.causal_mask(x, x), need_weights=True)))
    # Two products with the cache, of 10 columns; a flop counter counts a multiplication and an addition.
    assert np.diff(steps).tolist() == [2 * 2 * 10 * 8] * 3
    assert np.diff(passes, 2).tolist() == [2 * 2 * 10 * 2 * 8 * 8] * 2


@fault("ATT-21")
def test_a_step_drops_out_in_training_only_and_returns_weights_without_it():
    torch.manual_seed(0)
    multi = nn.MultiHeadAttention(6, 2, dropout=0.5)
    x = torch.randn(2000, 1, 6)
    quiet = multi.eval().step(x, need_weights=True)[0]
    assert_agree(quiet.output, multi.step(x)[0].output.detach().numpy(), 1e-5)
    noisy = multi.train().step(x, need_weights=True)[0]
    assert not torch.equal(noisy.output, quiet.output)
    assert_agree(noisy.weights, np.ones((2000, 2, 1, 1), dtype=np.float32), 0)


# ---- the example is as designed -------------------------------------------------------------------------------------


NAMES = {"Tom": CAT, "Jerry": MOUSE, "Spike": DOG}


def test_the_positional_head_looks_back_and_the_syntactic_head_looks_for_partners():
    positional, syntactic = examples.multi_head_attention()["weights"]
    assert positional.argmax(axis=1).tolist() == [BOS, BOS, TOM, CHASE]
    assert positional[[1, 2, 3], [BOS, TOM, CHASE]].min() > 0.9
    assert syntactic[[TOM, JERRY], CHASE].min() > 0.9
    assert np.abs(syntactic[CHASE, [TOM, JERRY]] - 0.5).max() < 0.02


@pytest.mark.parametrize(("subject", "object_"), list(itertools.permutations(NAMES, 2)))
@pytest.mark.parametrize("verb", ["chase", "see"])
def test_together_they_tell_who_does_what_to_whom(subject, verb, object_):
    output = examples.multi_head_attention().run({"src": f"<bos> {subject} {verb} {object_}"})[
        "multi_head_attention.output"
    ]
    assert output[CHASE, BY].argmax() == NAMES[subject]
    assert output[CHASE, TO].argmax() == NAMES[object_]
    for part, name in ((BY, subject), (TO, object_)):
        others = np.delete(output[CHASE, part], NAMES[name])
        assert output[CHASE, part].max() > 1.0
        assert np.abs(others).max() < 0.3
    acts, acted_on = output[[TOM, JERRY], 0], output[[TOM, JERRY], 1]
    assert acts[0] > 1.2
    assert acted_on[1] > 1.2
    assert max(abs(acts[1]), abs(acted_on[0])) < 0.1


def heads_of(sentence):
    return examples.multi_head_attention().run({"src": sentence})["attention.output"][:, CHASE]


def test_neither_head_alone_knows_who_is_chased():
    ours, swapped = heads_of("<bos> Tom chase Jerry"), heads_of("<bos> Jerry chase Tom")
    # The syntactic head does not see the order, not even in the last bits but those of the sum.
    assert_agree(ours[1], swapped[1], 1e-12)
    # The positional head does not see the word that comes after: its weight there is 0.01.
    assert np.abs(ours[0] - heads_of("<bos> Tom chase Spike")[0]).max() < 0.03
    # And the two sentences, and these two, differ in who is chased.
    for other in ("<bos> Jerry chase Tom", "<bos> Tom chase Spike"):
        rows = [
            examples.multi_head_attention().run({"src": s})[OUTPUT][CHASE, TO] for s in ("<bos> Tom chase Jerry", other)
        ]
        assert rows[0].argmax() != rows[1].argmax()


def without(head):
    """The program with the values of one head set to zero."""
    trace = examples.multi_head_attention()
    values = trace["value_heads"].copy()
    values[head] = 0.0
    return trace.run({"value_heads": values})[OUTPUT]


def test_taking_out_either_head_loses_who_is_chased():
    whole, syntactic_only, positional_only = (
        examples.multi_head_attention()[OUTPUT],
        without(0),
        without(1),
    )
    assert whole[CHASE, TO].argmax() == MOUSE
    cat, mouse, _ = syntactic_only[CHASE, TO]
    assert min(cat, mouse) > 1.0
    assert positional_only[CHASE, TO].max() < 0.0


def test_no_set_of_weights_over_these_values_gives_the_row_of_the_verb():
    """Not even weights below zero, or that do not sum to 1: two heads mix two halves of the columns differently."""
    trace = examples.multi_head_attention()
    values, row = trace["projected_value"], trace["merged_heads"][CHASE]
    weights, *_ = np.linalg.lstsq(values.T, row, rcond=None)
    assert np.abs(weights @ values - row).max() > 0.3
    one_head = trace["attention.weights"][0, CHASE] @ values
    assert np.abs(np.linalg.lstsq(values.T, one_head, rcond=None)[0] @ values - one_head).max() < 1e-12


@pytest.mark.parametrize("names", [5, 12, 20])
@pytest.mark.parametrize("seed", [0, 1])
def test_one_head_of_any_width_has_too_few_directions_to_tell_who_is_before_and_who_is_after(names, seed):
    """One head adds up one vector for each name, and three more: <bos>, the verb, and what tells the two places apart.

    (The bias rides along, because the weights sum to 1.)
    Who is before and who is after are 2n − 1 directions. That one head can not reach them does not depend on its
    weights, so random ones may stand for all; the bound is on the rank, not on these numbers.
    """
    rng = np.random.default_rng([names, seed])
    vectors, (bos, verb), places = (rng.normal(size=(n, 4 * names)) for n in (names, 2, 4))
    pairs = list(itertools.product(range(names), repeat=2))
    x = np.array([[bos, vectors[a], verb, vectors[b]] for a, b in pairs]) + places
    _, params = drawn(1, 4 * names, seed)
    wanted = np.array([np.concatenate([vectors[a], vectors[b]]) for a, b in pairs])
    one, two = (np.linalg.matrix_rank(attend(x, params, n_heads).output[:, CHASE]) for n_heads in (1, 2))
    assert np.linalg.matrix_rank(wanted) == 2 * names - 1
    assert one <= names + 3 < 2 * names - 1
    assert two >= 2 * names - 1


@fault("MOD-02")
def test_the_mean_over_the_heads_is_a_picture_of_neither():
    trace = examples.multi_head_attention().with_breaks(*mistakes.MULTI_HEAD)
    averaged = trace.broken("Average the weights over the heads")
    assert_agree(averaged["weights"][0], trace["weights"].mean(axis=0), 1e-12)
    assert np.array_equal(averaged["weights"][0], averaged["weights"][1])
    assert averaged[OUTPUT][CHASE, TO].argmax() == CAT
    assert trace[OUTPUT][CHASE, TO].argmax() == MOUSE


@fault("ATT-14", "ATT-15")
@pytest.mark.parametrize("mistake", [*mistakes.MULTI_HEAD, *mistakes.SPLIT_HEADS], ids=lambda mistake: mistake.name)
def test_each_mistake_is_caught_by_its_check_and_by_no_other_of_this_chapter(mistake):
    example = examples.split_and_merge if mistake in mistakes.SPLIT_HEADS else examples.multi_head_attention
    trace = example().with_breaks(mistake)
    with pytest.raises(AssertionError):
        CHECKS[mistake.caught_by](trace.broken(mistake.name))
    if mistake in mistakes.MULTI_HEAD:
        for other in mistakes.MULTI_HEAD:
            if other.caught_by != mistake.caught_by and "weights" not in other.caught_by:
                CHECKS[other.caught_by](trace.broken(mistake.name))


def test_the_bias_of_the_keys_changes_scores_and_nothing_after_softmax():
    trace = examples.multi_head_attention()
    other = trace.run({"w_k.bias": PARAMS["w_k.bias"] + np.arange(10.0) / 10})
    assert np.abs(other["scores"] - trace["scores"]).max() > 0.1
    assert_agree(other["weights"], trace["weights"], 1e-12)
    assert_agree(other[OUTPUT], trace[OUTPUT], 1e-12)


def test_a_head_has_no_way_to_say_that_there_is_nothing_it_looks_for():
    """In a sentence without a being the verb's weights still sum to 1."""
    trace = examples.multi_head_attention().run({"src": "<bos> chase see"})
    row = trace["weights"][1, 1]
    assert_agree(row.sum(), np.array(1.0), 1e-12)
    assert row.max() < 0.5


def test_split_before_projecting_blinds_both_heads_of_the_example():
    """The positional head reads columns 6 to 9, which a split would have given to the other head."""
    inside = np.kron(np.diag([1.0, 1.0]), np.ones((5, 5)))
    blocked = {f"w_{r}.weight": PARAMS[f"w_{r}.weight"] * inside for r in "qk"}
    weights = examples.multi_head_attention().run(blocked)["weights"]
    assert_agree(weights[0], np.full((4, 4), 0.25), 1e-12)
    assert_agree(weights[1, 1:], np.full((3, 4), 0.25), 1e-12)


@pytest.mark.parametrize("array", [examples.CAST_VECTORS, examples.PLACES, *PARAMS.values()])
def test_designed_numbers_have_at_most_two_decimals_and_are_no_identity(array):
    assert np.array_equal(array, array.round(2))
    assert array.ndim == 1 or not np.array_equal(array, array.T)


@pytest.mark.parametrize("ids", [[2], [1, 3], [1, 4, 5, 2]])
def test_a_program_rerun_at_another_length_equals_a_fresh_call(ids):
    again = examples.multi_head_attention().run({"src": np.array(ids)})
    x = examples.CAST_VECTORS[ids] + examples.PLACES[: len(ids)]
    fresh = attend(x, PARAMS, 2)
    assert np.array_equal(again[OUTPUT], fresh.output)
    assert np.array_equal(again["weights"], fresh.weights)


def test_a_sentence_longer_than_the_table_of_places_is_refused():
    with pytest.raises(ValueError, match="5 tokens are too many for a table with max_len = 4"):
        examples.multi_head_attention().run({"src": "<bos> Tom chase Jerry chase"})


def test_recording_changes_no_bit():
    x, params = drawn()
    with record() as trace:
        leaves = {name: leaf(name, array, tuple("ab"[: array.ndim])) for name, array in params.items()}
        given_x = leaf("x", x, ("src", "d_model"))
        multi_head_attention(given_x, given_x, given_x, leaves, 2)
    assert np.array_equal(trace[OUTPUT], attend(x, params, 2).output)


def test_inputs_are_not_changed():
    x, params = drawn()
    copies = x.copy(), {name: array.copy() for name, array in params.items()}
    attend(x, params, 2, ops.causal_mask(x, x))
    assert np.array_equal(x, copies[0])
    assert all(np.array_equal(params[name], copies[1][name]) for name in params)


# ---- exercises ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "answer"),
    [("shapes", [8, 4, 4]), ("columns", [64, 127]), ("split", [14, 15]), ("parameters", 440), ("more_heads", 1),
     ("key_bias", 1)],
)  # fmt: skip
def test_the_answers_are_those_worked_out_by_hand(name, answer):
    assert exercises.check(f"multi_head_attention.{name}", answer).right
