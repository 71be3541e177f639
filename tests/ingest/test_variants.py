"""The same logs in other spellings: strings for objects, flat for nested, other units, other bodies."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.records import Message, Usage
from tests.ingest.reading import one, read_bytes, read_records

HI = [{"role": "system", "content": "S"}, {"role": "user", "content": "Hi"}]
BODY = {"model": "m", "messages": HI}
SAID = {"choices": [{"message": {"role": "assistant", "content": "ok"}}]}
STREAM = (
    "".join(
        f"data: {json.dumps(chunk)}\n\n"
        for chunk in (
            {"id": "c", "choices": [{"delta": {"role": "assistant", "content": "o"}}]},
            {"id": "c", "choices": [{"delta": {"content": "k"}, "finish_reason": "stop"}]},
            {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}},
        )
    )
    + "data: [DONE]\n\n"
)


def packed(value: Any) -> str:
    return base64.b64encode(json.dumps(value).encode()).decode()


def sagemaker(data: str, encoding: str, answer: str = "{}") -> dict[str, Any]:
    sides = {"endpointInput": {"data": data, "encoding": encoding}, "endpointOutput": {"data": answer}}
    return {"captureData": sides, "eventMetadata": {"eventId": "e", "inferenceTime": 1767225600000}}


def bedrock(body: Any, answer: Any = None, **counts: int) -> dict[str, Any]:
    sides = {"input": {"inputBodyJson": body, **counts}, "output": {"outputBodyJson": answer}}
    return {"schemaType": "ModelInvocationLog", "requestId": "b", "modelId": "arn:aws:x/model-1", **sides}


def kong(**parts: Any) -> dict[str, Any]:
    return {"started_at": 1767225600, "ai": {"ai-proxy": {"meta": {"request_model": "m"}, **parts}}}


def texts(messages: tuple[Message, ...] | None) -> list[str]:
    return [message.text for message in messages or ()]


@pytest.mark.parametrize(
    "record",
    [
        kong(payload={"request": json.dumps(BODY)}),
        kong(payload={"request": BODY}),
        {"started_at": 1, "ai.proxy.meta.request_model": "m", "ai.proxy.payload.request": json.dumps(BODY)},
        {"llm_summary": {"model": "m"}, "llm_request": json.dumps(BODY)},
        {"llm_summary.model": "m", "llm_request": BODY},
        sagemaker(json.dumps(BODY), "JSON"),
        sagemaker(packed(BODY), "BASE64"),
        bedrock({"system": [{"text": "S"}], "messages": [{"role": "user", "content": [{"text": "Hi"}]}]}),
        bedrock(json.dumps({"system": "S", "messages": [{"role": "user", "content": "Hi"}]})),
        {"category": "ApiManagementGatewayLogs", "properties": json.dumps({"requestBody": BODY})},
        {
            "endpoint": "e",
            "request_payload": json.dumps(
                {"contents": [{"parts": [{"text": "Hi"}]}], "systemInstruction": "S"}
            ),
        },
        {
            "logging_time": 1,
            "full_request": {
                "system_instruction": {"parts": {"text": "S"}},
                "contents": {"role": "user", "parts": [{"text": "Hi"}]},
            },
        },
        {"request_id": "r", "spend": 1, "call_type": "c", "proxy_server_request": {"url": "u", "body": BODY}},
        {"id": "o", "traceId": "t", "type": "GENERATION", "input": {"kwargs": {"messages": HI}, "args": []}},
        {"id": "o", "trace_id": "t", "type": "generation", "start_time": 1767225600, "input": json.dumps(HI)},
        {
            "run_type": "llm",
            "trace_id": "t",
            "inputs": {
                "messages": [
                    [
                        {"type": "system", "data": {"content": "S"}},
                        {"type": "human", "data": {"content": "Hi"}},
                    ]
                ]
            },
        },
        {
            "run_type": "llm",
            "trace_id": "t",
            "inputs": json.dumps({"messages": [["system", "S"], ["human", "Hi"]]}),
        },
        {
            "requestId": "r",
            "requestCreatedAt": 1,
            "requestBody": json.dumps(BODY),
            "responseBody": "",
            "request_model": "m",
            "request_body": BODY,
            "response_body": None,
        },
    ],
)
def test_bodies_as_strings_objects_and_other_apis(tmp_path: Path, record: dict[str, Any]) -> None:
    assert texts(one(tmp_path, record).messages) == ["S", "Hi"]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"prompt": "<s>Hi"}, "<s>Hi"),
        ({"inputText": "Hi"}, "Hi"),
        ({"prompt": "\n\nHuman: Hi"}, "\n\nHuman: Hi"),
    ],
)
def test_bedrock_prompts_of_older_models(tmp_path: Path, body: dict[str, Any], text: str) -> None:
    request = one(tmp_path, bedrock(body, {"generation": "ok"}, inputTokenCount=5))
    assert (request.text, request.usage, request.model) == (text, Usage(5), "model-1")


@pytest.mark.parametrize("encoded", [False, True])
def test_streamed_answers_are_put_together(tmp_path: Path, encoded: bool) -> None:
    answer = base64.b64encode(STREAM.encode()).decode() if encoded else STREAM
    request = one(tmp_path, sagemaker(json.dumps(BODY), "JSON", answer))
    assert request.output and request.output.message and request.output.message.text == "ok"
    assert request.usage == Usage(9, 2)


def test_a_body_that_a_gateway_cut_is_no_evidence(tmp_path: Path) -> None:
    cut = {"category": "GatewayLogs", "properties": {"backendRequestBody": json.dumps(BODY)[:-9]}}
    whole = {"category": "GatewayLogs", "properties": {"backendRequestBody": json.dumps(BODY)}}
    read = read_records(tmp_path, cut, whole)
    assert [skip.reason for skip in read.skips] == ["prompt cut by the logger"] and len(read.requests) == 1


def sglang(text: Any, **out: Any) -> dict[str, Any]:
    return {"event": "request.finished", "rid": "r", "obj": {"text": text}, "out": {"meta_info": out}}


@pytest.mark.parametrize(
    "record",
    [
        sglang("a" * 1024 + "..." + "b" * 1024),
        sglang("aa...bb", prompt_tokens=900),
        {"event": "request.received", "rid": "r", "obj": {"input_ids": [1, 2, "...", 8, 9]}},
    ],
)
def test_prompts_that_level_two_cut_are_no_evidence(tmp_path: Path, record: dict[str, Any]) -> None:
    read = read_records(tmp_path, record)
    assert [skip.reason for skip in read.skips] == ["prompt cut by the logger"]


def test_dots_in_a_whole_prompt_are_no_cut(tmp_path: Path) -> None:
    assert one(tmp_path, sglang("well...done", prompt_tokens=4)).text == "well...done"


def test_sglang_text_lines_pair_up(tmp_path: Path) -> None:
    lines = (
        "[2026-01-01 00:00:00] Receive: obj=GenerateReqInput(rid='r1', text='it\\'s\\nHi', input_ids=None)\n"
        "[2026-01-01 00:00:00] The server is fired up and ready to roll!\n"
        "[2026-01-01 00:00:02] Finish: obj=GenerateReqInput(rid='r1', text='it\\'s\\nHi'), "
        "out={'text': 'ok', 'meta_info': {'id': 'r1', 'prompt_tokens': 3, "
        "'cached_tokens': 1, 'e2e_latency': 1.5}}\n"
    )
    read = read_bytes(tmp_path, lines.encode(), "server.log")
    (request,) = read.requests
    assert (request.text, request.usage, request.latency) == ("it's\nHi", Usage(3, None, 1), 1.5)
    assert read.log.notes == ["1 other lines."]


def test_vllm_lines_among_others_and_in_containers(tmp_path: Path) -> None:
    line = (
        "INFO 06-01 12:00:00 [logger.py:1] Received request r-1: prompt: 'Hi', "
        "params: SamplingParams(n=1), lora_request: LoRARequest(lora_name='l'), x"
    )
    start = "INFO 06-01 11:00:00 [api_server.py:1] Started server process [1]\n" * 100
    for data in (start + line, json.dumps({"log": line, "stream": "stderr"})):
        read = read_bytes(tmp_path, data.encode(), "server.log")
        assert [(r.id, r.text, r.namespace) for r in read.requests] == [("r-1", "Hi", (("lora", "l"),))]


def line(kind: str, uuid: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    return {"type": kind, "sessionId": "S", "uuid": uuid, "message": message, **more}


def test_a_compaction_begins_the_prompt_anew(tmp_path: Path) -> None:
    usage = {"input_tokens": 1, "cache_read_input_tokens": 5, "output_tokens": 1}
    said = {"message": {"id": "m1", "usage": usage}}
    read = read_records(
        tmp_path,
        line("user", "1", "first"),
        line("assistant", "2", [{"type": "text", "text": "A"}], **said),
        line("assistant", "3", [{"type": "text", "text": "B"}], **said),
        line("assistant", "x", "never sent", message={"id": "m0", "model": "<synthetic>"}),
        {"type": "system", "sessionId": "S", "uuid": "4", "subtype": "compact_boundary"},
        line("user", "5", "summary", isCompactSummary=True),
        line("assistant", "6", [{"type": "text", "text": "C"}], message={"id": "m2", "usage": usage}),
        line("user", "7", "aside", isSidechain=True),
        line("assistant", "8", "D", isSidechain=True, message={"id": "m3", "usage": usage}),
    )
    assert [(r.id, texts(r.messages), r.usage) for r in read.requests] == [
        ("m1", ["first"], Usage(6, 1, 5)),
        ("m2", ["summary"], Usage(6, 1, 5)),
        ("m3", ["aside"], Usage(6, 1, 5)),
    ]
    assert read.requests[0].output and texts((read.requests[0].output.message,)) == ["A\nB"]  # type: ignore[arg-type]


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": {"type": kind, **fields}}


def count(prompt: int, total: int) -> dict[str, Any]:
    info = {"last_token_usage": {"input_tokens": prompt}, "total_token_usage": {"input_tokens": total}}
    return {"type": "event_msg", "payload": {"type": "token_count", "info": info}}


def test_codex_counts_written_twice_and_after_compaction(tmp_path: Path) -> None:
    read = read_records(
        tmp_path,
        item("message", role="user", content=[{"type": "input_text", "text": "one"}]),
        item("message", role="assistant", content=[{"type": "output_text", "text": "A"}]),
        count(10, 10),
        count(10, 10),
        {"type": "compacted", "payload": {"message": "sum", "replacement_history": []}},
        count(0, 10),
        item("message", role="user", content=[{"type": "input_text", "text": "two"}]),
        item("reasoning", summary=[]),
        item("function_call", name="f", arguments="{}", call_id="c"),
        count(20, 30),
    )
    assert [(texts(r.messages), r.usage) for r in read.requests] == [
        (["one"], Usage(10)),
        (["sum", "two"], Usage(20)),
    ]
    assert read.skips == []
