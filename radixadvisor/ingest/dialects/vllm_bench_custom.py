"""vLLM's custom benchmark data: a prompt a line, with the length of its output."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.bodies import read_call
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.locate import locate
from radixadvisor.ingest.raw import Fields, first_byte, number
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

_MOST_KEYS = 4


class _Prompts(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        return read_call(locate(record), source, self.context)


def _sniff(record: Fields) -> Sign | None:
    lengths = ("output_tokens", "expected_output_len")
    length = next((record[name] for name in lengths if name in record), None)
    if "prompt" not in record or length is None or number(length) is None:
        return None
    if len(record) > _MOST_KEYS or first_byte(record["prompt"]) != 0x22:
        return None
    return Sign(95, "prompt and output_tokens and little else")


DIALECT = Dialect("vllm_bench_custom", "vLLM benchmark prompts", _sniff, _Prompts)
