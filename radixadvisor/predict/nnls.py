"""Least squares with coefficients that cannot be negative."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["nnls"]

_SLACK = 1e-10


def nnls(matrix: Floats, target: Floats) -> Floats:
    """The x >= 0 that minimises ``|matrix @ x - target|``, by the active-set method of Lawson and Hanson.

    Args:
        matrix: (points, coefficients); columns are scaled to unit length inside, so that none is lost for
            its unit.
        target: (points,).
    """
    import numpy as np

    size = np.linalg.norm(matrix, axis=0)
    size[size == 0] = 1.0
    scaled = matrix / size
    count = matrix.shape[1]
    free = np.zeros(count, np.bool_)
    x = np.zeros(count)
    limit = _SLACK * max(float(np.linalg.norm(target)), 1.0)
    # Every set of free coefficients is visited at most once.
    for _ in range(2**count):
        gradient = scaled.T @ (target - scaled @ x)
        gradient[free] = -np.inf
        best = int(gradient.argmax())
        if gradient[best] <= limit:
            break
        free[best] = True
        x = _feasible(scaled, target, x, free)
    solution: Floats = x / size
    return solution


def _feasible(matrix: Floats, target: Floats, x: Floats, free: NDArray[np.bool_]) -> Floats:
    """The best x over the free coefficients; those that would turn negative are fixed at 0 (in ``free``)."""
    import numpy as np

    while free.any():
        wanted = np.zeros_like(x)
        wanted[free] = np.linalg.lstsq(matrix[:, free], target, rcond=None)[0]
        negative = free & (wanted <= 0)
        if not negative.any():
            return wanted
        steps = x[negative] / (x[negative] - wanted[negative])
        x = x + min(float(steps.min()), 1.0) * (wanted - x)
        gone = free & (x <= _SLACK)
        if not gone.any():
            gone = negative
        x[gone] = 0.0
        free[gone] = False
    return np.zeros_like(x)
