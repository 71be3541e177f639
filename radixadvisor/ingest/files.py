"""Opening inputs: names and globs to files, files to a stream of decompressed bytes."""

from __future__ import annotations

import codecs
import glob
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from radixadvisor.errors import UsageError

__all__ = ["ByteStream", "Input", "expand", "refuse_binary"]

CHUNK = 1 << 20
_ZSTD_CHUNK = 1 << 13  # a frame can expand 32,000 times: small bites bound the memory
_GZIP, _ZSTD, _PARQUET = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1"
_ENCODINGS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_KINDS = {
    b"PK\x03\x04": ("a zip archive", "Unpack it first"),
    b"BZh": ("compressed with bzip2", "Recompress it with gzip or zstd"),
    b"\xfd7zXZ": ("compressed with xz", "Recompress it with gzip or zstd"),
    b"%PDF": ("a PDF document", "Name the log itself"),
    b"\x89PNG": ("an image", "Name the log itself"),
    b"SQLite format 3": ("an SQLite database", "Export its table as CSV or JSON Lines"),
    b"\x80\x04": ("a Python pickle", "Convert it to JSON Lines first"),
    b"\x7fELF": ("a program", "Name the log itself"),
}


@dataclass(frozen=True, slots=True)
class Input:
    """One input as the user named it; ``path`` is None for standard input."""

    name: str
    path: Path | None


def expand(names: Iterable[str | Path]) -> list[Input]:
    """Inputs in the order given, each file once; a glob stands for its matches in sorted order.

    Raises:
        UsageError: a file is missing, a directory or unreadable, or a glob matches nothing.
    """
    found: dict[str, Input] = {}
    for name in map(str, names):
        for item in _expand_one(name):
            found.setdefault(str(item.path.resolve()) if item.path else "-", item)
    if not found:
        raise UsageError("No input was named; give a log file, or - to read standard input.")
    return list(found.values())


def _expand_one(name: str) -> list[Input]:
    if name == "-":
        if sys.stdin is None:
            raise UsageError("Standard input is closed; give a log file.")
        return [Input("-", None)]
    path = Path(name).expanduser()
    try:
        if path.is_dir():
            raise UsageError(
                f"{name} is a directory; name the files in it, for example '{path / '*.jsonl'}'."
            )
        if path.exists():
            if not os.access(path, os.R_OK):
                raise UsageError(f"Cannot read {name}: permission denied.")
            return [Input(_valid(name), path)]
    except (OSError, ValueError) as error:
        raise UsageError(f"Cannot read {name}: {_why(error)}.") from None
    if glob.has_magic(name):
        # Path.glob takes no absolute pattern.
        every = glob.glob(str(path), recursive=True)  # noqa: PTH207
        matches = sorted(match for match in every if Path(match).is_file())
        if not matches:
            raise UsageError(f"No file matches {name}.")
        return [item for match in matches for item in _expand_one(match)]
    raise UsageError(f"There is no file {name}; check the path (the current folder is {Path.cwd()}).")


