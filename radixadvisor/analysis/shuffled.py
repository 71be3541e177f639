"""A trace whose prompts have their sections in a random order."""

from __future__ import annotations

from radixadvisor.errors import UsageError
from radixadvisor.simulate.sections import shuffle_sections
from radixadvisor.trace import TokenOptions, Trace
from radixadvisor.trace.build import TraceBuilder

__all__ = ["shuffled"]


def shuffled(trace: Trace, options: TokenOptions, seed: int) -> Trace:
    """The trace of the same requests with the sections of each prompt in a random order.

    Raises:
        UsageError: no prompt has sections that could be shuffled.
    """
    builder = TraceBuilder(options)
    changed = 0
    for old, new in zip(trace.requests, shuffle_sections(trace.requests, seed), strict=True):
        changed += new is not None
        builder.add(new or old)
    if not changed:
        raise UsageError(
            "--shuffle-sections needs prompts as text with two sections or more: this log has none."
        )
    return builder.finish(trace.skips)
