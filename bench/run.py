"""Run the benchmarks and print one table: `python bench/run.py`, or with names: `python bench/run.py page latency`.

Each also runs alone and writes `bench/<name>.json`. They measure, they do not test: nothing here fails a build.
"""

import argparse
import subprocess
import sys

from results import BENCH, load, table

BENCHMARKS = ("import_time", "ops", "latency", "chapter_latency", "page", "attention_cost", "recurrent_time",
              "multi_head", "transformer_step", "training", "training_speed", "training_cost", "data_parallel",
              "tokenizing", "decoding", "translator", "timeline", "grammar")  # fmt: skip
LONG = ("hsk", "alignment", "lighthouse")
"""Run alone: two with half an hour of training, and `bench/lighthouse.py`, whose tool is installed for it."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code: 1 when a benchmark could not be run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(BENCHMARKS)}; all when none is given")
    names = parser.parse_args(arguments).names or BENCHMARKS
    if unknown := set(names) - set(BENCHMARKS):
        parser.error(f"no benchmark is named {', '.join(sorted(unknown))}")
    if load() > 0.5:
        print(f"Other programs are busy (load {load()}): the figures will be higher than on a quiet computer.")
    failed = []
    for name in names:
        print(f"measuring {name} …", flush=True)
        if subprocess.run([sys.executable, str(BENCH / f"{name}.py")]).returncode:
            failed.append(name)
    print("\n" + table(BENCH / f"{name}.json" for name in names if name not in failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
