"""The README shows what the program prints, and names every command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from radixadvisor.cli import app, main

REPOSITORY = Path(__file__).resolve().parents[1]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_the_output_shown_is_the_output_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.setenv("COLUMNS", "80")
    shown = [block for block in BLOCKS if block.startswith("$ radixadvisor ")]
    assert shown
    for block in shown:
        command, _, expected = block.partition("\n")
        assert main(["--out", str(tmp_path), *command.split()[2:]]) == 0
        assert capsys.readouterr().out == expected


def test_every_command_is_in_the_table() -> None:
    named = re.findall(r"^\| `radixadvisor (\w+) ", README, flags=re.MULTILINE)
    commands = [command.callback.__name__ for command in app.registered_commands if command.callback]
    assert named == sorted(commands)


def test_installing_and_testing_are_one_line_each() -> None:
    lines = [block for block in BLOCKS if block.startswith("pip install")]
    assert [line.count("\n") for line in lines] == [1, 1]
    assert "radixadvisor analyze samples/" in lines[0]
    assert lines[1].endswith("python -m pytest\n")
    sample = lines[0].split()[-1]
    assert (REPOSITORY / sample).is_file()
