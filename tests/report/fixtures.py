"""Hand-made analyses for the reporters: one ordinary, one whose strings from the log attack their reader."""

from __future__ import annotations

from dataclasses import replace

from radixadvisor.records import EditSpec
from radixadvisor.results import (
    Analysis,
    Assumption,
    Bounds,
    Branch,
    Breakdown,
    CapacityRow,
    CheckedRule,
    Finding,
    HitCount,
    HitRates,
    Hits,
    InputSummary,
    LedgerRow,
    LossRow,
    Prescription,
    SkipSummary,
    TokenizerInfo,
    Totals,
    Where,
)

TOTAL = 1_200_000
HOSTILE = (
    "\x1b[31mred\x1b[0m\x00 [bold red]markup[/] | pipe ``` fence ` </script><img src=x onerror=alert(1)>"
    "\r\n# heading\n- item\u202egnp.exe [link](javascript:alert(1)) https://evil.example www.evil.example"
)


def _count(tokens: int) -> HitCount:
    return HitCount(tokens, tokens / TOTAL)


def ordinary() -> Analysis:
    """A tool agent's log of 1,000 requests, with everything this version measures."""
    served = {"served": 780_000, "capacity": 0, "ttl": None, "rounding": 12_345, "elsewhere": 57_655}
    ledger = [
        LedgerRow(bucket, tokens, None if tokens is None else tokens / TOTAL)
        for bucket, tokens in {**served, "first_seen": 350_000}.items()
    ]
    return Analysis(
        input=InputSummary(
            files=("agent.jsonl.gz",),
            dialect="openai",
            evidence="messages in a logged envelope",
            requests=1000,
            skipped=SkipSummary(
                count=3,
                reasons={"not JSON": 2, "no messages": 1},
                examples={
                    "not JSON": ("agent.jsonl.gz:7", "agent.jsonl.gz:9"),
                    "no messages": ("agent.jsonl.gz:12",),
                },
            ),
            span_seconds=11_520.0,
            unit=1,
            sessions=50,
            exact_repeats=4,
        ),
        tokenizers=(
            TokenizerInfo("o200k", "chatml", "ab12", False, 10, ("other",)),
            TokenizerInfo("qwen", "qwen2.5", "cd34", True, 990, ("Qwen/Qwen2.5-7B-Instruct",)),
        ),
        totals=Totals(TOTAL, 90_000, 407_655),
        hits=Hits(
            unlimited=_count(792_345),
            profiles={"sglang": _count(780_000), "vllm": _count(771_008), "none": _count(0)},
            headline="sglang",
            rates=HitRates(780_000 / TOTAL, 0.6, 0.998),
            profile_rates={
                "unlimited": HitRates(792_345 / TOTAL, 0.61, 0.998),
                "sglang": HitRates(780_000 / TOTAL, 0.6, 0.998),
                "vllm": HitRates(771_008 / TOTAL, 0.59, 0.95),
            },
            across_sessions=_count(500_000),
            within_session=_count(600_001),
        ),
        branches=(
            Branch(
                2000, 2000, 1000, 1_998_000, 109.375, "You are a helpful airline agent. Today", "system", -1
            ),
            Branch(
                2600, 600, 400, 239_400, 142.2, "Book a flight from 北京 to Tokyo for me please", "user", 0
            ),
            Branch(2700, 100, 10, 900, 147.7, '{"id": "call_1"}', "tool", 1),
            Branch(2100, 100, 300, 29_900, 114.8, "Cancel my reservation", "user", 0),
            Branch(90, 90, 5, 360, 4.9, "Summarise", "user", -1),
        ),
        bounds=Bounds(780_000, None, None, 850_000, 792_345),
        capacity=tuple(
            CapacityRow(1000 * 2**i, 0.055 * 2**i, 0.66 * i / 9, 0.66 * min(1, (i + 2) / 9), 0.66 * i / 9)
            for i in range(10)
        ),
        ledger=tuple(ledger),
        kv_bytes_per_token=57_344,
        model="Qwen/Qwen2.5-7B-Instruct",
        assumptions=(
            Assumption("10 requests name a model without a known template", "their counts are a stand-in's"),
            Assumption("90 outputs have no length and count 256 tokens", "cached outputs are an estimate"),
        ),
        not_evaluated={
            "ledger.ttl": "the sglang profile has no expiry",
            "bounds.best_order_found": "this version does not search orders",
            "bounds.dp_optimum": "this version does not search orders",
        },
    )


def hostile() -> Analysis:
    """The same log, written by an enemy."""
    import dataclasses

    base = ordinary()
    return dataclasses.replace(
        base,
        input=dataclasses.replace(
            base.input,
            files=(HOSTILE,),
            skipped=SkipSummary(1, {HOSTILE: 1}, {HOSTILE: (HOSTILE,)}),
        ),
        tokenizers=tuple(
            dataclasses.replace(used, name=HOSTILE, models=(HOSTILE,)) for used in base.tokenizers
        ),
        branches=tuple(
            dataclasses.replace(branch, excerpt=HOSTILE, label=HOSTILE) for branch in base.branches
        ),
        assumptions=(Assumption(HOSTILE, HOSTILE),),
        not_evaluated={**base.not_evaluated, "bounds.dp_optimum": HOSTILE},
        model=HOSTILE,
    )


def advised(text: str = "Time: 09:00") -> Analysis:
    """The ordinary analysis with two changes to make, a loss without a fix, and losses by application; all
    that comes from the log holds ``text``.
    """

    def finding(rule: str, fix: str | None, lost: int) -> Finding:
        where = Where("id-1", "messages[0].content", 5, 19)
        kind = "explanation" if fix is None else "fix"
        severity = "high" if fix else "low"
        title = f"A fault of {text}"
        return Finding(
            rule, kind, "sglang", title, severity, where, f"old {text}", f"new {text}", 25, lost, fix
        )

    def change(number: int, rule: str, gain: int, longer: int) -> Prescription:
        spec = EditSpec("sort_tools", "safe", (0,))
        return Prescription(
            id=f"P{number}",
            rules=(rule,),
            title=f"Mend {text}",
            edit="text",
            safety=("safe", "review")[number - 1],
            alone_tokens=gain + 1,
            marginal_tokens=gain,
            marginal_interval=(gain - 10, gain + 10),
            rate_after=0.8 + number / 100,
            hit_tokens=gain,
            prompt_tokens=longer,
            applications=(text,),
            spec=spec,
        )

    return replace(
        ordinary(),
        findings=(finding("RA101", "P1", 9001), finding("RA301", "P2", 501), finding("RA404", None, 77)),
        prescriptions=(change(1, "RA101", 9000, 0), change(2, "RA301", 500, 40)),
        checked=(CheckedRule("RA407", f"Spaces of {text}", -3, -3),),
        by=Breakdown(
            "app",
            (LossRow(text, 900, 1_000_000, 600_000, 90_000, "elsewhere"), LossRow("", 1, 9, 9, 0, None)),
        ),
    )
