"""The applications of a log as a lock sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from radixadvisor.analysis.applications import Application, applications_of
from radixadvisor.analysis.lock.conversations import Conversation, conversations_of
from radixadvisor.analysis.lock.file import Lock, Locked, Unlocked
from radixadvisor.analysis.lock.prefixes import FEWEST, LEAST, Prefix, prefix_hash, prefix_of
from radixadvisor.trace import Trace

__all__ = ["Found", "find_applications", "lock_of"]


@dataclass(frozen=True, slots=True)
class Found:
    """An application of a log; ``prefix`` is None where none can be told, for the reason ``unlocked``."""

    name: str
    model: str
    tokenizer: str
    template: str
    template_hash: str
    tools: tuple[str, ...]
    conversations: tuple[Conversation, ...]
    requests: int
    prefix: Prefix | None
    unlocked: str

    @property
    def size(self) -> int:
        """The number of conversations."""
        return len(self.conversations)

    @property
    def reference(self) -> int:
        """The trace index of the first request."""
        return self.conversations[0].first

    def counted_as(self, locked: Locked) -> bool:
        """Whether tokens are those of a lock: the same vocabulary, for the same model."""
        return self.tokenizer == locked.tokenizer and self.model == locked.model

    def holding(self, trace: Trace, locked: Locked) -> int:
        """How many conversations begin with the locked prefix."""
        return sum(self._holds(trace, item, locked) for item in self.conversations)

    def first_without(self, trace: Trace, locked: Locked) -> int | None:
        """A request that does not begin with the locked prefix, of the first conversation that has one."""
        item = next((item for item in self.conversations if not self._holds(trace, item, locked)), None)
        if item is None:
            return None
        return item.least if _begins(trace, item.first, locked) else item.first

    def _holds(self, trace: Trace, item: Conversation, locked: Locked) -> bool:
        return item.tokens >= locked.prefix.tokens and _begins(trace, item.first, locked)


def _begins(trace: Trace, index: int, locked: Locked) -> bool:
    tokens = locked.prefix.tokens
    return trace.lengths[index] >= tokens and prefix_hash(trace, index, tokens) == locked.prefix.hash


def find_applications(trace: Trace) -> tuple[Found, ...]:
    """The applications of a log with their static prefixes, in order of first arrival."""
    return tuple(_found(trace, item) for item in applications_of(trace))


def lock_of(found: Sequence[Found]) -> Lock:
    """What can be locked of a log. Applications with one name, model and prefix are one."""
    locked: dict[tuple[str, str, str], Locked] = {}
    reasons: Counter[str] = Counter()
    requests: Counter[str] = Counter()
    for item in found:
        if item.prefix is None:
            reasons[item.unlocked] += 1
            requests[item.unlocked] += item.requests
            continue
        tools = item.tools
        known = locked.get((item.name, item.model, item.prefix.hash))
        if known is not None:
            tools = tuple(sorted({*tools, *known.tools}))
        locked[item.name, item.model, item.prefix.hash] = Locked(
            item.name, item.model, item.tokenizer, item.template, item.template_hash, tools, item.prefix
        )
    return Lock(
        tuple(locked[key] for key in sorted(locked)),
        tuple(Unlocked(reason, reasons[reason], requests[reason]) for reason in sorted(reasons)),
    )


def _found(trace: Trace, item: Application) -> Found:
    conversations = conversations_of(trace, item)
    choice = trace.choices[trace.pool_of[item.requests[0]]]
    prefix = None if choice is None else prefix_of(trace, item, conversations)
    few = len(conversations) < FEWEST
    reason = (
        f"fewer than {FEWEST} conversations" if few else f"less than {LEAST} tokens of text begin all prompts"
    )
    return Found(
        name=item.name,
        model=item.model,
        tokenizer="" if choice is None else choice.name,
        template="" if choice is None else choice.template,
        template_hash="" if choice is None else choice.template_hash,
        tools=item.tools,
        conversations=tuple(conversations),
        requests=len(item.requests),
        prefix=prefix,
        unlocked="" if prefix is not None else reason,
    )
