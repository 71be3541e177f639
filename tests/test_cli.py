"""The command line: usage, exit codes, closed pipes, and what a start loads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import radixadvisor
from radixadvisor.cli import app, main
from radixadvisor.errors import NoUsableInput, OutputError, UnknownName
from tests.report.fixtures import ordinary

REPOSITORY = Path(__file__).resolve().parents[1]
HEAVY = [
    *["numpy", "pyarrow", "pandas", "torch", "transformers", "tokenizers", "tiktoken", "splintr", "jinja2"],
    *["msgspec", "zstandard", "xxhash"],
]

COMMANDS = sorted(
    command.name or command.callback.__name__ for command in app.registered_commands if command.callback
)


def run(*arguments: str, shell: str = "{}", **env: str) -> subprocess.CompletedProcess[str]:
    """A fresh process; ``shell`` wraps the command line."""
    command = shell.format(" ".join([sys.executable, "-m", "radixadvisor", *arguments]))
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, **env},
        timeout=60,
    )


@pytest.fixture
def analyze(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A working folder of its own, and an analysis that needs no log."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("radixadvisor.analysis.analyze", lambda paths, options: ordinary())
    return monkeypatch


def raising(error: BaseException) -> object:
    def analyze(paths: object, options: object) -> None:
        raise error

    return analyze


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert COMMANDS
    assert [name for name in COMMANDS if f"{name} " not in shown] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert capsys.readouterr().out
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    assert command.help
    assert [p.name for p in command.params if not getattr(p, "help", None)] == []
    names = {option for p in command.params for option in p.opts}
    assert {"--json", "--out", "--quiet", "--no-color"} <= names


def test_a_start_loads_nothing_heavy() -> None:
    script = (
        "import sys\nfrom radixadvisor.cli import main\nassert main(['--help']) == 0\n"
        f"print('loaded:', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout.endswith("loaded: []\n")


def test_importing_the_package_loads_nothing() -> None:
    script = "import radixadvisor, sys; print([m for m in sys.modules if m.startswith('radixadvisor.')])"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"


def test_public_names_are_sorted_and_there() -> None:
    assert radixadvisor.__all__ == sorted(radixadvisor.__all__)
    assert dir(radixadvisor) == radixadvisor.__all__
    assert [name for name in radixadvisor.__all__ if getattr(radixadvisor, name, None) is None] == []
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = radixadvisor.nothing


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"radixadvisor {radixadvisor.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["analyse", "x"], "No such command 'analyse'. Did you mean 'analyze'? See 'radixadvisor --help'."),
        (["analyze"], "Missing argument 'LOG'. See 'radixadvisor analyze --help'."),
        (["analyze", "x", "--nonsense"], "No such option"),
        (["--nonsense"], "No such option"),
        (["analyze", "x", "--limit", "0"], "--limit"),
        (["analyze", "x", "--limit", "many"], "--limit"),
        (["analyze", "x", "--output-tokens", "-1"], "--output-tokens"),
        (["analyze", "x", "--where", "model"], "KEY=VALUE, such as model=NAME; got 'model'."),
        (
            ["analyze", "x", "--where", "modle=y"],
            "Did you mean model? Known: app, model, replica, session, tenant, user.",
        ),
        (["--out"], "--out"),
    ],
)
def test_wrong_usage_is_one_sentence(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert shown.err.startswith("radixadvisor: ")
    assert shown.err.count("\n") == 1


def test_without_a_command_it_shows_help_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "analyze" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (NoUsableInput("No usable request: x is empty."), 3, "No usable request: x is empty."),
        (OutputError("Cannot write x: no."), 2, "Cannot write x: no."),
        (UnknownName("model", "qwne", ["qwen"]), 2, "Unknown model 'qwne'. Did you mean qwen? Known: qwen."),
        (KeyboardInterrupt(), 130, "Interrupted."),
        (
            KeyError("by\n\x1b[31m"),
            3,
            r"A defect of this program: KeyError: 'by\n\x1b[31m'. RADIXADVISOR_DEBUG=1 shows where.",
        ),
    ],
)
def test_errors_become_one_sentence_and_a_code(
    error: BaseException,
    code: int,
    message: str,
    analyze: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    analyze.setattr("radixadvisor.analysis.analyze", raising(error))
    assert main(["analyze", "x"]) == code
    assert capsys.readouterr() == ("", f"radixadvisor: {message}\n")
    assert not Path("outputs").exists()


def test_the_traceback_of_a_defect_is_there_on_request(
    analyze: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    analyze.setenv("RADIXADVISOR_DEBUG", "1")
    analyze.setattr("radixadvisor.analysis.analyze", raising(ZeroDivisionError("by zero")))
    assert main(["analyze", "x"]) == 3
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.usefixtures("analyze")
def test_global_options_work_before_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    results = []
    for arguments in (
        ["--json", "--out", "a", "analyze", "x"],
        ["--out=b", "--quiet", "--json", "--no-color", "analyze", "x"],
        ["analyze", "--json", "x", "--out", "c"],
    ):
        assert main(arguments) == 0
        results.append(capsys.readouterr().out)
    assert results[0] == results[1] == results[2]
    assert results[0] == Path("a/report.json").read_text() == Path("b/report.json").read_text()


@pytest.mark.usefixtures("analyze")
def test_an_unwritable_folder_is_noticed_before_the_work(
    analyze: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    analyze.setattr("radixadvisor.analysis.analyze", raising(AssertionError("too late")))
    Path("file").touch()
    assert main(["analyze", "x", "--out", "file"]) == 2
    assert "is not a folder" in capsys.readouterr().err


def test_standard_output_stays_the_callers(analyze: pytest.MonkeyPatch) -> None:
    stream = sys.stdout
    assert main(["analyze", "x", "--quiet"]) == 0
    assert sys.stdout is stream


SAMPLE = ("analyze", "samples/three.jsonl")


@pytest.mark.parametrize(
    ("arguments", "reader"),
    [
        (("--help",), "true"),
        (SAMPLE, "head -1"),
        ((*SAMPLE, "--json"), "head -1"),
        ((*SAMPLE, "--quiet"), "true"),
    ],
)
def test_a_closed_pipe_is_no_error(arguments: tuple[str, ...], reader: str, tmp_path: Path) -> None:
    out = () if arguments == ("--help",) else ("--out", str(tmp_path))
    result = run(*arguments, *out, shell="{} | " + reader)
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    assert "BrokenPipe" not in result.stderr
    assert "Exception ignored" not in result.stderr


def test_a_full_or_closed_standard_output_is_one_sentence(tmp_path: Path) -> None:
    for redirection in ("> /dev/full", ">&-"):
        result = run(*SAMPLE, "--out", str(tmp_path), "--quiet", shell="{} " + redirection)
        assert result.returncode == 2
        assert result.stderr.startswith("radixadvisor: ")
        assert result.stderr.count("\n") == 1


def test_a_folder_that_was_removed_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["analyze", "log.jsonl"]) == 2
    assert capsys.readouterr().err == (
        "radixadvisor: The current folder has been removed; change to another one.\n"
    )
