"""Positions, in NumPy and in torch, against closed forms and against the mistakes of others."""

import math

import numpy as np
import pytest
import torch
from agreement import assert_agree
from calls import f
from helpers import fault
from hypothesis import given, settings
from hypothesis import strategies as st

from stepformer import examples, exercises, nn, ops, record
from stepformer.exercises.positional_encoding import EXERCISES
from stepformer.recording import leaf
from stepformer.reference import positional_encoding as reference
from stepformer.reference.attention import scaled_dot_product_attention


def agree(actual, expected, tol=1e-12):
    assert_agree(actual, np.asarray(expected, dtype=float), tol)


def sinusoids(n, d, base=10000.0):
    return ops.sinusoids(np.zeros((n, d)), base=base)


# ---- the formula --------------------------------------------------------------------------------------------------


@fault("PE-02")
def test_sine_and_cosine_alternate():
    rows = [[0, 1, 0, 1], [0.8414710, 0.5403023, 0.0099998, 0.9999500], [0.9092974, -0.4161468, 0.0199987, 0.9998000]]
    agree(sinusoids(3, 4).round(7), rows)
    agree(nn.SinusoidalPositions(4, 3).double()(torch.zeros(3, 4)).numpy().round(7), rows)
    # Sines then cosines, with wavelengths that end exactly at 2π · 10000, as tensor2tensor has them.
    other = [0.8414710, 0.0001, 0.5403023, 1.0]
    assert np.abs(sinusoids(2, 4)[1] - other).max() > 0.1


@fault("PE-01")
@pytest.mark.parametrize(
    ("d", "position", "row"),
    [
        (1, 1, [0.8414710]),
        (3, 0, [0, 1, 0]),
        (3, 1, [0.8414710, 0.5403023, 0.0021544]),
        (5, 1, [0.8414710, 0.5403023, 0.0251162, 0.9996845, 0.0006310]),
    ],
)
def test_an_odd_width_lacks_the_last_cosine(d, position, row):
    agree(sinusoids(2, d)[position].round(7), row)
    agree(nn.sinusoidal_table(2, d)[position].numpy().round(7), row)
    assert ops.sinusoids_in_blocks(np.zeros((2, d))).shape == (2, d)


def test_blocks_hold_the_same_columns_in_another_order():
    for d in (4, 5):
        order = [*range(0, d, 2), *range(1, d, 2)]
        agree(ops.sinusoids_in_blocks(np.zeros((7, d))), sinusoids(7, d)[:, order])


def test_the_slip_in_the_exponent_doubles_the_number_of_the_column():
    row = ops.sinusoids_exponent_slip(np.zeros((2, 4)))[1]
    agree(row, [math.sin(1), math.cos(1 / 100), math.sin(1e-4), math.cos(1e-6)])


def test_positions_do_not_depend_on_the_words():
    agree(ops.sinusoids(f(2, 5, 6)), sinusoids(5, 6), 0)


@pytest.mark.parametrize("d", [2, 6, 64])
def test_the_wavelengths_grow_geometrically_from_two_pi(d):
    wavelengths = 2 * np.pi * 10000 ** (np.arange(0, d, 2) / d)
    for i, wavelength in enumerate(wavelengths[wavelengths < 1000]):
        angles = sinusoids(1000, d)[:, [2 * i, 2 * i + 1]]
        turned = np.unwrap(np.arctan2(angles[:, 0], angles[:, 1]))
        agree(turned, 2 * np.pi * np.arange(1000) / wavelength, 1e-9)


def rotation(k, d):
    """(d, d): turns a row of sinusoids by k positions."""
    matrix = np.zeros((d, d))
    for i in range(d // 2):
        angle = k / 10000 ** (2 * i / d)
        cosine, sine = math.cos(angle), math.sin(angle)
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[cosine, -sine], [sine, cosine]]
    return matrix


@pytest.mark.parametrize("k", [1, 3, 100])
@pytest.mark.parametrize("d", [2, 6, 64])
def test_one_linear_map_takes_every_position_to_the_one_k_further(k, d):
    table = sinusoids(300, d)
    agree(table[:-k] @ rotation(k, d), table[k:], 1e-11)


