"""What every edit of tools and histories keeps: roles, order, calls with their results, and itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radixadvisor.diagnose.turns import canonical, change_of, normal, parting
from radixadvisor.prescribe.edits import LOG_EDITS, apply_edit
from radixadvisor.prescribe.edits.tools import EDITS
from radixadvisor.prescribe.edits.words import words_of
from radixadvisor.records import EditSpec, Message, Request, ToolSet
from tests.diagnose.conversations import opened
from tests.diagnose.habits import FAULTS, HEALTHY

PARAMETERS = {
    "full_catalogue": (("catalogue", json.dumps([["extra", '{"name": "extra"}']])),),
    "freeze_tools": (("frozen", json.dumps({"parcel_0": '{"name": "parcel_0"}'})),),
    "rewrite_in_batches": (("batch", "3"),),
    "trim_in_batches": (("pinned", "2"), ("starts", "assistant,user"), ("step", "5")),
}
KINDS = sorted({*EDITS, *LOG_EDITS})
LOGS = {**FAULTS, **HEALTHY}


@cache
def requests_of(name: str) -> tuple[Request, ...]:
    with TemporaryDirectory() as folder:
        trace = opened(LOGS[name](), Path(folder))
    return tuple(trace.requests[index] for index in trace.order)


def spec(kind: str) -> EditSpec:
    return EditSpec(kind, "review", (0,), PARAMETERS.get(kind, ()))


def said(request: Request) -> tuple[object, ...]:
    """Everything a request holds that could reach a prompt."""
    tools = request.tools.tools if request.tools else ()
    messages = [
        (m.role, m.content, m.tool_calls, m.tool_call_id, m.reasoning) for m in request.messages or ()
    ]
    return (*messages, *[(tool.name, tool.raw) for tool in tools])


def calls_answered(messages: Sequence[Message]) -> bool:
    """Whether each tool result follows the call that it answers."""
    known: set[str | None] = set()
    for message in messages:
        known |= {call.id for call in message.tool_calls}
        if message.role == "tool" and message.tool_call_id not in known:
            return False
    return True


@pytest.mark.parametrize("name", sorted(LOGS))
@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_keeps_what_it_must(kind: str, name: str) -> None:
    before = requests_of(name)
    kept = [said(request) for request in before]
    edited = apply_edit(before, spec(kind))
    assert [said(request) for request in before] == kept
    assert len(edited) == len(before)
    twice = apply_edit(edited, spec(kind))
    assert [said(request) for request in twice] == [said(request) for request in edited]
    for old, new in zip(before, edited, strict=True):
        assert new is old or said(new) != said(old)
        assert (new.id, new.session, new.output, new.parameters) == (
            *(old.id, old.session, old.output, old.parameters),
        )
        turns, changed = old.messages or (), new.messages or ()
        if kind == "replay_prefix":
            assert new is old or changed[-1].role == "user"
            continue
        if kind == "trim_in_batches":
            gone = len(turns) - len(changed)
            assert changed == turns[:2] + turns[2 + gone :]
            assert calls_answered(changed)
            continue
        assert [(message.role, message.tool_call_id) for message in changed] == [
            (message.role, message.tool_call_id) for message in turns
        ]
        assert calls_answered(changed)
        if kind != "full_catalogue":
            assert names(new.tools) == names(old.tools)
        else:
            assert names(old.tools) <= names(new.tools)


def names(tools: ToolSet | None) -> Counter[str]:
    return Counter(tool.name for tool in tools.tools) if tools else Counter()


@pytest.mark.parametrize("kind", KINDS)
def test_every_edit_has_words(kind: str) -> None:
    words = words_of(spec(kind))
    assert words[0].isupper()
    assert not words.endswith(".")


def test_the_same_edit_gives_the_same_requests_from_any_start() -> None:
    """A batch that was trimmed once is trimmed at the same borders when more of the log is seen."""
    whole = requests_of("RA401")
    edited = apply_edit(whole, spec("trim_in_batches"))
    lengths = [len(request.messages or ()) for request in edited]
    assert max(lengths) > min(lengths)

    def moves(requests: Sequence[Request]) -> int:
        """How often the first turn behind the pinned ones is another than before."""
        return sum(
            (new.messages or ())[2:3] != (old.messages or ())[2:3]
            for old, new in pairwise(requests)
            if old.session == new.session
        )

    assert 0 < moves(edited) < moves(whole) / 2


TEXT = st.text(alphabet="ab \n\r\t\u00e9e\u0301", max_size=30)


@given(TEXT, TEXT)
def test_changes_are_named_the_same_from_both_sides(first: str, second: str) -> None:
    old, new = Message("user", first), Message("user", second)
    assert change_of(old, new) == change_of(new, old)
    assert (change_of(old, new) == "none") == (first == second)
    assert (change_of(old, new) == "whitespace") == (first != second and normal(first) == normal(second))


@given(TEXT, TEXT)
def test_texts_agree_up_to_their_parting(first: str, second: str) -> None:
    at = parting(first, second)
    assert first[:at] == second[:at]
    assert first[at : at + 1] != second[at : at + 1] or at == len(first) == len(second)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=60)
@given(JSON, st.randoms(use_true_random=False))
def test_canonical_json_forgets_order_and_spacing_alone(value: object, random: object) -> None:
    def shuffled(part: object) -> object:
        if isinstance(part, dict):
            keys = list(part)
            random.shuffle(keys)  # type: ignore[attr-defined]
            return {key: shuffled(part[key]) for key in keys}
        return [shuffled(item) for item in part] if isinstance(part, list) else part

    text = canonical(json.dumps(value))
    assert canonical(json.dumps(shuffled(value), indent=2)) == text
    assert json.loads(text) == value


def test_a_cut_is_told_from_a_rewrite() -> None:
    text = "The harbor opens at six, and the ferry to the island leaves at seven from the north pier."
    assert change_of(Message("tool", text), Message("tool", text[:60])) == "truncated"
    assert change_of(Message("tool", text[:70] + "..."), Message("tool", text[:60] + "...")) == "truncated"
    assert change_of(Message("tool", text), Message("tool", "[cleared]")) == "rewritten"
    assert change_of(Message("tool", text), Message("tool", text.replace("six", "ten"))) == "rewritten"
