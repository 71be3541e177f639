"""Every detector of serving faults by the id of its rule."""

from __future__ import annotations

from collections.abc import Container

from radixadvisor.diagnose.ra5xx.breakpoints import misplaced
from radixadvisor.diagnose.ra5xx.bypass import cache_bypass
from radixadvisor.diagnose.ra5xx.facts import Detector, Facts, Suspect
from radixadvisor.diagnose.ra5xx.isolation import isolation
from radixadvisor.diagnose.ra5xx.lifetime import expiry
from radixadvisor.diagnose.ra5xx.limits import below_minimum, page_rounding
from radixadvisor.diagnose.ra5xx.parameters import parameter_change
from radixadvisor.diagnose.ra5xx.pools import eviction, long_queue
from radixadvisor.diagnose.ra5xx.spread import replica_spread
from radixadvisor.diagnose.ra5xx.timing import in_flight
from radixadvisor.diagnose.ra5xx.usage import reported_usage

__all__ = ["BEHIND_TEXT", "SERVING", "suspect", "suspect_behind"]

SERVING: dict[str, Detector] = {
    "RA501": parameter_change,
    "RA502": cache_bypass,
    "RA503": isolation,
    "RA504": expiry,
    "RA505": below_minimum,
    "RA506": in_flight,
    "RA507": replica_spread,
    "RA508": eviction,
    "RA509": long_queue,
    "RA510": misplaced,
    "RA511": reported_usage,
    "RA513": page_rounding,
}
"""``reported_usage`` also finds RA512."""


BEHIND_TEXT = ("RA504", "RA506", "RA507")
"""What a fault of the text can hide: without a prefix in common there is none to expire, to wait for or to
miss on another replica.
"""


def suspect_behind(facts: Facts, known: Container[str]) -> list[Suspect]:
    """What the text hid: suspects in the log with all text fixes in it, of rules that are not ``known``."""
    return [found for number in BEHIND_TEXT if number not in known for found in SERVING[number](facts)]


def suspect(facts: Facts) -> list[Suspect]:
    """What all detectors suspect, in the order of rules."""
    return [found for number in sorted(SERVING) for found in SERVING[number](facts)]
