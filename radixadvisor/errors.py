"""Errors that end a command, each with one readable sentence and an exit code.

AdvisorError              base: never shown as a traceback
|-- UsageError            wrong usage of a command or an argument            exit 2
|   `-- UnknownName       a name that no registry holds; lists what exists   exit 2
|-- NoUsableInput         nothing could be evaluated                         exit 3
|-- Unreachable           a server that was named does not answer            exit 3
`-- OutputError           a result could not be written                      exit 2
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["AdvisorError", "NoUsableInput", "OutputError", "UnknownName", "Unreachable", "UsageError"]


class AdvisorError(Exception):
    """One clear sentence for a person, and the exit code that a command ends with."""

    exit_code = 2


class UsageError(AdvisorError):
    """A command or an argument that cannot work as given."""


class UnknownName(UsageError):
    """A name that a registry does not hold.

    Args:
        kind: what was named, such as ``"engine"``.
        name: the name as given.
        known: every name that would be accepted.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name.lower(), [known.lower() for known in names], n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        super().__init__(f"Unknown {kind} {name!r}.{hint} Known: {', '.join(names)}.")


class NoUsableInput(AdvisorError):
    """The input holds no request that could be evaluated."""

    exit_code = 3


class Unreachable(AdvisorError):
    """A server that was named cannot be reached."""

    exit_code = 3


class OutputError(AdvisorError):
    """A result file could not be written."""
