"""What every edit keeps: turns, roles, tool calls and their results; and that twice is once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from radixadvisor.diagnose.candidate import Candidate
from radixadvisor.diagnose.view import LogView
from radixadvisor.prescribe.edits import EDITS, LOG_EDITS, apply_edit
from radixadvisor.prescribe.edits.text import append_block, replaced
from radixadvisor.records import CacheControl, EditSpec, Message, Part, Request
from tests.diagnose.seen import FAULTS, faulty_view, view_of

CASES = ("01", "02", "05", "06", "08", "09", "10", "12", "13", "15", "17", "18", "31")
SHORTENING = {"trim_in_batches"}
"""Edits that leave out or bring back turns at the front, in one piece; the rest of the turns stays."""


def edits_of(candidates: Iterable[Candidate]) -> list[EditSpec]:
    return [found.edit for found in candidates if found.edit is not None]


def shape(request: Request) -> list[tuple[object, ...]]:
    """Turns as roles, calls and ids: what an edit must not touch."""
    return [
        (message.role, tuple((call.id, call.name) for call in message.tool_calls), message.tool_call_id)
        for message in request.messages or ()
    ]


def words(request: Request) -> Counter[str]:
    return Counter(word for message in request.messages or () for word in message.text.split())


def value(request: Request) -> tuple[object, ...]:
    tools = request.tools.tools if request.tools is not None else ()
    return (
        [(message.text, message.reasoning, message.tool_calls) for message in request.messages or ()],
        [tool.raw for tool in tools],
        shape(request),
    )


def hold(view: LogView, spec: EditSpec) -> None:
    for cluster in spec.clusters:
        before = [view.request(index) for index in view.clusters[cluster].requests]
        once = apply_edit(before, spec)
        again = apply_edit(once, spec)
        assert [value(request) for request in again] == [value(request) for request in once], spec.kind
        for old, new in zip(before, once, strict=True):
            kept = shape(new)
            assert new.id == old.id
            assert new.output is old.output
            if spec.kind == "pin_message":
                assert [turn for turn in kept if turn[0] != "system"] == [
                    turn for turn in shape(old) if turn[0] != "system"
                ]
                assert Counter(kept) == Counter(shape(old))
            elif spec.kind in SHORTENING:
                assert shape(old)[-len(kept) + 1 :] == kept[1:]
            else:
                assert kept == shape(old)


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_edits_of_generated_faults(name: str) -> None:
    view, candidates = faulty_view(name)
    assert candidates
    for spec in edits_of(candidates):
        hold(view, spec)


@pytest.mark.parametrize("number", CASES)
def test_edits_of_cases(number: str, shared: Path) -> None:
    (path,) = [path for path in (shared / "cases").glob(f"{number}-*.jsonl") if ".fixed" not in path.name]
    view, candidates = view_of(path, "qwen2.5")
    assert candidates
    for spec in edits_of(candidates):
        hold(view, spec)


@pytest.mark.parametrize("kind", ["move_block", "pin_front", "reorder_blocks", "sort_items"])
def test_moving_loses_no_word(kind: str) -> None:
    seen = 0
    for name in FAULTS:
        view, candidates = faulty_view(name)
        for spec in [spec for spec in edits_of(candidates) if spec.kind == kind]:
            before = [view.request(index) for c in spec.clusters for index in view.clusters[c].requests]
            for old, new in zip(before, apply_edit(before, spec), strict=True):
                assert not words(old) - words(new)
                assert set(words(new) - words(old)) <= {"<context>", "</context>"}
                seen += new is not old
    assert seen


def test_every_edit_has_a_name_of_its_own() -> None:
    assert not set(EDITS) & set(LOG_EDITS)


def message_of_parts() -> Message:
    mark = CacheControl("1h")
    return Message("system", (Part("text", "head"), Part("text", "middle", mark), Part("text", "tail")))


@pytest.mark.parametrize(
    ("span", "texts"),
    [
        ((0, 5), ["middle", "tail"]),
        ((0, 4), ["middle", "tail"]),
        ((6, 8), ["head", "mdle", "tail"]),
        ((2, 14), ["he", "il"]),
        ((0, 16), [""]),
    ],
)
def test_cutting_keeps_parts_and_their_breakpoints(span: tuple[int, int], texts: list[str]) -> None:
    content = replaced(message_of_parts(), *span, "").content
    assert isinstance(content, tuple)
    assert [part.text for part in content] == texts
    assert all(part.cache_control is not None for part in content if part.text.startswith("m"))


def test_a_replacement_goes_into_the_part_where_it_starts() -> None:
    changed = replaced(message_of_parts(), 5, 11, "new")
    assert changed.text == "head\nnew\ntail"
    assert changed.cache_control == CacheControl("1h")


def test_a_block_is_labelled_unless_it_is_tagged() -> None:
    plain = append_block(Message("user", "Why?"), "\nIt is noon.\n")
    tagged = append_block(Message("user", "Why?"), "<memory>\n- tea\n</memory>")
    assert plain.text == "Why?\n\n<context>\nIt is noon.\n</context>"
    assert tagged.text == "Why?\n\n<memory>\n- tea\n</memory>"
