"""Models and cards for people and programs: tables, a page for each, and both as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from radixadvisor.catalog import Gpu, Model
from radixadvisor.predict.quote import Pin, PromptCost
from radixadvisor.predict.rates import cost_table
from radixadvisor.report.layout import Screen, grid
from radixadvisor.report.numbers import compact, count, percent

__all__ = [
    "GPUS_SCHEMA",
    "MODELS_SCHEMA",
    "gpu_page",
    "gpu_table",
    "gpus_json",
    "model_page",
    "model_table",
    "models_json",
]

MODELS_SCHEMA, GPUS_SCHEMA = "radixadvisor/models/1", "radixadvisor/gpus/1"

_UNVERIFIED = "? not read at the source"


def models_json(chosen: Sequence[Model], extra: Mapping[str, Any] | None = None) -> bytes:
    """All models as a list, or one with what was asked of it."""
    rows = [_model_row(entry) for entry in chosen]
    body = {"schema": MODELS_SCHEMA} | ({"models": rows} if extra is None else rows[0] | dict(extra))
    return (json.dumps(body, indent=2, ensure_ascii=True) + "\n").encode()


def gpus_json(chosen: Sequence[Gpu], *, page: bool) -> bytes:
    """All cards as a list, or with ``page`` the first one as an object."""
    rows = [asdict(card) for card in chosen]
    body: dict[str, Any] = {"schema": GPUS_SCHEMA} | (rows[0] if page else {"gpus": rows})
    return (json.dumps(body, indent=2, ensure_ascii=True) + "\n").encode()


def _model_row(entry: Model) -> dict[str, Any]:
    shape = entry.shape
    return {
        "name": entry.name,
        "parameters": entry.parameters,
        "active_parameters": shape.active,
        "published_parameters": entry.published,
        "kv_bytes_per_token": entry.kv_bytes_per_token,
        "attention_flops_per_pair_and_layer": shape.pair_flops,
        "weights": entry.weights,
        "expert_weights": entry.expert_weights,
        "shape": asdict(shape),
        "unverified": entry.unverified,
        "note": entry.note,
        "source": entry.source,
        "checked": entry.checked,
    }


def model_table(chosen: Sequence[Model], screen: Screen) -> str:
    """One line for each model."""
    table = grid("model", ">weights", ">active", ">KV/token", "attention", "as shipped")
    for entry in chosen:
        table.add_row(
            Text(entry.name + (" ?" if entry.unverified else ""), style="bold"),
            compact(entry.parameters),
            compact(entry.shape.active),
            f"{entry.kv_bytes_per_token:,}",
            Text(_attention(entry)),
            Text(entry.expert_weights),
        )
    legend = "KV per token in bytes, all layers, bf16. radixadvisor models NAME shows one, or a folder's."
    return screen.text([table, Text(""), Text(f"{_UNVERIFIED}. {legend}", style="dim")])


def _attention(entry: Model) -> str:
    shape = entry.shape
    kind = "latent" if shape.kv_rank else f"{shape.heads}/{shape.kv_heads} heads"
    if shape.local_layers:
        kind += f", {shape.local_layers} layers see {shape.window:,}"
    return kind


def model_page(
    entry: Model,
    screen: Screen,
    *,
    pin: Pin | None = None,
    card: str = "",
    pool: int | None = None,
    costs: Sequence[PromptCost] = (),
    hit_rate: float = 0.0,
) -> str:
    """One model, and what was asked of it: a pinned prefix, prompts on a card."""
    return screen.text(_model_page(entry, screen, pin, card, pool, costs, hit_rate))


def _model_page(
    entry: Model,
    screen: Screen,
    pin: Pin | None,
    card: str,
    pool: int | None,
    costs: Sequence[PromptCost],
    hit_rate: float,
) -> Iterator[RenderableType]:
    shape = entry.shape
    yield Text(screen.safe(entry.name), style="bold")
    table = grid("", "*", header=False)
    published = "" if entry.published is None else f"; published as {entry.published / 1e9:g} billion"
    experts = f"{shape.experts_per_token} of {shape.experts} in {shape.moe_layers} layers"
    rows = (
        ("parameters", f"{count(entry.parameters)}{published}"),
        ("of them active", count(shape.active)),
        ("experts", experts if shape.moe_layers else "none"),
        ("layers, hidden", f"{shape.layers}, {count(shape.hidden)}"),
        ("attention", _attention(entry)),
        ("KV per token", f"{count(entry.kv_bytes_per_token)} bytes in bf16"),
        ("weights", _shipped(entry)),
    )
    for name, value in rows:
        table.add_row(name, Text(value))
    yield table
    for words in (entry.note, entry.unverified and f"Not verified: {entry.unverified}"):
        if words:
            yield Text(screen.safe(f"{words[:1].upper()}{words[1:]}."), style="yellow")
    if pin is not None:
        yield Text("")
        yield Text(_pinned(pin))
    if card:
        yield Text("")
        yield from _prompts(card, pool, costs, hit_rate)
    yield Text("")
    checked = f", checked {entry.checked}" if entry.checked else ""
    yield Text(screen.safe(f"source: {entry.source}{checked}"), style="dim")


def _shipped(entry: Model) -> str:
    size = f"{entry.weight_bytes() / 2**30:,.1f} GiB"
    if entry.expert_weights != entry.weights:
        return f"{entry.weights}, experts {entry.expert_weights}: {size}"
    return f"{entry.weights}: {size}"


def _pinned(pin: Pin) -> str:
    kept = f"A prefix of {count(pin.tokens)} tokens kept resident takes {_size(pin.pinned)}"
    if pin.sequences < 2:
        return f"{kept}."
    return (
        f"{kept}; {count(pin.sequences)} sequences that each hold it without reuse take {_size(pin.copies)}."
    )


def _size(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"


def _prompts(
    card: str, pool: int | None, costs: Sequence[PromptCost], hit_rate: float
) -> Iterator[RenderableType]:
    room = "the weights do not fit" if pool is None else f"room for {count(pool)} tokens of KV"
    yield Text(f"On {card}: {room}.")
    table = grid(">prompt", ">attention", ">seconds", f">with {percent(hit_rate)} hits", ">faster")
    for cost in costs:
        table.add_row(
            count(cost.tokens),
            percent(cost.attention),
            f"{cost.seconds:.4f}",
            f"{cost.hit_seconds:.4f}",
            f"{cost.speedup:.2f}x",
        )
    yield table
    yield Text(
        "attention: its share of the FLOPs. Assumed shares of the card's peaks, one prompt alone.",
        style="dim",
    )


def gpu_table(chosen: Sequence[Gpu], screen: Screen) -> str:
    """One line for each card."""
    table = grid("card", ">GiB", ">GB/s", ">bf16 TFLOPS", ">fp8", ">host GB/s", ">link GB/s")
    for card in chosen:
        table.add_row(
            Text(card.name + (" ?" if card.unverified else ""), style="bold"),
            f"{card.memory_gib:g}",
            f"{card.bandwidth_gbps:,.0f}",
            f"{card.bf16_tflops:,.0f}",
            "-" if card.fp8_tflops is None else f"{card.fp8_tflops:,.0f}",
            f"{card.pcie_gbps:g}",
            f"{card.link_gbps:g}",
        )
    legend = "Dense peaks; links one way. Measure a card rather than trust it."
    return screen.text([table, Text(""), Text(f"{_UNVERIFIED}. {legend}", style="dim")])


def gpu_page(card: Gpu, screen: Screen) -> str:
    """One card, and the shares of its peaks that are assumed."""
    return screen.text(_gpu_page(card, screen))


def _gpu_page(card: Gpu, screen: Screen) -> Iterator[RenderableType]:
    yield Text(card.name, style="bold")
    table = grid("", "*", header=False)
    fp8 = "none" if card.fp8_tflops is None else f"{card.fp8_tflops:,.0f} TFLOPS dense"
    ridge = card.bf16_tflops * 1e3 / card.bandwidth_gbps
    for name, value in (
        ("memory", f"{card.memory_gib:g} GiB at {card.bandwidth_gbps:,.0f} GB/s"),
        ("bf16", f"{card.bf16_tflops:,.0f} TFLOPS dense"),
        ("fp8", fp8),
        ("ridge", f"{ridge:,.0f} FLOP per byte in bf16, at full peaks"),
        ("to the host", f"{card.pcie_gbps:g} GB/s one way"),
        ("to the next card", f"{card.link_gbps:g} GB/s one way"),
    ):
        table.add_row(name, Text(value))
    yield table
    for words in (card.note, card.unverified and f"Not verified: {card.unverified}"):
        if words:
            yield Text(f"{words[:1].upper()}{words[1:]}.", style="yellow")
    yield Text("")
    yield Text("Assumed where nothing is measured", style="bold cyan")
    yield screen.bullets(
        f"{name} {row['value']:g} ({row['low']:g} to {row['high']:g}): {row['source']}"
        for name, row in cost_table().items()
    ) or Text("")
    yield Text("")
    yield Text(screen.safe(f"source: {card.source}, checked {card.checked}"), style="dim")
