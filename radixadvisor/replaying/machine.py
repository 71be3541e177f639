"""The device and the model of a replay. Only here is torch loaded."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from radixengine.jobs import Job
from radixengine.shapes import TINY, ModelShape

from radixadvisor.errors import UnknownName, UsageError
from radixadvisor.replaying.expected import Setting
from radixadvisor.replaying.options import ReplayOptions
from radixadvisor.replaying.shapes import find_shape, shapes

if TYPE_CHECKING:
    from radixengine.results import EngineRun

__all__ = ["Machine", "ModelChoice", "choose_model", "require_device"]

_ITEM_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
_DEFAULT_ON_GPU = "llama-3.1-8b"
_MEMORY_SHARE = {"cpu": 0.4, "cuda": 0.85}
"""The share of the memory that is free beside the model which KV may take."""


def require_device(device: str, again: str) -> None:
    """Find out at once that there is nothing to compute on.

    Args:
        device: ``cpu`` or ``cuda``.
        again: the command line that replays on the CPU.

    Raises:
        UsageError: torch is not installed, or it sees no CUDA device.
    """
    # torch swallows an interrupt that comes while it loads numpy itself, and leaves half of it loaded.
    import numpy as np  # noqa: F401

    try:
        import torch
    except ImportError as error:
        raise UsageError("replay runs a model and needs torch: pip install 'radixadvisor[replay]'") from error
    if device == "cuda" and not torch.cuda.is_available():
        raise UsageError(f"No CUDA device is visible to torch here; on the CPU it is: {again}")


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model by its shape, or by the place of its weights. ``note`` says what was chosen unasked."""

    name: str
    shape: ModelShape | None
    path: Path | None
    note: str = ""


def choose_model(options: ReplayOptions, log_models: Sequence[str]) -> ModelChoice:
    """The model to run.

    Args:
        options: what the user chose.
        log_models: models that the log names, the most frequent first.

    Raises:
        UsageError: the name is no known shape, or has no weights here.
    """
    name = options.model
    if name is None and options.device == "cpu":
        return ModelChoice(TINY.name, TINY, None)
    if name is None:
        found = next((shape for model in log_models if (shape := find_shape(model)) is not None), None)
        shape = found or shapes()[_DEFAULT_ON_GPU]
        why = "the log's model" if found else "the log's model is none that can run here by its shape"
        return ModelChoice(shape.name, shape, None, f"{shape.name} with random weights: {why}")
    path = Path(name).expanduser()
    if name.lower() != TINY.name and path.exists():
        if options.random_weights:
            raise UsageError(
                f"{name} holds weights: leave out --random-weights, or name a model by its shape."
            )
        return ModelChoice(path.name, None, path)
    shape = find_shape(name)
    if shape is None:
        raise UnknownName("model, or directory with weights,", name, shapes())
    if shape is not TINY and not options.random_weights:
        raise UsageError(
            f"{shape.name} is known by its shape alone: give the directory that holds its weights, or "
            "--random-weights."
        )
    return ModelChoice(shape.name, shape, None)


class Machine:
    """A loaded model that serves jobs under any setting.

    Raises:
        UsageError: the weights cannot be read, or the device cannot hold them.
    """

    def __init__(self, options: ReplayOptions, choice: ModelChoice) -> None:
        from radixengine.weights import ModelError, load_model, random_model

        self.device = options.device
        self.dtype = options.dtype or ("float32" if options.device == "cpu" else "bfloat16")
        self.backend = options.backend
        self.threads = options.threads
        self.random = choice.path is None
        try:
            if choice.path is not None:
                self._model = load_model(choice.path, device=self.device, dtype=self.dtype)
            else:
                assert choice.shape is not None
                self._require_memory(choice.shape)
                self._model = random_model(
                    choice.shape, device=self.device, dtype=self.dtype, seed=options.seed
                )
        except (ModelError, OSError, ValueError, RuntimeError, KeyError) as error:
            raise UsageError(f"Cannot load {choice.name}: {_line(error)}") from error

    @property
    def shape(self) -> ModelShape:
        """The model's dimensions."""
        return self._model.shape

    def room(self, host_ratio: float) -> int:
        """Tokens of KV that the device's free memory takes, a host tier on the same memory included."""
        share = _MEMORY_SHARE[self.device] / (1 + host_ratio if self.device == "cpu" else 1)
        return int(self._free() * share) // self.shape.kv_bytes(_ITEM_BYTES[self.dtype])

    def _free(self) -> int:
        """Bytes of memory that the device has left."""
        import torch

        if self.device == "cuda":
            return int(torch.cuda.mem_get_info()[0])
        return _available_memory()

    def _require_memory(self, shape: ModelShape) -> None:
        """Raises UsageError if the weights alone are more than what is free."""
        weights = shape.linear_params + shape.vocab * shape.hidden * (1 if shape.tied else 2)
        need, free = weights * _ITEM_BYTES[self.dtype], self._free()
        if need > free:
            raise UsageError(
                f"{shape.name} needs {need / 2**30:.1f} GiB for its weights in {self.dtype}; {self.device} "
                f"has {free / 2**30:.1f} free: name a smaller model, or another --dtype."
            )

    def facts(self) -> dict[str, Any]:
        """Device and model for a report."""
        import torch

        name = torch.cuda.get_device_name() if self.device == "cuda" else None
        return {
            "device": self.device,
            "device_name": name,
            "model": self.shape.name,
            "weights": "random" if self.random else "own",
            "dtype": self.dtype,
            "backend": self.backend,
            "threads": self.threads,
            "torch": str(torch.__version__),
        }

    def run(
        self,
        jobs: Sequence[Job],
        setting: Setting,
        progress: Callable[[int], None] | None = None,
    ) -> EngineRun:
        """Serve the jobs from an empty cache.

        Raises:
            UsageError: the engine cannot serve them so.
        """
        from radixengine.engine import Engine

        try:
            options = setting.engine(self.backend, self.threads)
            run = Engine(self._model, options).run(
                jobs,
                at_arrivals=setting.clients is None,
                in_flight=setting.clients,
                progress=progress,
            )
        except ValueError as error:
            raise UsageError(f"The engine cannot serve this log so: {_line(error)}") from error
        # Later runs take the same threads and kernels: tokens and times are compared between runs.
        self.threads, self.backend = run.threads, run.backend
        return run


def _available_memory() -> int:
    """Bytes of memory that can be had without swapping; all there is where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if text.endswith(".") else f"{text}."
