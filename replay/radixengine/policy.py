"""The order in which waiting requests are tried.

A policy orders the queue in place and the order stays: a policy that falls back to first come, first served
leaves what an earlier step sorted, with later arrivals behind it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from radixengine.cache import TOKEN_BYTES
from radixengine.jobs import Task

Order = Callable[[list[Task], random.Random, int], list[Task]]


@dataclass(frozen=True, slots=True)
class Policy:
    """``order(queue, rng, page_size)`` returns the queue sorted. ``matches``: it needs every waiting
    request's match; ``limited``: it is given up while the queue is longer than the LPM limit; ``shuffles``:
    each call draws anew.
    """

    name: str
    order: Order
    matches: bool = False
    limited: bool = False
    shuffles: bool = False


def policy_named(name: str) -> Policy:
    """The policy of that name.

    Raises:
        ValueError: no such policy; the message lists those that exist.
    """
    if name not in POLICIES:
        raise ValueError(f"Unknown policy {name!r}. Known: {', '.join(sorted(POLICIES))}.")
    return POLICIES[name]


def defer_duplicates(queue: Iterable[Task], check: int, match: int) -> None:
    """In-batch deduplication: mark the requests that should wait for a queue-mate's prefill.

    A request whose resident match is at most ``check`` tokens is deferred if it shares ``match`` tokens or
    more with an earlier such request that was not; the last prompt token never counts. ``check`` -1
    switches this off.
    """
    seen: set[tuple[str, bytes]] = set()
    for task in queue:
        task.deferred = False
        if task.found.device > check:
            continue
        if task.seq.prompt_len - 1 < match:
            continue
        key = task.seq.namespace, task.seq.prompt[: match * TOKEN_BYTES]
        if key in seen:
            task.deferred = True
        else:
            seen.add(key)


def _as_it_is(queue: list[Task], _: random.Random, _page: int) -> list[Task]:
    return queue


def _longest_prefix(queue: list[Task], _: random.Random, _page: int) -> list[Task]:
    return sorted(queue, key=lambda task: (task.deferred, 0 if task.deferred else -sum(task.found)))


def _longest_output(queue: list[Task], _: random.Random, _page: int) -> list[Task]:
    return sorted(queue, key=lambda task: -task.reserve)


def _shortest_prefill(queue: list[Task], _: random.Random, _page: int) -> list[Task]:
    return sorted(
        queue,
        key=lambda task: (
            task.deferred,
            task.seq.prompt_len - sum(task.found),
            task.record.arrival,
            task.order,
        ),
    )


def _random(queue: list[Task], rng: random.Random, _page: int) -> list[Task]:
    return rng.sample(queue, len(queue))


def _heaviest_subtree(queue: list[Task], _: random.Random, page: int) -> list[Task]:
    """Depth first over the tree of matched prefixes, the child with most waiting requests below it first.

    A node's own requests come after its children's. Children of equal weight keep the order in which their
    first request stands in the queue. Matched prefixes end and part where the cache's own nodes do, so the
    branches found here are the cache's.
    """
    paths = [task.seq.prompt[: task.found.device * TOKEN_BYTES] for task in queue]
    roots: dict[str, list[int]] = {}
    own: list[int] = []
    step = page * TOKEN_BYTES
    for index, path in enumerate(paths):
        if path:
            roots.setdefault(queue[index].seq.namespace, []).append(index)
        else:
            own.append(index)
    stack: list[tuple[list[int], int]] = []
    tops = [group for members in roots.values() for group in _branches(paths, members, 0, step)]
    _push(stack, [(group, 0) for group in tops])
    order: list[int] = []
    while stack:
        members, depth = stack.pop()
        if depth < 0:
            order.extend(members)
            continue
        end = _shared(paths, members, step)
        stack.append(([index for index in members if len(paths[index]) <= end], -1))
        deeper = [index for index in members if len(paths[index]) > end]
        _push(stack, [(group, end) for group in _branches(paths, deeper, end, step)])
    return [queue[index] for index in [*order, *own]]


def _push(stack: list[tuple[list[int], int]], groups: list[tuple[list[int], int]]) -> None:
    groups.sort(key=lambda group: (-len(group[0]), group[0][0]))
    stack.extend(reversed(groups))


def _branches(paths: list[bytes], members: list[int], depth: int, step: int) -> list[list[int]]:
    """Split requests by the page (``step`` bytes) at ``depth``."""
    groups: dict[bytes, list[int]] = {}
    for index in members:
        groups.setdefault(paths[index][depth : depth + step], []).append(index)
    return list(groups.values())


def _shared(paths: list[bytes], members: list[int], step: int) -> int:
    """Bytes of whole pages that all the requests' paths have in common."""
    low, high = min(paths[index] for index in members), max(paths[index] for index in members)
    begin, end = 0, min(len(low), len(high)) // step
    while begin < end:
        middle = (begin + end + 1) // 2
        if low[: middle * step] == high[: middle * step]:
            begin = middle
        else:
            end = middle - 1
    return begin * step


POLICIES = {
    policy.name: policy
    for policy in (
        Policy("fcfs", _as_it_is),
        Policy("lpm", _longest_prefix, matches=True, limited=True),
        Policy("dfs-weight", _heaviest_subtree, matches=True),
        Policy("lof", _longest_output),
        Policy("random", _random, shuffles=True),
        Policy("shortest-prefill-first", _shortest_prefill, matches=True),
    )
}
