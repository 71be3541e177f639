"""Each distinct segment of a log is rendered and tokenized once.

A segment is the text of one template group. Its borders lie on added-token borders, so its tokens do not
depend on what stands before or behind it, and a prompt's tokens are the concatenation of its segments'
tokens.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from typing import NamedTuple, Protocol, cast

from xxhash import xxh3_128_digest

from radixadvisor.records import Message, Request
from radixadvisor.render.base import Group, Plain, PlainTurns, Renderer, RenderError
from radixadvisor.tokens.engine import Tokenizer, added_pattern, pack

_LONG_LINE = 64
_MEMO_TOKENS = 4_000_000
_ENTRY_TOKENS = 40
_TOKEN_BYTES = 4
_LONG_PIECE = 64 * _TOKEN_BYTES


class Pool(Protocol):
    """What a trace needs: segments of a request, and the packed tokens of a run of segments."""

    def segments(self, request: Request) -> tuple[int, ...]: ...

    def prompt(self, segments: Sequence[int]) -> bytes: ...

    def length(self, segments: Sequence[int]) -> int:
        """Tokens of a prompt."""


class BlockPool:
    """Block hashes of a hash trace, numbered from 0 as they come: one "token" stands for one block."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def segments(self, request: Request) -> tuple[int, ...]:
        """The numbers of a request's blocks."""
        assert request.blocks is not None
        numbers = self._numbers
        return tuple([numbers.setdefault(block, len(numbers)) for block in request.blocks.ids])

    def prompt(self, segments: Sequence[int]) -> bytes:
        """Packed int32 block numbers."""
        return array("i", segments).tobytes()

    def length(self, segments: Sequence[int]) -> int:
        """Blocks of a prompt."""
        return len(segments)


class _Encoded(NamedTuple):
    """Packed tokens of a piece of text; equal numbers mean equal tokens, -1 that nothing is known."""

    tokens: bytes
    number: int


class Pieces(NamedTuple):
    """Where pieces of 64 tokens or more stand: a row for each of a segment.

    ``numbers``: equal ones have equal tokens; ``starts`` and ``sizes`` in tokens of the segment.
    """

    segments: array[int]
    numbers: array[int]
    starts: array[int]
    sizes: array[int]


class _Paragraphs:
    """Tokens of paragraphs and long lines seen before, for texts in which only some of them are new.

    Sound only where the tokenizer's ``safe_split`` says that the border behind a newline is always a border
    of its pretokenizer. Two generations bound the memory: when the young one is full, the old one is dropped.
    """

    def __init__(self, tokenizer: Tokenizer, limit: int = _MEMO_TOKENS) -> None:
        self._encode = tokenizer.encode
        self._borders = tokenizer.safe_split
        self._limit = limit
        self._young: dict[str | bytes, _Encoded] = {}
        self._old: dict[str | bytes, _Encoded] = {}
        self._held = 0
        self._count = 0

    def encode(self, text: str) -> list[_Encoded]:
        """The pieces of a text without added tokens."""
        if self._borders is None or len(text) < _LONG_LINE:
            return [self._known(text)]
        parts = []
        start = line = 0
        # Cuts that the text itself dictates come again behind a change; cuts at fixed sizes would not.
        for border in self._borders.finditer(text):
            end = border.end()
            if end - line >= _LONG_LINE:
                if line > start:
                    parts.append(self._known(text[start:line]))
                parts.append(self._known(text[line:end]))
                start = end
            elif text.startswith("\n\n", end - 2):
                parts.append(self._known(text[start:end]))
                start = end
            line = end
        if line > start and len(text) - line >= _LONG_LINE:
            parts.append(self._known(text[start:line]))
            start = line
        parts.append(self._known(text[start:]))
        return parts

    def _known(self, text: str) -> _Encoded:
        key = text if len(text) < _LONG_LINE else xxh3_128_digest(text.encode())
        encoded = self._young.get(key)
        if encoded is None:
            encoded = self._old.get(key)
            if encoded is None:
                encoded = _Encoded(self._encode(text), self._count)
                self._count += 1
            self._young[key] = encoded
            self._held += len(encoded.tokens) // _TOKEN_BYTES + _ENTRY_TOKENS
            if self._held > self._limit:
                self._old, self._young, self._held = self._young, {}, 0
        return encoded


