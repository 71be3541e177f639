"""What a log dialect is: one file in ``dialects`` that recognises records and reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from radixadvisor.records import Request, Skip, Source

from .bodies import Context
from .raw import Fields

__all__ = ["CUT_PROMPT", "NO_PROMPT", "Dialect", "Reader", "Sign"]

# The reason of a Skip whose record tells of a call but not of its prompt.
NO_PROMPT = "no prompt text"
# That of one whose prompt the logger cut: what is left is no evidence of what was repeated.
CUT_PROMPT = "prompt cut by the logger"


class Sign(NamedTuple):
    """How surely one record speaks a dialect: ``weight`` of 1 to 100, and what gave it away."""

    weight: int
    evidence: str


class Reader:
    """Reads the records of one log in order; a subclass may keep state between them."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def read_quickly(self, data: bytes, source: Source) -> Iterable[Request] | None:
        """The requests of a record from its JSON text, if there is a shorter way than over its fields.

        Raises:
            Unusable: the record yields none.
        """
        return None

    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        """The requests of one record.

        Raises:
            Unusable: the record yields none.
        """
        raise NotImplementedError

    def finish(self) -> Iterable[Request | Skip]:
        """What can only be told after the last record."""
        return ()


@dataclass(frozen=True, slots=True)
class Dialect:
    """A dialect under the name that ``--format`` takes.

    Args:
        name: lower case, as in ``openai_chat``.
        title: one line for people.
        sniff: the Sign that a record gives, or None.
        reader: makes the Reader of one log.
        aliases: other names that ``--format`` takes for it.
        lines: tells a line of a log that is written as text; such lines reach the reader as records that
            hold them under ``lines.LINE``.
        missing: for logs that may lack the prompts, one sentence on what is missing and how to switch it on.
    """

    name: str
    title: str
    sniff: Callable[[Fields], Sign | None]
    reader: Callable[[Context], Reader]
    aliases: tuple[str, ...] = ()
    lines: re.Pattern[str] | None = None
    missing: str = ""
