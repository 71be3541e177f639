"""Any model's own chat template: one render for a whole prompt."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Hashable, Mapping
from datetime import datetime, time
from pathlib import Path
from typing import Any

from radixadvisor.errors import UsageError
from radixadvisor.records import Message, Request
from radixadvisor.render.base import Group, Piece, RenderError
from radixadvisor.render.locate import attach_origins
from radixadvisor.render.sandbox import TemplateRefusal, run, sandbox
from radixadvisor.render.text import (
    arguments_of,
    messages_of,
    parse_json,
    request_day,
    template_options,
    tool_set_of,
)

__all__ = ["JinjaTemplate", "directory_template", "read_template", "special_strings"]

_FIXED_DAY = "2024-07-26"
_ASKS_FOR_NULL = re.compile(r"content['\"]?\]?\s+is\s+(not\s+)?none")


class JinjaTemplate:
    """A chat template in Jinja.

    Args:
        name: for reports.
        source: the template; ``tool_source`` is used instead for requests with tools, where a model has two.
        specials: strings such as ``bos_token`` that the template may print.

    Raises:
        UsageError: the template has a syntax error.
    """

    exact = True
    notes: tuple[str, ...] = ()
    added_tokens: tuple[str, ...] = ()

    def __init__(
        self,
        name: str,
        source: str,
        *,
        tool_source: str | None = None,
        specials: Mapping[str, str] | None = None,
    ) -> None:
        from jinja2 import TemplateSyntaxError

        self.name = name
        self.template_hash = hashlib.sha256((source + (tool_source or "")).encode()).hexdigest()[:16]
        self._sources = source + (tool_source or "")
        self._specials = dict(specials or {})
        self._now = datetime.fromisoformat(_FIXED_DAY)
        environment = sandbox(lambda pattern: self._now.strftime(pattern))
        try:
            self._plain = environment.from_string(source)
            self._with_tools = environment.from_string(tool_source) if tool_source else self._plain
        except TemplateSyntaxError as error:
            raise UsageError(
                f"The chat template of {name} is not valid: line {error.lineno}: {error.message}"
            ) from error
        self._dated = "strftime_now" in self._sources
        self._keeps_null = _ASKS_FOR_NULL.search(self._sources) is not None

    def groups(self, request: Request) -> list[Group]:
        messages = messages_of(request)
        day: Hashable = request_day(request) if self._dated else None
        options = request.parameters.get("chat_template_kwargs")
        return [Group((day, options, tool_set_of(request), *messages), 0, len(messages))]

    def pieces(self, request: Request, group: Group) -> list[Piece]:
        return attach_origins(self._render(request), request)

    def _render(self, request: Request) -> str:
        try:
            return self._attempt(request, parse=True)
        except TypeError:
            # Templates that join arguments with "+" want them as the text they are.
            return self._attempt(request, parse=False)

    def _attempt(self, request: Request, *, parse: bool) -> str:
        tools = tool_set_of(request)
        values: dict[str, Any] = {
            **self._specials,
            **template_options(request),
            "messages": [self._message(message, parse=parse) for message in messages_of(request)],
            "tools": [parse_json(tool.raw) for tool in tools.tools] if tools else None,
            "documents": None,
            "add_generation_prompt": True,
        }
        day = request_day(request)
        self._now = datetime.combine(day, time()) if day else datetime.fromisoformat(_FIXED_DAY)
        try:
            return run(self._with_tools if tools else self._plain, values)
        except RenderError:
            raise
        except TemplateRefusal as refusal:
            said = str(refusal)
            # A message that stands in the template itself cannot quote the prompt.
            why = f": {said}" if said and said in self._sources else ""
            raise RenderError(f"the chat template rejects the request{why}") from None
        except TypeError:
            if parse:
                raise
            raise RenderError("the chat template fails on the request (TypeError)") from None
        except Exception as error:  # whatever a foreign template runs into
            raise RenderError(f"the chat template fails on the request ({type(error).__name__})") from None

    def _message(self, message: Message, *, parse: bool) -> dict[str, Any]:
        keeps_null = message.content is None and self._keeps_null
        value: dict[str, Any] = {"role": message.role, "content": None if keeps_null else message.text}
        if message.reasoning is not None:
            value |= {"reasoning_content": message.reasoning, "thinking": message.reasoning}
        if message.tool_calls:
            value["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {
                        "name": call.name,
                        "arguments": arguments_of(call) if parse else call.arguments,
                    },
                }
                for call in message.tool_calls
            ]
        if message.tool_call_id is not None:
            value["tool_call_id"] = message.tool_call_id
        if message.name is not None:
            value["name"] = message.name
        return value


def _load_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path.name} is not readable JSON: {error}") from error
    return value if isinstance(value, dict) else {}


def _named(value: Any) -> dict[str, str]:
    """A ``chat_template`` field as name -> source: one string, or a list of named templates."""
    if isinstance(value, str):
        return {"default": value}
    rows = value if isinstance(value, list) else []
    return {row["name"]: row["template"] for row in rows if isinstance(row, dict) and "template" in row}


def special_strings(config: Mapping[str, Any]) -> dict[str, str]:
    """``bos_token``, ``eos_token`` ... of a tokenizer_config.json, each a string or an object with one."""
    found = {}
    for key, value in config.items():
        text = value.get("content") if isinstance(value, dict) else value
        if key.endswith("_token") and isinstance(text, str):
            found[key] = text
    return found


def read_template(path: Path, specials: Mapping[str, str] | None = None) -> JinjaTemplate:
    """The template in a file: Jinja text, or JSON with a ``chat_template``.

    Raises:
        UsageError: the file cannot be read or holds no valid template.
    """
    if path.suffix == ".json":
        named = _named(_load_json(path).get("chat_template"))
        if not named:
            raise UsageError(f"{path.name} has no chat_template.")
    else:
        try:
            named = {"default": path.read_text(encoding="utf-8")}
        except (OSError, ValueError) as error:
            raise UsageError(f"The chat template {path.name} cannot be read: {error}") from error
    return _made(path.name, named, specials)


def _made(name: str, named: dict[str, str], specials: Mapping[str, str] | None) -> JinjaTemplate:
    source = named.get("default") or next(iter(named.values()))
    return JinjaTemplate(name, source, tool_source=named.get("tool_use"), specials=specials)


def directory_template(directory: Path) -> JinjaTemplate | None:
    """The template that a model directory brings: chat_template.jinja or .json, else tokenizer_config.json.

    Raises:
        UsageError: a file is broken or the template is not valid.
    """
    config_path = directory / "tokenizer_config.json"
    config = _load_json(config_path) if config_path.is_file() else {}
    specials = special_strings(config)
    for name in ("chat_template.jinja", "chat_template.json"):
        if (directory / name).is_file():
            template = read_template(directory / name, specials)
            template.name = directory.resolve().name
            return template
    named = _named(config.get("chat_template"))
    return _made(directory.resolve().name, named, specials) if named else None
