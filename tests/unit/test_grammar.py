"""The controlled grammar: English and Chinese that are right, links that are right, splits that keep their promise."""

import collections
import itertools
import os
import re
import subprocess
import sys
from random import Random

import pytest
from helpers import ROOT

from stepformer.data import grammar
from stepformer.data.grammar import sentences as joining
from stepformer.data.grammar.draw import Draw
from stepformer.data.grammar.lexicon import PATH, Adjective, Noun, Phrase, Verb, read
from stepformer.data.grammar.splits import EXAMPLES, fitting
from stepformer.data.tokenizer import WordTokenizer

LINES = [line.split("\t") for line in PATH.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
CONTENT = collections.defaultdict(set)  # English word form → its Chinese words, straight from the table
for kind, forms, chinese, *_ in LINES:
    if kind in ("name", "noun", "mass", "verb", "adjective", "number"):
        for form in set(forms.split()) - {"-"}:
            CONTENT[form].add(chinese)
NOUNS = {line[2]: line for line in LINES if line[0] in ("name", "noun", "mass")}
NOUN_FORMS = {form for line in LINES if line[0] == "noun" for form in line[1].split()}
VERBS = {line[2]: line for line in LINES if line[0] == "verb"}

CLASSIFIERS = {
    "只": "猫 狗 老鼠 鸟 兔子 老虎 猴子", "匹": "马", "头": "牛 大象", "位": "老师 医生 画家 农民",
    "个": "学生 朋友 孩子 男孩 女孩 杯子 苹果 鸡蛋 蛋糕 球", "本": "书", "封": "信", "扇": "门 窗户", "把": "雨伞",
    "辆": "汽车 自行车", "朵": "花", "幅": "画",
}  # fmt: skip
"""Written down apart from the table: which nouns are counted with which word."""


@pytest.fixture(scope="module")
def stream():
    return list(itertools.islice(grammar.pairs(11), 2000))


@pytest.fixture(scope="module")
def corpus():
    return grammar.corpus(3, n_train=1000, n_dev=30, n_test=30)


@pytest.fixture(scope="module")
def large():
    return grammar.corpus(3, n_train=5000, n_dev=100, n_test=100)


def single(stream, *, question=None):
    """The pairs of one clause."""
    return [p for p in stream if p.clauses == 1 and question in (None, p.source.endswith("?"))]


def clauses(pair):
    """The Chinese words of each clause, and the English sentence whole."""
    text = " ".join(pair.target_tokens[:-1])
    return [part.split() for part in text.split(" ， ")]


# What the grammar says


class Guided(Draw):
    """Draws the words of one sentence wherever it can, so that chance soon meets it."""

    text = ""

    def choice(self, options):
        words = set(re.findall(r"[a-z]+", self.text.lower()))

        def named(option):
            match option:
                case Noun():
                    found = {option.singular.lower(), (option.plural or "-").lower()}
                case Verb():
                    found = {option.base, option.third, option.past, option.ing}
                case Adjective():
                    found = {option.word}
                case Phrase():
                    quantity = all if option.use in ("scene", "spot", "past", "future") else any
                    return quantity(word.lower() in words for word in option.english)
                case "whom":
                    found = {"who"}
                case _:
                    found = {option}
            return bool(found & words)

        return super().choice([option for option in options if named(option)] or options)


def translation(text, phenomena, monkeypatch, attempts=6000):
    """The pair that the grammar makes of an English sentence, found by drawing until it comes."""
    monkeypatch.setattr(Guided, "text", text)
    monkeypatch.setattr(joining, "Draw", Guided)
    everywhere = grammar.splits._everywhere
    random, phenomena = Random(5), frozenset(phenomena)
    n = 1 + len(re.findall(", and|, but|because|[Aa]lthough", text))
    names = sorted(phenomena - ({"because", "although", "clauses"} if n == 1 else set()))
    joints = sorted(phenomena & {"because", "although", "clauses"})
    for i in range(attempts):
        focus = joints[0] if n > 1 else names[i % len(names)]
        found = joining._attempt(random, phenomena, everywhere, focus, n)
        if found and found.pair.source == text:
            return found.pair
    raise AssertionError(f"the grammar does not say {text!r}")


RUNNING = [
    ("Tom chases Jerry.", "汤姆追逐杰瑞。", "present"),
    ("The cat that chased Jerry is sleeping.", "追逐杰瑞的那只猫正在睡觉。", "past progressive relative classifier"),
    ("The cat that Tom chased is sleeping.", "汤姆追逐的那只猫正在睡觉。", "past progressive relative classifier"),
    ("Tom did not chase Jerry.", "汤姆没有追逐杰瑞。", "past negation"),
    ("Tom does not chase Jerry.", "汤姆不追逐杰瑞。", "present negation"),
    ("Is Tom chasing Jerry in the garden?", "汤姆正在花园里追逐杰瑞吗？", "progressive yes_no place"),
    ("Why didn't Tom open the door?", "汤姆为什么没有把那扇门打开？", "past ba negation wh_question classifier"),
    ("Tom opened a door.", "汤姆打开了一扇门。", "past ba classifier"),
    ("Tom opens the door.", "汤姆打开那扇门。", "present ba classifier"),
    ("Tom put the two books on the table.", "汤姆把那两本书放在了桌子上。", "past ba number classifier"),
    ("Tom likes cats.", "汤姆喜欢猫。", "present plural classifier"),
    ("I am not working.", "我没有在工作。", "progressive negation pronoun"),
    ("Tom slept because Anna laughed.", "因为安娜笑了，所以汤姆睡觉了。", "past because"),
]


@pytest.mark.parametrize(("english", "chinese", "phenomena"), RUNNING)
def test_the_sentences_of_the_book_are_said_as_the_book_says_them(english, chinese, phenomena, monkeypatch):
    assert translation(english, phenomena.split(), monkeypatch).target == chinese


@pytest.mark.parametrize("name", grammar.PHENOMENA)
def test_the_example_of_a_phenomenon_shows_it(name, monkeypatch):
    phenomenon = grammar.PHENOMENA[name]
    tenses = {"present", "past", "progressive", "future"}
    needs = {
        "negation": {"past"}, "yes_no": {"past"}, "classifier": {"past"}, "adjective": {"past", "classifier"},
        "relative": {"past", "progressive", "classifier"}, "time": {"past"}, "place": {"past", "classifier"},
        "plural": {"past", "classifier"}, "number": {"present", "classifier"}, "possessive": {"past", "classifier"},
        "pronoun": {"past"}, "modal": {"pronoun"}, "ba": {"past", "classifier"}, "wh_question": {"past"},
        "because": {"past"},
        "although": {"past"}, "clauses": {"past"}, "future": {"classifier"}, "progressive": {"classifier"},
    }  # fmt: skip
    pair = translation(phenomenon.english, {name} | needs.get(name, set()), monkeypatch)
    assert pair.target == phenomenon.chinese
    assert name in pair.phenomena
    assert tenses & pair.phenomena or name in ("modal", "be")


def test_no_source_has_two_translations(stream):
    found = {}
    for pair in stream:
        assert found.setdefault(pair.source, pair.target) == pair.target, pair.source


# English


def test_english_articles_and_agreement(stream):
    plural = {line[1].split()[1] for line in LINES if line[0] == "noun"}
    third = {line[1].split()[1] for line in LINES if line[0] == "verb"}
    bases = {line[1].split()[0] for line in LINES if line[0] == "verb"} - {"read", "put"}
    for pair in stream:
        first, second, verb = pair.source_tokens[:3]
        if first in ("the", "these", "those", "some", "two", "three", "four", "five") and second in plural:
            assert verb not in third | {"is"}, pair.source
        if first in ("the", "this", "that", "a", "an") and second in NOUN_FORMS - plural:
            assert verb not in bases | {"are"}, pair.source
        for before, word in itertools.pairwise(pair.source_tokens):
            if before in ("a", "an"):
                assert (before == "an") == (word[0] in "aeiou"), pair.source
            if before in ("I", "we", "they"):
                assert word not in third | {"is", "does"}, pair.source
            if before in ("I", "am"):
                assert not {before, word} & {"are", "n't"}, pair.source
            if before in ("these", "those", "two", "three", "four", "five"):
                assert word not in NOUN_FORMS - plural, pair.source
        assert not re.search(r"willn't|amn't|mayn't|mustn't|can not|\bfishes\b", pair.source)
        assert not re.search(r"\b(\w+) \1\b", pair.source) or "that that" in pair.source


def test_english_is_written_with_a_capital_and_one_sign_at_its_end(stream):
    for pair in stream:
        assert re.fullmatch(r"[A-Z][A-Za-z ',]*[a-zI][.?]", pair.source), pair.source
        assert pair.source.endswith("?") == pair.target.endswith("？")
        assert re.fullmatch(r"[\u4e00-\u9fff，]+[。？]", pair.target), pair.target


def test_questions_stand_alone(stream):
    assert all(pair.clauses == 1 for pair in stream if pair.source.endswith("?"))
    assert all(pair.target.endswith("吗？") == ("yes_no" in pair.phenomena) for pair in stream)


# Chinese: the defects that reading found, each kind a test


def test_no_character_is_doubled_between_two_words(stream):
    for pair in stream:  # 老老师, 大大象, 在在
        for a, b in itertools.pairwise(pair.target_tokens):
            assert a[-1] != b[0] or b == "生气", pair.target  # 医生生气 is right


def test_classifiers_fit_their_nouns(stream):
    of = {noun: classifier for classifier, nouns in CLASSIFIERS.items() for noun in nouns.split()}
    assert of.keys() == {line[2] for line in LINES if line[0] == "noun"}
    seen = set()
    for pair in stream:
        for i, word in enumerate(pair.target_tokens):
            counts = word in CLASSIFIERS and pair.target_tokens[i - 1] in ("那", "这", "一", "两", "三", "四", "五")
            if not counts:
                continue
            (noun,) = {e for t, e in pair.possible if t == i and pair.source_tokens[e] in CONTENT
                       and next(iter(CONTENT[pair.source_tokens[e]])) in of}  # fmt: skip
            (target,) = [t for t, e in pair.sure if e == noun]
            assert of[pair.target_tokens[target]] == word, pair.target
            seen.add(word)
    assert seen == set(CLASSIFIERS)


def test_two_is_liang_and_numbers_take_a_classifier(stream):
    for pair in stream:
        assert "二" not in pair.target
        for word, after in itertools.pairwise(pair.target_tokens):
            if word in ("一", "两", "三", "四", "五"):
                assert after in CLASSIFIERS, pair.target


def test_done_and_not_done(stream):
    for pair in single(stream):
        words = pair.target_tokens
        if "relative" not in pair.phenomena and "没有" in words:
            assert "了" not in words, pair.target
        if "relative" not in pair.phenomena and "past" in pair.phenomena and "没有" not in words:
            assert "了" in words, pair.target
        if "past" not in pair.phenomena:
            assert "了" not in words, pair.target
        # 不 before a present event or an open result (不看见, 不打破) is not said.
        for a, b in itertools.pairwise(words):
            assert not (a == "不" and b in VERBS and VERBS[b][4] in ("event", "result", "put", "give")), pair.target


def test_going_on_is_said_once(stream):
    for pair in stream:  # 正在在花园里, 你为什么正在睡觉
        text = " ".join(pair.target_tokens)
        assert "正在 在" not in text
        assert not re.search("为什么 正在", text), pair.target


def test_ba_has_a_known_object_and_a_result(stream):
    ends = {line[2] for line in LINES if line[0] == "verb" and line[4] in ("result", "put", "give")}
    n = 0
    for pair in stream:
        for part in clauses(pair):
            marks = [i for i, word in enumerate(part) if word == "把" and part[i - 1] not in "那这一两三四五"]
            for mark in marks:
                n += 1
                assert part[mark + 1] not in ("一", "两", "三", "四", "五", "一些"), pair.target
                assert ends & set(part[mark:]), pair.target
                if "relative" not in pair.phenomena and not {"会", "放在", "给"} & set(part):
                    assert {"了", "没有", "能", "应该", "可以", "必须", "想"} & set(part), pair.target
    assert n > 100


def test_the_books_are_opened_but_only_doors_and_windows_are_closed(stream):
    closing = [line[2] for line in LINES if line[0] == "noun" and "closing" in line[5].split()]
    assert closing == ["门", "窗户"]
    assert any("打开" in p.target_tokens and "书" in p.target_tokens for p in stream)


def test_people_are_men_only_where_nothing_counts_them(stream):
    for pair in stream:  # 三个孩子们, 那些孩子们
        text = " ".join(pair.target_tokens)
        assert not re.search(r"(些|[两三四五] \w) (\w+ )?\w+ 们", text), pair.target
        assert all(NOUNS[a][0] == "noun" for a, b in itertools.pairwise(pair.target_tokens) if b == "们")


def test_time_and_place_come_before_the_verb(stream):
    times = {"昨天", "昨晚", "早上", "明天", "今晚", "现在", "每天"}
    for pair in single(stream):
        words = [w for w in pair.target_tokens if w in times | {"在"} or w in VERBS]
        if "relative" not in pair.phenomena and len(words) > 1:
            assert words[-1] in VERBS or "be" in pair.phenomena, pair.target


def test_a_noun_and_a_verb_come_once_in_a_clause(stream):
    for pair in single(stream):  # "the farmer who works works", "Lucy closed what Lucy opened"
        words = [word for word in pair.target_tokens if word in NOUNS or word in VERBS]
        words = [word for word in words if word not in ("画", "信", "花", "把", "给")]
        assert len(words) == len(set(words)), pair.source


def test_what_is_said_is_not_absurd(stream):
    for pair in stream:
        assert not re.search(r"^(Anna|Peter|Mary|Paul|Lucy|David|I|We|The teacher) (will )?(bites?|bit)\b", pair.source)
        assert not re.search(r"\b(black|white) (apple|egg|book|letter)", pair.source)
        assert not re.search(r"'s (farmer|boy|girl|student|child|artist)s?\b", pair.source)
        assert not re.search("[我你他她们的] 的 (漂亮|聪明|勇敢|快乐|生气|年轻) 的", " ".join(pair.target_tokens))


def known_to_be_said_badly(pair):
    """What the page of the grammar admits: every day with a "not" in its scope, a time before a relative clause."""
    for part in clauses(pair):
        words = [word for word in part if word not in ("因为", "所以", "虽然", "但是", "今天")]
        if ("每天", "不") in itertools.pairwise(words):
            yield "scope"
        times = {"昨天", "昨晚", "早上", "明天", "今晚", "现在", "每天"}
        if words[0] in times and "的" in words and (words[1] in VERBS or words[1] in ("不", "没有", "会", "正在")):
            yield "front"


@pytest.mark.parametrize(
    ("english", "chinese", "phenomena"),
    [
        ("That cat doesn't sleep every day", "那只猫每天不睡觉", "present negation time classifier"),
        pytest.param(
            "Yesterday the friend who followed Peter cried", "昨天跟随彼得的那个朋友哭了",
            "past time relative classifier", marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_what_the_page_admits_to_say_badly_is_said_so(english, chinese, phenomena, monkeypatch):
    page = " ".join((ROOT / "book" / "grammar.md").read_text(encoding="utf-8").split())
    assert f"*{english}* becomes {chinese}" in page
    assert translation(f"{english}.", phenomena.split(), monkeypatch).target == f"{chinese}。"


def test_what_the_page_admits_to_say_badly_is_all_of_it_and_rare():
    """Found by reading 300 sentences, and left, because the shipped models have learned from them."""
    core = grammar.corpus(0, n_train=6000, n_dev=0, n_test=1, phenomena=grammar.CORE).train
    found = collections.Counter(kind for pair in core for kind in set(known_to_be_said_badly(pair)))
    assert set(found) == {"scope", "front"}  # once both are mended, the page must not say so
    assert found.total() < len(core) / 100


# Links


def test_links_are_in_range_and_the_sure_ones_possible(stream):
    for pair in stream:
        assert pair.sure <= pair.possible
        for t, s in pair.possible:
            assert 0 <= t < len(pair.target_tokens)
            assert 0 <= s < len(pair.source_tokens)
        assert {t for t, _ in pair.possible} == set(range(len(pair.target_tokens))), pair.target


def test_every_content_word_is_surely_linked_to_its_translation(stream):
    for pair in stream:
        links = collections.defaultdict(set)
        for t, s in pair.sure:
            links[s].add(pair.target_tokens[t])
        for s, word in enumerate(pair.source_tokens):
            if word in CONTENT:
                assert len(links[s]) == 1, (pair.source, word)
                assert links[s] <= CONTENT[word], (pair.source, word)


def test_links_of_the_relative_clause_by_hand(monkeypatch):
    english = "The cat that chased Jerry is sleeping."
    pair = translation(english, ["past", "progressive", "relative", "classifier"], monkeypatch)
    assert pair.source_tokens == ("the", "cat", "that", "chased", "Jerry", "is", "sleeping", ".")
    assert pair.target_tokens == ("追逐", "杰瑞", "的", "那", "只", "猫", "正在", "睡觉", "。")
    assert pair.sure == {(0, 3), (1, 4), (5, 1), (7, 6), (8, 7)}
    assert pair.possible - pair.sure == {(2, 2), (3, 0), (4, 0), (4, 1), (6, 5), (6, 6)}


# Vocabulary, scripts, tokens


def test_the_vocabulary_is_small():
    words = grammar.lexicon()
    assert 240 <= len(words.english) <= 330
    assert 145 <= len(words.chinese) <= 220


@pytest.mark.slow
def test_every_word_of_the_table_is_used(stream):
    more = [*stream, *itertools.islice(grammar.pairs(12), 3000)]
    assert set(grammar.lexicon().english) == {word for pair in more for word in pair.source_tokens}
    assert set(grammar.lexicon().chinese) == {word for pair in more for word in pair.target_tokens}


def test_both_scripts():
    stream = grammar.pairs(4)
    other = grammar.pairs(4, script="traditional")
    for plain, old in itertools.islice(zip(stream, other, strict=True), 400):
        assert plain.source == old.source
        assert (plain.sure, len(plain.target)) == (old.sure, len(old.target))
        plain.target.encode("gb2312")  # knows no 貓
        old.target.encode("big5")  # knows no 猫
    table = grammar.lexicon().traditional
    assert table["只"] == "隻"
    assert len(set(table.values())) == len(table)


def test_the_word_tokenizers_cut_and_join_as_the_grammar_does(stream):
    english = WordTokenizer.learn([pair.source_tokens for pair in stream], "en")
    chinese = WordTokenizer.learn([pair.target_tokens for pair in stream], "zh")
    for pair in stream[:1500]:
        assert tuple(english.vocabulary[i] for i in english.encode(pair.source)) == pair.source_tokens
        assert english.decode(english.encode(pair.source)).lower() == pair.source.lower()
        assert tuple(chinese.tokens(pair.target)) == pair.target_tokens


# Splits


def everything(corpus):
    return {"train": corpus.train, "dev": corpus.dev, **corpus.test}


def test_no_source_is_in_two_splits(corpus):
    splits = everything(corpus)
    sources = [pair.source for pairs in splits.values() for pair in pairs]
    assert len(sources) == len(set(sources))
    assert {name: len(pairs) for name, pairs in splits.items()} == {
        "train": 1000, "dev": 30, "random": 60, "unseen_pairs": 30, "subject_only": 30, "longer": 30,
        **{f"clauses_{k}": 30 for k in range(1, 7)},
    }  # fmt: skip


def objects(pair):
    """The (verb, object) pairs that stand side by side in the English text: read off it, apart from the grammar."""
    forms = {form: line[1].split()[0] for line in LINES if line[0] == "verb" and line[5].split(">")[-1].strip()
             for form in line[1].split() if form != "-"}  # fmt: skip
    nouns = {form: line[1].split()[0] for line in LINES if line[0] in ("name", "noun", "mass")
             for form in line[1].split()}  # fmt: skip
    skipped = {"a", "an", "the", "this", "that", "these", "those", "some", "two", "three", "four", "five"}
    skipped |= {form for line in LINES if line[0] == "adjective" for form in line[1].split()}
    skipped |= {line[1].split()[2] for line in LINES if line[0] == "pronoun"}
    words = pair.source_tokens
    for i, word in enumerate(words):
        if word not in forms:
            continue
        j = i + 1
        while words[j] in skipped:
            j += 1
        if words[j] in nouns and words[j + 1] != "'s" and "her" not in words[i:j]:
            yield forms[word], nouns[words[j]]


def test_training_holds_back_verbs_with_nouns(corpus):
    held = {(v, n) for pair in corpus.train for v, n in objects(pair) if grammar.held_out(v, n)}
    assert held == set()
    seen = [p for p in corpus.test["unseen_pairs"] if any(grammar.held_out(v, n) for v, n in objects(p))]
    assert len(seen) > 8  # the others have the noun as subject
    assert not any(grammar.held_out(*example) for example in EXAMPLES)
    count = [grammar.held_out(v.base, n.singular) for v in grammar.lexicon().verbs for n in fitting(v, "object")]
    assert 0.05 < sum(count) / len(count) < 0.15


def test_training_has_some_nouns_as_subjects_alone(corpus):
    for pair in corpus.train:
        assert not {noun for _, noun in objects(pair)} & grammar.SUBJECT_ONLY, pair.source
    words = collections.Counter(word for pair in corpus.train for word in pair.source_tokens)
    assert all(words[noun] > 10 for noun in grammar.SUBJECT_ONLY)
    tested = [p for p in corpus.test["subject_only"] if {n for _, n in objects(p)} & grammar.SUBJECT_ONLY]
    assert len(tested) > 15  # in the others a relative clause has the object


def test_longer_is_longer_and_clauses_are_counted(corpus):
    longest = max(len(pair.source_tokens) for pair in corpus.train)
    assert min(len(pair.source_tokens) for pair in corpus.test["longer"]) > longest
    assert {pair.clauses for pair in corpus.test["longer"]} <= {pair.clauses for pair in corpus.train} == {1, 2, 3, 4}
    for k in range(1, 7):
        for pair in corpus.test[f"clauses_{k}"]:
            assert pair.clauses == k == len(clauses(pair)), pair.target


@pytest.mark.slow
def test_tests_use_no_word_that_training_lacks(large):
    english = {word for pair in large.train for word in pair.source_tokens}
    chinese = {word for pair in large.train for word in pair.target_tokens}
    for name, pairs in everything(large).items():
        assert {word for pair in pairs for word in pair.source_tokens} <= english, name
        assert {word for pair in pairs for word in pair.target_tokens} <= chinese, name


@pytest.mark.slow
def test_splits_show_the_phenomena_alike(large):
    def share(pairs, name):
        return sum(name in pair.phenomena for pair in pairs) / len(pairs)

    assert share(large.train, "relative") > 0.16
    for name in grammar.PHENOMENA:
        assert share(large.train, name) > 0.05, name
        assert share(large.test["random"], name) == pytest.approx(share(large.train, name), abs=0.1), name
        assert len(large.test_of(name)) >= 8, name


@pytest.mark.slow
def test_test_sets_do_not_depend_on_the_size_of_training(large):
    smaller = grammar.corpus(3, n_train=10, n_dev=100, n_test=100)
    assert smaller.test == large.test
    assert smaller.dev == large.dev
    assert smaller.train == large.train[:10]


def test_the_core_has_one_clause_and_nothing_else():
    core = grammar.corpus(0, n_train=300, n_dev=0, n_test=5, phenomena=grammar.CORE)
    assert {name for pair in core.train for name in pair.phenomena} == grammar.CORE
    assert {pair.clauses for pair in core.train} == {1}
    assert set(core.test) == {"random", "unseen_pairs", "subject_only", "longer", "clauses_1"}
    assert max(len(pair.source_tokens) for pair in core.train) <= 14


def test_the_share_of_clauses_is_chosen():
    even = grammar.corpus(0, n_train=200, n_dev=0, n_test=1, clauses=(0.5, 0, 0, 0.5))
    assert collections.Counter(pair.clauses for pair in even.train)[4] == pytest.approx(100, abs=25)


def test_a_stream_shows_what_is_asked_for_alone():
    asked = {"past", "classifier", "relative"}
    for pair in itertools.islice(grammar.pairs(0, phenomena=asked), 200):
        assert pair.phenomena <= asked


@pytest.mark.slow
def test_a_seed_gives_the_same_stream_in_every_process():
    code = "import itertools, hashlib; from stepformer.data.grammar import pairs; " \
        "p = list(itertools.islice(pairs(6), 200)); s = repr([(x.source, x.target, sorted(x.possible)) for x in p]); " \
        "print(hashlib.sha256(s.encode()).hexdigest())"  # fmt: skip
    digests = {
        subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, check=True,
                       capture_output=True, text=True).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(digests) == 1
    one, other = ([p.source for p in itertools.islice(grammar.pairs(seed), 50)] for seed in (6, 7))
    assert one != other


# What is refused


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"phenomena": {"past", "passive"}}, r"Unknown phenomena \['passive'\]"),
        ({"clauses": (0, 0)}, "shares"),
        ({"clauses": (2, -1)}, "shares"),
        ({"clauses": ()}, "shares"),
        ({"phenomena": grammar.CORE, "clauses": (0.5, 0.5)}, "cannot join"),
        ({"script": "pinyin"}, "script is 'pinyin'"),
        ({"phenomena": {"relative", "modal"}}, "no tense; add one of"),
        ({"phenomena": {"present", "relative"}}, "No sentence of 1 clauses shows 'relative'"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_a_reason(wrong, message):
    with pytest.raises(ValueError, match=message):
        next(grammar.pairs(0, **wrong))


def test_a_negative_size_is_refused():
    with pytest.raises(ValueError, match="n_test are 5, 5 and -1"):
        grammar.corpus(n_train=5, n_dev=5, n_test=-1)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("noun\tcat cats\t猫", "Line 1 has 3 columns"),
        ("# a\n\nnoun\tcat cats\t老 猫\t貓\t只\tanimal", "Line 3.*not the same number"),
        ("name\tA\t只\t隻\nname\tB\t只\t只", "Line 2: 只 is 隻 in another line"),
    ],
)
def test_a_broken_table_of_words_is_refused_by_its_line(table, message):
    with pytest.raises(ValueError, match=message):
        read(table)


def test_a_student_can_add_a_verb():
    more = read(PATH.read_text(encoding="utf-8") + "verb\ttell tells told -\t告诉\t告訴\tevent\tperson > animal\n")
    assert more.verbs[-1].past == "told"
    assert more.verbs[-1].whom == {"animal"}
