"""The sandbox that chat templates run in, with bounds on what a hostile one can cost.

Engines use the same environment: trimmed blocks, loop controls, ``tojson`` as plain JSON,
``raise_exception``, ``strftime_now``. Bounded are ranges (by jinja's sandbox), the text printed, the size of
what ``+``, ``*`` and ``**`` make, and the time: it is looked at whenever the template prints, calls or reads
an attribute. Not bounded are loops that do none of these, and single calls of huge cost such as a field width
in a format.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NoReturn

from radixadvisor.render.base import RenderError
from radixadvisor.render.text import dump_json

__all__ = ["MAX_CHARS", "MAX_SECONDS", "TemplateRefusal", "run", "sandbox"]

MAX_CHARS = 64_000_000
MAX_SECONDS = 20.0
_MAX_BITS = 4096


class TemplateRefusal(Exception):
    """The template itself called ``raise_exception``."""


def _refuse(message: object = "") -> NoReturn:
    raise TemplateRefusal(str(message))


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    if not (ensure_ascii or separators or sort_keys):
        return dump_json(value, indent)
    import json

    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _check_size(operator: str, left: Any, right: Any) -> None:
    """Refuse an operation whose result would be too large to hold."""
    if operator == "**":
        if isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > _MAX_BITS:
            raise RenderError("the chat template computes too large a number")
        return
    sizes = [len(side) if isinstance(side, str | list | tuple) else 1 for side in (left, right)]
    counts = [abs(side) if isinstance(side, int) else 1 for side in (left, right)]
    sized = isinstance(left, str | list | tuple) or isinstance(right, str | list | tuple)
    size = sum(sizes) if operator == "+" else max(sizes) * max(counts)
    if sized and size > MAX_CHARS:
        raise RenderError("the chat template builds too large a value")


@lru_cache(maxsize=1)
def _environment_class() -> Any:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Bounded(ImmutableSandboxedEnvironment):
        """Looks at the time and at sizes while a template runs."""

        intercepted_binops = frozenset(["+", "*", "**"])
        deadline = 0.0

        def check_time(self) -> None:
            if time.monotonic() > self.deadline:
                raise RenderError(f"the chat template ran for more than {MAX_SECONDS:g} seconds")

        def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
            self.check_time()
            return super().call(context, obj, *args, **kwargs)

        def getattr(self, obj: Any, attribute: str) -> Any:
            self.check_time()
            return super().getattr(obj, attribute)

        def getitem(self, obj: Any, argument: Any) -> Any:
            self.check_time()
            return super().getitem(obj, argument)

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            _check_size(operator, left, right)
            return super().call_binop(context, operator, left, right)

    return Bounded


def sandbox(strftime_now: Callable[[str], str]) -> Any:
    """A fresh environment in which ``strftime_now`` answers as given."""
    environment = _environment_class()(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = strftime_now
    return environment


def run(template: Any, values: dict[str, Any]) -> str:
    """The text that a compiled template prints.

    Raises:
        RenderError: it prints too much, runs too long or builds too large a value.
    """
    environment = template.environment
    environment.deadline = time.monotonic() + MAX_SECONDS
    printed, parts = 0, []
    for part in template.generate(values):
        environment.check_time()
        printed += len(part)
        if printed > MAX_CHARS:
            raise RenderError(f"the chat template prints more than {MAX_CHARS} characters")
        parts.append(part)
    return "".join(parts)
