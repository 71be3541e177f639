"""Token traces in Parquet, as ``radixadvisor convert`` writes them: prompts and outputs as token ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from radixadvisor.ingest.bodies import position_id
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.raw import Fields, Raw, Unusable, label, number, string
from radixadvisor.ingest.token_columns import OUTPUT, PROMPT
from radixadvisor.records import Output, Request, Skip, Source

__all__ = ["DIALECT"]

_T = TypeVar("_T")

_BYTES = msgspec.json.Decoder(bytes)
_NAMESPACE = msgspec.json.Decoder(tuple[tuple[str, str], ...])
_PARAMETERS = msgspec.json.Decoder(dict[str, str])


class _Trace(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        prompt = _tokens(record.get(PROMPT))
        if prompt is None:
            raise Unusable("no prompt tokens", "the row has no prompt_tokens")
        output = _tokens(record.get(OUTPUT))
        parameters: dict[str, str] = _of(_PARAMETERS, record, "parameters", {})
        request = Request(
            id=label(record.get("request_id")) or position_id(source),
            source=source,
            model=label(record.get("model")) or "",
            tokens=prompt,
            output=Output(tokens=output) if output else None,
            arrival=number(record.get("arrival")),
            session=label(record.get("session")),
            namespace=_of(_NAMESPACE, record, "namespace", ()),
            parameters=parameters,
        )
        return (request,)


def _tokens(raw: Raw | None) -> bytes | None:
    return None if raw is None else _BYTES.decode(raw)


def _of(decoder: msgspec.json.Decoder[_T], record: Fields, column: str, absent: _T) -> _T:
    raw = record.get(column)
    if raw is None:
        return absent
    try:
        return decoder.decode(string(raw))
    except msgspec.DecodeError:
        raise Unusable("not a row of a token trace", f"{column} holds other JSON") from None


def _sniff(record: Fields) -> Sign | None:
    return Sign(95, "columns of a token trace: prompt_tokens beside request_id") if PROMPT in record else None


DIALECT = Dialect("trace", "token trace in Parquet, written by convert", _sniff, _Trace)
