"""Matches told from segments equal those of the tree over tokens."""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from radixadvisor.analysis import AnalyzeOptions, open_trace
from radixadvisor.diagnose.view import LogView
from radixadvisor.measure.hits import matches
from radixadvisor.measure.segments import Prompt, common_prefix, match_group, match_heads, match_segments
from radixadvisor.measure.walks import walk

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
LOGS = ["agent-tools", "long-system-chat", "mixed-apps", "one-shots", "rag-shuffled", "unique-head"]


@pytest.mark.parametrize("name", LOGS)
def test_samples_match_as_in_the_tree(name: str) -> None:
    trace, _ = open_trace([str(SAMPLES / f"{name}.jsonl")], AnalyzeOptions())
    names = [trace.namespace(index) for index in trace.order]
    walks = walk(trace.prompts(), [trace.outputs[index][:-4] for index in trace.order], names)
    view = LogView(trace)
    found = [view.matches[index].tokens for index in trace.order]
    assert found == matches(walks).tolist()
    for index in trace.order:
        divergence = view.divergence(index)
        if divergence.partner is not None:
            other = trace.prompt(divergence.partner) + trace.outputs[divergence.partner]
            assert common_prefix(trace.prompt(index), other) // 4 >= divergence.tokens


UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
POOL = [array("i", [*body, 99]).tobytes() for body in ([1], [1, 2], [1, 2, 3], [2], [2, 2, 2, 2], [7, 1])]
PROMPTS = st.lists(
    st.tuples(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.lists(st.integers(1, 3), max_size=3)),
    max_size=12,
)


def prompts_of(drawn: list[tuple[list[int], list[int]]]) -> list[Prompt]:
    return [Prompt(segments, POOL, array("i", output).tobytes(), "") for segments, output in drawn]


@UNHURRIED
@given(PROMPTS)
def test_drawn_prompts_match_as_in_the_tree(drawn: list[tuple[list[int], list[int]]]) -> None:
    prompts = prompts_of(drawn)
    sequences = [b"".join(POOL[segment] for segment in prompt.segments) for prompt in prompts]
    walks = walk(sequences, [prompt.output for prompt in prompts])
    assert [match.tokens for match in match_segments(prompts)] == matches(walks).tolist()


@UNHURRIED
@given(PROMPTS)
def test_groups_and_heads_together_match_as_all(drawn: list[tuple[list[int], list[int]]]) -> None:
    # A second segment keeps outputs away from the first one, as every template does.
    prompts = prompts_of([([segments[0], *segments], output) for segments, output in drawn])
    groups: dict[int, list[int]] = {}
    for number, prompt in enumerate(prompts):
        groups.setdefault(prompt.segments[0], []).append(number)
    found = np.zeros(len(prompts), np.int64)
    for members in groups.values():
        found[members] = match_group([prompts[number] for number in members])
    heads = sorted(members[0] for members in groups.values())
    found[heads] = match_heads([POOL[prompts[number].segments[0]] for number in heads])
    assert found.tolist() == [match.tokens for match in match_segments(prompts)]


@UNHURRIED
@given(st.binary(max_size=300), st.binary(max_size=300), st.binary(max_size=300))
def test_common_prefix_is_the_longest(shared: bytes, left: bytes, right: bytes) -> None:
    one, two = shared + left, shared + right
    length = common_prefix(one, two)
    assert one[:length] == two[:length]
    assert length == min(len(one), len(two)) or one[length] != two[length]
