"""What the search for orders costs beside the measurement: ``python -m tests.benchmarks.order [LOG ...]``.

CPU seconds, the least of five rounds, all in one run; without logs, real data of the reference folder.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from radixadvisor.analysis import AnalyzeOptions, open_trace
from radixadvisor.analysis.measure import measure
from radixadvisor.analysis.order import order_result, ordered
from radixadvisor.diagnose.registry import detect
from radixadvisor.diagnose.sections import sections_of
from radixadvisor.diagnose.view import LogView
from radixadvisor.prescribe.counterfactual import try_all

SHARED = Path(os.environ.get("RADIXADVISOR_SHARED", Path(__file__).resolve().parents[3] / "shared"))
DATA = (
    "data/mooncake_conversation/conversation_trace.jsonl",
    "data/logs/tau_bench_airline.jsonl.gz",
    "data/logs/gsm8k_8shot.jsonl.gz",
)


def main(logs: list[str]) -> None:
    """One line for each log."""
    for log in logs or [str(SHARED / name) for name in DATA]:
        options = AnalyzeOptions()
        trace, _ = open_trace([log], options)
        view = LogView(trace)
        trial = try_all(view, detect(view)) if view.has_text else None
        rounds = []
        for _ in range(5):
            sections_of.cache_clear()
            start = time.process_time()
            measure(trace)
            middle = time.process_time()
            if trial is not None:
                ordered(view, ())
                order_result(view, trial)
            rounds.append((middle - start, time.process_time() - middle))
        measured, searched = (min(column) for column in zip(*rounds, strict=True))
        print(
            f"{Path(log).name:32s} measurement {measured:.3f} s, order {searched:.3f} s, "
            f"order / measurement = {searched / measured:.2f}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
