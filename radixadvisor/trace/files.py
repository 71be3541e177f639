"""Traces as files: columns in Parquet, and hash traces as Mooncake and Bailian publish them.

A Parquet trace holds prompt tokens, from which text can be decoded: it is written for its owner's eyes only.
A hash trace holds neither text nor tokens: block hashes are salted, equal prefixes keep equal hashes, and so
the tree stays.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from radixadvisor.errors import UsageError
from radixadvisor.paths import replacing
from radixadvisor.trace.build import TOKEN_BYTES, Trace

_ROWS = 1024

UNITS = {"mooncake": 512, "bailian": 16}
"""Tokens per block of the published hash-trace dialects."""


def save_parquet(trace: Trace, path: Path) -> int:
    """Write a trace's columns, rows in input order; the number of rows.

    Columns: request_id, arrival (float seconds, null), session, namespace (strings, null), model,
    prompt_tokens and output_tokens (list<int32>), parameters (JSON text).

    Raises:
        UsageError: a hash trace has no tokens to save.
        OutputError: the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if any(request.blocks is not None for request in trace.requests):
        raise UsageError("A hash trace has no tokens to save as Parquet; convert it to mooncake or bailian.")
    tokens = pa.list_(pa.int32())
    columns = {
        "request_id": pa.string(),
        "arrival": pa.float64(),
        "session": pa.string(),
        "namespace": pa.string(),
        "model": pa.string(),
        "prompt_tokens": tokens,
        "output_tokens": tokens,
        "parameters": pa.string(),
    }
    schema = pa.schema(list(columns.items()))
    with (
        replacing(path, private=True) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd") as out,
    ):
        for start in range(0, len(trace.requests), _ROWS):
            rows = range(start, min(start + _ROWS, len(trace.requests)))
            out.write_table(pa.table(_columns(trace, rows), schema=schema))
    return len(trace.requests)


def _columns(trace: Trace, rows: range) -> dict[str, Any]:
    requests = [trace.requests[row] for row in rows]
    return {
        "request_id": [request.id for request in requests],
        "arrival": [request.arrival for request in requests],
        "session": [request.session for request in requests],
        "namespace": [json.dumps(request.namespace) if request.namespace else None for request in requests],
        "model": [request.model for request in requests],
        "prompt_tokens": _token_lists(trace.prompt(row) for row in rows),
        "output_tokens": _token_lists(trace.outputs[row] for row in rows),
        "parameters": [json.dumps(dict(request.parameters)) for request in requests],
    }


def _token_lists(sequences: Iterable[bytes]) -> Any:
    import numpy as np
    import pyarrow as pa

    parts = [np.frombuffer(sequence, np.int32) for sequence in sequences]
    offsets = np.cumsum([0, *(len(part) for part in parts)], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.concatenate(parts), pa.int32()))


def hash_rows(trace: Trace, dialect: str, salt: str) -> Iterator[dict[str, Any]]:
    """The rows of a hash trace, in order of arrival.

    Prompts are cut into blocks of the dialect's unit; a block's hash covers everything before it, its
    namespace and the salt, so that it reveals nothing, and equal prefixes of one namespace share hashes. A
    prompt's last block may be partial. Times count from the first request.

    Raises:
        UsageError: the trace is made of blocks of another size, or a timestamp is missing.
    """
    unit = UNITS[dialect]
    arrivals = trace.arrivals()
    if arrivals is None:
        raise UsageError(f"A {dialect} trace needs a timestamp with every request; this log lacks some.")
    if trace.unit not in (1, unit):
        raise UsageError(f"This trace has blocks of {trace.unit} tokens; {dialect} needs {unit}.")
    step = unit * TOKEN_BYTES if trace.unit == 1 else TOKEN_BYTES
    chats: dict[int, int] = {}
    turns: dict[int, int] = {}
    for position, index in enumerate(trace.order):
        ids = _chain(trace.prompt(index), step, f"{salt}\0{trace.namespace(index)}".encode())
        seconds = arrivals[position] - arrivals[0]
        lengths = {"input_length": trace.lengths[index], "output_length": trace.output_lengths[index]}
        if dialect == "mooncake":
            yield {"timestamp": round(seconds * 1000), **lengths, "hash_ids": ids}
            continue
        session = trace.sessions[index]
        chat, parent = position + 1, chats.get(session, -1)
        turn = turns[session] = turns.get(session, 0) + 1
        chats[session] = chat
        chain = {"chat_id": chat, "parent_chat_id": parent, "timestamp": round(seconds, 6)}
        yield {**chain, **lengths, "type": "text", "turn": turn, "hash_ids": ids}


def _chain(prompt: bytes, step: int, seed: bytes) -> list[int]:
    """63-bit hashes of a prompt's blocks, each keyed by everything before it."""
    ids = []
    parent = hashlib.blake2b(seed, digest_size=16).digest()
    for start in range(0, len(prompt), step):
        parent = hashlib.blake2b(prompt[start : start + step], digest_size=16, key=parent).digest()
        ids.append(int.from_bytes(parent[:8], "little") >> 1)
    return ids


def save_hashes(trace: Trace, path: Path, dialect: str, salt: str) -> int:
    """Write a Mooncake or Bailian hash trace as JSONL; the number of rows.

    Raises:
        UsageError: see ``hash_rows``.
        OutputError: the file cannot be written.
    """
    with replacing(path, private=False) as temporary, temporary.open("w", encoding="ascii") as out:
        for row in hash_rows(trace, dialect, salt):
            out.write(json.dumps(row) + "\n")
    return len(trace.requests)
