"""A server that fails in every way: no request is lost, every failure is counted, time is bounded."""

from __future__ import annotations

import random
import threading
from collections import Counter
from dataclasses import replace
from time import monotonic

import pytest

from radixadvisor.endpoint.drive import NOT_SENT
from radixadvisor.errors import Unreachable, UsageError
from tests.endpoint.conftest import QUICK, Replayed
from tests.endpoint.servers import Board, always, closed_port, first, log_line, serving

KINDS = {
    "429": "429",
    "500": "500",
    "503": "503",
    "reset": "no connection",
    "hang": "timeout",
    "dribbled headers": "timeout",
    "slow body": "timeout",
    "cut": "cut stream",
    "unfinished": "cut stream",
    "bad event": "unreadable event",
    "error event": "error in the stream",
    "not json": "unreadable event",
}
"""What a server does, and what that counts as."""


def messages(count: int) -> list[str]:
    return [f"q{number}" for number in range(count)]


@pytest.mark.parametrize(("behaviour", "failure"), KINDS.items())
def test_a_failed_attempt_is_made_good_and_counted(behaviour: str, failure: str, replayed: Replayed) -> None:
    with serving(Board(script=first(behaviour))) as board:
        began = monotonic()
        found = replayed(board, 3, patience=replace(QUICK, timeout=0.4))
        assert monotonic() - began < 3 * (0.4 + 1) + 2
    assert found.answered == 3
    assert (found.retried, found.failed) == ({failure: 3}, {})
    assert board.attempts == Counter(dict.fromkeys(messages(3), 2))
    assert all(row.sent.attempts == 2 for row in found.rows)
    assert any("3 attempts failed" in warning for warning in found.warnings)
    assert any("Cut streams" in warning for warning in found.warnings) == (failure == "cut stream")


def test_a_slow_prefill_is_waited_for(replayed: Replayed) -> None:
    with serving(Board(script=always("late"), hold=0.5)) as board:
        found = replayed(board, 2, patience=replace(QUICK, connect=0.2))
    assert (found.answered, found.retried) == (2, {})
    assert all(row.sent.ttft is not None and row.sent.ttft >= 0.5 for row in found.rows)


@pytest.mark.parametrize("behaviour", ["400", "401", "404", "422"])
def test_what_cannot_be_better_is_not_tried_again(behaviour: str, replayed: Replayed) -> None:
    script = lambda message, attempt: behaviour if message == "q1" else "ok"  # noqa: E731
    with serving(Board(script=script)) as board:
        found = replayed(board, 4)
    assert (found.answered, found.failed, found.retried) == (3, {behaviour: 1}, {behaviour: 1})
    assert board.attempts["q1"] == 1


def test_retries_end(replayed: Replayed) -> None:
    with serving(Board(script=always("500"))) as board:
        found = replayed(board, 3, patience=replace(QUICK, retries=2))
    assert (found.answered, found.failed, found.retried) == (0, {"500": 3}, {"500": 9})
    assert found.reported is None
    assert found.ttft == {"all": None, "hit": None, "miss": None}


def test_a_storm_of_faults_loses_nothing(replayed: Replayed) -> None:
    generator = random.Random(7)
    plan = {
        message: [generator.choice(list(KINDS)) for _ in range(generator.choice([0, 0, 1, 2, 3]))]
        for message in messages(60)
    }
    script = lambda message, attempt: [*plan[message], "ok"][attempt]  # noqa: E731
    with serving(Board(script=script)) as board:
        began = monotonic()
        found = replayed(board, 60, clients=6, patience=replace(QUICK, timeout=0.3))
        assert monotonic() - began < 20
    assert [row.sent.index for row in found.rows] == list(range(60))
    assert found.answered == 60
    assert board.done.keys() == set(messages(60))
    assert Counter(found.retried) == Counter(KINDS[fault] for faults in plan.values() for fault in faults)
    assert {f"q{row.sent.index}": row.sent.attempts - 1 for row in found.rows} == {
        message: len(faults) for message, faults in plan.items()
    }
    assert found.reported is not None
    assert found.reported - found.predicted == sum(one.tokens for one in found.differences)


def test_one_connection_after_the_other_is_never_refused(replayed: Replayed) -> None:
    with serving(Board()) as board:
        found = replayed(board, 40)
    assert (found.answered, found.retried) == (40, {})
    assert all(row.sent.attempts == 1 for row in found.rows)


def test_hits_are_predicted_and_reported_request_for_request(replayed: Replayed) -> None:
    with serving(Board()) as board:
        found = replayed(board, 12)
    assert (found.engine, found.page, found.tokenizer) == ("vllm", 16, "server")
    assert [row.reported for row in found.rows] == [row.predicted for row in found.rows]
    assert found.rows[0].reported == 0, "a field that is left out means 0 where others have it"
    assert found.reported == found.predicted == found.counted == board.hits > 0
    assert found.logged + sum(step.tokens for step in found.steps) == found.predicted
    assert found.differences == ()
    assert found.warnings == ()


