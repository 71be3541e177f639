"""The ledger adds up, whatever the simulations say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from radixadvisor.measure.ledger import BUCKETS, STEPS, compose

Counts = NDArray[np.int64]


def _array(*values: int) -> Counts:
    return np.array(values, np.int64)


@st.composite
def _logs(draw: st.DrawFn) -> tuple[Counts, dict[str, Counts | None], Counts | None]:
    """Prompts, steps (some of them missing, none of them monotone) and the gains of the prescriptions."""
    lengths = draw(st.lists(st.integers(1, 10**9), min_size=1, max_size=12))
    prompts = _array(*lengths)
    steps: dict[str, Counts | None] = {}
    for name in STEPS:
        if name == "order" or (name != "served" and draw(st.booleans())):
            continue
        steps[name] = _array(*(draw(st.integers(0, length)) for length in lengths))
    gains = draw(
        st.none() | st.lists(st.integers(-(10**9), 10**10), min_size=len(lengths), max_size=len(lengths))
    )
    return prompts, steps, None if gains is None else _array(*gains)


@given(_logs())
def test_shares_add_up_to_one_and_no_bucket_is_negative(
    log: tuple[Counts, dict[str, Counts | None], Counts | None],
) -> None:
    prompts, steps, gains = log
    ledger = compose(prompts, steps, gains)
    assert tuple(bucket.name for bucket in ledger.buckets) == BUCKETS
    assert sum(bucket.share or 0.0 for bucket in ledger.buckets) == pytest.approx(1, abs=1e-9)
    assert sum(bucket.tokens or 0 for bucket in ledger.buckets) == prompts.sum()
    columns = [column for column in ledger.columns.values() if column is not None]
    assert all((column >= 0).all() for column in columns)
    assert (sum(columns) == prompts).all()
    for bucket in ledger.buckets:
        column = ledger.columns[bucket.name]
        given = gains is not None if bucket.name == "order" else bucket.name in (*steps, "first_seen")
        assert (bucket.tokens is not None) == (bucket.share is not None) == (column is not None) == given
        assert column is None or bucket.tokens == column.sum()


@given(_logs())
def test_each_request_reaches_the_best_of_the_steps_so_far(
    log: tuple[Counts, dict[str, Counts | None], Counts | None],
) -> None:
    prompts, steps, _ = log
    ledger = compose(prompts, steps)
    for row in range(len(prompts)):
        best = reached = 0
        for name in STEPS:
            step, column = steps.get(name), ledger.columns[name]
            if step is not None and column is not None:
                best, reached = max(best, int(step[row])), reached + int(column[row])
                assert reached == best


def test_what_a_missing_step_would_explain_falls_to_the_next() -> None:
    prompts = _array(100, 100)
    whole = compose(prompts, {"served": _array(10, 0), "capacity": _array(40, 0), "replicas": _array(70, 30)})
    partly = compose(prompts, {"served": _array(10, 0), "capacity": None, "replicas": _array(70, 30)})
    assert [bucket.tokens for bucket in whole.buckets] == [
        10,
        30,
        None,
        60,
        None,
        None,
        None,
        None,
        None,
        100,
    ]
    assert [bucket.tokens for bucket in partly.buckets] == [
        10,
        None,
        None,
        90,
        None,
        None,
        None,
        None,
        None,
        100,
    ]


def test_an_order_gain_is_capped_at_what_remains_and_never_negative() -> None:
    prompts, served = _array(100, 100, 100), _array(60, 60, 60)
    ledger = compose(prompts, {"served": served, "elsewhere": _array(0, 0, 95)}, _array(70, -5, 20))
    assert [bucket.tokens for bucket in ledger.buckets][-3:] == [40 + 0 + 20, 15, 40 + 5]
    column = ledger.columns["order"]
    assert column is not None
    assert column.tolist() == [40, 0, 20]


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ({"served": _array(1, 2), "luck": _array(1, 2)}, "not a step of the ledger: luck"),
        ({"served": _array(1, 2), "order": _array(1, 2)}, "not a step of the ledger: order"),
        ({"capacity": _array(1, 2)}, "starts from the tokens served"),
        ({"served": _array(1)}, "served has 1 requests, the log 2"),
        ({"served": _array(1, 11)}, "more than its prompt"),
        ({"served": _array(1, -1)}, "less than nothing"),
    ],
)
def test_arrays_that_make_no_ledger_are_refused(steps: dict[str, Counts | None], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compose(_array(10, 10), steps)


def test_gains_of_another_log_and_empty_logs_are_refused() -> None:
    with pytest.raises(ValueError, match="order has 1 requests"):
        compose(_array(10, 10), {"served": _array(1, 1)}, _array(1))
    with pytest.raises(ValueError, match="at least one prompt token"):
        compose(_array(), {"served": _array()})