def test_the_dot_product_of_two_rows_depends_on_their_distance_only():
    table = sinusoids(200, 64)
    products = table @ table.T
    distances = np.abs(np.subtract.outer(np.arange(200), np.arange(200)))
    expected = np.cos(distances[..., None] / 10000 ** (np.arange(0, 64, 2) / 64)).sum(axis=-1)
    agree(products, expected, 1e-11)
    agree(np.diag(products), np.full(200, 32.0))


# ---- what is added to what ----------------------------------------------------------------------------------------


@fault("PE-09")
def test_embeddings_are_multiplied_by_the_root_of_their_width():
    assert round(float(ops.scale_up(np.ones((1, 512)))[0, 0]), 7) == 22.6274170
    agree(ops.scale_up([[1.0, 2.0, 3.0, 4.0]]), [[2, 4, 6, 8]])


def test_every_sentence_of_a_batch_gets_the_same_positions():
    x = f(3, 5, 6)
    agree(reference.add_positions(x) - x, np.broadcast_to(sinusoids(5, 6), x.shape), 1e-11)
    wrong = ops.add_batch_positions(x) - x
    agree(wrong, np.broadcast_to(sinusoids(3, 6)[:, None], x.shape), 1e-11)


def test_adding_is_concatenating_with_shared_weights():
    draw = np.random.default_rng(0).normal
    x, p, w = draw(size=(3, 6)), sinusoids(3, 6), draw(size=(6, 5))
    agree((x + p) @ w, x @ w + p @ w)
    agree(np.concatenate([x, p], axis=1) @ np.concatenate([w, w]), (x + p) @ w)


@settings(deadline=None, max_examples=30)
@given(st.permutations(range(5)), st.integers(0, 2**32 - 1))
def test_without_positions_attention_moves_its_rows_along_and_with_them_it_does_not(order, seed):
    draw = np.random.default_rng(seed).normal
    x, weights = draw(size=(5, 6)), [draw(size=(6, 4)) for _ in range(3)]

    def output(x):
        return scaled_dot_product_attention(*(x @ w for w in weights)).output

    agree(output(x[order]), output(x)[order])
    if order != sorted(order):
        moved, stayed = output(reference.add_positions(x[order])), output(reference.add_positions(x))[order]
        assert np.abs(moved - stayed).max() > 1e-6


# ---- the table and its end ----------------------------------------------------------------------------------------

TABLES = pytest.mark.parametrize(
    "module",
    [lambda max_len: nn.SinusoidalPositions(6, max_len), lambda max_len: nn.LearnedPositions(max_len, 6)],
    ids=["sinusoidal", "learned"],
)


@fault("PE-03")
@TABLES
def test_a_sentence_as_long_as_the_table_works_and_a_longer_one_says_both_numbers(module):
    positions = module(4)
    assert positions(torch.zeros(2, 4, 6)).shape == (2, 4, 6)
    with pytest.raises(ValueError, match="max_len is 4: 5 > 4"):
        positions(torch.zeros(2, 5, 6))
    with pytest.raises(ValueError, match="5 > 4"):
        positions(torch.zeros(2, 1, 6), start=4)


@fault("PE-03")
def test_a_learned_table_in_numpy_has_the_same_end():
    agree(ops.first_rows(f(4, 6), f(2, 4, 3)), f(4, 6), 0)
    with pytest.raises(ValueError, match="5 tokens are too many for a table with max_len = 4: 5 > 4"):
        reference.add_learned_positions(f(5, 6), {"embedding.weight": f(4, 6)})


def test_first_rows_can_be_changed_without_changing_the_table():
    table = f(4, 6)
    ops.first_rows(table, f(2, 3))[:] = 0
    agree(table, f(4, 6), 0)


@fault("PE-05")
def test_weights_saved_with_one_max_len_load_into_a_module_with_another():
    assert list(nn.SinusoidalPositions(6, 4).state_dict()) == []
    model = torch.nn.Sequential(torch.nn.Linear(6, 6), nn.SinusoidalPositions(6, 4))
    longer = torch.nn.Sequential(torch.nn.Linear(6, 6), nn.SinusoidalPositions(6, 8))
    longer.load_state_dict(model.state_dict(), strict=True)
    assert longer[1](torch.zeros(8, 6)).shape == (8, 6)

    class Saved(torch.nn.Module):
        """The mistake: the same table as a buffer that is saved."""

        def __init__(self, max_len):
            super().__init__()
            self.register_buffer("table", nn.sinusoidal_table(max_len, 6))

    with pytest.raises(RuntimeError, match="size mismatch"):
        Saved(8).load_state_dict(Saved(4).state_dict())


