"""Fault logs with exact numbers: rendering, tokenization, outputs and the tree, all held to the token."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from radixadvisor.analysis import AnalyzeOptions, open_trace
from radixadvisor.measure.hits import matches, prompt_matches
from radixadvisor.measure.walks import walk


def computed(path: Path) -> dict[str, tuple[int, float]]:
    """Computed tokens and hit rate at page 1 under the Qwen2.5 template, by whether outputs are cached."""
    trace, _ = open_trace([str(path)], AnalyzeOptions(tokenizer="qwen2.5"))
    lengths = np.array([trace.lengths[index] for index in trace.order])
    walks = walk(trace.prompts(), [trace.outputs[index][:-4] for index in trace.order])
    found = {"prompts_only_page1": prompt_matches(walks), "with_outputs_page1": matches(walks)}
    total = int(lengths.sum())
    return {name: (total - int(hits.sum()), int(hits.sum()) / total) for name, hits in found.items()}


def test_every_case_measures_what_it_says(shared: Path) -> None:
    checked = 0
    for path in sorted((shared / "cases").glob("*.expect.json")):
        expected = json.loads(path.read_text())["exact"]
        stem = path.name.removesuffix(".expect.json")
        for moment, file in (("before", f"{stem}.jsonl"), ("after", f"{stem}.fixed.jsonl")):
            if not (path.parent / file).is_file() or "prompts_only_page1" not in expected:
                continue
            measured = computed(path.parent / file)
            for way, numbers in expected.items():
                tokens, rate = measured[way]
                assert rate == pytest.approx(numbers[moment], abs=5e-7), (file, way)
                assert tokens == numbers.get(f"computed_{moment}", tokens), (file, way)
                checked += 1
    assert checked > 40