def test_a_warm_cache_is_told(replayed: Replayed) -> None:
    with serving(Board()) as board:
        replayed(board, 4)
        found = replayed(board, 4)
    assert any(warning.startswith("The cache was warm") for warning in found.warnings)
    assert [one.reason.partition(":")[0] for one in found.differences] == ["not sent by this replay"]
    with serving(Board(metrics=True)) as board:
        replayed(board, 2, lines=log_line(1, system="alpha " * 40) + log_line(2, system="beta " * 40))
        found = replayed(board, 4)
    assert [warning[:28] for warning in found.warnings] == ["The cache may have been warm"]


def test_wrong_usage_is_told_and_left_out(replayed: Replayed) -> None:
    script = lambda message, attempt: "wrong usage" if message in ("q3", "q5") else "ok"  # noqa: E731
    with serving(Board(script=script)) as board:
        found = replayed(board, 8)
    assert found.answered == 8
    assert [row.reported is None for row in found.rows] == [number in (3, 5) for number in range(8)]
    assert found.reported == found.predicted == sum(row.reported or 0 for row in found.rows)
    text = " ".join(found.warnings)
    assert "2 of 8 answers report more cached tokens than their prompt has" in text
    assert "Token counts disagree for 2 of 8" in text
    assert f"The server's counters rose by {found.counted} cached tokens" in text.replace(",", "")


@pytest.mark.parametrize("behaviour", ["no usage", "nonsense usage", "plain"])
def test_answers_without_figures_are_answers(behaviour: str, replayed: Replayed) -> None:
    script = lambda message, attempt: behaviour if int(message[1:]) % 2 else "ok"  # noqa: E731
    with serving(Board(script=script)) as board:
        found = replayed(board, 8)
    assert (found.answered, found.failed, found.retried) == (8, {}, {})
    odd = [row for row in found.rows if row.sent.index % 2]
    if behaviour == "plain":
        assert all(row.sent.ttft is None and row.reported == row.predicted for row in odd)
        assert found.ttft["all"] is not None
        assert found.ttft["all"].count == 4
    else:
        assert all(row.reported is None and row.sent.ttft is not None for row in odd)
        assert any("4 of 8 answers report no cached tokens" in warning for warning in found.warnings)


def test_other_token_counts_are_a_template(replayed: Replayed) -> None:
    with serving(Board(tell_tokens=False)) as board:
        found = replayed(board, 6)
    assert found.tokenizer == "log"
    assert [one.reason.partition(":")[0] for one in found.differences] == ["template"]
    assert found.differences[0].tokens == (found.reported or 0) - found.predicted
    assert any("Token counts disagree for 6 of 6" in warning for warning in found.warnings)


def test_a_prompt_whose_tokens_are_not_told_is_not_predicted(replayed: Replayed) -> None:
    with serving(Board(untold="q6")) as board:
        found = replayed(board, 10)
    assert (found.tokenizer, found.answered) == ("server", 10)
    assert [row.predicted == row.reported for row in found.rows] == [number != 6 for number in range(10)]
    (difference,) = found.differences
    assert (difference.requests, difference.reason.partition(":")[0]) == (1, "template")
    assert difference.tokens == found.rows[6].reported == (found.reported or 0) - found.predicted


def test_a_cut_stream_may_have_filled_the_cache(replayed: Replayed) -> None:
    script = lambda message, attempt: "cut" if message == "q0" and attempt == 0 else "ok"  # noqa: E731
    with serving(Board(script=script)) as board:
        found = replayed(board, 5)
    assert [one.reason.partition(":")[0] for one in found.differences] == ["sent more than once"]
    assert not any(warning.startswith("The cache was warm") for warning in found.warnings)


@pytest.mark.parametrize(("behaviour", "stored"), [("cut", True), ("slow body", True), ("500", False)])
def test_a_request_that_was_lost_may_have_filled_the_cache(
    behaviour: str, stored: bool, replayed: Replayed
) -> None:
    script = lambda message, attempt: behaviour if message == "q0" else "ok"  # noqa: E731
    with serving(Board(script=script)) as board:
        found = replayed(board, 4, patience=replace(QUICK, retries=0, timeout=0.5))
    assert found.answered == 3
    assert [row.reported for row in found.rows[1:]] == [row.predicted for row in found.rows[1:]]
    assert (found.rows[1].predicted > 0) == stored


