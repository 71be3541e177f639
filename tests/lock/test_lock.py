"""A lock is the same for every sample of the same traffic, and fails when a prefix changes, saying where."""

from __future__ import annotations

import json
import random
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from radixadvisor.analysis import AnalyzeOptions, open_trace
from radixadvisor.analysis.lock.compare import Comparison, compare
from radixadvisor.analysis.lock.file import Lock, Locked, read_lock
from radixadvisor.analysis.lock.measured import find_applications, lock_of
from radixadvisor.analysis.lock.prefixes import Prefix, Section, prefix_hash
from radixadvisor.cli import main
from radixadvisor.errors import UsageError
from radixadvisor.report.lock import to_toml
from radixadvisor.trace import Trace
from tests.lock.traffic import Row, Template, template, traffic, written


def opened(path: Path) -> Trace:
    return open_trace([str(path)], AnalyzeOptions())[0]


def locked(path: Path) -> Lock:
    return lock_of(find_applications(opened(path)))


def compared(lock: Lock, path: Path) -> Comparison:
    trace = opened(path)
    return compare(trace, lock, find_applications(trace))


def test_a_prefix_is_what_every_prompt_begins_with(tmp_path: Path) -> None:
    made = template(1, tools=3)
    path = written(tmp_path / "log.jsonl", traffic(made, 1, conversations=12))
    trace = opened(path)
    (item,) = locked(path).applications
    hashes = {prefix_hash(trace, index, item.prefix.tokens) for index in range(len(trace.requests))}
    assert hashes == {item.prefix.hash}
    # What follows is each conversation's own: no longer prefix is shared.
    firsts = [index for index in range(len(trace.requests)) if trace.requests[index].id.endswith("-0")]
    assert len({prefix_hash(trace, index, item.prefix.tokens + 4) for index in firsts}) > 1
    assert [section.label for section in item.prefix.sections if section.label] == [
        f"tool_1_{number}" for number in range(3)
    ]
    assert item.tools == ("tool_1_0", "tool_1_1", "tool_1_2")


@pytest.mark.parametrize("named", [True, False])
def test_another_sample_of_the_same_templates_gives_the_same_file(tmp_path: Path, named: bool) -> None:
    chat, agent, few_shot = template(1), template(2, tools=4), template(3, preamble=12)
    files = []
    for seed in range(5):
        parts = [
            traffic(chat, seed, conversations=8 + seed, app="chat" if named else None, named=named),
            traffic(agent, seed + 50, conversations=9, turns=4, named=named),
            traffic(few_shot, seed + 90, conversations=20 - seed, turns=1, named=named),
        ]
        random.Random(seed).shuffle(parts)
        files.append(to_toml(locked(written(tmp_path / f"{seed}.jsonl", *parts))))
    assert len(set(files)) == 1
    assert len(tomllib.loads(files[0])["application"]) == 3


def test_the_static_part_of_user_turns_is_locked_where_many_conversations_show_it(tmp_path: Path) -> None:
    made = template(3, preamble=12)
    many = locked(written(tmp_path / "many.jsonl", traffic(made, 1, conversations=15)))
    few = locked(written(tmp_path / "few.jsonl", traffic(made, 2, conversations=4)))
    places = {section.place for section in many.applications[0].prefix.sections}
    assert places == {"messages[0].content", "messages[1].content"}
    assert {section.place for section in few.applications[0].prefix.sections} == {"messages[0].content"}
    for lock, name in ((many, "few.jsonl"), (few, "many.jsonl")):
        (item,) = compared(lock, tmp_path / name).compared
        assert item.holds


def test_odd_requests_do_not_shorten_a_prefix(tmp_path: Path) -> None:
    made = template(1)
    rows = traffic(made, 1, conversations=40, turns=1)
    base = locked(written(tmp_path / "a.jsonl", rows)).applications[0].prefix
    rows[17]["messages"][0]["content"] = "Debug. " + made.system
    assert locked(written(tmp_path / "b.jsonl", rows)).applications[0].prefix == base


def test_what_varies_within_a_conversation_is_not_static(tmp_path: Path) -> None:
    made = template(1)
    rows = traffic(made, 1, conversations=10, turns=3)
    for row in rows:
        turn = row["request_id"].rpartition("-")[2]
        row["messages"][0]["content"] = made.system + f"\n\n## Memory\nitems: {turn}\n"
    (item,) = locked(written(tmp_path / "a.jsonl", rows)).applications
    bare = locked(written(tmp_path / "b.jsonl", traffic(made, 1, conversations=10, turns=3))).applications[0]
    assert bare.prefix.tokens - 10 <= item.prefix.tokens <= bare.prefix.tokens + 10


