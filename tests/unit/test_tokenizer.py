"""Tokenizers: the same laws for words, characters and pieces, and the rules of each."""

import itertools
import json
import string
import subprocess
import sys
import unicodedata

import pytest
from helpers import fault
from hypothesis import given, settings
from hypothesis import strategies as st

from stepformer.data import grammar
from stepformer.data.text import normalise
from stepformer.data.tokenizer import (
    BOS,
    EOS,
    PAD,
    SPECIAL,
    UNK,
    BpeTokenizer,
    CharacterTokenizer,
    Coverage,
    Tokenizer,
    VocabularyError,
    WordTokenizer,
    read_vocabulary,
    tokenizer_from_json,
    write_vocabulary,
)

ENGLISH = [
    "Tom chases Jerry.",
    "The cat that chased Jerry doesn't sleep, does it?",
    "It's Tom's dog: a well-known dog (of 3,000.50 dollars)!",
]
CHINESE = [["汤姆", "追逐", "杰瑞", "。"], ["那", "只", "猫", "没有", "睡觉", "，", "对吗", "？"], ["卡拉OK"], ["T恤"]]
CHINESE_TEXTS = ["".join(words) for words in CHINESE]

TOKENIZERS: dict[str, Tokenizer] = {
    "English words": WordTokenizer.learn(ENGLISH, "en"),
    "Chinese words": WordTokenizer.learn(CHINESE, "zh"),
    "English characters": CharacterTokenizer.learn(ENGLISH, "en"),
    "Chinese characters": CharacterTokenizer.learn(CHINESE_TEXTS, "zh"),
    "English pieces": BpeTokenizer.learn(ENGLISH, "en", max_size=70, min_count=1),
    "Chinese pieces": BpeTokenizer.learn(CHINESE_TEXTS, "zh", max_size=40, min_count=1),
    "small letters": WordTokenizer.learn(ENGLISH, "en", lower=True),
}
EACH = pytest.mark.parametrize("name", TOKENIZERS)


def texts_of(tokenizer: Tokenizer) -> list[str]:
    return ENGLISH if tokenizer.language == "en" else CHINESE_TEXTS


@EACH
def test_ids_begin_with_the_special_ones_and_have_no_gaps(name):
    tokenizer = TOKENIZERS[name]
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)
    assert tokenizer.vocabulary[:4] == SPECIAL == ("<pad>", "<bos>", "<eos>", "<unk>")
    assert [tokenizer.id(token) for token in tokenizer.vocabulary[4:]] == list(range(4, len(tokenizer)))
    assert len(set(tokenizer.vocabulary)) == len(tokenizer)


@EACH
def test_known_text_comes_back(name):
    tokenizer = TOKENIZERS[name]
    for text in texts_of(tokenizer):
        ids = tokenizer.encode(text)
        assert min(ids) > UNK
        assert tokenizer.decode(ids) == (text.lower() if tokenizer.lower else text)
        assert tokenizer.unknown(text) == []


@EACH
@settings(max_examples=15)
@given(data=st.data())
def test_the_tokens_of_any_known_words_come_back(name, data):
    tokenizer = TOKENIZERS[name]
    # 's or n't belong to the word before; by themselves, or twice, they are written like other words.
    known = [i for i in range(4, len(tokenizer)) if tokenizer.vocabulary[i] not in ("'s", "n't")]
    ids = data.draw(st.lists(st.sampled_from(known)))
    text = normalise(tokenizer.decode(ids))
    again = tokenizer.encode(text)  # maybe cut elsewhere, into longer pieces, but the same text
    assert UNK not in again
    assert normalise(tokenizer.decode(again)) == text


@EACH
@settings(max_examples=15)
@given(text=st.text(st.characters(exclude_categories=()) | st.sampled_from("<eos>▁Tom 汤姆追逐’")))
def test_any_text_has_one_id_for_each_token_and_none_of_them_is_special(name, text):
    tokenizer = TOKENIZERS[name]
    ids, tokens = tokenizer.encode(text), tokenizer.tokens(text)
    assert ids == tokenizer.ids(tokens)
    assert all(UNK <= i < len(tokenizer) for i in ids)
    assert [tokens[k] for k, i in enumerate(ids) if i == UNK] == tokenizer.unknown(text)
    # Without the space between them, two marks on a letter may have to change places: that is NFC.
    assert _without_spaces(tokens) == _without_spaces(tokenizer._written(text))


def _without_spaces(tokens):
    return unicodedata.normalize("NFC", "".join("".join(tokens).replace("▁", " ").split()))


