"""What a report shows, and in which order."""

from __future__ import annotations

import dataclasses

from radixadvisor.report.reasons import remedy
from radixadvisor.report.view import quiet_line, view
from radixadvisor.results import Branch
from tests.report.fixtures import ordinary


def branch(saved: int, parent: int) -> Branch:
    return Branch(1, 1, 2, saved, None, f"saves {saved}", "", parent)


def test_the_heaviest_branches_come_with_their_ancestors_in_tree_order() -> None:
    branches = (branch(5, -1), branch(50, -1), branch(7, 0), branch(40, 2), branch(9, 1), branch(60, 1))
    analysis = dataclasses.replace(ordinary(), branches=branches)
    rows = view(analysis, branches=5).branches
    assert [(row.branch.saved, row.level, row.last) for row in rows] == [
        (50, 0, False),
        (60, 1, True),
        (5, 0, True),
        (7, 1, True),
        (40, 2, True),
    ]


def test_a_branch_without_room_for_its_ancestors_leaves_room_for_a_lighter_one() -> None:
    branches = (branch(5, -1), branch(6, 0), branch(90, 1), branch(50, -1))
    rows = view(dataclasses.replace(ordinary(), branches=branches), branches=2).branches
    assert [row.branch.saved for row in rows] == [50, 5]


def test_capacities_keep_both_ends() -> None:
    shown = view(ordinary(), capacities=4).capacity
    assert [row.tokens for row in shown] == [1000, 8000, 64000, 512000]


def test_empty_buckets_are_not_shown() -> None:
    assert [row.bucket for row in view(ordinary()).ledger] == [
        "served",
        "rounding",
        "elsewhere",
        "first_seen",
    ]


def test_fields_with_one_reason_stand_together() -> None:
    missing = dict(view(ordinary()).missing)
    assert missing["this version does not search orders"] == ("bounds.best_order_found", "bounds.dp_optimum")


def test_a_log_without_sessions_says_nothing_about_them() -> None:
    analysis = dataclasses.replace(ordinary(), hits=dataclasses.replace(ordinary().hits, within_session=None))
    assert "overlap" not in view(analysis).sessions


def test_remedies_name_what_to_give() -> None:
    assert remedy(["hits.within_session"]) == "log a session id with every request"
    assert "; " in remedy(["input.span_seconds", "calibration.error"])
    assert remedy(["verdict"]) == ""


def test_one_line() -> None:
    assert quiet_line(ordinary()) == (
        "1,000 requests, 1,200,000 prompt tokens, unlimited 66.0%, sglang 65.0%, 3 records skipped"
    )
