"""The learning rate of each step. Steps count from 1: step 1 is the first update of the weights."""

from collections.abc import Callable

from stepformer.train.config import Config, arguments_of_kind


def inverse_sqrt(step: int, d_model: int, warmup: int) -> float:
    """The paper's schedule: a straight rise, then a fall with the root of the step.

    Formula: `rate = d_model^-0.5 * min(step^-0.5, step * warmup^-1.5)` (Vaswani et al. 2017, eq. 3). It is the rate
    itself, not a factor of another one: the highest is `(d_model * warmup)^-0.5`, at step = warmup.

    Args:
        step: number of the update; 0 is taken for 1, where the formula would divide by zero.
        d_model: width of the model.
        warmup: steps until the highest rate.

    Returns:
        The learning rate.

    Raises:
        ValueError: a number is out of range.
    """
    _check(step, d_model=d_model, warmup=warmup)
    step = max(step, 1)
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def inverse_sqrt_to(step: int, peak: float, warmup: int) -> float:
    """The paper's schedule with a highest rate that is chosen.

    Formula: `rate = peak * min((warmup / step)^0.5, step / warmup)`: with `peak = (d_model * warmup)^-0.5` it is
    `inverse_sqrt`.

    Args:
        step: number of the update; 0 is taken for 1.
        peak: the highest rate, at step = warmup.
        warmup: steps until then.

    Returns:
        The learning rate.

    Raises:
        ValueError: a number is out of range.
    """
    _check(step, warmup=warmup)
    step = max(step, 1)
    return peak * min((warmup / step) ** 0.5, step / warmup)


def linear(step: int, peak: float, warmup: int, steps: int) -> float:
    """A straight rise to the highest rate, then a straight fall that would reach 0 one step after the last.

    Formula: `rate = peak * step / warmup` up to warmup, then `peak * (steps + 1 - step) / (steps + 1 - start)`, where
    start is warmup, or 1 without warm-up.

    Args:
        step: number of the update; 0 is taken for 1.
        peak: the highest rate, at step = warmup.
        warmup: steps until then; 0 begins with the highest.
        steps: number of the last update.

    Returns:
        The learning rate; 0 after the last step.

    Raises:
        ValueError: a number is out of range.
    """
    _check(step, steps=steps)
    step = max(step, 1)
    if step < warmup:
        return peak * step / warmup
    return peak * max(0, steps + 1 - step) / (steps + 1 - max(warmup, 1))


def constant(step: int, peak: float, warmup: int) -> float:
    """A straight rise, then the same rate for ever.

    Formula: `rate = peak * min(1, step / warmup)`.

    Args:
        step: number of the update; 0 is taken for 1.
        peak: the highest rate.
        warmup: steps until then; 0 begins with it.

    Returns:
        The learning rate.

    Raises:
        ValueError: a number is out of range.
    """
    _check(step)
    return peak * min(1.0, max(step, 1) / max(warmup, 1))


def schedule_of(config: Config) -> Callable[[int], float]:
    """The schedule that a configuration asks for.

    Args:
        config: its sections schedule, optimiser, budget and, for the paper's rate, model are used.

    Returns:
        From the number of a step, counted from 1, to its learning rate.
    """
    kind, warmup, peak = config.schedule.kind, config.schedule.warmup, config.optimiser.lr
    if kind == "linear":
        return lambda step: linear(step, peak, warmup, config.budget.steps)
    if kind == "constant":
        return lambda step: constant(step, peak, warmup)
    if peak is None:
        arguments = arguments_of_kind(config.model.kind) | config.model.arguments
        return lambda step: inverse_sqrt(step, arguments["d_model"], warmup)
    return lambda step: inverse_sqrt_to(step, peak, warmup)


def _check(step: int, **sizes: int) -> None:
    if step < 0:
        raise ValueError(f"step is {step}; steps count from 1.")
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} is {size}; it must be 1 or more.")
