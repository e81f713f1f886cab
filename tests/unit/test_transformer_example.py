"""The whole Transformer with designed weights: what it says, why, and how large it is on a page."""

import itertools
import json

import numpy as np
import pytest
import torch
from agreement import assert_agree
from engine import ask_engine, from_engine

from stepformer import examples, mistakes, nn
from stepformer.exercises import transformer as exercises
from stepformer.params import from_arrays
from stepformer.reference.transformer import transformer
from stepformer.widgets import player_html

ENGLISH, CHINESE, PARAMS = examples.ENGLISH_WORDS, examples.CHINESE_WORDS, examples.TRANSFORMER_PARAMS
ENCODER, DECODER = "encoder.layers.0", "decoder.layers.0"
DICTIONARY = {
    "Tom": "汤姆", "Jerry": "杰瑞", "chase": "追逐", "see": "看见", "swim": "游", "pay": "付",
    "bank": "银行", "shore": "河岸", "river": "河", "money": "钱",
}  # fmt: skip
NOUNS, VERBS, PLACES_AND_THINGS = (list(DICTIONARY)[start:end] for start, end in ((0, 2), (2, 6), (6, 10)))
SENTENCES = list(itertools.product(NOUNS, VERBS, NOUNS + PLACES_AND_THINGS))
TRACE = examples.transformer()


def expected(words):
    shore = words[2] == "bank" and words[1] == "swim"
    return [DICTIONARY["shore" if shore and word == "bank" else word] for word in words]


def next_words(words, target):
    run = TRACE.run({"src": " ".join(words), "tgt": " ".join(["<bos>", *target])})
    return run["probabilities"][range(len(target) + 1), [CHINESE.index(word) for word in [*target, "<eos>"]]], run


def test_the_running_example_is_translated_with_clear_probabilities_in_both_directions():
    for sentence in ("Tom chase Jerry", "Jerry chase Tom"):
        words = sentence.split()
        sure, run = next_words(words, expected(words))
        assert sure.min() > 0.9
        weights = run[f"{DECODER}.cross_attention.attention.weights"]
        assert weights[:, [0, 1, 2], [0, 1, 2]].min() > 0.95, "who writes a word looks at it"


@pytest.mark.parametrize("words", SENTENCES, ids=" ".join)
def test_every_sentence_of_its_kind_is_translated_unless_nothing_tells_what_bank_is(words):
    target = expected(words)
    sure, run = next_words(words, target)
    if words[2] == "bank" and words[1] in ("chase", "see"):
        both = run["probabilities"][2, [CHINESE.index("银行"), CHINESE.index("河岸")]]
        assert np.abs(both - 0.5).max() < 0.03
        return
    best = run["probabilities"].argmax(axis=1)
    assert [CHINESE[k] for k in best] == [*target, "<eos>"]
    assert sure.min() > 0.5


def test_bank_is_made_clear_by_the_heads_of_the_encoder():
    for verb, head in (("swim", 0), ("pay", 1)):
        weights = TRACE.run({"src": f"Tom {verb} bank"})[f"{ENCODER}.self_attention.attention.weights"]
        assert weights[head, 2, 1] > 0.9
        assert weights[1 - head, 2, 1] < 0.3


def test_a_noun_looks_for_the_action_before_it_and_every_word_clears_itself_away():
    weights = TRACE[f"{DECODER}.self_attention.attention.weights"]
    assert weights[0].argmax(axis=1).tolist() == [0, 0, 1, 2]
    assert weights[1].argmax(axis=1).tolist() == [0, 1, 2, 3]
    assert weights[0, 3, 2] > 0.7 < weights[1].max(axis=1).min()


