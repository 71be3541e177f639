"""Decoders with weights: random ones by shape, or those of a model directory."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from radixengine.linear import Linear
from radixengine.model import Decoder, Layer
from radixengine.model_config import ModelError, shape_of
from radixengine.shapes import ModelShape

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["ModelError", "from_tensors", "load_model", "random_model"]

_DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def random_model(shape: ModelShape, *, device: str = "cpu", dtype: str = "float32", seed: int = 0) -> Decoder:
    """A decoder with random weights, the same for the same seed; token ids are folded into its vocabulary.

    The deviations keep activations of order one. Queries and keys are drawn four times as wide, so that
    attention is peaked and what is generated depends on the whole prompt.
    """
    where = torch.device(device)
    generator = torch.Generator(where).manual_seed(seed)

    def normal(rows: int, columns: int, deviation: float) -> Tensor:
        weight = torch.empty(rows, columns, dtype=_dtype(dtype), device=where)
        return weight.normal_(0.0, deviation, generator=generator)

    def ones(size: int) -> Tensor:
        return torch.ones(size, dtype=_dtype(dtype), device=where)

    hidden, inner, dim = shape.hidden, shape.intermediate, shape.head_dim
    unit = 1 / math.sqrt(hidden)
    queries, values = (shape.heads + shape.kv_heads) * dim, shape.kv_heads * dim
    layers = []
    for _ in range(shape.layers):
        qkv = normal(queries + values, hidden, unit)
        qkv[:queries] *= 4
        layers.append(
            Layer(
                input_norm=ones(hidden),
                qkv=Linear(qkv, normal(1, queries + values, 0.1)[0] if shape.qkv_bias else None),
                q_norm=ones(dim) if shape.qk_norm else None,
                k_norm=ones(dim) if shape.qk_norm else None,
                out=Linear(normal(hidden, shape.heads * dim, 1 / math.sqrt(shape.heads * dim))),
                mlp_norm=ones(hidden),
                gate_up=Linear(normal(2 * inner, hidden, unit)),
                down=Linear(normal(hidden, inner, 1 / math.sqrt(inner))),
            )
        )
    embed = normal(shape.vocab, hidden, unit)
    head = embed if shape.tied else normal(shape.vocab, hidden, unit)
    return Decoder(shape, embed, tuple(layers), ones(hidden), Linear(head), folds=True)


def load_model(path: Path, *, device: str = "cpu", dtype: str = "float32") -> Decoder:
    """The decoder in a Hugging Face directory (config.json and safetensors, sharded or not) or a .gguf file.

    A .gguf is read through transformers, which needs the packages ``gguf`` and ``accelerate``.

    Raises:
        ModelError: something is missing, or the model is none of the supported kind.
    """
    if path.suffix == ".gguf" and path.is_file():
        name, (config, tensors) = path.stem, _read_gguf(path)
    elif path.is_dir():
        name, (config, tensors) = path.resolve().name, _read_directory(path)
    else:
        raise ModelError(f"{path} is neither a model directory nor a .gguf file.")
    return from_tensors(shape_of(config, name), tensors, device=device, dtype=dtype)


def from_tensors(
    shape: ModelShape, tensors: Mapping[str, Tensor], *, device: str = "cpu", dtype: str = "float32"
) -> Decoder:
    """A decoder from weights under their Hugging Face names.

    Raises:
        ModelError: a weight is missing, has another size, or is one that the decoder would have to leave out.
    """
    left = dict(tensors)
    target, where = _dtype(dtype), torch.device(device)

    def take(name: str, *size: int) -> Tensor:
        if name not in left:
            raise ModelError(f"{shape.name} has no weight {name}.")
        weight = left.pop(name)
        if tuple(weight.shape) != size:
            raise ModelError(f"{name} of {shape.name} is {tuple(weight.shape)}, expected {size}.")
        return weight.to(device=where, dtype=target)

    layers = tuple(_layer(shape, f"model.layers.{number}.", take) for number in range(shape.layers))
    embed = take("model.embed_tokens.weight", shape.vocab, shape.hidden)
    norm = take("model.norm.weight", shape.hidden)
    if shape.tied:
        left.pop("lm_head.weight", None)
    head = embed if shape.tied else take("lm_head.weight", shape.vocab, shape.hidden)
    if over := sorted(name for name in left if not name.endswith("rotary_emb.inv_freq")):
        raise ModelError(f"{shape.name} has weights that this engine does not know: {', '.join(over[:3])}.")
    return Decoder(shape, embed, layers, norm, Linear(head))


def _layer(shape: ModelShape, at: str, take: Callable[..., Tensor]) -> Layer:
    hidden, inner, dim = shape.hidden, shape.intermediate, shape.head_dim
    sizes = {"q": shape.heads * dim, "k": shape.kv_heads * dim, "v": shape.kv_heads * dim}
    weights = [take(f"{at}self_attn.{name}_proj.weight", size, hidden) for name, size in sizes.items()]
    bias = None
    if shape.qkv_bias:
        bias = torch.cat([take(f"{at}self_attn.{name}_proj.bias", size) for name, size in sizes.items()])
    ends = [take(f"{at}mlp.{name}_proj.weight", inner, hidden) for name in ("gate", "up")]
    return Layer(
        input_norm=take(f"{at}input_layernorm.weight", hidden),
        qkv=Linear(torch.cat(weights), bias),
        q_norm=take(f"{at}self_attn.q_norm.weight", dim) if shape.qk_norm else None,
        k_norm=take(f"{at}self_attn.k_norm.weight", dim) if shape.qk_norm else None,
        out=Linear(take(f"{at}self_attn.o_proj.weight", hidden, sizes["q"])),
        mlp_norm=take(f"{at}post_attention_layernorm.weight", hidden),
        gate_up=Linear(torch.cat(ends)),
        down=Linear(take(f"{at}mlp.down_proj.weight", hidden, inner)),
    )


def _read_directory(path: Path) -> tuple[dict[str, object], dict[str, Tensor]]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not (path / "config.json").is_file():
        raise ModelError(f"{path} has no config.json.")
    config = _read_object(path / "config.json")
    index = path / "model.safetensors.index.json"
    if index.is_file():
        places = _read_object(index).get("weight_map")
        if not isinstance(places, dict):
            raise ModelError(f"{index} has no weight_map.")
        shards = sorted({str(shard) for shard in places.values()})
    else:
        shards = [file.name for file in sorted(path.glob("*.safetensors"))]
    if not shards:
        raise ModelError(f"{path} has no .safetensors file.")
    tensors: dict[str, Tensor] = {}
    for shard in shards:
        if not (path / shard).is_file():
            raise ModelError(f"{path} lacks its shard {shard}.")
        try:
            tensors.update(load_file(path / shard))
        except SafetensorError as error:
            raise ModelError(f"{path / shard} cannot be read: {error}.") from error
    return config, tensors


def _read_object(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"{path} is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise ModelError(f"{path} holds no JSON object.")
    return found


def _read_gguf(path: Path) -> tuple[dict[str, object], dict[str, Tensor]]:
    try:
        import accelerate  # noqa: F401
        import gguf  # noqa: F401
        from transformers import AutoModelForCausalLM
    except ImportError as error:
        raise ModelError(
            f"Reading {path.name} needs: pip install transformers gguf accelerate ({error})."
        ) from error
    try:
        model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    except (ValueError, KeyError, IndexError, NotImplementedError, struct.error) as error:
        raise ModelError(f"{path} cannot be read: {error}.") from error
    return model.config.to_dict(), model.state_dict()


def _dtype(name: str) -> torch.dtype:
    if name not in _DTYPES:
        raise ValueError(f"Unknown dtype {name!r}. Known: {', '.join(sorted(_DTYPES))}.")
    return _DTYPES[name]