@EACH
@pytest.mark.parametrize("special", SPECIAL)
def test_a_special_token_that_is_spelt_out_is_ordinary_text(name, special):
    tokenizer = TOKENIZERS[name]
    assert {PAD, BOS, EOS}.isdisjoint(tokenizer.encode(f"Tom {special} 汤姆{special}。"))
    assert tokenizer.ids([special]) == [UNK]
    learnt = type(tokenizer).learn([special * 3, f"{special} {special}"], tokenizer.language, max_size=40, min_count=1)
    assert learnt.vocabulary[:4] == SPECIAL
    assert {PAD, BOS, EOS, UNK}.isdisjoint(learnt.encode(special))


@EACH
def test_decoding_stops_at_the_end_mark_and_leaves_padding_out(name):
    tokenizer = TOKENIZERS[name]
    assert tokenizer.decode([BOS, 4, PAD, 5, EOS, 6]) == tokenizer.decode([4, 5])
    assert tokenizer.decode([]) == tokenizer.decode([EOS, 4]) == ""
    assert "<unk>" in tokenizer.decode([4, UNK])
    for wrong in (-1, len(tokenizer)):
        with pytest.raises(ValueError, match=f"ids holds {wrong}"):
            tokenizer.decode([4, wrong])


@EACH
def test_json_gives_the_same_tokenizer_again(name):
    tokenizer = TOKENIZERS[name]
    text = json.dumps(tokenizer.to_json(), allow_nan=False)
    again = tokenizer_from_json(json.loads(text))
    assert again == tokenizer
    assert hash(again) == hash(tokenizer)
    assert [again.encode(text) for text in texts_of(tokenizer)] == [tokenizer.encode(t) for t in texts_of(tokenizer)]


@EACH
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "sentencepiece"}, "kind is 'sentencepiece'"),
        ({"kind": ["word"]}, "kind is"),
        ({"language": "fr"}, "language is 'fr'"),
        ({"lower": 1}, "lower is 1"),
        ({"extra": 1}, "'extra'"),
        ({"language": ...}, "'language'"),
        ({"vocabulary": "abc"}, "vocabulary must be a list"),
        ({"vocabulary": list(SPECIAL[:3])}, "begins with"),
        ({"vocabulary": [*SPECIAL, 1]}, r"vocabulary\[4\] is 1"),
        ({"vocabulary": [*SPECIAL, ""]}, r"vocabulary\[4\] is ''"),
        ({"vocabulary": [*SPECIAL, "a", "a"]}, r"vocabulary\[5\] is 'a', which is vocabulary\[4\] already"),
        ({"vocabulary": [*SPECIAL, "Ａ"]}, "normalised text writes 'A'"),
        ({"vocabulary": [*SPECIAL, "\x1b"]}, r"'\\x1b'"),
    ],
)
def test_a_stored_tokenizer_that_is_broken_is_refused(name, change, message):
    stored = TOKENIZERS[name].to_json() | change
    with pytest.raises(VocabularyError, match=message):
        tokenizer_from_json({key: value for key, value in stored.items() if value is not ...})


def test_what_is_no_object_is_refused():
    with pytest.raises(VocabularyError, match="this is list"):
        tokenizer_from_json([])


@pytest.mark.parametrize(
    ("merges", "message"),
    [
        ("ab", "list of pairs"),
        (None, "list of pairs"),
        ([["a"]], r"merges\[0\] is \['a'\]"),
        (["ab"], r"merges\[0\] is 'ab'"),
        ([["a", "c"]], "needs 'c'"),
        ([["b", "a"]], "needs 'ba'"),
        ([["a", "b"], ["a", "b"]], "twice"),
    ],
)
def test_merges_that_do_not_fit_the_vocabulary_are_refused(merges, message):
    with pytest.raises(VocabularyError, match=message):
        BpeTokenizer([*SPECIAL, "a", "b", "ab"], "en", merges)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Tom's dog doesn't sleep.", "Tom 's dog does n't sleep ."),
        ("tom CHASES jerry", "tom CHASES jerry"),
        ("I'm sure we can't, they'll…", "I 'm sure we ca n't , they 'll …"),
        ("A well-known O'Brien at 12:30 pays 1,000.5%", "A well-known O'Brien at 12:30 pays 1,000.5 %"),
        ("e.g. P.E., Mr. Li", "e.g. P.E. , Mr . Li"),
        ("(so—what?) \"Yes!\"", "( so — what ? ) \" Yes ! \""),
        ("dogs' cafe\u0301 a_b", "dogs ' café a_b"),
    ],
)  # fmt: skip
def test_how_english_is_cut(text, words):
    tokenizer = TOKENIZERS["English words"]
    assert tokenizer.tokens(text) == words.split()
    assert tokenizer.join(words.split()) == normalise(text)


