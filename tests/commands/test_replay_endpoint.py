"""``replay --endpoint`` end to end: options, exit codes, reports, and a key that is seen nowhere."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.cli import main
from tests.commands.test_replay import nulls
from tests.endpoint.servers import Board, always, closed_port, log_line, serving, waited

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
CANARY = "canary-7f3a91c04bd2e655"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("RADIXADVISOR_API_KEY", raising=False)
    (tmp_path / "log.jsonl").write_text("".join(map(log_line, range(6))))
    return tmp_path


@pytest.fixture
def board() -> Iterator[Board]:
    with serving(Board()) as board:
        yield board


def replay(board: Board, *arguments: str) -> int:
    return main(["replay", "log.jsonl", "--endpoint", board.url, "--retries", "0", *arguments])


def test_json_has_every_figure(board: Board, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay(board, "--json") == 0
    shown = capsys.readouterr().out
    assert shown == Path("outputs/replay.json").read_text(encoding="ascii")
    found = json.loads(shown, parse_constant=pytest.fail)
    assert (found["schema"], found["complete"]) == ("radixadvisor/replay/1", True)
    assert found["input"] == {
        "files": ["log.jsonl"],
        "dialect": "openai_chat",
        "requests": 6,
        "skipped": 0,
    }
    assert (found["orders"], found["runs"], found["claims"]) == ([], [], [])
    endpoint = found["endpoint"]
    assert endpoint["url"] == board.url
    assert endpoint["requests"] == {
        "sent": 6,
        "answered": 6,
        "failed": 0,
        "unfinished": 0,
        "attempts": 6,
    }
    tokens = endpoint["tokens"]
    assert tokens["reported"] == tokens["predicted"] == tokens["counted"] == board.hits
    assert tokens["prompt"] == board.queries
    assert endpoint["ttft"]["all"]["count"] == 6
    assert len(endpoint["rows"]) == 6
    for path in nulls(found):
        assert any(path.startswith(name) for name in found["not_evaluated"]), f"{path}: no reason"


def test_a_replay_on_the_engine_has_no_endpoint() -> None:
    quick = ["--limit", "3", "--scale", "32", "--max-new", "2", "--threads", "1", "--quiet"]
    assert main(["replay", str(SAMPLES / "rag-consistent.jsonl"), *quick]) == 0
    found = json.loads(Path("outputs/replay.json").read_text())
    assert found["endpoint"] is None
    assert "endpoint" in found["not_evaluated"]


@pytest.mark.parametrize("setup", ["silent", "failing", "arrivals"])
def test_what_is_null_has_a_reason(setup: str, capsys: pytest.CaptureFixture[str]) -> None:
    silent = Board(report=False, metrics=False, tell_tokens=False)
    other = Board(script=always("500")) if setup == "failing" else Board()
    times = ["--arrivals", "--speedup", "100"] if setup == "arrivals" else []
    Path("log.jsonl").write_text("".join(log_line(number, at=1_760_000_000 + number) for number in range(5)))
    with serving(silent if setup == "silent" else other) as board:
        assert replay(board, "--json", *times) == (3 if setup == "failing" else 0)
    found = json.loads(capsys.readouterr().out)
    assert any(True for _ in nulls(found))
    for path in nulls(found):
        assert any(path.startswith(name) for name in found["not_evaluated"]), f"{path}: no reason"


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize("kind", ["healthy", "silent", "failing", "broken"])
def test_the_report_fits_every_screen(
    width: int, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    boards = {
        "healthy": Board(),
        "silent": Board(report=False),
        "failing": Board(script=lambda message, attempt: "503" if message == "q2" else "ok"),
        "broken": Board(script=always("401")),
    }
    with serving(boards[kind]) as board:
        assert replay(board) == (3 if kind == "broken" else 0)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= width
    words = " ".join(shown.split())
    assert ("rise of the server's counters" in words) == (kind != "broken")
    assert ("--enable-prompt-tokens-details" in words) == (kind == "silent")
    assert ("5 of 6 requests answered; without an answer: 1 503" in words) == (kind == "failing")
    assert ("No request was answered." in words) == (kind == "broken")
    if kind in ("healthy", "failing"):
        assert "exactly what the rules of vLLM predict, request for request" in words
        for title in ("Time to first token, ms", "p99", "vllm:prefix_cache_hits", "pages: only whole ones"):
            assert title in words


def test_one_line_when_quiet(board: Board, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay(board, "--quiet") == 0
    shown = capsys.readouterr()
    assert (shown.out.count("\n"), shown.err) == (1, "")
    assert f"6 of 6 requests answered: {board.hits:,} cached tokens predicted" in shown.out


def test_the_skill_report_gains_a_section(board: Board) -> None:
    assert main(["analyze", "log.jsonl", "--quiet"]) == 0
    assert replay(board, "--quiet") == 0
    assert replay(board, "--quiet") == 0
    skill = Path("outputs/skill-radix-scheduler-advisor.md").read_text()
    assert skill.count("## Measured on a server") == 1
    section = skill.partition("## Measured on a server")[2]
    for part in ("| **predicted** |", "| **reported** |", "| all | 6 |", "prefix_cache_hits", "was warm"):
        assert part in section


def test_without_a_log_it_takes_that_of_the_last_report(board: Board) -> None:
    assert main(["analyze", "log.jsonl", "--quiet"]) == 0
    assert main(["replay", "--endpoint", board.url, "--quiet"]) == 0
    assert len(board.bodies) == 6


@pytest.mark.parametrize(
    "arguments",
    [
        ["--gpu"],
        ["--device", "cpu"],
        ["--model", "tiny"],
        ["--random-weights"],
        ["--dtype", "float32"],
        ["--matrix"],
        ["--shuffle-sections"],
        ["--policy", "lpm"],
        ["--scale", "2"],
        ["--capacity", "100"],
        ["--page", "16"],
        ["--host-ratio", "2"],
        ["--repeat", "2"],
        ["--backend", "sdpa"],
        ["--threads", "1"],
        ["--tolerance", "0.1"],
        ["--strict"],
        ["--seed", "3"],
    ],
    ids=" ".join,
)
def test_options_of_the_engine_are_refused(
    arguments: list[str], board: Board, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(board, *arguments) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert arguments[0] in shown.err and "--endpoint" in shown.err
    assert not board.bodies


@pytest.mark.parametrize(
    "arguments",
    [["--endpoint-model", "m"], ["--api-key-env", "K"], ["--timeout", "3"], ["--retries", "3"]],
    ids=" ".join,
)
def test_options_of_a_server_need_one(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "log.jsonl", *arguments]) == 2
    assert f"{arguments[0]} only means something with --endpoint URL" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--timeout", "0"], "--timeout must be above 0"),
        (["--timeout", "nan"], "--timeout must be above 0"),
        (["--concurrency", "0"], "--concurrency must be at least 1"),
        (["--limit", "0"], "--limit must be at least 1"),
        (["--max-new", "0"], "--max-new must be at least 1"),
        (["--arrivals", "--concurrency", "2"], "give one of them"),
        (["--speedup", "2"], "give --arrivals too"),
        (["--arrivals"], "this log lacks some"),
        (["--endpoint-model", "srved"], "Did you mean served"),
    ],
    ids=str,
)
def test_values_that_cannot_work(
    arguments: list[str], words: str, board: Board, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(board, *arguments) == 2
    assert words in capsys.readouterr().err
    assert not board.bodies


def test_retries_cannot_be_negative(board: Board, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "log.jsonl", "--endpoint", board.url, "--retries", "-1"]) == 2
    assert "--retries must be 0 or more" in capsys.readouterr().err


def test_a_server_that_is_not_there_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    url = f"http://127.0.0.1:{closed_port()}"
    assert main(["replay", "log.jsonl", "--endpoint", url]) == 3
    assert time.monotonic() - began < 10
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == f"radixadvisor: No server can be reached at {url}: connection refused.\n"
    assert not Path("outputs").exists()


def test_a_server_of_something_else_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet() -> None:
            connection, _ = other.accept()
            connection.recv(1000)
            connection.sendall(b"SSH-2.0-OpenSSH\r\n")
            connection.close()

        thread = threading.Thread(target=greet)
        thread.start()
        url = f"http://127.0.0.1:{other.getsockname()[1]}"
        assert main(["replay", "log.jsonl", "--endpoint", url]) == 3
        thread.join()
    assert "what answers there is no HTTP server" in capsys.readouterr().err


KEYS: list[Callable[[str, int], str]] = [
    always("ok"),
    always("401"),
    always("500"),
    always("reset"),
    always("error event"),
    always("bad event"),
]


@pytest.mark.parametrize("script", KEYS)
@pytest.mark.parametrize("name", [None, "MY_SERVER_KEY"])
@pytest.mark.parametrize("shape", [[], ["--json"], ["--quiet"]], ids=str)
def test_the_key_is_sent_and_appears_nowhere(
    script: Any,
    name: str | None,
    shape: list[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("RADIXADVISOR_DEBUG", "1")
    monkeypatch.setenv(name or "RADIXADVISOR_API_KEY", CANARY)
    assert main(["analyze", "log.jsonl", "--quiet"]) == 0
    with serving(Board(script=script)) as board:
        replay(board, *(["--api-key-env", name] if name else []), *shape)
    assert {one["Authorization"] for one in board.headers} == {f"Bearer {CANARY}"}
    shown = capfd.readouterr()
    assert CANARY not in shown.out + shown.err
    for path in folder.rglob("*"):
        assert CANARY not in str(path)
        assert not path.is_file() or CANARY.encode() not in path.read_bytes()


def test_the_key_is_in_no_representation() -> None:
    from radixadvisor.endpoint.options import EndpointOptions
    from radixadvisor.endpoint.patience import DEFAULT
    from radixadvisor.endpoint.server import Server

    assert CANARY not in repr(EndpointOptions("host", key=CANARY))
    assert CANARY not in repr(Server("host", CANARY, DEFAULT))


def test_without_a_key_none_is_sent(board: Board) -> None:
    assert replay(board, "--quiet") == 0
    assert all("Authorization" not in one for one in board.headers)


def test_a_key_given_for_its_name_is_not_repeated(board: Board, capfd: pytest.CaptureFixture[str]) -> None:
    assert replay(board, "--api-key-env", CANARY) == 2
    shown = capfd.readouterr()
    assert CANARY not in shown.out + shown.err
    assert "--api-key-env names a variable of the environment" in shown.err


def test_a_key_that_no_header_can_hold(
    board: Board, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RADIXADVISOR_API_KEY", f"{CANARY}\r\nX-Other: 1")
    assert replay(board) == 2
    assert CANARY not in capfd.readouterr().err
    assert not board.bodies


def test_names_from_a_server_do_not_act(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Board(models=("\x1b[31mred\x1b[0m|`x`",))) as board:
        assert replay(board) == 0
    assert "\x1b" not in capsys.readouterr().out


@contextmanager
def interrupting(after: int) -> Iterator[Callable[[int, int], None]]:
    def told(done: int, total: int) -> None:
        if done >= after:
            raise KeyboardInterrupt

    yield told


def test_an_interrupt_leaves_a_valid_partial_result(
    board: Board, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("radixadvisor.commands.output.stages", lambda **_: interrupting(4))
    assert replay(board, "--json") == 130
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads(Path("outputs/replay.json").read_text())
    assert found["complete"] is False
    requests = found["endpoint"]["requests"]
    assert (requests["answered"], requests["unfinished"]) == (4, 2)
    for path in nulls(found):
        assert any(path.startswith(name) for name in found["not_evaluated"]), f"{path}: no reason"
    assert replay(board) == 130
    shown = capsys.readouterr()
    assert "Stopped before the end" in shown.out
    assert shown.err.endswith("radixadvisor: Interrupted.\n")


def test_a_signal_ends_a_replay_whose_server_hangs(folder: Path) -> None:
    script = lambda message, attempt: "hang" if message == "q3" else "ok"  # noqa: E731
    with serving(Board(script=script, hold=60)) as board:
        program = "import sys; from radixadvisor.cli import main; sys.exit(main(sys.argv[1:]))"
        command = [sys.executable, "-c", program, "replay", "log.jsonl", "--endpoint", board.url]
        with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, env=dict(os.environ)) as process:
            assert waited(lambda: board.behaviours["hang"] == 1, 60)
            time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            assert process.stderr is not None
            said = process.stderr.read().decode()
            assert process.wait(timeout=20) == 130
    assert "Traceback" not in said
    found = json.loads((folder / "outputs" / "replay.json").read_text())
    assert (found["complete"], found["endpoint"]["requests"]["answered"]) == (False, 3)


def test_only_the_server_that_was_named_is_called(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []
    connect = socket.socket.connect

    def noted(self: socket.socket, address: Any) -> None:
        called.append(address)
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", noted)
    assert main(["analyze", "log.jsonl", "--quiet"]) == 0
    quick = ["--limit", "2", "--max-new", "2", "--threads", "1", "--quiet"]
    assert main(["replay", "log.jsonl", *quick]) == 0
    assert called == []
    assert replay(board, "--quiet") == 0
    assert {f"http://{host}:{port}" for host, port in called} == {board.url}
