"""The rule of normalisation: every line of it, and that there is nothing else."""

import string
import unicodedata

import pytest
from helpers import fault
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stepformer.data.text import RULE, normalise, visible


@pytest.mark.parametrize("clause", RULE, ids=lambda clause: clause.what)
def test_each_line_of_the_rule_holds_for_its_example(clause):
    assert normalise(clause.example) == clause.written


@fault("TOK-01")
@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("，？：Ａ１", "，？：A1"),  # NFKC would make ",?:A1" of it, which the corpus never shows
        ("；！。（）、《》“”…", "；！。（）、《》“”…"),
        ("ｚＺ０９", "zZ09"),
        ("½ ﬁ ①", "½ ﬁ ①"),
        ("a\u3000b", "a b"),
    ],
)
def test_full_width_letters_are_folded_and_punctuation_is_kept(text, written):
    assert normalise(text) == written


@fault("TOK-05")
def test_traditional_stays_traditional_and_simplified_simplified():
    assert normalise("頭头") == "頭头" == unicodedata.normalize("NFKC", "頭头")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("\ufeffTom", "Tom"),
        ("T\u200bo\u2060m", "Tom"),
        ("\u202eTom\u202c", "Tom"),
        ("a\u00adb\ufe0fc\u034fd\u3164", "abcd"),
        ("Tom\x00\x1b[31m", "Tom[31m"),
        ("Tom\ud800", "Tom"),
        (" a \u200b b\r\n", "a b"),
        ("a\u2028b\u00a0c\u0085d", "a b c d"),
        ("dogs’ 他说‘好’。 o’clock O’Brien", "dogs’ 他说‘好’。 o'clock O'Brien"),
        ("e\u200b\u0301", "é"),
        ("", ""),
        ("\n", ""),
        ("👍🏽", "👍🏽"),
    ],
)
def test_what_is_unseen_is_left_out(text, written):
    assert normalise(text) == written


ODD = st.sampled_from("’ \u3000\u200b\u0301Ａ。\tA中\u1160\u2001\u212b")


@given(st.text(st.characters(exclude_categories=()) | ODD))
@example("a’\u200b’b")
@example("\u1e9b\u0323 \u0344")
def test_the_rule_applied_twice_changes_nothing_more(text):
    written = normalise(text)
    assert normalise(written) == written
    assert written == unicodedata.normalize("NFC", written)
    assert "  " not in written
    assert written == written.strip()
    assert {unicodedata.category(c) for c in written}.isdisjoint({"Cc", "Cf", "Cs", "Zl", "Zp"})


@settings(max_examples=40)
@given(st.text(st.sampled_from("ab ，。中文'!")))
def test_ordinary_text_is_not_changed_but_for_spaces(text):
    assert normalise(text) == " ".join(text.split())


def test_of_all_characters_only_these_are_folded():
    plane = [*range(0x3400), *range(0xA000, 0xAC00), *range(0xD7A4, 0x10000)]  # without plain Han and Hangul
    changed = {c for c in map(chr, plane) if normalise(c) not in ("", c)}
    folded = {c for c in changed if unicodedata.normalize("NFC", c) == c}
    assert folded == {chr(ord(c) + 0xFEE0) for c in string.ascii_letters + string.digits}


def test_only_a_text_can_be_normalised():
    with pytest.raises(TypeError, match="this is b'a'"):
        normalise(b"a")


def test_visible_text_cannot_steer_a_terminal():
    assert visible("a\x1b[31m\u202e\n中") == r"a\x1b[31m\u202e\n中"
