"""Langfuse's generations as requests, whichever framework wrote their input."""

from __future__ import annotations

from radixadvisor.records import Request, Skip, Source

from .bodies import Context
from .calls import read_foreign, without_prompt
from .foreign import tools_in
from .raw import Fields, Raw, array_of, first_byte, is_empty, label, object_of
from .times import Clock
from .turns import one_turn
from .view import View, counts, encode, joined

__all__ = ["generation", "is_generation", "says_kind"]

_KINDS = ("GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EMBEDDING", "EVALUATOR")
_LONGEST = 300.0  # plausible seconds of one call
# LangChain's names, under which cached tokens stand beside the input.
_BESIDE = "input_cache_read|cache_read_input_tokens|input_cached_tokens"
_WRITTEN = "input_cache_creation|cache_creation_input_tokens|input_cache_write"
_INSIDE = "prompt_details.cache_read|input_details.cache_read|prompt_tokens_details.cached_tokens"


def says_kind(row: View) -> bool:
    """Whether a row names one of Langfuse's types of observation."""
    kind = row.text("type|observation_type")
    return kind is not None and kind.upper() in _KINDS and row.get("id|startTime") is not None


def is_generation(row: View) -> bool:
    """Whether an observation is a call of a model."""
    return (row.text("type|observation_type") or "").upper() == "GENERATION"


def _usage(row: View) -> tuple[Raw | None, int | None, int | None, int | None]:
    """The counts in OpenAI's form, and the whole prompt, the output and what was cached."""
    details = row.view("usageDetails") or row.view("usage")
    prompt = details.count("input|prompt_tokens|input_tokens|promptTokens")
    completion = details.count("output|completion_tokens|output_tokens|completionTokens")
    prompt = row.count("promptTokens|inputUsage") or None if prompt is None else prompt
    completion = row.count("completionTokens|outputUsage") or None if completion is None else completion
    cached, written = details.count(_BESIDE), details.count(_WRITTEN)
    beside = cached is not None or written is not None
    if beside:
        completion = (completion or 0) + (details.count("output_reasoning") or 0)
    else:
        cached = details.count(_INSIDE)
    usage = counts(prompt, completion, cached, written, beside=beside)
    whole = prompt if prompt is None or not beside else prompt + (cached or 0) + (written or 0)
    return usage, whole, completion, cached


def _facts(row: View, trace: View) -> Fields:
    clock = Clock()
    start, end = clock.read(row.get("startTime")), clock.read(row.get("endTime"))
    latency, first = row.number("latency"), row.number("timeToFirstToken")
    span = None if start is None or end is None else end - start
    unit = "ms"
    if latency is not None:
        seconds = latency < _LONGEST if not span else abs(latency - span) <= abs(latency / 1e3 - span)
        unit = "s" if seconds else "ms"
    elif first is not None:
        unit = "s" if first < 60 else "ms"
    return joined(
        ("request_id", row.get("id")),
        ("start_time", row.get("startTime")),
        ("end_time", row.get("endTime")),
        ("completion_start_time", row.get("completionStartTime")),
        (f"latency_{unit}", row.get("latency") if span is None else None),
        (f"ttft_{unit}", first if row.get("completionStartTime") is None else None),
        ("model", row.get("model|providedModelName|internalModel") or row.get("modelParameters", "model")),
        ("session_id", row.get("sessionId") or trace.get("sessionId")),
        ("user", row.get("userId") or trace.get("userId")),
        ("app", trace.get("name") or row.get("traceName")),
        ("error", "error" if row.text("level") == "ERROR" and row.get("output") is None else None),
    )


def generation(row: View, trace: View, source: Source, context: Context) -> list[Request | Skip]:
    """The request of one generation.

    Args:
        row: the observation.
        trace: the trace that it belongs to, for what only the trace tells.

    Raises:
        Unusable: it has no prompt, or failed.
    """
    usage, prompt, completion, cached = _usage(row)
    held = row.get("input")
    if held is None or is_empty(held):
        raise without_prompt(context, prompt, completion, cached)
    facts = _facts(row, trace)
    if usage is not None:
        facts["usage"] = usage
    tools = row.get("modelParameters", "tools") or row.get("metadata", "tools")
    if (tools := tools_in(tools)) is not None:
        facts["tools"] = tools
    answer = row.get("output")
    return read_foreign(_led(held, answer, row), answer, facts, source, context)


def _led(held: Raw, answer: Raw | None, row: View) -> Raw:
    """Messages with the instructions before them that the Responses API keeps beside its input."""
    told = row.get("modelParameters", "instructions")
    if told is None and answer is not None:
        told = View({"answer": answer}).get("answer", "instructions")
    messages = array_of(held)
    if told is None or not label(told) or not messages or first_byte(messages[0]) != 0x7B:
        return held
    first = object_of(one_turn(messages[0])[0]) or {}
    if label(first.get("role")) in ("system", "developer"):
        return held
    return encode([{"role": "system", "content": told}, *messages])
