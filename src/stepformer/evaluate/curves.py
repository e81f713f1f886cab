"""The measured curves of the book's machines: quality against the number of clauses, at several moments of training."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

FORMAT = "stepformer.curves/1"
FILE = Path(__file__).parents[1] / "models" / "curves.json"
"""Made by scripts/make_curves.py; models/README.md describes it."""
CLAUSES = (1, 2, 3, 4, 5, 6)
"""Training has sentences of one to four clauses."""


class Moment(NamedTuple):
    """What a model could do after so much training.

    Attributes:
        step: number of updates.
        cpu_seconds: processor time of the training until then, on one thread.
        bleu: sacrebleu's score, from 0 to 100, for each number of `CLAUSES`.
        low: the lower end of its interval of 95 %, by the bootstrap.
        high: the upper end.
        exact: the share of the sentences that are exactly right, for each number of `CLAUSES`.
        as_many: the share of the translations that have as many clauses as the source.
    """

    step: int
    cpu_seconds: float
    bleu: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    exact: tuple[float, ...]
    as_many: tuple[float, ...]


class Curve(NamedTuple):
    """One training.

    Attributes:
        preset: the recipe.
        parameters: how many numbers the model has learnt.
        moments: the moments at which it was measured, the last of them at its end.
    """

    preset: str
    parameters: int
    moments: tuple[Moment, ...]

    @property
    def final(self) -> Moment:
        """The end of the training."""
        return self.moments[-1]


class Curves(NamedTuple):
    """All trainings, on the same sentences.

    Attributes:
        cpu: the class of the computer.
        n: how many sentences of each number of clauses.
        signature: how sacrebleu counted.
        runs: the name of each training -> its curve.
    """

    cpu: str
    n: int
    signature: str
    runs: dict[str, Curve]


def load(file: Path = FILE) -> Curves:
    """Read the measured curves.

    Args:
        file: where they are.

    Returns:
        The curves.

    Raises:
        OSError: the file can not be read.
        ValueError: it holds something else, or is damaged; the message says where.
    """
    try:
        contents = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is no JSON: {error}.") from error
    if not isinstance(contents, dict):
        raise ValueError(f"{file} is no object with a format.")
    if contents.get("format") != FORMAT or contents.get("clauses") != list(CLAUSES):
        raise ValueError(
            f"{file} has the format {contents.get('format')!r} and the clauses {contents.get('clauses')}; "
            f"it must have {FORMAT!r} and {list(CLAUSES)}."
        )
    where = f"{file}:"
    cpu, n, signature, runs = _values(contents, where, cpu=_is_text, n=_is_count, signature=_is_text, runs=_is_table)
    return Curves(cpu, n, signature, {name: _curve(run, f"{where} {name}") for name, run in runs.items()})


def _curve(run: Any, where: str) -> Curve:
    preset, parameters, moments = _values(
        run, f"{where}:", preset=_is_text, parameters=_is_count, moments=lambda x: isinstance(x, list) and x
    )
    return Curve(preset, parameters, tuple(_moment(one, f"{where}, moment {k}:") for k, one in enumerate(moments)))


def _moment(row: Any, where: str) -> Moment:
    step, seconds, *lists = _values(
        row, where, step=_is_count, cpu_seconds=_is_number, **dict.fromkeys(Moment._fields[2:], _is_row)
    )
    return Moment(step, seconds, *map(tuple, lists))


def _values(table: Any, where: str, **fields: Callable[[Any], Any]) -> list[Any]:
    """The values of some fields, each of which must fit."""
    if not _is_table(table):
        raise ValueError(f"{where} it is no object, but {table!r:.60}.")
    for name, fits in fields.items():
        if not fits(table.get(name)):
            raise ValueError(f"{where} {name} is {table.get(name)!s:.60}, which can not be.")
    return [table[name] for name in fields]


def _is_table(x: Any) -> bool:
    return isinstance(x, dict)


def _is_text(x: Any) -> bool:
    return isinstance(x, str)


def _is_count(x: Any) -> bool:
    return type(x) is int and x >= 0  # a truth value is no number here


def _is_number(x: Any) -> bool:
    return type(x) in (int, float) and 0 <= x < math.inf


def _is_row(x: Any) -> bool:
    return isinstance(x, list) and len(x) == len(CLAUSES) and all(map(_is_number, x))
