from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st

from radixadvisor.simulate.hosted import HostedOptions, simulate_hosted
from radixadvisor.simulate.hosted_profiles import provider, providers
from radixadvisor.simulate.requests import Requests
from radixadvisor.simulate.timed_tree import TimedTree
from tests.simulate.logs import conversations, pack, run_of


def served(requests: Requests, name: str, **options: object) -> list[int]:
    result = simulate_hosted(requests, provider(name), HostedOptions(**options))  # type: ignore[arg-type]
    assert (result.matched_tokens + result.computed_tokens == result.prompt_tokens).all()
    return result.matched_tokens.tolist()  # type: ignore[no-any-return]


def repeats(tokens: int, arrivals: list[float], tail: int = 10) -> Requests:
    """The same ``tokens`` with a tail of its own per request."""
    return Requests(
        [run_of(1, tokens) + run_of(10 + index, tail) for index in range(len(arrivals))], arrivals=arrivals
    )


def test_openai_serves_1024_tokens_and_steps_of_128_beyond() -> None:
    for shared, hit in [(1023, 0), (1024, 1024), (1151, 1024), (1152, 1152), (2000, 1920)]:
        assert served(repeats(shared, [0.0, 1.0]), "openai") == [0, hit]


def test_openai_forgets_after_five_idle_minutes_and_after_an_hour_in_any_case() -> None:
    assert served(repeats(2000, [0.0, 299.0, 598.0, 899.0]), "openai") == [0, 1920, 1920, 0]
    often = [200.0 * index for index in range(20)]
    hits = served(repeats(2000, often), "openai")
    assert hits.index(0, 1) == 19, "3,800 s after it was written"
    assert served(repeats(2000, often), "openai", lifetime="24h").count(0) == 1
    assert served(repeats(2000, [0.0, 1e6]), "openai", lifetime=inf) == [0, 1920]
    assert served(repeats(2000, [0.0, 600.0]), "openai", speedup=3.0) == [0, 1920]


def test_openai_routes_by_the_head_and_the_key_and_overflows_at_fifteen_a_minute() -> None:
    requests = repeats(2000, [0.0, 1.0])
    apart = replace(requests, keys=["a", "b"])
    assert served(apart, "openai") == [0, 0]
    assert served(apart, "openai", one_cache=True) == [0, 1920]
    assert served(replace(requests, keys=["a", "a"]), "openai") == [0, 1920]
    busy = repeats(2000, [index / 10 for index in range(31)])
    hits = served(busy, "openai")
    assert [index for index, hit in enumerate(hits) if not hit] == [0, 15, 30]
    machines = simulate_hosted(busy, provider("openai")).replica.tolist()
    assert machines == [0] * 15 + [1] * 15 + [2]


def test_namespaces_never_share() -> None:
    requests = replace(repeats(2000, [0.0, 1.0]), namespaces=["a", "b"])
    assert served(requests, "openai") == [0, 0]
    assert served(requests, "openai", namespaces=False) == [0, 1920]


def test_an_entry_is_there_when_its_request_has_ended() -> None:
    requests = replace(repeats(2000, [0.0, 5.0, 15.0]), latencies=[10.0, 10.0, 10.0])
    assert served(requests, "openai") == [0, 0, 1920]
    assert served(requests, "openai", instant=True) == [0, 1920, 1920]


def test_gemini_needs_its_minimum_by_model() -> None:
    requests = repeats(3000, [0.0, 1.0])
    assert served(replace(requests, models=["gemini-2.5-pro"] * 2), "gemini") == [0, 3000]
    assert served(replace(requests, models=["gemini-3.1-pro"] * 2), "gemini") == [0, 0]


def marked(positions: list[list[int]], blocks: list[list[int]], arrivals: list[float]) -> Requests:
    """Prompts of 5,000 equal tokens and a tail, with breakpoints and content blocks at given positions."""
    return replace(
        repeats(5000, arrivals, tail=500),
        breakpoints=[[(at, None) for at in row] for row in positions],
        blocks=blocks,
        models=["claude-sonnet-4-5"] * len(arrivals),
    )


def test_anthropic_hits_where_an_earlier_breakpoint_was_and_nowhere_else() -> None:
    blocks = [[1000, 2000, 3000, 5000, 5500]] * 3
    requests = marked([[3000], [3000], [2000]], blocks, [0.0, 1.0, 2.0])
    assert served(requests, "anthropic") == [0, 3000, 0]
    below = marked([[1000], [1000]], blocks[:2], [0.0, 1.0])
    assert served(below, "anthropic") == [0, 0], "below the minimum of 1,024"
    unmarked = marked([[3000], []], blocks[:2], [0.0, 1.0])
    assert served(unmarked, "anthropic") == [0, 0]


def test_anthropic_looks_back_twenty_blocks_from_each_breakpoint() -> None:
    ends = [2000 + 100 * index for index in range(30)]
    for distance, hit in [(20, 2000), (21, 0)]:
        requests = marked([[2000], [ends[distance]]], [ends, ends], [0.0, 1.0])
        assert served(requests, "anthropic") == [0, hit]
    both = marked([[2000], [2000, ends[25]]], [ends, ends], [0.0, 1.0])
    assert served(both, "anthropic") == [0, 2000]


