"""The kinds of traffic: each function returns the calls of one application, drawn from its own generator."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import handbook
import phrases
from agents import agent
from envelope import QWEN, TENANTS, Call, assistant, stamp, system, timed_call, user

SectionOrder = Callable[[list[str], str, Random], tuple[str, str]]


def desk_sections(context: str) -> list[str]:
    """The sections of the policy desk's prompt in their best order: stable first, retrieved last."""
    return [
        handbook.section("Role", handbook.DESK_ROLE),
        *(handbook.section(*policy) for policy in handbook.DESK_POLICIES),
        handbook.section("Glossary", handbook.DESK_GLOSSARY),
        handbook.section("Answer format", handbook.DESK_FORMAT),
        handbook.section("Tools", handbook.DESK_TOOLS),
        handbook.section("Examples", handbook.DESK_EXAMPLES),
        handbook.section("Context", context),
    ]


def consistent(sections: list[str], question: str, rng: Random) -> tuple[str, str]:
    """System text and user text with the sections as given."""
    return "\n\n".join(sections), question


def shuffled(sections: list[str], question: str, rng: Random) -> tuple[str, str]:
    """The same with the sections in an order drawn anew for each request."""
    return "\n\n".join(rng.sample(sections, len(sections))), question


def tools_last(sections: list[str], question: str, rng: Random) -> tuple[str, str]:
    """The same with the tools section behind the question."""
    tools = [text for text in sections if text.startswith("## Tools")]
    rest = [text for text in sections if not text.startswith("## Tools")]
    return "\n\n".join(rest), "\n\n".join([question, *tools])


def rag(
    seed: str,
    requests: int,
    arrange: SectionOrder = consistent,
    *,
    model: str = QWEN,
    app: str = "policy-desk",
) -> list[Call]:
    """Questions on retrieved documents; requests, ids and arrivals do not depend on the arrangement."""
    rng, order = Random(seed), Random(f"{seed} order")
    topics = {topic: phrases.documents(topic, rng) for topic in phrases.TOPICS}
    calls, at = [], 0
    while len(calls) < requests:
        topic, tenant = rng.choice(phrases.TOPICS), rng.choice(TENANTS)
        session, start = f"desk-{phrases.hex_id(rng, 6)}", at
        at += phrases.pick_number(rng, 900, 5200)
        for turn in range(min(phrases.pick_number(rng, 1, 3), requests - len(calls))):
            start += turn * phrases.pick_number(rng, 15_000, 70_000)
            text, ask = arrange(desk_sections(topics[topic]), phrases.question(topic, rng), order)
            calls.append(
                timed_call(
                    rng,
                    at=start,
                    request_id=f"rq-{phrases.hex_id(rng, 10)}",
                    app=app,
                    tenant=tenant,
                    session=session,
                    model=model,
                    messages=[system(text), user(ask)],
                    reply=assistant(phrases.answer(rng)),
                )
            )
    return calls


def _opening(rng: Random) -> str:
    return phrases.opening_turn(rng, phrases.order_number(rng), phrases.goods(rng))


def chat(seed: str, sessions: int, *, model: str = QWEN) -> list[Call]:
    """Customer conversations of three to six turns behind one long system prompt."""
    rng = Random(seed)
    sections = [handbook.section("Role", handbook.HELP_ROLE)]
    sections += [handbook.section(*part) for part in handbook.HELP_SECTIONS]
    prompt, calls = "\n\n".join(sections), []
    for number in range(sessions):
        at = number * 9_000 + rng.randrange(8_000)
        session, tenant = f"chat-{phrases.hex_id(rng, 6)}", rng.choice(TENANTS)
        messages = [system(prompt)]
        for turn in range(phrases.pick_number(rng, 3, 6)):
            messages.append(user(phrases.next_turn(rng) if turn else _opening(rng)))
            call = timed_call(
                rng,
                at=at,
                request_id=f"rq-{phrases.hex_id(rng, 10)}",
                app="help-chat",
                tenant=tenant,
                session=session,
                model=model,
                messages=list(messages),
                reply=assistant(phrases.answer(rng)),
            )
            calls.append(call)
            messages.append(call.reply)
            at += call.latency + phrases.pick_number(rng, 6_000, 40_000)
    return calls


def voice(seed: str, requests: int, *, model: str = QWEN) -> list[Call]:
    """Short spoken requests, each behind the same preamble and without history."""
    rng = Random(seed)
    calls, at = [], 0
    for _ in range(requests):
        at += phrases.pick_number(rng, 150, 2_600)
        calls.append(
            timed_call(
                rng,
                at=at,
                request_id=f"rq-{phrases.hex_id(rng, 10)}",
                app="phone-line",
                tenant=rng.choice(TENANTS),
                session=f"line-{phrases.hex_id(rng, 6)}",
                model=model,
                messages=[system(handbook.VOICE_PREAMBLE), user(phrases.utterance(rng))],
                reply=assistant(phrases.answer(rng)),
            )
        )
    return calls


def one_shots(seed: str, requests: int, *, model: str = QWEN) -> list[Call]:
    """Unrelated notes to work on, without a system prompt; the task stands at the end."""
    rng = Random(seed)
    calls, at = [], 0
    for _ in range(requests):
        at += phrases.pick_number(rng, 700, 6_000)
        notes = [phrases.note(rng) for _ in range(phrases.pick_number(rng, 22, 42))]
        calls.append(
            timed_call(
                rng,
                at=at,
                request_id=f"rq-{phrases.hex_id(rng, 10)}",
                app="shift-notes",
                tenant=rng.choice(TENANTS),
                session=f"note-{phrases.hex_id(rng, 6)}",
                model=model,
                messages=[user(" ".join(notes) + "\n\n" + rng.choice(phrases.TASKS))],
                reply=assistant(phrases.answer(rng)),
            )
        )
    return calls


def unique_head(seed: str, requests: int, *, model: str = QWEN) -> list[Call]:
    """Request id, clock and user name at the head of the system prompt, the shared text behind them."""
    rng = Random(seed)
    shared = "\n\n".join(handbook.section(*part) for part in handbook.HELP_SECTIONS)
    calls, at = [], 0
    for _ in range(requests):
        at += phrases.pick_number(rng, 900, 5_000)
        request_id, name = phrases.hex_id(rng, 16), rng.choice(phrases.NAMES)
        head = f"{request_id} | {stamp(at)} | user: {name}\n\n{handbook.HELP_ROLE}\n\n{shared}"
        calls.append(
            timed_call(
                rng,
                at=at,
                request_id=request_id,
                app="mail-drafts",
                tenant=rng.choice(TENANTS),
                session=f"mail-{phrases.hex_id(rng, 6)}",
                model=model,
                messages=[system(head), user(_opening(rng))],
                reply=assistant(phrases.answer(rng)),
            )
        )
    return calls


def mixed(seed: str) -> list[Call]:
    """Seven applications on three models, interleaved."""
    return [
        *rag(f"{seed} rag", 30),
        *rag(f"{seed} rag shuffled", 16, shuffled, model="qwen2.5-14b-instruct", app="policy-desk-next"),
        *agent(f"{seed} agent", 6, model="qwen2.5-14b-instruct"),
        *chat(f"{seed} chat", 6, model="llama-3.1-8b-instruct"),
        *voice(f"{seed} voice", 50),
        *one_shots(f"{seed} one-shots", 16),
        *unique_head(f"{seed} unique head", 14, model="qwen2.5-14b-instruct"),
    ]
