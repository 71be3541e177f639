"""Non-negative least squares against the best of all sets of free coefficients."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from radixadvisor.predict.nnls import nnls


def brute(matrix: NDArray[np.float64], target: NDArray[np.float64]) -> float:
    """The least residual over all x >= 0."""
    matrix = matrix / np.linalg.norm(matrix, axis=0)
    best = float(np.linalg.norm(target))
    count = matrix.shape[1]
    for size in range(1, count + 1):
        for chosen in combinations(range(count), size):
            part = np.linalg.lstsq(matrix[:, chosen], target, rcond=None)[0]
            if (part >= -1e-9).all():
                best = min(best, float(np.linalg.norm(matrix[:, chosen] @ part - target)))
    return best


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 12), st.integers(1, 4))
def test_the_residual_is_the_least(seed: int, points: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(points, count)) * 10.0 ** rng.integers(-6, 7, count)
    target = rng.normal(size=points)
    found = nnls(matrix, target)
    assert (found >= 0).all()
    assert float(np.linalg.norm(matrix @ found - target)) == pytest.approx(
        brute(matrix, target), rel=1e-6, abs=1e-7
    )


def test_true_coefficients_are_found_whatever_their_scale() -> None:
    rng = np.random.default_rng(0)
    matrix = np.column_stack([np.ones(20), *rng.uniform(1, [1e3, 1e7, 1e5], size=(20, 3)).T])
    true = np.array([0.003, 4e-5, 2e-10, 0.0])
    assert nnls(matrix, matrix @ true) == pytest.approx(true, rel=1e-6, abs=1e-15)
