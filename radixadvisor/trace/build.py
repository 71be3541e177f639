"""Trace: a log as tokenized requests, the form that every measurement reads.

Text is kept once: a request refers to interned messages, a prompt is a tuple of interned segments, and its
tokens are put together when they are asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from radixadvisor.ingest import Log, SkipCounter
from radixadvisor.records import LONGEST_OUTPUT, Message, Output, Request, Skip
from radixadvisor.render.base import RenderError
from radixadvisor.tokens.checked import SampledTokenizer, checked
from radixadvisor.tokens.engine import TokenizerChoice, choose, pack
from radixadvisor.tokens.pool import BlockPool, Pool, SegmentPool

TOKEN_BYTES = 4


@dataclass(frozen=True, slots=True)
class TokenOptions:
    """How prompts become tokens: None follows each request's model.

    ``output_tokens`` stands for an output of which the log says nothing.
    """

    tokenizer: str | None = None
    chat_template: str | None = None
    output_tokens: int = 256


@dataclass(frozen=True, slots=True)
class Sequences:
    """Packed token sequences in order of arrival, put together anew at each iteration."""

    order: Sequence[int]
    sequence: Callable[[int], bytes]

    def __len__(self) -> int:
        return len(self.order)

    def __iter__(self) -> Iterator[bytes]:
        return map(self.sequence, self.order)


@dataclass(slots=True, eq=False)
class Trace:
    """Tokenized requests in input order, with their order of arrival.

    Attributes:
        requests: as read; their messages are shared objects.
        segments: per request the ids of its segments in ``pools[pool_of[i]]``.
        choices: tokenizer and template of each pool; None for a hash trace.
        lengths: prompt tokens per request.
        outputs: packed output tokens per request as far as they are known, else empty.
        output_lengths: output tokens per request, known or assumed.
        order: request indices by arrival, ties in input order; input order if any arrival is missing.
        sessions: a number per request; equal numbers are one session, requests without one stand alone.
        unit: tokens per position: 1, or the block size of a hash trace.
    """

    requests: list[Request]
    segments: list[tuple[int, ...]]
    pool_of: list[int]
    pools: list[Pool]
    choices: list[TokenizerChoice | None]
    lengths: list[int]
    outputs: list[bytes]
    output_lengths: list[int]
    order: list[int]
    sessions: list[int]
    named_sessions: int
    timed: bool
    unit: int
    skips: SkipCounter
    exact_repeats: int
    assumed_output: int
    output_sources: Counter[str] = field(default_factory=Counter)

    def prompt(self, index: int) -> bytes:
        """Packed int32 prompt tokens; block numbers for a hash trace."""
        return self.pools[self.pool_of[index]].prompt(self.segments[index])

    def head(self, index: int, positions: int) -> bytes:
        """The first packed tokens of a prompt, put together from as few segments as give that many."""
        pool, segments = self.pools[self.pool_of[index]], self.segments[index]
        size, count = positions * TOKEN_BYTES, 1
        while count < len(segments):
            head = pool.prompt(segments[:count])
            if len(head) >= size:
                return head[:size]
            count *= 2
        return pool.prompt(segments)[:size]

    def prompts(self) -> Sequences:
        """The prompts in order of arrival."""
        return Sequences(self.order, self.prompt)

    def cached_sequences(self) -> Sequences:
        """What each request leaves in a cache, in order of arrival: prompt and output without its last
        token, which never has KV.
        """
        return Sequences(self.order, lambda index: self.prompt(index) + self.outputs[index][:-TOKEN_BYTES])

    def namespace(self, index: int) -> str:
        """What splits the cache: model, vocabulary, LoRA, salt."""
        request = self.requests[index]
        extra = "".join(f"|{key}={value}" for key, value in request.namespace)
        return f"{self.pool_of[index]}|{request.model}{extra}"

    def arrivals(self) -> list[float] | None:
        """Arrival times in order of arrival, epoch seconds; None if any is missing."""
        if not self.timed:
            return None
        return [self.requests[index].arrival or 0.0 for index in self.order]


class TraceBuilder:
    """Collects requests one by one; ``finish`` settles what needs the whole log: order, sessions, outputs."""

    def __init__(self, options: TokenOptions) -> None:
        self._options = options
        self._choices: list[TokenizerChoice | None] = []
        self._pools: list[Pool] = []
        self._pool_by_model: dict[str | None, int] = {}
        self._requests: list[Request] = []
        self._segments: list[tuple[int, ...]] = []
        self._pool_of: list[int] = []

    def add(self, request: Request) -> Skip | None:
        """Render and tokenize one request, or say why its template refuses it."""
        model = request.model if request.blocks is None else None
        pool = self._pool_by_model.get(model)
        if pool is None:
            pool = self._pool_by_model[model] = self._open_pool(model)
        try:
            segments = self._pools[pool].segments(request)
        except RenderError as error:
            return Skip(request.source, "refused by the chat template", str(error))
        self._requests.append(request)
        self._segments.append(segments)
        self._pool_of.append(pool)
        return None

    def _open_pool(self, model: str | None) -> int:
        """The pool of a model's tokenizer and template; None stands for hash traces, which need neither."""
        if model is None:
            self._choices.append(None)
            self._pools.append(BlockPool())
            return len(self._pools) - 1
        choice = choose(model, self._options.tokenizer, self._options.chat_template)
        identity = (choice.name, choice.template, choice.template_hash)
        for index, known in enumerate(self._choices):
            if known is not None and (known.name, known.template, known.template_hash) == identity:
                return index
        self._choices.append(choice)
        self._pools.append(SegmentPool(choice.renderer, SampledTokenizer(choice.tokenizer)))
        return len(self._pools) - 1

    def finish(self, skips: SkipCounter) -> Trace:
        """The trace of everything added."""
        self._check_engines()
        requests = self._requests
        timed = bool(requests) and all(request.arrival is not None for request in requests)
        order = list(range(len(requests)))
        if timed:
            order.sort(key=lambda index: requests[index].arrival or 0.0)
        sessions, named = _number_sessions(requests)
        units = {request.blocks.unit for request in requests if request.blocks is not None}
        trace = Trace(
            requests=requests,
            segments=self._segments,
            pool_of=self._pool_of,
            pools=self._pools,
            choices=self._choices,
            lengths=[self._length(index) for index in range(len(requests))],
            outputs=[b""] * len(requests),
            assumed_output=self._options.output_tokens,
            output_lengths=[self._options.output_tokens] * len(requests),
            order=order,
            sessions=sessions,
            named_sessions=named,
            timed=timed,
            unit=units.pop() if units else 1,
            skips=skips,
            exact_repeats=len(requests) - len(set(zip(self._pool_of, self._segments, strict=True))),
        )
        _fill_outputs(trace)
        return trace

    def _check_engines(self) -> None:
        """Hold each fast tokenizer to its reference on samples of what it encoded; where they differ the
        reference takes over, and everything is encoded again.
        """
        for number, (choice, pool) in enumerate(zip(self._choices, self._pools, strict=True)):
            if choice is None or not isinstance(pool, SegmentPool):
                continue
            assert isinstance(pool.tokenizer, SampledTokenizer)
            tokenizer, wrong = checked(choice.tokenizer, pool.tokenizer.samples)
            if not wrong:
                continue
            notes = (*choice.notes, *tokenizer.notes[len(choice.tokenizer.notes) :])
            self._choices[number] = replace(choice, tokenizer=tokenizer, notes=notes)
            slower = self._pools[number] = SegmentPool(choice.renderer, tokenizer)
            for index, used in enumerate(self._pool_of):
                if used == number:
                    self._segments[index] = slower.segments(self._requests[index])

    def _length(self, index: int) -> int:
        blocks = self._requests[index].blocks
        if blocks is not None:
            return blocks.tokens
        return self._pools[self._pool_of[index]].length(self._segments[index])


