"""A self-test as a short table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from math import isfinite
from typing import Any

from radixengine.selftest.results import SelfTest

__all__ = ["SCHEMA", "lines", "to_json"]

SCHEMA = "radixengine/selftest/1"


def lines(found: SelfTest) -> Iterator[str]:
    """The table; what failed stands first and last."""
    name = f"{found.device_name} ({found.device})"
    yield f"radixengine self-test on {name}, {found.threads} CPU threads"
    yield ""
    for check in found.checks:
        state = "ok  " if check.passed else "FAIL"
        error = f"{check.error:.1e}" if isfinite(check.error) else "nan"
        detail = f"  {check.detail}" if check.detail and not check.passed else ""
        figures = f"{check.cases:4} cases  error {error:>7} of {check.tolerance:.0e}"
        yield f"{state} {check.name:45} {figures}{detail}"
    if found.ceiling is not None:
        ceiling = found.ceiling
        yield ""
        yield (
            f"ceiling ({ceiling.dtype}): {ceiling.flops / 1e12:.3g} TFLOP/s in a matrix product, "
            f"{ceiling.bandwidth / 1e9:.3g} GB/s in a copy"
        )
    for rate in found.rates:
        of = "of the matrix product" if rate.phase == "prefill" else "of the copy"
        what = f"{rate.model} {rate.phase}, {rate.what}"
        yield f"{what:44} {rate.tokens:10,.0f} tokens/s  {rate.share:4.0%} {of}"
    for gain in found.gains:
        what = f"{gain.model}, {gain.shared:.0%} shared: cache on"
        reached = f"{gain.seconds / gain.flops:4.0%} of {gain.flops:.2f}x by FLOPs"
        yield f"{what:44} {gain.seconds:9.2f}x as fast   {reached}"
    if found.host is not None:
        pays = "loading pays" if found.host.load < found.host.compute else "computing is faster"
        load, compute = (f"{seconds * 1e6:.2f} us" for seconds in (found.host.load, found.host.compute))
        yield f"host tier: {load} to load a token's KV, {compute} to compute it: {pays}"
    for text in found.left_out:
        yield f"left out: {text}"
    yield ""
    failed = [check.name for check in found.checks if not check.passed]
    if failed:
        yield f"FAILED: {', '.join(failed)}. Do not trust results of this engine on this machine."
    else:
        yield f"all {len(found.checks)} checks passed in {found.seconds:.0f} s"


def to_json(found: SelfTest) -> bytes:
    """The same as data; an error that is no number is null."""
    body: dict[str, Any] = {"schema": SCHEMA, "passed": found.passed, **asdict(found)}
    del body["points"]
    for check, row in zip(found.checks, body["checks"], strict=True):
        row["passed"] = check.passed
        row["error"] = check.error if isfinite(check.error) else None
    return (json.dumps(body, indent=2, allow_nan=False) + "\n").encode()
