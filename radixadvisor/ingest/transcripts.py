"""Claude Code's sessions as the prompts of their calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from radixadvisor.records import Message, Output, Request, Skip, Source, Usage

from .bodies import Context, position_id
from .calls import without_prompt
from .intern import Interner
from .raw import Fields, Raw, array_of, first_byte, is_empty, label, object_of
from .responses import read_usage
from .view import encode

__all__ = ["Session", "Turn"]

_MISSING = (
    "requests lack the system prompt and the tools, which Claude Code does not store: "
    "their token counts exceed their text"
)


@dataclass(slots=True)
class Turn:
    """One message of a session, gathered from the lines that hold its blocks."""

    identity: str
    role: str
    blocks: list[Raw]
    text: Raw | None
    time: float | None
    known: tuple[Message, ...] | None = None

    def raw(self) -> Raw:
        content = self.text if self.text is not None and not self.blocks else self.blocks
        return encode({"role": self.role, "content": content})

    def messages(self, interner: Interner) -> tuple[Message, ...]:
        """What it stands for in a prompt; nothing if the log keeps no content."""
        if self.known is None:
            said = self.blocks or self.text is not None
            self.known = interner.messages([self.raw()]) if said else ()
        return self.known


@dataclass(slots=True)
class _Open:
    """A call whose lines are still coming in."""

    identity: str
    source: Source
    prompt: tuple[Message, ...]
    turn: Turn
    model: str
    usage: Raw | None
    began: float | None


@dataclass(slots=True)
class Session:
    """The turns of one chain of a session: its main one, or that of a subagent."""

    context: Context
    name: str
    turns: list[Turn] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    answers: dict[str, Turn] = field(default_factory=dict)
    open: _Open | None = None

    def compacted(self) -> Iterator[Request | Skip]:
        """Begin anew: what was said stands in a summary from now on."""
        yield from self.close()
        self.turns, self.places, self.answers = [], {}, {}

    def user(self, line: Fields, message: Fields, time: float | None) -> Iterator[Request | Skip]:
        """A turn of the user, or the result of a tool."""
        yield from self.close()
        content = message.get("content")
        blocks = array_of(content) if content is not None and first_byte(content) == 0x5B else None
        parent = label(line.get("parentUuid"))
        results = any(label((object_of(each) or {}).get("type")) == "tool_result" for each in blocks or ())
        if parent in self.places and not results:
            # The user went back to an earlier turn.
            del self.turns[self.places[parent] + 1 :]
        if content is not None and not is_empty(content):
            self._add(line, Turn("", "user", blocks or [], None if blocks else content, time))

    def _add(self, line: Fields, turn: Turn) -> None:
        self.turns.append(turn)
        identity = label(line.get("uuid"))
        if identity is not None:
            self.places[identity] = len(self.turns) - 1

    def assistant(
        self, line: Fields, message: Fields, source: Source, time: float | None, seen: set[str]
    ) -> Iterator[Request | Skip]:
        """A block of an answer; the first of its message makes a call of it."""
        identity = (
            label(message.get("id")) or label(line.get("uuid")) or f"{position_id(source)}#{len(self.turns)}"
        )
        content = message.get("content")
        blocks = array_of(content) if content is not None and first_byte(content) == 0x5B else None
        text = [encode({"type": "text", "text": content})] if content and first_byte(content) == 0x22 else []
        added = blocks if blocks is not None else text
        last = self.answers.get(identity)
        usage = message.get("usage")
        if last is not None:
            held = {bytes(block) for block in last.blocks}
            last.blocks += [block for block in added if bytes(block) not in held]
            last.known = None
            if self.open is not None and self.open.identity == identity:
                self.open.usage = usage or self.open.usage
            return
        yield from self.close()
        turn = Turn(identity, "assistant", list(added), None, time)
        interner = self.context.interner
        prompt = tuple(part for each in self.turns for part in each.messages(interner))
        began = self.turns[-1].time if self.turns else None
        self._add(line, turn)
        self.answers[identity] = turn
        if identity in seen:
            return
        seen.add(identity)
        model = label(message.get("model")) or ""
        self.open = _Open(identity, source, prompt, turn, model, usage, began)

    def close(self) -> Iterator[Request | Skip]:
        """The call that was open, now that all its lines are here."""
        call, self.open = self.open, None
        if call is None:
            return
        usage = read_usage(object_of(call.usage) or {})
        if all(message.role == "assistant" for message in call.prompt):
            counted = usage or Usage()
            fault = without_prompt(self.context, counted.prompt, counted.completion, counted.cached)
            yield Skip(call.source, fault.reason, fault.detail)
            return
        self.context.remarks[_MISSING] += 1
        arrival = call.began if call.began is not None else call.turn.time
        output = self.context.interner.answer(call.turn.raw()) if call.turn.blocks else None
        yield Request(
            id=call.identity,
            source=call.source,
            model=call.model,
            messages=call.prompt,
            output=None if output is None else Output(message=output),
            usage=usage,
            arrival=arrival,
            session=self.name,
            app="claude-code",
        )
