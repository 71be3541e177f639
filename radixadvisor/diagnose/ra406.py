"""Conversations that are embedded in other prompts."""

from __future__ import annotations

from collections.abc import Iterator

from radixadvisor.diagnose.candidate import Candidate, Detector, Place
from radixadvisor.diagnose.rules import rule
from radixadvisor.diagnose.sidecalls import SideCall, side_calls
from radixadvisor.diagnose.view import LogView
from radixadvisor.records import EditSpec

__all__ = ["DETECTORS"]

_SHOWN = 200


def side_call(view: LogView) -> Iterator[Candidate]:
    """RA406: a transcript in a prompt of its own; one candidate for each application that sends such."""
    indices = [index for index in view.order if view.cluster_of[index] >= 0]
    requests = [view.request(index) for index in indices]
    groups: dict[int, list[SideCall]] = {}
    for call in side_calls(requests):
        groups.setdefault(view.cluster_of[indices[call.request]], []).append(call)
    for cluster, calls in sorted(groups.items()):
        if len(calls) < rule("RA406").threshold("requests"):
            continue
        first = calls[0]
        text = (requests[first.request].messages or ())[first.message].text
        sources = {view.cluster_of[indices[call.source]] for call in calls}
        clusters = tuple(sorted(sources | {cluster}))
        yield Candidate(
            rule="RA406",
            title=f"A conversation of {first.shown} turns is embedded in another prompt",
            place=Place(
                requests[first.request].id, f"messages[{first.message}].content", first.start, first.end
            ),
            before=(requests[first.source].messages or ())[0].text[:_SHOWN],
            after=text[first.start : first.end],
            requests=tuple(indices[call.request] for call in calls),
            edit=EditSpec("replay_prefix", rule("RA406").safety, clusters),
        )


DETECTORS: dict[str, Detector] = {"RA406": side_call}
