"""Fixtures for the whole suite: no network, and the optional reference data beside the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")

_SHARED = Path(os.environ.get("RADIXADVISOR_SHARED", Path(__file__).resolve().parents[2] / "shared"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """Reference data that does not ship with the repository; tests that ask for it skip without it."""
    if not _SHARED.is_dir():
        pytest.skip("the folder of reference data is not here")
    return _SHARED
