"""Exercises that answer at once: the right answer, and the usual wrong ones recognised by name.

What is accepted is computed by the tested package, stored in the page in an obscured form, and compared by the same
JavaScript (`web/exercise/check.js`) in JupyterLab and on a page without a kernel. Exercises in which the reader
writes code need Python.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepformer.formatting import stable_round

FORMAT = "stepformer.exercise/1"
LEVELS = {
    "recall": "what the chapter says, found again in another example",
    "compute": "a number or a short procedure, with a pencil",
    "think": "why it is so, what would follow, or a function to write",
}
"""What an exercise asks for, from the first to the last."""
KEPT_DECIMALS = 6
"""Answers are stored with so many decimals: enough for every tolerance, and the same on every CPU."""


@dataclass(frozen=True)
class Feedback:
    """The verdict on one answer."""

    right: bool
    message: str

    def __repr__(self) -> str:
        return f"{'✓' if self.right else '✗'} {self.message}"


@dataclass(frozen=True)
class Wrong:
    """A known wrong answer and what to say about it."""

    answer: Any
    message: str


@dataclass(frozen=True)
class Number:
    """An exercise whose answer is one number, or several in labelled fields.

    Attributes:
        id: chapter and name, for example "attention.score".
        question: plain text.
        answer: the right number or numbers.
        wrong: known wrong answers, each with its message.
        right: what to say to the right answer.
        tolerance: how far an answer may be off, absolutely, in each field.
        fields: one label per number.
        hint: a nudge, shown on request.
        near: what to say to any other number.
        level: one of `LEVELS`.
    """

    id: str
    question: str
    answer: float | Sequence[float]
    wrong: Sequence[Wrong]
    right: str
    tolerance: float = 0.005
    fields: Sequence[str] = ("Answer",)
    hint: str = ""
    near: str = "Not yet. Look at the row, the column and each product once more."
    level: str = "compute"

    def check(self, answer: float | Sequence[float]) -> Feedback:
        """Judge an answer.

        Args:
            answer: one finite number per field.

        Returns:
            The verdict with its message.

        Raises:
            ValueError: the number of numbers is not the number of fields, or something is no finite number.
        """
        given = _numbers(answer)
        if given is None or np.shape(given) not in ((len(self.fields),), () if len(self.fields) == 1 else None):
            raise ValueError(
                f"{self.id}: one finite number per field is asked for ({', '.join(self.fields)}); given {answer!r}."
            )
        if self._fits(given, self.answer):
            return Feedback(True, self.right)
        for wrong in self.wrong:
            if self._fits(given, wrong.answer):
                return Feedback(False, wrong.message)
        return Feedback(False, self.near)

    def _fits(self, given: np.ndarray, target: float | Sequence[float]) -> bool:
        # A last-bit allowance, so that an answer exactly at the tolerance counts here and in the page alike.
        return bool(np.all(np.abs(given - _kept(target)) <= self.tolerance + 1e-9))

    def document(self) -> dict[str, Any]:
        """What the page reads: the question in plain, the key obscured."""
        key = {
            "accept": [_kept(self.answer).tolist()],
            "tolerance": self.tolerance,
            "right": self.right,
            "wrong": [{"match": _kept(wrong.answer).tolist(), "message": wrong.message} for wrong in self.wrong],
            "near": self.near,
        }
        fields = {"kind": "number", "question": self.question, "fields": list(self.fields), "hint": self.hint}
        return _document(self.id, fields, key)


@dataclass(frozen=True)
class Choice:
    """An exercise whose answer is one of several sentences.

    Attributes:
        id: chapter and name.
        question: plain text.
        choices: the sentences.
        answer: position of the right one.
        wrong: `Wrong(position, message)` for the others.
        right: what to say to the right answer.
        hint: a nudge, shown on request.
        level: one of `LEVELS`.
    """

    id: str
    question: str
    choices: Sequence[str]
    answer: int
    wrong: Sequence[Wrong]
    right: str
    hint: str = ""
    level: str = "think"

    def check(self, answer: int) -> Feedback:
        """Judge a choice.

        Args:
            answer: position of the chosen sentence, from 0.

        Returns:
            The verdict with its message.

        Raises:
            ValueError: there is no such choice.
        """
        if np.ndim(answer) or answer not in range(len(self.choices)):
            raise ValueError(f"{self.id}: choose one of 0 … {len(self.choices) - 1}; given {answer!r}.")
        if answer == self.answer:
            return Feedback(True, self.right)
        return Feedback(False, next(wrong.message for wrong in self.wrong if wrong.answer == answer))

    def document(self) -> dict[str, Any]:
        """What the page reads: the question in plain, the key obscured."""
        wrong = [{"index": w.answer, "message": w.message} for w in self.wrong]
        key = {"accept": {"index": self.answer}, "right": self.right, "wrong": wrong, "near": ""}
        fields = {"kind": "choice", "question": self.question, "choices": list(self.choices), "hint": self.hint}
        return _document(self.id, fields, key)


@dataclass(frozen=True)
class Code:
    """An exercise in which the reader writes a function. It needs Python.

    Attributes:
        id: chapter and name.
        question: plain text.
        solution: a correct function; its results are the right ones.
        cases: argument tuples on which the functions are compared.
        wrong: `Wrong(function, message)` for known mistakes.
        right: what to say to a correct function.
        tolerance: largest absolute difference in any number.
        level: one of `LEVELS`.
    """

    id: str
    question: str
    solution: Callable
    cases: Sequence[tuple]
    wrong: Sequence[Wrong]
    right: str
    tolerance: float = 1e-9
    level: str = "think"

    def check(self, function: Callable) -> Feedback:
        """Run the reader's function on every case and recognise known mistakes.

        Args:
            function: takes the arguments of a case.

        Returns:
            The verdict with its message. An exception in the function becomes part of the message.
        """
        given = []
        for case in self.cases:
            arguments = [np.array(argument) for argument in case]
            try:
                given.append(function(*arguments))
            except NotImplementedError:
                return Feedback(False, "The function is not written yet.")
            except Exception as error:
                shapes = ", ".join(str(a.shape) for a in arguments)
                return Feedback(False, f"On inputs of shapes {shapes} it fails: {type(error).__name__}: {error}")
        if self._agree(given, self.solution):
            return Feedback(True, self.right)
        for wrong in self.wrong:
            if self._agree(given, wrong.answer):
                return Feedback(False, wrong.message)
        expected = np.shape(self.solution(*self.cases[0]))
        if given[0] is None:
            return Feedback(False, f"The function returns nothing; it should return an array of shape {expected}.")
        if any(_numbers(result, finite=False) is None for result in given):
            return Feedback(
                False, f"What the function returns is no array of real numbers; it should be one of shape {expected}."
            )
        if np.shape(given[0]) != expected:
            return Feedback(False, f"The result has shape {np.shape(given[0])}; it should have {expected}.")
        return Feedback(
            False, "The shape is right, the numbers are not yet. Compare one step at a time with the player."
        )

    def _agree(self, given: Sequence[Any], function: Callable) -> bool:
        for result, case in zip(given, self.cases, strict=True):
            expected = function(*case)
            result = _numbers(result, finite=False)
            if result is None or result.shape != np.shape(expected):
                return False
            if not np.allclose(result, expected, rtol=0, atol=self.tolerance):
                return False
        return True


def _numbers(given: Any, finite: bool = True) -> np.ndarray | None:
    """What was given as real numbers; None if it is something else: a text, ragged lists, complex numbers, NaN."""
    try:
        array = np.asarray(given)
    except Exception:  # whatever an object of the reader's does when it is asked for an array
        return None
    if array.dtype.kind not in "biuf":
        return None
    array = array.astype(float)
    return array if np.isfinite(array).all() or not finite else None


def _kept(answer: float | Sequence[float]) -> np.ndarray:
    return stable_round(np.atleast_1d(np.asarray(answer, dtype=float)), KEPT_DECIMALS)


def _document(exercise_id: str, fields: Mapping[str, Any], key: Mapping[str, Any]) -> dict[str, Any]:
    return {"format": FORMAT, "id": exercise_id, **fields, "key": obscure(key, exercise_id)}


def obscure(key: Mapping[str, Any], exercise_id: str) -> str:
    """Make an answer key unreadable at a glance. This keeps no secret from anyone who wants to know.

    Args:
        key: the answer key.
        exercise_id: its bytes are repeated and combined with the key's by exclusive or.

    Returns:
        Base64 text.
    """
    from stepformer.trace_json import dumps

    pad = exercise_id.encode()
    raw = dumps(key).encode()
    return base64.b64encode(bytes(b ^ pad[i % len(pad)] for i, b in enumerate(raw))).decode("ascii")
