"""The conductor: from log files to an Analysis. The one place that knows the order of the rooms."""

from radixadvisor.analysis.options import AnalyzeOptions
from radixadvisor.analysis.run import analyze, analyze_trace, open_trace

__all__ = ["AnalyzeOptions", "analyze", "analyze_trace", "open_trace"]
