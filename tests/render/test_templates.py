"""What every template must keep: borders on added tokens, keys that identify texts, true origins."""

from __future__ import annotations

import re
from typing import Any

import pytest

from radixadvisor.records import Message, Part, Request, Source, Tool, ToolCall, ToolSet
from radixadvisor.render.base import Origin, Piece, RenderError
from radixadvisor.render.registry import render_text, renderer, template_hash, template_names
from radixadvisor.render.text import sliced, stripped
from radixadvisor.tokens.engine import choose, encode_prompt_text
from radixadvisor.tokens.vocabularies import built_in

from .conversations import Shape, as_request, conversation

GENTLE = Shape(calls=1, content_with_calls=False, odd_order=False, empty=False)
SEEDS = range(60)


def request_of(*messages: Message, **fields: Any) -> Request:
    return Request(id="r", source=Source("made", 1), messages=messages, **fields)


def text_at(request: Request, path: str) -> str:
    """The text that an origin's path leads to."""
    assert request.messages is not None
    if path.startswith("tools"):
        assert request.tools is not None
        return request.tools.tools[int(path[6:-1])].raw
    index, rest = re.fullmatch(r"messages\[(\d+)\]\.(.+)", path).groups()  # type: ignore[union-attr]
    message = request.messages[int(index)]
    if rest == "content":
        return message.text
    if rest == "reasoning_content":
        return message.reasoning or ""
    numbers = [int(number) for number in re.findall(r"\[(\d+)\]", rest)]
    if rest.startswith("content"):
        assert isinstance(message.content, tuple)
        return message.content[numbers[0]].text
    call = message.tool_calls[numbers[0]]
    return call.name if rest.endswith("name") else call.arguments


@pytest.mark.parametrize("name", template_names())
def test_groups_encode_to_the_tokens_of_the_whole_prompt(name: str) -> None:
    template = renderer(name)
    tokenizer = built_in("o200k", template.added_tokens)
    for seed in SEEDS:
        request = as_request(conversation(seed, GENTLE))
        texts = [
            "".join(piece.text for piece in template.pieces(request, group))
            for group in template.groups(request)
        ]
        apart = b"".join(encode_prompt_text(tokenizer, text) for text in texts)
        assert apart == encode_prompt_text(tokenizer, "".join(texts)), seed


@pytest.mark.parametrize("name", template_names())
def test_equal_keys_mean_equal_texts(name: str) -> None:
    template = renderer(name)
    texts: dict[Any, str] = {}
    shared = 0
    for seed in SEEDS:
        full = as_request(conversation(seed, GENTLE))
        assert full.messages is not None
        for length in range(1, len(full.messages) + 1):
            request = request_of(*full.messages[:length], tools=full.tools)
            try:
                groups = template.groups(request)
            except RenderError:
                continue
            for group in groups:
                text = "".join(piece.text for piece in template.pieces(request, group))
                shared += group.key in texts
                assert texts.setdefault(group.key, text) == text, (seed, length, group.key)
    assert shared > 100, "no group was ever met again"


@pytest.mark.parametrize("name", template_names())
def test_origins_lead_back_to_the_request(name: str) -> None:
    template = renderer(name)
    met = set()
    for seed in SEEDS:
        request = as_request(conversation(seed, GENTLE))
        for group in template.groups(request):
            for text, origin in template.pieces(request, group):
                if origin is None:
                    continue
                home = text_at(request, origin.path)
                kind = re.sub(r"\[\d+\]", "", origin.path)
                met.add(kind)
                if kind in ("tools", "messages.tool_calls.function.arguments"):
                    continue
                if text != home[origin.start : origin.start + len(text)]:
                    # A tool result may be printed as JSON; nothing else may change.
                    assert kind.startswith("messages.content") and name.startswith(("llama", "mistral-v3"))
    assert {"messages.content", "messages.content.text"} <= met
    assert "messages.tool_calls.function.arguments" in met


@pytest.mark.parametrize("name", template_names())
def test_a_request_without_messages_is_refused(name: str) -> None:
    with pytest.raises(RenderError, match="no messages"):
        renderer(name).groups(request_of())


@pytest.mark.parametrize("name", ["qwen2.5", "qwen3", "deepseek-v3", "mistral-v3", "gpt-oss"])
def test_an_unknown_role_is_refused_without_naming_it(name: str) -> None:
    with pytest.raises(RenderError) as caught:
        renderer(name).groups(request_of(Message("secret words", "x")))
    assert "secret" not in str(caught.value)


def test_developer_is_system_and_function_is_tool() -> None:
    text = render_text(
        renderer("qwen2.5"),
        request_of(Message("developer", "rules"), Message("user", "q"), Message("function", "r")),
    )
    assert text.startswith("<|im_start|>system\nrules<|im_end|>\n")
    assert "<tool_response>\nr\n</tool_response>" in text


@pytest.mark.parametrize(
    ("name", "messages", "reason"),
    [
        (
            "llama3.1",
            (Message("user", "q"), Message("assistant", None, (ToolCall(None, "f", "{}"),) * 2)),
            "one tool call",
        ),
        (
            "mistral-v3",
            (Message("user", "q"), Message("assistant", "text", (ToolCall(None, "f", "{}"),))),
            "either content or tool calls",
        ),
        ("mistral-v7", (Message("user", "q"), Message("assistant", "")), "empty assistant"),
        ("mistral-v3", (Message("user", "q"), Message("tool", "r")), "call id"),
    ],
)
def test_what_a_template_rejects(name: str, messages: tuple[Message, ...], reason: str) -> None:
    with pytest.raises(RenderError, match=reason):
        renderer(name).groups(request_of(*messages))


