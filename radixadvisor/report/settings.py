"""Engine settings for a workload in words: the flag, and the simulated figures that chose it."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any

from radixadvisor.report.escape import code, prose
from radixadvisor.report.numbers import compact, duration, percent, plural
from radixadvisor.results import Analysis
from radixadvisor.results_advice import Settings, SettingTrial
from radixadvisor.simulate.hosted_profiles import HostedProfile, provider, providers

__all__ = ["settings_row", "settings_section"]

_DECIMALS = 6


def settings_row(found: Settings | None) -> dict[str, Any] | None:
    """The settings as plain data."""
    if found is None:
        return None
    return {
        "requests": found.requests,
        "fixed": found.fixed,
        "pool_tokens": found.pool,
        "pool_known": found.pool_known,
        "clients": found.clients,
        "enough_tokens": found.enough,
        "schedule_policy": _trial(found.policy),
        "page_size": _trial(found.page),
        "host_ratio": _trial(found.host_ratio),
        "loading_pays": found.loading_pays,
        "route": {**_trial(found.route), "replicas": found.replicas},
    }


def _trial(trial: SettingTrial) -> dict[str, Any]:
    rates = {name: round(rate, _DECIMALS) for name, rate in trial.rates}
    return {"chosen": trial.chosen, "rates": rates}


def settings_section(analysis: Analysis) -> Iterator[str]:
    """Flags for SGLang and vLLM, each with what was simulated; for a hosted API what its cache asks for."""
    found = analysis.settings
    if found is None:
        yield from _hosted(analysis.hits.headline)
        return
    yield "## Engine settings"
    yield ""
    form = "with the text changes above in it" if found.fixed else "as it is"
    pool = f"{compact(found.pool)} tokens of KV"
    pool += "" if found.pool_known else ", half of what it would fill, since no card or pool is named"
    yield (
        f"Simulated on the first {plural(found.requests, 'request')} of the log, {form}: "
        f"{found.clients} clients, {pool}. Shares are of the prompt tokens."
    )
    yield ""
    yield "SGLang:"
    yield ""
    for flag, why in _sglang(found):
        yield f"- {code(flag)}: {why}"
    yield ""
    yield "vLLM:"
    yield ""
    for flag, why in _vllm(analysis):
        yield f"- {code(flag)}: {why}"
    yield ""


def _hosted(headline: str) -> Iterator[str]:
    """The rules of a hosted API's cache that a client can do something about."""
    if headline not in providers():
        return
    api = provider(headline)
    yield "## What the API's cache asks for"
    yield ""
    yield f"By the rules of {code(api.name)} as checked on {api.checked} ({prose(api.source)}):"
    yield ""
    more = "; some models ask for more" if api.minimums else ""
    steps = f", in steps of {api.step}" if api.step > 1 else ""
    yield f"- Prefixes of {plural(api.minimum, 'token')} and more are cached{steps}{more}."
    if isfinite(api.lifetime):
        yield f"- An entry lives {duration(api.lifetime)} after its last use{_lifetimes(api)}."
    if api.kind == "breakpoints":
        yield (
            f"- Mark where a shared beginning ends, with at most {api.max_breakpoints} `cache_control` "
            "breakpoints: behind tools and instructions, and behind the last turn."
        )
    if api.route_tokens:
        yield (
            f"- Requests are routed by their first {api.route_tokens} tokens and `prompt_cache_key`: one key "
            f"per shared beginning, below {api.per_minute} requests a minute each."
        )
    if api.keys_all:
        named = ", ".join(code(name) for name in api.keys_all)
        yield f"- Keep {named} the same among requests that share a prompt: they are part of the cache's key."
    yield ""


def _lifetimes(api: HostedProfile) -> str:
    others = [f"{name} by choice" for name, seconds in api.lifetimes.items() if seconds != api.lifetime]
    return f" ({', '.join(others)})" if others else ""


def _sglang(found: Settings) -> Iterator[tuple[str, str]]:
    yield f"--schedule-policy {found.policy.chosen}", f"{_tried(found.policy)}."
    page = f"{_tried(found.page, 'tokens per page')}, one request after the other in a pool that never fills"
    yield f"--page-size {found.page.chosen}", f"{page}."
    tiers = _tried(found.host_ratio, "times the pool")
    if found.host_ratio.chosen == "0":
        why = "a host tier serves no more"
        if found.loading_pays is False:
            why = "loading KV from the host takes longer than computing it"
        yield "no --enable-hierarchical-cache", f"{why}: {tiers}."
    else:
        doubt = "" if found.loading_pays else "; whether loading pays depends on the card, which is not named"
        yield (
            f"--enable-hierarchical-cache --hicache-ratio {found.host_ratio.chosen}",
            f"a host tier of that size: {tiers}{doubt}.",
        )
    yield "--mem-fraction-static", f"{_memory(found)}."
    told = "" if found.replicas_known else "; if there are several replicas"
    route = found.route.chosen.replace("-", "_")
    yield (
        f"sglang_router --policy {route}",
        f"in front of {found.replicas} replicas, {_tried(found.route)}{told}.",
    )


def _memory(found: Settings) -> str:
    if found.enough is None:
        return "sizes of the pool were not compared"
    enough = f"{compact(found.enough)} tokens of KV serve the log as it is all but half a point of its best"
    if not found.pool_known:
        return f"so much that the pool holds what pays: {enough}"
    if found.pool >= found.enough:
        return f"the default will do: {enough}, and the pool has {compact(found.pool)}"
    return f"as high as the engine starts with: {enough}, and the pool has {compact(found.pool)}"


def _vllm(analysis: Analysis) -> Iterator[tuple[str, str]]:
    served = analysis.hits.profiles.get("vllm")
    rate = "" if served is None else f" and serves {percent(served.rate)} of the log as it is"
    yield "--enable-prefix-caching", f"on by default in current versions{rate}."
    radix = analysis.hits.profiles.get("sglang")
    if served is not None and radix is not None:
        lost = percent((radix.tokens - served.tokens) / max(analysis.totals.prompt_tokens, 1))
        yield "--block-size 16", f"blocks of 16 cost {lost} of the prompt tokens against single ones."
    found = analysis.settings
    if found is not None:
        yield "--gpu-memory-utilization", f"{_memory(found)}."


def _tried(trial: SettingTrial, unit: str = "") -> str:
    """Every value with its rate, the chosen one first."""
    order = sorted(trial.rates, key=lambda item: item[0] != trial.chosen)
    shown = [f"{percent(rate)} with {name}" for name, rate in order]
    return ", ".join(shown) + (f" {unit}" if unit else "")
