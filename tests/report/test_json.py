"""report.json keeps its schema, its reasons and its bytes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

from radixadvisor.report.json import to_dict, to_json
from tests.report.fixtures import advised, hostile, ordinary

FIELDS = {
    "schema": None,
    "version": None,
    "assumptions": None,
    "not_evaluated": None,
    "input": {"files", "dialect", "requests", "skipped", "span_seconds", "unit"},
    "tokenizer": {"name", "template", "template_hash", "exact"},
    "tokenizers": None,
    "totals": {"prompt_tokens", "output_tokens", "unique_tokens"},
    "hits": {"unlimited", "sglang", "vllm", "none", "headline", "rates", "across_sessions", "within_session"},
    "bounds": {
        "current",
        "best_order_found",
        "dp_optimum",
        "every_segment_seen_before",
        "optimal_eviction",
    },
    "capacity": {"tokens", "gib", "lru_rate", "optimal_rate"},
    "ledger": {"bucket", "tokens", "share"},
    "findings": {"rule", "kind", "profile", "title", "where", "evidence", "requests", "lost_tokens"},
    "checked": {"rule", "gain_tokens"},
    "prescriptions": {
        *{"id", "rules", "title", "edit", "safety", "alone_tokens", "marginal_tokens"},
        *{"marginal_interval", "rate_after"},
    },
    "prediction": None,
    "calibration": None,
    "verdict": None,
}


def unexplained(report: dict[str, Any]) -> list[str]:
    """Fields that are null without a reason under their own dotted name or that of what holds them.

    Rows of a list share the list's name; a ledger row goes by its bucket.
    """

    def nulls(value: Any, name: str) -> Iterator[str]:
        if value is None:
            yield name
        elif isinstance(value, dict):
            for key, item in value.items():
                yield from nulls(item, f"{name}.{key}" if name else key)
        elif isinstance(value, list):
            for item in value:
                yield from nulls(item, f"{name}.{item['bucket']}" if name == "ledger" else name)

    reasons = report["not_evaluated"]
    return [
        name
        for name in nulls({key: value for key, value in report.items() if key != "not_evaluated"}, "")
        if not any(name == reason or name.startswith(f"{reason}.") for reason in reasons)
    ]


def test_every_field_of_the_schema_is_there() -> None:
    report = to_dict(advised())
    assert report["schema"] == "radixadvisor/report/1"
    for name, fields in FIELDS.items():
        assert name in report
        part = report[name][0] if isinstance(report[name], list) and fields else report[name]
        assert fields is None or fields <= set(part), name
    assert set(report["input"]["skipped"]) >= {"count", "reasons"}
    assert set(report["hits"]["rates"]) == {"token_weighted", "mean_per_request", "share_of_requests_hit"}
    for profile in ("unlimited", "sglang", "across_sessions"):
        assert {"tokens", "rate"} <= set(report["hits"][profile])


def test_what_is_not_evaluated_says_why() -> None:
    report = to_dict(ordinary())
    assert unexplained(report) == []
    for name in ("prediction", "verdict", "calibration", "by"):
        assert not report[name]
        assert report["not_evaluated"][name]


def test_a_null_without_a_reason_is_noticed() -> None:
    report = to_dict(dataclasses.replace(ordinary(), not_evaluated={}))
    assert unexplained(report) == [
        "bounds.best_order_found",
        "bounds.dp_optimum",
        "ledger.ttl.tokens",
        "ledger.ttl.share",
    ]


def test_both_counts_of_cached_tokens_stand_side_by_side() -> None:
    analysis = dataclasses.replace(
        ordinary(), reported_cached_tokens=700_000, predicted_cached_tokens=780_000
    )
    report = to_dict(analysis)
    assert report["calibration"] == {
        "reported_cached_tokens": 700_000,
        "predicted_cached_tokens": 780_000,
        "error": None,
        "usable": None,
    }
    assert unexplained(report) == []
    assert unexplained(to_dict(dataclasses.replace(analysis, predicted_cached_tokens=None))) == []
    for error, usable in ((-0.02, True), (0.0201, False)):
        judged = to_dict(dataclasses.replace(analysis, calibration_error=error))
        assert judged["calibration"]["error"] == error and judged["calibration"]["usable"] is usable
        assert unexplained(judged) == []


def test_figures_are_rounded_and_shares_still_add_up() -> None:
    report = to_dict(ordinary())
    unlimited = report["hits"]["unlimited"]
    assert (unlimited["tokens"], unlimited["rate"]) == (792_345, 0.660288)
    assert unlimited["rates"]["mean_per_request"] == 0.61
    assert report["hits"]["rates"] == report["hits"]["sglang"]["rates"]
    assert abs(sum(row["share"] or 0.0 for row in report["ledger"]) - 1) < 1e-9
    assert report["ledger"][-1]["share"] == 0.291666666667


def test_the_largest_tokenizer_stands_first() -> None:
    report = to_dict(ordinary())
    assert report["tokenizer"]["name"] == "qwen"
    assert [used["name"] for used in report["tokenizers"]] == ["o200k", "qwen"]
    none = dataclasses.replace(ordinary(), tokenizers=())
    assert to_dict(none)["tokenizer"] is None


def test_bytes_are_ascii_and_read_back_the_same() -> None:
    for analysis in (ordinary(), hostile()):
        content = to_json(analysis)
        assert content.isascii()
        assert content.endswith(b"}\n")
        assert b"\x1b" not in content
        assert json.loads(content) == to_dict(analysis)


def test_excerpts_are_masked() -> None:
    branch = dataclasses.replace(
        ordinary().branches[0], excerpt="use sk-abcdefghijklmnop", label="ghp_" + "a" * 20
    )
    analysis = dataclasses.replace(ordinary(), branches=(branch,))
    shown = to_dict(analysis)["branches"][0]
    assert (shown["excerpt"], shown["label"]) == ("use sk-***", "ghp_***")
