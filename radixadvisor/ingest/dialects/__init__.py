"""The dialects, one module each: a module here that defines ``DIALECT`` is registered by being here."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from radixadvisor.errors import UnknownName
from radixadvisor.ingest.dialect import Dialect

__all__ = ["by_name", "registry"]


@cache
def registry() -> dict[str, Dialect]:
    """Every dialect by its name, in alphabetical order."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__))
    dialects = [import_module(f"{__name__}.{module}").DIALECT for module in modules]
    return {dialect.name: dialect for dialect in dialects}


def by_name(name: str) -> Dialect:
    """The dialect of that name, in any case and with ``-`` or ``_``; raises UnknownName."""
    known = registry()
    wanted = name.strip().lower().replace("-", "_")
    dialect = known.get(wanted)
    if dialect is None:
        dialect = next((each for each in known.values() if wanted in each.aliases), None)
    if dialect is None:
        raise UnknownName("format", name, known)
    return dialect
