"""Every exercise of the book: its solution passes, each known wrong answer is named, here and in the page."""

import json
from importlib import import_module

import pytest
from engine import run_module

from stepformer import exercises

ALL = [e for chapter in exercises.CHAPTERS for e in import_module(f"stepformer.exercises.{chapter}").EXERCISES]
ON_THE_PAGE = [e for e in ALL if not isinstance(e, exercises.Code)]

CHECK_IN_THE_PAGE = """
import { check, decodeKey } from "./exercise/check.js";
const text = await new Response(process.stdin).text();
const verdicts = JSON.parse(text).map(({ document: { id, kind, key }, answer }) =>
  check(kind, decodeKey(id, key), answer));
console.log(JSON.stringify(verdicts));
"""


@pytest.mark.parametrize("exercise", ALL, ids=lambda exercise: exercise.id)
def test_an_exercise_accepts_its_solution_and_names_each_wrong_answer(exercise):
    assert exercises.find(exercise.id) is exercise
    right = exercise.solution if isinstance(exercise, exercises.Code) else exercise.answer
    verdict = exercise.check(right)
    assert verdict.right
    assert verdict.message == exercise.right
    assert len(exercise.wrong) >= 2
    for wrong in exercise.wrong:
        verdict = exercise.check(wrong.answer)
        assert not verdict.right
        assert verdict.message == wrong.message


def test_every_chapter_has_four_exercises_or_more():
    for chapter in exercises.CHAPTERS:
        assert sum(exercise.id.startswith(f"{chapter}.") for exercise in ALL) >= 4, chapter


def test_the_page_gives_the_verdicts_of_python():
    cases = [(e, answer) for e in ON_THE_PAGE for answer in [e.answer, *(wrong.answer for wrong in e.wrong)]]
    cases += [(e, [1234.5] * len(e.fields)) for e in ON_THE_PAGE if isinstance(e, exercises.Number)]
    asked = [{"document": e.document(), "answer": listed(answer)} for e, answer in cases]
    verdicts = json.loads(run_module(CHECK_IN_THE_PAGE, json.dumps(asked)))
    assert len(verdicts) == len(cases) > 100
    for (exercise, answer), verdict in zip(cases, verdicts, strict=True):
        expected = exercise.check(answer)
        assert (verdict["right"], verdict["message"]) == (expected.right, expected.message), exercise.id


def listed(answer) -> list[float]:
    """Return an answer as the page's fields hold it: one number each."""
    return [float(x) for x in answer] if hasattr(answer, "__len__") else [float(answer)]


@pytest.mark.parametrize(
    ("name", "answer"),
    [("score", 6.8936), ("weights", [0.576, 0.212, 0.212]), ("temperature", 0), ("why_scale", 1), ("cost", 144)],
)
def test_the_answers_of_the_attention_chapter_are_those_worked_out_by_hand(name, answer):
    assert exercises.check(f"attention.{name}", answer).right
