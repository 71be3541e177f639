"""``radixadvisor models``: the models whose shape is known, and what one costs."""

from __future__ import annotations

from typing import Annotated

import typer

from radixadvisor.commands.options import Json, NoColor, Out, Quiet
from radixadvisor.commands.predicting import Mbu, Mfu, StepMs, TensorParallel, WeightDtype

__all__ = ["models"]


def models(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|DIR]",
            help="A model by name, or a folder with its config.json, for its page.",
            show_default=False,
        ),
    ] = None,
    pin: Annotated[
        int | None,
        typer.Option(min=1, metavar="TOKENS", help="What a prefix kept resident takes.", show_default=False),
    ] = None,
    sequences: Annotated[
        int, typer.Option(min=1, metavar="N", help="With --pin: beside so many copies of it.")
    ] = 16,
    gpu: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Prompts on this card, alone and with hits.", show_default=False),
    ] = None,
    hit_rate: Annotated[
        float, typer.Option(metavar="SHARE", help="With --gpu: the share of a prompt that is cached.")
    ] = 0.9,
    prompt: Annotated[
        list[int] | None,
        typer.Option(
            metavar="TOKENS",
            help="With --gpu: lengths of prompts; repeatable.",
            show_default="1000, 8000, 32000, 128000",
        ),
    ] = None,
    kv_dtype: Annotated[str, typer.Option(metavar="NAME", help="Precision of the KV cache.")] = "bf16",
    weight_dtype: WeightDtype = None,
    tp: TensorParallel = None,
    mfu: Mfu = None,
    mbu: Mbu = None,
    step_ms: StepMs = None,
    json: Json = False,
    out: Out = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """List the models whose shape is known, or show one: weights, KV, and what prompts cost on a card."""
    from dataclasses import asdict, replace

    from radixadvisor import catalog
    from radixadvisor.commands.output import emit, note, screen
    from radixadvisor.errors import UsageError
    from radixadvisor.predict.quote import LENGTHS, pin_of, pool_beside, prompt_costs
    from radixadvisor.predict.rates import default_rates
    from radixadvisor.predict.roofline import Roofline
    from radixadvisor.report.catalog import model_page, model_table, models_json
    from radixadvisor.report.write import write_file

    if name is None and (pin is not None or gpu is not None):
        raise UsageError("--pin and --gpu are about one model: name it, as in 'models llama-3.1-8b'.")
    if step_ms is not None and step_ms <= 0:
        raise UsageError("A pass is never free: --step-ms must be above 0.")
    chosen = list(catalog.models()) if name is None else [catalog.model(name)]
    pinned = None if pin is None else pin_of(chosen[0], catalog.require_kv(kv_dtype), pin, sequences)
    card, pool, costs = "", None, []
    if gpu is not None:
        named = {"mfu": mfu, "mbu": mbu, "step_overhead": None if step_ms is None else step_ms / 1000}
        rates = replace(default_rates(), **{key: value for key, value in named.items() if value is not None})
        roofline = Roofline(chosen[0], catalog.gpu(gpu), rates, tp or 1, weight_dtype, kv_dtype)
        card = f"{tp} x {roofline.gpu.name}" if tp and tp > 1 else roofline.gpu.name
        pool = pool_beside(roofline)
        costs = prompt_costs(roofline, hit_rate, tuple(prompt or LENGTHS))
    extra = None
    if name is not None:
        extra = {
            "pin": None if pinned is None else asdict(pinned),
            "gpu": card or None,
            "pool_tokens": pool,
            "hit_rate": hit_rate if costs else None,
            "prompts": [asdict(cost) | {"speedup": cost.speedup} for cost in costs],
        }
    content = models_json(chosen, extra)
    if out is not None:
        written = write_file(out / "models.json", content, private=False)
        if not quiet:
            note(f"Wrote {written}.")
    if json:
        emit(content.decode())
    elif quiet:
        emit("".join(f"{entry.name} {entry.kv_bytes_per_token}\n" for entry in chosen))
    elif name is None:
        emit(model_table(chosen, screen(no_color=no_color)))
    else:
        shown = screen(no_color=no_color)
        emit(model_page(chosen[0], shown, pin=pinned, card=card, pool=pool, costs=costs, hit_rate=hit_rate))
