"""Bytes of a number, by precision."""

from __future__ import annotations

from radixadvisor.errors import UnknownName

__all__ = ["KV_BYTES", "WEIGHT_BYTES", "require_kv", "require_weights"]

KV_BYTES = {"bf16": 2, "fp16": 2, "fp8": 1, "fp32": 4, "int8": 1}
"""Bytes per stored KV value."""

WEIGHT_BYTES = {
    "bf16": 2.0,
    "fp16": 2.0,
    "fp32": 4.0,
    "fp8": 1.0,
    "int8": 1.0,
    "int4": 0.5,
    # Four bits and one byte of scale for each 32 of them.
    "mxfp4": 0.53125,
}
"""Bytes per weight."""


def require_kv(name: str) -> str:
    """The name in lower case.

    Raises:
        UnknownName: there is no such precision of a KV cache.
    """
    if name.lower() not in KV_BYTES:
        raise UnknownName("KV precision", name, KV_BYTES)
    return name.lower()


def require_weights(name: str) -> str:
    """The name in lower case.

    Raises:
        UnknownName: there is no such precision of weights.
    """
    if name.lower() not in WEIGHT_BYTES:
        raise UnknownName("weight precision", name, WEIGHT_BYTES)
    return name.lower()
