"""What a server says in a streamed answer: when it begins, how it ends, and what it counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

__all__ = ["NO_COUNTS", "Answer", "Counts", "counts_of"]

_END = b"[DONE]"


@dataclass(frozen=True, slots=True)
class Counts:
    """Tokens as the server counted them; None where it does not say. ``cached`` is inside ``prompt``.

    ``impossible``: it reported more cached tokens than the prompt has, which are left out.
    """

    prompt: int | None = None
    cached: int | None = None
    completion: int | None = None
    impossible: bool = False


NO_COUNTS = Counts()


class Answer:
    """One streamed answer, event by event.

    Attributes:
        begun: a first token has come.
        finished: the server said why it stopped, or that it is done.
        failed: the kind of an error that came inside the stream; None without one.
        counts: usage, as far as it was told.
    """

    def __init__(self) -> None:
        self.begun = False
        self.finished = False
        self.failed: str | None = None
        self.counts = NO_COUNTS

    def take(self, event: bytes) -> None:
        """Read one event. What is no JSON object fails the answer."""
        if event.strip() == _END:
            self.finished = True
            return
        try:
            body = msgspec.json.decode(event)
        except msgspec.DecodeError:
            self.failed = "unreadable event"
            return
        if not isinstance(body, dict):
            self.failed = "unreadable event"
            return
        if body.get("error"):
            self.failed = "error in the stream"
            return
        for choice in body.get("choices") or ():
            self.begun = self.begun or _says_something(choice)
            self.finished = self.finished or bool(choice.get("finish_reason"))
        self.counts = _joined(counts_of(body), self.counts)


def counts_of(body: dict[str, Any]) -> Counts:
    """The counts of a response or of a chunk: ``usage`` of OpenAI, vLLM and SGLang, DeepSeek's own fields,
    and llama.cpp's ``timings`` (whose ``prompt_n`` leaves out what was cached).
    """
    usage, timings = _table(body.get("usage")), _table(body.get("timings"))
    details = _table(usage.get("prompt_tokens_details"))
    cached = _count(details.get("cached_tokens"))
    if cached is None:
        cached = _count(usage.get("prompt_cache_hit_tokens"))
    if cached is None:
        cached = _count(timings.get("cache_n"))
    prompt = _count(usage.get("prompt_tokens"))
    new, reused = _count(timings.get("prompt_n")), _count(timings.get("cache_n"))
    if prompt is None and new is not None and reused is not None:
        prompt = new + reused
    completion = _count(usage.get("completion_tokens"))
    if completion is None:
        completion = _count(timings.get("predicted_n"))
    if prompt is not None and cached is not None and cached > prompt:
        return Counts(prompt, None, completion, impossible=True)
    return Counts(prompt, cached, completion)


def _says_something(choice: Any) -> bool:
    if not isinstance(choice, dict):
        return False
    delta = _table(choice.get("delta"))
    said = choice.get("text") or delta.get("content") or delta.get("tool_calls")
    return bool(said or delta.get("reasoning_content") or delta.get("reasoning"))


def _joined(new: Counts, old: Counts) -> Counts:
    return Counts(
        old.prompt if new.prompt is None else new.prompt,
        old.cached if new.cached is None else new.cached,
        old.completion if new.completion is None else new.completion,
        new.impossible or old.impossible,
    )


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
