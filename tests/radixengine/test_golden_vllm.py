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

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
FILES = sorted(GOLDEN.glob("*.vllm-*.txt"))


@cache
def _trace(name: str) -> list[tuple[bytes, bytes]]:
    with gzip.open(GOLDEN / f"{name}.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    return [(array("i", row["tokens"]).tobytes(), array("i", row["output"]).tobytes()) for row in rows]


def _serve(cache: BlockCache, seq: Sequence) -> str:
    matched = cache.match(seq).device
    if not cache.allocate(seq, seq.prompt_len - matched):
        cache.unlock(seq)
        return f"OOM {matched}"
    cache.publish(seq)
    steps = max(seq.output_len - 1, 0)
    done = cache.decode(seq, steps)
    cache.finish(seq)
    return str(matched) if done == steps else f"OOM {matched}"


def test_all_files_are_here() -> None:
    assert len(FILES) == 8


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_matched_lengths_line_for_line(file: Path) -> None:
    trace, block, blocks = file.name.split(".vllm-0.33.0.")[0], 16, int(file.stem.rsplit("blocks", 1)[1])
    cache = BlockCache(blocks, block)
    served = []
    for rid, (prompt, output) in enumerate(_trace(trace)):
        served.append(_serve(cache, Sequence(rid, prompt, output)))
        if rid % 100 == 0:
            cache.audit()
    cache.audit()
    assert served == file.read_text().split("\n")[:-1]