EDITS = {
    "clock in front": lambda made, rng: f"Time: {rng.random()}\n{made.system}",
    "a line changed": lambda made, rng: made.system.replace(made.sections[2][2], "- Another line."),
    "a line added": lambda made, rng: made.system.replace(
        made.sections[1][3], "- New.\n" + made.sections[1][3]
    ),
    "a section dropped": lambda made, rng: Template(made.sections[:2] + made.sections[3:]).system,
    "sections exchanged": lambda made, rng: Template(made.sections[::-1]).system,
    "white space": lambda made, rng: made.system.replace(made.sections[3][1], made.sections[3][1] + " "),
    "sections in several orders": lambda made, rng: (
        Template(rng.sample(made.sections, len(made.sections))).system
    ),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("seed", range(3))
def test_a_changed_prefix_fails_and_is_placed(edit: str, seed: int, tmp_path: Path) -> None:
    made, other = template(seed, tools=seed), template(seed + 20)
    base = locked(written(tmp_path / "a.jsonl", traffic(made, 1), traffic(other, 2))).applications
    rows = traffic(made, 3, conversations=9, system=lambda rng: EDITS[edit](made, rng))
    found = compared(Lock(base), written(tmp_path / "b.jsonl", rows, traffic(other, 4)))
    assert not found.vanished
    assert [item.holds for item in found.compared].count(False) == 1
    (broken,) = [item for item in found.compared if not item.holds]
    assert broken.locked.prefix.tokens == max(item.prefix.tokens for item in base if item == broken.locked)
    assert broken.place.startswith("section ")
    assert broken.shared_tokens is not None and broken.shared_tokens < broken.locked.prefix.tokens
    trace = opened(tmp_path / "b.jsonl")
    index = next(i for i, request in enumerate(trace.requests) if request.source == broken.source)
    before = opened(tmp_path / "a.jsonl")
    same = next(i for i, request in enumerate(before.requests) if request.id == "1-0-0")
    # The place is exact to a line: up to there the prompts agree, and they part within the next tokens.
    one, two = trace.prompt(index), before.prompt(same)
    agree = next(at for at in range(0, len(one), 4) if one[at : at + 4] != two[at : at + 4]) // 4
    assert broken.shared_tokens <= agree <= broken.shared_tokens + 60


def test_a_place_names_section_line_and_what_became_of_the_rest(tmp_path: Path) -> None:
    made = template(1, sections=4)
    base = locked(written(tmp_path / "a.jsonl", traffic(made, 1)))

    def changed(edit: str) -> str:
        rows = traffic(made, 3, system=lambda rng: EDITS[edit](made, rng))
        (item,) = compared(base, written(tmp_path / "b.jsonl", rows)).compared
        return "; ".join([item.place, *item.changes])

    assert "section 3 of 4 (messages[0].content), line 3; changed: section 3" in changed("a line changed")
    assert changed("a section dropped").endswith("; gone: section 3")
    assert "another order: 4 3 2 1" in changed("sections exchanged")


def test_a_tool_that_changes_is_named(tmp_path: Path) -> None:
    made = template(1, tools=4)
    base = locked(written(tmp_path / "a.jsonl", traffic(made, 1)))
    made.tools[2]["function"]["description"] = "Another."
    (item,) = compared(base, written(tmp_path / "b.jsonl", traffic(made, 2))).compared
    assert not item.holds
    assert "tools[2], tool tool_1_2" in item.place


def test_applications_are_recognised_by_name_tools_or_lines(tmp_path: Path) -> None:
    first, second, third = template(1), template(2, tools=4), template(3)
    old = written(tmp_path / "a.jsonl", traffic(first, 1, app="named"), traffic(second, 2), traffic(third, 3))
    rewritten = template(77)
    new = written(
        tmp_path / "b.jsonl",
        traffic(rewritten, 11, app="named"),
        traffic(Template(template(78).sections, second.tools), 12),
        traffic(Template([["## New", "- first."], *third.sections]), 13),
    )
    found = compared(locked(old), new)
    assert [item.holds for item in found.compared] == [False] * 3
    assert (found.vanished, found.new) == ((), ())


def test_one_rewritten_as_a_whole_is_compared_with_what_took_its_place(tmp_path: Path) -> None:
    kept, gone = template(1), template(2)
    base = locked(written(tmp_path / "a.jsonl", traffic(kept, 1), traffic(gone, 2)))
    found = compared(base, written(tmp_path / "b.jsonl", traffic(kept, 3), traffic(template(55), 4)))
    assert sorted(item.holds for item in found.compared) == [False, True]


def test_new_and_vanished_applications_are_told(tmp_path: Path) -> None:
    one, two, three = template(1), template(2), template(3, tools=2)
    base = locked(written(tmp_path / "a.jsonl", traffic(one, 1), traffic(two, 2)))
    fewer = compared(base, written(tmp_path / "b.jsonl", traffic(one, 3)))
    assert (len(fewer.compared), len(fewer.vanished), len(fewer.new)) == (1, 1, 0)
    more = compared(base, written(tmp_path / "c.jsonl", traffic(one, 3), traffic(two, 4), traffic(three, 5)))
    assert (len(more.compared), len(more.vanished), len(more.new)) == (2, 0, 1)
    assert all(item.holds for item in (*fewer.compared, *more.compared))


def test_a_single_request_is_enough_to_compare(tmp_path: Path) -> None:
    made = template(1)
    base = locked(written(tmp_path / "a.jsonl", traffic(made, 1)))
    one = traffic(made, 5, conversations=1, turns=1)
    assert [item.holds for item in compared(base, written(tmp_path / "b.jsonl", one)).compared] == [True]
    one[0]["messages"][0]["content"] += "!"
    (item,) = compared(base, written(tmp_path / "b.jsonl", one)).compared
    assert (item.holds, item.now_tokens) == (False, None)


def test_prompts_logged_as_text_are_locked_too(tmp_path: Path) -> None:
    made = template(4)

    def rows(seed: int, head: str) -> list[Row]:
        return [
            {
                "id": f"{seed}-{number}",
                "model": "qwen2.5-7b-instruct",
                "prompt": f"{head}\n\nQ: {seed} {number}",
            }
            for number in range(10)
        ]

    base = locked(written(tmp_path / "a.jsonl", rows(1, made.system)))
    assert len(base.applications) == 1
    assert [
        i.holds for i in compared(base, written(tmp_path / "b.jsonl", rows(2, made.system))).compared
    ] == [True]
    edited = made.system.replace("Part 2", "Part two")
    (item,) = compared(base, written(tmp_path / "c.jsonl", rows(3, edited))).compared
    assert not item.holds
    assert "(prompt), line 1" in item.place


TEXT = st.text(max_size=30)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.tuples(TEXT, TEXT, st.lists(TEXT, max_size=3)), min_size=1, max_size=4))
def test_any_names_survive_the_file(names: list[tuple[str, str, list[str]]], tmp_path: Path) -> None:
    prefix = Prefix(20, "ab", (Section("tools[0]", names[0][0], 20, ("a1", "b2")),))
    lock = Lock(
        tuple(Locked(name, model, "t", "c", "h", tuple(tools), prefix) for name, model, tools in names)
    )
    path = tmp_path / "x.lock"
    path.write_text(to_toml(lock), encoding="utf-8")
    back = read_lock(path)
    assert [item.model for item in back.applications] == [model for _, model, _ in names]
    assert to_toml(back) == to_toml(lock)


