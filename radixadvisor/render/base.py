"""What a chat template family must offer.

A prompt is a sequence of *groups*: runs of messages whose text depends on nothing but the messages themselves
and a few flags (first, last, before the last question ...). Group borders lie on added-token borders, so a
group's tokens do not depend on its neighbours, and each distinct group is rendered and tokenized once for a
whole log.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple, Protocol

from radixadvisor.errors import AdvisorError
from radixadvisor.records import Request

__all__ = ["Group", "Origin", "Piece", "Plain", "PlainTurns", "RenderError", "Renderer"]


class RenderError(AdvisorError):
    """A request that its template rejects. The sentence says why and never quotes the prompt."""


class Origin(NamedTuple):
    """Where a rendered text came from: a JSON path into the request (``messages[0].content``) and its first
    character.
    """

    path: str
    start: int


class Piece(NamedTuple):
    """A run of rendered text; ``origin`` is None for what the template itself adds."""

    text: str
    origin: Origin | None


class Group(NamedTuple):
    """One unit of rendering.

    ``key`` identifies the text: equal keys mean equal text under one renderer. It is built from
    Message/ToolSet objects and plain flags. ``first`` is the index of the group's first message (-1 for a
    head without messages), ``size`` its messages.
    """

    key: tuple[Hashable, ...]
    first: int
    size: int


class Plain(NamedTuple):
    """The text of a group that prints one content between two strings of the template's own."""

    opening: str
    content: str
    closing: str


class Renderer(Protocol):
    """A template family.

    ``name`` goes into reports, ``exact`` says whether a reference implementation confirmed it, ``notes``
    tells what a reader of the report must know, and ``added_tokens`` lists the strings that the tokenizer
    must treat as single tokens. A beginning-of-sequence token is part of the text.
    """

    @property
    def name(self) -> str: ...
    @property
    def exact(self) -> bool: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def added_tokens(self) -> tuple[str, ...]: ...

    def groups(self, request: Request) -> Sequence[Group]:
        """Cut a request into groups: one cheap pass, no text is built. Generation prompt included, as last
        group.

        Raises:
            RenderError: the template rejects the request.
        """

    def pieces(self, request: Request, group: Group) -> list[Piece]:
        """The text of one group with the origin of each run."""


class PlainTurns(Protocol):
    """What a template family may offer beside ``pieces``: the text of plain turns at once."""

    def plain(self, group: Group) -> Plain | None:
        """What the pieces of a group say together, if it is a role and a content alone; None says nothing."""