def test_english_that_has_been_cut_already_stays_as_it_is():
    cut = "Tom 's dog does n't sleep , I 'm sure ."
    assert TOKENIZERS["English words"].tokens(cut) == cut.split(" ")
    assert TOKENIZERS["English words"].tokens("'sam 's") == ["'", "sam", "'s"]


def test_an_english_word_is_looked_up_as_written_then_small_then_with_a_capital():
    tokenizer = WordTokenizer([*SPECIAL, "The", "the", "Tom", "chases", "US", "us", "，", "?"], "en")
    spoken = tokenizer.words(tokenizer.encode("the The THE tom TOM CHASES US us Us , ？ Jerry"))
    assert spoken == ["the", "The", "the", "Tom", "Tom", "chases", "US", "us", "us", "，", "?", "<unk>"]


def test_chinese_is_cut_into_the_longest_words_it_knows():
    tokenizer = WordTokenizer([*SPECIAL, "中", "中国", "中国人", "国", "人民", "T恤", "OK", "卡拉OK", "。"], "zh")
    assert tokenizer.tokens("中国人民") == ["中国人", "民"]  # the longest, even where a shorter one would fit better
    assert tokenizer.tokens("中国 人民 中 国") == ["中国", "人民", "中", "国"]  # a space is a border
    assert tokenizer.tokens("T恤OK卡拉OK OKAY iPhone 15台") == ["T恤", "OK", "卡拉OK", "OKAY", "iPhone", "15", "台"]
    assert tokenizer.unknown("中国法人.") == ["法", "人"]
    assert tokenizer.decode(tokenizer.encode("中国.")) == "中国。"
    assert tokenizer.join(["iPhone", "15", "台", "OK"]) == "iPhone 15台OK"


@fault("TOK-05")
def test_the_other_script_is_unknown_and_coverage_says_so():
    tokenizer = WordTokenizer.learn([["头"]], "zh")
    assert tokenizer.encode("頭") == [UNK]
    assert tokenizer.coverage(["头頭", "頭", "头"]) == Coverage(4, 2, {"頭": 2})
    assert tokenizer.coverage(["头頭", "頭", "头"]).share == 0.5
    assert tokenizer.coverage([]).share == 1.0


def test_learning_counts_and_the_order_of_the_texts_does_not_matter():
    texts = ["b a", "a c", "c a", "d"]
    tokenizer = WordTokenizer.learn(texts, "en")
    assert tokenizer.vocabulary[4:] == ("a", "c", "b", "d")
    assert WordTokenizer.learn(texts[::-1], "en") == tokenizer
    assert WordTokenizer.learn(texts, "en", min_count=2).vocabulary[4:] == ("a", "c")
    assert WordTokenizer.learn(texts, "en", max_size=5).vocabulary[4:] == ("a",)
    assert WordTokenizer.learn([["Ａ", "b"]], "en").vocabulary[4:] == ("A", "b")
    with pytest.raises(ValueError, match="min_count is 0"):
        WordTokenizer.learn(texts, "en", min_count=0)
    with pytest.raises(ValueError, match="max_size is 3"):
        WordTokenizer.learn(texts, "en", max_size=3)


def test_spaces_of_chinese_are_no_characters():
    tokenizer = TOKENIZERS["Chinese characters"]
    assert tokenizer.tokens("汤姆 追逐 iPhone 15 。") == list("汤姆追逐iPhone 15。")
    assert TOKENIZERS["Chinese pieces"].tokens(" 汤姆 追逐") == TOKENIZERS["Chinese pieces"].tokens("汤姆追逐")


def test_a_word_has_no_space_and_a_character_no_second():
    with pytest.raises(VocabularyError, match="space"):
        WordTokenizer([*SPECIAL, "New York"], "en")
    with pytest.raises(VocabularyError, match="several characters"):
        CharacterTokenizer([*SPECIAL, "ab"], "en")
    with pytest.raises(VocabularyError, match="capital"):
        WordTokenizer([*SPECIAL, "Tom"], "en", lower=True)


