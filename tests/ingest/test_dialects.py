"""Each dialect: recognised by its example, read with the stated fields, open to new ones."""

from __future__ import annotations

import gzip
import json
from array import array
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.ingest import read_log
from radixadvisor.ingest.dialects import registry
from radixadvisor.records import Blocks, CacheControl, Output, Request, Usage
from tests.ingest.forms import FORMS
from tests.ingest.reading import one, plain, read_bytes, read_paths, read_records

EXAMPLES = Path(__file__).parents[1] / "data" / "formats"
SYSTEM = "You are HelpBot for Acme. Policy v3: refunds within 30 days."

# Per request: the fields that its example states.
STATED: dict[str, list[dict[str, Any]]] = {
    "openai_chat": [
        {
            "model": "gpt-4o",
            "user": "u-1",
            "session": "s1",
            "parameters": {"prompt_cache_key": '"acme-help"'},
            "roles": ["system", "user"],
        },
        {"model": "gpt-4o", "user": "u-2", "session": None, "roles": ["system", "user"]},
    ],
    "openai_batch": [
        {"id": "r1", "model": "gpt-4o-mini", "arrival": None, "roles": ["system", "user"]},
        {"id": "r2", "roles": ["system", "user", "assistant", "tool"]},
    ],
    "anthropic_messages": [
        {"id": "msg_1", "user": "u-1", "usage": Usage(1512, 30, 0, 1500), "roles": ["system", "user"]},
        {
            "id": "msg_2",
            "usage": Usage(1560, 5, 1500, 0),
            "roles": ["system", "user", "assistant", "tool", "user"],
        },
    ],
    "litellm": [
        {
            "id": "chatcmpl-1",
            "arrival": 1767225600.0,
            "latency": 1.5,
            "session": "s1",
            "tenant": "team-a",
            "user": "u-1",
            "usage": Usage(41, 9, 0),
            "roles": ["system", "user"],
        },
    ],
    "plain": [
        {
            "id": "p1",
            "text": "Summarise the ticket.\nTicket 1",
            "output": Output(text="Done."),
            "arrival": 10.0,
        },
        {"id": "p2#1", "text": "First of two", "output": None},
        {"id": "p2#2", "text": "Second of two", "arrival": 12.5},
        {
            "id": "p3",
            "tokens": array("i", [1, 2, 3, 70000]).tobytes(),
            "output": Output(tokens=array("i", [4, 5]).tobytes()),
        },
        {"id": "p4", "text": "Only text", "output": Output(length=7)},
    ],
    "mooncake": [
        {"blocks": Blocks((0, 1, 2), 512, 1100), "output": Output(length=50), "arrival": 0.0},
        {"blocks": Blocks((0, 1, 3), 512, 1030), "arrival": 3.0},
    ],
    "bailian": [
        {"id": "1", "blocks": Blocks((10, 11, 12), 16, 40), "arrival": 61.114, "session": "1", "app": "text"},
        {"id": "2", "blocks": Blocks((10, 11, 13, 14), 16, 60), "arrival": 70.5, "session": "1"},
    ],
}


def stated(request: Request) -> dict[str, Any]:
    return {
        **{name: getattr(request, name) for name in Request.__dataclass_fields__},
        "roles": [message.role for message in request.messages or ()],
    }


def test_every_dialect_has_an_example() -> None:
    # A trace in Parquet is this program's own, and has its own tests.
    assert set(registry()) - {"trace"} == set(STATED) | {form.dialect for form in FORMS.values()}
    assert {path.name for path in EXAMPLES.iterdir()} == {f"{name}.jsonl" for name in STATED} | set(FORMS)


@pytest.mark.parametrize("name", STATED)
def test_each_example_is_recognised_and_read(name: str) -> None:
    read = read_paths(EXAMPLES / f"{name}.jsonl")
    assert (read.log.dialect, len(read.requests)) == (name, len(STATED[name]))
    assert read.log.evidence and read.log.second != name
    for request, expected in zip(read.requests, STATED[name], strict=True):
        assert {key: stated(request)[key] for key in expected} == expected


@pytest.mark.parametrize("name", STATED)
def test_each_example_in_other_wrappings(tmp_path: Path, name: str) -> None:
    lines = (EXAMPLES / f"{name}.jsonl").read_bytes()
    records = [json.loads(line) for line in lines.splitlines()]
    expected = [plain(request) for request in read_bytes(tmp_path, lines, "log").requests]
    for data in (
        json.dumps(records).encode(),
        json.dumps(records, indent=1).encode(),
        b"\xef\xbb\xbf" + lines.replace(b"\n", b"\r\n"),
        gzip.compress(lines),
    ):
        read = read_bytes(tmp_path, data, "log")
        assert read.log.dialect == name
        assert len(read.requests) == len(expected)
    forced = read_bytes(tmp_path, lines, "log", format=name.replace("_", "-").upper())
    assert [plain(request) for request in forced.requests] == expected
    assert forced.log.evidence == "named by the user"


def test_redacted_text_is_no_evidence() -> None:
    read = read_paths(EXAMPLES / "litellm.jsonl")
    assert [(skip.reason, skip.source.line) for skip in read.skips] == [("prompt text redacted", 2)]