def test_a_lock_holds_no_word_of_a_prompt(tmp_path: Path) -> None:
    made = template(9, preamble=12)
    made.sections[0].append("- The marmalade is kept in the crocodile.")
    rows = traffic(made, 1, conversations=12)
    text = to_toml(locked(written(tmp_path / "a.jsonl", rows)))
    words = {word for line in made.system.split() for word in [line.strip(".-#")] if len(word) > 4}
    assert "marmalade" in words
    assert not [word for word in words if word in text]


def test_the_command_writes_what_check_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = written(tmp_path / "a.jsonl", traffic(template(1), 1, app="desk"))
    lock = tmp_path / "prefix.lock"
    assert main(["lock", str(log), "-o", str(lock)]) == 0
    assert "desk" in capsys.readouterr().out
    first = lock.read_bytes()
    assert main(["lock", str(log), "-o", str(lock), "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["schema"] == "radixadvisor/lock/1"
    assert body["application"] == tomllib.loads(first.decode())["application"]
    assert lock.read_bytes() == first
    assert main(["lock", str(log), "-o", str(lock), "--quiet"]) == 0
    shown = capsys.readouterr()
    assert shown.out.count("\n") == 1
    assert shown.err == ""
    assert main(["check", str(log), "--lock", str(lock), "--quiet"]) == 0


def test_nothing_to_lock_is_no_lock(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = written(tmp_path / "a.jsonl", traffic(template(1), 1, conversations=2))
    assert main(["lock", str(log), "-o", str(tmp_path / "p.lock")]) == 3
    assert "fewer than 3 conversations" in capsys.readouterr().err
    assert not (tmp_path / "p.lock").exists()
    assert main(["lock", str(log), "-o", str(log)]) == 2
    assert "is the log itself" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [
        "",
        "schema = 1",
        'schema = "radixadvisor/lock/9"',
        "= broken",
        'schema = "radixadvisor/lock/1"\napplication = []',
        'schema = "radixadvisor/lock/1"\n[[application]]\nmodel = 3',
        '{"schema": "radixadvisor/lock/1"}',
    ],
)
def test_other_files_are_refused_in_one_sentence(content: str, tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    path.write_text(content)
    with pytest.raises(UsageError, match=r"x\.lock .*lock"):
        read_lock(path)
