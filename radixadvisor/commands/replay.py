"""``radixadvisor replay``: run a log on the bundled engine or on a server, and set what it measures against
the advice.
"""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from radixadvisor.commands.endpoint import endpoint_options, refuse_mixed, replay_on_server
from radixadvisor.commands.options import ChatTemplate, Format, Json, NoColor, Out, Quiet, Tokenizer
from radixadvisor.commands.results import last_log
from radixadvisor.errors import UsageError
from radixadvisor.records import LONGEST_OUTPUT

if TYPE_CHECKING:
    from radixadvisor.replaying.results import Replay

__all__ = ["replay"]

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130


def replay(
    logs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LOG]...",
            help="Files or globs; - is standard input.",
            show_default="the log of the last report",
        ),
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Send the log to this server that speaks OpenAI's protocol (vLLM, SGLang, llama.cpp ...) "
            "instead of the bundled engine.",
            show_default=False,
        ),
    ] = None,
    endpoint_model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The server's model.", show_default="the only one, else the log's"),
    ] = None,
    api_key_env: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Variable of the environment that holds the server's key.",
            show_default="RADIXADVISOR_API_KEY",
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="What one attempt at a server may take.", show_default="120"),
    ] = None,
    retries: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Further attempts after a timeout, 429, 5xx or a cut stream, with growing waits.",
            show_default="5",
        ),
    ] = None,
    device: Annotated[
        str | None, typer.Option(metavar="NAME", help="cpu or cuda.", show_default="cpu")
    ] = None,
    gpu: Annotated[bool, typer.Option("--gpu", help="The same as --device cuda.")] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|DIR",
            help="tiny (2 layers), a model of the catalogue with --random-weights, or a directory or .gguf "
            "with weights.",
            show_default="tiny on a CPU, else the log's",
        ),
    ] = None,
    random_weights: Annotated[
        bool, typer.Option("--random-weights", help="Take only the shape of --model NAME.")
    ] = False,
    dtype: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="float32, bfloat16 or float16.",
            show_default="float32 on a CPU, else bfloat16",
        ),
    ] = None,
    matrix: Annotated[
        bool,
        typer.Option(
            "--matrix",
            help="FCFS, LPM and DFS-weight, each with the prompts as given, with the fixes applied, and with "
            "shuffled sections, in a pool under pressure.",
        ),
    ] = False,
    shuffle_sections: Annotated[
        bool,
        typer.Option("--shuffle-sections", help="Also with the sections of each prompt in random order."),
    ] = False,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Order of the waiting queue; repeat to compare.",
            show_default="the one that hits most in the simulation",
        ),
    ] = None,
    arrivals: Annotated[
        bool,
        typer.Option("--arrivals", help="At the log's times instead of as fast as possible."),
    ] = False,
    speedup: Annotated[
        float | None,
        typer.Option(metavar="X", help="With --arrivals: the log's time X times faster.", show_default="1"),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Requests in flight; 1 is strictly one after the other.",
            show_default="8, in a matrix 32, on a server 1",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Only the first N requests.",
            show_default="on a CPU what takes seconds, on a server all",
        ),
    ] = None,
    scale: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="K tokens of the log become one; the prefix tree keeps its shape.",
            show_default="1, on a CPU what takes seconds",
        ),
    ] = None,
    max_new: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Output tokens per request at most.",
            show_default="8 on a CPU, 16 on a server, else 128",
        ),
    ] = None,
    capacity: Annotated[
        int | None,
        typer.Option(
            metavar="TOKENS", help="KV pool.", show_default="never full; in a matrix under pressure"
        ),
    ] = None,
    page: Annotated[int, typer.Option(metavar="TOKENS", help="Page size.")] = 1,
    host_ratio: Annotated[
        float, typer.Option(metavar="X", help="Host tier of X times the pool.", show_default="no host tier")
    ] = 0.0,
    repeat: Annotated[int, typer.Option(metavar="N", help="Make each run N times; times are medians.")] = 1,
    backend: Annotated[str, typer.Option(metavar="NAME", help="Attention backend.")] = "auto",
    threads: Annotated[
        int | None, typer.Option(metavar="N", help="CPU threads.", show_default="what is faster")
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            metavar="GAP",
            help="Logit gap up to which a differing token is a tie.",
            show_default="0.001 in float32, 0.05 in float16, 0.25 in bfloat16",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 also if a claim is refuted.")] = False,
    seed: Annotated[
        int, typer.Option(metavar="N", help="For random weights, shuffled sections, random policies.")
    ] = 0,
    format: Format = None,
    tokenizer: Tokenizer = None,
    chat_template: ChatTemplate = None,
    output_tokens: Annotated[
        int,
        typer.Option(min=0, max=LONGEST_OUTPUT, help="Length of outputs for which the log has no length."),
    ] = 256,
    json: Json = False,
    out: Out = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> int:
    """Run a log on the bundled engine, with the cache off and on, or send it to a server: measured hits,
    times and tokens.
    """
    refuse_mixed(
        endpoint,
        {
            "--endpoint-model": endpoint_model is not None,
            "--api-key-env": api_key_env is not None,
            "--timeout": timeout is not None,
            "--retries": retries is not None,
        },
        {
            "--gpu": gpu,
            "--device": device is not None,
            "--model": model is not None,
            "--random-weights": random_weights,
            "--dtype": dtype is not None,
            "--matrix": matrix,
            "--shuffle-sections": shuffle_sections,
            "--policy": bool(policy),
            "--scale": scale is not None,
            "--capacity": capacity is not None,
            "--page": page != 1,
            "--host-ratio": host_ratio != 0,
            "--repeat": repeat != 1,
            "--backend": backend != "auto",
            "--threads": threads is not None,
            "--tolerance": tolerance is not None,
            "--strict": strict,
            "--seed": seed != 0,
        },
    )
    from radixadvisor.analysis import AnalyzeOptions
    from radixadvisor.report.write import DEFAULT_OUT, require_writable

    folder = out or DEFAULT_OUT
    reading = AnalyzeOptions(
        format=format,
        tokenizer=tokenizer,
        chat_template=chat_template,
        output_tokens=output_tokens,
        limit=limit,
    )
    if endpoint is not None:
        chosen = endpoint_options(
            endpoint,
            model=endpoint_model,
            key_name=api_key_env,
            timeout=timeout,
            retries=retries,
            arrivals=arrivals,
            speedup=speedup,
            concurrency=concurrency,
            limit=limit,
            max_new=max_new,
        )
        files = logs or last_log(folder)
        require_writable(folder)
        return replay_on_server(files, folder, reading, chosen, json=json, quiet=quiet, no_color=no_color)

    from radixadvisor.replaying.machine import require_device
    from radixadvisor.replaying.options import ReplayOptions

    if gpu and device not in (None, "cuda"):
        raise UsageError(f"--gpu is --device cuda, and --device {device} something else: give one of them.")
    options = ReplayOptions(
        device="cuda" if gpu else (device or "cpu").lower(),
        model=model,
        random_weights=random_weights,
        dtype=dtype,
        backend=backend,
        threads=threads,
        matrix=matrix,
        shuffled=shuffle_sections,
        policies=tuple(policy) if policy else None,
        arrivals=arrivals,
        speedup=1.0 if speedup is None else speedup,
        concurrency=concurrency,
        limit=limit,
        scale=scale,
        max_new=max_new,
        capacity=capacity,
        page=page,
        host_ratio=host_ratio,
        repeat=repeat,
        tolerance=tolerance,
        seed=seed,
    )
    files = logs or last_log(folder)
    require_writable(folder)
    names = " ".join(shlex.quote(name) for name in logs or [])
    require_device(
        options.device, " ".join(["radixadvisor replay", *([names] if names else []), "--device cpu"])
    )

    from radixadvisor.analysis import analyze_trace, open_trace
    from radixadvisor.commands.output import progress, stages
    from radixadvisor.replaying.conduct import replay_trace
    from radixadvisor.replaying.decision import foreseen

    with progress(quiet=quiet, no_color=no_color) as shown:
        trace, log = open_trace(files, dataclasses.replace(reading, progress=shown))
    with stages(quiet=quiet, no_color=no_color) as served:
        expected = foreseen(analyze_trace(trace, log, reading))
        found = replay_trace(trace, log, options, reading.tokens(), served, expected)
    _write(found, folder, quiet=quiet)
    _print(found, json=json, quiet=quiet, no_color=no_color)
    if not found.complete:
        return EXIT_INTERRUPTED
    return EXIT_FAILED if found.failed or (strict and found.refuted) else 0


def _write(found: Replay, folder: Path, *, quiet: bool) -> None:
    """A replay that was stopped before anything was measured leaves earlier results as they are."""
    from radixadvisor.commands.output import note
    from radixadvisor.commands.results import write_replay
    from radixadvisor.report.replay_json import to_json
    from radixadvisor.report.replay_markdown import HEADING, section

    if not found.runs:
        return
    written = write_replay(folder, found.files, to_json(found), HEADING, section(found))
    if not quiet:
        note("Wrote " + " and ".join(map(str, written)) + ".")


def _print(found: Replay, *, json: bool, quiet: bool, no_color: bool) -> None:
    from radixadvisor.commands.output import emit, screen

    if json:
        from radixadvisor.report.replay_json import to_json

        emit(to_json(found).decode())
    elif quiet:
        from radixadvisor.report.replay_words import quiet_line

        emit(quiet_line(found) + "\n")
    else:
        from radixadvisor.report.replay_terminal import render

        emit(render(found, screen(no_color=no_color)))
