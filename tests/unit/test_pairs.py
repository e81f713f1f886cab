"""Files of pairs: every line is read, or named with its number and the reason."""

import io
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepformer.data.batches import Batches
from stepformer.data.pairs import REASONS, PairError, PairFile, Report, pair_line, read_pairs, write_pairs
from stepformer.data.text import normalise
from stepformer.data.tokenizer import CharacterTokenizer, WordTokenizer

GOOD = [("Tom runs.", "汤姆跑。"), ("Jerry sleeps.", "杰瑞睡觉。"), ("Tom!", "汤姆！")]

BAD_LINES = [
    (b"Tom\xff\t\xe6\xb1\xa4", "bad encoding", "byte 4, 0xff"),
    ("Tom\t汤".encode("gbk"), "bad encoding", "byte 5"),
    ("Tom\t汤".encode("utf-16"), "bad encoding", "byte 1, 0xff, is not UTF-8. It looks like UTF-16"),
    (b"Tom runs.", "missing column", "'Tom runs.'"),
    (b"", "missing column", "''"),
    (b"Tom  \xe6\xb1\xa4", "missing column", "Tom  汤"),
    (b"Tom\ta\tb", "extra column", "3 columns"),
    (b"Tom\ta\t", "extra column", "3 columns"),
    (b"Tom\t", "empty side", "the target is empty"),
    (b" \x07\t\xe6\xb1\xa4", "empty side", r"the source is empty: ' \x07\t汤'"),
    ("Tom\t\u200b\u3000".encode(), "empty side", "the target is empty"),
    (b"T" * 41 + b"\ta", "over-long", "the source has 41 characters; at most 40 fit"),
    (b"T\t" + b"a" * 41, "over-long", "the target has 41 characters"),
    (b"T" * 1000 + b"\ta", "over-long", "a line of more than 384 bytes"),
    (b"T" * 200_000, "over-long", "a line of more than 384 bytes"),
]


def file_of(*lines: bytes, end: bytes = b"\n") -> io.BytesIO:
    return io.BytesIO(end.join(lines) + end)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize(("line", "reason", "detail"), BAD_LINES)
def test_a_line_that_does_not_fit_stops_reading_with_its_number(line, reason, detail, end):
    pairs = read_pairs(file_of(b"a\tb", line, b"c\td", end=end), max_characters=40)
    assert next(pairs) == ("a", "b")
    with pytest.raises(PairError, match=re.escape(f"input, line 2: {reason}: ")) as error:
        next(pairs)
    assert detail in str(error.value)
    assert error.value.problem[:2] == (2, reason)


def test_on_request_lines_are_skipped_and_counted():
    report = Report(most=4)
    file = file_of(b"a\tb", *(line for line, *_ in BAD_LINES), b"c\td")
    assert list(read_pairs(file, skip=True, max_characters=40, report=report)) == [("a", "b"), ("c", "d")]
    reasons = [reason for _, reason, _ in BAD_LINES]
    assert report.skipped == {reason: reasons.count(reason) for reason in REASONS}
    # The 16-bit line holds a byte that ends a line; its rest is a line of its own, and not lost either.
    assert report.lines == report.pairs + report.skipped.total() == len(BAD_LINES) + 2
    assert [problem.line for problem in report.problems] == [2, 3, 4, 5]


def test_lines_are_counted_where_an_endless_one_was_passed_over():
    report = Report()
    file = io.BytesIO(b"a\tb\n" + b"x" * 300_000 + b"\nc\td\n" + b"y" * 384)
    assert list(read_pairs(file, skip=True, max_characters=40, report=report)) == [("a", "b"), ("c", "d")]
    assert [problem.line for problem in report.problems] == [2, 4]


def test_a_file_is_read_normalised_with_and_without_a_last_line_break(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_bytes('\ufeffＴom\u200b runs .\t 汤姆　跑。\r\n"a"\tb'.encode())
    assert list(read_pairs(path)) == [("Tom runs .", "汤姆 跑。"), ('"a"', "b")]
    path.write_bytes(b"")
    assert list(read_pairs(path)) == []
    with pytest.raises(FileNotFoundError):
        next(read_pairs(tmp_path / "none.tsv"))
    path.write_bytes(b"a\tb\nx\n")
    with pytest.raises(PairError, match=r"pairs\.tsv, line 2"):
        list(read_pairs(path))


@settings(max_examples=40)
@given(st.lists(st.tuples(st.text(), st.text()), max_size=8))
def test_what_is_written_is_read_again(tmp_path_factory, pairs):
    path = tmp_path_factory.getbasetemp() / "written_pairs.tsv"
    written = [tuple(map(normalise, pair)) for pair in pairs]
    if all(map(all, written)):
        write_pairs(pairs, path)
        assert list(read_pairs(path)) == written
    else:
        with pytest.raises(ValueError, match="neither may be empty"):
            write_pairs(pairs, path)


def test_a_pair_is_one_line():
    assert pair_line("Tom\truns.\n", "汤姆\u2028跑。") == "Tom runs.\t汤姆 跑。\n"


TOKENIZERS = WordTokenizer.learn([a for a, _ in GOOD], "en"), CharacterTokenizer.learn([b for _, b in GOOD], "zh")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "pairs.tsv"
    lines = [f"{source}\t{target}\n".encode() for source, target in GOOD]
    path.write_bytes(b"\xef\xbb\xbf" + lines[0] + b"no pair\n" + lines[1] + b"x" * 9000 + b"\n" + lines[2].strip())
    return path


def test_a_file_gives_its_pairs_in_any_order(path):
    with PairFile(path, *TOKENIZERS, skip=True) as pairs:
        assert len(pairs) == 3
        assert pairs.report.skipped == {"missing column": 1, "over-long": 1}
        assert [pairs.text(i) for i in (2, 0, 1, -1)] == [GOOD[2], GOOD[0], GOOD[1], GOOD[2]]
        encoded = [(TOKENIZERS[0].encode(a), TOKENIZERS[1].encode(b)) for a, b in GOOD]
        assert list(pairs) == encoded
        assert pairs.lengths.tolist() == [[len(a), len(b)] for a, b in encoded]
        from_file = [b.src for b in Batches(pairs, batch_size=2, seed=5).epoch(1)]
        from_memory = [b.src for b in Batches(encoded, batch_size=2, seed=5).epoch(1)]
        assert all(map(np.array_equal, from_file, from_memory))
        for wrong in (3, -4):
            with pytest.raises(IndexError, match=f"index is {wrong}; the file has 3 pairs"):
                pairs[wrong]


def test_a_file_of_pairs_is_strict_unless_asked(path):
    with pytest.raises(PairError, match="line 2: missing column"):
        PairFile(path, *TOKENIZERS)


def test_a_file_that_changes_after_it_was_read_is_refused(path):
    with PairFile(path, *TOKENIZERS, skip=True) as pairs:
        before = pairs.sha256
        path.write_bytes(path.read_bytes() + b"\nTom\t\xe6\xb1\xa4")
        with pytest.raises(RuntimeError, match="has changed"):
            pairs[0]
    with PairFile(path, *TOKENIZERS, skip=True) as pairs:
        assert pairs.sha256 != before
        assert len(pairs) == 4
    path.write_bytes(b"")
    with PairFile(path, *TOKENIZERS) as pairs:
        assert len(pairs) == 0
        assert pairs.lengths.shape == (0, 2)
