"""LangSmith's runs. Only those of type ``llm`` are calls, and ``session_id`` is the project, not the chat."""

from __future__ import annotations

from collections.abc import Iterable

from radixadvisor.ingest.calls import not_a_call, read_foreign, without_prompt
from radixadvisor.ingest.dialect import Dialect, Reader, Sign
from radixadvisor.ingest.raw import Fields, Raw, array_of, is_empty
from radixadvisor.ingest.view import View, counts, encode, joined
from radixadvisor.records import Request, Skip, Source

__all__ = ["DIALECT"]

_MODEL = "model|model_name|deployment_name|model_id"


class _Runs(Reader):
    def read(self, record: Fields, source: Source) -> Iterable[Request | Skip]:
        row = View(record)
        if (row.text("run_type") or "").lower() not in ("llm", "chat_model"):
            return not_a_call(self.context, "runs are no model calls")
        parameters, metadata = row.view("extra", "invocation_params"), row.view("extra", "metadata")
        told = row.view("outputs", "usage_metadata") or _spoken(row)
        prompt = _either(row.count("prompt_tokens"), told.count("input_tokens"))
        completion = _either(row.count("completion_tokens"), told.count("output_tokens"))
        details, other = row.view("prompt_token_details"), told.view("input_token_details")
        cached = _either(details.count("cache_read|cached_tokens"), other.count("cache_read"))
        written = _either(details.count("cache_creation|cache_write"), other.count("cache_creation"))
        inputs = row.get("inputs")
        if inputs is None or is_empty(inputs):
            raise without_prompt(self.context, prompt, completion, cached)
        prompts = row.items("inputs", "prompts")
        facts = joined(
            ("request_id", row.get("id|run_id")),
            ("start_time", row.get("start_time")),
            ("end_time", row.get("end_time")),
            ("completion_start_time", row.get("first_token_time")),
            ("model", parameters.get(_MODEL) or metadata.get("ls_model_name") or row.get("inputs", _MODEL)),
            ("session_id", metadata.get("thread_id|session_id|conversation_id")),
            ("user", metadata.get("user_id|user")),
            ("app", row.get("session_name|project_name")),
            ("error", row.get("error")),
            ("usage", counts(prompt, completion, cached, written)),
        )
        if tools := array_of(parameters.get("tools|functions")):
            facts["tools"] = encode(tools)
        held = encode({"prompt": encode(prompts)}) if prompts else inputs
        return read_foreign(held, row.get("outputs"), facts, source, self.context)


def _either(first: int | None, second: int | None) -> int | None:
    return second if first is None else first


def _spoken(row: View) -> View:
    """The usage that LangChain attaches to the message which was generated."""
    generations = row.items("outputs", "generations")
    nested = array_of(generations[0]) if generations else None
    first: Raw | None = nested[0] if nested else generations[0] if generations else None
    message = View({"generation": first}) if first is not None else View({})
    return message.view("generation", "message", "kwargs", "usage_metadata") or message.view(
        "generation", "message", "usage_metadata"
    )


def _sniff(record: Fields) -> Sign | None:
    row = View(record)
    if row.has("run_type") and (row.has("inputs") or row.has("dotted_order") or row.has("trace_id")):
        return Sign(96, "run_type and inputs of a LangSmith run")
    return None


DIALECT = Dialect(
    "langsmith_runs",
    "LangSmith runs",
    _sniff,
    _Runs,
    aliases=("langsmith",),
    missing="the runs have no inputs; do not set LANGSMITH_HIDE_INPUTS, and export the field 'inputs' too.",
)
