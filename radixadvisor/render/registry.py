"""Every template family by name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache

from radixadvisor.errors import UnknownName
from radixadvisor.records import Message, Request, Source, Tool, ToolCall, ToolSet
from radixadvisor.render.base import Renderer, RenderError
from radixadvisor.render.chatml import AnthropicOrder, GenericChatML
from radixadvisor.render.deepseek import DeepSeekR1, DeepSeekV3
from radixadvisor.render.deepseek31 import DeepSeekTools, DeepSeekV31
from radixadvisor.render.harmony import Harmony
from radixadvisor.render.llama3 import Llama31, Llama32, Llama33
from radixadvisor.render.mistral import MistralV3, MistralV7
from radixadvisor.render.qwen3 import Qwen3
from radixadvisor.render.qwen25 import Qwen25

__all__ = ["render_text", "renderer", "template_hash", "template_names"]

_FAMILIES: dict[str, Callable[[], Renderer]] = {
    "anthropic": AnthropicOrder,
    "chatml": GenericChatML,
    "deepseek-r1": DeepSeekR1,
    "deepseek-tools": DeepSeekTools,
    "deepseek-v3": DeepSeekV3,
    "deepseek-v3.1": DeepSeekV31,
    "gpt-oss": Harmony,
    "llama3.1": Llama31,
    "llama3.2": Llama32,
    "llama3.3": Llama33,
    "mistral-v3": MistralV3,
    "mistral-v7": MistralV7,
    "qwen2.5": Qwen25,
    "qwen3": Qwen3,
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


_PROBE = (
    Message("system", "Be brief."),
    Message("user", "Where is it?"),
    Message("assistant", None, (ToolCall("call00001", "look_up", '{"q": "it"}'),), reasoning="Look."),
    Message("tool", "There.", tool_call_id="call00001", name="look_up"),
    Message("assistant", "There.", reasoning="Found."),
    Message("user", "Sure?"),
    Message("system", "Be kind."),
)
_PROBE_TOOLS = ToolSet((Tool("look_up", '{"type": "function", "function": {"name": "look_up"}}'),))


def template_hash(template: Renderer) -> str:
    """What identifies a template in reports: 16 hex digits, of its source where it has one."""
    own = getattr(template, "template_hash", None)
    return own if isinstance(own, str) else _fingerprint(type(template))


@cache
def _fingerprint(family: Callable[[], Renderer]) -> str:
    """16 hex digits that change whenever a built-in template prints another text for fixed conversations."""
    template = family()
    digest = hashlib.sha256()
    for first in (0, 1):
        for last in range(first + 1, len(_PROBE) + 1):
            tools = _PROBE_TOOLS if last % 2 else None
            probe = Request("probe", Source("", 1), messages=_PROBE[first:last], tools=tools, arrival=0.0)
            try:
                digest.update(render_text(template, probe).encode() + b"\0")
            except RenderError as error:
                digest.update(str(error).encode() + b"\0")
    return digest.hexdigest()[:16]