def test_bpe_learns_the_same_in_every_process():
    code = (
        "from stepformer.data.tokenizer import BpeTokenizer; "
        f"print(BpeTokenizer.learn({ENGLISH * 2}, 'en', max_size=90).merges)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == str(BpeTokenizer.learn(ENGLISH * 2, "en", max_size=90).merges)


def test_bpe_applies_its_merges_in_the_order_they_were_learnt():
    merges = [("a", "b"), ("b", "c"), ("ab", "c")]
    tokenizer = BpeTokenizer([*SPECIAL, "▁", "a", "b", "c", "ab", "bc", "abc"], "zh", merges)
    assert tokenizer.tokens("abcbc") == ["abc", "bc"]
    assert tokenizer.tokens("bcab") == ["bc", "ab"]
    assert BpeTokenizer.learn(["aaaa bbb"], "en", max_size=5).vocabulary[4:] == ("a",)
    with pytest.raises(ValueError, match="max_size is 2"):
        BpeTokenizer.learn(ENGLISH, "en", max_size=2)
    with pytest.raises(ValueError, match="min_count is 0"):
        BpeTokenizer.learn(ENGLISH, "en", max_size=20, min_count=0)


def test_the_library_is_needed_for_bpe_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert WordTokenizer.learn(ENGLISH, "en").encode("Tom")
    with pytest.raises(ImportError, match="pip install"):
        BpeTokenizer.learn(ENGLISH, "en", max_size=50)
    with pytest.raises(ImportError, match="pip install"):
        tokenizer_from_json(TOKENIZERS["English pieces"].to_json()).encode("Tom")


@fault("TOK-07")
@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (b"a\n\nb\n \n", 2, "blank"),
        (b"a\nb\n \t\n", 3, "blank"),
        (b"a\nb\n\n", 3, "blank"),
        (b"a\n b\n", 2, "holds a space"),
        (b"a\nNew York\n", 2, "holds a space"),
        (b"a\nb\na\n", 3, "stands in line 1 already"),
        (b"a\n\xff\n", 2, "not UTF-8"),
        ("a\nＡ\n".encode(), 2, "'A' in normalised text"),
        (b"a\n<eos>\n", 2, "<eos> must stand among the first"),
    ],
)
def test_a_broken_vocabulary_file_is_refused_with_the_line(tmp_path, content, line, reason):
    (tmp_path / "words.txt").write_bytes(content)
    with pytest.raises(VocabularyError, match=rf"words\.txt, line {line}: .*{reason}"):
        read_vocabulary(tmp_path / "words.txt")


@fault("TOK-07")
def test_a_vocabulary_file_gives_the_same_ids_again(tmp_path):
    path = tmp_path / "words.txt"
    for tokenizer in (TOKENIZERS["English words"], TOKENIZERS["Chinese words"]):
        write_vocabulary(tokenizer.vocabulary, path)
        assert read_vocabulary(path) == tokenizer.vocabulary
    path.write_bytes(b"\xef\xbb\xbfTom\r\nchases")
    assert read_vocabulary(path) == (*SPECIAL, "Tom", "chases")
    path.write_bytes(b"")
    assert read_vocabulary(path) == SPECIAL
    for odd in (" ", "a b", "a\n"):
        with pytest.raises(VocabularyError, match="no spaces"):
            write_vocabulary([*SPECIAL, odd], path)


@settings(max_examples=40)
@given(st.lists(st.text(string.ascii_letters + " \u3000\t", max_size=3), max_size=6))
@fault("TOK-07")
def test_whatever_is_in_a_vocabulary_file_is_read_whole_or_refused(tmp_path_factory, lines):
    path = tmp_path_factory.getbasetemp() / "any_words.txt"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    try:
        vocabulary = read_vocabulary(path)
    except VocabularyError as error:
        number = int(str(error).split(", line ")[1].split(":")[0])
        assert lines[number - 1].split() != [lines[number - 1]] or lines[number - 1] in lines[: number - 1]
    else:
        assert vocabulary == (*SPECIAL, *lines)


@pytest.mark.parametrize("script", ["simplified", "traditional"])
def test_sentences_of_the_grammar_are_cut_as_the_grammar_cuts_them(script):
    pairs = list(itertools.islice(grammar.pairs(0, script=script), 400))
    english = WordTokenizer.learn((p.source_tokens for p in pairs), "en")
    chinese = WordTokenizer.learn((p.target_tokens for p in pairs), "zh")
    for pair in pairs:
        assert english.encode(pair.source) == english.ids(pair.source_tokens)
        assert chinese.tokens(pair.target) == list(pair.target_tokens)
        assert chinese.decode(chinese.encode(pair.target)) == pair.target


@pytest.mark.parametrize("kind", [BpeTokenizer, CharacterTokenizer])
def test_letters_that_become_neighbours_as_spaces_go_are_normalised_again(kind):
    # As wide a letter as ≥ drops the space before an accent; BPE would else learn a piece that no text can hold.
    texts = ["\u2265 E \u0301\u0301"] * 3 + ["a \u2019b"] * 3
    tokenizer = kind.learn(texts, "zh", max_size=60)
    for text in texts:
        written = tokenizer.decode(tokenizer.encode(text))
        assert written == normalise(written)
        assert tokenizer.decode(tokenizer.encode(written)) == written
