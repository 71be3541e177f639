"""The plain records that cross the borders between rooms.

Messages and tool lists repeat across a log, so readers intern them: two requests that carry the same message
hold the *same* object. ``Message`` and ``ToolSet`` therefore compare and hash by identity, which makes them
cheap keys for everything that is computed once per distinct message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = [
    "LONGEST_OUTPUT",
    "Blocks",
    "CacheControl",
    "EditSpec",
    "Message",
    "Output",
    "Part",
    "Request",
    "Skip",
    "Source",
    "Tool",
    "ToolCall",
    "ToolSet",
    "Usage",
]

LONGEST_OUTPUT = 1 << 24
"""Tokens. No model writes as many: a greater length in a log is damage and counts as unknown."""


@dataclass(frozen=True, slots=True)
class CacheControl:
    """A client's explicit cache breakpoint. ``ttl`` is as logged (``5m``, ``1h``) or None for the default."""

    ttl: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a message's content.

    ``kind`` is ``text`` or the medium (``image``, ``audio``, ``file``, ``document`` ...). ``text`` is the
    prompt text; for other media a stable placeholder that names the medium and a hash of its source, so that
    equal images match.
    """

    kind: str
    text: str
    cache_control: CacheControl | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the assistant made. ``arguments`` is the JSON text exactly as logged."""

    id: str | None
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """One turn. ``content`` is a string, the tuple of its parts, None where the log has none."""

    role: str
    content: str | tuple[Part, ...] | None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    reasoning: str | None = None

    @property
    def text(self) -> str:
        """The content as engines flatten it: parts joined by a newline, null as the empty string."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content) if self.content else ""

    @property
    def cache_control(self) -> CacheControl | None:
        """The last explicit breakpoint inside this message."""
        if self.content is None or isinstance(self.content, str):
            return None
        marks = [part.cache_control for part in self.content if part.cache_control is not None]
        return marks[-1] if marks else None


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A tool definition: its name and its JSON text exactly as logged (key order included)."""

    name: str
    raw: str
    cache_control: CacheControl | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ToolSet:
    """The tools of a request in their logged order."""

    tools: tuple[Tool, ...]


@dataclass(frozen=True, slots=True)
class Blocks:
    """A prompt known by hashes alone: chained block ids, ``unit`` tokens each, the last one partial."""

    ids: tuple[int, ...]
    unit: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the server reported them; ``cached`` and ``cache_write`` are always *inside*
    ``prompt``.
    """

    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None
    cache_write: int | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """What was generated: a message, bare text, token ids, or only a length. ``stopped`` = a stop token was
    sampled.
    """

    message: Message | None = None
    text: str | None = None
    tokens: tuple[int, ...] | bytes | None = None
    length: int | None = None
    stopped: bool = True


@dataclass(frozen=True, slots=True)
class Source:
    """Where a record stands: the file as named, and the line (or array element), counted from 1."""

    file: str
    line: int


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """One request to a model, with exactly one of ``messages``, ``text``, ``tokens`` and ``blocks``.

    Times are epoch seconds (float) or None; ``arrival`` is the start of the request. ``tokens`` is packed
    int32. ``parameters`` holds, as raw JSON text, what may enter the prompt or the cache key (tool_choice,
    response_format, reasoning_effort, chat_template_kwargs, prompt_logprobs, prompt_cache_key ...);
    ``namespace`` holds what splits the cache by itself (LoRA, cache_salt).
    """

    id: str
    source: Source
    model: str = ""
    messages: tuple[Message, ...] | None = None
    tools: ToolSet | None = None
    text: str | None = None
    tokens: bytes | None = None
    blocks: Blocks | None = None
    output: Output | None = None
    usage: Usage | None = None
    arrival: float | None = None
    latency: float | None = None
    ttft: float | None = None
    session: str | None = None
    tenant: str | None = None
    user: str | None = None
    app: str | None = None
    replica: str | None = None
    priority: int = 0
    namespace: tuple[tuple[str, str], ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Skip:
    """A record that yields no request, and why. ``detail`` never holds prompt text."""

    source: Source
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class EditSpec:
    """A fix as data: the name of an edit, its parameters, and the applications that it touches.

    ``kind`` names a function of ``prescribe.edits`` (Request -> Request; pure, idempotent, keeps the order of
    turns); ``parameters`` are sorted (name, value) pairs; ``clusters`` are the template clusters whose
    requests it edits; ``safety`` is ``safe``, ``review`` or ``never``.
    """

    kind: str
    safety: str
    clusters: tuple[int, ...]
    parameters: tuple[tuple[str, str], ...] = ()
