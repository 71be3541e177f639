"""``radixadvisor replay``: run a log on the bundled engine, and set what it measures against the advice."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from radixadvisor.commands.options import ChatTemplate, Format, Json, NoColor, Out, Quiet, Tokenizer
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
            show_default="8, in a matrix 32",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Only the first N requests.", show_default="on a CPU what takes seconds"
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
            metavar="N", help="Output tokens per request at most.", show_default="8 on a CPU, else 128"
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
    """Run a log on the bundled engine, with the cache off and on: measured hits, times and tokens."""
    from radixadvisor.replaying.machine import require_device
    from radixadvisor.replaying.options import ReplayOptions
    from radixadvisor.report.write import DEFAULT_OUT, require_writable

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
    folder = out or DEFAULT_OUT
    files = logs or _last_log(folder)
    require_writable(folder)
    names = " ".join(shlex.quote(name) for name in logs or [])
    require_device(
        options.device, " ".join(["radixadvisor replay", *([names] if names else []), "--device cpu"])
    )

    from radixadvisor.analysis import AnalyzeOptions, open_trace
    from radixadvisor.commands.output import progress, stages
    from radixadvisor.replaying.conduct import replay_trace

    with progress(quiet=quiet, no_color=no_color) as reading:
        reading_options = AnalyzeOptions(
            format=format,
            tokenizer=tokenizer,
            chat_template=chat_template,
            output_tokens=output_tokens,
            limit=limit,
            progress=reading,
        )
        trace, log = open_trace(files, reading_options)
    with stages(quiet=quiet, no_color=no_color) as served:
        found = replay_trace(trace, log, options, reading_options.tokens(), served)
    _write(found, folder, quiet=quiet)
    _print(found, json=json, quiet=quiet, no_color=no_color)
    if not found.complete:
        return EXIT_INTERRUPTED
    return EXIT_FAILED if found.failed or (strict and found.refuted) else 0


def _last_log(folder: Path) -> list[str]:
    """The files of the last report.

    Raises:
        UsageError: there is no report, or its log cannot be read a second time.
    """
    from radixadvisor.report.write import REPORT_FILE

    path = folder / REPORT_FILE
    again = "name a log, or run radixadvisor analyze LOG first."
    try:
        files = _files_of(path)
    except OSError as error:
        raise UsageError(f"No log is named, and there is no report at {path}: {again}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"No log is named, and {path} is no report that names one: {again}") from error
    if not files or "-" in files:
        raise UsageError(f"The report at {path} was made from standard input: name a log to replay.")
    return files


def _files_of(path: Path) -> list[str]:
    report: Any = json.loads(path.read_text(encoding="utf-8"))
    return [str(name) for name in report["input"]["files"]]


def _write(found: Replay, folder: Path, *, quiet: bool) -> None:
    """replay.json, and the section of the skill report if that is about the same log. A replay that was
    stopped before anything was measured leaves earlier results as they are.
    """
    from radixadvisor.commands.output import note
    from radixadvisor.report.replay_json import REPLAY_FILE, to_json
    from radixadvisor.report.replay_markdown import with_section
    from radixadvisor.report.write import REPORT_FILE, SKILL_FILE, is_example, write_file

    if not found.runs:
        return
    written = [write_file(folder / REPLAY_FILE, to_json(found), private=False)]
    skill = folder / SKILL_FILE
    try:
        same = _files_of(folder / REPORT_FILE) == list(found.files) and skill.is_file()
    except (OSError, ValueError, KeyError, TypeError):
        same = False
    if same and not is_example(skill):
        content = with_section(skill.read_text(encoding="utf-8"), found).encode()
        private = not skill.stat().st_mode & 0o044
        written.append(write_file(skill, content, private=private))
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