@TABLES
def test_a_token_that_comes_alone_gets_the_row_of_its_place(module):
    positions = module(7)
    x = torch.randn(2, 7, 6, generator=torch.Generator().manual_seed(0))
    steps = torch.cat([positions(x[:, t : t + 1], start=t) for t in range(7)], dim=1)
    assert torch.equal(steps, positions(x))


def test_double_precision_has_all_its_digits_whenever_it_comes():
    exact = sinusoids(300, 10)
    for module in (nn.SinusoidalPositions(10, 300).double(), nn.SinusoidalPositions(10, 300).half().double()):
        assert module.table.dtype == torch.float64
        assert_agree(module.table, exact, 1e-13)
    assert nn.SinusoidalPositions(10, 300).table.dtype == torch.float32


def test_sinusoids_have_nothing_to_learn_and_a_table_has_everything():
    assert sum(p.numel() for p in nn.SinusoidalPositions(64, 512).parameters()) == 0
    assert sum(p.numel() for p in nn.Rotary(64).parameters()) == 0
    assert sum(p.numel() for p in nn.LearnedPositions(512, 64).parameters()) == 512 * 64


def test_rows_that_no_sentence_reaches_get_no_gradient():
    positions = nn.LearnedPositions(7, 6)
    positions(torch.zeros(2, 5, 6)).square().sum().backward()
    gradient = positions.embedding.weight.grad
    assert (gradient[:5] != 0).all()
    assert (gradient[5:] == 0).all()


# ---- rotary positions and linear biases ---------------------------------------------------------------------------


def test_a_pair_turns_by_one_radian_a_position():
    agree(ops.rotate_pairs([[3.0, 4.0], [1.0, 0.0]]), [[3, 4], [math.cos(1), math.sin(1)]])
    turned = ops.rotate_pairs(np.tile([0.0, 0.0, 1.0, 0.0], (3, 1)))
    agree(turned[2], [0, 0, math.cos(2 / 100), math.sin(2 / 100)])


def test_turning_changes_no_length():
    x = f(2, 7, 6)
    agree(np.linalg.norm(ops.rotate_pairs(x), axis=-1), np.linalg.norm(x, axis=-1), 1e-12)


def test_rotary_scores_depend_on_the_distance_only():
    draw = np.random.default_rng(1).normal
    query, key = np.tile(draw(size=6), (50, 1)), np.tile(draw(size=6), (50, 1))
    turned_query, turned_key = reference.rotary(query, key)
    scores = turned_query @ turned_key.T
    agree(scores[1:, 1:], scores[:-1, :-1])
    assert np.abs(scores - scores.T).max() > 0.1  # but not on its absolute value only: it tells left from right


def test_rotary_tells_a_token_that_comes_alone_where_it_stands():
    x = torch.randn(2, 7, 6, generator=torch.Generator().manual_seed(0))
    rotary = nn.Rotary(6)
    steps = torch.cat([rotary(x[:, t : t + 1], start=t) for t in range(7)], dim=1)
    assert_agree(steps, rotary(x), 1e-6)


def test_rotary_in_single_precision_is_exact_far_into_a_text():
    far, x = 1_000_000, torch.ones(1, 2)
    agree(nn.Rotary(2)(x, start=far).double(), [[math.cos(far) - math.sin(far), math.sin(far) + math.cos(far)]], 1e-6)


def test_rotary_needs_pairs_and_its_own_width():
    with pytest.raises(ValueError, match="d_k = 5 is odd"):
        nn.Rotary(5)
    with pytest.raises(ValueError, match="width 5 is odd"):
        reference.rotary(f(3, 5), f(3, 5))
    with pytest.raises(ValueError, match=r"\(3, 4\); its width must be d_k = 6"):
        nn.Rotary(6)(torch.zeros(3, 4))


