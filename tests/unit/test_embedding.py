"""What the chapter on tokens and vectors shows: look-ups, cosines, analogies, the program of the word map."""

import json

import numpy as np
import pytest
from agreement import assert_agree
from helpers import fault

from stepformer import examples, exercises, leaf, mistakes, ops, record, word_map
from stepformer.checks import CHECKS
from stepformer.data import vectors
from stepformer.reference.embedding import embedding, embedding_by_product
from stepformer.widgets import Player

TABLE = vectors.load()


# ---- the examples are as designed -----------------------------------------------------------------------------------


def test_a_look_up_is_a_product_with_one_hot_rows():
    trace = examples.look_up()
    assert np.array_equal(trace["embedding.output"], examples.EMBEDDING_TABLE[[2, 3, 4]])
    assert np.array_equal(trace["embedding.product"], trace["embedding.output"])
    assert trace["one_hot"].shape == (3, 7)
    assert trace["one_hot"].sum(axis=1).tolist() == [1, 1, 1]


def test_by_the_angle_cat_is_like_kitten_and_by_the_dot_product_like_animal():
    trace = examples.cosine_similarity()
    words = examples.COMPARED_WORDS
    products = examples.COMPARED_VECTORS @ examples.COMPARED_VECTORS.T
    for matrix, friend in ((trace["cosine"], "kitten"), (products, "animal")):
        others = np.where(np.eye(5, dtype=bool), -np.inf, matrix)
        assert words[others[words.index("cat")].argmax()] == friend
    assert trace["cosine"][0, 1] > 0.98
    assert trace["cosine"][0, words.index("cheese")] < 0


def test_the_sum_is_nearest_to_king_and_the_rule_makes_it_queen():
    trace = examples.analogy()
    words = examples.ROYAL_WORDS
    cosine = trace["cosine"][0]
    assert [words[i] for i in np.argsort(-cosine)[:2]] == ["king", "queen"]
    assert words[trace["answer"][0].argmax()] == "queen"


@pytest.mark.parametrize(
    ("array", "size"),
    [(examples.EMBEDDING_TABLE, (7, 4)), (examples.COMPARED_VECTORS, (5, 4)), (examples.ROYAL_VECTORS, (6, 5))],
)
def test_designed_numbers_have_at_most_two_decimals_and_sizes_that_differ(array, size):
    assert np.array_equal(array, array.round(2))
    assert array.shape == size


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_program_rerun_with_other_ids_equals_a_fresh_call(n):
    ids = np.arange(n) % 7
    again = examples.look_up().run({"tokens": ids})
    params = {"weight": examples.EMBEDDING_TABLE}
    assert np.array_equal(again["embedding.output"], embedding(ids, params))
    assert np.array_equal(again["embedding.product"], embedding_by_product(ids, params))


def test_recording_changes_no_bit():
    ids, table = np.array([[2, 0], [6, 6]]), examples.EMBEDDING_TABLE
    with record() as trace:
        leaves = leaf("ids", ids, ("sentence", "word")), {"weight": leaf("weight", table, ("vocabulary", "d"))}
        embedding(*leaves)
        embedding_by_product(*leaves)
    assert np.array_equal(trace["embedding.output"], embedding(ids, {"weight": table}))
    assert np.array_equal(trace["embedding.product"], embedding_by_product(ids, {"weight": table}))


# ---- the checks see each kind of error ------------------------------------------------------------------------------


def test_ids_of_another_vocabulary_are_seen_by_name():
    trace = examples.look_up().with_breaks(*mistakes.LOOK_UP).broken("Ids of another vocabulary")
    with pytest.raises(AssertionError, match="Tom gets the row of chase"):
        CHECKS["each_word_gets_its_own_row"](trace)


def test_a_vector_that_is_no_row_is_seen():
    wrong = examples.look_up().run({"embedding.output": np.ones((3, 4))})
    with pytest.raises(AssertionError, match="Tom gets the row of no word"):
        CHECKS["each_word_gets_its_own_row"](wrong)


def test_with_the_words_of_the_question_the_answer_is_king():
    trace = examples.analogy().with_breaks(*mistakes.ANALOGY).broken("Let the words of the question be answers")
    with pytest.raises(AssertionError, match="The answer is king"):
        CHECKS["the_answer_is_not_in_the_question"](trace)


def test_looking_up_in_columns_is_refused_because_all_sizes_differ():
    one_hot, table = examples.look_up()["one_hot"], examples.EMBEDDING_TABLE
    with pytest.raises(ValueError, match=r"matmul: a is \(3, 7\) and b is \(4, 7\)"):
        ops.matmul(one_hot, table.T)
    with pytest.raises(ValueError, match="ids go from 2 to 4, but the table has the rows 0 … 3"):
        ops.embed(np.array([2, 3, 4]), table.T)


# ---- the program of the word map ------------------------------------------------------------------------------------


def asked(trace, text):
    """Run the program of the map for a text such as "king - man + woman"."""
    names = trace.tensors[trace.find("words")].vocabulary
    signs, ids, sign = [], [], 1.0
    for part in text.split():
        if part in "+-":
            sign = {"+": 1.0, "-": -1.0}[part]
        else:
            signs.append(sign)
            ids.append(names.index(part))
            sign = 1.0
    return trace.run({"words": np.array(ids), "signs": np.array([signs])})


