"""Gates on logs: what holds, what breaks, what cannot be told, and what is wrong with the question."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from radixadvisor.cli import main
from tests.lock.traffic import Row, template, traffic, written

CLOCK = "Now: {}\n"


def healthy(path: Path, seed: int) -> Path:
    """A day of two applications; another seed is another day."""
    return written(
        path,
        traffic(template(1), seed, conversations=30, app="chat"),
        traffic(template(2, tools=3), seed + 500, conversations=20, app="agent"),
    )


def faulty(path: Path, seed: int) -> Path:
    """The same traffic, a clock in front of the chat's system prompt."""
    made, moment = template(1), iter(range(10_000))

    def with_clock(_: random.Random) -> str:
        number = next(moment)
        clock = CLOCK.format(f"2026-03-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z")
        return clock + made.system

    return written(
        path,
        traffic(made, seed, conversations=30, app="chat", system=with_clock),
        traffic(template(2, tools=3), seed + 500, conversations=20, app="agent"),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of a healthy and a broken client, with report and lock of the first."""
    where = tmp_path_factory.mktemp("gates")
    healthy(where / "monday.jsonl", 1)
    healthy(where / "tuesday.jsonl", 2)
    faulty(where / "broken.jsonl", 3)
    assert (
        main(["check", str(where / "monday.jsonl"), "--min-hit-rate", "1%", "--out", str(where), "-q"]) == 0
    )
    assert main(["lock", str(where / "monday.jsonl"), "-o", str(where / "prefix.lock"), "-q"]) == 0
    return where


def gates(
    folder: Path, log: str, *options: str, capsys: pytest.CaptureFixture[str]
) -> tuple[int, dict[str, Row]]:
    """Exit code, and the gates of the JSON by name."""
    capsys.readouterr()
    code = main(["check", str(folder / log), *options, "--json"])
    body = json.loads(capsys.readouterr().out)
    assert body["exit_code"] == code
    assert body["held"] is (code == 0)
    return code, {gate["gate"]: gate for gate in body["gates"]}


def every_gate(folder: Path) -> list[str]:
    report = str(folder / "report.json")
    return [
        *("--min-hit-rate", "0.7", "--max-lost", "RA1xx=1%", "--max-lost", "order=1%"),
        *("--against", report, "--max-drop", "5", "--no-new-findings"),
        *("--lock", str(folder / "prefix.lock")),
    ]


def test_another_day_of_the_same_traffic_holds_every_gate(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = gates(folder, "tuesday.jsonl", *every_gate(folder), capsys=capsys)
    assert code == 0, found
    assert len(found) == 7
    assert {gate["status"] for gate in found.values()} == {"PASS"}


def test_a_clock_in_front_breaks_every_gate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = gates(folder, "broken.jsonl", *every_gate(folder), capsys=capsys)
    assert code == 1
    status = {name: gate["status"] for name, gate in found.items()}
    assert status.pop("lock agent") == "PASS"
    assert set(status.values()) == {"FAIL"}, status
    assert "clock" not in found["lock chat"]["reason"]
    assert found["lock chat"]["source"]["file"].endswith("broken.jsonl")


@pytest.mark.parametrize("samples", [("monday.jsonl", "tuesday.jsonl"), ("tuesday.jsonl", "monday.jsonl")])
def test_halves_of_the_same_traffic_raise_no_alarm(
    samples: tuple[str, str], folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = samples
    assert main(["analyze", str(folder / first), "--out", str(tmp_path), "-q"]) == 0
    options = ["--against", str(tmp_path / "report.json"), "--max-drop", "3", "--no-new-findings"]
    assert gates(folder, second, *options, capsys=capsys)[0] == 0


@pytest.mark.parametrize(
    ("rate", "code"), [("0", 0), ("0%", 0), ("0.05", 0), ("5%", 0), ("1", 1), ("100%", 1), (".99", 1)]
)
def test_a_rate_is_a_fraction_or_a_percentage(
    rate: str, code: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, gate = gates(folder, "monday.jsonl", "--min-hit-rate", rate, capsys=capsys)
    assert found == code
    (only,) = gate.values()
    assert 0 < only["value"] < 1
    assert only["threshold"] == (float(rate[:-1]) / 100 if rate.endswith("%") else float(rate))


def test_a_threshold_that_is_just_met_holds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, found = gates(folder, "broken.jsonl", "--max-lost", "RA101=0", capsys=capsys)
    lost = int(found["max-lost RA101"]["value"])
    assert lost > 0
    assert gates(folder, "broken.jsonl", "--max-lost", f"RA101={lost}", capsys=capsys)[0] == 0
    assert gates(folder, "broken.jsonl", "--max-lost", f"RA101={lost - 1}", capsys=capsys)[0] == 1


def test_wide_limits_add_up_the_rules_that_they_name(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("RA101", "RA1xx", "ra1XX", "all", "RA2xx")
    lost = {}
    for name in names:
        _, found = gates(folder, "broken.jsonl", "--max-lost", f"{name}=0", capsys=capsys)
        (gate,) = found.values()
        lost[name] = gate["value"]
    assert lost["RA101"] == lost["RA1xx"] == lost["ra1XX"] <= lost["all"]
    assert lost["RA2xx"] == 0


WRONG = [
    (["--min-hit-rate", "nan"], "no rate"),
    (["--min-hit-rate", "-1"], "no rate"),
    (["--min-hit-rate", "80"], "80%"),
    (["--min-hit-rate", "1e-1"], "no rate"),
    (["--min-hit-rate", "0.5", "--profile", "sglangg"], "sglang"),
    (["--max-lost", "RA999=1"], "RA999"),
    (["--max-lost", "RA8xx=1"], "RA8xx"),
    (["--max-lost", "RA101"], "NAME=AMOUNT"),
    (["--max-lost", "=5"], "NAME=AMOUNT"),
    (["--max-lost", "RA101=-5"], "neither"),
    (["--max-lost", "RA101=101%"], "neither"),
    (["--max-lost", "RA101=inf"], "neither"),
    (["--max-lost", "RA101=1", "--max-lost", "ra101=2"], "twice"),
    (["--max-drop", "2"], "--against"),
    (["--no-new-findings"], "--against"),
    (["--strict", "--min-hit-rate", "0.1"], "--lock"),
    (["--min-hit-rate", "0.1", "--format", "xml"], "sarif"),
    (["--min-hit-rate", "0.1", "--json", "--format", "junit"], "two forms"),
    (["--min-hit-rate", "0.1", "--against", "absent.json", "--max-drop", "1"], "absent.json"),
    (["--lock", "absent.lock"], "absent.lock"),
    ([], "without a gate"),
]


@pytest.mark.parametrize(("options", "told"), WRONG, ids=lambda value: " ".join(value)[:40])
def test_a_question_that_cannot_work_is_wrong_usage(
    options: list[str], told: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(folder / "monday.jsonl"), *options]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert told in shown.err.replace("\n", " ")
    assert "Traceback" not in shown.err


def test_everything_wrong_is_told_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--min-hit-rate", "high", "--max-lost", "RA999=1", "--max-drop", "2", "--format", "xml"]
    assert main(["check", str(folder / "absent.jsonl"), *options]) == 2
    told = capsys.readouterr().err.replace("\n", " ")
    for part in ("high", "RA999", "--against", "xml", "absent.jsonl"):
        assert part in told
    assert "5 things are wrong" in told


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda body: body.update(schema="radixadvisor/report/2"), "schema 2"),
        (lambda body: body.update(schema="radixadvisor/replay/1"), "no report"),
        (lambda body: body.pop("schema"), "no schema"),
        (lambda body: body.pop("totals"), "cannot be as it is"),
        (lambda body: body["totals"].update(prompt_tokens="many"), "cannot be as it is"),
        (lambda body: body["totals"].update(prompt_tokens=-1), "without requests"),
        (lambda body: body["hits"].update(headline="none of these"), "headline"),
        (lambda body: body.update(findings=[{"rule": 1}]), "cannot be as it is"),
    ],
)
def test_other_reports_are_refused(
    change: object, told: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = json.loads((folder / "report.json").read_text())
    assert callable(change)
    change(body)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(body))
    options = ["--against", str(path), "--max-drop", "1"]
    assert main(["check", str(folder / "monday.jsonl"), *options]) == 2
    assert told in capsys.readouterr().err.replace("\n", " ")
    path.write_text(json.dumps(body)[:-40])
    assert main(["check", str(folder / "monday.jsonl"), *options]) == 2
    assert "no JSON" in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "github"])
@pytest.mark.parametrize("content", ["", "\n\n", "not json\n{\n"])
def test_a_log_without_usable_data_is_never_a_pass(
    content: str, form: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(content)
    code = main(["check", str(log), *every_gate(folder), "--max-lost", "RA2xx=100%", "--format", form])
    assert code == 3
    shown = capsys.readouterr()
    assert "PASS" not in shown.out
    assert "SKIP" in shown.out or "skipped" in shown.out or form == "sarif"


def test_what_a_log_cannot_tell_is_skipped_and_no_pass(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = gates(folder, "monday.jsonl", "--max-lost", "replicas=5%", capsys=capsys)
    assert code == 3
    (gate,) = found.values()
    assert gate["status"] == "SKIP"
    assert gate["value"] is None
    assert gate["reason"]
    both = ("--max-lost", "replicas=5%", "--min-hit-rate", "1%")
    assert gates(folder, "monday.jsonl", *both, capsys=capsys)[0] == 3
    failed = ("--max-lost", "replicas=5%", "--min-hit-rate", "100%")
    assert gates(folder, "monday.jsonl", *failed, capsys=capsys)[0] == 1


def test_a_lock_of_other_applications_is_skipped(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = written(tmp_path / "o.jsonl", traffic(template(9, tools=2), 1, model="llama-3.1-8b-instruct"))
    lock = tmp_path / "other.lock"
    assert main(["lock", str(other), "-o", str(lock), "-q"]) == 0
    code, found = gates(folder, "monday.jsonl", "--lock", str(lock), capsys=capsys)
    assert code in (1, 3)
    assert "PASS" not in {gate["status"] for gate in found.values()}


def test_strict_fails_what_is_new_or_gone(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.jsonl"
    written(log, traffic(template(1), 9, app="chat"), traffic(template(5), 9, app="search"))
    lock = ("--lock", str(folder / "prefix.lock"))
    code, found = gates(tmp_path, log.name, *lock, "--strict", capsys=capsys)
    assert code == 1
    assert found["lock chat"]["status"] == "PASS"
    assert "FAIL" in {gate["status"] for name, gate in found.items() if name != "lock chat"}


def test_a_prefix_that_vanished_is_told_without_a_length(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = template(1)
    old = written(tmp_path / "old.jsonl", traffic(made, 1, conversations=12, app="a"))
    assert main(["lock", str(old), "-o", str(tmp_path / "p.lock"), "-q"]) == 0
    rows = traffic(made, 2, conversations=12, app="a", system=lambda rng: f"{rng.random()}\n" + made.system)
    written(tmp_path / "new.jsonl", rows)
    code, found = gates(tmp_path, "new.jsonl", "--lock", str(tmp_path / "p.lock"), capsys=capsys)
    assert code == 1
    assert "of its own text now" in found["lock a"]["reason"]


def test_who_loses_most_stands_beside_the_gates(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["check", str(folder / "broken.jsonl"), "--min-hit-rate", "1%", "--by", "app"]
    assert main([*options, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["by"]["rows"]
    assert [row["name"] for row in rows] == ["chat", "agent"]
    assert rows[0]["lost_tokens"] > rows[1]["lost_tokens"]
    assert main([*options, "--where", "app=agent", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)["by"]["rows"]] == ["agent"]


def test_the_results_are_kept_where_asked(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["check", str(folder / "monday.jsonl"), "--min-hit-rate", "1%", "--out", str(out), "-q"]
    assert main(options) == 0
    first = (out / "check.json").read_bytes()
    assert main([*options, "--against", str(out / "report.json"), "--max-drop", "0"]) == 0
    assert (out / "check.json").read_bytes() != first
    assert main(options) == 0
    assert (out / "check.json").read_bytes() == first
