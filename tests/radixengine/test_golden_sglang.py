"""The radix cache against SGLang's own: the matched length of each request, line for line."""

from __future__ import annotations

import gzip
import json
import re
from array import array
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from radixengine.cache import Sequence
from radixengine.radix_cache import RadixCache, RadixProfile
from radixengine.serial import serve
from radixengine.table import RequestTable

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
FILES = sorted(GOLDEN.glob("*.sglang-*.txt"))
NAME = re.compile(r"(trace-\d+)\.sglang-([\d.]+)\.(\w+)\.page(\d+)\.cap(\d+)\.txt")
# Later: evicts only the shortfall, and the upper half of a split keeps its creation time.
VERSIONS = {"0.5.23": True, "0.5.8": False}


def sequences(lines: Iterable[str]) -> list[tuple[bytes, bytes]]:
    rows = [json.loads(line) for line in lines]
    return [(array("i", row["tokens"]).tobytes(), array("i", row["output"]).tobytes()) for row in rows]


@cache
def committed_trace(name: str) -> list[tuple[bytes, bytes]]:
    with gzip.open(GOLDEN / f"{name}.jsonl.gz", "rt") as lines:
        return sequences(lines)


def cache_for(file: Path, table: RequestTable | None = None) -> tuple[str, RadixCache]:
    named = NAME.fullmatch(file.name)
    assert named, file.name
    trace, version, policy, page, capacity = named.groups()
    later = VERSIONS[version]
    profile = RadixProfile(int(page), policy, shortfall=later, inherit_creation=later)
    return trace, RadixCache(int(capacity), profile, table)


def lines(cache: RadixCache, trace: list[tuple[bytes, bytes]]) -> list[str]:
    requests = (Sequence(rid, prompt, output) for rid, (prompt, output) in enumerate(trace))
    printed = []
    for served in serve(cache, requests):
        printed.append(str(served.matched) if served.complete else f"OOM {served.matched}")
        if served.rid % 50 == 0:
            cache.audit([])
    cache.audit([])
    return printed


def test_all_files_are_here() -> None:
    assert len(FILES) == 24


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_matched_lengths_line_for_line(file: Path) -> None:
    trace, radix = cache_for(file)
    assert lines(radix, committed_trace(trace)) == file.read_text().splitlines()


@pytest.mark.parametrize(
    "file", [file for file in FILES if ".cap1000000" not in file.name], ids=lambda f: f.stem
)
def test_real_slots_change_nothing(file: Path) -> None:
    trace, radix = cache_for(file, RequestTable(1, 2048))
    assert lines(radix, committed_trace(trace)) == file.read_text().splitlines()


def test_reference_files_beside_the_repository(shared: Path) -> None:
    files = sorted((shared / "golden").glob("*.sglang-*.txt"))
    assert len(files) >= len(FILES)
    for file in files:
        trace, radix = cache_for(file)
        with (shared / "golden" / f"{trace}.jsonl").open() as source:
            assert lines(radix, sequences(source)) == file.read_text().splitlines(), file.name
