"""The lock: the static prefix of each application of a log, and the file that keeps it.

The file is TOML without a word of any prompt: names that the log gives, lengths, and hashes. It says nothing
of how many requests it was taken from, so that another sample of the same traffic gives the same file.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from radixadvisor.analysis.lock.prefixes import Prefix, Section
from radixadvisor.errors import UsageError

__all__ = ["SCHEMA", "Lock", "Locked", "Unlocked", "read_lock"]

SCHEMA = "radixadvisor/lock/1"


@dataclass(frozen=True, slots=True)
class Locked:
    """An application and its static prefix. ``name`` is the log's own, empty without one; ``tokenizer``,
    ``template`` and ``template_hash`` are what the tokens were counted with.
    """

    name: str
    model: str
    tokenizer: str
    template: str
    template_hash: str
    tools: tuple[str, ...]
    prefix: Prefix

    @property
    def label(self) -> str:
        """A name for people."""
        return self.name or f"{self.model or 'unnamed'} {self.prefix.hash[:6]}"


@dataclass(frozen=True, slots=True)
class Unlocked:
    """Applications without a lock, and why."""

    reason: str
    applications: int
    requests: int


@dataclass(frozen=True, slots=True)
class Lock:
    """Applications by name, model and hash; ``unlocked`` is not kept in the file."""

    applications: tuple[Locked, ...]
    unlocked: tuple[Unlocked, ...] = ()


@dataclass(frozen=True, slots=True)
class _Application:
    """A table of the file."""

    model: str
    tokenizer: str
    template: str
    template_hash: str
    tokens: int
    hash: str
    section: tuple[_Section, ...] = ()
    name: str = ""
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Section:
    place: str
    tokens: int
    lines: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class _File:
    schema: str
    application: tuple[_Application, ...]


def read_lock(path: Path) -> Lock:
    """The lock in a file.

    Raises:
        UsageError: it cannot be read or is no lock.
    """
    import msgspec

    try:
        table = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror or error}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is no lock: {error}. 'radixadvisor lock LOG' writes one.") from None
    if table.get("schema") != SCHEMA:
        told = repr(table["schema"]) if "schema" in table else "none"
        raise UsageError(f"{path} is no lock of this version: its schema is {told}, not {SCHEMA!r}.")
    try:
        found = msgspec.convert(table, type=_File)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path} is a lock with a field that cannot be as it is: {error}.") from None
    if not found.application or any(item.tokens < 1 for item in found.application):
        raise UsageError(f"{path} locks nothing.")
    return Lock(tuple(_locked(item) for item in found.application))


def _locked(item: _Application) -> Locked:
    sections = tuple(
        Section(part.place, part.label, part.tokens, tuple(part.lines.split())) for part in item.section
    )
    return Locked(
        name=item.name,
        model=item.model,
        tokenizer=item.tokenizer,
        template=item.template,
        template_hash=item.template_hash,
        tools=item.tools,
        prefix=Prefix(item.tokens, item.hash, sections),
    )
