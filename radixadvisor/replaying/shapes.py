"""Models of the catalogue that the bundled engine can run by their shape, with random weights."""

from __future__ import annotations

from functools import lru_cache

from radixengine.shapes import TINY, ModelShape

from radixadvisor import catalog

__all__ = ["find_shape", "shapes"]

_QKV_BIAS, _QK_NORM = "qwen2", "qwen3"
"""Beginnings of the names of models with these parts."""


@lru_cache(maxsize=1)
def shapes() -> dict[str, ModelShape]:
    """Every shape by the name of its model, and the tiny one."""
    found = {TINY.name: TINY}
    for entry in catalog.models():
        shape = _decoder(entry)
        if shape is not None:
            found[entry.name] = shape
    return found


def find_shape(name: str) -> ModelShape | None:
    """The shape of a model as a user or a log names it; None if it is not known, or not one to run here."""
    if name.lower() == TINY.name:
        return TINY
    entry = catalog.find_model(name)
    return None if entry is None else shapes().get(entry.name)


def _decoder(entry: catalog.Model) -> ModelShape | None:
    """The engine's shape of a model; None for experts, latent attention, windows and ungated MLPs, which the
    engine does not have. RoPE and norms keep the engine's defaults: with random weights they change nothing
    that is measured.
    """
    shape = entry.shape
    if shape.moe_layers or shape.kv_rank or shape.local_layers or not shape.gated:
        return None
    return ModelShape(
        name=entry.name,
        layers=shape.layers,
        hidden=shape.hidden,
        heads=shape.heads,
        kv_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        intermediate=shape.intermediate,
        vocab=shape.vocab,
        qkv_bias=entry.name.startswith(_QKV_BIAS),
        qk_norm=entry.name.startswith(_QK_NORM),
        tied=shape.tied,
    )
