"""A Codex session as the prompts of its calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from radixadvisor.records import Message, Output, Request, Skip, Source, Usage

from .bodies import Context
from .calls import without_prompt
from .foreign import system_turn
from .raw import Raw, Unusable
from .turns import chat_turns
from .view import View, encode

__all__ = ["Rollout"]

_MADE = ("function_call", "custom_tool_call", "local_shell_call", "reasoning", "web_search_call")
_MISSING = "requests lack the tools, which Codex does not store: their token counts exceed their text"


class Rollout:
    """Follows the items of one session."""

    def __init__(self, context: Context, file: str) -> None:
        self.context = context
        self.file = file
        self.session = file
        self.model = ""
        self._leading: list[Raw] = []
        self._said: list[Message] = []
        self._new: list[Raw] = []  # items of the client that no call has seen yet
        self._made: list[Raw] = []  # items of the answer that is coming in
        self._open: Request | None = None
        self._total: bytes | None = None
        self._last: float | None = None
        self._calls = 0

    def instructions(self, raw: Raw | None) -> None:
        self._leading = system_turn(raw)

    def item(self, raw: Raw, payload: View, source: Source, time: float | None) -> Iterator[Request]:
        """An item of the client or of the model; the first of an answer makes a call."""
        kind, role = payload.text("type"), payload.text("role")
        if kind in _MADE or (kind == "message" and role == "assistant"):
            if not self._made:
                yield from self._settled()
                self._begin(source, time)
            self._made.append(raw)
        else:
            self._answered()
            self._new.append(raw)
            self._last = time if time is not None else self._last

    def _begin(self, source: Source, time: float | None) -> None:
        interner = self.context.interner
        self._said += interner.messages(chat_turns(self._new))
        self._new = []
        prompt = (*interner.messages(self._leading), *self._said)
        if not prompt:
            return
        self._calls += 1
        self._open = Request(
            id=f"{self.session}#{self._calls}",
            source=source,
            model=self.model,
            messages=prompt,
            arrival=self._last if self._last is not None else time,
            session=self.session,
            app="codex",
        )

    def _answered(self) -> None:
        """The answer is complete: it is the output of its call and a part of the next prompt."""
        if not self._made:
            return
        turns = self.context.interner.messages(chat_turns(self._made))
        self._said += turns
        self._made = []
        if self._open is not None and self._open.output is None and turns:
            self._open = replace(self._open, output=Output(message=turns[-1]))

    def _settled(self) -> Iterator[Request]:
        request, self._open = self._open, None
        if request is not None:
            self.context.remarks[_MISSING] += 1
            yield request

    def counted(self, info: View, source: Source, time: float | None) -> Iterator[Request | Skip]:
        """The token count of the last call."""
        last = info.view("last_token_usage")
        prompt = last.count("input_tokens")
        if not prompt:
            return
        total = bytes(encode(info.view("total_token_usage").fields))
        if total == self._total:
            return
        self._total = total
        self._answered()
        cached, completion = last.count("cached_input_tokens"), last.count("output_tokens")
        usage = Usage(prompt, completion, cached)
        if self._open is None:
            fault = without_prompt(self.context, prompt, completion, cached)
            yield Skip(source, fault.reason, fault.detail)
            return
        latency = None
        if time is not None and self._open.arrival is not None and time >= self._open.arrival:
            latency = time - self._open.arrival
        model = self._open.model or info.text("model") or ""
        self._open = replace(self._open, usage=usage, model=model, latency=latency)
        yield from self._settled()

    def compacted(self, history: Sequence[Raw] | None, summary: str | None) -> Iterator[Request]:
        """Begin anew with what the compaction left."""
        self._answered()
        yield from self._settled()
        left = list(history or ())
        if not left and summary:
            left = [encode({"role": "user", "content": summary})]
        self._said, self._new = [], left

    def close(self) -> Iterator[Request | Skip]:
        """The call that is still open."""
        try:
            self._answered()
        except Unusable:
            self._made = []
        yield from self._settled()