@pytest.mark.parametrize("text", ["king", "king - man + woman", "cat + dog", "bread"])
def test_the_map_computes_what_the_table_answers(text):
    trace = word_map.program(TABLE)
    names = trace.tensors[trace.find("words")].vocabulary
    again = asked(trace, text)
    terms = [part for part in text.split() if part not in "+-"]
    query = sum(sign * TABLE[word] for word, sign in zip(terms, again["signs"][0], strict=True))
    expected = dict(TABLE.nearest(query, n=len(TABLE), exclude=()))
    assert_agree(again["candidates"][0], np.array([expected[name] for name in names]), 1e-12)
    place = (query - TABLE.plane.centre) @ TABLE.plane.directions
    assert_agree(again["query.place"][0], place, 1e-12)


def test_on_the_map_words_of_a_kind_lie_together():
    """Every one of these words lies nearer to its own group's middle than to the middle of another group."""
    trace = word_map.program(TABLE)
    names = trace.tensors[trace.find("words")].vocabulary
    groups = {
        "people": ["father", "mother", "son", "daughter", "brother", "sister", "husband", "wife", "boy", "girl"],
        "animals": ["cat", "dog", "mouse", "rabbit", "pig", "sheep", "snake", "monkey"],
        "food": ["bread", "cheese", "soup", "cake", "butter", "sugar", "milk", "coffee", "tea", "beer"],
        "places": ["france", "paris", "germany", "berlin", "italy", "japan", "tokyo", "china", "beijing", "russia"],
    }
    at = {name: trace["coordinates"][i] for i, name in enumerate(names)}
    middle = {group: np.mean([at[word] for word in words], axis=0) for group, words in groups.items()}
    for group, words in groups.items():
        for word in words:
            nearest = min(middle, key=lambda other: np.linalg.norm(at[word] - middle[other]))
            assert nearest == group, word


def test_a_word_that_is_not_allowed_is_no_candidate():
    trace = word_map.program(TABLE)
    allowed = np.ones((1, len(TABLE.plane.words)), dtype=bool)
    allowed[0, 3] = False
    again = trace.run({"allowed": allowed})
    assert again["candidates"][0, 3] == -np.inf
    assert np.array_equal(again["candidates"][allowed], again["cosine"][allowed])


def test_the_map_needs_a_plane():
    with pytest.raises(ValueError, match="has no plane"):
        word_map.program(vectors.Vectors(("a", "b"), np.eye(2)))


@fault("VIZ-12")
@pytest.mark.parametrize("wrong", [None, 3, np.eye(3), {"king": [1.0]}, ["king"], TABLE.table])
def test_what_is_no_table_makes_no_map(wrong):
    with pytest.raises(TypeError, match=r"a table is needed, such as data\.vectors\.load\(\) gives"):
        word_map.show(wrong)


def test_a_map_does_not_start_with_a_word_that_is_not_on_it():
    with pytest.raises(ValueError, match="elephant: not among the first words"):
        word_map.show(TABLE, start="cat - elephant + dog")
    assert json.loads(word_map.show(TABLE, start="cat−dog").payload)["start"] == "cat−dog"


@fault("VIZ-04")
def test_what_the_map_carries_is_plain_json():
    view = word_map.show(TABLE)
    assert json.loads(json.dumps(json.loads(view.payload))) == json.loads(view.payload)
    json.dumps(vectors.for_the_page(TABLE), allow_nan=False)


def test_the_map_carries_its_program_a_fallback_and_a_stable_name():
    view = word_map.show(TABLE, start="cat")
    payload = json.loads(view.payload)
    assert payload["format"] == "stepformer.word_map/1"
    assert payload["start"] == "cat"
    assert payload["total"] == len(TABLE)
    html = view.html()
    assert html.startswith('<stepformer-word-map><script type="application/json">')
    assert "<th>queen</th>" in html
    assert len(html.encode("utf-8")) < 30_000
    bundle, _ = view._repr_mimebundle_()
    assert bundle["text/html"] == html
    assert bundle["text/plain"] == repr(view) == "WordMapView(79 words)"
    assert not isinstance(view, Player)


def test_in_jupyterlab_python_hands_over_the_whole_table_on_request_only():
    view = word_map.show(TABLE)
    sent = []
    view.send = sent.append
    for other in ({"ask": "weights"}, {"ask": ["vectors"]}, {}, "vectors", None):
        view._answer(view, other, [])
    assert sent == []
    view._answer(view, {"ask": "vectors"}, [])
    assert sent == [{"data": "vectors", "content": vectors.for_the_page(TABLE)}]


# ---- exercises ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("widths", [10_000, 512]),
        ("rows_that_learn", 3),
        ("cosine", 0.96),
        ("from_dot_to_cosine", 0.73),
        ("longest_match", 1),
        ("analogy", 1),
        ("one_vector", 1),
    ],
)
def test_the_answers_are_those_worked_out_by_hand(name, answer):
    assert exercises.check(f"embedding.{name}", answer).right
