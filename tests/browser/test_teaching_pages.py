"""The pages for teachers as they are built: everything is listed once, nothing is told that is to be found out."""

import re
from html import unescape

import pytest
from helpers import toc_files
from stepformer_book import chapter_heads
from stepformer_book.question_bank import anchor

from stepformer import exercises
from stepformer.mistakes.catalogue import catalogue

EVERY = [exercise for chapter in exercises.CHAPTERS for exercise in exercises.of_chapter(chapter)]
HEADS = chapter_heads.finished_chapters()


def page(site, name):
    return (site / f"{name}.html").read_text(encoding="utf-8")


def text(html):
    """The words of a page, without its tags."""
    return " ".join(unescape(re.sub(r"<[^>]+>", "", html)).split())


def test_break_it_lists_every_mistake_of_every_chapter_once(site):
    article = page(site, "book/break_it").partition("<article")[2]
    terms = [text(term) for term in re.findall(r"<dt>(.*?)</dt>", article)]
    entries = list(catalogue())
    assert sorted(terms) == sorted(entry.mistake.name for entry in entries)
    words = text(article)
    for entry in entries:
        assert " ".join(entry.mistake.symptom.split()) in words, entry.mistake.name
        assert f"Caught by {entry.mistake.caught_by}: " in words
    assert words.count("Known as ") == sum(len(entry.faults) for entry in entries)


def test_the_bank_asks_every_exercise_once_and_tells_no_answer(site):
    html = page(site, "book/question_bank")
    for exercise in EVERY:
        assert html.count(f'id="{anchor(exercise.id)}"') == 1
        for message in (exercise.right, *(wrong.message for wrong in exercise.wrong)):
            assert message not in unescape(html), exercise.id
    assert html.count("<stepformer-exercise") == sum(not isinstance(exercise, exercises.Code) for exercise in EVERY)


def test_homework_leads_to_its_question(site):
    asked = re.findall(r'href="question_bank\.html#(question-[\w-]+)"', page(site, "book/teachers"))
    assert len(asked) == 30
    assert set(asked) <= set(re.findall(r'id="(question-[\w-]+)"', page(site, "book/question_bank")))


def test_the_syllabus_adds_up_the_minutes_of_the_chapters(site):
    words = text(page(site, "book/teachers"))
    assert "Reading What you need (40 minutes), Tokens and vectors (75 minutes): 1 hour 55 minutes." in words
    total = sum(chapter.minutes for chapter in HEADS)
    assert f"All {len(HEADS)} chapters together: {total // 60} hours" in words
    for chapter in HEADS:
        assert f"{chapter.number} · {chapter.title}, {chapter.minutes} minutes" in words


@pytest.mark.parametrize("name", toc_files())
def test_each_page_ends_in_a_link_to_report_an_error(name, site):
    (link,) = re.findall(
        r'<p class="report-error"><a href="([^"]+)">Report an error on this page</a></p>', page(site, name)
    )
    target = unescape(link)
    if not target.startswith("https:"):
        assert target.endswith("#if-you-find-an-error")
        place = (site / f"{name}.html").parent / target.partition("#")[0] if target[0] != "#" else site / f"{name}.html"
        assert 'id="if-you-find-an-error"' in place.read_text(encoding="utf-8")
