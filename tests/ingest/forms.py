"""What each example of a log format states: the dialect, the requests with their fields, the skips."""

from __future__ import annotations

from typing import Any, NamedTuple

from radixadvisor.records import Blocks, Output, Usage

__all__ = ["FORMS", "Form"]

HELP = ["system", "user"]
TOOL = ["system", "user", "assistant", "tool"]
START = 1767225600.0
NO_PROMPT = "no prompt text"


class Form(NamedTuple):
    dialect: str
    requests: list[dict[str, Any]]
    skips: dict[str, int] = {}  # noqa: RUF012 - never written to


FORMS: dict[str, Form] = {
    "helicone_export.jsonl": Form(
        "helicone_export",
        [
            {
                "id": "h1",
                "model": "gpt-4o",
                "roles": HELP,
                "usage": Usage(41, 9, 0),
                "arrival": START,
                "latency": 1.5,
                "ttft": 0.4,
                "session": "s1",
                "user": "u-1",
            }
        ],
        {NO_PROMPT: 1},
    ),
    "portkey_log_export.jsonl": Form(
        "portkey_log_export",
        [
            {
                "id": "p1",
                "model": "gpt-4o",
                "roles": HELP,
                "usage": Usage(41, 9, 0),
                "arrival": START,
                "latency": 1.5,
                "session": "s1",
                "user": "u-1",
            }
        ],
        {NO_PROMPT: 1},
    ),
    "kong_ai_log.jsonl": Form(
        "kong_ai_log",
        [
            {
                "id": "k1",
                "model": "gpt-4o",
                "roles": HELP,
                "usage": Usage(41, 9, 0),
                "arrival": START,
                "latency": 1.5,
                "tenant": "team-a",
            }
        ],
        {NO_PROMPT: 1},
    ),
    "apisix_ai_log.jsonl": Form(
        "apisix_ai_log",
        [
            {
                "model": "gpt-4o",
                "roles": HELP,
                "usage": Usage(41, 9, 0, 0),
                "arrival": START,
                "latency": 1.5,
                "ttft": 0.4,
                "user": "u-1",
            }
        ],
        {NO_PROMPT: 1},
    ),
    "azure_openai_diagnostic.jsonl": Form(
        "azure_openai_diagnostic",
        [{"id": "az-2", "roles": TOOL, "usage": Usage(61, 9, 0), "arrival": START + 5, "latency": 0.9}],
        {NO_PROMPT: 1},
    ),
    "sagemaker_data_capture.jsonl": Form(
        "sagemaker_data_capture",
        [
            {"id": "abc-1", "roles": HELP, "usage": Usage(41, 9), "arrival": START},
            {"id": "abc-2", "roles": TOOL, "usage": None, "arrival": START + 5, "output": None},
        ],
    ),
    "vertex_request_response.jsonl": Form(
        "vertex_request_response",
        [
            {
                "id": "123",
                "model": "gemini-2.5-flash",
                "roles": HELP,
                "arrival": START,
                "usage": Usage(300, 4, 0),
            },
            {"id": "124", "roles": ["user"], "usage": Usage(2), "arrival": START + 5},
        ],
    ),
    "bedrock_invocation_log.jsonl": Form(
        "bedrock_invocation_log",
        [
            {
                "id": "b-1",
                "model": "anthropic.claude-sonnet-4-20250514-v1:0",
                "roles": HELP,
                "usage": Usage(1512, 9, 1500, 0),
                "arrival": START,
                "latency": 1.5,
                "tenant": "a",
            }
        ],
        {NO_PROMPT: 1},
    ),
    "litellm_spend_logs.jsonl": Form(
        "litellm_spend_logs",
        [
            {
                "id": "chatcmpl-1",
                "model": "gpt-4o",
                "roles": HELP,
                "usage": Usage(41, 9, 0),
                "arrival": START,
                "latency": 1.5,
                "session": "s1",
                "user": "u-1",
                "tenant": "team-a",
            }
        ],
        {NO_PROMPT: 1},
    ),
    "openai_responses.jsonl": Form(
        "openai_responses",
        [
            {
                "id": "resp_1",
                "model": "gpt-5",
                "roles": HELP,
                "usage": Usage(1300, 12, 1024),
                "arrival": START,
                "session": "resp_1",
            },
            {
                "id": "resp_2",
                "roles": [*TOOL, "user"],
                "usage": Usage(1400, 4, 1280),
                "arrival": START + 10,
                "session": "resp_1",
            },
        ],
    ),
    "langfuse_observations.jsonl": Form(
        "langfuse_observations",
        [
            {
                "id": "o1",
                "model": "gpt-4o",
                "roles": HELP,
                "usage": Usage(41, 9),
                "arrival": START,
                "latency": 1.5,
                "ttft": 0.4,
                "session": "s1",
                "user": "u-1",
            },
            {"id": "o2", "roles": TOOL, "usage": Usage(61, 9, 50)},
        ],
    ),
    "langfuse_trace_export.json": Form(
        "langfuse_trace_export",
        [
            {
                "id": "o1",
                "model": "gpt-4o",
                "roles": HELP,
                "usage": Usage(41, 9),
                "arrival": START,
                "latency": 1.5,
                "ttft": 0.4,
                "session": "s1",
                "user": "u-1",
            },
            {"id": "o2", "roles": TOOL, "usage": Usage(61, 9)},
        ],
    ),
    "langsmith_runs.jsonl": Form(
        "langsmith_runs",
        [
            {
                "id": "11111111-1111-4111-8111-111111111111",
                "model": "gpt-4o",
                "roles": HELP,
                "usage": Usage(41, 9, 0),
                "arrival": START,
                "latency": 1.5,
                "ttft": 0.4,
                "session": "s1",
            },
            {
                "id": "22222222-2222-4222-8222-222222222222",
                "roles": TOOL,
                "usage": Usage(61, 9, 0),
            },
        ],
    ),
    "otel_genai_otlp.jsonl": Form(
        "otel_genai_otlp",
        [
            {
                "id": "chatcmpl-2",
                "model": "gpt-4o",
                "roles": TOOL,
                "usage": Usage(61, 9, 0),
                "arrival": START,
                "latency": 1.5,
                "ttft": 0.4,
                "session": "s1",
                "app": "helpbot",
            },
            {
                "id": "b2b2b2b2b2b2b2b2",
                "model": "gpt-4o",
                "roles": ["user"],
                "usage": Usage(30, 3),
                "arrival": START,
                "latency": 1.5,
            },
        ],
    ),
    "phoenix_openinference_spans.jsonl": Form(
        "phoenix_openinference_spans",
        [
            {
                "id": "bbbbbbbbbbbbbbbb",
                "model": "gpt-4o",
                "roles": HELP,
                "usage": Usage(141, 5, 0),
                "arrival": START,
                "latency": 1.5,
                "ttft": 0.4,
                "session": "s1",
                "user": "u-1",
            },
        ],
        {"prompt text redacted": 1},
    ),
    "swe_agent_traj.json": Form(
        "swe_agent_traj",
        [{"roles": ["system", "user", "user"], "app": "swe_main", "arrival": None}],
    ),
    "tau_bench.json": Form(
        "tau_bench",
        [
            {"id": "0.0#1", "session": "0.0", "roles": HELP, "arrival": None},
            {"id": "0.0#2", "session": "0.0", "roles": ["system", "user", "assistant", "user"]},
        ],
        {"no messages": 1},
    ),
    "vllm_bench_sharegpt.json": Form(
        "vllm_bench_sharegpt",
        [{"session": "a", "roles": ["user"]}, {"session": "b", "roles": HELP}],
    ),
    "lmsys_chat_1m.jsonl": Form(
        "lmsys_chat_1m",
        [
            {"session": name, "model": "vicuna-13b", "roles": ["user"], "arrival": None}
            for name in ("c1", "c2")
        ],
    ),
    "wildchat.jsonl": Form(
        "wildchat",
        [
            {"session": "h1", "model": "gpt-4-0314", "user": "ip1", "arrival": 1680998573.0},
            {"session": "h2", "model": "gpt-3.5-turbo", "roles": ["user"], "arrival": 1680998580.0},
        ],
    ),
    "openhands_output.jsonl": Form(
        "openhands_output",
        [
            {
                "id": "gen-1",
                "model": "openai/foo",
                "roles": HELP,
                "usage": Usage(900, 12, 0, 0),
                "latency": 2.1,
                "session": "x__y-1",
                "arrival": START + 0.9,
            }
        ],
        {"no messages": 1},
    ),
    "vllm_log_requests.log": Form(
        "vllm_log_requests",
        [
            {"id": "chatcmpl-1", "text": "<|im_start|>user\nHi's there<|im_end|>\n"},
            {"id": "chatcmpl-2", "text": "<|im_start|>user\nit's"},
        ],
    ),
    "sglang_log_requests_json.jsonl": Form(
        "sglang_log_requests_json",
        [
            {
                "id": "r1",
                "text": "<|im_start|>user\nHello",
                "usage": Usage(6, 2, 4),
                "arrival": START,
                "latency": 1.5,
                "output": Output(text="Hi"),
            }
        ],
    ),
    "sglang_log_requests_text.log": Form("sglang_log_requests_text", [], {"prompt cut by the logger": 1}),
    "claude_code_transcript.jsonl": Form(
        "claude_code_transcript",
        [
            {
                "id": "msg_1",
                "model": "claude-opus-4-6",
                "roles": ["user"],
                "arrival": START,
                "usage": Usage(17803, 8, 17000, 800),
                "session": "S1",
            }
        ],
    ),
    "codex_rollout.jsonl": Form(
        "codex_rollout",
        [
            {
                "model": "gpt-5.3-codex",
                "roles": ["user"],
                "usage": Usage(14475, 216, 2432),
                "arrival": START + 2,
                "session": "c-1",
            }
        ],
    ),
    "har_capture.json": Form(
        "har_capture",
        [
            {
                "id": "req_1",
                "model": "gpt-4o",
                "roles": HELP,
                "usage": Usage(41, 9, 0),
                "arrival": START,
                "latency": 1.5,
                "ttft": 0.4,
            },
            {"roles": TOOL, "usage": None, "arrival": START + 5, "output": None},
        ],
    ),
    "vllm_bench_custom.jsonl": Form(
        "vllm_bench_custom",
        [
            {"text": "What is the capital of Fooland?", "output": Output(length=10)},
            {"text": "What is the capital of Barland?", "output": None},
        ],
    ),
    "aiperf_single_turn.jsonl": Form(
        "aiperf_single_turn",
        [
            {"session": "s1", "roles": ["user"], "arrival": 0.0, "output": Output(length=5)},
            {"session": None, "roles": ["user"], "arrival": None},
        ],
    ),
    "aiperf_multi_turn.jsonl": Form(
        "aiperf_multi_turn",
        [
            {"id": "s1#1", "session": "s1", "roles": ["user"]},
            {"id": "s1#2", "session": "s1", "roles": ["user", "user"]},
            {"id": "s2#1", "session": "s2", "roles": ["user"]},
        ],
    ),
    "aiperf_mooncake_ext.jsonl": Form(
        "aiperf_mooncake_ext",
        [
            {"id": "s1#1", "roles": HELP, "arrival": 0.0, "output": Output(length=9)},
            {"id": "s1#2", "roles": [*HELP, "user"], "arrival": 0.5, "output": Output(length=5)},
            {"model": "m", "text": "Hello", "arrival": 1.0},
        ],
    ),
    "weka_agentic_trace.json": Form(
        "weka_agentic_trace",
        [
            {
                "blocks": Blocks(tuple(range(47)), 64, 3000),
                "output": Output(length=120),
                "ttft": 0.8,
                "arrival": 0.0,
                "latency": 2.1,
                "session": "sess1",
                "model": "claude-opus-4",
            },
            {"blocks": Blocks(tuple(range(50)), 64, 3200), "arrival": 4.0},
        ],
    ),
    "azure_llm_trace.csv": Form("azure_llm_trace", [], {NO_PROMPT: 2}),
    "burstgpt.csv": Form("burstgpt", [], {NO_PROMPT: 1, "failed request": 1}),
    "nginx_access.log": Form(
        "nginx_access",
        [{"model": "gpt-4o", "roles": ["user"], "arrival": START - 1.5, "latency": 1.5}],
        {NO_PROMPT: 1},
    ),
    "tgi_router.log": Form("tgi_router", [], {NO_PROMPT: 2}),
    "openrouter_generation.jsonl": Form("openrouter_generation", [], {NO_PROMPT: 2}),
    "llamacpp_server.log": Form("llamacpp_server", [], {NO_PROMPT: 2}),
    "envoy_ai_gateway.jsonl": Form("envoy_ai_gateway", [], {NO_PROMPT: 1, "failed request": 1}),
}
