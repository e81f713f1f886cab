"""What the pages for teachers are made of agrees with the chapters: heads, mistakes, exercises, the syllabus."""

import json
import re
from collections import Counter
from html import escape

import pytest
from docutils import nodes
from helpers import CHAPTERS, ROOT, finished_chapters
from stepformer_book import chapter_heads
from stepformer_book.break_it import edit_words, fault_meanings, words
from stepformer_book.folded_inputs import fold_inputs, telling_cells
from stepformer_book.lessons import in_hours
from stepformer_book.report_error import ADVICE, new_issue, repository

from stepformer import exercises, mistakes
from stepformer.examples import EXAMPLES
from stepformer.mistakes.catalogue import PROGRAMS, catalogue
from stepformer.widgets import ExerciseView

HEADS = {chapter.name: chapter for chapter in chapter_heads.finished_chapters()}
EVERY = [exercise for chapter in exercises.CHAPTERS for exercise in exercises.of_chapter(chapter)]

every_chapter = pytest.mark.parametrize("path", finished_chapters(), ids=lambda path: path.stem)


# ---- the heads of the chapters --------------------------------------------------------------------------------------


def test_the_head_of_each_chapter_is_read_in_the_order_of_the_book():
    assert list(HEADS) == [path.stem for path in finished_chapters()]
    for chapter in HEADS.values():
        assert 10 <= chapter.minutes <= 120
        assert len(chapter.objectives) >= 4
        assert all(len(objective) > 20 and "\n" not in objective for objective in chapter.objectives)


def test_a_head_without_its_time_is_refused(tmp_path):
    cell = {"cell_type": "markdown", "source": ["# Attention\n", "\n", "**After this chapter you can**\n\n- count.\n"]}
    path = tmp_path / "05_attention.ipynb"
    path.write_text(json.dumps({"cells": [cell]}), encoding="utf-8")
    with pytest.raises(ValueError, match=r"05_attention\.ipynb: its head needs"):
        chapter_heads.read_chapter(path)


def test_a_chapter_tells_its_mistakes_and_exercises_in_their_order():
    attention = HEADS["05_attention"]
    assert (attention.title, attention.minutes, attention.number) == ("Attention", 60, 5)
    assert attention.mistakes == ("MASKS", "ATTENTION")
    assert attention.exercises[:2] == ("attention.score", "attention.weights")
    assert attention.objectives[0][0].islower()


# ---- break it -------------------------------------------------------------------------------------------------------


def test_every_mistake_belongs_to_one_chapter():
    shown = Counter(group for chapter in HEADS.values() for group in chapter.mistakes)
    assert sorted(shown) == sorted(mistakes.__all__)
    assert set(shown.values()) == {1}


@pytest.mark.parametrize("group", PROGRAMS)
def test_what_a_switch_edits_can_be_said(group):
    program = EXAMPLES[PROGRAMS[group]]()
    for entry in catalogue():
        if entry.group == group:
            said = edit_words(entry.mistake, program)
            assert said
            assert all(re.fullmatch(r"`[\w.]+` is .+", text) for text in said)
            assert len(words(said)) < 300


SAID = {
    ("ATTENTION", "Forget to scale"): "`scaled_scores` is `copy(scores)` instead of `scale(scores, query)`.",
    ("CAUSAL_CONVOLUTION", "Pad at the wrong end"): "`output` is `convolve_1d(x, weight, bias, after=2, before=0)` "
    "instead of `convolve_1d(x, weight, bias, after=0, before=2)`.",
    ("TRAINING_STEP", "Forget to shift the target"): "`tgt_in` is `汤姆 追逐 杰瑞 <eos> <pad>`.",
    ("ANALOGY", "Take away the wrong word"): "`signs` is −1.00, 1.00, 1.00.",
    ("LOOK_UP", "Ids of another vocabulary"): "`tokens` is 3, 4, 5.",
    # It also sets the key to what it is, which is nothing to be told.
    (
        "CACHE",
        "Append the value at the other end",
    ): "`self_attention.value` is `concat(new_value, cache.value)` instead of `concat(cache.value, new_value)`.",
    (
        "LSTM_GATES",
        "Swap the forget gate and the input gate",
    ): "`step_1.kept` is `multiply(input_gate, cell_0)` instead "
    "of `multiply(forget_gate, cell_0)`; and 7 more of the kind.",
}


@pytest.mark.parametrize(("mistake", "said"), SAID.items(), ids=lambda value: value[1] if len(value) == 2 else "")
def test_an_edit_is_said_as_what_is_computed_instead_of_what(mistake, said):
    (entry,) = [entry for entry in catalogue() if (entry.group, entry.mistake.name) == mistake]
    assert words(edit_words(entry.mistake, EXAMPLES[entry.program]())) == said


def test_the_meaning_of_a_fault_is_read_from_the_list():
    assert fault_meanings()["PE-02"].startswith("All sines are put before all cosines")


# ---- exercises ------------------------------------------------------------------------------------------------------


def test_every_exercise_is_asked_in_one_chapter():
    asked = [exercise for chapter in HEADS.values() for exercise in chapter.exercises]
    assert sorted(asked) == sorted(exercise.id for exercise in EVERY)


