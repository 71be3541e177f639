"""The order trap on real data: the same tools before the question, and behind it as text."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from radixadvisor.analysis import AnalyzeOptions, analyze

README = Path(__file__).resolve().parents[1] / "README.md"


def tools_last(request: dict[str, Any]) -> dict[str, Any]:
    """The request with its tools as text behind the question."""
    tools = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in request["tools"])
    *before, question = request["messages"]
    moved = {**question, "content": f"{question['content']}\n\n{tools}"}
    return {**{key: value for key, value in request.items() if key != "tools"}, "messages": [*before, moved]}


def tools_last_log(shared: Path, folder: Path) -> tuple[Path, Path]:
    """Real requests with their tools before the question, and the same with the tools behind it."""
    first = shared / "data" / "logs" / "bfcl_live_multiple.jsonl.gz"
    last = folder / "tools-last.jsonl"
    with gzip.open(first, "rt", encoding="utf-8") as lines, last.open("w", encoding="utf-8") as out:
        for line in lines:
            out.write(json.dumps(tools_last(json.loads(line))) + "\n")
    return first, last


def rate(path: Path) -> float:
    return analyze([str(path)], AnalyzeOptions(advice=False)).hits.unlimited.rate


def test_moving_the_tools_behind_the_question_loses_the_cache(shared: Path, tmp_path: Path) -> None:
    first, last = tools_last_log(shared, tmp_path)
    before, after = rate(first), rate(last)
    assert before / after > 20
    quoted = README.read_text(encoding="utf-8")
    assert f"{before:.1%}" in quoted
    assert f"{after:.1%}" in quoted