def test_linear_biases_are_those_of_the_paper_where_a_causal_mask_lets_them_be():
    """Row i of the paper: m · [−(i − 1), …, −2, −1, 0] for the keys 1 … i."""
    bias = ops.distance_bias(np.zeros((5, 1)), np.zeros((5, 1)), slope=0.25)
    for i in range(5):
        agree(bias[i, : i + 1], 0.25 * np.arange(-i, 1))
    agree(bias, bias.T, 0)


def test_linear_biases_of_new_queries_start_at_the_last_keys():
    agree(ops.distance_bias(np.zeros((2, 1)), np.zeros((4, 1)), slope=1.0), [[-2, -1, 0, -1], [-3, -2, -1, 0]])


def test_the_slopes_of_eight_heads_are_halves_down_to_a_256th():
    agree(reference.alibi_slopes(8), [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256])
    agree(reference.alibi_slopes(16)[:2], [2**-0.5, 0.5])
    with pytest.raises(ValueError, match="n_heads is 0"):
        reference.alibi_slopes(0)


def test_linear_biases_are_recorded_and_added_to_the_scaled_scores():
    with record() as trace:
        query, key = leaf("query", f(4, 5), ("tgt", "d_k")), leaf("key", f(4, 5), ("src", "d_k"))
        scores = ops.matmul(query, ops.transpose(key), name="scores")
        reference.alibi(ops.scale(scores, query, name="scaled_scores"), query, key, slope=0.5)
    distance = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    agree(trace["biased_scores"], trace["scaled_scores"] - 0.5 * distance, 1e-12)
    longer = trace.run({"query": f(7, 5)})
    assert longer["distance_bias"].shape == (7, 4)


# ---- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: reference.positional_encoding(x), "x"),
        (lambda x: reference.add_positions(x), "x"),
        (lambda x: reference.add_learned_positions(x, {"embedding.weight": f(4, 6)}), "x"),
        (lambda x: reference.add_learned_positions(f(3, 6), {"embedding.weight": x}), "table"),
        (lambda x: reference.rotary(x, f(3, 6)), "query"),
        (lambda x: reference.rotary(f(3, 6), x), "key"),
        (lambda x: reference.alibi(x, f(3, 6), f(6, 6), 0.5), "scaled_scores"),
    ],
)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_finite_is_refused_by_name_and_place(call, name, bad):
    x = f(3, 6)
    call(x)
    x[1, 2] = bad
    with pytest.raises(ValueError, match=rf"^{name} is not finite at \(1, 2\)"):
        call(x)


def test_a_slope_is_positive():
    with pytest.raises(ValueError, match="slope is 0"):
        nn.distance_bias(torch.zeros(2, 1), torch.zeros(2, 1), 0.0)


# ---- the running example ------------------------------------------------------------------------------------------


def test_with_positions_every_word_finds_the_word_before_it():
    trace = examples.attention_with_positions()
    for sentence in ("Tom chase Jerry", "Jerry chase Tom"):
        weights = trace.run({"src": sentence})["weights"]
        assert weights.argmax(axis=1).tolist() == [0, 0, 1]
        assert (weights[[0, 1, 2], [0, 0, 1]] > 0.8).all()


def test_the_verb_learns_from_its_position_who_chases():
    trace = examples.attention_with_positions()
    cat, mouse = 0, 1
    sentences = "Tom chase Jerry", "Jerry chase Tom"
    tom_first, jerry_first = (trace.run({"src": sentence})["attention.output"][1] for sentence in sentences)
    assert tom_first[cat] > 0.9
    assert abs(tom_first[mouse]) < 0.1
    assert jerry_first[mouse] > 0.9
    assert abs(jerry_first[cat]) < 0.1


def test_without_positions_the_verb_can_not_tell():
    trace = examples.attention_without_positions()
    backwards = trace.run({"src": "Jerry chase Tom"})
    agree(backwards["attention.output"], trace["attention.output"][::-1])
    assert np.abs(trace["weights"] - 1 / 3).max() < 0.05


def test_a_single_pair_comes_round_again_after_six_words():
    """2π is a little more than 6: the first word mistakes the sixth for the one before it."""
    weights = examples.attention_with_positions().run({"src": np.arange(7) % 3 + 1})["weights"]
    assert weights.argmax(axis=1).tolist() == [5, 0, 1, 2, 3, 4, 5]


