"""Every detector by the id of its rule. A family's file names its detectors in ``DETECTORS``."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from radixadvisor.diagnose import ra1xx, ra2xx, ra3xx, ra4xx, ra203, ra404, ra406
from radixadvisor.diagnose.candidate import Candidate, Detector
from radixadvisor.diagnose.view import LogView

__all__ = ["DETECTORS", "detect"]

DETECTORS: dict[str, Detector] = {
    **ra1xx.DETECTORS,
    **ra2xx.DETECTORS,
    **ra203.DETECTORS,
    **ra3xx.DETECTORS,
    **ra4xx.DETECTORS,
    **ra404.DETECTORS,
    **ra406.DETECTORS,
}


def detect(view: LogView) -> list[Candidate]:
    """What all detectors suspect, in the order of rules."""
    if not view.has_text:
        return []
    found: dict[Hashable, list[Candidate]] = {}
    for rule in sorted(DETECTORS):
        for number, candidate in enumerate(DETECTORS[rule](view)):
            edit = candidate.edit
            key = (rule, number) if edit is None else (rule, edit.kind, edit.parameters)
            found.setdefault(key, []).append(candidate)
    return [_merged(candidates) for candidates in found.values()]


def _merged(candidates: list[Candidate]) -> Candidate:
    """Candidates of one rule that one edit undoes in several applications (say, variants of one prompt)."""
    first = candidates[0]
    if first.edit is None or len(candidates) == 1:
        return first
    clusters = {cluster for found in candidates if found.edit is not None for cluster in found.edit.clusters}
    requests = {request for found in candidates for request in found.requests}
    edit = replace(first.edit, clusters=tuple(sorted(clusters)))
    return replace(first, edit=edit, requests=tuple(sorted(requests)))
