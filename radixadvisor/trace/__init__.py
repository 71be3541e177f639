"""Tokenized requests in columns, where their tokens came from, and the files they are kept in."""

from radixadvisor.trace.build import TokenOptions, Trace, build_trace
from radixadvisor.trace.locate import Location, locate

__all__ = ["Location", "TokenOptions", "Trace", "build_trace", "locate"]
