"""The real pairs: what cleaning leaves out, and that no sentence is in two splits. Sentences here are made up."""

import re
import sys
import types

import pytest
from helpers import tracked_files

from stepformer.data import hsk


def record(chinese, english, *words, glosses=()):
    meanings = glosses or [""] * len(words)
    return {
        "chinese": chinese,
        "traditional": chinese.replace("头", "頭"),
        "translation": {"en": english},
        "tokens": [{"word": word, "gloss_en": meaning} for word, meaning in zip(words, meanings, strict=True)],
    }


@pytest.fixture
def package(monkeypatch):
    """Stand in for the package, with the records that a test puts in."""
    records = []
    module = types.ModuleType("hsk_sentences_audio")
    module.load_sentences = lambda: records
    monkeypatch.setitem(sys.modules, "hsk_sentences_audio", module)
    return records


def all_pairs(splits):
    return [*splits.train, *splits.dev, *splits.test]


def test_pairs_are_cleaned_and_every_sentence_left_out_is_counted(package):
    package += [
        record("龙在天上飞。", "The dragon flies.", "龙", "在", "天上", "飞"),
        record("龙会飞。", "the dragon flies!", "龙", "会", "飞"),
        record("龙在天上飞！", "A dragon is in the sky.", "龙", "在", "天上", "飞"),
        record("石头说话。", "placeholder-7", "石头", "说话"),
        record("石头听。", "PH", "石头", "听"),
        record("石头睡。", "The 石头 sleeps.", "石头", "睡"),
        record("石头，你好！", "Hello, stone!", "石头", "你好"),
    ]
    splits = hsk.splits()
    assert splits.dropped == {"English or Chinese twice": 2, "no translation": 2, "Chinese in the English": 1}
    assert {(p.source, p.target) for p in all_pairs(splits)} == {
        ("The dragon flies.", "龙在天上飞。"),
        ("Hello, stone!", "石头，你好！"),
    }
    (stone,) = [p for p in all_pairs(hsk.splits("traditional")) if "stone" in p.source]
    assert stone.target == "石頭，你好！"
    assert stone.target_tokens == ("石頭", "，", "你好", "！")
    assert stone.source_tokens == ("Hello", ",", "stone", "!")


def test_splits_are_apart_on_both_sides_and_stay_when_sentences_are_added(package):
    digits = dict(zip("0123456789", "零一二三四五六七八九", strict=True))
    numbers = ["".join(map(digits.get, str(n))) for n in range(1000)]
    package += [record(f"第{zh}条龙。", f"Dragon number {n}.", "第", zh, "条", "龙") for n, zh in enumerate(numbers)]
    splits = hsk.splits()
    keys = [{hsk.key(text) for p in part for text in p[:2]} for part in splits[:3]]
    assert keys[0].isdisjoint(keys[1] | keys[2])
    assert keys[1].isdisjoint(keys[2])
    assert 0.03 < len(splits.dev) / 1000 < 0.07
    assert 0.03 < len(splits.test) / 1000 < 0.07
    del package[::2]
    assert set(hsk.splits().test) == {p for p in splits.test if int(p.source.split()[-1][:-1]) % 2}


def test_glosses_are_pairs_of_meaning_and_word(package):
    meanings = ("stone; rock (loanword)", "to fly; used in 飞快[fei1 kuai4]")
    package += [
        record("石头飞。", "Stones fly.", "石头", "飞", glosses=meanings),
        record("石头！", "Stone!", "石头", glosses=("stone",)),
    ]
    assert list(hsk.glosses()) == [("stone", "石头"), ("rock", "石头"), ("fly", "飞")]
    assert next(hsk.glosses("traditional")) == ("stone", "石頭")


def test_a_missing_package_is_named_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "hsk_sentences_audio", None)
    with pytest.raises(ImportError, match=r"pip install hsk-sentences-audio==1\.0\.0"):
        hsk.splits()


@pytest.mark.parametrize("reader", [hsk.splits, lambda script: list(hsk.glosses(script))])
def test_another_script_is_refused(reader, package):
    with pytest.raises(ValueError, match="script is 'pinyin'"):
        reader("pinyin")


@pytest.fixture(scope="module")
def real():
    pytest.importorskip("hsk_sentences_audio")
    return hsk.splits()


def test_the_real_package_gives_about_four_thousand_pairs(real):
    assert [len(part) for part in real[:3]] == [3787, 208, 231]
    assert real.dropped["no translation"] == 82
    pairs = all_pairs(real)
    assert all("".join(p.target_tokens) == p.target for p in pairs)
    assert len({hsk.key(p.source) for p in pairs}) == len({hsk.key(p.target) for p in pairs}) == len(pairs)
    assert sum("placeholder" in p.source for p in pairs) == 0


def test_no_long_sentence_of_the_package_is_in_the_repository(real):
    long = [p.target for p in all_pairs(real) if len(p.target) >= 12]
    paths = [path for path in tracked_files() if path.suffix in (".py", ".md", ".tsv", ".txt")]
    # A sentence has punctuation only between such runs, and at its end.
    runs = {run for path in paths for run in re.findall("[\u4e00-\u9fff]{6,}", path.read_text(encoding="utf-8"))}
    parts = {part for sentence in long for part in re.findall("[\u4e00-\u9fff]{8,}", sentence)}
    assert len(parts) > 100
    assert parts & runs == set()


def test_whoever_passes_the_sentences_on_finds_licence_and_source():
    assert hsk.LICENCE == "CC BY-SA 4.0"
    assert "https://github.com/no7z/hsk-sentences-audio" in hsk.ATTRIBUTION
