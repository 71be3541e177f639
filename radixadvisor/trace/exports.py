"""Logs as other tools read them: plain OpenAI chat requests, AIPerf traces, prompts for vLLM's benchmark.

All three hold prompts, so they are written for their owner's eyes only. Media are written as the placeholders
that stand for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from radixadvisor.errors import UsageError
from radixadvisor.paths import replacing
from radixadvisor.records import Message, Output, Part, Request, Skip
from radixadvisor.render.base import RenderError
from radixadvisor.tokens.engine import TokenizerChoice, choose
from radixadvisor.trace.build import TokenOptions

__all__ = ["EXPORTS", "body_of", "message_of", "save_requests"]

_NAMES = {"lora": "lora_name", "cache_salt": "cache_salt", "extra_key": "extra_key"}


def save_requests(
    requests: Iterable[Request],
    path: Path,
    target: str,
    options: TokenOptions,
    refused: Callable[[Skip], None],
) -> int:
    """Write requests as JSON Lines, in input order; the number of rows.

    Args:
        requests: what to write.
        path: the file.
        target: one of ``EXPORTS``.
        options: tokenizer and template, which matter only where prompts are rendered.
        refused: called with each request that its template refuses.

    Raises:
        UsageError: a hash trace has no prompts to write.
        OutputError: the file cannot be written.
    """
    rows = 0
    make = EXPORTS[target](options.tokenizer, options.chat_template)
    with replacing(path, private=True) as temporary, temporary.open("wb") as out:
        for request in requests:
            if request.blocks is not None:
                raise UsageError(f"A hash trace has no prompts to write as {target}; convert it to mooncake.")
            try:
                row = make(request)
            except RenderError as error:
                refused(Skip(request.source, "refused by the chat template", str(error)))
                continue
            out.write(msgspec.json.encode(row) + b"\n")
            rows += 1
    return rows


def _kept(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _part(part: Part) -> dict[str, Any]:
    mark = part.cache_control
    control = None if mark is None else _kept(type="ephemeral", ttl=mark.ttl)
    return _kept(type="text", text=part.text, cache_control=control)


def message_of(message: Message) -> dict[str, Any]:
    """A message in the form of the chat API."""
    content = message.content
    calls = [
        _kept(id=call.id, type="function", function={"name": call.name, "arguments": call.arguments})
        for call in message.tool_calls
    ]
    return {
        "role": message.role,
        "content": [_part(part) for part in content] if isinstance(content, tuple) else content,
        **_kept(
            tool_calls=calls or None,
            tool_call_id=message.tool_call_id,
            name=message.name,
            reasoning_content=message.reasoning,
        ),
    }


def body_of(request: Request) -> dict[str, Any]:
    """A request as the body of OpenAI's chat or completions API, parameters as logged."""
    body: dict[str, Any] = _kept(model=request.model or None)
    if request.messages is not None:
        body["messages"] = [message_of(message) for message in request.messages]
    elif request.text is not None:
        body["prompt"] = request.text
    else:
        body["prompt"] = list(memoryview(request.tokens or b"").cast("i"))
    if request.tools is not None:
        body["tools"] = [msgspec.Raw(tool.raw.encode()) for tool in request.tools.tools]
    body |= {name: msgspec.Raw(text.encode()) for name, text in request.parameters.items()}
    return body | {_NAMES.get(name, name): value for name, value in request.namespace}


def _response(output: Output | None) -> Any:
    if output is None:
        return None
    reason = "stop" if output.stopped else "length"
    if output.message is not None:
        return {"choices": [{"message": message_of(output.message), "finish_reason": reason}]}
    if output.text is not None:
        return {"choices": [{"text": output.text, "finish_reason": reason}]}
    if output.tokens is not None:
        held = output.tokens
        return list(memoryview(held).cast("i")) if isinstance(held, bytes) else list(held)
    return output.length


def _openai(tokenizer: str | None, template: str | None) -> Callable[[Request], dict[str, Any]]:
    """A request body in the envelope that ``analyze`` reads."""

    def row(request: Request) -> dict[str, Any]:
        usage = request.usage
        counted = None
        if usage is not None:
            details = _kept(cached_tokens=usage.cached, cache_write_tokens=usage.cache_write)
            counted = _kept(
                prompt_tokens=usage.prompt,
                completion_tokens=usage.completion,
                prompt_tokens_details=details or None,
            )
        return _kept(
            request_id=request.id,
            timestamp=request.arrival,
            latency_s=request.latency,
            ttft_s=request.ttft,
            session_id=request.session,
            tenant_id=request.tenant,
            user_id=request.user,
            app=request.app,
            replica=request.replica,
            priority=request.priority or None,
            request=body_of(request),
            response=_response(request.output),
            usage=counted,
        )

    return row


def _length(request: Request) -> int | None:
    """The length of the output, as far as the log itself says it."""
    if request.usage is not None and request.usage.completion is not None:
        return request.usage.completion
    return request.output.length if request.output is not None else None


def _aiperf(tokenizer: str | None, template: str | None) -> Callable[[Request], dict[str, Any]]:
    """A row of AIPerf's extended Mooncake trace: messages verbatim, times in milliseconds from the first."""
    began: list[float] = []

    def row(request: Request) -> dict[str, Any]:
        if request.arrival is not None:
            began[:] = began or [request.arrival]
        body = body_of(request)
        stamp = None if request.arrival is None else round((request.arrival - began[0]) * 1000)
        held = {"messages": body["messages"]} if "messages" in body else {}
        if isinstance(body.get("prompt"), str):
            held = {"text_input": body["prompt"]}
        elif "prompt" in body:
            held = {"payload": body}
        timed = _kept(timestamp=stamp, tools=body.get("tools") if "messages" in held else None)
        return timed | held | _kept(output_length=_length(request))

    return row


def _vllm(tokenizer: str | None, template: str | None) -> Callable[[Request], dict[str, Any]]:
    """A prompt as its engine sees it: run the benchmark with ``--skip-chat-template``."""
    choices: dict[str, TokenizerChoice] = {}

    def row(request: Request) -> dict[str, Any]:
        if request.tokens is not None:
            raise UsageError(
                "Prompts that are token ids have no text; convert this log to openai or parquet."
            )
        text = request.text
        if text is None:
            if request.model not in choices:
                choices[request.model] = choose(request.model, tokenizer, template)
            renderer = choices[request.model].renderer
            groups = renderer.groups(request)
            text = "".join(piece.text for group in groups for piece in renderer.pieces(request, group))
        return _kept(prompt=text, output_tokens=_length(request))

    return row


EXPORTS = {"aiperf": _aiperf, "openai": _openai, "vllm-bench": _vllm}
"""What writes each format: given a tokenizer and a template, a function from a Request to its row."""
