"""The README shows what the program prints, and names every command."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest

from radixadvisor.cli import app, main
from tests.update_readme import EXAMPLE, EXERCISES, README, REPOSITORY, SHOWN, example, printed

TEXT = README.read_text(encoding="utf-8")
PAGES = TEXT + EXERCISES.read_text(encoding="utf-8")


@pytest.mark.parametrize(("arguments", "output"), SHOWN.findall(PAGES))
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


def test_the_example_is_written_by_the_command_that_the_readme_names(tmp_path: Path) -> None:
    (command,) = re.findall(r"`python -m radixadvisor (analyze .* --example)`", TEXT)
    with contextlib.chdir(REPOSITORY):
        assert main([*command.replace("--out outputs", f"--out {tmp_path}").split(), "--quiet"]) == 0
    assert (tmp_path / EXAMPLE.name).read_bytes() == EXAMPLE.read_bytes()


def test_each_exercise_is_answered_by_a_command() -> None:
    parts = re.split(r"^## \d\. ", EXERCISES.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    shown = [SHOWN.findall(part) for part in parts]
    assert len(shown) == 5
    assert all(shown)
    answers = [" ".join(found[0][1].split()) for found in shown]
    for phrase in ("prefill", "decode", "queue", "more from the cache"):
        assert phrase in answers[0].split("Differences")[1]
    rates = [float(rate) for rate in re.findall(r"sglang fcfs.*? ([\d.]+)%", answers[1])[:2]]
    assert rates[0] > 10 * rates[1]
    assert "takes 262 MB; 16 sequences that each hold it without reuse take 4.2 GB" in answers[2]
    assert "whole leaves evicted" in answers[3]
    assert "evicted one by one" in answers[3]
    assert "RA307" in answers[4]
    assert re.search(r"P1 .*review 154,516", answers[4])
