"""The results of a replay beside those of the report that it belongs to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from radixadvisor.errors import UsageError

__all__ = ["last_log", "write_replay"]


def last_log(folder: Path) -> list[str]:
    """The files of the last report.

    Raises:
        UsageError: there is no report, or its log cannot be read a second time.
    """
    from radixadvisor.report.write import REPORT_FILE

    path = folder / REPORT_FILE
    again = "name a log, or run radixadvisor analyze LOG first."
    try:
        files = _files_of(path)
    except OSError as error:
        raise UsageError(f"No log is named, and there is no report at {path}: {again}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"No log is named, and {path} is no report that names one: {again}") from error
    if not files or "-" in files:
        raise UsageError(f"The report at {path} was made from standard input: name a log to replay.")
    return files


def _files_of(path: Path) -> list[str]:
    report: Any = json.loads(path.read_text(encoding="utf-8"))
    return [str(name) for name in report["input"]["files"]]


def write_replay(folder: Path, files: Sequence[str], content: bytes, heading: str, text: str) -> list[Path]:
    """Write replay.json, and the section in the skill report if that is about the same log; the paths.

    Args:
        folder: where both belong.
        files: the log.
        content: replay.json.
        heading, text: the section, which takes the place of one with the same heading.

    Raises:
        OutputError: one cannot be written.
    """
    from radixadvisor.report.replay_json import REPLAY_FILE
    from radixadvisor.report.replay_markdown import placed
    from radixadvisor.report.write import REPORT_FILE, SKILL_FILE, is_example, write_file

    written = [write_file(folder / REPLAY_FILE, content, private=False)]
    skill = folder / SKILL_FILE
    try:
        same = _files_of(folder / REPORT_FILE) == list(files) and skill.is_file()
    except (OSError, ValueError, KeyError, TypeError):
        same = False
    if same and not is_example(skill):
        report = placed(skill.read_text(encoding="utf-8"), heading, text).encode()
        private = not skill.stat().st_mode & 0o044
        written.append(write_file(skill, report, private=private))
    return written
