"""What recording costs: an op beside its plain function, attention recorded and not, and a program's re-run."""

import time
from collections.abc import Callable

import numpy as np
from results import Figure, median, versions, write
from workloads import attention_of, toy, wide

from stepformer.ops import matmul
from stepformer.recording import record
from stepformer.reference.attention import scaled_dot_product_attention
from stepformer.trace import OPS

ROUNDS, SECONDS_A_ROUND = 40, 0.01


def side_by_side(*calls: Callable[[], object]) -> list[float]:
    """Return the median processor time of each call in seconds; the calls take turns, each for a short while."""
    loops = []
    for call in calls:
        start = time.process_time()
        for _ in range(20):
            call()
        loops.append(max(1, int(SECONDS_A_ROUND / ((time.process_time() - start) / 20))))
    taken: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, n, times in zip(calls, loops, taken, strict=True):
            start = time.process_time()
            for _ in range(n):
                call()
            times.append((time.process_time() - start) / n)
    return [median(times) for times in taken]


def recorded(arrays: dict[str, np.ndarray]) -> None:
    """Record attention; what is recorded is thrown away."""
    with record():
        attention_of(arrays)


def main() -> None:
    """Measure toy sizes and 64 tokens × 64."""
    figures = []
    for size, arrays in (("toy", toy()), ("64 × 64", wide())):
        key = size.replace(" × ", "x")
        a, b = arrays["query"], np.ascontiguousarray(arrays["key"].T)
        plain, off = side_by_side(lambda a=a, b=b: OPS["matmul"].function(a, b), lambda a=a, b=b: matmul(a, b))
        figures += [
            Figure(f"op_off_{key}", f"matmul as an op, recording off, per plain call ({size})", off / plain, "×"),
            Figure(f"op_off_{key}_us", f"matmul as an op, recording off ({size})", off * 1e6, "µs"),
        ]
        with record() as trace:
            attention_of(arrays)
        changed = {"query": arrays["query"] + 1}
        off, on, again = side_by_side(
            lambda arrays=arrays: scaled_dot_product_attention(*arrays.values()),
            lambda arrays=arrays: recorded(arrays),
            lambda trace=trace, changed=changed: trace.run(changed),
        )
        figures += [
            Figure(f"attention_off_{key}", f"attention, recording off ({size})", off * 1e6, "µs"),
            Figure(f"attention_on_{key}", f"attention, recorded, per call that is not ({size})", on / off, "×"),
            Figure(f"run_{key}", f"re-run of the recorded program ({size})", again * 1e6, "µs"),
        ]
    how = (
        f"Median of {ROUNDS} rounds of processor time on one thread, in which the calls take turns; the toy is the "
        "book's running example."
    )
    write("ops", figures, versions(["numpy"]), how)


if __name__ == "__main__":
    main()
