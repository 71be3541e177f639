"""Each fault of serving yields its rule and no other, and what looks like one yields none."""

from __future__ import annotations

import pytest

from radixadvisor.diagnose.rules import rule, rules
from radixadvisor.results import Analysis
from tests.serving.faults import FAULTS, HEALTHY, ONLY_TOLD
from tests.serving.seen import analysis_of, analyzed, one

EXPLAINED = {"RA503", "RA505", "RA511", "RA512"}


def told(analysis: Analysis) -> list[str]:
    return sorted({found.rule for found in analysis.findings})


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_fault_yields_its_rule_and_no_other(name: str) -> None:
    assert told(analysis_of(name, 1)) == [FAULTS[name][0]]


@pytest.mark.parametrize("name", sorted(ONLY_TOLD))
def test_what_only_the_user_knows_makes_no_finding_unless_told(name: str) -> None:
    assert told(analysis_of(name, 1)) == [ONLY_TOLD[name][0]]
    assert told(analysis_of(name, 1, told=False)) == []


@pytest.mark.parametrize("name", sorted(HEALTHY))
def test_healthy_serving_has_no_finding(name: str) -> None:
    assert told(analysis_of(name, 1)) == []


def test_every_rule_of_serving_has_a_log() -> None:
    shown = {rule for rule, _ in FAULTS.values()} | {rule for rule, _, _ in ONLY_TOLD.values()}
    assert shown | {"RA511", "RA512"} == {number for number in rules() if number.startswith("RA5")}
    assert all(rule(number).detected for number in shown)


@pytest.mark.parametrize("name", sorted([*FAULTS, *ONLY_TOLD]))
def test_findings_and_changes_are_measured(name: str) -> None:
    analysis = analysis_of(name, 1)
    total = analysis.totals.prompt_tokens
    for found in analysis.findings:
        assert found.lost_tokens >= rule(found.rule).threshold("least_share") * total
        assert 0 < found.requests <= analysis.input.requests
        assert (found.kind == "fix") == (found.fix is not None)
        assert found.rule not in EXPLAINED or found.kind == "explanation"
        if found.rates is not None:
            assert 0 <= found.rates[0] <= found.rates[1] <= 1
    for change in analysis.prescriptions:
        low, high = change.marginal_interval
        assert change.edit == "serving"
        assert change.setting
        assert change.marginal_tokens == change.alone_tokens
        assert low <= change.marginal_tokens <= high or analysis.input.sessions == 1
        before = next(
            row.share for row in analysis.ledger if row.bucket == "served" and row.share is not None
        )
        if change.profile == analysis.hits.headline and not change.prompt_tokens and name not in ONLY_TOLD:
            assert change.hit_tokens == change.marginal_tokens
            if name != "no_marks_and_nothing_cached":
                assert change.rate_after == pytest.approx(before + change.marginal_tokens / total)


def test_a_change_that_does_not_pay_is_an_explanation() -> None:
    found = one(analysis_of("pauses_of_hours", 1), "RA504")
    assert found.kind == "explanation"
    assert "costs more than it saves" in found.title
    paying = analysis_of("pauses_longer_than_claude_remembers", 1)
    assert one(paying, "RA504").kind == "fix"
    assert paying.prescriptions[0].setting == 'cache_control={"type": "ephemeral", "ttl": "1h"}'


def test_the_vllm_profile_alone_knows_the_bypass() -> None:
    analysis = analysis_of("logprobs_of_the_prompt", 1)
    found = one(analysis, "RA502")
    assert found.profile == "vllm"
    assert analysis.hits.profiles["vllm"].rate < analysis.hits.profiles["sglang"].rate - 0.1
    assert analysis.prescriptions[0].rate_after == pytest.approx(
        analysis.hits.profiles["vllm"].rate + found.lost_tokens / analysis.totals.prompt_tokens
    )


def test_replicas_that_nobody_names_are_a_range_and_no_finding() -> None:
    analysis = analysis_of("one_cache_taken_for_four", 1, told=False)
    assert [row.replicas for row in analysis.replica_range] == [1, 2, 4, 8]
    rates = [row.rate for row in analysis.replica_range]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] == pytest.approx(analysis.hits.profiles["sglang"].rate)
    four = analysis_of("one_cache_taken_for_four", 1)
    assert one(four, "RA507").rates == pytest.approx((rates[2], rates[0]))
    assert four.replica_range == ()


def test_salts_stay_secret() -> None:
    found = one(analysis_of("salt_per_session", 1), "RA503")
    assert "salt-" not in found.before + found.after + found.title


@pytest.mark.parametrize("name", ["parameters_that_no_prompt_holds"])
def test_what_was_tried_in_vain_is_checked(name: str) -> None:
    analysis = analysis_of(name, 1)
    assert {(item.rule, item.gain_tokens) for item in analysis.checked} == {("RA501", 0)}


def test_replicas_of_most_requests_are_enough() -> None:
    rows = FAULTS["replicas_in_turn"][1](2)
    for row in rows[::5]:
        del row["metadata"]["replica"]
    assert one(analyzed(rows), "RA507").kind == "fix"
