"""The public face of an Analysis: make one from logs, show it in every format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from radixadvisor.report.json import to_dict, to_json
from radixadvisor.report.markdown import to_markdown
from radixadvisor.report.write import Written, write_reports
from radixadvisor.results import Analysis

if TYPE_CHECKING:
    from radixadvisor.replaying.results import Replay
    from radixadvisor.trace import Trace

__all__ = ["Report", "analyze", "load", "replay"]


@dataclass(frozen=True, slots=True)
class Report:
    """What ``radixadvisor.analyze`` returns: the plain data in ``analysis``, and its forms."""

    analysis: Analysis

    def to_dict(self) -> dict[str, Any]:
        """report.json as plain data."""
        return to_dict(self.analysis)

    def to_json(self) -> str:
        """The text of report.json."""
        return to_json(self.analysis).decode()

    def to_markdown(self) -> str:
        """The text of skill-radix-scheduler-advisor.md."""
        return to_markdown(self.analysis)

    def to_text(self, width: int = 80) -> str:
        """The terminal report without colour, no line wider than ``width``."""
        from radixadvisor.report.terminal import Screen, render

        return render(self.analysis, Screen(width=width))

    def write(self, folder: str | Path) -> Written:
        """Write report.json and the skill report into ``folder``.

        Raises:
            OutputError: the folder cannot be written.
        """
        return write_reports(self.analysis, Path(folder))


def load(*logs: str, **options: Any) -> Trace:
    """Read and tokenize request logs.

    Args:
        logs: files or globs.
        options: fields of ``radixadvisor.analysis.AnalyzeOptions``, such as ``tokenizer`` or ``limit``.

    Raises:
        NoUsableInput: no request is left.
        UsageError: a file or an option cannot work.
    """
    from radixadvisor.analysis import AnalyzeOptions, open_trace

    return open_trace(logs, AnalyzeOptions(**options))[0]


def analyze(*logs: str, **options: Any) -> Report:
    """Measure request logs, as ``radixadvisor analyze`` does, and write nothing.

    Args:
        logs: files or globs.
        options: fields of ``radixadvisor.analysis.AnalyzeOptions``, such as ``model`` or ``where``.

    Raises:
        NoUsableInput: no request could be evaluated.
        UsageError: an option, or a name in one, is not known.
    """
    from radixadvisor.analysis import AnalyzeOptions
    from radixadvisor.analysis import analyze as run

    return Report(run(logs, AnalyzeOptions(**options)))


def replay(*logs: str, **options: Any) -> Replay:
    """Run request logs on the bundled engine, as ``radixadvisor replay`` does, and write nothing.

    Args:
        logs: files or globs.
        options: fields of ``radixadvisor.replaying.options.ReplayOptions``, such as ``matrix`` or ``device``.

    Raises:
        NoUsableInput: no request is left.
        UsageError: an option cannot work, torch is missing, or the device is.
    """
    from radixadvisor.analysis import AnalyzeOptions, analyze_trace, open_trace
    from radixadvisor.replaying.conduct import replay_trace
    from radixadvisor.replaying.decision import foreseen
    from radixadvisor.replaying.machine import require_device
    from radixadvisor.replaying.options import ReplayOptions

    chosen = ReplayOptions(**options)
    require_device(chosen.device, "device='cpu'")
    reading = AnalyzeOptions(limit=chosen.limit)
    trace, log = open_trace(logs, reading)
    expected = foreseen(analyze_trace(trace, log, reading))
    return replay_trace(trace, log, chosen, reading.tokens(), expected=expected)
