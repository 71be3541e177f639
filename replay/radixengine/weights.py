"""Decoders with weights: random ones by shape, or those of a model directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from radixengine.shapes import ModelShape

if TYPE_CHECKING:
    from radixengine.model import Decoder


def random_model(shape: ModelShape, *, device: str = "cpu", dtype: str = "float32", seed: int = 0) -> Decoder:
    """A decoder with random weights, the same for the same seed; token ids are folded into its vocabulary."""
    raise NotImplementedError


def load_model(path: Path, *, device: str = "cpu", dtype: str = "float32") -> Decoder:
    """The decoder in a Hugging Face directory (config.json, safetensors, sharded or not), or in one .gguf."""
    raise NotImplementedError
