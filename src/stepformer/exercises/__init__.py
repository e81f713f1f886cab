"""The book's exercises, by chapter.

`exercises.show("attention.score")` shows one; `exercises.check("attention.write", function)` judges code.
"""

from collections.abc import Callable
from importlib import import_module

from stepformer.exercises.exercise import LEVELS, Choice, Code, Feedback, Number, Wrong

__all__ = ["CHAPTERS", "LEVELS", "Choice", "Code", "Feedback", "Number", "Wrong", "check", "find", "of_chapter", "show"]

CHAPTERS = (
    "what_you_need",
    "feed_forward_and_convolution",
    "embedding",
    "recurrent",
    "encoder_decoder",
    "attention",
    "self_attention",
    "cross_attention",
    "multi_head_attention",
    "positional_encoding",
    "input_block",
    "encoder",
    "decoder",
    "output",
    "transformer",
    "gradients",
    "training",
    "decoding_and_evaluation",
    "looking_inside",
    "scaling_up",
)
"""Modules of this package that hold exercises; each has a tuple EXERCISES."""


def find(exercise_id: str) -> Number | Choice | Code:
    """The exercise with this id.

    Args:
        exercise_id: chapter and name, for example "attention.score".

    Returns:
        The exercise.

    Raises:
        KeyError: there is none; the message lists the ids of the chapter.
    """
    chapter = exercise_id.split(".")[0]
    if chapter not in CHAPTERS:
        raise KeyError(f"No chapter {chapter!r} has exercises. These have: {', '.join(CHAPTERS)}.")
    known = {exercise.id: exercise for exercise in of_chapter(chapter)}
    if exercise_id not in known:
        raise KeyError(f"There is no exercise {exercise_id!r}. There are: {', '.join(known)}.")
    return known[exercise_id]


def of_chapter(chapter: str) -> tuple[Number | Choice | Code, ...]:
    """All exercises of a chapter.

    Args:
        chapter: one of `CHAPTERS`.

    Returns:
        The exercises, in the order of the chapter's file.
    """
    return import_module(f"stepformer.exercises.{chapter}").EXERCISES


def show(exercise_id: str):
    """Show an exercise that answers at once, in JupyterLab and on a page without a kernel.

    Args:
        exercise_id: chapter and name, for example "attention.score".

    Returns:
        A widget.

    Raises:
        KeyError: there is no such exercise.
        TypeError: the reader writes code in this one; use `check`.
    """
    from stepformer.widgets import ExerciseView

    exercise = find(exercise_id)
    if isinstance(exercise, Code):
        raise TypeError(f"{exercise_id} needs code: call exercises.check({exercise_id!r}, your_function).")
    return ExerciseView(exercise)


def check(exercise_id: str, answer: float | int | Callable) -> Feedback:
    """Judge an answer: a number, a choice, or a function for an exercise in which code is written.

    Args:
        exercise_id: chapter and name.
        answer: what the exercise asks for.

    Returns:
        The verdict; printed, it says what is wrong.

    Raises:
        KeyError: there is no such exercise.
        ValueError: the answer has the wrong form.
    """
    return find(exercise_id).check(answer)