def test_anthropic_counts_the_last_four_breakpoints() -> None:
    five = [2000, 2500, 3000, 3500, 4000]
    requests = marked([five, [2000]], [five, five], [0.0, 1.0])
    assert served(requests, "anthropic") == [0, 0]
    assert served(marked([five, [2500]], [five, five], [0.0, 1.0]), "anthropic") == [0, 2500]


def test_anthropic_lifetimes_are_per_breakpoint_and_a_hit_renews_them() -> None:
    blocks = [[2000, 5000]] * 4
    requests = marked([[2000]] * 4, blocks, [0.0, 299.0, 598.0, 899.0])
    assert served(requests, "anthropic") == [0, 2000, 2000, 0]
    hour = replace(requests, breakpoints=[[(2000, 3600.0)]] * 4, arrivals=[0.0, 3599.0, 7198.0, 10799.0])
    assert served(hour, "anthropic") == [0, 2000, 2000, 0]


def test_what_is_written_is_what_a_request_adds_up_to_its_last_breakpoint() -> None:
    blocks = [[2000, 4000]] * 2
    result = simulate_hosted(marked([[2000], [2000, 4000]], blocks, [0.0, 1.0]), provider("anthropic"))
    assert result.written_tokens is not None
    assert result.written_tokens.tolist() == [2000, 2000]


def test_a_claude_log_without_breakpoints_is_cached_automatically_and_that_is_said() -> None:
    plain = simulate_hosted(repeats(3000, [0.0, 1.0]), provider("anthropic"))
    assert plain.matched_tokens.tolist() == [0, 3000]
    assert "the log has no cache breakpoint: simulated as automatic caching" in plain.notes
    growing = Requests(
        [run_of(1, 2000), run_of(1, 2600)], arrivals=[0.0, 1.0], blocks=[[1500, 2000], [1500, 2000, 2600]]
    )
    assert served(growing, "anthropic") == [0, 2000]


def test_deepseek_hits_whole_units_and_a_shared_prefix_from_the_third_request_on() -> None:
    assert served(repeats(640, [0.0, 1.0, 2.0]), "deepseek") == [0, 0, 640]
    first, output = run_of(1, 200), run_of(2, 101)
    turn = Requests([first, first + output + run_of(3, 50)], [output, b""], arrivals=[0.0, 1.0])
    assert served(turn, "deepseek") == [0, 256], "300 tokens have KV, in steps of 64"
    again = Requests([first, first + run_of(4, 50)], arrivals=[0.0, 90_000.0])
    assert served(again, "deepseek") == [0, 0]


def test_without_timestamps_nothing_expires_and_that_is_said() -> None:
    requests = replace(repeats(2000, [0.0] * 40), arrivals=None)
    result = simulate_hosted(requests, provider("openai"))
    assert result.matched_tokens.tolist() == [0] + [1920] * 39
    assert "the log lacks timestamps: nothing expires and no request overflows" in result.notes


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(sorted(providers())))
def test_a_longer_lifetime_serves_no_less_and_nothing_below_the_minimum(seed: int, name: str) -> None:
    requests = conversations(seed, 30, apart=200.0, system=900)
    runs = [
        served(requests, name, lifetime=life, minimum=100, one_cache=True) for life in (100.0, 1000.0, inf)
    ]
    # Where entries also die of age, one that idled away is young again when a longer-lived one is too old.
    comparable = pairwise(runs) if provider(name).max_age == inf else [(runs[0], runs[2]), (runs[1], runs[2])]
    for run, longer in comparable:
        if name != "deepseek":
            assert all(a <= b for a, b in zip(run, longer, strict=True))
        assert sum(run) <= sum(longer)
    assert all(hit == 0 or hit >= 64 for run in runs for hit in run)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_the_timed_tree_equals_a_list_of_keys(seed: int) -> None:
    """Marked entries and prefixes without expiry, against brute force over all that was written."""
    rng = random.Random(seed)
    tree, keys, marks = TimedTree(), [], {}
    for now in range(30):
        key = pack(*(rng.randrange(2) for _ in range(rng.randint(1, 8))))
        if rng.random() < 0.5:
            tree.add(key, now)
            keys.append(key)
        elif rng.random() < 0.7:
            tree.mark(key, now, 5.0)
            keys.append(key)
            marks[key] = now
        probe = pack(*(rng.randrange(2) for _ in range(rng.randint(1, 9))))
        shared = max((_shared(probe, known) for known in keys), default=0)
        assert tree.longest(probe, now) == shared
        alive = sorted(len(k) // 4 for k, at in marks.items() if probe.startswith(k) and now - at <= 5.0)
        assert tree.entries(probe, now) == alive


def _shared(a: bytes, b: bytes) -> int:
    count = 0
    while a[4 * count : 4 * count + 4] and a[: 4 * count + 4] == b[: 4 * count + 4]:
        count += 1
    return count
