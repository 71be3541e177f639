"""Reading a log: inputs in, requests and counted skips out."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from radixadvisor.errors import NoUsableInput
from radixadvisor.records import Request, Skip

from .bodies import Context, position_id
from .detect import Detection, detect
from .dialect import CUT_PROMPT, NO_PROMPT, Reader
from .dialects import by_name
from .drafts import source_of
from .files import ByteStream, Input, expand, refuse_binary
from .framing import Frame, frames, is_json, values
from .lines import has_lines, line_frames
from .pickles import is_pickle, pickle_frames
from .raw import Fields, Raw, Unusable, array_of, parse
from .tables import csv_frames, delimiter, parquet_frames

__all__ = ["Log", "SkipCounter", "no_usable_input", "read_log"]

_SAMPLE_RECORDS, _SAMPLE_BYTES = 50, 1 << 18


class SkipCounter:
    """How many records were skipped, under which reasons, and where the first of each stand."""

    def __init__(self, examples: int = 3) -> None:
        self.total = 0
        self.reasons: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = {}
        self._keep = examples

    def add(self, skip: Skip) -> None:
        """Count one skip."""
        self.total += 1
        self.reasons[skip.reason] += 1
        places = self.examples.setdefault(skip.reason, [])
        if len(places) < self._keep:
            places.append(f"{skip.source.file}:{skip.source.line}")

    def sentence(self) -> str:
        """Every reason with its count and first place, the most frequent first; empty if none was skipped."""
        ranked = sorted(self.reasons.items(), key=lambda item: (-item[1], item[0]))
        return ", ".join(
            f"{count} {reason} (first at {self.examples[reason][0]})" for reason, count in ranked
        )


class _Opened:
    """One input with its first records read and its dialect told."""

    def __init__(self, item: Input, forced: str | None) -> None:
        self.name = item.name
        self.stream = ByteStream(item, _SAMPLE_BYTES)
        try:
            taken, self.frames = self._peeked()
        except BaseException:
            self.stream.close()
            raise
        self.empty = not taken
        self.sample = [fields for frame in taken for fields in _readable(frame)]
        self.detection = detect(self.sample, forced)

    def _peeked(self) -> tuple[list[Frame], Iterator[Frame]]:
        """The first frames, and all of them."""
        frames = self._frames()
        taken: list[Frame] = []
        size = 0
        for frame in itertools.islice(frames, _SAMPLE_RECORDS):
            taken.append(frame)
            size += len(frame.data)
            if size >= _SAMPLE_BYTES:
                break
        return taken, itertools.chain(taken, frames)

    def _frames(self) -> Iterator[Frame]:
        if self.stream.parquet:
            return parquet_frames(self.name, self.stream.whole())
        if is_pickle(self.stream.head):
            return pickle_frames(self.name, self.stream)
        refuse_binary(self.name, self.stream.head)
        separator = delimiter(self.name, self.stream.head)
        if separator is not None:
            return csv_frames(self.stream, separator)
        return line_frames(self.stream) if has_lines(self.stream.head) else frames(self.stream)


def _readable(frame: Frame) -> Iterator[Fields]:
    try:
        for piece in _pieces(frame) if frame.fault is None else ():
            yield _fields(piece)
    except (Unusable, RecursionError):
        return


def _pieces(frame: Frame) -> list[Raw | Fields]:
    """The records of one frame: itself, or the elements of a list; a list of turns is one conversation."""
    if not frame.data.lstrip().startswith(b"["):
        return _values(frame.data)
    elements = array_of(Raw(frame.data.lstrip())) or []
    if elements and bytes(elements[0]).startswith(b"{"):
        first = parse(bytes(elements[0]))
        if "role" in first and "messages" not in first:
            return [{"messages": Raw(frame.data.lstrip())}]
    return list(elements) or [Raw(frame.data)]


def _values(data: bytes) -> list[Raw | Fields]:
    """One object, or several that were written without a line end between them."""
    try:
        return [parse(data)]
    except Unusable as fault:
        if not fault.detail.startswith("trailing characters"):
            raise
        pieces = [frame.data for frame in values(iter([data]), array=False)]
        if len(pieces) < 2 or not all(map(is_json, pieces)):
            raise
        return [Raw(piece) for piece in pieces]


def _fields(piece: Raw | Fields) -> Fields:
    return piece if isinstance(piece, dict) else parse(piece)


class Log:
    """The requests of some inputs, read as they are asked for.

    Iterating yields Request and Skip records in input order, in bounded memory, and fills ``skips``,
    ``requests`` and ``notes`` anew; standard input can be read once. Equal messages and tool lists are the
    same objects across the whole log.

    Attributes:
        files: the inputs as named.
        paths: those of them that are files.
        dialect, evidence, second: how the first input is read, why, and the next best guess.
        skips: what was skipped so far.
        requests: how many requests were read so far.
        notes: what a reader of the results must know; complete once everything was read.
    """

    def __init__(self, inputs: list[Input], forced: str | None, limit: int | None) -> None:
        self._inputs = inputs
        self._forced = forced
        self._limit = limit
        first = _Opened(inputs[0], forced)
        detection = first.detection
        # Only what cannot be opened twice stays open until it is read.
        path = inputs[0].path
        self._first: _Opened | None = None if path is not None and path.is_file() else first
        if self._first is None:
            first.stream.close()
        self.files = [item.name for item in inputs]
        self.paths = [item.path for item in inputs if item.path is not None]
        self.dialect = detection.dialect.name
        self.evidence = detection.evidence
        self.second = detection.second
        self.skips = SkipCounter()
        self.requests = 0
        self.notes: list[str] = []

    def __iter__(self) -> Iterator[Request | Skip]:
        self.skips, self.requests, self.notes = SkipCounter(), 0, []
        context = Context()
        readers: dict[str, Reader] = {}
        delivered: set[int] = set()
        for record in self._records(context, readers):
            if isinstance(record, Request):
                if _is_delivered(record, delivered):
                    record = Skip(record.source, "duplicate delivery", "same id, same content")
                elif self._limit is not None and self.requests == self._limit:
                    break
                else:
                    self.requests += 1
            if isinstance(record, Skip):
                self.skips.add(record)
            yield record
        self.notes += context.clock.notes()
        self.notes += [f"{count} {remark}." for remark, count in sorted(context.remarks.items())]

    def _records(self, context: Context, readers: dict[str, Reader]) -> Iterator[Request | Skip]:
        for item in self._inputs:
            opened, self._first = self._first or _Opened(item, self._forced), None
            self._note(opened)
            dialect = opened.detection.dialect
            if dialect.name not in readers:
                own = Context(context.interner, context.clock, context.remarks, opened.sample)
                readers[dialect.name] = dialect.reader(own)
            try:
                yield from _read(opened, readers[dialect.name])
            finally:
                opened.stream.close()
        for name in sorted(readers):
            yield from readers[name].finish()

    def _note(self, opened: _Opened) -> None:
        detection: Detection = opened.detection
        if opened.empty:
            self.notes.append(f"{opened.name} is empty.")
        elif detection.dialect.name != self.dialect:
            self.notes.append(f"{opened.name} is read as {detection.dialect.name}: {detection.evidence}.")


def _read(opened: _Opened, reader: Reader) -> Iterator[Request | Skip]:
    name = opened.name
    for frame in opened.frames:
        source = source_of(name, frame.line)
        if frame.fault is not None:
            yield Skip(source, frame.fault, frame.data.decode(errors="replace"))
            continue
        try:
            requests = reader.read_quickly(frame.data, source)
            if requests is not None:
                yield from requests
                continue
            pieces = _pieces(frame)
        except Unusable as fault:
            yield Skip(source, fault.reason, fault.detail)
            continue
        except RecursionError:
            yield Skip(source, "line too deeply nested")
            continue
        for piece in pieces:
            try:
                yield from reader.read(_fields(piece), source)
            except Unusable as fault:
                yield Skip(source, fault.reason, fault.detail)
            except RecursionError:
                yield Skip(source, "line too deeply nested")


def _is_delivered(request: Request, delivered: set[int]) -> bool:
    """Whether a request with this id, content and arrival came before. Requests whose log gives no id are
    never taken for one another.
    """
    source = request.source
    if request.id.startswith(source.file) and request.id == position_id(source):
        return False
    content = (request.messages, request.tools, request.text, request.tokens, request.blocks)
    key = hash((request.id, request.arrival, request.model, content))
    if key in delivered:
        return True
    delivered.add(key)
    return False


def read_log(
    paths: str | Path | Iterable[str | Path], format: str | None = None, limit: int | None = None
) -> Log:
    """Open a log.

    Args:
        paths: files, globs, or ``-`` for standard input; gzip and zstd are unpacked on the way.
        format: the name of a dialect; None to tell it from the first records.
        limit: stop after so many requests.

    Raises:
        UsageError: a file is missing, a directory, unreadable or binary.
        UnknownName: there is no dialect of that name.
    """
    if format is not None:
        by_name(format)
    names = [paths] if isinstance(paths, str | Path) else paths
    return Log(expand(names), format, limit)


def no_usable_input(log: Log) -> NoUsableInput:
    """The error for a log that was read to its end and held no request: names what was found instead."""
    what = log.files[0] if len(log.files) == 1 else f"{len(log.files)} files"
    if not log.skips.total:
        return NoUsableInput(f"No usable request: {what} is empty.")
    missing = by_name(log.dialect).missing
    if missing and not log.skips.reasons.keys().isdisjoint((NO_PROMPT, CUT_PROMPT)):
        counted = " ".join(log.notes)
        return NoUsableInput(
            f"No usable request in {what}, read as {log.dialect}: {missing} "
            f"'radixadvisor formats --how {log.dialect}' gives the settings. {counted}".rstrip()
        )
    return NoUsableInput(
        f"No usable request in {what}, read as {log.dialect}: {log.skips.sentence()}. "
        "Expected a log that carries the prompts; --format names its dialect."
    )