class _Frame(NamedTuple):
    """What stands around the content of plain turns: the tokens of the opening through its last added token,
    which is ``size`` characters long, and those of the closing.
    """

    before: _Encoded
    size: int
    after: _Encoded


class SegmentPool:
    """Interned segments of one tokenizer and template: ids are positions in ``tokens``.

    Attributes:
        tokens: packed int32 tokens of every distinct segment, by segment id.
        pieces: the long pieces that segments consist of.
    """

    def __init__(self, renderer: Renderer, tokenizer: Tokenizer) -> None:
        self.renderer = renderer
        self.tokenizer = tokenizer
        self.tokens: list[bytes] = []
        self.pieces = Pieces(*(array("q") for _ in Pieces._fields))
        self._by_key: dict[Hashable, int] = {}
        self._by_text: dict[bytes, int] = {}
        self._by_tokens: dict[bytes, int] = {}
        self._outputs: dict[tuple[Message, bool], bytes] = {}
        self._openings: dict[int, str] = {}
        self._special = {text: _Encoded(pack((number,)), -1) for text, number in tokenizer.special.items()}
        self._split_added = added_pattern(tokenizer.special)
        self._paragraphs = _Paragraphs(tokenizer)
        # A template that cannot tell plain turns has all its turns put together from pieces.
        self._plain = cast("PlainTurns", renderer).plain if hasattr(renderer, "plain") else None
        self._frames: dict[tuple[str, str], _Frame | None] = {}

    def segments(self, request: Request) -> tuple[int, ...]:
        """Segment ids of a request's prompt, generation prompt included.

        Raises:
            RenderError: the template refuses the request.
        """
        if request.tokens is not None:
            return (self._intern_tokens(request.tokens),)
        if request.text is not None:
            return (self._intern_text(request.text),)
        groups = self.renderer.groups(request)
        if self.tokenizer.whole_prompt:
            return (self._intern_text("".join([self._text(request, group) for group in groups])),)
        by_key = self._by_key
        found = []
        for group in groups:
            segment = by_key.get(group.key)
            if segment is None:
                segment = by_key[group.key] = self._intern(request, group)
            found.append(segment)
        return tuple(found)

    def prompt(self, segments: Sequence[int]) -> bytes:
        """The packed tokens of a prompt."""
        tokens = self.tokens
        return b"".join([tokens[segment] for segment in segments])

    def length(self, segments: Sequence[int]) -> int:
        """Tokens of a prompt."""
        tokens = self.tokens
        return sum([len(tokens[segment]) for segment in segments]) // _TOKEN_BYTES

    def output(self, request: Request, last: int, reply: Message, *, stopped: bool) -> bytes:
        """The tokens that were generated when ``reply`` answered ``request``, whose prompt ends with segment
        ``last``: its turn as the template writes it, without what the generation prompt already gave. With
        ``stopped`` the turn's closing token, which was sampled too, is the last one.
        """
        known = self._outputs.get((reply, stopped))
        if known is None:
            text = self._reply_text(request, last, reply)
            known = self._outputs[reply, stopped] = self._joined(self._until_stop(text, stopped))
        return known

    def output_text(self, text: str) -> bytes:
        """The tokens of a bare completion."""
        return self._joined(text)

    def _reply_text(self, request: Request, segment: int, reply: Message) -> str:
        if request.messages is None:
            return reply.text
        try:
            opening = self._opening(request, segment)
            # The turn before decides flags such as "after the last question"; older ones and tools do not.
            last = request.messages[-1:]
            long = _with_messages(request, (*last, reply))
            turns = [group for group in self.renderer.groups(long) if group.first == len(last)]
            text = self._text(long, turns[0]) if turns else ""
        except RenderError:
            return reply.text
        return text[len(opening) :] if opening and text.startswith(opening) else reply.text

    def _opening(self, request: Request, segment: int) -> str:
        """The generation prompt, with which a prompt ends and an answer's turn begins."""
        known = self._openings.get(segment)
        if known is None:
            known = self._openings[segment] = self._text(request, self.renderer.groups(request)[-1])
        return known

    def _until_stop(self, text: str, stopped: bool) -> str:
        """Cut a turn at its closing token, the last added token in it."""
        ends = list(self._split_added.finditer(text)) if self._split_added is not None else []
        if not ends:
            return text
        return text[: ends[-1].end() if stopped else ends[-1].start()]

    def _intern(self, request: Request, group: Group) -> int:
        plain = self._plain(group) if self._plain is not None else None
        if plain is None:
            return self._intern_text(self._text(request, group))
        return self._intern_text("".join(plain), plain)

    def _text(self, request: Request, group: Group) -> str:
        plain = self._plain(group) if self._plain is not None else None
        if plain is not None:
            return "".join(plain)
        return "".join([piece.text for piece in self.renderer.pieces(request, group)])

    def _intern_tokens(self, tokens: bytes) -> int:
        key = xxh3_128_digest(tokens)
        segment = self._by_tokens.get(key)
        if segment is None:
            segment = self._by_tokens[key] = len(self.tokens)
            self.tokens.append(tokens)
        return segment

    def _intern_text(self, text: str, plain: Plain | None = None) -> int:
        key = xxh3_128_digest(text.encode())
        segment = self._by_text.get(key)
        if segment is None:
            segment = self._by_text[key] = len(self.tokens)
            parts = self._encode(text) if plain is None else self._encode_plain(text, plain)
            self.tokens.append(b"".join([part.tokens for part in parts]))
            self._note_pieces(segment, parts)
        return segment

    def _note_pieces(self, segment: int, parts: Sequence[_Encoded]) -> None:
        segments, numbers, starts, sizes = self.pieces
        at = 0
        for tokens, number in parts:
            size = len(tokens)
            if size >= _LONG_PIECE and number >= 0:
                segments.append(segment)
                numbers.append(number)
                starts.append(at // _TOKEN_BYTES)
                sizes.append(size // _TOKEN_BYTES)
            at += size

    def _joined(self, text: str) -> bytes:
        return b"".join([part.tokens for part in self._encode(text)])

    def _encode_plain(self, text: str, plain: Plain) -> list[_Encoded]:
        """The same as ``_encode``, in one piece from the opening's last added token to the closing's first
        one; it must be the first there is behind the opening's.
        """
        ends = plain.opening, plain.closing
        frame = self._frames.get(ends)
        if frame is None and ends not in self._frames:
            frame = self._frames[ends] = self._frame(*ends)
        if frame is None or self._split_added is None:
            return self._encode(text)
        end = len(text) - len(plain.closing)
        first = self._split_added.search(text, frame.size)
        if first is None or first.start() != end:
            return self._encode(text)
        return [frame.before, *self._paragraphs.encode(text[frame.size : end]), frame.after]

    def _frame(self, opening: str, closing: str) -> _Frame | None:
        """None where a content might change what the opening's added tokens are, or the closing has none."""
        if self._split_added is None:
            return None
        *before, rest = self._split_added.split(opening)
        found = before[1::2]
        longer = any(text.startswith(short) and text != short for text in self._special for short in found)
        if not rest or longer or self._split_added.match(closing) is None:
            return None
        joined = [_Encoded(self._joined(text), -1) for text in ("".join(before), closing)]
        return _Frame(joined[0], len(opening) - len(rest), joined[1])

    def _encode(self, text: str) -> list[_Encoded]:
        if self.tokenizer.whole_prompt or self._split_added is None:
            return [_Encoded(self.tokenizer.encode(text), -1)]
        parts = []
        for position, part in enumerate(self._split_added.split(text)):
            if position % 2:
                parts.append(self._special[part])
            elif part:
                parts += self._paragraphs.encode(part)
        return parts


def _with_messages(request: Request, messages: tuple[Message, ...]) -> Request:
    return Request(
        id=request.id,
        source=request.source,
        model=request.model,
        messages=messages,
        arrival=request.arrival,
        parameters=request.parameters,
    )
