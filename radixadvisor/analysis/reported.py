"""What the log's own server said it served, against what the rules of its cache predict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from radixadvisor.analysis.measure import Measured
from radixadvisor.results import HIT_GATE, Assumption
from radixadvisor.trace import Trace

__all__ = ["Reported", "doubts", "reported_by"]


@dataclass(frozen=True, slots=True)
class Reported:
    """Tokens over the requests whose usage tells cached tokens: as reported, as predicted by the headline
    profile, and of their prompts.
    """

    cached: int
    predicted: int
    prompt: int
    requests: int

    @property
    def error(self) -> float:
        """Predicted minus reported, as a share of the prompt tokens."""
        return (self.predicted - self.cached) / self.prompt if self.prompt else 0.0


def doubts(reported: Reported | None, profile: str) -> Iterator[Assumption]:
    """What has to be said where the server reports other hits than its rules predict."""
    if reported is None or not reported.prompt or abs(reported.error) <= HIT_GATE:
        return
    told, expected = (f"{tokens / reported.prompt:.1%}" for tokens in (reported.cached, reported.predicted))
    yield Assumption(
        f"The log's server reports {told} of the prompt tokens as cached where the rules of {profile} say "
        f"{expected}: another engine, a full pool, several replicas, or caching that is off.",
        "hits are what those rules give, not what that server gave",
    )


def reported_by(trace: Trace, found: Measured) -> Reported | None:
    """The counts of a log; None if no request tells them."""
    headline = found.profiles[found.headline]
    cached = predicted = prompt = requests = 0
    for position, index in enumerate(trace.order):
        usage = trace.requests[index].usage
        if usage is None or usage.cached is None:
            continue
        requests += 1
        cached += usage.cached
        predicted += int(headline[position])
        prompt += int(found.lengths[position])
    return Reported(cached, predicted, prompt, requests) if requests else None
