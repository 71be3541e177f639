"""Reading request logs: any dialect in, ``Request`` and ``Skip`` records out, nothing normalised away."""

from .log import Log, SkipCounter, no_usable_input, read_log
from .times import parse_time

__all__ = ["Log", "SkipCounter", "no_usable_input", "parse_time", "read_log"]