@every_chapter
def test_each_exercise_is_followed_by_its_folded_solution(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    asking = [i for i, cell in enumerate(cells) if _asks(cell)]
    for i in asking:
        # The second call of `check` judges the solution itself, which stands folded before it.
        folded = [k for k in (i - 1, i + 1) if "".join(cells[k]["source"]).startswith("<details><summary>Solution")]
        assert folded, "".join(cells[i]["source"])


def _asks(cell: dict) -> bool:
    source = "".join(cell["source"])
    return cell["cell_type"] == "code" and ("exercises.show(" in source or "exercises.check(" in source)


def test_code_among_the_exercises_that_asserts_is_folded():
    ask, prove = 'exercises.show("attention.score")', "assert by_hand == 7"
    assert telling_cells([prove, ask, prove, f"{prove}\n{ask}", "by_hand", ask, prove]) == [2, 3]
    assert telling_cells([prove, prove]) == []
    page = nodes.container("", *(_code_cell(source) for source in (prove, ask, prove, ask)))
    fold_inputs(None, page)
    assert [cell.get("hide_mode") for cell in page.children] == [None, None, "input", None]


def _code_cell(source: str) -> nodes.container:
    code = nodes.container("", nodes.literal_block(source, source), nb_element="cell_code_source")
    return nodes.container("", code, nb_element="cell_code")


@pytest.mark.parametrize("exercise", [e for e in EVERY if not isinstance(e, exercises.Code)], ids=lambda e: e.id)
def test_no_verdict_stands_in_the_page_in_plain_text(exercise):
    html = ExerciseView(exercise).html()
    for message in (exercise.right, *(wrong.message for wrong in exercise.wrong)):
        assert message not in html
        assert escape(message) not in html


@pytest.mark.parametrize("exercise", EVERY, ids=lambda exercise: exercise.id)
def test_an_exercise_has_a_level_and_answers_of_its_form(exercise):
    assert exercise.level in exercises.LEVELS
    if isinstance(exercise, exercises.Choice):
        named = [exercise.answer, *(wrong.answer for wrong in exercise.wrong)]
        assert sorted(named) == list(range(len(exercise.choices))), "each choice has one verdict"
        assert len(set(exercise.choices)) == len(exercise.choices)
    if isinstance(exercise, exercises.Number):
        assert all(len(ExerciseView(exercise)._document["fields"]) == _length(answer)
                   for answer in (exercise.answer, *(wrong.answer for wrong in exercise.wrong)))  # fmt: skip


def _length(answer) -> int:
    return len(answer) if hasattr(answer, "__len__") else 1


def test_every_level_has_its_share_and_every_chapter_more_than_one():
    levels = Counter(exercise.level for exercise in EVERY)
    assert min(levels[level] for level in exercises.LEVELS) >= 20
    for chapter in exercises.CHAPTERS:
        assert len({exercise.level for exercise in exercises.of_chapter(chapter)}) >= 2, chapter


# ---- the syllabus ---------------------------------------------------------------------------------------------------

TEACHERS = (ROOT / "book" / "teachers.md").read_text(encoding="utf-8")
LESSONS = re.findall(r"^```\{lesson\} ([^\n]+)\n((?::[^\n]+\n)+)\n(.*?)^```", TEACHERS, flags=re.M | re.S)


def option(head: str, name: str) -> list[str]:
    found = re.search(rf"^:{name}: (.+)$", head, flags=re.M)
    return found[1].split() if found else []


def test_six_lessons_hold_every_finished_chapter_once():
    assert len(LESSONS) == 6
    planned = [name for _, head, _ in LESSONS for name in option(head, "chapters") + option(head, "optional")]
    assert len(planned) == len(set(planned))
    assert set(HEADS) <= set(planned)
    stray = set(planned) - set(HEADS) - {path.stem for path in CHAPTERS}
    assert stray <= {"18_looking_inside", "19_scaling_up"}, "a chapter that neither exists nor is planned"


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson[0])
def test_a_lesson_shows_switches_and_sets_questions_of_its_own_chapters(lesson):
    _, head, content = lesson
    own = [HEADS[name] for name in option(head, "chapters") + option(head, "optional") if name in HEADS]
    switches = {m.name for chapter in own for group in chapter.mistakes for m in getattr(mistakes, group)}
    named = re.findall(r"[Ss]witch(?:ed)? on\s+\*([^*]+)\*", content)
    assert named
    assert {" ".join(name.split()) for name in named} <= switches
    homework = option(head, "homework")
    assert set(homework) <= {exercise for chapter in own for exercise in chapter.exercises}
    assert len(homework) == 5
    assert not any(isinstance(exercises.find(exercise), exercises.Code) for exercise in homework)


@pytest.mark.parametrize(
    ("minutes", "said"), [(45, "45 minutes"), (60, "1 hour"), (135, "2 hours 15 minutes"), (0, "0 minutes")]
)
def test_minutes_are_said_in_hours(minutes, said):
    assert in_hours(minutes) == said


# ---- reporting an error ---------------------------------------------------------------------------------------------


def test_the_repository_is_that_of_the_configuration_or_that_of_the_citation():
    assert (
        repository({"repository_url": "https://e.org/a/"}, {"repository-code": "https://e.org/b"}) == "https://e.org/a"
    )
    assert repository({"repository_url": ""}, {"repository-code": "https://e.org/b"}) == "https://e.org/b"
    assert repository({}, {}) == ""


def test_a_report_names_its_page():
    address = new_issue("https://e.org/a", "chapters/05_attention", "Attention & more")
    assert address.startswith("https://e.org/a/issues/new?title=Error+on+the+page+Attention+%26+more&body=Page%3A")


def test_the_advice_exists():
    page, place = ADVICE
    headings = re.findall(r"^## (.+)$", (ROOT / f"{page}.md").read_text(encoding="utf-8"), flags=re.M)
    assert place in {heading.lower().replace(" ", "-") for heading in headings}