def test_the_anthropic_system_prompt_leads_and_keeps_its_breakpoint() -> None:
    first, second = read_paths(EXAMPLES / "anthropic_messages.jsonl").requests
    assert first.messages and second.messages and first.tools
    assert first.messages[0].text == SYSTEM and first.messages[0].cache_control == CacheControl("5m")
    assert second.messages[2].tool_calls[0].arguments == '{"id": "17"}'
    assert second.messages[3].tool_call_id == "toolu_1"
    assert "iVBORw0KGgo" not in second.messages[4].text


def test_a_claude_model_behind_an_openai_api_is_an_openai_log(tmp_path: Path) -> None:
    block = {"type": "text", "text": "S", "cache_control": {"type": "ephemeral"}}
    record = {
        "model": "claude-sonnet-4-5",
        "messages": [{"role": "system", "content": [block]}, {"role": "user", "content": "hi"}],
        "usage": {"prompt_tokens": 10, "cache_read_input_tokens": 4},
    }
    read = read_records(tmp_path, record)
    assert read.log.dialect == "openai_chat"
    assert read.requests[0].usage == Usage(10, None, 4)


def test_a_mixed_log_is_read_by_its_majority_and_the_rest_is_named(tmp_path: Path) -> None:
    chat = {"messages": [{"role": "user", "content": "x"}]}
    read = read_records(tmp_path, chat, chat, {"hash_ids": [1], "input_length": 5}, chat)
    assert read.log.dialect == "openai_chat" and read.log.second == "mooncake"
    assert [(skip.reason, skip.source.line) for skip in read.skips] == [("no messages", 3)]


def test_files_of_several_dialects(tmp_path: Path) -> None:
    read = read_paths([EXAMPLES / "mooncake.jsonl", EXAMPLES / "openai_chat.jsonl"])
    assert len(read.requests) == 4
    assert [note for note in read.log.notes if "is read as openai_chat" in note]


def test_bailian_chats_belong_to_their_first(tmp_path: Path) -> None:
    chats = [(5, -1), (6, 5), (7, 6), (9, 8), (10, 9)]
    lines = [
        {"chat_id": chat, "parent_chat_id": parent, "timestamp": 1, "input_length": 3, "hash_ids": [1]}
        for chat, parent in chats
    ]
    read = read_records(tmp_path, *lines)
    assert [request.session for request in read.requests] == ["5", "5", "5", "8", "8"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"hash_ids": [1, 2], "input_length": 5}, "block count does not fit the length"),
        ({"hash_ids": [1.5], "input_length": 5}, "no block hashes"),
        ({"hash_ids": "x", "input_length": 5}, "no block hashes"),
        ({"hash_ids": [], "input_length": 0}, "empty prompt"),
    ],
)
def test_hash_lines_that_make_no_prompt(tmp_path: Path, fields: dict[str, Any], reason: str) -> None:
    good = {"hash_ids": [1], "input_length": 5, "timestamp": 0}
    assert [skip.reason for skip in read_records(tmp_path, good, fields).skips] == [reason]


def test_a_whole_trace_has_one_length_per_request(tmp_path: Path) -> None:
    assert one(tmp_path, {"hash_ids": [1, 2], "timestamp": 1500}).blocks == Blocks((1, 2), 512, 1024)
    assert one(tmp_path, {"hash_ids": [1, 2], "timestamp": 1.8e8}).arrival == 180000.0


@pytest.mark.parametrize(
    ("name", "requests"),
    [
        ("bfcl_live_multiple", 1053),
        ("gsm8k_8shot", 1319),
        ("openhands", 105),
        ("swe_agent", 230),
        ("tau_bench_airline", 2454),
    ],
)
def test_real_logs_are_read_whole(shared: Path, name: str, requests: int) -> None:
    path = shared / "data" / "logs" / f"{name}.jsonl.gz"
    read = read_paths(path)
    assert (len(read.requests), read.skips, read.log.notes) == (requests, [], [])
    with gzip.open(path) as lines:
        for request, line in zip(read.requests, lines, strict=True):
            logged = json.loads(line)
            assert request.id == logged["request_id"] and request.messages
            assert [message.role for message in request.messages] == [
                turn["role"] for turn in logged["messages"]
            ]
            for message, turn in zip(request.messages, logged["messages"], strict=True):
                if not isinstance(turn["content"], list):
                    assert message.content == turn["content"]
            assert [
                json.loads(tool.raw) for tool in (request.tools.tools if request.tools else ())
            ] == logged.get("tools", [])


def test_a_real_hash_trace_is_read_whole(shared: Path) -> None:
    read = read_paths(shared / "data" / "mooncake_conversation" / "conversation_trace.jsonl")
    blocks = [request.blocks for request in read.requests if request.blocks]
    assert (len(blocks), sum(block.tokens for block in blocks)) == (12031, 144793823)
    assert len({identity for block in blocks for identity in block.ids}) == 182790
    assert read.requests[-1].arrival == max(request.arrival or 0 for request in read.requests) == 3536.999


def test_every_fault_case_is_read_whole(shared: Path) -> None:
    for path in sorted((shared / "cases").glob("*.jsonl")):
        log = read_log(path)
        records = list(log)
        assert log.skips.total == 0 and len(records) == path.read_bytes().count(b"\n")
        assert all(isinstance(record, Request) and record.output for record in records)
