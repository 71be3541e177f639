"""``python -m tests.update_readme``: bring README, docs and the committed example up to date."""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path

from radixadvisor.analysis import analyze
from radixadvisor.cli import main
from radixadvisor.report.markdown import to_markdown
from radixadvisor.report.write import SKILL_FILE

REPOSITORY = Path(__file__).resolve().parents[1]
README = REPOSITORY / "README.md"
EXERCISES = REPOSITORY / "docs" / "exercises.md"
EXAMPLE = REPOSITORY / "outputs" / SKILL_FILE
SAMPLE = "samples/mixed-apps.jsonl"
SHOWN = re.compile(r"^```\n\$ radixadvisor (.*)\n((?:.*\n)*?)```$", flags=re.MULTILINE)


def printed(arguments: str) -> str:
    """What a command line prints on standard output, 80 columns wide; its files go nowhere."""
    shown = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(REPOSITORY),
        contextlib.redirect_stdout(shown),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        code = main(["--out", folder, *arguments.split()])
    if code:
        raise RuntimeError(f"radixadvisor {arguments} ends with {code}")
    shown.seek(0)
    return shown.read()


def updated(readme: str) -> str:
    """A page with every shown command's present output."""
    os.environ["COLUMNS"] = "80"
    return SHOWN.sub(lambda block: f"```\n$ radixadvisor {block[1]}\n{printed(block[1])}```", readme)


def example() -> str:
    """The skill report of a sample, marked as an example."""
    with contextlib.chdir(REPOSITORY):
        return to_markdown(analyze([SAMPLE]), example=True)


if __name__ == "__main__":
    EXAMPLE.write_text(example(), encoding="utf-8")
    for page in (README, EXERCISES):
        page.write_text(updated(page.read_text(encoding="utf-8")), encoding="utf-8")
