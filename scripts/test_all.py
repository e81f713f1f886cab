"""Run the tests the long way and print a summary: repeated, with one and two threads, other seeds, other kernels.

    python scripts/test_all.py              all runs
    python scripts/test_all.py haswell      the runs whose name contains the word

`make test` shows that everything passes once. This shows that it does not pass by luck: of the order, of the number
of threads, of a seed, or of the processor whose instructions the linear algebra happens to use.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

EVERYTHING = ["--nbval", "--nbval-current-env", "tests", "chapters"]
NUMBERS = ["-m", "not browser", "tests"]
OTHER_EXAMPLES = ["--hypothesis-profile=explore"]
NOTEBOOKS = ["--nbval", "--nbval-current-env", "chapters"]


def threads(count: int) -> dict[str, str]:
    """Environment variables that give every numeric library so many threads."""
    return {name: str(count) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


HASWELL = {"OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "avx2"}

# Also what `make test` leaves out for its length: every chapter in JupyterLab.
LONG = {"STEPFORMER_LONG": "1"}

# Name of the run, environment, pytest's arguments.
RUNS = [
    ("everything", threads(1), ["-n", "2", "--dist", "loadfile", "--no-loadscope-reorder", *EVERYTHING]),
    ("everything again, in one process", threads(1) | LONG, EVERYTHING),
    ("numbers, two threads", threads(2), NUMBERS),
    ("notebooks, two threads", threads(2), NOTEBOOKS),
    ("notebooks, kernels of haswell", threads(1) | HASWELL, NOTEBOOKS),
    ("numbers, kernels of haswell", threads(1) | HASWELL, NUMBERS),
    *[
        (f"numbers, seed {seed}", threads(1), [*OTHER_EXAMPLES, f"--hypothesis-seed={seed}", *NUMBERS])
        for seed in (1, 2, 3)
    ],
]


def run(environment: dict[str, str], arguments: list[str]) -> tuple[bool, str]:
    """Run pytest, showing its output as it comes; return whether it passed and its closing line."""
    command = [sys.executable, "-m", "pytest", "-q", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, stdout=subprocess.PIPE, text=True)
    closing = "no closing line"
    for line in process.stdout:
        print(line, end="", flush=True)
        if re.search(r"\d+ (passed|failed|error)", line):
            closing = re.sub(r"\x1b\[[\d;]*m|=", "", line).strip()
    return process.wait() == 0, closing


def main(words: list[str]) -> int:
    """Run the runs whose names contain every word; return the exit code."""
    rows = []
    for name, environment, arguments in RUNS:
        if all(word in name for word in words):
            print(f"\n──── {name} ────", flush=True)
            started = time.monotonic()
            passed, closing = run(environment, arguments)
            rows.append((name, passed, round(time.monotonic() - started), closing))
    print(f"\n{'run':<36} {'':<6} {'s':>5}  pytest's closing line")
    for name, passed, seconds, closing in rows:
        print(f"{name:<36} {'ok' if passed else 'FAILED':<6} {seconds:>5}  {closing}")
    return 0 if rows and all(passed for _, passed, *_ in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
