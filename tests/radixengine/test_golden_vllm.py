"""The block cache against vLLM's own: the matched length of each request of two traces."""

from __future__ import annotations

import gzip
import json
from array import array
from functools import cache
from pathlib import Path

import pytest
from radixengine.blocks import BlockCache
from radixengine.cache import Sequence
from radixengine.serial import serve

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
FILES = sorted(GOLDEN.glob("*.vllm-*.txt"))


@cache
def _trace(name: str) -> list[tuple[bytes, bytes]]:
    with gzip.open(GOLDEN / f"{name}.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    return [(array("i", row["tokens"]).tobytes(), array("i", row["output"]).tobytes()) for row in rows]


def test_all_files_are_here() -> None:
    assert len(FILES) == 8


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_matched_lengths_line_for_line(file: Path) -> None:
    trace, block, blocks = file.name.split(".vllm-0.33.0.")[0], 16, int(file.stem.rsplit("blocks", 1)[1])
    cache = BlockCache(blocks, block)
    printed = []
    for served in serve(cache, (Sequence(rid, *request) for rid, request in enumerate(_trace(trace)))):
        printed.append(str(served.matched) if served.complete else f"OOM {served.matched}")
        if served.rid % 100 == 0:
            cache.audit()
    cache.audit()
    assert printed == file.read_text().splitlines()


def test_the_copies_are_the_reference_files(shared: Path) -> None:
    for name in {file.name for file in (shared / "golden").glob("*.vllm-*")}:
        assert (GOLDEN / name).read_bytes() == (shared / "golden" / name).read_bytes(), name
    for trace in ("trace-11", "trace-12"):
        with gzip.open(GOLDEN / f"{trace}.jsonl.gz") as copy:
            assert copy.read() == (shared / "golden" / f"{trace}.jsonl").read_bytes()
