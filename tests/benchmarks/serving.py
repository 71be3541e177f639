"""What the rules of serving cost beside the measurement: ``python -m tests.benchmarks.serving [LOG ...]``.

CPU seconds, the least of five rounds, all in one run; without logs, real data of the reference folder.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from radixadvisor.analysis import AnalyzeOptions, open_trace
from radixadvisor.analysis.advice import no_advice
from radixadvisor.analysis.measure import measure
from radixadvisor.analysis.serving import replica_range, with_serving

SHARED = Path(os.environ.get("RADIXADVISOR_SHARED", Path(__file__).resolve().parents[3] / "shared"))
DATA = ("data/mooncake_conversation/conversation_trace.jsonl", "data/logs/tau_bench_airline.jsonl.gz")


def main(logs: list[str]) -> None:
    """One line for each log."""
    for log in logs or [str(SHARED / name) for name in DATA]:
        options = AnalyzeOptions()
        setting = options.setting()
        trace, _ = open_trace([log], options)
        rounds = []
        for _ in range(5):
            start = time.process_time()
            found = measure(trace)
            middle = time.process_time()
            with_serving(trace, found, no_advice("not asked for"), setting)
            replica_range(trace, found, setting)
            rounds.append((middle - start, time.process_time() - middle))
        measured, served = (min(column) for column in zip(*rounds, strict=True))
        print(
            f"{Path(log).name:32s} measurement {measured:.3f} s, serving rules {served:.3f} s, "
            f"serving / measurement = {served / measured:.2f}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
