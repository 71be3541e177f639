"""A model directory's own template and tokenizer against transformers, origins, and hostile templates."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.errors import UsageError
from radixadvisor.records import Message, Request, Source, Tool, ToolCall, ToolSet
from radixadvisor.render import sandbox
from radixadvisor.render.base import Origin, RenderError
from radixadvisor.render.jinja import JinjaTemplate, directory_template, read_template
from radixadvisor.render.registry import render_text
from radixadvisor.tokens.base import encode_prompt_text, unpack
from radixadvisor.tokens.directory import DirectoryTokenizer

from .conversations import Shape, as_request, conversation, for_template

PLAIN = Shape(null_content=False)
DIRECTORIES = {
    "qwen-3.5": (replace(PLAIN, many_systems=False, odd_order=False), True),
    "deepseek-v3.1": (PLAIN, False),
    "deepseek-r1-distill-llama-8b": (replace(PLAIN, calls=0), True),
    "minimax-m3": (PLAIN, True),
}


def request_of(*messages: Message, **fields: Any) -> Request:
    return Request(id="r", source=Source("made", 1), messages=messages, **fields)


@pytest.mark.parametrize("name", DIRECTORIES)
def test_token_ids_equal_apply_chat_template(
    name: str,
    model_directory: Callable[[str], Path],
    directory_tokenizer: Callable[[str], DirectoryTokenizer],
    reference: Callable[[str], Any],
    encode_whole: Callable[[str, str], list[int]],
) -> None:
    shape, parse = DIRECTORIES[name]
    template = directory_template(model_directory(name))
    assert template is not None and template.exact
    for seed in range(40):
        body = conversation(seed, shape)
        messages = for_template(body, parse_arguments=parse, keep_null=False)
        expected = reference(name).apply_chat_template(
            messages, tools=body.get("tools"), add_generation_prompt=True, tokenize=False
        )
        text = render_text(template, as_request(body))
        assert text == expected, seed
        ids = unpack(encode_prompt_text(directory_tokenizer(name), text))
        assert ids == encode_whole(name, expected), seed
    assert (directory_tokenizer(name).safe_split is not None) is (name != "minimax-m3")


def test_the_prompt_is_one_group_whose_key_holds_all_it_depends_on() -> None:
    dated = JinjaTemplate("t", "{{ strftime_now('%d %b %Y') }}{{ messages[0].content }}")
    plain = JinjaTemplate("t", "{{ messages[0].content }}")
    message = Message("user", "q")
    new_year, day_after = request_of(message, arrival=1704067200.0), request_of(message, arrival=1704153600.0)
    assert render_text(dated, new_year) == "01 Jan 2024q"
    assert render_text(dated, day_after) == "02 Jan 2024q"
    assert render_text(dated, request_of(message)) == "26 Jul 2024q"
    assert dated.groups(new_year)[0].key != dated.groups(day_after)[0].key
    assert plain.groups(new_year) == plain.groups(day_after)


def test_origins_are_found_in_a_foreign_template() -> None:
    source = (
        "{% for t in tools %}{{ t | tojson(indent=4) }}{% endfor %}"
        "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}"
        "{% for c in m.tool_calls %}{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}"
    )
    request = request_of(
        Message("system", "  Be brief and kind. "),
        Message("user", "Where is the description?"),
        Message("assistant", "", (ToolCall("c", "look_up", '{"description":"x"}'),)),
        Message("user", "Where is the description?"),
        tools=ToolSet((Tool("look_up", '{"name":"look_up","description":"Where is the description?"}'),)),
    )
    template = JinjaTemplate("t", source)
    pieces = template.pieces(request, template.groups(request)[0])
    found = {piece.origin: piece.text for piece in pieces if piece.origin is not None}
    assert found[Origin("messages[0].content", 2)] == "Be brief and kind."
    assert found[Origin("messages[1].content", 0)] == "Where is the description?"
    assert found[Origin("messages[2].tool_calls[0].function.arguments", 0)] == '{"description": "x"}'
    assert found[Origin("messages[3].content", 0)] == "Where is the description?"
    assert found[Origin("tools[0]", 0)].startswith("{\n    ")


def test_templates_are_found_in_every_place_a_directory_keeps_them(tmp_path: Path) -> None:
    config = tmp_path / "tokenizer_config.json"
    named = [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "with tools"}]
    config.write_text(json.dumps({"chat_template": named, "bos_token": {"content": "<s>"}}))
    template = directory_template(tmp_path)
    assert template is not None and template.name == tmp_path.name
    tools = ToolSet((Tool("f", "{}"),))
    assert render_text(template, request_of(Message("user", "q"))) == "plain"
    assert render_text(template, request_of(Message("user", "q"), tools=tools)) == "with tools"
    (tmp_path / "chat_template.json").write_text(json.dumps({"chat_template": "{{ bos_token }}json"}))
    template = directory_template(tmp_path)
    assert template is not None and render_text(template, request_of(Message("user", "q"))) == "<s>json"
    (tmp_path / "chat_template.jinja").write_text("{{ bos_token }}jinja")
    template = directory_template(tmp_path)
    assert template is not None and render_text(template, request_of(Message("user", "q"))) == "<s>jinja"
    assert directory_template(tmp_path / "elsewhere") is None


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("t.jinja", "{% for %}", "not valid: line 1"),
        ("t.json", "{}", "has no chat_template"),
        ("t.json", "{", "not readable JSON"),
    ],
)
def test_a_broken_template_file_is_one_clear_sentence(
    file: str, text: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / file).write_text(text)
    with pytest.raises(UsageError, match=reason):
        read_template(tmp_path / file)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{{ raise_exception('roles must alternate') }}", "rejects the request: roles must alternate$"),
        ("{{ raise_exception('bad: ' + messages[0].content) }}", "rejects the request$"),
        ("{{ messages[9].content.x }}", "UndefinedError"),
        ("{{ messages[0].__class__.__mro__ }}", "SecurityError"),
        ("{{ 1 + 'a' }}", "TypeError"),
        ("{% for i in range(10**9) %}{% endfor %}", "OverflowError"),
        ("{{ 10**(10**8) }}", "too large a number"),
        ("{{ 'a' * 10**9 }}", "too large a value"),
        ("{% set ns = namespace(x='a' * 10000000) %}{% for i in range(99) %}"
         "{% set ns.x = ns.x + ns.x %}{% endfor %}", "too large a value"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "RecursionError"),
    ],
)  # fmt: skip
def test_what_a_template_refuses_or_breaks_on_is_a_short_reason(source: str, reason: str) -> None:
    template = JinjaTemplate("t", source)
    request = request_of(Message("user", "a secret"))
    with pytest.raises(RenderError, match=reason) as caught:
        render_text(template, request)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "source",
    [
        "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% for i in range(99999) %}{% for m in messages %}{% for k in range(99) %}"
        "{% if m.role %}{% endif %}{% endfor %}{% endfor %}{% endfor %}",
    ],
)
def test_an_endless_template_is_stopped(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MAX_SECONDS", 0.2)
    with pytest.raises(RenderError, match=r"ran for more than 0\.2 seconds"):
        render_text(JinjaTemplate("t", source), request_of(Message("user", "q")))


def test_a_flood_of_text_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MAX_CHARS", 1000)
    with pytest.raises(RenderError, match="prints more than 1000 characters"):
        render_text(
            JinjaTemplate("t", "{% for i in range(999) %}xx{% endfor %}"), request_of(Message("user", "q"))
        )


def test_null_content_stays_null_for_a_template_that_asks() -> None:
    call = Message("assistant", None, (ToolCall("c", "f", "{}"),))
    asks = "{% for m in messages %}{% if m['content'] is none %}null{% endif %}{% endfor %}"
    assert render_text(JinjaTemplate("t", asks), request_of(call)) == "null"
    assert render_text(JinjaTemplate("t", "[{{ messages[0].content }}]"), request_of(call)) == "[]"
