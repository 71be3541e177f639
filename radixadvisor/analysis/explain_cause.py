"""What serving did to one request: tokens that its text shared with earlier ones and that were not served."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from radixadvisor.analysis.hosted import hosted_profile
from radixadvisor.analysis.measure import Measured
from radixadvisor.analysis.pools import replicas_of
from radixadvisor.diagnose.ra5xx.parameters import continued, parameters_that_differ
from radixadvisor.diagnose.rules import rule
from radixadvisor.measure.hits import matches
from radixadvisor.simulate.bypass import bypass_of
from radixadvisor.simulate.hosted_profiles import HostedProfile
from radixadvisor.simulate.profiles import engine
from radixadvisor.simulate.setting import Setting
from radixadvisor.trace import Trace

if TYPE_CHECKING:
    from radixadvisor.analysis.explain import Match

__all__ = ["Cause", "causes_of", "text_is_innocent"]

_LEAST_TOKENS = 16
_TEXT = ("order", "elsewhere")


@dataclass(frozen=True, slots=True)
class Cause:
    """``tokens`` of one request that ``name`` kept from being served; ``rule`` tells more, None where nothing
    is known. ``text`` is a sentence free of prompt text. ``profile`` is the cache that it happens in.
    """

    name: str
    rule: str | None
    profile: str
    tokens: int
    text: str


def causes_of(
    trace: Trace, found: Measured, index: int, match: Match | None, apart: Match | None, setting: Setting
) -> tuple[Cause, ...]:
    """What serving did to the request at ``index``, the costliest first.

    Args:
        trace: the log.
        found: its measurement under ``setting``.
        index: of the request.
        match, apart: the longest match in its namespace, and a longer one that the namespace forbids.
        setting: what the user told of the server.
    """
    position = trace.order.index(index)
    looked = _Look(trace, found, index, position, match, apart, setting)
    causes = [
        cause for bucket in ("capacity", "ttl", "replicas", "in_flight") for cause in looked.lost(bucket)
    ]
    causes += [*looked.rounded(), *looked.isolated(), *looked.bypassed()]
    causes.sort(key=lambda cause: -cause.tokens)
    return (*causes, *looked.reported(causes))


def text_is_innocent(found: Measured, position: int, causes: tuple[Cause, ...]) -> bool:
    """Whether serving explains more of what a request lost than its text does. What a parameter moved counts
    for serving, though the ledger finds it at another place.
    """
    columns = found.ledger.columns
    text = sum(int(column[position]) for name in _TEXT if (column := columns[name]) is not None)
    moved = sum(cause.tokens for cause in causes if cause.name == "parameter")
    return sum(cause.tokens for cause in causes) > max(text - moved, 0)


@dataclass(frozen=True, slots=True)
class _Look:
    trace: Trace
    found: Measured
    index: int
    position: int
    match: Match | None
    apart: Match | None
    setting: Setting

    @property
    def profile(self) -> HostedProfile | None:
        return hosted_profile(self.trace)

    def tokens(self, bucket: str) -> int:
        column = self.found.ledger.columns.get(bucket)
        return 0 if column is None else int(column[self.position])

    def cause(self, name: str, number: str | None, tokens: int, text: str) -> Cause:
        return Cause(name, number, self.found.headline, tokens, text)

    def lost(self, bucket: str) -> list[Cause]:
        tokens = self.tokens(bucket)
        if tokens < _LEAST_TOKENS or self.match is None:
            return []
        other, ago = self.match.request_id, self.match.seconds_ago
        match bucket:
            case "capacity":
                text = f"{tokens:,} tokens that {other} left had been evicted from the full pool."
                return [self.cause("capacity", "RA508", tokens, text)]
            case "ttl":
                life = self.profile.lifetime if self.profile is not None else 0.0
                text = (
                    f"{tokens:,} tokens had expired: {other} used them {ago or 0.0:,.0f} s before, "
                    f"entries live {life:,.0f} s."
                )
                return [self.cause("ttl", "RA504", tokens, text)]
            case "replicas":
                return [self.cause("replica", "RA507", tokens, self._elsewhere(tokens, other))]
        text = f"{tokens:,} tokens were still computed for {other}, which began {ago or 0.0:,.2f} s before."
        return [self.cause("in flight", "RA506", tokens, text)]

    def _elsewhere(self, tokens: int, other: str) -> str:
        if self.profile is not None:
            return f"{tokens:,} tokens that {other} left were on another machine of {self.profile.name}."
        replicas = replicas_of(self.trace, self.setting)
        assert replicas is not None
        ids = {self.trace.requests[index].id: place for place, index in enumerate(self.trace.order)}
        here, there = (self._replica(place, replicas) for place in (self.position, ids[other]))
        where = f"on {there}; this request went to {here}" if here != there else f"on another than {here}"
        return f"{tokens:,} tokens were cached {where} ({other} left them)."

    def _replica(self, position: int, replicas: list[int]) -> str:
        named = self.trace.requests[self.trace.order[position]].replica
        return named if named is not None else f"replica {replicas[position] + 1}"

    def rounded(self) -> list[Cause]:
        tokens = self.tokens("rounding")
        if tokens < _LEAST_TOKENS:
            return []
        profile = self.profile
        if profile is None:
            page = max(engine(self.found.headline).page, self.trace.unit)
            text = f"{tokens:,} tokens are lost to pages of {page} tokens and the last token of a prompt."
            return [self.cause("rounding", "RA513", tokens, text)]
        shared = 0 if self.match is None else self.match.tokens
        minimum = profile.minimum_for(self.trace.requests[self.index].model)
        if shared < minimum:
            text = f"It shares {shared:,} tokens; {profile.name} caches from {minimum:,} on."
            return [self.cause("minimum", "RA505", tokens, text)]
        if profile.kind == "breakpoints":
            text = f"{tokens:,} tokens stand behind the last entry that a breakpoint finds."
            return [self.cause("breakpoints", "RA510", tokens, text)]
        text = f"{tokens:,} tokens are lost to steps of {profile.step} tokens."
        return [self.cause("rounding", "RA513", tokens, text)]

    def isolated(self) -> list[Cause]:
        """Tokens under another parameter, model, adapter or salt."""
        tokens = self.tokens("isolation")
        before = continued(self.trace).get(self.index)
        changed = [] if before is None else parameters_that_differ(self.trace, before, self.index)
        if changed and before is not None:
            lost = max(tokens, self._lost_to_template(before))
            if lost >= _LEAST_TOKENS:
                named = " and ".join(changed)
                earlier = self.trace.requests[before].id
                text = f"{lost:,} tokens of {earlier} were lost: {named} changed, the messages only grew."
                return [self.cause("parameter", "RA501", lost, text)]
        if tokens < _LEAST_TOKENS:
            return []
        kinds = " and ".join(name for name, _ in self.trace.requests[self.index].namespace) or "model"
        left = "" if self.apart is None else f" ({self.apart.request_id} left them)"
        text = f"{tokens:,} tokens are cached for another {kinds}, which keeps them apart{left}."
        return [self.cause("isolation", "RA503", tokens, text)]

    def _lost_to_template(self, before: int) -> int:
        """Tokens of the request before that this one would match if the template wrote both alike."""
        matched = 0 if self.match is None else self.match.tokens
        return max(min(self.trace.lengths[before], self.trace.lengths[self.index]) - matched, 0)

    def bypassed(self) -> list[Cause]:
        name = bypass_of(self.trace.requests[self.index], engine("vllm").bypass)
        if name is None:
            return []
        reuse = matches(self.found.walks, _namespaces(self.trace))[self.position]
        tokens = max(min(int(reuse), self.trace.lengths[self.index] - 1), 0)
        text = f"vLLM looks nothing up for a request with {name}: {tokens:,} tokens are computed again."
        return [Cause("bypass", "RA502", "vllm", tokens, text)] if tokens >= _LEAST_TOKENS else []

    def reported(self, causes: list[Cause]) -> list[Cause]:
        """What the server did not report although nothing known speaks against a hit."""
        usage = self.trace.requests[self.index].usage
        served = self.tokens("served")
        page = rule("RA512")
        if usage is None or usage.cached is None or served < page.threshold("least_tokens"):
            return []
        length = self.trace.lengths[self.index]
        expected = round(served * (usage.prompt or length) / max(length, 1))
        if usage.cached >= page.threshold("least_reported") * expected:
            return []
        ago = None if self.match is None else self.match.seconds_ago
        soon = ago is not None and ago <= page.threshold("within_seconds")
        known = " Nothing in the log explains it." if not causes else ""
        text = (
            f"Unexplained: the server reported {usage.cached:,} cached tokens, the rules of "
            f"{self.found.headline} give {expected:,}.{known}"
        )
        return [self.cause("unexplained", "RA512" if soon else "RA511", expected - usage.cached, text)]


def _namespaces(trace: Trace) -> list[int]:
    numbers: dict[str, int] = {}
    return [numbers.setdefault(trace.namespace(index), len(numbers)) for index in trace.order]
