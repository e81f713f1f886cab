"""How a benchmark states its figures: one JSON file each, which the book and the README read, and one table."""

import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
ARCHITECTURES = {"amd64": "x86-64", "x86_64": "x86-64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Figure:
    """One measured figure.

    A bar is what it must not exceed, or, with `at_least`, what it must reach; a figure without one is for information.
    """

    name: str
    what: str
    value: float
    unit: str
    bar: float | None = None
    at_least: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the bar is met, or None without one."""
        if self.bar is None:
            return None
        return self.value >= self.bar if self.at_least else self.value <= self.bar


def machine() -> str:
    """Return the class of the computer: the kind of processor and the number of cores, no names."""
    kind = platform.machine().lower()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{ARCHITECTURES.get(kind, kind)}, {cores} cores"


def versions(packages: Iterable[str], **others: str) -> dict[str, str]:
    """Return the versions of Python, of installed packages, and of what else is named."""
    return {
        "python": platform.python_version(),
        **{package: importlib.metadata.version(package) for package in packages},
        **others,
    }


def median(numbers: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(numbers)


def percentile(numbers: Sequence[float], percent: int) -> float:
    """Return the smallest measured number that at least `percent` of 100 of them do not exceed."""
    ordered = sorted(numbers)
    return ordered[max(0, -(-percent * len(ordered) // 100) - 1)]


def load() -> float:
    """Return how many processes waited for a processor on average in the last minute; above the cores it disturbs."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else float("nan")


def write(name: str, figures: Sequence[Figure], used: dict[str, str], how: str) -> Path:
    """Write `bench/<name>.json`.

    Args:
        name: the benchmark.
        figures: what it measured.
        used: versions of what was measured with.
        how: one or two sentences on how it was measured.

    Returns:
        The file.
    """
    document = {
        "benchmark": name,
        "how": how,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "versions": used,
        "figures": {figure.name: _fields(figure) for figure in figures},
    }
    path = BENCH / f"{name}.json"
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def _fields(figure: Figure) -> dict[str, object]:
    """What the file holds of a figure; `at_least` stands there only beside a bar that is to be reached."""
    fields = asdict(figure) | {"value": float(f"{figure.value:.4g}"), "met": figure.met}
    del fields["name"]
    if figure.bar is None or not figure.at_least:
        del fields["at_least"]
    return fields


def table(paths: Iterable[Path]) -> str:
    """Return the figures of several benchmarks as one table of text."""
    rows = [("benchmark", "figure", "measured", "bar", "")]
    for path in paths:
        document = json.loads(path.read_text(encoding="utf-8"))
        for figure in document["figures"].values():
            sign = "≥" if figure.get("at_least") else "≤"
            bar = "" if figure["bar"] is None else f"{sign} {figure['bar']:g}"
            verdict = {True: "met", False: "MISSED", None: ""}[figure["met"]]
            measured = f"{figure['value']:g} {figure['unit']}".strip()
            rows.append((document["benchmark"], figure["what"], measured, bar, verdict))
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def fresh_python(code: str) -> str:
    """Run code in a new Python and return what it prints."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