def test_its_weights_have_at_most_two_decimals_and_the_sizes_of_the_book():
    for name, array in PARAMS.items():
        assert np.array_equal(array, array.round(2)), name
    assert TRACE["src"].shape == (3,)
    assert TRACE["tgt"].shape == (4,)
    assert PARAMS["src_embedding.weight"].shape == (11, 10)
    assert PARAMS["output.weight"].shape == (10, 13)
    assert PARAMS[f"{ENCODER}.feed_forward.w_1.weight"].shape == (10, 14)
    assert TRACE[f"{ENCODER}.self_attention.query_heads"].shape == (2, 3, 5)


def test_it_is_the_reference_and_its_twin():
    twin = nn.Transformer(11, 13, d_model=10, n_heads=2, n_layers=1, d_ff=14).double().eval()
    twin.load_state_dict(from_arrays(PARAMS, like=twin.state_dict()))
    src, tgt = (torch.tensor(np.array(TRACE[side])) for side in ("src", "tgt"))
    assert_agree(twin(src, tgt), TRACE["logits"], 1e-10)
    assert_agree(transformer(TRACE["src"], TRACE["tgt"], PARAMS, 2), TRACE["logits"], 0)


@pytest.mark.parametrize("n_src", [1, 2, 7])
@pytest.mark.parametrize("n_tgt", [1, 2, 7])
def test_run_at_another_length_it_equals_a_fresh_call(n_src, n_tgt):
    draw = np.random.default_rng([n_src, n_tgt]).integers
    src, tgt = draw(0, 11, n_src), draw(0, 13, n_tgt)
    assert_agree(TRACE.run({"src": src, "tgt": tgt})["logits"], transformer(src, tgt, PARAMS, 2), 0)


def test_javascript_computes_every_step_alike_also_with_each_mistake():
    trace = TRACE.with_breaks(*mistakes.TRANSFORMER)
    runs = [trace, *(trace.broken(mistake.name) for mistake in trace.breaks)]
    answers = ask_engine(programs=[{"program": json.loads(run.to_json())} for run in runs])["programs"]
    for answer, run in zip(answers, runs, strict=True):
        assert "error" not in answer, answer
        for tensor in run.tensors:
            assert_agree(from_engine(answer[tensor.name]), run[tensor.name], 1e-12, tensor.name)


def test_the_whole_player_with_its_readable_tables_weighs_less_than_150_kb():
    page = player_html(TRACE.with_breaks(*mistakes.TRANSFORMER), fold=["encoder", "decoder"])
    assert len(page.encode()) <= 150_000


def test_what_the_mistakes_are_said_to_do():
    trace = TRACE.with_breaks(*mistakes.TRANSFORMER)
    mask, positions, scale, early = (trace.broken(b.name) for b in mistakes.TRANSFORMER)
    assert round(mask["probabilities"][1, CHINESE.index("<eos>")], 2) == 1
    turned = positions.run({"src": "Jerry chase Tom"})
    assert_agree(turned["probabilities"], positions["probabilities"], 1e-12)
    assert (scale["probabilities"].argmax(axis=1) == TRACE["probabilities"].argmax(axis=1)).all()
    weights = np.concatenate([scale[n].ravel() for n in scale.values if n.endswith("attention.weights")])
    assert (np.minimum(weights, 1 - weights) < 0.01).mean() > 0.5
    bank = CHINESE.index("银行")
    paid = [run.run({"src": "Tom pay bank"})["probabilities"][2, bank].round(2) for run in (trace, early)]
    assert paid == [0.96, 0.49]
    assert (early["probabilities"].argmax(axis=1) == TRACE["probabilities"].argmax(axis=1)).all()


def test_answers_of_the_exercises_by_hand():
    assert exercises.ROW.answer == 1
    assert exercises.LARGER.answer == 4 * (10 * 10 + 10) + 10 + 10
    assert exercises.RUNS.answer == [1, 4]
    run = TRACE.run({"src": "Jerry chase Tom"})
    assert [CHINESE[k] for k in run["probabilities"].argmax(axis=1)[:2]] == ["杰瑞", "追逐"]
    assert exercises.DEPENDS.answer == 1
    assert exercises.LEAK.answer == 2
