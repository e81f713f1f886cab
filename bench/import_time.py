"""How long a reader waits for `import stepformer`, beside `import numpy`, and what it loads."""

from results import Figure, fresh_python, median, versions, write

RUNS = 15
TIMED = "import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
HEAVY = ("torch", "matplotlib", "anywidget", "IPython")
LOADED = f"import sys, stepformer; print(sum(name in sys.modules for name in {HEAVY}))"


def main() -> None:
    """Import each module in new processes, in turn, so that a busy moment meets all of them."""
    modules = ("numpy", "stepformer", "stepformer.nn")
    seconds: dict[str, list[float]] = {module: [] for module in modules}
    for run in range(RUNS + 1):
        for module in modules:
            taken = float(fresh_python(TIMED.format(module=module)))
            if run:  # the first reads the files from the disk
                seconds[module].append(taken)
    numpy, stepformer, nn = (median(seconds[module]) for module in modules)
    figures = [
        Figure("numpy", "import numpy", numpy, "s"),
        Figure("stepformer", "import stepformer", stepformer, "s"),
        Figure("more_than_numpy", "import stepformer, more than import numpy", stepformer - numpy, "s", bar=0.35),
        Figure("times_numpy", "import stepformer, as a multiple of import numpy", stepformer / numpy, "×"),
        Figure("heavy_modules", f"of {', '.join(HEAVY)} loaded by it", float(fresh_python(LOADED)), "", bar=0),
        Figure("stepformer_nn", "import stepformer.nn, with torch", nn, "s"),
    ]
    how = f"Median of {RUNS} new processes each, in turn, after one that warms the disk's cache."
    write("import_time", figures, versions(["numpy", "torch"]), how)


if __name__ == "__main__":
    main()
