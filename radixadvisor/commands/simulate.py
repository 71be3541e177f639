"""``radixadvisor simulate``: what a log would get from a real cache."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from radixadvisor.commands.options import ChatTemplate, Format, Json, Logs, NoColor, Out, Quiet, Tokenizer
from radixadvisor.errors import UnknownName, UsageError
from radixadvisor.records import LONGEST_OUTPUT

if TYPE_CHECKING:
    from radixadvisor.commands.runs import Setting
    from radixadvisor.predict.roofline import Roofline

__all__ = ["simulate"]

RESULT_FILE = "simulate.json"


def simulate(
    logs: Logs,
    engine: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="sglang, sglang-0.5.8, vllm, trtllm or none; repeat to compare.",
            show_default="sglang",
        ),
    ] = None,
    capacity: Annotated[
        int | None,
        typer.Option(metavar="TOKENS", help="KV pool of each replica.", show_default="never full"),
    ] = None,
    num_gpu_blocks: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="The same as vLLM counts it, null block included.", show_default=False
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|DIR",
            help="With --gpu: the pool beside this model, and the seconds of its passes.",
            show_default=False,
        ),
    ] = None,
    gpu: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="With --model: the pool on this card, and its roofline for seconds.",
            show_default=False,
        ),
    ] = None,
    kv_dtype: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --gpu: precision of the KV cache.", show_default="bf16"),
    ] = None,
    tp: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="With --gpu: cards that share the model.", show_default="1"),
    ] = None,
    page: Annotated[
        int | None, typer.Option(metavar="TOKENS", help="Page or block size.", show_default="the engine's")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="fcfs, lpm, dfs-weight, lof, random or shortest-prefill-first; repeat to compare.",
            show_default="the engine's",
        ),
    ] = None,
    evict: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="lru, lfu, fifo, filo, mru, slru or priority, in a radix cache.",
            show_default="the engine's",
        ),
    ] = None,
    replicas: Annotated[
        int | None, typer.Option(metavar="N", help="Engines with a pool of their own.", show_default="1")
    ] = None,
    route: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="round-robin, random, sticky, prefix-hash, cache-aware or logged.",
            show_default="round-robin",
        ),
    ] = None,
    host_ratio: Annotated[
        float | None,
        typer.Option(metavar="X", help="Host tier of X times the pool.", show_default="no host tier"),
    ] = None,
    pin: Annotated[
        int | None,
        typer.Option(
            metavar="TOKENS", help="Also with the heaviest branches kept resident.", show_default="none"
        ),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="So many clients instead of the log's arrivals; 1 is strictly one request after the other.",
            show_default="the log's arrivals",
        ),
    ] = None,
    speedup: Annotated[
        float | None, typer.Option(metavar="X", help="Pass the log's time X times faster.", show_default="1")
    ] = None,
    shuffle_sections: Annotated[
        bool,
        typer.Option("--shuffle-sections", help="Also with the sections of each prompt in random order."),
    ] = False,
    sampled: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="The log holds this share of the traffic.", show_default="1"),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="For random routes and policies.", show_default="0")
    ] = None,
    hosted: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A hosted API instead of an engine: openai, anthropic, gemini, deepseek or bedrock.",
            show_default=False,
        ),
    ] = None,
    ttl: Annotated[
        str | None,
        typer.Option(
            metavar="SECONDS|NAME", help="Lifetime in the hosted API's cache.", show_default="the API's"
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also write one row per request: *.csv or *.parquet.", show_default=False
        ),
    ] = None,
    format: Format = None,
    tokenizer: Tokenizer = None,
    chat_template: ChatTemplate = None,
    output_tokens: Annotated[
        int,
        typer.Option(min=0, max=LONGEST_OUTPUT, help="Length of outputs for which the log has no length."),
    ] = 256,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N requests.", show_default=False)
    ] = None,
    json: Json = False,
    out: Out = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Simulate what a log would get from an engine's cache and scheduler, or from a hosted API's cache."""
    from radixadvisor.analysis import AnalyzeOptions, open_trace
    from radixadvisor.analysis.shuffled import shuffled
    from radixadvisor.commands.output import emit, note, progress, screen
    from radixadvisor.commands.runs import study_of
    from radixadvisor.report.study import require_exportable, to_json, write_export
    from radixadvisor.report.write import DEFAULT_OUT, require_other, require_writable, write_file

    roofline = _roofline(model, gpu, kv_dtype, tp)
    shaping = {
        "capacity": capacity if roofline is None else _pool(roofline, capacity, num_gpu_blocks),
        "num_gpu_blocks": num_gpu_blocks,
        "page": page,
        "evict": evict,
        "replicas": replicas,
        "route": route,
        "host_ratio": host_ratio,
        "pin": pin,
        "concurrency": concurrency,
        "sampled": sampled,
        "seed": seed,
    }
    if hosted is not None:
        settings = _hosted(hosted, ttl, speedup, {"engine": engine, "policy": policy, **shaping})
    elif ttl is not None:
        raise UsageError(
            "--ttl is a hosted API's lifetime: give --hosted NAME too; an engine's cache has none."
        )
    else:
        settings = _engines(engine or ["sglang"], policy or [None], speedup, shaping, roofline)
    if export is not None:
        asked = len(settings) // (2 if pin else 1) * (2 if shuffle_sections else 1)
        require_exportable(export, asked)
        require_writable(export.parent)
    folder = out or DEFAULT_OUT
    require_writable(folder)

    with progress(quiet=quiet, no_color=no_color) as report_progress:
        trace_options = AnalyzeOptions(
            format=format,
            tokenizer=tokenizer,
            chat_template=chat_template,
            output_tokens=output_tokens,
            limit=limit,
            progress=report_progress,
        )
        trace, log = open_trace(logs, trace_options)
    if export is not None:
        require_other(export, log.paths)
    shared = {
        "hosted": hosted,
        "ttl": ttl,
        "speedup": speedup,
        "shuffle_sections": shuffle_sections,
        "model": model,
        "gpu": gpu,
        "kv_dtype": kv_dtype,
        "tensor_parallel": tp,
        **shaping,
    }
    other = shuffled(trace, trace_options.tokens(), seed or 0) if shuffle_sections else None
    study = study_of(trace, log, settings, shared, other)
    content = to_json(study)
    written = [write_file(folder / RESULT_FILE, content, private=False)]
    if export is not None:
        written.append(write_export(study, export))
    if not quiet:
        note("Wrote " + " and ".join(map(str, written)) + ".")
    if json:
        emit(content.decode())
        return
    from radixadvisor.report.study_terminal import quiet_line, render

    emit(quiet_line(study) + "\n" if quiet else render(study, screen(no_color=no_color)))


