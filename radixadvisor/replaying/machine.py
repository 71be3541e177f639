"""The device and the model of a replay. Only here is torch loaded."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from radixengine.jobs import Job
from radixengine.shapes import TINY, ModelShape

from radixadvisor import catalog
from radixadvisor.errors import UnknownName, UsageError
from radixadvisor.replaying.expected import Setting
from radixadvisor.replaying.options import ReplayOptions

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
    if name is None:
        if options.device == "cpu":
            return ModelChoice(TINY.name, TINY, None, "")
        known = (catalog.find_model(model) for model in log_models)
        found = next((entry.name for entry in known if entry is not None and shape_named(entry.name)), None)
        name = found or _DEFAULT_ON_GPU
        why = "the log's model" if found else "the log's model has no shape that can run here"
        return ModelChoice(name, shape_named(name), None, f"{name} with random weights: {why}")
    if name.lower() == TINY.name:
        return ModelChoice(TINY.name, TINY, None)
    path = Path(name).expanduser()
    if path.exists():
        if options.random_weights:
            raise UsageError(
                f"{name} holds weights: leave out --random-weights, or name a model by its shape."
            )
        return ModelChoice(path.name, None, path)
    entry = catalog.find_model(name)
    shape = None if entry is None else shape_named(entry.name)
    if shape is None:
        raise UnknownName("model or directory", name, [TINY.name, *runnable()])
    if not options.random_weights:
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
        from radixengine.weights import load_model, random_model

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
                self._model = random_model(
                    choice.shape, device=self.device, dtype=self.dtype, seed=options.seed
                )
        except (OSError, ValueError, RuntimeError, KeyError) as error:
            raise UsageError(f"Cannot load {choice.name}: {_line(error)}") from error

    @property
    def shape(self) -> ModelShape:
        """The model's dimensions."""
        return self._model.shape

    def room(self, host_ratio: float) -> int:
        """Tokens of KV that the device's free memory takes, a host tier on the same memory included."""
        import torch

        if self.device == "cuda":
            free, share = torch.cuda.mem_get_info()[0], _MEMORY_SHARE["cuda"]
        else:
            free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
            share = _MEMORY_SHARE["cpu"] / (1 + host_ratio)
        return int(free * share) // self.shape.kv_bytes(_ITEM_BYTES[self.dtype])

    def facts(self) -> dict[str, Any]:
        """Device and model for a report."""
        import torch

        name = torch.cuda.get_device_name() if self.device == "cuda" else None
        return {
            "device": self.device,
            "device_name": name,
            "model": self.shape.name,
            "weights": "random" if self.random else "as given",
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


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if text.endswith(".") else f"{text}."


def runnable() -> list[str]:
    """Models of the catalogue whose shape the engine can run."""
    return [entry.name for entry in catalog.models() if shape_named(entry.name) is not None]


def shape_named(name: str) -> ModelShape | None:
    """The shape of a catalogue model; None where it is none that the engine runs."""
    return None
