from __future__ import annotations

import random

import pytest
from radixengine.cache import Match
from radixengine.config import SchedulerConfig
from radixengine.jobs import Job, Task
from radixengine.policy import POLICIES, defer_duplicates, policy_named

from tests.radixengine.workloads import pack, run_of


def waiting(*specs: tuple[bytes, int]) -> list[Task]:
    """Tasks from (prompt, matched tokens)."""
    tasks = [Task.of(Job(rid, prompt), rid, False) for rid, (prompt, _) in enumerate(specs)]
    for task, (_, matched) in zip(tasks, specs, strict=True):
        task.found = Match(matched, 0)
    return tasks


def order(policy: str, queue: list[Task], page: int = 1, seed: int = 0) -> list[int]:
    return [task.seq.rid for task in POLICIES[policy].order(queue, random.Random(seed), page)]


def test_every_policy_returns_a_permutation_and_unknown_names_list_what_exists() -> None:
    queue = waiting(*((run_of(index % 3, 5 + index), index % 4) for index in range(17)))
    for name in POLICIES:
        assert sorted(order(name, queue)) == list(range(17))
    with pytest.raises(ValueError, match="Known: dfs-weight, fcfs, lof, lpm, random, shortest-prefill-first"):
        policy_named("lru")
    with pytest.raises(ValueError, match="Unknown policy 'sjf'"):
        SchedulerConfig(policy="sjf")


def test_lpm_sorts_by_device_and_host_match_stably_with_deferred_last() -> None:
    queue = waiting(*((run_of(index, 9), matched) for index, matched in enumerate([2, 5, 2, 8, 5])))
    queue[0].found = Match(2, 4)
    queue[3].deferred = True
    assert order("lpm", queue) == [0, 1, 4, 2, 3]


def test_lof_and_shortest_prefill() -> None:
    outputs = [3, 9, 3, 12]
    queue = [
        Task.of(Job(rid, run_of(1, 4), run_of(2, count)), rid, False) for rid, count in enumerate(outputs)
    ]
    assert order("lof", queue) == [3, 1, 0, 2]
    queue = waiting((run_of(0, 9), 2), (run_of(1, 9), 6), (run_of(2, 3), 0), (run_of(3, 4), 1))
    queue[1].deferred = True
    for task, arrival in zip(queue, [0.0, 0.0, 2.0, 1.0], strict=True):
        task.record.arrival = arrival
    assert order("shortest-prefill-first", queue) == [3, 2, 0, 1]


def test_random_depends_on_the_seed_alone() -> None:
    queue = waiting(*((run_of(index, 3), 0) for index in range(30)))
    assert order("random", queue, seed=1) == order("random", queue, seed=1)
    assert order("random", queue, seed=1) != order("random", queue, seed=2)


def test_dfs_weight_takes_the_heaviest_branch_first_and_a_node_after_its_children() -> None:
    a, b, c, d, e = (run_of(index, 4) for index in range(1, 6))
    queue = waiting(
        (e + b"", 4),  # alone in its subtree
        (a + pack(1), 4),  # ends at the node A, whose children come first
        (a + b + pack(1), 8),
        (a + c + pack(1), 8),
        (a + c + d, 8),
        (pack(7, 8), 0),  # nothing matched: the root's own, after everything
    )
    assert order("dfs-weight", queue) == [3, 4, 2, 1, 0, 5]


def test_dfs_weight_counts_a_branch_that_no_request_ends_at() -> None:
    """Two requests that part below a common node weigh 2 there, more than a lone one that came first."""
    stem, lone = run_of(1, 4), run_of(2, 8)
    queue = waiting((lone, 8), (stem + run_of(3, 4), 8), (stem + run_of(4, 4), 8))
    assert order("dfs-weight", queue) == [1, 2, 0]


def test_dfs_weight_parts_branches_at_pages() -> None:
    """With pages of 4, prompts that share half a page are two branches of weight 1, in queue order."""
    queue = waiting((pack(9, 9, 9, 9), 4), (pack(1, 1, 2, 2), 4), (pack(1, 1, 3, 3), 4))
    assert order("dfs-weight", queue, page=4) == [0, 1, 2]
    assert order("dfs-weight", queue, page=1) == [1, 2, 0]


def test_dfs_weight_keeps_namespaces_apart() -> None:
    prompt = run_of(1, 6)
    queue = [Task.of(Job(rid, prompt, namespace=name), rid, False) for rid, name in enumerate("abbab")]
    for task in queue:
        task.found = Match(6, 0)
    assert order("dfs-weight", queue) == [1, 2, 4, 0, 3]


@pytest.mark.parametrize(
    ("shared", "matched", "deferred"), [(33, 0, True), (32, 32, True), (31, 0, False), (40, 33, False)]
)
def test_dedup_at_the_thresholds_of_32(shared: int, matched: int, deferred: bool) -> None:
    queue = waiting((run_of(1, shared) + run_of(2, 9), matched), (run_of(1, shared) + run_of(3, 9), matched))
    defer_duplicates(queue, 32, 32)
    assert [task.deferred for task in queue] == [False, deferred]


def test_dedup_ignores_the_last_token_and_compares_within_a_namespace() -> None:
    same = run_of(1, 32)
    queue = waiting((same, 0), (same, 0), (same + pack(1), 0), (same + pack(2), 0), (same + pack(3), 0))
    queue[4].seq.namespace = "other"
    defer_duplicates(queue, 32, 32)
    assert [task.deferred for task in queue] == [False, False, False, True, False]
    defer_duplicates(queue, -1, 32)
    assert not any(task.deferred for task in queue)
