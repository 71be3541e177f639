"""Token columns of a Parquet trace as rows: each list travels as packed int32 in base64, never as numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

__all__ = ["OUTPUT", "PROMPT", "is_token_trace", "token_rows"]

# The names under which rows hold the columns prompt_tokens and output_tokens.
PROMPT, OUTPUT = "prompt_tokens as int32", "output_tokens as int32"
_COLUMNS = {"prompt_tokens": PROMPT, "output_tokens": OUTPUT}


def is_token_trace(schema: pyarrow.Schema) -> bool:
    """Whether a file has the columns of a token trace: a request_id beside prompts as lists of integers."""
    import pyarrow as pa

    if not {"request_id", "prompt_tokens"} <= set(schema.names):
        return False
    kinds = [schema.field(name).type for name in _COLUMNS if name in schema.names]
    return all(_is_list(kind) and pa.types.is_integer(kind.value_type) for kind in kinds)


def _is_list(kind: pyarrow.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def token_rows(batch: pyarrow.RecordBatch) -> Iterator[dict[str, Any]]:
    """The rows of a batch, without columns that are null; tokens as bytes.

    Raises:
        pyarrow.ArrowException: a token id is missing or does not fit into 32 bits.
    """
    lists = {_COLUMNS[name]: _packed(batch.column(name)) for name in _COLUMNS if name in batch.schema.names}
    others = [name for name in batch.schema.names if name not in _COLUMNS]
    for row in batch.select(others).to_pylist():
        for name, sequences in lists.items():
            row[name] = next(sequences)
        yield {name: value for name, value in row.items() if value is not None}


def _packed(column: Any) -> Iterator[bytes | None]:
    import pyarrow as pa

    column = column.cast(pa.large_list(pa.int32()))
    values = column.values
    if values.null_count:
        raise pa.ArrowInvalid("a token id is null")
    tokens = memoryview(values.to_numpy()).cast("B") if len(values) else memoryview(b"")
    width = pa.int32().bit_width // 8
    for start, end, valid in zip(
        column.offsets[:-1].to_pylist(), column.offsets[1:].to_pylist(), column.is_valid(), strict=True
    ):
        yield bytes(tokens[start * width : end * width]) if valid.as_py() else None
