"""What a forward pass attends to, and what a backend has to do with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor


class Extend(NamedTuple):
    """``tokens`` new rows of one sequence behind the cached positions whose slots are ``context``."""

    tokens: int
    context: NDArray[Any]


class Layout(NamedTuple):
    """The rows of one forward pass: those of each extend one after the other, then one per decode.

    ``decodes`` holds for each decoding sequence the slots of all its positions, the new one included.
    ``slots`` is the slot of every row, where its KV is put before attention reads it. All int32.
    """

    extends: tuple[Extend, ...]
    decodes: tuple[NDArray[Any], ...]
    slots: NDArray[Any]

    @property
    def extended(self) -> int:
        """Rows that belong to extends."""
        return len(self.slots) - len(self.decodes)


class Attention(Protocol):
    """A backend. ``plan`` is called once per pass, ``attend`` once per layer, with KV already stored."""

    name: str

    def plan(self, layout: Layout) -> Any:
        """Whatever the layers of this pass have in common."""

    def attend(self, plan: Any, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Causal attention of every row over its sequence.

        Shapes: ``q`` [rows, heads, head_dim], ``k`` and ``v`` [rows, kv_heads, head_dim] (the new KV, which
        is in the slots as well); the result is [rows, heads * head_dim]. Head ``h`` reads KV head
        ``h // (heads // kv_heads)``.
        """
