"""The shape of a model from the ``config.json`` that Hugging Face repositories carry."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from radixadvisor.catalog.shapes import Shape
from radixadvisor.errors import UsageError
from radixadvisor.paths import data_dir

__all__ = ["Configured", "read_config"]

_NAMES = {
    "layers": ("num_hidden_layers", "n_layer", "num_layers"),
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "heads": ("num_attention_heads", "n_head"),
    "vocab": ("vocab_size",),
}

_FOREIGN = {
    "state-space layers": ("ssm_state_size", "state_size", "mamba_d_state", "ssm_cfg", "mamba_d_ssm"),
    "linear attention": ("linear_num_value_heads", "linear_attn_config", "attn_type_list", "full_attn_idxs"),
    "recurrent layers": ("lru_width", "attention_hidden_size", "rescale_every"),
    "layers of several kinds": (
        "layers_block_type",
        "hybrid_override_pattern",
        "block_types",
        "hybrid_ratio",
    ),
    "sparse attention": ("index_topk", "index_n_heads", "sparse_attention_config"),
}


class _Known(NamedTuple):
    """``rules/architectures.toml``."""

    gated: frozenset[str]
    plain: frozenset[str]
    tied: frozenset[str]
    full_every: dict[str, int]

    def all(self) -> frozenset[str]:
        return self.gated | self.plain


@lru_cache(maxsize=1)
def _known() -> _Known:
    table = tomllib.loads((data_dir("rules") / "architectures.toml").read_text(encoding="utf-8"))
    gated, plain, tied = (frozenset(table[name]) for name in ("gated", "plain", "tied"))
    return _Known(gated, plain, tied, table["full_every"])


class Configured(NamedTuple):
    """What a configuration says: name, shape, precision of the weights and of the routed experts, and what
    was taken for granted.
    """

    name: str
    shape: Shape
    weights: str
    expert_weights: str
    note: str | None


def read_config(path: Path) -> Configured:
    """Read ``config.json``, given itself or its folder.

    Raises:
        UsageError: there is none, it is no model configuration, or its architecture is not modelled.
    """
    file = path / "config.json" if path.is_dir() else path
    try:
        whole = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(
            f"{path} holds no config.json; name a folder that does, or a model by name."
        ) from None
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise UsageError(f"{file} cannot be read as a model configuration: {error}.") from error
    if not isinstance(whole, dict):
        raise UsageError(f"{file} is no model configuration: a JSON object is needed.")
    text = next(
        (
            whole[key]
            for key in ("text_config", "llm_config", "language_config")
            if isinstance(whole.get(key), dict)
        ),
        whole,
    )
    try:
        return _configured(file, whole, text)
    except (ValueError, TypeError, ZeroDivisionError) as error:
        raise UsageError(f"{file}: {error}.") from error


def _configured(file: Path, whole: Mapping[str, Any], text: Mapping[str, Any]) -> Configured:
    kind = str(text.get("model_type") or whole.get("model_type") or "")
    kind = kind.removesuffix("_text")
    known = kind in _known().all()
    _require_modelled(file, kind, known, text)
    sizes = {name: _size(file, text, keys) for name, keys in _NAMES.items()}
    layers, hidden, heads = sizes["layers"], sizes["hidden"], sizes["heads"]
    latent = int(text.get("kv_lora_rank") or 0)
    head_dim = int(text.get("head_dim") or hidden // heads)
    window, local = _window(kind, text, layers)
    shape = Shape(
        **sizes,
        kv_heads=heads if latent else int(text.get("num_key_value_heads") or heads),
        head_dim=head_dim,
        tied=bool(text.get("tie_word_embeddings", whole.get("tie_word_embeddings", kind in _known().tied))),
        gated=kind not in _known().plain,
        kv_rank=latent,
        rope_dim=int(text.get("qk_rope_head_dim") or 0) if latent else 0,
        nope_dim=int(text.get("qk_nope_head_dim") or 0) if latent else 0,
        value_dim=int(text.get("v_head_dim") or head_dim) if latent else 0,
        q_rank=int(text.get("q_lora_rank") or 0) if latent else 0,
        window=window,
        local_layers=local,
        **_mlps(file, text, layers, hidden),
    )
    name = str(whole.get("_name_or_path") or "").rstrip("/").split("/")[-1] or file.resolve().parent.name
    notes = []
    if not known:
        notes.append(f"{kind or 'an unnamed architecture'} is taken to be built like Llama")
    if text is not whole:
        notes.append("only the language model is counted, not what encodes images or sound")
    weights, experts = _precisions(whole, text)
    return Configured(name, shape, weights, experts, "; ".join(notes) or None)


def _require_modelled(file: Path, kind: str, known: bool, text: Mapping[str, Any]) -> None:
    """Raises UsageError for what the formulas do not cover."""
    found = next((what for what, keys in _FOREIGN.items() if any(text.get(key) for key in keys)), None)
    types = {str(name) for name in text.get("layer_types") or ()}
    if types - {"full_attention", "sliding_attention", "chunked_attention"}:
        found = "layers of several kinds (" + ", ".join(sorted(types)) + ")"
    if text.get("is_encoder_decoder"):
        found = "an encoder"
    architectures = [str(name) for name in text.get("architectures") or ()]
    if (
        not known
        and architectures
        and not any("LM" in name or "Generation" in name for name in architectures)
    ):
        found = f"no language-model head ({', '.join(architectures)})"
    if found is not None:
        raise UsageError(
            f"{file}: {kind or 'this model'} has {found}, which the cost model does not cover. It "
            "covers decoders with full, grouped, latent or sliding-window attention: "
            f"{', '.join(sorted(_known().all()))}."
        )


def _size(file: Path, text: Mapping[str, Any], keys: tuple[str, ...]) -> int:
    for key in keys:
        if text.get(key):
            return int(text[key])
    raise UsageError(f"{file} does not say {keys[0]}: it is not the configuration of a decoder.")


def _mlps(file: Path, text: Mapping[str, Any], layers: int, hidden: int) -> dict[str, int]:
    """Widths of dense and routed MLPs, and how many layers have which."""
    width = int(text.get("intermediate_size") or text.get("n_inner") or text.get("ffn_dim") or 0)
    experts = next(
        (
            int(text[key])
            for key in ("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts")
            if text.get(key)
        ),
        0,
    )
    if experts < 2:
        if not width and "n_embd" in text:
            width = 4 * hidden
        if not width:
            raise UsageError(f"{file} does not say intermediate_size: the width of its MLP is not known.")
        return {"intermediate": width}
    narrow = int(text.get("moe_intermediate_size") or width)
    shared = int(text.get("n_shared_experts") or text.get("num_shared_experts") or 0) * narrow
    chosen = text.get("num_experts_per_tok") or text.get("num_experts_per_token") or text.get("moe_k")
    return {
        "intermediate": width,
        "moe_intermediate": narrow,
        "experts": experts,
        "experts_per_token": int(chosen or 0),
        "shared_intermediate": int(
            text.get("shared_expert_intermediate_size") or text.get("shared_intermediate_size") or shared
        ),
        "moe_layers": sum(_routed(text, layers)),
    }


def _routed(text: Mapping[str, Any], layers: int) -> Iterator[bool]:
    """Which layers have experts."""
    dense = int(text.get("first_k_dense_replace") or 0)
    every = int(text.get("decoder_sparse_step") or text.get("moe_layer_freq") or 1)
    only = set(text.get("mlp_only_layers") or ())
    for layer in range(layers):
        place = layer + 1 if text.get("decoder_sparse_step") else layer
        yield layer >= dense and layer not in only and place % every == 0


def _window(kind: str, text: Mapping[str, Any], layers: int) -> tuple[int, int]:
    """The window in tokens, and how many layers have it."""
    window = int(text.get("sliding_window") or text.get("attention_chunk_size") or 0)
    if not window or text.get("use_sliding_window") is False:
        return 0, 0
    types = text.get("layer_types")
    if types:
        local = sum(str(name) != "full_attention" for name in types)
    elif kind in _known().full_every or text.get("sliding_window_pattern"):
        pattern = text.get("sliding_window_pattern")
        every = len(pattern) if isinstance(pattern, str) else int(pattern or _known().full_every[kind])
        local = layers - layers // every
    elif text.get("use_sliding_window"):
        local = max(layers - int(text.get("max_window_layers") or 0), 0)
    else:
        local = layers
    return (window, local) if local else (0, 0)


def _precisions(whole: Mapping[str, Any], text: Mapping[str, Any]) -> tuple[str, str]:
    """Of the weights, and of the routed experts."""
    rule = whole.get("quantization_config") or text.get("quantization_config") or {}
    method = str(rule.get("quant_method") or "").lower()
    if method == "mxfp4":
        return "bf16", "mxfp4"
    groups = rule.get("config_groups")
    first: Mapping[str, Any] = next(iter(groups.values())) if isinstance(groups, dict) and groups else {}
    bits = rule.get("bits") or (first.get("weights") or {}).get("num_bits")
    if rule.get("load_in_4bit"):
        bits = 4
    if method == "fp8" or "fp8" in str(rule.get("quant_algo") or "").lower():
        return "fp8", "fp8"
    if bits == 4:
        return "int4", "int4"
    if bits == 8 or rule.get("load_in_8bit"):
        return "int8", "int8"
    return "bf16", "bf16"
