"""What an analysis says of faults, of their fixes, and of who loses most."""

from __future__ import annotations

from dataclasses import dataclass

from radixadvisor.records import EditSpec

__all__ = [
    "Breakdown",
    "CheckedRule",
    "Finding",
    "LossRow",
    "Prescription",
    "ReplicaRow",
    "SettingTrial",
    "Settings",
    "Where",
]


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a request: a JSON path (``messages[0].content``), and characters ``start:end`` there."""

    request_id: str
    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause of misses in one application.

    ``kind`` is ``fix`` where a prescription undoes it, ``explanation`` where no text can. ``before`` and
    ``after`` are the two values where prompts part (prompt text: reports mask and escape it). ``requests``
    is how many show it. ``lost_tokens`` are computed because of it under ``profile``: what its fix gains
    alone, or behind the fixes that have to come first. ``fix`` is the id of the prescription that undoes it.
    ``rates``, of serving alone, are the hit rates with and without the one restriction that it is about.
    ``application`` is the id of the one in which it shows, empty where that is not known.
    """

    rule: str
    kind: str
    profile: str
    title: str
    severity: str
    where: Where
    before: str
    after: str
    requests: int
    lost_tokens: int
    fix: str | None = None
    rates: tuple[float, float] | None = None
    application: str = ""


@dataclass(frozen=True, slots=True)
class Prescription:
    """A fix in the order to apply.

    ``alone_tokens`` and ``marginal_tokens`` are computed tokens before minus after, on the log as it is and
    behind the fixes above; ``marginal_interval`` is the middle 95 % over resampled sessions; ``rate_after``
    the hit rate with this fix and those above; ``hit_tokens`` and ``prompt_tokens`` the marginal changes in
    tokens served and in prompt length. ``edit`` is ``text`` or ``serving``; ``spec`` what does it;
    ``profile`` the cache that gains it; ``setting`` what to change in a server's or a client's configuration.
    """

    id: str
    rules: tuple[str, ...]
    title: str
    edit: str
    safety: str
    alone_tokens: int
    marginal_tokens: int
    marginal_interval: tuple[int, int]
    rate_after: float
    hit_tokens: int
    prompt_tokens: int
    applications: tuple[str, ...]
    spec: EditSpec
    profile: str = "sglang"
    setting: str = ""


@dataclass(frozen=True, slots=True)
class CheckedRule:
    """A suspected fault whose fix gains nothing behind the prescriptions: its gain there, and alone."""

    rule: str
    title: str
    gain_tokens: int
    alone_tokens: int


@dataclass(frozen=True, slots=True)
class ReplicaRow:
    """The hit rate if so many replicas, each with a cache of its own, took turns."""

    replicas: int
    rate: float


@dataclass(frozen=True, slots=True)
class LossRow:
    """What the requests of one name lose: tokens seen before and not served, most of them by the ledger's
    bucket ``cause``. ``name`` is empty for requests without one.
    """

    name: str
    requests: int
    prompt_tokens: int
    served_tokens: int
    lost_tokens: int
    cause: str | None


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Losses by application, tenant, model or session, the greatest first."""

    by: str
    rows: tuple[LossRow, ...]


@dataclass(frozen=True, slots=True)
class SettingTrial:
    """A setting and the values that were tried for it, each with the share of prompt tokens served."""

    chosen: str
    rates: tuple[tuple[str, float], ...]

    @property
    def rate(self) -> float:
        """What the chosen value serves."""
        return dict(self.rates)[self.chosen]


@dataclass(frozen=True, slots=True)
class Settings:
    """What to set on SGLang, from simulations of the log with its text fixes in it if ``fixed``.

    ``requests`` were served by ``clients`` from a pool of ``pool`` tokens, the card's or the user's if
    ``pool_known``; pages one after the other from a pool that never fills. ``enough``: tokens of KV beyond
    which a larger pool serves no more than half a point; None where sizes were not compared.
    ``loading_pays``: a host tier is faster than computing; None where no card is named. ``route`` was tried
    on ``replicas``, the log's or the user's if ``replicas_known``.
    """

    requests: int
    fixed: bool
    pool: int
    pool_known: bool
    clients: int
    policy: SettingTrial
    page: SettingTrial
    host_ratio: SettingTrial
    loading_pays: bool | None
    replicas: int
    replicas_known: bool
    route: SettingTrial
    enough: int | None
