"""Every template family by name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from radixadvisor.errors import UnknownName
from radixadvisor.records import Message, Request, Source, Tool, ToolCall, ToolSet
from radixadvisor.render.base import Renderer
from radixadvisor.render.chatml import AnthropicOrder, GenericChatML
from radixadvisor.render.qwen25 import Qwen25

__all__ = ["fingerprint", "render_text", "renderer", "template_names"]

_FAMILIES: dict[str, Callable[[], Renderer]] = {
    "anthropic": AnthropicOrder,
    "chatml": GenericChatML,
    "qwen2.5": Qwen25,
}


def template_names() -> list[str]:
    return sorted(_FAMILIES)


def renderer(name: str) -> Renderer:
    """The built-in template of that name (case is ignored).

    Raises:
        UnknownName: there is none.
    """
    family = _FAMILIES.get(name.lower())
    if family is None:
        raise UnknownName("chat template", name, template_names())
    return family()


def render_text(template: Renderer, request: Request) -> str:
    """The whole prompt text of a request.

    Raises:
        RenderError: the template rejects the request.
    """
    return "".join(
        piece.text for group in template.groups(request) for piece in template.pieces(request, group)
    )


_PROBE = Request(
    id="probe",
    source=Source("probe", 1),
    tools=ToolSet((Tool("look_up", '{"type": "function", "function": {"name": "look_up"}}'),)),
    messages=(
        Message("system", "Be brief."),
        Message("user", "Where is it?"),
        Message("assistant", None, (ToolCall("call00001", "look_up", '{"q": "it"}'),), reasoning="Look."),
        Message("tool", "There.", tool_call_id="call00001", name="look_up"),
        Message("assistant", "There.", reasoning="Found."),
        Message("user", "Sure?"),
    ),
    arrival=0.0,
)


def fingerprint(template: Renderer) -> str:
    """16 hex digits that change whenever a built-in template prints another text for a fixed conversation."""
    return hashlib.sha256(render_text(template, _PROBE).encode()).hexdigest()[:16]
