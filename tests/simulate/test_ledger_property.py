"""The ledger of simulated caches: whatever the log and the setting, it is complete and never negative."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radixadvisor.measure.ledger import compose
from radixadvisor.simulate.hosted import HostedOptions
from radixadvisor.simulate.hosted_profiles import provider, providers
from radixadvisor.simulate.options import Options
from radixadvisor.simulate.profiles import engine, engines
from radixadvisor.simulate.requests import Requests
from radixadvisor.simulate.steps import hosted_ledger_steps, ledger_steps
from tests.simulate.logs import conversations

LONGEST = 3000


@st.composite
def steps(draw: st.DrawFn) -> tuple[Requests, dict[str, np.ndarray | None]]:
    """A random log under a random engine or hosted API with a random setting."""
    requests = conversations(
        draw(st.integers(0, 2**32)), draw(st.integers(1, 30)), apart=draw(st.floats(0.01, 400))
    )
    name = draw(st.sampled_from(sorted(engines()) + sorted(providers())))
    if name in providers():
        options = HostedOptions(minimum=draw(st.integers(1, 200)), lifetime=draw(st.floats(1, 4000)))
        return requests, hosted_ledger_steps(requests, provider(name), options)
    setting = Options(
        capacity=draw(st.none() | st.integers(LONGEST, 4 * LONGEST)),
        page=draw(st.sampled_from([None, 1, 8, 16])),
        concurrency=draw(st.sampled_from([None, 1, 4])),
        replicas=draw(st.sampled_from([1, 2])),
    )
    return requests, ledger_steps(requests, engine(name), setting)


@settings(max_examples=300, deadline=None)
@given(steps())
def test_every_token_is_in_exactly_one_bucket(drawn: tuple[Requests, dict[str, np.ndarray | None]]) -> None:
    requests, served = drawn
    lengths = np.array([requests.length(index) for index in range(len(requests))], np.int64)
    ledger = compose(lengths, served)
    columns = [column for column in ledger.columns.values() if column is not None]
    assert min(int(column.min()) for column in columns) >= 0
    assert np.array_equal(np.sum(columns, axis=0), lengths)
    shares = [bucket.share for bucket in ledger.buckets if bucket.share is not None]
    assert sum(shares) == pytest.approx(1, abs=1e-9)
