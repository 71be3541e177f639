"""Damaged examples of every dialect: no traceback, nothing executed, time and memory within bounds.

Two seconds for each example in every run; a minute with ``-m nightly``.
"""

from __future__ import annotations

import gzip
import json
import pickle
import random
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.errors import AdvisorError
from radixadvisor.ingest import no_usable_input, read_log
from radixadvisor.records import Request, Skip
from tests.ingest.forms import FORMS

EXAMPLES = Path(__file__).parents[1] / "data" / "formats"
SHORT, LONG = 2.0, 60.0  # seconds for each example
SLOWEST = 10.0  # seconds for one small log: a hang, whatever the machine
DEEPEST = 40  # keys on the way to a value that is changed
MEMORY = 1 << 30  # bytes that a whole run may take on top of what it started with

HARD: list[Any] = [
    *(
        None,
        True,
        0,
        -1,
        10**400,
        1e308,
        "",
        "x",
        "{}",
        "[]",
        "null",
        "-",
        "\ud800",
        "1e999",
        [],
        {},
        [[]],
        [None],
    ),
    *({"role": "user"}, {"role": 5, "content": {"a": 1}}, "{" * 50, '{"messages": 1}', [{}, [{}]], "9" * 400),
    *(
        {"text": None},
        {"content": [{"type": "image_url"}]},
        "data: {\n\n",
        "YQ==",
        {"kvlistValue": {"values": 3}},
    ),
]


def places(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if len(here) > DEEPEST:
        return [here]
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(place for key, inner in below for place in places(inner, (*here, key)))]


def changed(record: Any, dice: random.Random) -> Any:
    """A record with one value dropped, retyped, nested, encoded or buried."""
    found = [place for place in places(record) if place]
    if not found:
        return dice.choice(HARD)
    place = dice.choice(found)
    holder = record
    for key in place[:-1]:
        holder = holder[key]
    value = holder[place[-1]]
    match dice.randrange(6):
        case 0:
            del holder[place[-1]]
        case 1:
            holder[place[-1]] = dice.choice(HARD)
        case 2:
            holder[place[-1]] = dice.choice([[value], {"x": value}, {"messages": value}, [value, value]])
        case 3:
            holder[place[-1]] = json.dumps(value)
        case 4:
            for _ in range(200):
                value = [value] if dice.random() < 0.5 else {"input": value}
            holder[place[-1]] = value
        case _ if isinstance(value, str):
            holder[place[-1]] = value[: dice.randrange(len(value) + 1)] + dice.choice(
                ["", "'", '"', "\x00", "\ud83d"]
            )
        case _:
            holder[place[-1]] = dice.choice([str(value), float(10**18), -5, [value] * 3])
    return record


def broken(data: bytes, dice: random.Random) -> bytes:
    """Bytes cut, removed, doubled or replaced."""
    at, size = dice.randrange(len(data)), dice.randrange(1, 30)
    match dice.randrange(5):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + data[at + size :]
        case 2:
            return data[:at] + data[at : at + size] * dice.randrange(2, 50) + data[at:]
        case 3:
            return data[:at] + dice.randbytes(size) + data[at + size :]
        case _:
            packed = gzip.compress(data)
            return packed[: dice.randrange(len(packed))]


def doubled(text: str, dice: random.Random) -> str:
    """JSON in which a key stands twice."""
    at = text.find('{"', dice.randrange(len(text)))
    end = text.find('": ', at)
    return text if at < 0 or end < 0 else f"{text[: at + 1]}{text[at + 1 : end + 3]}null, {text[at + 1 :]}"


def mutant(data: bytes, jsonl: bool, dice: random.Random) -> bytes:
    if not jsonl or dice.random() < 0.3:
        return broken(data, dice)
    try:
        records = [json.loads(line) for line in data.splitlines()]
    except ValueError:
        records = [json.loads(data)]
    for _ in range(dice.randrange(1, 4)):
        number = dice.randrange(len(records))
        records[number] = changed(records[number], dice)
    lines = [json.dumps(record) for record in records]
    if dice.random() < 0.2:
        lines = [doubled(line, dice) for line in lines]
    return ("[" + ",".join(lines) + "]" if dice.random() < 0.2 else "\n".join(lines)).encode()


