"""The README shows what the program prints, and names every command."""

from __future__ import annotations

import re

import pytest

from radixadvisor.cli import app
from tests.update_readme import EXAMPLE, README, REPOSITORY, SHOWN, example, printed

TEXT = README.read_text(encoding="utf-8")


@pytest.mark.parametrize(("arguments", "output"), SHOWN.findall(TEXT))
def test_the_output_shown_is_the_output_printed(
    arguments: str, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert printed(arguments) == output, "python -m tests.update_readme brings the README up to date"


def test_the_committed_example_is_what_the_program_writes() -> None:
    assert EXAMPLE.read_text(encoding="utf-8") == example(), "python -m tests.update_readme writes it anew"


def test_analyze_is_shown() -> None:
    assert any(arguments.startswith("analyze ") for arguments, _ in SHOWN.findall(TEXT))


def test_every_command_is_in_the_table() -> None:
    named = re.findall(r"^\| `radixadvisor (\w+) ", TEXT, flags=re.MULTILINE)
    commands = [command.callback.__name__ for command in app.registered_commands if command.callback]
    assert named == sorted(commands)


def test_installing_and_testing_are_one_line_each() -> None:
    lines = re.findall(r"^```\n(pip install .*\n)```$", TEXT, flags=re.MULTILINE)
    assert len(lines) == 2
    assert lines[0].startswith("pip install . && radixadvisor analyze samples/")
    assert lines[1].endswith("python -m pytest\n")
    assert (REPOSITORY / lines[0].split()[-1]).is_file()
