"""Writing a rewritten log: untouched records byte for byte, the others patched, the whole read back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import Protocol

import msgspec

from radixadvisor.errors import UsageError
from radixadvisor.ingest import read_log
from radixadvisor.ingest.bodies import position_id
from radixadvisor.ingest.files import ByteStream, expand
from radixadvisor.ingest.framing import form_of, values
from radixadvisor.ingest.lines import has_lines
from radixadvisor.ingest.pickles import is_pickle
from radixadvisor.ingest.tables import delimiter
from radixadvisor.paths import replacing
from radixadvisor.records import Message, Request
from radixadvisor.rewriting.by_text import patched_by_text
from radixadvisor.rewriting.patch import patched
from radixadvisor.trace.build import TokenOptions
from radixadvisor.trace.exports import save_requests

__all__ = ["FALLBACK", "write_log"]

FALLBACK = "openai_chat"
Patch = Callable[[bytes, Request, Request], bytes | None]

_UNPLACED = "its records do not show where a changed prompt stands"
_HEAD = 1 << 18


class _Sink(Protocol):
    def write(self, data: bytes, /) -> int: ...


def write_log(
    source: Path, out: Path, dialect: str, requests: Sequence[Request], edits: Mapping[int, Request]
) -> tuple[str, str]:
    """Write ``requests``, of which those at the indices of ``edits`` are replaced, as ``source`` has them.

    Returns the dialect that was written and, where that is not ``dialect``, why.

    Raises:
        UsageError: the log holds no prompts that could be written.
        OutputError: the file cannot be written.
    """
    final = [edits.get(index, request) for index, request in enumerate(requests)]
    with replacing(out, private=True) as temporary:
        for patch in (patched, patched_by_text):
            why = _in_place(source, temporary, out, requests, edits, patch)
            if not why and _reads_back(temporary, dialect, final):
                return dialect, ""
        why = why or _UNPLACED
        plain = temporary.with_name(temporary.name + ".jsonl")
        try:
            save_requests(final, plain, "openai", TokenOptions(), _refused)
            with plain.open("rb") as lines, _compressed(temporary, out) as packed:
                for line in lines:
                    packed.write(line)
        finally:
            plain.unlink(missing_ok=True)
    return FALLBACK, why


def _refused(skip: object) -> None:
    raise AssertionError(f"chat requests are written without a template: {skip}")


def _in_place(
    source: Path,
    temporary: Path,
    out: Path,
    requests: Sequence[Request],
    edits: Mapping[int, Request],
    patch: Patch,
) -> str:
    """Write the log in its own form; or why that cannot be."""
    (item,) = expand([str(source)])
    with closing(ByteStream(item, _HEAD)) as stream:
        head = stream.head
        if stream.parquet or is_pickle(head) or delimiter(item.name, head) is not None:
            return "it is a table, and tables are not written back"
        if has_lines(head):
            return "it is what a server prints, not records"
        places: dict[int, int] = {}
        for index, request in enumerate(requests):
            if request.source.line in places and (index in edits or places[request.source.line] in edits):
                return "one of its records gives several requests"
            places[request.source.line] = index
        form = form_of(head)
        try:
            with _compressed(temporary, out) as packed:
                pieces = _lines(stream) if form == "lines" else _values(stream, array=form == "array")
                for line, before, record, after in pieces:
                    index = places.get(line, -1)
                    new = None
                    if record and index in edits:
                        new = patch(record, requests[index], edits[index])
                        if new is None:
                            return _UNPLACED
                    packed.write(before + (record if new is None else new) + after)
        except (msgspec.DecodeError, RecursionError, KeyError, ValueError):
            return "a changed record has another form than its dialect's"
    return ""


def _lines(stream: Iterable[bytes]) -> Iterator[tuple[int, bytes, bytes, bytes]]:
    """(line, white space, record, line end) of every line, blank ones included."""
    line, pending = 1, b""
    for chunk in stream:
        parts = (pending + chunk).split(b"\n")
        pending = parts.pop()
        for part in parts:
            yield (line, *_trimmed(part, b"\n"))
            line += 1
    if pending:
        yield (line, *_trimmed(pending, b""))


def _trimmed(text: bytes, end: bytes) -> tuple[bytes, bytes, bytes]:
    left = len(text) - len(text.lstrip())
    record = text.strip()
    return text[:left], record, text[left + len(record) :] + end


def _values(stream: ByteStream, *, array: bool) -> Iterator[tuple[int, bytes, bytes, bytes]]:
    """The same of a document: one record per line, in an array if it was one."""
    between = b"[\n" if array else b""
    for frame in values(stream, array=array):
        if frame.fault is not None:
            raise ValueError(frame.fault)
        yield frame.line, between, frame.data, b""
        between = b",\n" if array else b"\n"
    yield 0, b"[" if array and between == b"[\n" else b"", b"", b"\n]\n" if array else b"\n"


@contextmanager
def _compressed(path: Path, out: Path) -> Iterator[_Sink]:
    """The file, packed as the name of the result says; the same content gives the same bytes."""
    with path.open("wb") as plain:
        if out.suffix == ".gz":
            import gzip

            with gzip.GzipFile(filename="", mode="wb", fileobj=plain, mtime=0) as packed:
                yield packed
        elif out.suffix == ".zst":
            import zstandard

            with zstandard.ZstdCompressor().stream_writer(plain, closefd=False) as writer:
                yield writer
        else:
            yield plain


def _reads_back(path: Path, dialect: str, wanted: Sequence[Request]) -> bool:
    """Whether the file holds exactly these requests."""
    try:
        found = [item for item in read_log(str(path), dialect) if isinstance(item, Request)]
    except UsageError:
        return False
    return len(found) == len(wanted) and all(
        _shown(one) == _shown(two) for one, two in zip(found, wanted, strict=True)
    )


def _shown(request: Request) -> tuple[object, ...]:
    """All of a request but where it stands."""
    source = request.source
    output = request.output
    tools = () if request.tools is None else [(tool.name, tool.raw) for tool in request.tools.tools]
    replied = None if output is None or output.message is None else _told(output.message)
    return (
        None if request.id == position_id(source) else request.id,
        request.model,
        None if request.messages is None else [_told(message) for message in request.messages],
        [(name, _spelled(raw)) for name, raw in tools],
        (request.text, request.tokens, replied, None if output is None else (output.text, output.tokens)),
        (request.arrival, request.latency, request.session, request.tenant, request.user, request.app),
        (request.replica, request.namespace, dict(request.parameters), request.usage),
    )


def _spelled(raw: str) -> object:
    """A tool with its keys in their order; white space between them is not told from the log."""
    return msgspec.json.format(raw, indent=0)


def _told(message: Message) -> tuple[object, ...]:
    content = message.content
    parts = [astuple(part) for part in content] if isinstance(content, tuple) else content
    calls = [(call.name, call.arguments) for call in message.tool_calls]
    return message.role, parts, calls, message.reasoning, message.tool_call_id
