"""The sentences about a replay against a server, and the tables that every report of it shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from radixadvisor.endpoint.results import EndpointReplay
from radixadvisor.report.numbers import count, percent, plural

__all__ = ["Line", "account", "counter_rows", "failures_line", "headline", "quiet_line", "server_line"]

NAMES = {"vllm": "vLLM", "sglang": "SGLang", "llama.cpp": "llama.cpp", "unknown": "an unknown engine"}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the account of cached tokens. ``kind`` is ``sum``, ``step`` (a rule that the prediction
    follows) or ``difference`` (what the report has more or less, and in how many requests).
    """

    kind: str
    text: str
    tokens: int | None
    requests: int | None = None

    @property
    def shown(self) -> str:
        """The tokens; a change carries its sign."""
        return f"{self.tokens:+,}" if self.tokens and self.kind != "sum" else count(self.tokens)


def server_line(replay: EndpointReplay) -> str:
    """The server, the model and the load in one sentence."""
    setup = replay.setup
    if setup["arrivals"]:
        load = "at the log's arrivals"
        load += f", {setup['speedup']:g} times as fast" if setup["speedup"] != 1 else ""
    else:
        load = "one request at a time" if setup["clients"] == 1 else plural(setup["clients"], "client")
    output = f"at most {plural(setup['max_new'], 'output token')}"
    return f"{replay.model} on {NAMES[replay.engine]} at {replay.url}; {load}, {output}"


def headline(replay: EndpointReplay) -> str:
    """What the server's cache served against what it should have; empty if no request was answered."""
    if not replay.answered:
        return "No request was answered."
    total = replay.prompt_tokens
    if replay.reported is None:
        served = f" ({percent(replay.predicted / total)})" if total else ""
        return (
            f"The server reports no cached tokens; {_rules(replay)} give it {count(replay.predicted)} of "
            f"{count(total)} prompt tokens{served}."
        )
    told = sum(row.prompt for row in replay.rows if row.sent.failure is None and row.reported is not None)
    rate = f" ({percent(replay.reported / told)})" if told else ""
    if replay.reported == replay.predicted and not replay.differences:
        against = f"exactly what {_rules(replay)} predict, request for request"
    else:
        against = f"{count(replay.predicted)} were predicted"
    share = f"{count(replay.reported)} of {count(told)} prompt tokens{rate}"
    return f"The server took {share} from its cache: {against}."


def account(replay: EndpointReplay) -> list[Line]:
    """From the tokens that the log repeats to those that the server reports, nothing left over."""
    lines = [Line("sum", "beginnings that the log repeats, in its own tokens", replay.logged)]
    lines += [Line("step", step.name, step.tokens) for step in replay.steps]
    lines.append(Line("sum", "predicted", replay.predicted))
    lines += [Line("difference", one.reason, one.tokens, one.requests) for one in replay.differences]
    lines.append(Line("sum", "reported", replay.reported))
    if replay.counted is not None:
        lines.append(Line("sum", "rise of the server's counters", replay.counted))
    return lines


def counter_rows(replay: EndpointReplay) -> Iterator[tuple[str, str, str, str]]:
    """The server's counters: name, before, after, and by how much they rose."""
    before, after = replay.before, replay.after
    if before is None:
        return
    for name, first, last in (
        (before.hit_name, before.hits, None if after is None else after.hits),
        (before.prompt_name, before.prompt, None if after is None else after.prompt),
    ):
        risen = "-" if last is None else count(round(last - first))
        yield name, count(round(first)), "-" if last is None else count(round(last)), risen


def failures_line(replay: EndpointReplay) -> str:
    """How many requests were answered, and what became of the others."""
    words = f"{count(replay.answered)} of {plural(replay.requests, 'request')} answered"
    left = replay.requests - len(replay.rows)
    parts = [f"{number} {name}" for name, number in replay.failed.items()]
    parts += [f"{left} not ended when interrupted"] if left else []
    return words + (f"; without an answer: {', '.join(parts)}" if parts else "")


def quiet_line(replay: EndpointReplay) -> str:
    """The result in one line."""
    reported = "reports none" if replay.reported is None else f"reports {count(replay.reported)}"
    first = replay.ttft["all"]
    time = "" if first is None else f", first token after {first.p50 * 1000:,.0f} ms (p50)"
    ends = "" if replay.complete else "; stopped"
    retried = sum(replay.retried.values())
    again = f", {plural(retried, 'failed attempt')}" if retried else ""
    return (
        f"{failures_line(replay)}: {count(replay.predicted)} cached tokens predicted, the server {reported}"
        f"{time}{again}{ends}"
    )


def _rules(replay: EndpointReplay) -> str:
    return (
        "the rules of any prefix cache"
        if replay.engine == "unknown"
        else f"the rules of {NAMES[replay.engine]}"
    )
