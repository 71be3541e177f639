"""What is read from servers: events cut anywhere, counts of every dialect, counters under all their names."""

from __future__ import annotations

import json
import random
from array import array
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radixadvisor.endpoint.answers import Answer, Counts, counts_of
from radixadvisor.endpoint.events import EventStream
from radixadvisor.endpoint.identify import LLAMA, SGLANG, UNKNOWN, VLLM, Engine, identify, tokens_of
from radixadvisor.endpoint.metrics import read_counters
from radixadvisor.endpoint.patience import Patience, retry_after
from radixadvisor.endpoint.predict import Prompt, expected_hits
from radixadvisor.endpoint.slots import LlamaSlots, common
from radixadvisor.endpoint.wire import parse_address
from radixadvisor.errors import UsageError


@given(
    st.lists(st.lists(st.sampled_from(["a", "{}", "", " x", ":", "data: y"]), min_size=1, max_size=3)),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.data(),
)
def test_events_are_the_same_however_they_arrive(
    events: list[list[str]], end: str, data: st.DataObject
) -> None:
    text = "".join(
        f": comment{end}event: x{end}" + "".join(f"data: {line}{end}" for line in event) + end
        for event in events
    ).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    stream = EventStream()
    found = [
        event
        for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True)
        for event in stream.feed(text[start:stop])
    ]
    assert [*found, *stream.close()] == ["\n".join(event).encode() for event in events]


def test_an_event_without_its_empty_line_counts() -> None:
    stream = EventStream()
    assert [*stream.feed(b"data: a\n\ndata: b"), *stream.close()] == [b"a", b"b"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            {"usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}},
            Counts(9, 4),
        ),
        ({"usage": {"prompt_tokens": 9, "completion_tokens": 2}}, Counts(9, None, 2)),
        ({"usage": {"prompt_tokens": 9, "prompt_tokens_details": None}}, Counts(9)),
        ({"usage": {"prompt_tokens": 9, "prompt_cache_hit_tokens": 8}}, Counts(9, 8)),
        ({"timings": {"cache_n": 198, "prompt_n": 10, "predicted_n": 4}}, Counts(208, 198, 4)),
        ({"usage": {"prompt_tokens": 4, "prompt_cache_hit_tokens": 5}}, Counts(4, impossible=True)),
        ({"usage": {"prompt_tokens": True, "completion_tokens": -1}}, Counts()),
        ({"usage": "free"}, Counts()),
    ],
)
def test_counts_of_every_dialect(body: dict[str, Any], expected: Counts) -> None:
    assert counts_of(body) == expected


@pytest.mark.parametrize(
    "choice",
    [
        {"delta": {"content": "a"}},
        {"delta": {"reasoning_content": "a"}},
        {"delta": {"reasoning": "a"}},
        {"delta": {"tool_calls": [{"index": 0}]}},
        {"text": "a"},
    ],
)
def test_a_first_token_of_any_kind_begins_an_answer(choice: dict[str, Any]) -> None:
    answer = Answer()
    answer.take(json.dumps({"choices": [{"delta": {"role": "assistant", "content": ""}}]}).encode())
    assert not answer.begun
    answer.take(json.dumps({"choices": [choice]}).encode())
    assert answer.begun and not answer.finished


@pytest.mark.parametrize("total", ["", "_total"])
@pytest.mark.parametrize(
    ("hits", "prompt", "inside"),
    [
        ("vllm:prefix_cache_hits", "vllm:prefix_cache_queries", True),
        ("vllm:gpu_prefix_cache_hits", "vllm:gpu_prefix_cache_queries", True),
        ("sglang:cached_tokens", "sglang:prompt_tokens", True),
        ("llamacpp:prompt_tokens_cached", "llamacpp:prompt_tokens", False),
    ],
)
def test_counters_under_all_their_names(hits: str, prompt: str, inside: bool, total: str) -> None:
    page = (
        f"# HELP {hits}{total} Tokens.\n# TYPE {hits}{total} counter\n"
        f'{hits}{total}{{engine="0",model_name="a b}} c"}} 30.0\n'
        f'{hits}{total}{{engine="1"}} 12.0 1760000000\n'
        f"{hits}_created 1.7e9\nother_metric NaN\n\nbroken\n"
        f"{prompt}{total} 1.0e+02\n"
    )
    found = read_counters(page)
    assert found is not None
    assert (found.hits, found.prompt) == (42, 100 if inside else 142)
    later = read_counters(page.replace(" 30.0", " 50.0"))
    assert later is not None
    risen = later.since(found)
    assert risen is not None and risen.hits == 20
    assert found.since(later) is None, "a server that was started anew counts from 0"


def test_a_page_without_known_counters_has_none() -> None:
    assert read_counters("vllm:prefix_cache_hits_total 3\n") is None
    assert read_counters("") is None


class Shown:
    """A server by its pages."""

    def __init__(self, pages: Mapping[str, Any]) -> None:
        self.pages = pages
        self.posted: list[tuple[str, Mapping[str, Any]]] = []

    def get(self, path: str) -> bytes | None:
        page = self.pages.get(path)
        return page.encode() if isinstance(page, str) else None if page is None else json.dumps(page).encode()

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        self.posted.append((path, body))
        return self.pages.get(path)


