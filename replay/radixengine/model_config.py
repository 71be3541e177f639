"""From a Hugging Face config to a ModelShape; what the decoder could not compute is refused here."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from radixengine.shapes import Llama3Scaling, ModelShape

_KINDS = ("llama", "mistral", "qwen2", "qwen3")


class ModelError(Exception):
    """A model that cannot be read or is not of the supported kind; the message says what is wrong."""


def shape_of(config: Mapping[str, Any], name: str) -> ModelShape:
    """The shape that ``config`` (config.json, parsed) describes.

    Raises:
        ModelError: another architecture, a feature that would change what is computed, or values that make
            no shape.
    """
    kind = config.get("model_type")
    if kind not in _KINDS:
        raise ModelError(f"{name} is a {kind!r} model; this engine runs {', '.join(_KINDS)}.")
    try:
        _refuse(config, name, kind)
        theta, scaling = _rope(config, name)
        heads = int(config["num_attention_heads"])
        return ModelShape(
            name=name,
            layers=int(config["num_hidden_layers"]),
            hidden=int(config["hidden_size"]),
            heads=heads,
            kv_heads=int(config.get("num_key_value_heads") or heads),
            head_dim=int(config.get("head_dim") or config["hidden_size"] // heads),
            intermediate=int(config["intermediate_size"]),
            vocab=int(config["vocab_size"]),
            rope_theta=theta,
            rope_scaling=scaling,
            norm_eps=_positive(config.get("rms_norm_eps", 1e-6)),
            qkv_bias=kind == "qwen2",
            qk_norm=kind == "qwen3",
            tied=bool(config.get("tie_word_embeddings", False)),
            max_position=int(config.get("max_position_embeddings", 2048)),
        )
    except KeyError as error:
        raise ModelError(f"The config of {name} lacks {error}.") from error
    except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise ModelError(f"The config of {name} makes no shape: {error}.") from error


def _refuse(config: Mapping[str, Any], name: str, kind: str) -> None:
    """Raise for features that this decoder would silently leave out."""
    sliding = config.get("sliding_window") and config.get("use_sliding_window", kind == "mistral")
    if kind in ("mistral", "qwen2", "qwen3") and sliding:
        raise ModelError(f"{name} attends in sliding windows, which this engine does not do.")
    if config.get("attention_bias") or config.get("mlp_bias"):
        raise ModelError(f"{name} has biases in its projections that this engine does not know.")
    if config.get("hidden_act", "silu") != "silu":
        raise ModelError(f"{name} uses {config['hidden_act']!r}; this engine knows silu.")


def _rope(config: Mapping[str, Any], name: str) -> tuple[float, Llama3Scaling | None]:
    """Base and scaling, from ``rope_parameters`` or from the older ``rope_theta`` and ``rope_scaling``."""
    given = config.get("rope_parameters") or config.get("rope_scaling") or {}
    theta = _positive(given.get("rope_theta") or config.get("rope_theta") or 10_000.0)
    kind = given.get("rope_type") or given.get("type") or "default"
    if kind == "default":
        return theta, None
    if kind != "llama3":
        raise ModelError(f"{name} scales RoPE by {kind!r}; this engine knows llama3.")
    return theta, Llama3Scaling(
        factor=_positive(given["factor"]),
        low_freq_factor=_positive(given["low_freq_factor"]),
        high_freq_factor=_positive(given["high_freq_factor"]),
        original_max_position=int(given["original_max_position_embeddings"]),
    )


def _positive(value: Any) -> float:
    number = float(value)
    if not (isfinite(number) and number > 0):
        raise ValueError(f"{value!r} is no number above 0")
    return number
