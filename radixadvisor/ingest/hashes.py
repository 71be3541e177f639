"""Prompts that a trace keeps as block hashes only."""

from __future__ import annotations

from radixadvisor.records import Blocks, Output

from .raw import Fields, Unusable, integers, number

__all__ = ["blocks_of", "length_of"]


def blocks_of(record: Fields, unit: int) -> Blocks:
    """The blocks under ``hash_ids``, the last of them partial as ``input_length`` says.

    Raises:
        Unusable: no block ids, ids that are no integers, or a length that needs another number of blocks.
    """
    raw = record.get("hash_ids")
    ids = integers(raw) if raw is not None else None
    if ids is None:
        raise Unusable("no block hashes", "hash_ids is missing or no list of integers")
    length = number(record.get("input_length"))
    tokens = len(ids) * unit if length is None else int(length)
    if not ids or tokens <= 0:
        raise Unusable("empty prompt")
    if -(-tokens // unit) != len(ids):
        detail = f"{len(ids)} blocks of {unit} tokens, length {tokens}"
        raise Unusable("block count does not fit the length", detail)
    return Blocks(tuple(ids), unit, tokens)


def length_of(record: Fields) -> Output | None:
    """The output, known by its length alone."""
    length = number(record.get("output_length"))
    return Output(length=int(length)) if length is not None and length >= 0 else None
