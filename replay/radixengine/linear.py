"""Matrix products with fixed weights, laid out once for the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor

# The layout is chosen for this many rows; it serves any number.
_ROWS = 128


def _onednn() -> bool:
    return bool(torch.backends.mkldnn.is_available())  # type: ignore[no-untyped-call]


class Linear:
    """``x @ weight.T + bias`` for ``weight`` [out, in] and ``x`` [rows, in].

    On the CPU, float32 weights are kept in oneDNN's blocked layout: otherwise every call lays them out anew,
    which costs a third of the time at 50 rows.
    """

    __slots__ = ("_bias", "_packed", "_weight")

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self._bias = bias
        self._packed = (weight.device.type, weight.dtype) == ("cpu", torch.float32) and _onednn()
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight, _ROWS) if self._packed else weight

    def __call__(self, x: Tensor) -> Tensor:
        """[rows, out]."""
        if self._packed:
            out: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._weight, self._bias, "none", [], "")
            return out
        return functional.linear(x, self._weight, self._bias)
