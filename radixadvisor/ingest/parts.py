"""The parts of a message's content in the forms that OpenAI's and Anthropic's APIs define.

Nothing is dropped: a part of an unknown type keeps its text, or leaves a placeholder with its hash.
"""

from __future__ import annotations

import xxhash

from radixadvisor.records import CacheControl, Part

from .raw import (
    Fields,
    Raw,
    array_of,
    first_byte,
    is_empty,
    is_null,
    json_text,
    label,
    object_of,
    parse,
    string,
)

__all__ = ["REASONING", "REDACTED", "cache_control", "identity", "part_of", "parts_of", "placeholder"]

REDACTED = ("redacted-by-litellm", "__REDACTED__")
_TEXT = ("text", "input_text", "output_text", "refusal", "summary_text", "reasoning_text")
REASONING = ("thinking", "reasoning", "redacted_thinking", "reasoning_content")
_MEDIA = {
    "image": ("image", "image_url", "input_image", "image_file", "media"),
    "audio": ("audio", "audio_url", "input_audio", "output_audio"),
    "video": ("video", "video_url", "input_video"),
    "file": ("file", "input_file", "file_url", "container_upload"),
    "document": ("document",),
}
_MEDIUM = {name: medium for medium, names in _MEDIA.items() for name in names}
# The keys that lead to what identifies a medium, the most telling first.
_SOURCES = ("url", "data", "file_data", "file_id", "id", "base64", "bytes")


def placeholder(medium: str, source: bytes) -> str:
    """What stands for data that is no text: ``<image:0123456789abcdef>``, equal for equal sources."""
    return f"<{medium}:{xxhash.xxh3_64_hexdigest(source)}>"


def cache_control(fields: Fields) -> CacheControl | None:
    """The explicit cache breakpoint on a block, a message or a tool."""
    raw = fields.get("cache_control", fields.get("prompt_cache_breakpoint"))
    if is_empty(raw):
        return None
    inner = object_of(raw)
    return CacheControl(label(inner.get("ttl")) if inner else None)


def identity(fields: Fields, medium: str) -> bytes:
    """The bytes that tell one medium's data from another's: its URL, data or id, else all that is logged."""
    for key in (medium, f"{medium}_url", f"input_{medium}", f"output_{medium}", "source", medium + "_file"):
        raw = fields.get(key)
        if raw is None or is_null(raw):
            continue
        if (inner := object_of(raw)) is not None:
            return identity(inner, medium)
        return string(raw).encode()
    for key in _SOURCES:
        raw = fields.get(key)
        if raw is not None and not is_null(raw):
            return string(raw).encode()
    kept = {key: raw for key, raw in fields.items() if key not in ("type", "cache_control")}
    return b"\0".join(key.encode() + b"\0" + bytes(raw) for key, raw in sorted(kept.items()))


def _document(fields: Fields) -> str | None:
    """The text of a document block that carries text, else None."""
    source = object_of(fields.get("source"))
    if source is None:
        return None
    if label(source.get("type")) == "text" and "data" in source:
        return string(source["data"])
    if label(source.get("type")) == "content":
        return "\n".join(part.text for part in parts_of(source.get("content")))
    return None


def part_of(raw: Raw) -> Part:
    """One part of a content list."""
    if first_byte(raw) != 0x7B:
        return Part("text", string(raw))
    fields = parse(raw)
    mark = cache_control(fields)
    kind = label(fields.get("type")) or next((name for name in fields if name in _MEDIUM), "text")
    if kind in _MEDIUM:
        medium = _MEDIUM[kind]
        text = _document(fields) if medium == "document" else None
        return Part(medium, placeholder(medium, identity(fields, medium)) if text is None else text, mark)
    for key in ("text", kind, "content"):
        value = fields.get(key)
        if value is None or is_null(value):
            continue
        if first_byte(value) == 0x22:
            return Part("text" if kind in _TEXT else kind, string(value), mark)
        if (parts := array_of(value)) is not None:
            return Part(kind, "\n".join(part_of(part).text for part in parts), mark)
    if kind == "text":
        return Part("text", json_text(raw) if "text" not in fields else "", mark)
    return Part(kind, placeholder(kind, bytes(raw)), mark)


def parts_of(raw: Raw | None) -> tuple[Part, ...]:
    """Content of any form as parts: a string is one part, null none."""
    if raw is None or is_null(raw):
        return ()
    if first_byte(raw) == 0x5B:
        return tuple(part_of(part) for part in array_of(raw) or ())
    return (part_of(raw),)
