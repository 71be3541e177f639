"""``replay --endpoint URL``: the log sent to a server, and what its cache serves set against its rules."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from radixadvisor.errors import UsageError

if TYPE_CHECKING:
    from radixadvisor.analysis import AnalyzeOptions
    from radixadvisor.endpoint.options import EndpointOptions
    from radixadvisor.endpoint.results import EndpointReplay

__all__ = ["KEY", "endpoint_options", "refuse_mixed", "replay_on_server"]

KEY = "RADIXADVISOR_API_KEY"

EXIT_UNANSWERED = 3
EXIT_INTERRUPTED = 130


def refuse_mixed(url: str | None, server: Mapping[str, bool], engine: Mapping[str, bool]) -> None:
    """Keep apart the options for a server and those for the bundled engine; both by name, and whether given.

    Raises:
        UsageError: some are given for the one that is not used.
    """
    if url is None:
        wrong = [name for name, given in server.items() if given]
        if wrong:
            raise UsageError(f"{_list(wrong)} only means something with --endpoint URL.")
        return
    wrong = [name for name, given in engine.items() if given]
    if wrong:
        hint = " A server's model is chosen by --endpoint-model." if "--model" in wrong else ""
        raise UsageError(
            f"--endpoint sends the log to a server, {_list(wrong)} is for the bundled engine: give one of "
            f"them.{hint}"
        )


def endpoint_options(
    url: str,
    *,
    model: str | None,
    key_name: str | None,
    timeout: float | None,
    retries: int | None,
    arrivals: bool,
    speedup: float | None,
    concurrency: int | None,
    limit: int | None,
    max_new: int | None,
) -> EndpointOptions:
    """The options as given; the key comes from the environment.

    Raises:
        UsageError: a value or a pair of options that cannot work.
    """
    from dataclasses import replace

    from radixadvisor.endpoint.options import EndpointOptions
    from radixadvisor.endpoint.patience import DEFAULT
    from radixadvisor.endpoint.wire import parse_address

    if arrivals and concurrency is not None:
        raise UsageError("--arrivals follows the log's times, --concurrency does not: give one of them.")
    if speedup is not None and not arrivals:
        raise UsageError("--speedup shortens the log's arrivals: give --arrivals too.")
    parse_address(url)
    key = os.environ.get(KEY if key_name is None else key_name)
    if key_name is not None and not key:
        # The name is not repeated: it may be the key itself, given by mistake.
        raise UsageError("--api-key-env names a variable of the environment, and the one named is not set.")
    patience = replace(
        DEFAULT,
        timeout=DEFAULT.timeout if timeout is None else timeout,
        retries=DEFAULT.retries if retries is None else retries,
    )
    chosen = EndpointOptions(
        url, key=key or None, model=model, clients=None if arrivals else 1, limit=limit, patience=patience
    )
    if concurrency is not None:
        chosen = replace(chosen, clients=concurrency)
    if speedup is not None:
        chosen = replace(chosen, speedup=speedup)
    return chosen if max_new is None else replace(chosen, max_new=max_new)


def replay_on_server(
    files: Sequence[str],
    folder: Path,
    reading: AnalyzeOptions,
    options: EndpointOptions,
    *,
    json: bool,
    quiet: bool,
    no_color: bool,
) -> int:
    """Send the log, write and print the result; the exit code."""
    from dataclasses import replace

    from radixadvisor.analysis import open_trace
    from radixadvisor.commands.output import note, progress, stages
    from radixadvisor.endpoint.conduct import replay_endpoint

    with progress(quiet=quiet, no_color=no_color) as shown:
        trace, log = open_trace(files, replace(reading, progress=shown))
    with stages(quiet=quiet, no_color=no_color) as sent:
        found = replay_endpoint(trace, log, options, sent)
    if found.rows:
        paths = _write(found, folder)
        if not quiet:
            note("Wrote " + " and ".join(map(str, paths)) + ".")
    _print(found, json=json, quiet=quiet, no_color=no_color)
    if not found.complete:
        return EXIT_INTERRUPTED
    return 0 if found.answered else EXIT_UNANSWERED


def _write(found: EndpointReplay, folder: Path) -> list[Path]:
    from radixadvisor.commands.results import write_replay
    from radixadvisor.report.endpoint_json import to_json
    from radixadvisor.report.endpoint_markdown import HEADING, section

    return write_replay(folder, found.files, to_json(found), HEADING, section(found))


def _print(found: EndpointReplay, *, json: bool, quiet: bool, no_color: bool) -> None:
    from radixadvisor.commands.output import emit, screen

    if json:
        from radixadvisor.report.endpoint_json import to_json

        emit(to_json(found).decode())
    elif quiet:
        from radixadvisor.report.endpoint_words import quiet_line

        emit(quiet_line(found) + "\n")
    else:
        from radixadvisor.report.endpoint_terminal import render

        emit(render(found, screen(no_color=no_color)))


def _list(names: Sequence[str]) -> str:
    return " and ".join(names) if len(names) < 3 else ", ".join(names[:-1]) + f" and {names[-1]}"
