"""``python -m tests.update_readme``: run the commands that the README shows, and put in what they print."""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path

from radixadvisor.cli import main

REPOSITORY = Path(__file__).resolve().parents[1]
README = REPOSITORY / "README.md"
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
    """The README with every shown command's present output."""
    os.environ["COLUMNS"] = "80"
    return SHOWN.sub(lambda block: f"```\n$ radixadvisor {block[1]}\n{printed(block[1])}```", readme)


if __name__ == "__main__":
    README.write_text(updated(README.read_text(encoding="utf-8")), encoding="utf-8")