def read_whole(path: Path, form: str | None) -> None:
    began = time.monotonic()
    try:
        log = read_log(path, format=form)
        records = list(log)
    except AdvisorError as refused:
        assert str(refused)
        return
    assert time.monotonic() - began < SLOWEST
    for record in records:
        assert isinstance(record, Request | Skip)
        if isinstance(record, Request):
            prompts = (record.messages, record.text, record.tokens, record.blocks)
            assert sum(prompt is not None for prompt in prompts) == 1
            texts = [record.id, record.model, record.text, *(m.text for m in record.messages or ())]
            json.dumps(texts, ensure_ascii=False).encode()
    if not log.requests:
        assert str(no_usable_input(log))


def attack(name: str, folder: Path, seconds: float) -> None:
    data = (EXAMPLES / name).read_bytes()
    jsonl = name.endswith((".json", ".jsonl"))
    dice = random.Random(name)
    until = time.monotonic() + seconds
    path = folder / name
    while time.monotonic() < until:
        path.write_bytes(mutant(data, jsonl, dice))
        read_whole(path, dice.choice([None, FORMS[name].dialect]))


def peak() -> int:
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


@pytest.mark.parametrize("name", FORMS)
def test_damaged_examples(name: str, tmp_path: Path) -> None:
    before = peak()
    attack(name, tmp_path, SHORT)
    assert peak() - before < MEMORY


@pytest.mark.nightly
@pytest.mark.parametrize("name", FORMS)
def test_damaged_examples_for_long(name: str, tmp_path: Path) -> None:
    before = peak()
    attack(name, tmp_path, LONG)
    assert peak() - before < MEMORY


class Calls:
    """Pickles as a call."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.call


class GenerateReqInput:
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def dumped(*requests: Any) -> bytes:
    return pickle.dumps({"server_args": Calls(print, "called"), "requests": list(requests)})


def test_a_dump_is_read_and_nothing_in_it_is_called(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import os

    mark = tmp_path / "executed"
    obj = GenerateReqInput(rid="r1", text="Hello", input_ids=None, extra=Calls(os.system, f"touch {mark}"))
    meta = {"prompt_tokens": 6, "completion_tokens": 2, "cached_tokens": 4, "e2e_latency": 1.5}
    data = dumped((obj, {"text": "Hi", "meta_info": meta}, 1767225600.0, 1767225601.5), "rubbish")
    path = tmp_path / "dump.pkl"
    for packed in (data, gzip.compress(data)):
        path.write_bytes(packed)
        log = read_log(path)
        records = list(log)
        (request,) = [record for record in records if isinstance(record, Request)]
        assert (request.id, request.text, request.arrival, request.latency) == (
            "r1",
            "Hello",
            1767225600.0,
            1.5,
        )
        assert request.usage and (request.usage.prompt, request.usage.cached) == (6, 4)
        assert log.skips.reasons == {"not a dumped request": 1}
    assert not mark.exists() and "called" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04\x8e" + (2**40).to_bytes(8, "little") + b"x.",  # bytes that are not there
        b"\x80\x04Nr\xff\xff\xff\x7f.",  # a memo of gigabytes
        b"\x80\x04]" + b"\x94h\x00a" * 50 + b".",  # a list within itself
        b"\x80\x04" + b"(" * 100_000 + b".",
        b"\x80\x04" + b"]\x94" * 50_000 + b".",
        pickle.dumps(Calls(exec, "raise SystemExit")),
        pickle.dumps([Calls(eval, "1/0")]),
        pickle.dumps({"requests": [([[[[]]]],)] * 3}),
    ],
)
def test_hostile_pickles_end_soon(data: bytes, tmp_path: Path) -> None:
    before = peak()
    path = tmp_path / "dump.pkl"
    path.write_bytes(data)
    read_whole(path, None)
    assert peak() - before < MEMORY


def test_a_shared_value_does_not_grow_without_bound(tmp_path: Path) -> None:
    value: Any = "x" * 1000
    for _ in range(30):
        value = [value, value]
    path = tmp_path / "dump.pkl"
    path.write_bytes(dumped((GenerateReqInput(text="Hello", bomb=value), {}, 1.0, 2.0)))
    before = peak()
    log = read_log(path)
    assert [record.reason for record in log if isinstance(record, Skip)] == ["not a dumped request"]
    assert peak() - before < MEMORY


def test_a_gzip_bomb_stays_in_bounds(tmp_path: Path) -> None:
    line = (
        b'{"type": "user", "sessionId": "s", "message": {"role": "user", "content": "'
        + b"x" * (1 << 24)
        + b'"}}\n'
    )
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(line * 3, compresslevel=1))
    before = peak()
    read_whole(path, None)
    assert peak() - before < MEMORY