def test_a_dead_server_ends_the_replay(replayed: Replayed) -> None:
    script = lambda message, attempt: "ok" if int(message[1:]) < 5 else "reset"  # noqa: E731
    with serving(Board(script=script)) as board:
        found = replayed(board, 100, patience=replace(QUICK, retries=1))
    assert len(found.rows) == 100
    assert found.answered == 5
    assert found.failed["no connection"] + found.failed[NOT_SENT] == 95
    assert sum(board.attempts.values()) < 40
    assert any(warning.startswith("The server was given up") for warning in found.warnings)


@pytest.mark.parametrize("behaviour", ["401", "403", "404"])
def test_a_server_that_lets_nobody_in_is_given_up(behaviour: str, replayed: Replayed) -> None:
    with serving(Board(script=always(behaviour))) as board:
        found = replayed(board, 50)
    assert (len(found.rows), found.answered) == (50, 0)
    assert sum(board.attempts.values()) < 12
    assert any("--api-key-env" in warning for warning in found.warnings) == (behaviour != "404")


def test_a_server_that_recovers_is_not_given_up(replayed: Replayed) -> None:
    script = lambda message, attempt: "ok" if int(message[1:]) % 8 == 0 else "404"  # noqa: E731
    with serving(Board(script=script)) as board:
        found = replayed(board, 32)
    assert (found.answered, found.failed) == (4, {"404": 28})


def test_requests_keep_to_a_number_in_flight(replayed: Replayed) -> None:
    gate = threading.Barrier(4, timeout=5)
    script = lambda message, attempt: "ok" if gate.wait() >= 0 else "500"  # noqa: E731
    with serving(Board(script=script)) as board:
        found = replayed(board, 16, clients=4)
    assert (found.answered, board.most_open) == (16, 4)


def test_arrivals_are_kept(replayed: Replayed) -> None:
    times = [0.0, 0.2, 0.2, 0.9, 1.5]
    lines = "".join(log_line(number, at=1_760_000_000 + 10 * at) for number, at in enumerate(times))
    with serving(Board()) as board:
        found = replayed(board, lines=lines, clients=None, speedup=10)
    assert found.answered == 5
    for row, due in zip(found.rows, times, strict=True):
        assert due <= row.sent.begun < due + 0.3
    assert found.late < 0.3
    assert 1.5 <= found.seconds < 3


def test_arrivals_need_times(replayed: Replayed) -> None:
    with serving(Board()) as board, pytest.raises(UsageError, match="timestamp"):
        replayed(board, 3, clients=None)
    assert not board.attempts


def test_requests_are_sent_as_logged(replayed: Replayed) -> None:
    with serving(Board()) as board:
        replayed(board, 1, max_new=9)
    (body,) = board.bodies
    assert body["messages"][1] == {"role": "user", "content": "q0"}
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("served", 9, 0)
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


def test_an_interrupt_keeps_what_was_answered(replayed: Replayed) -> None:
    def stop(done: int, total: int) -> None:
        assert total == 50
        if done == 7:
            raise KeyboardInterrupt

    with serving(Board()) as board:
        found = replayed(board, 50, progress=stop)
    assert not found.complete
    assert [row.sent.index for row in found.rows] == list(range(7))
    assert found.reported == found.predicted > 0
    assert (found.after, found.counted) == (None, None)
    assert found.not_evaluated["tokens.counted"] == "the replay was interrupted"


def test_a_server_that_is_not_there() -> None:
    from radixadvisor.endpoint.server import Server

    server = Server(f"127.0.0.1:{closed_port()}", None, QUICK)
    with pytest.raises(Unreachable, match="connection refused"):
        server.models()


def test_a_server_that_says_nothing(replayed: Replayed) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        board = Board(url=f"http://127.0.0.1:{silent.getsockname()[1]}")
        began = monotonic()
        with pytest.raises(Unreachable, match="Nothing answers"):
            replayed(board, 2, patience=replace(QUICK, timeout=0.3))
        assert monotonic() - began < 3


@pytest.mark.parametrize(
    ("served", "asked", "sent"),
    [
        (("only",), None, "only"),
        (("other", "gpt-4o"), None, "gpt-4o"),
        (("other", "second"), "second", "second"),
        (None, None, "gpt-4o"),
        (None, "mine", "mine"),
    ],
)
def test_the_model_asked_for(
    served: tuple[str, ...] | None, asked: str | None, sent: str, replayed: Replayed
) -> None:
    with serving(Board(models=served)) as board:
        assert replayed(board, 1, model=asked).model == sent
    assert board.bodies[0]["model"] == sent


@pytest.mark.parametrize(("asked", "message"), [(None, "--endpoint-model"), ("thrid", "Did you mean third")])
def test_an_unclear_model_is_asked_for(asked: str | None, message: str, replayed: Replayed) -> None:
    with serving(Board(models=("second", "third"))) as board, pytest.raises(UsageError, match=message):
        replayed(board, 1, model=asked)
    assert not board.bodies
