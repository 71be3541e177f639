"""Engine settings are what simulations of the log say, and the report shows their figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import radixadvisor
from radixadvisor.analysis import AnalyzeOptions, analyze
from radixadvisor.cli import main
from radixadvisor.report.json import to_dict
from radixadvisor.report.markdown import to_markdown
from radixadvisor.results import Analysis
from tests.update_readme import REPOSITORY

SAMPLES = REPOSITORY / "samples"


def analysed(sample: str, **options: object) -> Analysis:
    return analyze([str(SAMPLES / sample)], AnalyzeOptions(**options))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def shuffled() -> Analysis:
    return analysed("rag-shuffled.jsonl")


def rates(command: list[str], capsys: pytest.CaptureFixture[str]) -> list[float]:
    capsys.readouterr()
    assert main([*command, "--json"]) == 0
    return [run["rate"] for run in json.loads(capsys.readouterr().out)["runs"]]


def test_the_figures_are_those_of_simulate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = analysed("rag-consistent.jsonl", capacity=9_000).settings
    assert found is not None and not found.fixed
    assert (found.pool, found.pool_known) == (9_000, True)
    log = str(SAMPLES / "rag-consistent.jsonl")
    base = [
        "simulate",
        log,
        "--out",
        str(tmp_path),
        "--capacity",
        "9000",
        "--concurrency",
        str(found.clients),
    ]
    policies = [part for name, _ in found.policy.rates for part in ("--policy", name)]
    assert rates([*base, *policies], capsys) == pytest.approx([r for _, r in found.policy.rates], abs=1e-6)
    (with_host,) = rates([*base, "--policy", found.policy.chosen, "--host-ratio", "2"], capsys)
    assert with_host == pytest.approx(dict(found.host_ratio.rates)["2"], abs=1e-6)


def test_chosen_values_serve_no_less_than_the_defaults(shuffled: Analysis) -> None:
    found = shuffled.settings
    assert found is not None
    for trial, default in (
        (found.policy, "fcfs"),
        (found.host_ratio, "0"),
        (found.route, "round-robin"),
    ):
        assert trial.rate >= dict(trial.rates)[default]
    assert dict(found.page.rates)["1"] >= found.page.rate >= dict(found.page.rates)["1"] - 0.005


def test_settings_are_for_the_log_with_its_fixes(shuffled: Analysis) -> None:
    found, plain = shuffled.settings, analysed("rag-consistent.jsonl").settings
    assert found is not None and plain is not None
    assert found.fixed and not plain.fixed
    assert dict(found.page.rates)["1"] == pytest.approx(shuffled.prescriptions[-1].rate_after, abs=1e-9)
    assert dict(found.page.rates) == pytest.approx(dict(plain.page.rates), abs=0.002)


def test_a_pool_that_cannot_hold_it_wants_a_host_tier_if_loading_pays() -> None:
    tight = analysed("agent-tools.jsonl", capacity=3_000, model="llama-3.1-8b", gpu="h100").settings
    assert tight is not None
    assert tight.loading_pays is True
    assert tight.host_ratio.chosen == "2"
    assert dict(tight.host_ratio.rates)["2"] > dict(tight.host_ratio.rates)["0"]


def test_the_report_shows_every_figure_beside_its_flag(shuffled: Analysis) -> None:
    text = to_markdown(shuffled)
    section = text.split("## Engine settings\n")[1].split("\n## ")[0]
    found = shuffled.settings
    assert found is not None
    for flag in (
        f"`--schedule-policy {found.policy.chosen}`",
        f"`--page-size {found.page.chosen}`",
        "--enable-hierarchical-cache",
        "--mem-fraction-static",
        "`--enable-prefix-caching`",
        "`--block-size 16`",
        "--gpu-memory-utilization",
        f"sglang_router --policy {found.route.chosen.replace('-', '_')}",
    ):
        assert flag in section
    for trial in (found.policy, found.page, found.host_ratio, found.route):
        for name, rate in trial.rates:
            assert f"{rate:.1%} with {name}" in section
    assert to_dict(shuffled)["settings"]["schedule_policy"]["chosen"] == found.policy.chosen


def test_where_nothing_was_tried_the_reason_is_told(tmp_path: Path) -> None:
    plain = analysed("rag-consistent.jsonl", advice=False)
    assert plain.settings is None
    assert to_dict(plain)["not_evaluated"]["settings"]
    assert "## Engine settings" not in to_markdown(plain)
    log = tmp_path / "hosted.jsonl"
    rows = [
        {"model": "gpt-4o", "messages": [{"role": "user", "content": f"{'word ' * 400}{number}"}]}
        for number in range(4)
    ]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    hosted = radixadvisor.analyze(str(log)).analysis
    assert hosted.settings is None
    section = to_markdown(hosted).split("## What the API's cache asks for\n")[1].split("\n## ")[0]
    assert "1024 tokens" in section.replace(",", "")
    assert "prompt_cache_key" in section
    assert "settings" in to_dict(hosted)["not_evaluated"]