def test_llama_needs_a_first_message_for_the_tools() -> None:
    tools = ToolSet((Tool("f", "{}"),))
    with pytest.raises(RenderError, match="first user message"):
        renderer("llama3.1").groups(request_of(Message("system", "s"), tools=tools))


def test_arguments_are_parsed_in_key_order_and_broken_ones_stay_text() -> None:
    def printed(name: str, arguments: str) -> str:
        call = Message("assistant", None, (ToolCall("c", "f", arguments),))
        text = render_text(renderer(name), request_of(Message("user", "q"), call))
        return text.split('"arguments": ')[-1].split("}\n</tool_call>")[0]

    assert printed("qwen2.5", '{"b":1,"a":"\\u00e9"}') == '{"b": 1, "a": "é"}'
    assert printed("qwen2.5", "") == "{}"
    assert printed("qwen2.5", '{"b":') == '"{\\"b\\":"'
    assert printed("qwen3", '{"b":') == '{"b":'
    assert printed("qwen2.5", "[" * 100_000) == '"' + "[" * 100_000 + '"'


def test_list_content_is_joined_by_newlines_and_null_is_empty() -> None:
    parts = (Part("text", "a"), Part("image", "<image 1>"), Part("text", ""), Part("text", "b"))
    request = request_of(Message("user", parts), Message("assistant", None))
    pieces = [
        piece
        for group in renderer("qwen2.5").groups(request)
        for piece in renderer("qwen2.5").pieces(request, group)
    ]
    assert "<|im_start|>user\na\n<image 1>\n\nb<|im_end|>" in "".join(piece.text for piece in pieces)
    assert "<|im_start|>assistant\n<|im_end|>" in "".join(piece.text for piece in pieces)
    assert Piece("b", Origin("messages[0].content[3].text", 0)) in pieces


def test_today_is_the_day_of_the_request() -> None:
    day = 86400.0 * 19723  # 1 January 2024
    question = Message("user", "q")
    assert "Today Date: 01 Jan 2024" in render_text(renderer("llama3.2"), request_of(question, arrival=day))
    assert "Today Date: 26 Jul 2024" in render_text(renderer("llama3.2"), request_of(question))
    assert "Today Date: 26 Jul 2024" in render_text(renderer("llama3.2"), request_of(question, arrival=1e30))
    assert "Today Date: 26 Jul 2024" in render_text(renderer("llama3.1"), request_of(question, arrival=day))
    assert "Current date: 2024-01-01" in render_text(renderer("gpt-oss"), request_of(question, arrival=day))


def test_harmony_puts_effort_tools_and_results_in_their_places() -> None:
    request = request_of(
        Message("system", "rules"),
        Message("user", "q"),
        Message("assistant", None, (ToolCall("c1", "f", '{"a":1}'),), reasoning="thought"),
        Message("tool", "result", tool_call_id="c1"),
        tools=ToolSet(
            (Tool("f", '{"function": {"name": "f", "description": "d", "parameters": {"x": 1}}}'),)
        ),
        parameters={"reasoning_effort": '"high"'},
    )
    text = render_text(renderer("gpt-oss"), request)
    assert "Reasoning: high\n" in text
    assert "# Instructions\n\nrules\n\n# Tools" in text
    assert '// d\ntype f = (_: {"x": 1}) => any;' in text
    assert "<|start|>assistant<|channel|>analysis<|message|>thought<|end|>" in text
    assert "<|start|>functions.f to=assistant<|channel|>commentary<|message|>result<|end|>" in text
    answered = request_of(*(request.messages or ()), Message("assistant", "done"), Message("user", "more"))
    assert "thought" not in render_text(renderer("gpt-oss"), answered)


def test_anthropic_order_is_tools_system_messages() -> None:
    request = request_of(
        Message("user", "question"), Message("system", "late rules"), tools=ToolSet((Tool("f", '{"n": 1}'),))
    )
    text = render_text(renderer("anthropic"), request)
    assert text.index('{"n": 1}') < text.index("late rules") < text.index("question")


def test_template_hashes_tell_templates_apart() -> None:
    hashes = {name: template_hash(renderer(name)) for name in template_names()}
    assert all(re.fullmatch("[0-9a-f]{16}", value) for value in hashes.values())
    same = {"llama3.1", "llama3.3"}
    assert len(set(hashes.values())) == len(hashes) - 1
    assert len({hashes[name] for name in same}) == 1
    assert template_hash(renderer("QWEN3")) == hashes["qwen3"]


def test_stripped_and_sliced_move_origins_along() -> None:
    pieces = [
        Piece("  ", None),
        Piece(" ab ", Origin("p", 0)),
        Piece("c ", Origin("q", 0)),
        Piece("\n", None),
    ]
    assert stripped(pieces) == [Piece("ab ", Origin("p", 1)), Piece("c", Origin("q", 0))]
    assert stripped([Piece(" \n ", None)]) == []
    assert sliced(pieces, 4, 7) == [Piece("b ", Origin("p", 2)), Piece("c", Origin("q", 0))]


def test_exact_is_claimed_only_where_a_reference_stands() -> None:
    confirmed = {"qwen2.5", "qwen3", "deepseek-v3", "deepseek-r1", "deepseek-v3.1", "llama3.1"}
    confirmed |= {"mistral-v3", "mistral-v7"}
    assert {name for name in template_names() if renderer(name).exact} == confirmed
    assert choose("claude-sonnet-4").exact is False
