"""What a scheduler can be told, with SGLang's defaults; engines' own values are given by the caller."""

from __future__ import annotations

from dataclasses import dataclass

from radixengine.policy import policy_named


@dataclass(frozen=True, slots=True)
class Reservation:
    """How much of the running requests' outstanding output is kept free when a request is admitted.

    The share starts at ``min(initial * conservativeness, 1)`` and falls in equal parts over ``decay_steps``
    decode steps to ``minimum`` times that. A request counts at most ``clip`` output tokens. A retraction
    raises the share to what the running requests have used so far, ``lookahead`` steps ahead.
    """

    conservativeness: float = 1.0
    initial: float = 0.7
    minimum: float = 0.14
    decay_steps: int = 600
    clip: int = 4096
    lookahead: int = 20


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """One engine's way of forming batches.

    Args:
        policy: order of the waiting queue, see ``radixengine.policy``.
        max_running: requests that may run at once.
        chunk_tokens: prompt tokens computed per step at most; a longer prompt is cut (None: never).
        align_chunks: prompts are cut at pages, and count as whole pages against ``chunk_tokens``.
        prefill_tokens: after the first request of a step, none is admitted that would exceed this many.
        mixed: prefill and decode share a step (the decoded tokens count against ``chunk_tokens``);
            otherwise prefill goes first and decode waits.
        visible_at_schedule: blocks can be hit as soon as they are allocated, within the same step;
            otherwise after the forward pass that computed them.
        reservation: None admits whatever finds room now.
        retract_latest: when the pool runs dry the request admitted last goes back, to the head of the
            queue; otherwise the one with the fewest outputs (ties: the longest prompt) goes, to its end.
        cache_prompt_only: outputs stay out of the cache (thinking stripped).
        lpm_limit: ``lpm`` is first come, first served while more requests are waiting.
        dedup_check, dedup_match: see ``policy.defer_duplicates``.
        refresh_waiting: ordering by match counts as a use of the matched prefixes, as in SGLang.
        seed: for ``random``.
    """

    policy: str = "fcfs"
    max_running: int = 256
    chunk_tokens: int | None = 8192
    align_chunks: bool = True
    prefill_tokens: int = 16384
    mixed: bool = False
    visible_at_schedule: bool = False
    reservation: Reservation | None = Reservation()
    retract_latest: bool = False
    cache_prompt_only: bool = False
    lpm_limit: int = 128
    dedup_check: int = 32
    dedup_match: int = 32
    refresh_waiting: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        """Raises ValueError on an unknown policy or a limit that would admit nothing."""
        policy_named(self.policy)
        for name in ("max_running", "prefill_tokens", "dedup_match"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.chunk_tokens is not None and self.chunk_tokens < 1:
            raise ValueError(f"chunk_tokens must be at least 1 or None, got {self.chunk_tokens}")
