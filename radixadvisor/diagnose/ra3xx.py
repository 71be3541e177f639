"""Blocks in the wrong place or order: memory and documents before history, variants before shared text,
examples drawn anew, permuted and moving blocks.
"""

from __future__ import annotations

from functools import partial

from radixadvisor.diagnose.blocks import block_candidates
from radixadvisor.diagnose.candidate import Detector
from radixadvisor.diagnose.orders import mixed_orders, permuted_items, static_behind

__all__ = ["DETECTORS"]

DETECTORS: dict[str, Detector] = {
    **{name: partial(block_candidates, name) for name in ("RA301", "RA302", "RA305", "RA306")},
    "RA303": static_behind,
    "RA304": permuted_items,
    "RA307": mixed_orders,
}
