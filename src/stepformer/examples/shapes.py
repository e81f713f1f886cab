"""Small pictures that the book draws itself: bars, crosses and rings, each somewhere else and a little noisy."""

import numpy as np

SHAPES = ["upright bar", "level bar", "cross", "ring"]
SIZE = 8


def draw_shapes(count: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw pictures, the four shapes in turn.

    Args:
        count: number of pictures.
        generator: where place, size, brightness and noise come from.

    Returns:
        Pictures (count, 1, 8, 8), dark about 0 and bright about 1, and the number of the shape in SHAPES of each,
        (count,).
    """
    pictures, shapes = np.zeros((count, 1, SIZE, SIZE)), np.arange(count) % len(SHAPES)
    for picture, shape in zip(pictures, shapes, strict=True):
        length = int(generator.integers(4, 7))
        top, left = generator.integers(0, SIZE - length + 1, size=2)
        _draw(picture[0, top : top + length, left : left + length], SHAPES[shape], generator)
    pictures *= generator.uniform(0.7, 1.0, size=(count, 1, 1, 1))
    return np.round(pictures + 0.1 * generator.normal(size=pictures.shape), 3), shapes


def _draw(square: np.ndarray, shape: str, generator: np.random.Generator) -> None:
    """Draw into a square part of a picture, which it fills from side to side."""
    across, down = generator.integers(1, len(square) - 1, size=2)
    if shape in ("upright bar", "cross"):
        square[:, across] = 1.0
    if shape in ("level bar", "cross"):
        square[down, :] = 1.0
    if shape == "ring":
        square[[0, -1], :] = 1.0
        square[:, [0, -1]] = 1.0
