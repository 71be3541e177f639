"""The names under which logs keep the same thing, compared without case, ``_``, ``-`` and ``.``."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from .raw import Fields, Raw, is_empty

__all__ = ["NAMESPACES", "Named", "Shape", "collect", "holds_prompt", "is_known", "plain", "shape"]

# A value, and the unit that its key names.
Named = tuple[Raw, str | None]

# field: names in order of preference; "name:unit" where the name tells the unit.
_NAMES = {
    "id": """
        request_id req_id rid call_id x_request_id id uuid event_id custom_id generation_id completion_id""",
    "start": """
        start_time started_at start start_timestamp start_time_ms:ms start_ms:ms start_time_unix_nano:ns
        arrival arrival_time arrived_at received_at request_time requested_at request_timestamp
        request_created_at timestamp timestamp_ms:ms ts ts_ms:ms time datetime date created_at created
        logged_at log_time event_time""",
    "end": """
        end_time ended_at end end_timestamp end_time_ms:ms end_ms:ms end_time_unix_nano:ns completed_at
        finished_at finish_time response_timestamp response_created_at""",
    "first_token": "completion_start_time first_token_at first_token_time first_token_timestamp",
    "latency": """
        latency_ms:ms latency_s:s latency_seconds:s latency_us:us latency_ns:ns duration_ms:ms duration_s:s
        duration_seconds:s duration_ns:ns request_duration_ms:ms elapsed_ms:ms delay_ms:ms total_time_ms:ms
        response_time_ms:ms response_ms:ms processing_ms:ms e2e_latency_ms:ms latency duration elapsed
        elapsed_time e2e_latency response_time total_time request_duration total_latency""",
    "ttft": """
        ttft_ms:ms ttft_s:s time_to_first_token_ms:ms first_token_latency_ms:ms first_token_ms:ms ttft
        time_to_first_token first_token_latency""",
    "model": "model model_name request_model requested_model model_id deployment",
    "session": "session_id session conversation_id conversation thread_id chat_id dialog_id",
    "tenant": """
        tenant tenant_id team team_id organization organization_id org org_id account account_id customer
        customer_id workspace workspace_id project project_id user_api_key_team_id user_api_key_org_id""",
    "user": """
        user user_id end_user end_user_id username safety_identifier user_api_key_end_user_id
        user_api_key_user_id""",
    "app": """
        app application app_name app_id application_name service service_name feature use_case agent
        agent_name""",
    "replica": """
        replica replica_id instance instance_id engine_id worker worker_id pod pod_name host hostname node
        backend upstream""",
    "priority": "priority",
    "status": """
        status_code response_status_code http_status http_status_code response_code response_status status""",
    "error": "error errors exception error_message error_str error_information",
    "endpoint": "url path endpoint route uri request_path request_uri call_type operation",
    "usage": "usage token_usage usage_object",
    "prompt_tokens": "prompt_tokens input_tokens input_length prompt_length num_prompt_tokens",
    "completion_tokens": "completion_tokens output_tokens output_length num_output_tokens generated_tokens",
    "cached_tokens": "cached_tokens cache_read_input_tokens prompt_cached_tokens num_cached_tokens",
}


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Where a request body, its answer, and facts about it may be wrapped.
_BODIES = frozenset(
    _words("""
        request body requestbody requestjson payload requestpayload input inputs kwargs data req params
        arguments log message msg event jsonpayload source fields record prompt llmrequest requestdata
        httprequest""")
)
_PROMPTS = frozenset(_words("messages prompt text tokens conversation hashids"))
_RESPONSES = _words("""
    response responsebody responsejson responsedata responsepayload rawresponse llmresponse output outputs
    completion result res reply answer generatedtext outputtext responsetext outputtokens""")
_CONTAINERS = frozenset(_words("metadata meta extra labels context requestmetadata attributes tags"))
_EXTRAS = frozenset(_words("extra_body model_parameters optional_params sampling_params nvext"))

# What may enter the prompt or the cache key, and so must not get lost.
_PARAMETERS = frozenset(
    _words("""
        tool_choice response_format reasoning_effort reasoning thinking chat_template chat_template_kwargs
        parallel_tool_calls prompt_logprobs logprobs top_logprobs echo prompt_cache_key
        prompt_cache_retention add_generation_prompt continue_final_message add_special_tokens truncation
        truncate_prompt_tokens documents function_call suffix modalities verbosity guided_json guided_regex
        guided_choice guided_grammar structured_outputs output_config return_hidden_states
        logprob_start_len input_embeds mm_processor_kwargs betas anthropic_beta include_reasoning
        separate_reasoning pooling pooling_params""")
)
NAMESPACES = {
    "lora_request": "lora",
    "lora_name": "lora",
    "lora_path": "lora",
    "lora_id": "lora",
    "lora": "lora",
    "adapter": "lora",
    "adapter_id": "lora",
    "cache_salt": "cache_salt",
    "extra_key": "extra_key",
}


class Shape(NamedTuple):
    """What the keys of an object mean. Records of one log share a few shapes, so this is worked out once.

    ``fields`` pairs each field with the keys that give it, the preferred first; the others list keys:
    ``bodies`` may wrap a request, ``responses`` an answer (the preferred first), ``containers`` metadata,
    ``extras`` further parameters.
    """

    fields: tuple[tuple[str, tuple[tuple[str, str | None], ...]], ...]
    bodies: tuple[str, ...]
    responses: tuple[str, ...]
    containers: tuple[str, ...]
    extras: tuple[str, ...]
    parameters: tuple[str, ...]
    namespaces: tuple[str, ...]


@lru_cache(maxsize=4096)
def plain(key: str) -> str:
    """A key without case and separators: ``Session-Id``, ``session_id`` and ``sessionId`` are one name."""
    return "".join(char for char in key.lower() if char not in "_-. @")


def _table() -> dict[str, tuple[str, int, str | None]]:
    table: dict[str, tuple[str, int, str | None]] = {}
    for field, names in _NAMES.items():
        for rank, name in enumerate(names.split()):
            name, _, unit = name.partition(":")
            table.setdefault(plain(name), (field, rank, unit or None))
    return table


_TABLE = _table()


def is_known(key: str) -> bool:
    """Whether a key is one of the usual names."""
    return plain(key) in _TABLE or holds_prompt(key)


def holds_prompt(key: str) -> bool:
    """Whether a key may hold a prompt or a whole request."""
    return plain(key) in _BODIES or plain(key) in _PROMPTS


def _worked_out(keys: tuple[str, ...]) -> Shape:
    candidates: dict[str, list[tuple[int, str, str | None]]] = {}
    for key in keys:
        if (meaning := _TABLE.get(plain(key))) is not None:
            field, rank, unit = meaning
            candidates.setdefault(field, []).append((rank, key, unit))
    fields = tuple(
        (field, tuple((key, unit) for _, key, unit in sorted(found, key=lambda item: item[:2])))
        for field, found in candidates.items()
    )
    responses = sorted((key for key in keys if plain(key) in _RESPONSES), key=_response_rank)
    return Shape(
        fields,
        tuple(key for key in keys if plain(key) in _BODIES),
        tuple(responses),
        tuple(key for key in keys if plain(key) in _CONTAINERS),
        tuple(key for key in keys if key in _EXTRAS),
        tuple(key for key in keys if key in _PARAMETERS),
        tuple(key for key in keys if key in NAMESPACES),
    )


def _response_rank(key: str) -> int:
    return _RESPONSES.index(plain(key))


_remembered = lru_cache(maxsize=512)(_worked_out)


def shape(fields: Fields) -> Shape:
    """What the keys of an object mean."""
    keys = tuple(fields)
    return _remembered(keys) if len(keys) <= 128 else _worked_out(keys)


def collect(*sources: Fields) -> dict[str, Named]:
    """What the usual names say. An earlier source wins over a later one, a preferred name over another."""
    found: dict[str, Named] = {}
    for source in sources:
        for field, keys in shape(source).fields:
            if field not in found:
                for key, unit in keys:
                    if not is_empty(source[key]):
                        found[field] = source[key], unit
                        break
    return found
