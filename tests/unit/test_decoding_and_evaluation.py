"""What the chapter on decoding and evaluation shows: its tables by brute force, its cache, and its numbers by hand."""

import itertools

import numpy as np
import pytest
import torch
from agreement import assert_agree

from stepformer import examples, exercises, mistakes, plots
from stepformer.decode import beam, beam_tree, greedy
from stepformer.decode.table import TableModel
from stepformer.evaluate import scores
from stepformer.evaluate.alignment import alignment_error, links
from stepformer.ledger import multiplications

WORDS = examples.CHOICE_WORDS
SRC = torch.zeros(1, 1, dtype=torch.long)
GIVEN = {"prefix": (1, WORDS.index("汤姆"))}
TABLES = {name: getattr(examples, name) for name in ("HESITATING", "SHORT_OF_BREATH", "THREE_ROADS")}


def probability(table, words):
    """Of a sentence after 汤姆: the product over its words, <eos> among them."""
    written, product = "汤姆", 1.0
    for word in words:
        product *= table.get(written, table["…"]).get(word, 0.0)
        written += f" {word}"
    return product


def all_sentences(table, longest):
    others = [word for word in WORDS if not word.startswith("<")]
    for n in range(longest):
        for words in itertools.product(others, repeat=n):
            if p := probability(table, (*words, "<eos>")):
                yield words, p


def written(hypothesis):
    return " ".join(WORDS[i] for i in hypothesis.ids)


# ---- searching ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
def test_a_table_says_what_is_written_in_it(name):
    model = TableModel(WORDS, TABLES[name])
    for one in beam(model, SRC, 5, 4, 0.0, n_best=4, **GIVEN)[0]:
        if one.finished:
            assert np.exp(one.score) == pytest.approx(probability(TABLES[name], (*written(one).split(), "<eos>")))


@pytest.mark.parametrize("name", TABLES)
def test_a_beam_of_one_is_greedy_search(name):
    model = TableModel(WORDS, TABLES[name])
    (one,), (other,) = beam(model, SRC, 8, 1, **GIVEN)[0], greedy(model, SRC, 8, **GIVEN)
    assert one.ids == other.ids
    assert one.score == pytest.approx(other.score)


def test_greedy_search_takes_the_better_word_and_gets_the_worse_sentence():
    model = TableModel(WORDS, examples.HESITATING)
    first, best = greedy(model, SRC, 8, **GIVEN)[0], beam(model, SRC, 8, 2, **GIVEN)[0][0]
    assert (written(first), np.exp(first.score)) == ("追逐 杰瑞", pytest.approx(0.5 * 0.4 * 0.9))
    assert (written(best), np.exp(best.score)) == ("在 追逐 杰瑞", pytest.approx(0.4 * 0.9 * 0.9 * 0.9))
    assert max(all_sentences(examples.HESITATING, 6), key=lambda x: x[1])[0] == tuple(written(best).split())


def test_the_most_probable_sentence_may_say_nothing():
    model = TableModel(WORDS, examples.SHORT_OF_BREATH)
    plain, penalised = (beam(model, SRC, 6, 2, alpha, **GIVEN)[0][0] for alpha in (0.0, 0.6))
    assert (written(plain), np.exp(plain.score)) == ("", pytest.approx(0.3))
    assert (written(penalised), np.exp(penalised.score)) == ("在 追逐", pytest.approx(0.25))
    assert max(all_sentences(examples.SHORT_OF_BREATH, 5), key=lambda x: x[1])[0] == ()


def test_a_beam_finds_what_it_is_wide_enough_for():
    model = TableModel(WORDS, examples.THREE_ROADS)
    found = {k: beam(model, SRC, 6, k, 0.0, **GIVEN)[0][0] for k in (1, 2, 3, 4)}
    assert {k: written(one) for k, one in found.items()} == {1: "追逐 杰瑞", 2: "追逐 杰瑞", 3: "在 追逐", 4: "在 追逐"}
    assert np.exp([found[2].score, found[3].score]).round(4).tolist() == [0.24, 0.25]


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("name", TABLES)
def test_the_tree_of_a_search_holds_every_beginning_with_its_probability(name, size):
    model = TableModel(WORDS, TABLES[name])
    tree = beam_tree(model, SRC, 5, size, 0.0, n_best=size, **GIVEN)
    begun, kept_to_the_end = [("", True)], set()
    for level in tree.levels(WORDS):
        assert [p for _, _, p, _ in level] == sorted((p for _, _, p, _ in level), reverse=True)
        # What is open, and the finished ones that stay: no more than the beam holds.
        assert 1 <= sum(kept for *_, kept in level) <= size
        before, begun = begun, []
        for word, parent, p, kept in level:
            text, open_before = before[parent]
            assert open_before
            text = f"{text} {word}".strip()
            assert p == pytest.approx(probability(TABLES[name], text.split()))
            begun.append((text, kept and word != "<eos>"))
            if kept and word == "<eos>":
                kept_to_the_end.add(text)
    assert tree.hypotheses == tuple(beam(model, SRC, 5, size, 0.0, n_best=size, **GIVEN)[0])
    assert {f"{written(one)} <eos>".strip() for one in tree.hypotheses if one.finished} <= kept_to_the_end