PROGRAMS = ["attention_without_positions", "attention_with_positions", "sinusoidal_positions", "learned_positions"]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_program_run_at_another_length_is_a_fresh_call_of_the_reference(name, n):
    tokens = np.arange(n) % 3 + 1
    again = examples.EXAMPLES[name]().run({"src": tokens})
    x = examples.WORD_VECTORS[tokens] * 6**0.5
    if name == "learned_positions":
        x = reference.add_learned_positions(x, {"embedding.weight": examples.LEARNED_TABLE})
    elif name != "attention_without_positions":
        x = reference.add_positions(x)
        agree(again["with_positions"], x)
    if name.startswith("attention"):
        weights = examples.WORD_ORDER_PARAMS
        attended = scaled_dot_product_attention(*(x @ weights[f"w_{role}.weight"] for role in "qkv"))
        agree(again["attention.output"], attended.output)
        agree(again["attention.weights"], attended.weights)


def test_a_sentence_longer_than_the_learned_table_is_refused_in_a_program_too():
    with pytest.raises(ValueError, match="6 > 5"):
        examples.learned_positions().run({"src": np.array([1, 2, 3, 1, 2, 3])})


def test_the_rows_of_a_table_of_positions_are_labelled_with_positions():
    trace = examples.attention_with_positions()
    assert trace.axis_labels("positions") == [["0", "1", "2"], examples.PAIR_COLUMNS]
    assert trace.axis_labels("with_positions")[0] == ["Tom", "chase", "Jerry"]


def test_columns_of_learned_positions_are_not_named_as_pairs():
    trace = examples.learned_positions()
    assert trace.axis_labels("with_positions")[1] == trace.axis_labels("position_table")[1] == list("012345")


def test_equal_rotary_distances_have_equal_scores_in_the_example():
    scores = examples.rotary_positions()["scores"]
    agree(scores[1:, 1:], scores[:-1, :-1])
    longer = examples.rotary_positions().run({"query": np.tile([1.5, 0.5], (7, 1)), "key": np.tile([1.0, 1.0], (7, 1))})
    agree(longer["scores"][:4, :3], scores)


def test_example_weights_have_two_decimals_and_are_no_identity():
    params = [*examples.WORD_ORDER_PARAMS.values(), examples.WORD_VECTORS, examples.LEARNED_TABLE]
    for matrix in params:
        agree(matrix, matrix.round(2), 0)
    for name in ("w_q.weight", "w_k.weight"):
        turn = examples.WORD_ORDER_PARAMS[name][:2]
        assert np.abs(turn - turn.T).max() > 1  # a transposed matrix turns the other way
        agree(turn @ turn.T, 9 * np.eye(2), 0.01)


# ---- exercises ----------------------------------------------------------------------------------------------------


def test_a_row_that_is_right_to_two_decimals_is_asked_for_the_third():
    row = exercises.find("positional_encoding.row")
    assert row.check([0.841, 0.540, 0.010, 1.000]).right
    verdict = row.check([0.84, 0.54, 0.01, 1.00])
    assert not verdict.right
    assert "Give three" in verdict.message
    assert "exponent of its own" in row.check([0.841, 0.995, 0.010, 1.000]).message


def test_every_number_has_advice_of_its_own_for_an_answer_that_nobody_expected():
    numbers = [exercise for exercise in EXERCISES if isinstance(exercise, exercises.Number)]
    assert all(exercise.near != exercises.Number.near for exercise in numbers)
    assert len({exercise.near for exercise in numbers}) == len(numbers) == 4


def test_the_answers_are_those_of_closed_forms():
    by_name = {exercise.id.split(".")[1]: exercise for exercise in EXERCISES}
    agree(by_name["row"].answer, [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)])
    assert math.isclose(by_name["wavelength"].answer, 628.3185307179587)
    assert math.isclose(by_name["dot"].answer, math.cos(2) + math.cos(0.02))
    assert by_name["parameters"].answer == [0, 32768]


def test_code_that_forgets_odd_widths_is_told_the_shape_it_fails_on():
    def even_only(x):
        n, d = x.shape
        angles = np.arange(n)[:, None] / 10000 ** (np.arange(0, d, 2) / d)
        table = np.zeros((n, d))
        table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
        return table

    verdict = exercises.check("positional_encoding.write", even_only)
    assert not verdict.right
    assert "(7, 5)" in verdict.message
