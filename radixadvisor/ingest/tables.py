"""CSV and Parquet tables as JSON records: one per row, with the columns as keys."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from radixadvisor.errors import UsageError

from .files import ByteStream
from .framing import LONGEST, Frame, is_json
from .names import holds_prompt, is_known, plain
from .token_columns import is_token_trace, token_rows

__all__ = ["csv_frames", "delimiter", "parquet_frames"]

_DELIMITERS = (",", "\t", ";", "|")
_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst")
# Columns that hold what a person or a model wrote: text that looks like JSON is still text there.
_TEXTUAL = (
    *("prompt", "text", "input", "inputs", "query", "response", "output"),
    *("completion", "answer", "generatedtext", "outputtext"),
)
_ABSENT = ("", "NULL", "\\N", "None", "nan", "NaN", "null")
_BATCH = 256  # rows; prompts can be megabytes


def delimiter(name: str, head: bytes) -> str | None:
    """What separates the columns of a CSV, or None where the head is no CSV header."""
    line = head.lstrip().split(b"\n", 1)[0].decode(errors="replace").strip("\r")
    if not line or line[0] in "{[":
        return None
    widest = max(_DELIMITERS, key=line.count)
    try:
        columns = next(csv.reader([line], delimiter=widest), [])
    except csv.Error:
        return None
    if any(map(holds_prompt, columns)) and sum(map(is_known, columns)) * 2 >= len(columns):
        return widest
    return widest if name.lower().endswith(_SUFFIXES) else None


def _value(column: str, cell: str) -> bytes:
    text = cell.strip()
    if text[:1] in ("{", "[") and plain(column) not in _TEXTUAL and is_json(data := text.encode()):
        return data
    return msgspec.json.encode(cell)


def csv_frames(stream: ByteStream, separator: str) -> Iterator[Frame]:
    """The rows of a CSV whose first row names the columns. ``line`` is where a row begins."""
    csv.field_size_limit(LONGEST)
    rows = csv.reader(_text_lines(stream), delimiter=separator)
    header: list[bytes] = []
    columns: list[str] = []
    waiting: Frame | None = None  # the last row of a damaged input is not whole
    while True:
        line = rows.line_num + 1
        try:
            row = next(rows)
        except StopIteration:
            break
        except csv.Error as error:
            yield Frame(str(error).encode(), line, "not a valid CSV row")
            continue
        if waiting is not None:
            yield waiting
            waiting = None
        if not row:
            continue
        if not header:
            columns = row
            header = [msgspec.json.encode(name.encode(errors="replace").decode()) for name in row]
            continue
        waiting = _row(header, columns, row, line)
    if stream.damage is not None:
        yield Frame(stream.damage.encode(), rows.line_num, "input ends too early")
    elif waiting is not None:
        yield waiting


def _row(header: list[bytes], columns: list[str], row: list[str], line: int) -> Frame:
    if len(row) != len(header):
        return Frame(f"{len(row)} cells, {len(header)} columns".encode(), line, "not a valid CSV row")
    try:
        fields = [
            key + b":" + _value(column, cell)
            for key, column, cell in zip(header, columns, row, strict=True)
            if cell not in _ABSENT
        ]
    except UnicodeEncodeError:
        return Frame(b"", line, "not valid UTF-8")
    return Frame(b"{" + b",".join(fields) + b"}", line)


def _text_lines(stream: ByteStream) -> Iterator[str]:
    """Lines with their ends; bytes that are no UTF-8 become half surrogates, to be refused with their row."""
    pending: list[bytes] = []
    for chunk in stream:
        lines = chunk.split(b"\n")
        if len(lines) > 1:
            lines[0] = b"".join(pending) + lines[0]
            for line in lines[:-1]:
                yield line.decode(errors="surrogateescape") + "\n"
            pending = []
        pending.append(lines[-1])
    if last := b"".join(pending):
        yield last.decode(errors="surrogateescape")


def parquet_frames(name: str, file: BinaryIO) -> Iterator[Frame]:
    """The rows of a Parquet file, a batch at a time. ``line`` counts rows from 1.

    Raises:
        UsageError: the file cannot be read as Parquet.
    """
    import pyarrow
    import pyarrow.parquet

    line = 0
    try:
        table = pyarrow.parquet.ParquetFile(file)
        tokens = is_token_trace(table.schema_arrow)
        for batch in table.iter_batches(batch_size=_BATCH):
            for row in token_rows(batch) if tokens else batch.to_pylist():
                line += 1
                yield Frame(msgspec.json.encode(row, enc_hook=str), line) if tokens else _cells(row, line)
    except (pyarrow.ArrowException, OSError) as error:
        if line:
            yield Frame(b"the file is damaged", line + 1, "input ends too early")
            return
        raise UsageError(f"{name} is no readable Parquet file: {str(error).splitlines()[0]}.") from None


def _cells(row: dict[str, Any], line: int) -> Frame:
    try:
        fields = [
            msgspec.json.encode(column) + b":" + _cell(column, value)
            for column, value in row.items()
            if value is not None
        ]
    except (UnicodeError, OverflowError, TypeError, ValueError):
        return Frame(b"", line, "not a readable row")
    return Frame(b"{" + b",".join(fields) + b"}", line)


def _cell(column: str, value: Any) -> bytes:
    if isinstance(value, bytes):
        value = value.decode()
    return _value(column, value) if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str)
