"""Every detector by the id of its rule. A family's file names its detectors in ``DETECTORS``."""

from __future__ import annotations

from radixadvisor.diagnose import ra1xx, ra2xx, ra4xx
from radixadvisor.diagnose.candidate import Candidate, Detector
from radixadvisor.diagnose.view import LogView

__all__ = ["DETECTORS", "detect"]

DETECTORS: dict[str, Detector] = {**ra1xx.DETECTORS, **ra2xx.DETECTORS, **ra4xx.DETECTORS}


def detect(view: LogView) -> list[Candidate]:
    """What all detectors suspect, in the order of rules."""
    if not view.has_text:
        return []
    return [candidate for rule in sorted(DETECTORS) for candidate in DETECTORS[rule](view)]
