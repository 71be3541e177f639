"""Which engine answers at an address, and the tokens that it makes of a prompt."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from radixadvisor.endpoint.metrics import CacheCounters, read_counters
from radixadvisor.errors import UnknownName, UsageError

__all__ = [
    "LLAMA",
    "SGLANG",
    "UNKNOWN",
    "VLLM",
    "Engine",
    "chosen_model",
    "counters",
    "identify",
    "tokens_of",
]

LLAMA, VLLM, SGLANG, UNKNOWN = "llama.cpp", "vllm", "sglang", "unknown"
_VLLM_PAGE = 16


class Pages(Protocol):
    """What is read from a server beside its answers."""

    def get(self, path: str) -> bytes | None:
        """A page."""

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """A JSON answer."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A server's engine: its name, the tokens that its cache shares at once, and the sequences it keeps
    (llama.cpp; 0 elsewhere).
    """

    name: str
    page: int = 1
    slots: int = 0


def counters(server: Pages) -> CacheCounters | None:
    """The counters of its prefix cache; None if it shows none."""
    page = server.get("/metrics")
    return None if page is None else read_counters(page.decode(errors="replace"))


def identify(server: Pages) -> Engine:
    """The engine, by pages that only it has."""
    slots = _field(server.get("/props"), "total_slots")
    if isinstance(slots, int) and slots > 0:
        return Engine(LLAMA, slots=slots)
    for path in ("/server_info", "/get_server_info"):
        page = _field(server.get(path), "page_size")
        if isinstance(page, int) and page > 0:
            return Engine(SGLANG, page)
    shown = server.get("/metrics")
    if shown is not None and b"vllm:" in shown:
        return Engine(VLLM, _block_size(shown) or _VLLM_PAGE)
    if shown is not None and b"sglang:" in shown:
        return Engine(SGLANG)
    return Engine(UNKNOWN)


def chosen_model(served: Sequence[str], asked: str | None, logged: Sequence[str]) -> str:
    """The model to ask for: the one given, else the only one served, else the log's most frequent one of
    those served. A server that lists none is asked for the log's.

    Raises:
        UsageError: several are served, and the log names none of them; or none is known at all.
        UnknownName: the one given is not served.
    """
    if asked is not None:
        if served and asked not in served:
            raise UnknownName("model of this server", asked, served)
        return asked
    if len(served) == 1:
        return served[0]
    both = [name for name in logged if not served or name in served]
    if both:
        return both[0]
    if not served:
        raise UsageError("Neither the server nor the log names a model: name one with --endpoint-model.")
    raise UsageError(
        f"The server has {len(served)} models, and the log names none of them: name one with "
        f"--endpoint-model ({', '.join(served)})."
    )


def tokens_of(server: Pages, engine: Engine, model: str, body: Mapping[str, Any]) -> bytes | None:
    """The prompt of a request in the server's own tokens, packed int32; None if it does not tell them."""
    found: Any = None
    if engine.name == LLAMA:
        prompt: Any = body.get("prompt")
        if prompt is None:
            shaped = server.post(
                "/apply-template", {name: body[name] for name in ("messages", "tools") if name in body}
            )
            prompt = shaped.get("prompt") if isinstance(shaped, dict) else None
        if isinstance(prompt, list):
            found = prompt
        elif prompt is not None:
            answer = server.post("/tokenize", {"content": prompt, "add_special": True, "parse_special": True})
            found = answer.get("tokens") if isinstance(answer, dict) else None
    elif engine.name == VLLM:
        names = ("messages", "tools", "prompt", "chat_template_kwargs")
        answer = server.post(
            "/tokenize", {"model": model, **{name: body[name] for name in names if name in body}}
        )
        found = answer.get("tokens") if isinstance(answer, dict) else None
    if not isinstance(found, list) or not found or not all(isinstance(token, int) for token in found):
        return None
    return array("i", found).tobytes()


def _field(page: bytes | None, name: str) -> Any:
    try:
        body = msgspec.json.decode(page or b"null")
    except msgspec.DecodeError:
        return None
    return body.get(name) if isinstance(body, dict) else None


def _block_size(page: bytes) -> int | None:
    """vLLM writes its cache's settings as labels of one gauge."""
    for line in page.decode(errors="replace").splitlines():
        if line.startswith("vllm:cache_config_info"):
            _, _, rest = line.partition('block_size="')
            digits = rest.partition('"')[0]
            return int(digits) if digits.isdecimal() and int(digits) else None
    return None
