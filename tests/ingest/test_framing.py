"""Lines, arrays and values in any layout: the same records, whatever the chunks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radixadvisor.ingest.framing import Frame, values
from tests.ingest.reading import read_bytes

REQUESTS = [{"messages": [{"role": "user", "content": f'{n} "}}]{{[\\'}]} for n in range(60)]
PARTS = [json.dumps(request).encode() for request in REQUESTS]
EXPECTED = [f'{n} "}}]{{[\\' for n in range(60)]


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def pretty(value: Any, indent: int | None) -> bytes:
    return json.dumps(value, indent=indent).encode()


@pytest.mark.parametrize(
    ("layout", "data", "places"),
    [
        ("lines", b"\n".join(PARTS), range(1, 61)),
        ("array on one line", pretty(REQUESTS, None), range(1, 61)),
        ("array over lines", pretty(REQUESTS, 2), range(1, 61)),
        ("array without indent", pretty(REQUESTS, 0), range(1, 61)),
        ("array with one element a line", b"[\n" + b",\n".join(PARTS) + b"\n]\n", range(1, 61)),
        ("array after blank lines", b"\r\n \r\n" + pretty(REQUESTS, None), range(1, 61)),
        ("objects over lines", b"\n".join(pretty(item, 2) for item in REQUESTS), range(1, 60 * 8, 8)),
        ("objects without indent", b"\n".join(pretty(item, 0) for item in REQUESTS), range(1, 60 * 8, 8)),
        ("objects on one line", b"".join(PARTS), [1] * 60),
        ("several objects a line", b"\n".join(PARTS[0] + b" " + PARTS[1] for _ in range(2)), None),
        ("a list a line", b"\n".join(b"[" + part + b"]" for part in PARTS), range(1, 61)),
        ("record separators", b"".join(b"\x1e" + part + b"\n" for part in PARTS), range(1, 61)),
    ],
)
def test_every_layout(tmp_path: Path, layout: str, data: bytes, places: Any) -> None:
    read = read_bytes(tmp_path, data)
    found = [request.messages[0].content for request in read.requests if request.messages]
    assert not read.skips
    assert found == (EXPECTED if places is not None else EXPECTED[:2] * 2)
    if places is not None:
        assert [request.source.line for request in read.requests] == list(places)


def test_a_file_that_is_one_conversation(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    for indent in (None, 2):
        (request,) = read_bytes(tmp_path, pretty(turns, indent)).requests
        assert request.messages and [message.content for message in request.messages] == ["a", "b"]
    read = read_bytes(tmp_path, b"\n".join([pretty(turns, None)] * 3))
    assert len(read.requests) == 3


def test_elements_that_are_no_objects_are_counted(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, b'[1, "two", ' + PARTS[0] + b", null, [3]]")
    assert [request.source.line for request in read.requests] == [3]
    assert [(skip.source.line, skip.reason) for skip in read.skips] == [
        (1, "not an object"),
        (2, "not an object"),
        (4, "not an object"),
        (5, "not an object"),
    ]


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_cut_in_the_middle(tmp_path: Path, indent: int | None) -> None:
    data = pretty(REQUESTS, indent)
    read = read_bytes(tmp_path, data[: len(data) // 2])
    assert 25 <= len(read.requests) <= 30
    assert [skip.reason for skip in read.skips] == ["input ends too early"]
    assert read.skips[0].source.line == len(read.requests) + 1


def test_reading_goes_on_after_an_object_that_never_closes(tmp_path: Path) -> None:
    parts = [pretty(item, 2) for item in REQUESTS[:5]]
    parts[2] = parts[2][: len(parts[2]) // 2]
    read = read_bytes(tmp_path, b"\n".join(parts))
    assert [request.messages[0].content for request in read.requests if request.messages] == [
        EXPECTED[n] for n in (0, 1, 3, 4)
    ]
    assert [(skip.reason, skip.source.line) for skip in read.skips] == [("not valid JSON", 17)]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
objects = st.lists(st.dictionaries(st.text(max_size=6), json_values, max_size=4), max_size=6)


@settings(max_examples=120, deadline=None)
@given(objects, st.integers(1, 40), st.sampled_from([None, 0, 2]), st.booleans())
def test_chunks_do_not_matter(items: list[Any], size: int, indent: int | None, ascii_only: bool) -> None:
    parts = [json.dumps(item, indent=indent, ensure_ascii=ascii_only).encode() for item in items]
    array = json.dumps(items, indent=indent, ensure_ascii=ascii_only).encode()
    for data, is_array in ((b"\n".join(parts), False), (array, True)):
        found = list(values(cut(data, size), array=is_array))
        assert [json.loads(frame.data) for frame in found] == items
        assert all(frame.fault is None for frame in found)


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=200) | st.text('{}[]",:\\ \n1a', max_size=120).map(str.encode),
    st.integers(1, 30),
    st.booleans(),
)
def test_any_bytes_end_and_chunks_do_not_matter(data: bytes, size: int, array: bool) -> None:
    def kept(frames: Iterator[Frame]) -> list[tuple[int, bytes, str | None]]:
        return [(frame.line, frame.data, frame.fault) for frame in frames]

    assert kept(values(cut(data, size), array=array)) == kept(values(iter([data]), array=array))