def _valid(name: str) -> str:
    """A file name as text that any encoding takes; bytes that are no UTF-8 become escapes."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _why(error: Exception) -> str:
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)


class ByteStream:
    """The bytes of one input in chunks: decompressed, as UTF-8, without a byte order mark.

    ``damage`` says, once the stream has ended, why it ended too early, else None. ``head`` is the beginning
    of the text, at least as long as was asked for unless the input is shorter. ``parquet`` marks input that
    is no stream of text.
    """

    def __init__(self, item: Input, head: int) -> None:
        self.name = item.name
        self.damage: str | None = None
        try:
            self._file: BinaryIO = item.path.open("rb") if item.path else sys.stdin.buffer
            first = self._file.read(len(_PARQUET))
        except OSError as error:
            raise UsageError(f"Cannot read {item.name}: {_why(error)}.") from None
        self.parquet = first == _PARQUET
        self._first = first
        self._text = filter(None, () if self.parquet else self._as_utf8(self._unpacked(first)))
        self._peeked: list[bytes] = []
        size = 0
        while size < head and (chunk := next(self._text, b"")):
            self._peeked.append(chunk)
            size += len(chunk)
        self.head = b"".join(self._peeked)

    def __iter__(self) -> Iterator[bytes]:
        """Every chunk from the beginning; can be consumed once."""
        peeked, self._peeked = self._peeked, []
        yield from peeked
        yield from self._text

    def whole(self) -> BinaryIO:
        """The input as a seekable file, for formats that need one; a pipe goes to a temporary file."""
        if self._file.seekable():
            self._file.seek(0)
            return self._file
        import shutil
        import tempfile

        spool = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the stream
        spool.write(self._first)
        shutil.copyfileobj(self._file, spool)
        spool.seek(0)
        self._file = spool
        return spool

    def close(self) -> None:
        if self._file is not sys.stdin.buffer:
            self._file.close()

    def _raw(self, first: bytes, size: int) -> Iterator[bytes]:
        yield first
        try:
            while chunk := self._file.read(size):
                yield chunk
        except OSError as error:
            self.damage = f"reading failed: {_why(error)}"

    def _unpacked(self, first: bytes) -> Iterator[bytes]:
        if first.startswith(_GZIP):
            return self._gunzip(self._raw(first, 1 << 16))
        if first.startswith(_ZSTD):
            return self._unzstd(self._raw(first, _ZSTD_CHUNK))
        return self._raw(first, CHUNK)

    def _gunzip(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        member = zlib.decompressobj(wbits=31)
        begun = False
        for chunk in chunks:
            while chunk:
                if member.eof:
                    chunk = chunk.lstrip(b"\0")
                    member, begun = zlib.decompressobj(wbits=31), False
                    if not chunk:
                        break
                try:
                    begun = True
                    data = member.decompress(chunk, CHUNK)
                except zlib.error as error:
                    self.damage = f"gzip data is corrupt ({error})"
                    return
                chunk = member.unconsumed_tail or member.unused_data
                if data:
                    yield data
        if begun and not member.eof:
            try:
                while data := member.decompress(member.unconsumed_tail, CHUNK):
                    yield data
            except zlib.error as error:
                self.damage = f"gzip data is corrupt ({error})"
                return
            if not member.eof:
                self.damage = "gzip data ends too early"

    def _unzstd(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        import zstandard

        frame = zstandard.ZstdDecompressor().decompressobj()
        begun = False
        for chunk in chunks:
            while chunk:
                if frame.eof:
                    frame, begun = zstandard.ZstdDecompressor().decompressobj(), False
                try:
                    begun = True
                    data = frame.decompress(chunk)
                except zstandard.ZstdError as error:
                    self.damage = f"zstd data is corrupt ({error})"
                    return
                chunk = frame.unused_data if frame.eof else b""
                if data:
                    yield data
        if begun and not frame.eof:
            self.damage = "zstd data ends too early"

    def _as_utf8(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        start = b""
        while len(start) < 4 and (chunk := next(chunks, b"")):
            start += chunk
        for mark, encoding in _ENCODINGS.items():
            if start.startswith(mark):
                decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
                yield decoder.decode(start).encode()
                for chunk in chunks:
                    yield decoder.decode(chunk).encode()
                yield decoder.decode(b"", final=True).encode()
                return
        yield start.removeprefix(codecs.BOM_UTF8)
        yield from chunks


def refuse_binary(name: str, head: bytes) -> None:
    """Raises UsageError for input that is no text at all."""
    for magic, (kind, advice) in _KINDS.items():
        if head.startswith(magic):
            raise UsageError(f"{name} is {kind}, not a log. {advice}.")
    start = head[:4096]
    control = sum(byte < 32 and byte not in b"\t\n\r\f\x1b\x1e" for byte in start)
    if control * 10 > len(start):
        raise UsageError(f"{name} is a binary file, not a log; expected JSON Lines, JSON, CSV or Parquet.")
