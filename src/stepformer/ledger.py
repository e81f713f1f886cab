"""What a computation costs, counted on its recorded program: multiplications, steps in a row, distances."""

import math

from stepformer.trace import Trace

TERMS = {
    "matmul": lambda x, weight: x[-1],
    "linear": lambda x, weight: x[-1],
    "convolve_1d": lambda x, weight: math.prod(weight[:2]),
    "convolve_2d": lambda x, weight: math.prod(weight[1:]),
}
"""How many products are added up in one cell of a result, from the shapes of the inputs."""


def multiplications(trace: Trace) -> int:
    """Count the multiplications in all matrix products and convolutions of a program.

    Formula: the sum of `n * k * m` over the products (…, n, k) @ (k, m); in a convolution, k is the number of cells
    that the window sees, those of the padding included. Scaling, softmax and the like are left out: they cost one or a
    few operations for each cell, a product costs k.

    Args:
        trace: a program; the lengths that it was run with count.

    Returns:
        The number of multiplications of two numbers.
    """
    products = [step for step in trace.steps if step.op in TERMS]
    return sum(
        math.prod(_shape(trace, step.output)) * TERMS[step.op](*(_shape(trace, i) for i in step.inputs[:2]))
        for step in products
    )


def sequential_steps(trace: Trace) -> int:
    """Count the steps that can not be made at the same time, however many processors there are.

    Formula: the length of the longest chain of steps in which each needs the result of the one before.

    Args:
        trace: a program.

    Returns:
        The number of steps in the chain; 0 for a program without steps.
    """
    depth = dict.fromkeys(trace.leaves, 0)
    for step in trace.steps:
        depth[step.output] = 1 + max(depth[i] for i in step.inputs)
    return max(depth.values(), default=0)


def distance(trace: Trace, start: str, end: str) -> int | None:
    """Count the steps on the shortest way that a signal can take through a program.

    Formula: the least number of steps that lead from `start` to `end`.

    Args:
        trace: a program.
        start: name of the tensor where the signal begins.
        end: name of the tensor where it is wanted.

    Returns:
        The number of steps, or None if `end` does not depend on `start`.
    """
    steps = {trace.find(start): 0}
    for step in trace.steps:
        reached = [steps[i] for i in step.inputs if i in steps]
        if reached and step.output not in steps:
            steps[step.output] = 1 + min(reached)
    return steps.get(trace.find(end))


def _shape(trace: Trace, position: int) -> tuple[int, ...]:
    return trace.arrays[position].shape