def build_trace(
    log: Log,
    options: TokenOptions,
    keep: Callable[[Request], bool] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Trace:
    """Read a log to its end; ``log.skips`` counts what gave no request.

    Args:
        log: an opened log.
        options: how prompts become tokens.
        keep: a filter; requests that it refuses are left out uncounted.
        progress: called with the number of requests read so far, every 256 requests.
    """
    builder = TraceBuilder(options)
    count = 0
    for item in log:
        if isinstance(item, Skip) or (keep is not None and not keep(item)):
            continue
        refused = builder.add(item)
        if refused is not None:
            log.skips.add(refused)
        count += 1
        if progress is not None and not count % 256:
            progress(count)
    return builder.finish(log.skips)


def _number_sessions(requests: Sequence[Request]) -> tuple[list[int], int]:
    numbers: dict[str, int] = {}
    lonely = len(requests)
    found = []
    for index, request in enumerate(requests):
        if request.session is None:
            found.append(lonely + index)
        else:
            found.append(numbers.setdefault(request.session, len(numbers)))
    return found, len(numbers)


def _fill_outputs(trace: Trace) -> None:
    """Output tokens from the response, else from the history of the session's next request, else a length."""
    following = _next_in_session(trace)
    for index, request in enumerate(trace.requests):
        output = request.output
        source = "logged"
        if output is None or (output.message is None and output.text is None and output.tokens is None):
            reply = _reply_in_history(request, following.get(index))
            if reply is not None:
                output, source = Output(message=reply), "next request of the session"
        if output is not None and output.tokens is not None:
            trace.outputs[index] = output.tokens if isinstance(output.tokens, bytes) else pack(output.tokens)
        elif output is not None and request.blocks is None:
            pool = trace.pools[trace.pool_of[index]]
            assert isinstance(pool, SegmentPool)
            if output.message is not None:
                last = trace.segments[index][-1]
                trace.outputs[index] = pool.output(request, last, output.message, stopped=output.stopped)
            elif output.text is not None:
                trace.outputs[index] = pool.output_text(output.text)
        if trace.outputs[index]:
            trace.output_lengths[index] = len(trace.outputs[index]) // TOKEN_BYTES
        elif (length := _logged_length(request, output)) is not None:
            if length <= LONGEST_OUTPUT:
                trace.output_lengths[index], source = length, "length only"
            else:
                source = "assumed length"
        elif output is None:
            source = "assumed length"
        trace.output_sources[source] += 1


def _logged_length(request: Request, output: Output | None) -> int | None:
    """Output tokens as the log counts them."""
    if output is not None and output.length is not None:
        return output.length
    return None if request.usage is None else request.usage.completion


def _next_in_session(trace: Trace) -> dict[int, Request]:
    """For each request the next one of its session in order of arrival."""
    following: dict[int, Request] = {}
    last: dict[int, int] = {}
    for index in trace.order:
        session = trace.sessions[index]
        if session in last:
            following[last[session]] = trace.requests[index]
        last[session] = index
    return following


def _reply_in_history(request: Request, following: Request | None) -> Message | None:
    """The assistant turn that the next request carries right behind this request's messages."""
    if following is None or request.messages is None or following.messages is None:
        return None
    count = len(request.messages)
    if len(following.messages) <= count or following.messages[:count] != request.messages:
        return None
    reply = following.messages[count]
    return reply if reply.role == "assistant" else None
