"""A profiler for the prefix cache of LLM serving engines.

>>> import radixadvisor
>>> report = radixadvisor.analyze("samples/rag-consistent.jsonl")
>>> report.analysis.hits.unlimited.rate > 0.5
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from radixadvisor.report.report import Report, analyze, load, replay
    from radixadvisor.trace import Trace

__all__ = ["Report", "Trace", "__version__", "analyze", "load", "replay"]

_HOMES = {
    "Report": "radixadvisor.report.report",
    "Trace": "radixadvisor.trace",
    "analyze": "radixadvisor.report.report",
    "load": "radixadvisor.report.report",
    "replay": "radixadvisor.report.report",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: ``import radixadvisor`` itself loads nothing."""
    from importlib import import_module, metadata

    if name == "__version__":
        return metadata.version("radixadvisor")
    if name not in _HOMES:
        raise AttributeError(f"module 'radixadvisor' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
