"""Logs for replays against servers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.analysis import AnalyzeOptions, open_trace
from radixadvisor.endpoint.conduct import replay_endpoint
from radixadvisor.endpoint.options import EndpointOptions
from radixadvisor.endpoint.patience import Patience
from radixadvisor.endpoint.results import EndpointReplay
from tests.endpoint.servers import Board, log_line

QUICK = Patience(timeout=2.0, connect=1.0, retries=4, first_wait=0.01, longest_wait=0.05)

Replayed = Callable[..., EndpointReplay]


@pytest.fixture
def replayed(tmp_path: Path) -> Replayed:
    """Send ``count`` requests, or the given lines, to a server."""

    def run(
        board: Board,
        count: int = 10,
        lines: str | None = None,
        patience: Patience = QUICK,
        progress: Any = None,
        **options: Any,
    ) -> EndpointReplay:
        path = tmp_path / "log.jsonl"
        path.write_text("".join(map(log_line, range(count))) if lines is None else lines)
        trace, log = open_trace([str(path)], AnalyzeOptions())
        chosen = EndpointOptions(board.url, patience=patience, **options)
        return replay_endpoint(trace, log, chosen, progress)

    return run
