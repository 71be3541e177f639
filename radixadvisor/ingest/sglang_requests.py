"""SGLang's records of requests, from its JSON log, its text log or a dump: one reader for all three."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from radixadvisor.records import Output, Request, Skip, Source, Usage

from .bodies import Context, position_id
from .calls import without_prompt
from .dialect import Reader
from .foreign import chat_body
from .prompts import prompts_of
from .raw import Fields, Raw, Unusable, array_of, first_byte, is_empty, is_null, label, object_of, string
from .responses import token_bytes
from .view import View

__all__ = ["Cut", "Requests"]

_HALF = 64  # what a cut keeps on each side is a multiple of this
_SHORTEST = 512
_MARK = "..."


class Cut(Unusable):
    """A prompt of which the logger left out the middle."""

    def __init__(self) -> None:
        super().__init__("prompt cut by the logger", "log level 2 keeps 2048 characters; level 3 keeps all")


def _is_cut(text: str, prompt: int | None) -> bool:
    """Whether a string is two equal halves around dots, as log level 2 leaves them."""
    half, odd = divmod(len(text) - len(_MARK), 2)
    if odd or half <= 0 or text[half : half + len(_MARK)] != _MARK:
        return False
    shorter = prompt is not None and prompt > len(text.encode(errors="replace"))
    return shorter or (half >= _SHORTEST and half % _HALF == 0)


class Requests(Reader):
    """Gathers what was received and what was finished under one id."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._received: dict[str, tuple[Fields, Source, float | None]] = {}
        self._done: set[str] = set()

    def received(self, identity: str, obj: Fields, source: Source, time: float | None) -> None:
        """Keep a request until it is finished."""
        self._received.setdefault(identity, (obj, source, time))

    def finished(
        self, identity: str, obj: Fields, out: Fields, source: Source, time: float | None
    ) -> Iterator[Request | Skip]:
        """The requests of one id, with what came back.

        Raises:
            Unusable: the log has no whole prompt.
        """
        earlier = self._received.pop(identity, None)
        if identity in self._done and earlier is None and identity:
            return
        self._done.add(identity)
        began = None
        if earlier is not None:
            before, source, began = earlier
            obj = {**obj, **{key: raw for key, raw in before.items() if not is_null(raw)}}
        yield from self._requests(identity, View(obj), out, source, began, time)

    def _requests(
        self,
        identity: str,
        obj: View,
        out: Fields,
        source: Source,
        began: float | None,
        ended: float | None,
    ) -> Iterator[Request]:
        meta = View(out).view("meta_info")
        usage = Usage(
            meta.count("prompt_tokens"), meta.count("completion_tokens"), meta.count("cached_tokens")
        )
        latency = meta.number("e2e_latency")
        arrival = began
        if arrival is None and ended is not None:
            arrival = max(0.0, ended - (latency or 0.0))
        reason = meta.view("finish_reason").text("type") or meta.text("finish_reason")
        prompt = self._prompt(obj, usage)
        spaces = ("lora_path", "lora"), ("extra_key", "extra_key"), ("cache_salt", "cache_salt")
        named = [(name, obj.text(key)) for key, name in spaces]
        yield Request(
            id=identity or position_id(source),
            source=source,
            model=obj.text("model") or meta.text("model") or "",
            output=_output(out, usage, reason),
            usage=None if usage == Usage() else usage,
            arrival=arrival,
            latency=latency,
            ttft=meta.number("first_token_latency|ttft"),
            session=obj.text("session_id") or obj.view("session_params").text("id"),
            priority=int(obj.number("priority") or 0) if abs(obj.number("priority") or 0) < 2**31 else 0,
            namespace=tuple((name, value) for name, value in named if value),
            **prompt,
        )

    def _prompt(self, obj: View, usage: Usage) -> dict[str, Any]:
        ids = obj.get("input_ids")
        if ids is not None and (listed := array_of(ids)):
            if any(first_byte(each) == 0x22 for each in listed):
                raise Cut
            if (tokens := token_bytes(ids)) is not None and obj.get("text|messages") is None:
                return {"tokens": tokens}
        text = obj.get("text|prompt")
        if text is not None and first_byte(text) == 0x22:
            held = string(text)
            if _is_cut(held, usage.prompt):
                raise Cut
            return {"text": held}
        if obj.has("messages"):
            for raw in obj.items("messages"):
                content = (object_of(raw) or {}).get("content")
                if label(raw) == _MARK or (content is not None and _is_cut(string(content), usage.prompt)):
                    raise Cut
            body = chat_body(Raw(bytes(obj.get("messages") or b"null")))
            (found,) = prompts_of(body, self.context.interner)
            return {"messages": found.messages, "tools": self.context.interner.tools(obj.get("tools"))}
        raise without_prompt(self.context, usage.prompt, usage.completion, usage.cached)

    def finish(self) -> Iterable[Request | Skip]:
        for identity, (obj, source, time) in self._received.items():
            try:
                yield from self._requests(identity, View(obj), {}, source, time, None)
            except Unusable as fault:
                yield Skip(source, fault.reason, fault.detail)
        self._received = {}


def _output(out: Fields, usage: Usage, reason: str | None) -> Output | None:
    text = out.get("text")
    stopped = reason not in ("length", "abort")
    if (
        text is not None
        and first_byte(text) == 0x22
        and not is_empty(text)
        and not _is_cut(string(text), None)
    ):
        return Output(text=string(text), stopped=stopped)
    ids = out.get("output_ids")
    if ids is not None and (tokens := token_bytes(ids)):
        return Output(tokens=tokens, stopped=stopped)
    return None if usage.completion is None else Output(length=usage.completion, stopped=stopped)