def _roofline(model: str | None, gpu: str | None, kv_dtype: str | None, cards: int | None) -> Roofline | None:
    """The model on its card; None if neither is named.

    Raises:
        UsageError: one comes without the other, or a name is not known.
    """
    if model is None and gpu is None:
        for option, value in (("--kv-dtype", kv_dtype), ("--tp", cards)):
            if value is not None:
                raise UsageError(f"{option} is about a pool on a card: give --model NAME and --gpu NAME too.")
        return None
    if model is None or gpu is None:
        raise UsageError("A pool on a card takes both --model NAME and --gpu NAME.")
    from radixadvisor import catalog
    from radixadvisor.predict.rates import default_rates
    from radixadvisor.predict.roofline import Roofline

    precision = catalog.require_kv(kv_dtype or "bf16")
    return Roofline(
        catalog.model(model), catalog.gpu(gpu), default_rates(), cards or 1, weights=None, kv=precision
    )


def _pool(roofline: Roofline, capacity: int | None, blocks: int | None) -> int:
    """Tokens of KV that the card has beside the model.

    Raises:
        UsageError: the pool is given as well, or the model does not fit.
    """
    if capacity is not None or blocks is not None:
        raise UsageError("--model with --gpu sizes the pool; leave out --capacity and --num-gpu-blocks.")
    from radixadvisor import catalog

    return catalog.pool_tokens(
        roofline.model, roofline.gpu, kv_dtype=roofline.kv, tensor_parallel=roofline.tensor_parallel
    )


def _engines(
    names: list[str],
    policies: list[str] | list[None],
    speedup: float | None,
    shaping: dict[str, Any],
    roofline: Roofline | None,
) -> list[Setting]:
    """One run for each engine with each policy, on the roofline's seconds if there is one.

    Raises:
        UsageError: an option does not fit an engine, or contradicts another.
    """
    from radixadvisor.commands.runs import EngineSetting
    from radixadvisor.simulate.options import Options, capacity_of_blocks
    from radixadvisor.simulate.profiles import BLOCKS, engine
    from radixadvisor.simulate.routes import ROUTES

    given = {name: value for name, value in shaping.items() if value is not None}
    blocks = given.pop("num_gpu_blocks", None)
    if blocks is not None and "capacity" in given:
        raise UsageError("--capacity and --num-gpu-blocks both size the pool: give one of them.")
    if "route" in given and given["route"] not in ROUTES:
        raise UnknownName("route", given["route"], ROUTES)
    if "route" in given and given.get("replicas", 1) == 1:
        raise UsageError("--route chooses among replicas: give --replicas 2 or more.")
    if speedup is not None:
        if given.get("concurrency") is not None:
            raise UsageError("--speedup shortens the log's arrivals, which --concurrency does not follow.")
        given["speedup"] = speedup
    if roofline is not None:
        from radixadvisor.predict.executor import CostExecutor

        given["cost"] = CostExecutor(roofline)
    settings: list[Setting] = []
    for name in names:
        profile = engine(name)
        if blocks is not None:
            if profile.cache != BLOCKS:
                raise UsageError(
                    f"--num-gpu-blocks sizes a block cache; {profile.name} takes --capacity TOKENS."
                )
            given["capacity"] = capacity_of_blocks(blocks, given.get("page") or profile.page)
        for policy in policies:
            options = Options(policy=policy, **given)
            options.applied_to(profile)
            if options.pin:
                settings.append(EngineSetting(profile, replace(options, pin=0)))
            settings.append(EngineSetting(profile, options, " pinned" if options.pin else ""))
    return settings


def _hosted(name: str, ttl: str | None, speedup: float | None, others: dict[str, Any]) -> list[Setting]:
    """A run of a hosted API.

    Raises:
        UsageError: an option of an engine was given as well, or the lifetime is none of the API's.
    """
    from radixadvisor.commands.runs import HostedSetting
    from radixadvisor.simulate.hosted import HostedOptions
    from radixadvisor.simulate.hosted_profiles import provider

    profile = provider(name)
    foreign = [f"--{option.replace('_', '-')}" for option, value in others.items() if value is not None]
    if foreign:
        raise UsageError(
            f"--hosted leaves nothing for {', '.join(foreign)}: those shape an engine of one's own."
        )
    lifetime: float | str | None = ttl
    if ttl is not None:
        try:
            lifetime = float(ttl)
        except ValueError:
            lifetime = ttl
    if speedup is not None and not 0 < speedup < float("inf"):
        raise UsageError(f"--speedup must be above 0 (2 is twice as fast as the log), not {speedup:g}.")
    return [HostedSetting(profile, HostedOptions(lifetime=lifetime, speedup=speedup or 1.0))]
