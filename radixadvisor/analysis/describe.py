"""What an analysis says beside its measurements: what was read, with which tokenizers, under which
assumptions.
"""

from __future__ import annotations

from radixadvisor.analysis.measure import Measured
from radixadvisor.analysis.options import AnalyzeOptions
from radixadvisor.analysis.sampling import LOWER_BOUNDS, sampled
from radixadvisor.catalog import Model, find_model, model
from radixadvisor.ingest import Log
from radixadvisor.measure.branches import SharedBranch, heaviest
from radixadvisor.measure.walks import Walks
from radixadvisor.records import Request
from radixadvisor.results import Assumption, Branch, InputSummary, SkipSummary, TokenizerInfo
from radixadvisor.tokens.pool import SegmentPool
from radixadvisor.trace import Trace, locate

BRANCHES = 12
_EXCERPT_TOKENS = 48
_SHORT_TOKENS = 16
_TOKEN_BYTES = 4
_MIB = 1 << 20


def input_of(trace: Trace, log: Log) -> InputSummary:
    """The log as it was read."""
    arrivals = trace.arrivals()
    return InputSummary(
        files=tuple(log.files),
        dialect=log.dialect,
        evidence=log.evidence,
        requests=len(trace.requests),
        skipped=SkipSummary(
            log.skips.total,
            dict(log.skips.reasons),
            {reason: tuple(places) for reason, places in log.skips.examples.items()},
        ),
        span_seconds=arrivals[-1] - arrivals[0] if arrivals else None,
        unit=trace.unit,
        sessions=trace.named_sessions,
        exact_repeats=trace.exact_repeats,
    )


def tokenizers_of(trace: Trace) -> tuple[TokenizerInfo, ...]:
    """Every tokenizer in use, the one of most requests first; requests that bring their tokens use none."""
    infos = []
    for pool, choice in enumerate(trace.choices):
        if choice is None:
            continue
        models = [
            request.model
            for request, used in zip(trace.requests, trace.pool_of, strict=True)
            if used == pool and _is_encoded(request)
        ]
        if models:
            names = tuple(sorted(set(models)))
            infos.append(
                TokenizerInfo(
                    choice.name, choice.template, choice.template_hash, choice.exact, len(models), names
                )
            )
    return tuple(sorted(infos, key=lambda info: -info.requests))


def _is_encoded(request: Request) -> bool:
    """Whether a tokenizer makes tokens of a request's prompt or of its output."""
    output = request.output
    spoken = output is not None and (output.message is not None or output.text is not None)
    return request.tokens is None or spoken


def untimed(trace: Trace) -> str:
    """Why the log's times cannot be used."""
    missing = sum(request.arrival is None for request in trace.requests)
    return f"{missing} of {len(trace.requests)} requests have no timestamp; they are taken in input order"


def target_model(trace: Trace, options: AnalyzeOptions, missing: dict[str, str]) -> Model | None:
    """The model whose KV sizes count: the one asked for, else the log's most frequent one."""
    if options.model is not None:
        return model(options.model)
    names = [request.model for request in trace.requests]
    name = max(sorted(set(names)), key=names.count)
    found = find_model(name)
    if found is None:
        reason = f"the shape of {name or 'the unnamed model'} is not known; name one with --model"
        missing |= dict.fromkeys(("capacity.gib", "branches.pin_mib", "model", "kv_bytes_per_token"), reason)
    return found


def branches_of(trace: Trace, walks: Walks, kv_bytes: int | None) -> tuple[Branch, ...]:
    """The heaviest shared branches, each with a look at its text and the place that it comes from."""
    shared = heaviest(walks.tree, walks.passes(), BRANCHES, max(_SHORT_TOKENS // trace.unit, 1))
    holders = _holders(trace, shared)
    return tuple(
        Branch(
            depth=branch.depth * trace.unit,
            tokens=branch.tokens * trace.unit,
            requests=branch.requests,
            saved=branch.saved * trace.unit,
            pin_mib=None if kv_bytes is None else branch.depth * trace.unit * kv_bytes / _MIB,
            excerpt=_excerpt(trace, branch),
            label=_label(trace, branch, holder),
            parent=branch.parent,
        )
        for branch, holder in zip(shared, holders, strict=True)
    )


def _holders(trace: Trace, branches: list[SharedBranch]) -> list[int]:
    """For each branch the first request that passes through it."""
    holders: dict[int, int] = {}
    for index, prompt in zip(trace.order, trace.prompts(), strict=True):
        for number, branch in enumerate(branches):
            if (
                number not in holders
                and str(trace.pool_of[index]) == branch.namespace
                and prompt.startswith(branch.key)
            ):
                holders[number] = index
        if len(holders) == len(branches):
            break
    return [holders[number] for number in range(len(branches))]


def _excerpt(trace: Trace, branch: SharedBranch) -> str:
    pool = trace.pools[int(branch.namespace)]
    if not isinstance(pool, SegmentPool):
        return ""
    own = branch.key[-branch.tokens * _TOKEN_BYTES :]
    return pool.tokenizer.decode(own[: _EXCERPT_TOKENS * _TOKEN_BYTES])


def _label(trace: Trace, branch: SharedBranch, holder: int) -> str:
    """The places that the branch's first and last own tokens come from."""
    first = locate(trace, holder, branch.depth - branch.tokens).label
    last = locate(trace, holder, branch.depth - 1).label
    return first if first == last else f"{first} .. {last}"


def assumptions_of(trace: Trace, log: Log, found: Measured) -> tuple[Assumption, ...]:
    """What was taken for granted, each with its effect."""
    told = []
    encoding = {
        used for used, request in zip(trace.pool_of, trace.requests, strict=True) if _is_encoded(request)
    }
    brought = sum(request.tokens is not None for request in trace.requests)
    if brought:
        told.append(
            Assumption(
                f"{brought} prompts are token ids in the log; excerpts decode them with the tokenizer of the "
                "model's name.",
                "none on tokens or hits; shown text may be wrong",
            )
        )
    for pool, choice in enumerate(trace.choices):
        if choice is not None and pool in encoding:
            effect = "none" if choice.exact else "token counts and hit rates are close, not exact"
            told += [Assumption(note, effect) for note in choice.notes]
    told += [Assumption(note, "order of requests") for note in log.notes]
    sign = sampled(trace)
    if sign is not None:
        told.append(
            Assumption(
                f"The log looks like a sample of about {sign.share:.0%} of the traffic: {sign.evidence}.",
                LOWER_BOUNDS,
            )
        )
    if not trace.timed:
        told.append(
            Assumption(
                f"Requests are taken in input order: {untimed(trace)}.",
                "nothing that needs time is evaluated",
            )
        )
    inferred = trace.output_sources["next request of the session"]
    if inferred:
        told.append(
            Assumption(
                f"{inferred} outputs were read from the history of the session's next request.",
                "hits that continue an output count as in an engine that caches outputs",
            )
        )
    unknown = trace.output_sources["assumed length"]
    if unknown:
        told.append(
            Assumption(
                f"{unknown} requests have no logged output: {trace.assumed_output} tokens each are assumed.",
                "their outputs are never hit; output totals and times follow the assumed length",
            )
        )
    told += [
        Assumption(f"{note[:1].upper()}{note[1:]}.", f"hits of {found.headline}") for note in found.notes
    ]
    if found.modelled_prefills:
        told.append(
            Assumption(
                f"{found.modelled_prefills} requests have no time to first token: their prefill is modelled "
                "by the default linear cost of an 8B model.",
                "the ledger's in_flight bucket",
            )
        )
    return tuple(told)
