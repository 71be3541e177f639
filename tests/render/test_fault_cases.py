"""Known rates of small logs, rendered as Qwen2.5 and counted with a plain trie: exact to the token."""

from __future__ import annotations

import json
from pathlib import Path

from radixadvisor.ingest import read_log
from radixadvisor.tokens.engine import choose, encode_prompt_text, unpack


def computed_and_total(path: Path) -> tuple[int, int]:
    """Tokens that an unlimited cache must compute, and all prompt tokens."""
    choice = choose("qwen2.5-7b")
    nodes: dict[tuple[int, int], int] = {}
    total = 0
    for request in read_log(path):
        node = -1
        text = "".join(
            piece.text
            for group in choice.renderer.groups(request)
            for piece in choice.renderer.pieces(request, group)
        )
        for token in unpack(encode_prompt_text(choice.tokenizer, text)):
            node = nodes.setdefault((node, token), len(nodes))
            total += 1
    return len(nodes), total


def test_rates_are_those_stated_with_the_logs(shared: Path) -> None:
    checked = 0
    for stated in sorted((shared / "cases").glob("*.expect.json")):
        exact = json.loads(stated.read_text(encoding="utf-8"))["exact"].get("prompts_only_page1", {})
        for state, ending in (("before", ".jsonl"), ("after", ".fixed.jsonl")):
            if state not in exact:
                continue
            log = stated.with_name(stated.name.replace(".expect.json", ending))
            computed, total = computed_and_total(log)
            assert round(1 - computed / total, 6) == exact[state], (log.name, computed, total)
            assert exact.get(f"computed_{state}", computed) == computed, log.name
            checked += 1
    assert checked >= 29
