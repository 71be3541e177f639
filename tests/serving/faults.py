"""One log for each rule of serving, and logs that look like one and are healthy.

Each entry writes rows from a seed; expected are the rules that the log must yield.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.diagnose.healthy import Writer, said
from tests.serving.logs import Row, chats, marked, sent, singles

Maker = Callable[[int], list[Row]]

FAULTS: dict[str, tuple[str, Maker]] = {}
HEALTHY: dict[str, Maker] = {}
ONLY_TOLD: dict[str, tuple[str, Maker, dict[str, int]]] = {}
"""Faults that show only with what a user tells of the server."""


def _fault(rule: str) -> Callable[[Maker], Maker]:
    def register(make: Maker) -> Maker:
        FAULTS[make.__name__] = rule, make
        return make

    return register


def _healthy(make: Maker) -> Maker:
    HEALTHY[make.__name__] = make
    return make


def _both(messages: list[Row]) -> list[int]:
    return [0, -1]


def _flipping(name: str, values: list[Any], **fields: Any) -> Callable[[int, int, int], Row]:
    return lambda number, session, turn: {name: values[turn % 2], **fields}


@_fault("RA501")
def effort_in_the_prompt(seed: int) -> list[Row]:
    return chats(seed, fields=_flipping("reasoning_effort", ["low", "high"], model="gpt-oss-20b"))


@_fault("RA501")
def model_by_turn(seed: int) -> list[Row]:
    return chats(seed, fields=_flipping("model", ["qwen2.5-7b-instruct", "qwen2.5-14b-instruct"]))


@_fault("RA501")
def schema_before_the_messages(seed: int) -> list[Row]:
    schemas = [{"type": "json_schema", "json_schema": {"name": f"form_{number}"}} for number in range(2)]
    return chats(seed, lines=60, fields=_flipping("response_format", schemas, model="gpt-4o"))


@_fault("RA501")
def tool_choice_behind_the_system(seed: int) -> list[Row]:
    choices = [{"type": "auto"}, {"type": "any"}]
    return marked(chats(seed, lines=60, turns=9, fields=_flipping("tool_choice", choices)), _both)


@_fault("RA502")
def logprobs_of_the_prompt(seed: int) -> list[Row]:
    rows = singles(seed, 40)
    for row in rows[:: 2 + seed % 3]:
        row["prompt_logprobs"] = seed % 2
    return rows


@_fault("RA502")
def echoed_prompts(seed: int) -> list[Row]:
    rows = singles(seed, 30)
    for row in rows[::3]:
        row |= {"echo": True, "logprobs": 1}
    return rows


@_fault("RA503")
def salt_per_session(seed: int) -> list[Row]:
    return chats(seed, fields=lambda number, session, turn: {"cache_salt": f"salt-{session}"})


@_fault("RA503")
def adapters_with_one_prompt(seed: int) -> list[Row]:
    return chats(seed, turns=3, fields=lambda number, session, turn: {"lora_name": f"adapter-{session % 3}"})


@_fault("RA504")
def pauses_longer_than_claude_remembers(seed: int) -> list[Row]:
    return marked(
        chats(seed, lines=70, gap=lambda session, turn: (30.0, 500.0 + 100 * (seed % 9))[turn % 2]), _both
    )


@_fault("RA504")
def pauses_longer_than_gpt_remembers(seed: int) -> list[Row]:
    return chats(
        seed,
        lines=70,
        gap=lambda session, turn: 700.0 + 10 * seed,
        fields=lambda number, session, turn: {"model": "gpt-4o"},
    )


@_fault("RA504")
def pauses_of_hours(seed: int) -> list[Row]:
    return marked(chats(seed, lines=70, sessions=3, gap=lambda session, turn: 20_000.0), _both)


@_fault("RA505")
def short_prompts_for_gpt(seed: int) -> list[Row]:
    return singles(seed, 40, lines=12, model="gpt-4o-mini")


@_fault("RA505")
def prompts_too_short_for_opus(seed: int) -> list[Row]:
    rows = marked(singles(seed, 30, lines=60), _both)
    for row in rows:
        row["model"] = "claude-opus-4-5"
    return rows


def _fans(seed: int, apart: float, **fields: Any) -> list[Row]:
    """Eight questions about each of five documents at once."""
    writer = Writer(seed)
    rows: list[Row] = []
    for group in range(5):
        document = writer.manual(80)
        for asked in range(8):
            messages = [said("system", document), said("user", f"{len(rows)} {writer.sentence()}")]
            at = 60.0 * group + apart * asked
            rows.append(sent(len(rows), at, messages, said("assistant", "ok"), **fields))
    return rows


@_fault("RA506")
def fan_out_on_an_engine(seed: int) -> list[Row]:
    return _fans(seed, 0.03, ttft_ms=500)


@_fault("RA506")
def fan_out_without_first_tokens(seed: int) -> list[Row]:
    return _fans(seed, 0.01)


@_fault("RA506")
def fan_out_on_an_api(seed: int) -> list[Row]:
    return _fans(seed, 0.2, model="gpt-4o", latency_ms=3000)


@_fault("RA507")
def replicas_in_turn(seed: int) -> list[Row]:
    count = 2 + seed % 4
    sessions = 2 * count + 1
    return chats(
        seed,
        sessions=sessions,
        fields=lambda number, session, turn: {"metadata": {"replica": f"gpu-{number % count}"}},
    )


@_fault("RA507")
def replicas_at_random(seed: int) -> list[Row]:
    rng = random.Random(seed)
    return chats(
        seed, turns=8, fields=lambda number, session, turn: {"metadata": {"replica": f"r{rng.randrange(6)}"}}
    )


@_fault("RA507")
def documents_over_replicas(seed: int) -> list[Row]:
    rng, writer = random.Random(seed), Writer(seed)
    documents = [writer.manual(40) for _ in range(15)]
    rows = []
    for number in range(60):
        messages = [said("system", rng.choice(documents)), said("user", f"{number} {writer.sentence()}")]
        place = {"replica": f"pod-{number % 4}"}
        rows.append(sent(number, 7.0 * number, messages, said("assistant", "ok"), metadata=place))
    return rows


@_fault("RA507")
def cache_key_per_user(seed: int) -> list[Row]:
    rows = singles(seed, 40, lines=60, model="gpt-4o")
    for number, row in enumerate(rows):
        row["prompt_cache_key"] = f"user-{number % 20}"
    return rows


@_fault("RA510")
def only_the_newest_message_marked(seed: int) -> list[Row]:
    return marked(singles(seed, 30, lines=70, words=3), lambda messages: [-1])


@_fault("RA510")
def only_the_system_marked(seed: int) -> list[Row]:
    return marked(chats(seed, lines=60, turns=9), lambda messages: [0])


@_fault("RA510")
def five_marks(seed: int) -> list[Row]:
    return marked(
        chats(seed, lines=60, turns=9),
        lambda messages: [1, 3, 5, 7, 9] if len(messages) > 10 else [0, -1],
    )


@_fault("RA510")
def some_without_marks(seed: int) -> list[Row]:
    rows = marked(chats(seed, lines=60), _both)
    for row in rows[::2]:
        for message in row["messages"]:
            for part in message["content"]:
                part.pop("cache_control", None)
    return rows


@_fault("RA510")
def turns_longer_than_the_look_back(seed: int) -> list[Row]:
    writer = Writer(seed)
    rows: list[Row] = []
    for session in range(4):
        history = [said("system", f"Keep the minutes.\n{writer.manual(70)}")]
        for turn in range(4):
            for _ in range(13):
                history += [said("user", writer.sentence()), said("assistant", writer.sentence())]
            history.append(said("user", f"{len(rows)} and now?"))
            answer = said("assistant", "ok")
            place = {"session_id": f"s{session}"}
            rows.append(sent(len(rows), 1000.0 * session + 30 * turn, history, answer, metadata=place))
            history.append(answer)
    return marked(rows, lambda messages: [-1])


@_fault("RA510")
def no_marks_and_nothing_cached(seed: int) -> list[Row]:
    rows = chats(seed, lines=60)
    for row in rows:
        row["model"] = "claude-sonnet-4-5"
        row["usage"] = {
            "input_tokens": 2000,
            "output_tokens": 20,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
        }
    return rows


@_fault("RA513")
def prompts_of_a_few_blocks(seed: int) -> list[Row]:
    # Lengths are such that ten or more tokens of the shared part stand in a block that is not full.
    return singles(seed, 60, lines=1 + seed % 2, words=1)


def _documents(seed: int, count: int, documents: int, every: float) -> list[Row]:
    rng, writer = random.Random(seed), Writer(seed)
    texts = [writer.manual(40) for _ in range(documents)]
    rows = []
    for number in range(count):
        messages = [said("system", rng.choice(texts)), said("user", f"{number} {writer.sentence()}")]
        rows.append(sent(number, every * number, messages, said("assistant", "ok")))
    return rows


def more_documents_than_the_pool(seed: int) -> list[Row]:
    return _documents(seed, 120, 20, 7.0)


def a_batch_in_random_order(seed: int) -> list[Row]:
    return _documents(seed, 300, 24, 0.0)


def one_cache_taken_for_four(seed: int) -> list[Row]:
    return chats(seed)


ONLY_TOLD["more_documents_than_the_pool"] = "RA508", more_documents_than_the_pool, {"capacity": 6000}
ONLY_TOLD["a_batch_in_random_order"] = (
    *("RA509", a_batch_in_random_order),
    {"capacity": 9000, "concurrency": 300},
)
ONLY_TOLD["one_cache_taken_for_four"] = "RA507", one_cache_taken_for_four, {"replicas": 4}


@_healthy
def sticky_replicas(seed: int) -> list[Row]:
    count = 2 + seed % 4
    return chats(
        seed,
        sessions=2 * count,
        turns=4,
        fields=lambda number, session, turn: {"metadata": {"replica": f"gpu-{session % count}"}},
    )


@_healthy
def one_prompt_over_replicas(seed: int) -> list[Row]:
    rows = singles(seed, 60)
    for number, row in enumerate(rows):
        row["metadata"] = {"replica": f"gpu-{number % 3}"}
    return rows


@_healthy
def adapters_with_prompts_of_their_own(seed: int) -> list[Row]:
    return chats(
        seed, systems=5, fields=lambda number, session, turn: {"lora_name": f"a{session}", "cache_salt": "x"}
    )


@_healthy
def marked_chats(seed: int) -> list[Row]:
    return marked(chats(seed, lines=60 + seed % 30), _both)


@_healthy
def marked_singles(seed: int) -> list[Row]:
    return marked(singles(seed, 30, lines=60 + seed % 30), _both)


@_healthy
def claude_without_marks(seed: int) -> list[Row]:
    return [row | {"model": "claude-sonnet-4-5"} for row in chats(seed, lines=70)]


@_healthy
def gpt_chats(seed: int) -> list[Row]:
    return [row | {"model": "gpt-4o", "tool_choice": "auto"} for row in chats(seed, lines=90)]


@_healthy
def one_parameter_per_conversation(seed: int) -> list[Row]:
    return chats(
        seed,
        fields=lambda number, session, turn: {
            "model": "gpt-oss-20b",
            "reasoning_effort": ("low", "high")[session % 2],
        },
    )


@_healthy
def parameters_that_no_prompt_holds(seed: int) -> list[Row]:
    return chats(
        seed,
        fields=lambda number, session, turn: {
            "response_format": {"type": ("text", "json_object")[turn % 2]},
            "logprobs": bool(turn % 2),
            "prompt_logprobs": None,
        },
    )


@_healthy
def batch_of_one_moment(seed: int) -> list[Row]:
    return _documents(seed, 60, 6, 0.0)