@pytest.mark.parametrize(
    ("pages", "engine"),
    [
        ({"/props": {"total_slots": 3}}, Engine(LLAMA, slots=3)),
        ({"/server_info": {"page_size": 64}}, Engine(SGLANG, 64)),
        ({"/get_server_info": {"page_size": 1}}, Engine(SGLANG, 1)),
        ({"/metrics": "sglang:prompt_tokens 0\n"}, Engine(SGLANG)),
        ({"/metrics": 'vllm:cache_config_info{a="b",block_size="32"} 1\n'}, Engine(VLLM, 32)),
        ({"/metrics": "vllm:num_requests 0\n"}, Engine(VLLM, 16)),
        ({"/props": "<html>", "/server_info": [1], "/metrics": "go_goroutines 5\n"}, Engine(UNKNOWN)),
        ({}, Engine(UNKNOWN)),
    ],
)
def test_engines_are_told_by_their_pages(pages: dict[str, Any], engine: Engine) -> None:
    assert identify(Shown(pages)) == engine


def test_prompts_in_the_servers_own_tokens() -> None:
    chat = {"messages": [{"role": "user", "content": "a"}], "tools": [{"x": 1}], "model": "m"}
    llama = Shown({"/apply-template": {"prompt": "<user>a"}, "/tokenize": {"tokens": [5, 6]}})
    assert tokens_of(llama, Engine(LLAMA, slots=1), "m", chat) == array("i", [5, 6]).tobytes()
    assert llama.posted[0] == ("/apply-template", {"messages": chat["messages"], "tools": chat["tools"]})
    assert llama.posted[1][1]["content"] == "<user>a"
    vllm = Shown({"/tokenize": {"tokens": [7]}})
    assert tokens_of(vllm, Engine(VLLM, 16), "m", chat) == array("i", [7]).tobytes()
    assert vllm.posted[0][1].keys() == {"model", "messages", "tools"}
    for answer in (None, {}, {"tokens": []}, {"tokens": ["a"]}, {"error": "no"}):
        assert tokens_of(Shown({"/tokenize": answer}), Engine(VLLM, 16), "m", chat) is None
    assert tokens_of(llama, Engine(UNKNOWN), "m", chat) is None


def test_waits_grow_and_end() -> None:
    patience = Patience(first_wait=1.0, longest_wait=10.0)
    waits = [patience.wait(attempt, None, random.Random(1)) for attempt in range(40)]
    assert 0.75 <= waits[0] <= 1.25 and 3 <= waits[2] <= 5
    assert max(waits) <= 12.5
    assert patience.wait(0, 3.5, random.Random(1)) == 3.5
    assert patience.wait(0, 1e9, random.Random(1)) == 10
    assert retry_after("2") == 2
    for other in ("Wed, 21 Oct 2026 07:28:00 GMT", "-1", "inf", "nan", "", None):
        assert retry_after(other) is None


@pytest.mark.parametrize(
    ("given_url", "url"),
    [
        ("localhost:8000", "http://localhost:8000"),
        ("http://localhost:8000/v1/", "http://localhost:8000"),
        ("https://host/api/v1", "https://host/api"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_addresses(given_url: str, url: str) -> None:
    assert str(parse_address(given_url)) == url


@pytest.mark.parametrize(
    "url", ["ftp://host", "http://", "http://host:port", "http://h:99999", "a b", "http://h\n", ""]
)
def test_addresses_that_cannot_work(url: str) -> None:
    with pytest.raises(UsageError, match="No server's address"):
        parse_address(url)


@pytest.mark.parametrize(
    "url", ["http://me:hunter2@host", "http://host/?key=hunter2", "hunter2@", "http://h#hunter2"]
)
def test_an_address_with_a_secret_is_not_repeated(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_address(url)
    assert "hunter2" not in str(caught.value)


def packed(*tokens: int) -> bytes:
    return array("i", tokens).tobytes()


@given(st.lists(st.integers(0, 2), max_size=12), st.lists(st.integers(0, 2), max_size=12))
def test_the_common_beginning(first: list[int], second: list[int]) -> None:
    size = next((at for at, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]), None)
    expected = min(len(first), len(second)) if size is None else size
    assert common(packed(*first), packed(*second)) == expected


PROMPTS = st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=10), min_size=1, max_size=12)


@given(PROMPTS)
def test_one_slot_without_host_memory_knows_only_the_last_prompt(prompts: list[list[int]]) -> None:
    slots = LlamaSlots(1, host=False)
    held = b""
    for prompt in prompts:
        expected = max(min(common(held, packed(*prompt)), len(prompt) - 1), 0)
        assert slots.serve(packed(*prompt)) == expected
        held = packed(*prompt)


@given(PROMPTS, st.integers(1, 4), st.booleans(), st.integers(1, 4))
def test_no_engine_serves_more_than_was_sent(
    prompts: list[list[int]], count: int, host: bool, page: int
) -> None:
    sent = [Prompt(packed(*prompt), output=2) for prompt in prompts]
    for engine in (Engine(LLAMA, slots=count), Engine(VLLM, page)):
        for place, (prompt, found) in enumerate(zip(prompts, expected_hits(sent, engine), strict=True)):
            most = max((common(one.tokens, packed(*prompt)) for one in sent[:place]), default=0)
            assert (found.prompt, found.shared) == (len(prompt), most)
            assert found.bound == min(most, len(prompt) - 1)
            assert 0 <= found.cached <= found.bound
            if engine.name == VLLM:
                assert found.cached == found.bound // page * page
    slots = LlamaSlots(count, host=host)
    for place, one in enumerate(sent):
        assert slots.serve(one.tokens) <= max((common(o.tokens, one.tokens) for o in sent[:place]), default=0)
