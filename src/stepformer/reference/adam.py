"""Adam in NumPy: how far each weight steps, given its gradients so far. Its twin is `torch.optim.Adam`."""

from typing import NamedTuple

import numpy as np

from stepformer.ops import add, divide, multiply, root, subtract
from stepformer.recording import scope


class AdamState(NamedTuple):
    """What Adam remembers between two steps. A training that is resumed needs all of it.

    Attributes:
        mean: the running mean of the gradient; zeros before the first step.
        square: the running mean of the squared gradient; zeros before the first step.
        mean_power: `beta1` to the power of the number of steps so far; 1 before the first.
        square_power: `beta2` to that power.
    """

    mean: np.ndarray
    square: np.ndarray
    mean_power: np.ndarray
    square_power: np.ndarray


class AdamSettings(NamedTuple):
    """The numbers of Adam, each one number.

    Attributes:
        rate: the learning rate of this step.
        beta1: how much of the mean is kept.
        beta2: how much of the mean square is kept.
        eps: added to the root, so that nothing is divided by zero.
        one: 1, from which beta1, beta2 and their powers are subtracted.
    """

    rate: np.ndarray
    beta1: np.ndarray
    beta2: np.ndarray
    eps: np.ndarray
    one: np.ndarray = np.array(1.0)


def first_state(weight: np.ndarray) -> AdamState:
    """The state before the first step.

    Formula: `m_0 = 0`, `v_0 = 0` (Kingma and Ba 2015, algorithm 1).

    Args:
        weight: numbers of any shape.

    Returns:
        Zeros of that shape, and powers of 1.
    """
    zeros = np.zeros(np.shape(weight))
    return AdamState(zeros, zeros.copy(), np.array(1.0), np.array(1.0))


def adam(
    weight: np.ndarray, gradient: np.ndarray, state: AdamState, settings: AdamSettings
) -> tuple[np.ndarray, AdamState]:
    """Make one step of Adam.

    Formula: `m = beta1 * m + (1 - beta1) * g`, `v = beta2 * v + (1 - beta2) * g ** 2`,
    `weight - rate * m / (1 - beta1 ** t) / (sqrt(v / (1 - beta2 ** t)) + eps)` (Kingma and Ba 2015, algorithm 1).

    Args:
        weight: numbers of any shape.
        gradient: how fast the loss grows with each of them; the shape of `weight`.
        state: as the last step left it, or `first_state(weight)`.
        settings: the numbers of Adam.

    Returns:
        The new weight, and the new state.

    Raises:
        ValueError: the gradient has another shape than the weight.
    """
    if np.shape(gradient) != np.shape(weight):
        raise ValueError(f"gradient has shape {np.shape(gradient)}; it must have that of weight, {np.shape(weight)}.")
    with scope("adam"):
        mean, mean_power, mean_now = _running_mean("mean", gradient, state.mean, state.mean_power, settings)
        squared = multiply(gradient, gradient, name="squared_gradient")
        square, square_power, square_now = _running_mean("square", squared, state.square, state.square_power, settings)
        length = add(root(square_now, name="root"), settings.eps, name="length")
        direction = divide(mean_now, length, name="direction")
        weight = subtract(weight, multiply(direction, settings.rate, name="step"), name="weight")
    return weight, AdamState(mean, square, mean_power, square_power)


def _running_mean(
    name: str, new: np.ndarray, before: np.ndarray, power: np.ndarray, settings: AdamSettings
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The running mean as it is kept, the power of its beta, and the mean without the zeros that it began with."""
    beta = settings.beta1 if name == "mean" else settings.beta2
    kept = multiply(before, beta, name=f"kept_{name}")
    added = multiply(new, subtract(settings.one, beta, name=f"new_share_of_{name}"), name=f"added_to_{name}")
    total = add(kept, added, name=name)
    power = multiply(power, beta, name=f"{name}_power")
    corrected = divide(total, subtract(settings.one, power, name=f"shares_of_{name}"), name=f"corrected_{name}")
    return total, power, corrected
