"""The measured curves of the book's machines: quality against the number of clauses, at several moments of training."""

import json
from pathlib import Path
from typing import NamedTuple

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
        ValueError: it holds something else.
    """
    contents = json.loads(file.read_text(encoding="utf-8"))
    if contents.get("format") != FORMAT or tuple(contents["clauses"]) != CLAUSES:
        raise ValueError(f"{file} has the format {contents.get('format')!r}; it must be {FORMAT!r}.")
    runs = {
        name: Curve(run["preset"], run["parameters"], tuple(_moment(one) for one in run["moments"]))
        for name, run in contents["runs"].items()
    }
    return Curves(contents["cpu"], contents["n"], contents["signature"], runs)


def _moment(row: dict) -> Moment:
    return Moment(row["step"], row["cpu_seconds"], *(tuple(row[name]) for name in Moment._fields[2:]))
