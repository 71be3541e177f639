"""The rules of tools and histories notice their habit, where it is, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from radixadvisor.diagnose.candidate import Candidate
from radixadvisor.diagnose.registry import DETECTORS
from radixadvisor.diagnose.view import LogView
from radixadvisor.prescribe.counterfactual import try_all
from tests.diagnose.conversations import agent, opened
from tests.diagnose.habits import (
    FAULTS,
    HEALTHY,
    MORE_FAULTS,
    cleared,
    reparsed,
    summarised_window,
    trimmed,
    window,
)

RULES = [number for number in sorted(DETECTORS) if number[2] in "24"]


def candidates(view: LogView, rules: list[str] = RULES) -> list[Candidate]:
    return [candidate for number in rules for candidate in DETECTORS[number](view)]


@pytest.mark.parametrize("number", sorted(FAULTS))
def test_a_fault_is_noticed_and_its_fix_gains(number: str, tmp_path: Path) -> None:
    view = LogView(opened(FAULTS[number](), tmp_path))
    found = candidates(view)
    assert number in {candidate.rule for candidate in found}
    trial = try_all(view, found)
    applied = {candidate.rule for fix in trial.applied for candidate in fix.candidates}
    assert number in applied
    assert trial.after.computed.sum() < trial.before.computed.sum()
    for candidate in found:
        assert candidate.before != candidate.after
        request = next(r for r in view.trace.requests if r.id == candidate.place.request_id)
        field, _, rest = candidate.place.path.partition("[")
        index = int(rest.partition("]")[0])
        assert (request.messages if field == "messages" else request.tools.tools)[index]  # type: ignore[index, union-attr]
        assert 0 <= candidate.place.start <= candidate.place.end


@pytest.mark.parametrize("name", sorted(MORE_FAULTS))
def test_other_forms_of_a_fault_are_noticed(name: str, tmp_path: Path) -> None:
    number, log = MORE_FAULTS[name]
    view = LogView(opened(log(), tmp_path))
    found = candidates(view)
    assert [candidate.rule for candidate in found] == [number]
    trial = try_all(view, found)
    assert trial.applied[0].alone > 0.3 * trial.before.computed.sum()


def test_a_window_behind_a_new_summary_is_not_restored_as_if_rewritten(tmp_path: Path) -> None:
    view = LogView(opened(agent(24, history=summarised_window), tmp_path))
    assert candidates(view, ["RA402", "RA403", "RA404"]) == []


def test_reasoning_that_the_template_strips_is_measured_without_a_fix(tmp_path: Path) -> None:
    rows = [row | {"model": "qwen3-8b"} for row in agent(thinks=True)]
    view = LogView(opened(rows, tmp_path))
    (found,) = candidates(view, ["RA404"])
    assert found.edit is None
    assert found.lost_tokens is not None
    assert 0 < found.lost_tokens < sum(view.trace.lengths)
    kept = sum(view.trace.lengths[index] - view.matches[index].tokens for index in found.requests)
    assert found.lost_tokens < kept
    assert [c.rule for c in candidates(LogView(opened(agent(thinks=True), tmp_path)), ["RA404"])] == []


@pytest.mark.parametrize("name", sorted(HEALTHY))
def test_a_healthy_log_gives_nothing(name: str, tmp_path: Path) -> None:
    assert candidates(LogView(opened(HEALTHY[name](), tmp_path))) == []


@pytest.mark.parametrize("habit", [window, cleared])
def test_histories_are_followed_without_session_ids(habit: object, tmp_path: Path) -> None:
    rules = ["RA401", "RA402"]
    named = candidates(LogView(opened(agent(24, history=habit), tmp_path)), rules)  # type: ignore[arg-type]
    bare = candidates(LogView(opened(agent(24, history=habit, named=False), tmp_path)), rules)  # type: ignore[arg-type]
    assert [candidate.rule for candidate in bare] == [candidate.rule for candidate in named] != []
    assert len(bare[0].requests) == len(named[0].requests)


@pytest.mark.parametrize("habit", [trimmed, reparsed])
def test_a_reply_that_comes_back_changed_is_named_with_both_forms(habit: object, tmp_path: Path) -> None:
    view = LogView(opened(agent(replayed=habit), tmp_path))  # type: ignore[arg-type]
    (found,) = candidates(view, ["RA405"])
    assert found.place.path.startswith("messages[2].")
    assert len(found.requests) == 22


CASES = {
    "05-tool-list-shuffled": ("RA201", "tools[0]", 0.95),
    "06-schema-key-order-per-process": ("RA202", "tools[0]", 0.95),
    "12-sliding-window-trim": ("RA401", "messages[1].content", 0.8),
    "13-old-tool-results-stubbed": ("RA402", "messages[3].content", 0.95),
    "15-reasoning-stripped-at-user-turn": ("RA404", "messages[2].content", 0.95),
    "17-trailing-whitespace-trimmed": ("RA405", "messages[2].content", 0.95),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_known_logs_gain_what_their_repair_gains(name: str, shared: Path) -> None:
    from radixadvisor.analysis import AnalyzeOptions, open_trace

    number, path, share = CASES[name]
    view = LogView(open_trace([str(shared / "cases" / f"{name}.jsonl")], AnalyzeOptions())[0])
    (found,) = candidates(view)
    assert (found.rule, found.place.path) == (number, path)
    exact = json.loads((shared / "cases" / f"{name}.expect.json").read_text())["exact"]["with_outputs_page1"]
    trial = try_all(view, [found])
    assert trial.before.computed.sum() == exact["computed_before"]
    assert trial.applied[0].alone >= share * exact["saved"]
    repaired = LogView(open_trace([str(shared / "cases" / f"{name}.fixed.jsonl")], AnalyzeOptions())[0])
    assert candidates(repaired) == []
