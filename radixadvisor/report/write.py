"""Result files: each written whole to a temporary file beside its place and renamed over it.

Files that hold text from prompts can be read by their owner alone (0600); the others follow the umask.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from radixadvisor.errors import OutputError
from radixadvisor.paths import replacing
from radixadvisor.report.json import to_json
from radixadvisor.report.markdown import EXAMPLE_MARK, SKILL_NAME, to_markdown
from radixadvisor.results import Analysis

__all__ = [
    "DEFAULT_OUT",
    "REPORT_FILE",
    "SKILL_FILE",
    "Written",
    "is_example",
    "require_other",
    "require_writable",
    "skill_path",
    "write_file",
    "write_reports",
]

DEFAULT_OUT = Path("outputs")
REPORT_FILE = "report.json"
SKILL_FILE = "skill-radix-scheduler-advisor.md"


@dataclass(frozen=True, slots=True)
class Written:
    """The files that were written, and the example that was kept instead of being overwritten, if any."""

    paths: tuple[Path, ...]
    kept: Path | None


def write_reports(
    analysis: Analysis, out: Path | None, *, skills: Path | None = None, example: bool = False
) -> Written:
    """Write report.json and the skill report into ``out``, and the latter as a skill folder into ``skills``.

    Without an explicit folder they go to ``./outputs``; a skill report there that is marked as a repository's
    example stays as it is, so that no ordinary run changes a committed file. ``example`` writes that mark.

    Raises:
        OutputError: the folder or a file in it cannot be written.
    """
    folder = DEFAULT_OUT if out is None else out
    private = any(branch.excerpt for branch in analysis.branches)
    report = write_file(folder / REPORT_FILE, to_json(analysis), private=private)
    skill = folder / SKILL_FILE
    content = to_markdown(analysis, example=example).encode()
    paths = [report]
    if skills is not None:
        paths.append(write_file(skill_path(skills), content, private=private))
    if out is None and is_example(skill) and not example:
        return Written(tuple(paths), skill)
    return Written((*paths, write_file(skill, content, private=private)), None)


def skill_path(folder: Path) -> Path:
    """Where the Agent Skills format has a skill: in a folder of its name, with the file ``SKILL.md``.

    ``folder`` is the one of that name, or the one that holds all skills.
    """
    own = folder if folder.name == SKILL_NAME else folder / SKILL_NAME
    return own / "SKILL.md"


def write_file(path: Path, content: bytes, *, private: bool) -> Path:
    """Replace ``path`` by ``content`` in one step, making its folder if need be.

    Raises:
        OutputError: with the reason that the system gives.
    """
    with replacing(path, private=private) as temporary:
        temporary.write_bytes(content)
    return path


def require_writable(folder: Path) -> None:
    """Say at once, not after a long analysis, that results could not be written; creates nothing.

    Raises:
        OutputError: ``folder``, or the nearest folder above it that exists, is not a writable folder.
    """
    existing = folder.absolute()
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir():
        raise OutputError(
            f"Cannot write to {folder}: {existing} is not a folder. Choose another one with --out DIR."
        )
    if not os.access(existing, os.W_OK | os.X_OK):
        raise OutputError(f"Cannot write to {folder}: no permission. Choose another folder with --out DIR.")


def require_other(path: Path, inputs: Iterable[Path]) -> None:
    """Keep a result from taking the place of the log that it is made from.

    Raises:
        OutputError: ``path`` is one of the input files.
    """
    if path.exists() and any(name.exists() and path.samefile(name) for name in inputs):
        raise OutputError(f"{path} is the log itself: name another file to write.")


def is_example(path: Path) -> bool:
    """Whether a skill report is the example that a repository keeps."""
    try:
        head = path.read_text(encoding="utf-8", errors="replace")[:4096]
    except OSError:
        return False
    front = head.split("\n---", 1)[0]
    return any(line.strip() == EXAMPLE_MARK for line in front.splitlines())
