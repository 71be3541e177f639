"""The sentences about a replay, and the figures that every report of it derives."""

from __future__ import annotations

from radixadvisor.replaying.results import Claim, Replay, RunResult
from radixadvisor.report.escape import clip, mask
from radixadvisor.report.numbers import count, percent, plural

__all__ = [
    "agreement_lines",
    "claim_line",
    "engine_line",
    "predicted_seconds",
    "quiet_line",
    "remarks",
    "speedups",
    "times",
]

_MOST_DIFFERENCES = 5
_LONGEST_ID = 40


def speedups(replay: Replay, run: RunResult) -> tuple[float | None, float | None]:
    """Prefill seconds without a cache over those of this run, and the same ratio of prefill FLOPs; None for
    the run without a cache, and where one of the two was stopped.
    """
    off = replay.baseline(run)
    if off is None or not run.cache or not (run.complete and off.complete and run.flops):
        return None, None
    return off.prefill_seconds / run.prefill_seconds, off.flops / run.flops


def predicted_seconds(replay: Replay, run: RunResult) -> float | None:
    """Prefill seconds foreseen: the FLOPs of the hits expected beforehand, at the rate of the run without a
    cache; None where ``speedups`` gives none.
    """
    off = replay.baseline(run)
    if off is None or speedups(replay, run)[0] is None or not off.flops:
        return None
    return off.prefill_seconds * run.predicted_flops / off.flops


def quiet_line(replay: Replay) -> str:
    """All runs in one line, with what failed."""
    parts = []
    for run in replay.runs:
        faster = speedups(replay, run)[0]
        gain = f", prefill {times(faster)} faster" if faster is not None else ""
        parts.append(f"{run.label} {percent(run.rate)} hits{gain}")
    verdicts = [f"{claim.name} {claim.outcome}" for claim in replay.claims]
    ends = ["tokens differ"] if replay.failed else []
    ends += [] if replay.complete else ["stopped"]
    return "; ".join(parts + verdicts + ends)


def engine_line(replay: Replay) -> str:
    """The machine, the model and the load in one sentence."""
    setup = replay.setup
    device = setup["device_name"] or setup["device"]
    threads = (
        f" ({plural(setup['threads'], 'thread')})" if setup["device"] == "cpu" and setup["threads"] else ""
    )
    if setup["arrivals"]:
        load = "at the log's arrivals"
        load += f", {setup['speedup']:g} times as fast" if setup["speedup"] != 1 else ""
    else:
        load = "one request at a time" if setup["clients"] == 1 else plural(setup["clients"], "client")
    scale = f", {setup['scale']} tokens as one" if setup["scale"] > 1 else ""
    weights = "random" if setup["weights"] == "random" else "its own"
    model = f"{setup['model']} with {weights} weights in {setup['dtype']}"
    output = f"at most {plural(setup['max_new'], 'output token')}"
    pool = f"a pool of {count(setup['capacity'])} tokens"
    return f"{model} on {device}{threads}; {load}{scale}, {output}, {pool}"


def times(ratio: float | None) -> str:
    """A ratio as a factor: ``6.4x``."""
    return "-" if ratio is None else f"{ratio:.1f}x" if ratio >= 9.95 else f"{ratio:.2f}x"


def headline(replay: Replay) -> str:
    """What the cache did to prefill in each order, by the policy that was expected to hit most; empty where
    no run of the two came to its end.
    """
    parts = []
    for order in replay.orders:
        made = [
            run for run in replay.runs if run.order == order.name and speedups(replay, run)[0] is not None
        ]
        if made:
            best = max(made, key=lambda run: run.predicted_tokens)
            faster = times(speedups(replay, best)[0])
            parts.append(f"{faster} as fast in {order.name} order ({best.policy}, {percent(best.rate)} hits)")
    return f"With the cache, prefill is {', '.join(parts)}." if parts else ""


def claim_line(claim: Claim) -> str:
    """A claim with its two figures."""
    first, second = claim.runs
    why = f"; {claim.reason}" if claim.reason else ""
    return (
        f"{claim.outcome}: {claim.text} ({claim.quantity} of {first} over {second}: predicted "
        f"{times(claim.predicted)}, measured {times(claim.measured)}, "
        f"counts from {claim.threshold:.3g}x{why})"
    )


def agreement_lines(replay: Replay) -> list[str]:
    """Whether greedy tokens with the cache equal those without, with the logit gap of each difference."""
    compared = [run for run in replay.runs if run.agreement is not None]
    total = sum(run.agreement.compared for run in compared if run.agreement)
    found = [(run, one) for run in compared if run.agreement for one in run.agreement.differences]
    if not compared:
        return ["no run with a cache could be compared with one without"]
    if not found:
        return [f"the same greedy tokens with the cache as without, in {plural(total, 'comparison')}"]
    lines = []
    for run, one in sorted(found, key=lambda pair: -pair[1].gap)[:_MOST_DIFFERENCES]:
        assert run.agreement is not None
        verdict = "a tie" if one.gap <= run.agreement.tolerance else "NOT a tie"
        name = clip(replay.ids[one.rid], _LONGEST_ID)
        lines.append(
            f"{run.label}: {name} differs from its token {one.position + 1} on "
            f"({one.with_cache} instead of {one.without_cache}); logit gap {one.gap:.2g}, {verdict} at a "
            f"tolerance of {run.agreement.tolerance:g}"
        )
    if len(found) > _MOST_DIFFERENCES:
        lines.append(f"and {len(found) - _MOST_DIFFERENCES} more of {plural(total, 'comparison')}")
    return lines


def remarks(replay: Replay) -> list[str]:
    """What has to be said beside the numbers: choices made, what is missing and why, refused requests."""
    refused = []
    for run in replay.runs:
        if run.refused:
            often = max(run.refused, key=lambda reason: run.refused[reason])
            many = "such as: " if len(run.refused) > 1 else ""
            number = plural(sum(run.refused.values()), "request")
            refused.append(f"{run.label}: {number} refused, {many}{often}")
    edits = [f"{order.name} order: {mask('; '.join(order.edits))}" for order in replay.orders if order.edits]
    return [
        *replay.notes,
        *edits,
        *(f"{name}: {reason}" for name, reason in replay.not_evaluated.items()),
        *refused,
    ]