def test_a_tree_is_drawn_with_its_way():
    levels = [[("在", 0, 0.6, True), ("了", 0, 0.04, False)], [("追逐", 0, 0.5, True)]]
    figure = plots.tree(levels, "汤姆", chosen="在 追逐", title="A search")
    ax = figure.axes[0]
    assert [text.get_text() for text in ax.texts] == ["汤姆", "在  0.60", "了  0.040", "追逐  0.50"]
    assert [line.get_color() == plots.ROLES["target"] for line in ax.get_lines()] == [True, False, True]
    assert repr(figure) == "Figure: A search"
    assert plots.png(figure).startswith(b"\x89PNG")
    for wrong in ([], [[]], [[("在", 1, 0.6, True)]]):
        with pytest.raises(ValueError, match="tree: "):
            plots.tree(wrong, "汤姆")


def test_a_table_refuses_what_is_no_distribution():
    with pytest.raises(ValueError, match=r"after '汤姆' sum to 0\.9; they must to 1"):
        TableModel(WORDS, {"汤姆": {"追逐": 0.9}})
    with pytest.raises(ValueError, match="after '汤姆' comes '猫', which is not in the vocabulary"):
        TableModel(WORDS, {"汤姆": {"猫": 1.0}})


# ---- the cache ------------------------------------------------------------------------------------------------------


def test_a_step_with_a_cache_is_the_last_row_of_a_step_without():
    for n in (2, 4, 7):
        with_cache, without = (examples.writing_step(n, cached) for cached in (True, False))
        for name in ("weights", "output"):
            assert_agree(with_cache[name], without[name][-1:], 1e-12)
    assert examples.cached_step() == examples.writing_step(4, cached=True)
    assert_agree(examples.cached_step()["output"][0], examples.causal_self_attention()["output"][-1], 1e-12)


def test_multiplications_of_a_step():
    """One row against one key and one value for each word; without a cache so many times as there are words."""
    for n in (2, 4, 9):
        row, pair = 10 * (5 + 5 + 7), 5 + 7
        assert multiplications(examples.writing_step(n, cached=True)) == row + n * pair
        assert multiplications(examples.writing_step(n, cached=False)) == n * (row + n * pair)


def test_the_cache_does_not_notice_when_what_was_written_changes():
    step = examples.cached_step()
    changed = step.run({"tgt": "<bos> 杰瑞 追逐 杰瑞"})
    assert (changed["x"] != step["x"]).any()
    assert np.array_equal(changed["output"], step["output"])


def test_the_cache_s_mistakes_look_as_they_are_described():
    step = examples.cached_step().with_breaks(*mistakes.CACHE)
    assert step["weights"].round(2).tolist() == [[0.07, 0.09, 0.76, 0.08]]
    forgotten, not_appended, turned = (step.broken(one.name) for one in mistakes.CACHE)
    assert forgotten["weights"].tolist() == [[1.0]]
    assert not_appended["weights"].shape == (1, 3)
    assert np.array_equal(turned["weights"], step["weights"])
    after, before = turned["self_attention.value"], step["self_attention.value"]
    assert np.array_equal(after[2], before[1])  # 追逐 stands third, 汤姆 second


# ---- evaluation -----------------------------------------------------------------------------------------------------


def test_the_three_translations_and_what_bleu_thinks_of_them():
    found = {name: scores.bleu([text], [examples.REFERENCE]).value for name, text in examples.HYPOTHESES.items()}
    assert found["the roles are swapped"] > found["another way to say it"]
    assert 50 < found["one word is missing"] < 70


def test_the_alignment_program_is_the_library_s_error_rate():
    trace = examples.alignment_error()
    sets = [frozenset(zip(*np.nonzero(x), strict=True)) for x in (trace["links"], trace["sure"], trace["possible"])]
    assert sets[0] == links(examples.LOOKED_AT[:-1])
    assert sets[1] < sets[2]
    error = alignment_error(*([x] for x in sets))
    assert trace["error_rate"] == pytest.approx(error.rate)
    assert error.rate == pytest.approx(1 - (3 + 5) / (5 + 4))
    late = alignment_error([links(examples.LOOKED_AT[1:])], [sets[1]], [sets[2]])
    broken = trace.with_breaks(*mistakes.ALIGNMENT).broken(mistakes.ALIGNMENT[0].name)
    assert broken["error_rate"] == pytest.approx(late.rate) == pytest.approx(2 / 3)
    assert np.array_equal(broken["weights"], examples.LOOKED_AT[1:])


def test_answers_worked_out_by_hand():
    hand = {
        "greedy": [0.18, 0.2916],
        "keeps": [0.36, 0.2],
        "length": [-1.0397],
        "cache": [55, 10],
        "clip": [2, 0.5],
        "bleu": [79.14],
        "tokenizer": 1,
        "confidence": 1,
    }
    for name, answer in hand.items():
        exercise = exercises.find(f"decoding_and_evaluation.{name}")
        assert exercise.check(answer).right, name
