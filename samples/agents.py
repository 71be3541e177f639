"""The operations agent: cases settled by tool calls, in histories that only grow."""

from __future__ import annotations

import json
from random import Random

import handbook
import phrases
from envelope import QWEN, TENANTS, Call, Message, assistant, system, timed_call, user


def _parameter(kind: str, description: str, **more: object) -> Message:
    return {"type": kind, "description": description, **more}


def _tool(name: str, description: str, **parameters: Message) -> Message:
    schema = {"type": "object", "properties": parameters, "required": list(parameters)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


AGENT_TOOLS: tuple[Message, ...] = (
    _tool(
        "find_order",
        "Read one order with its lines, its state and the address of the site.",
        order=_parameter("string", "Order number, two letters and six digits."),
    ),
    _tool(
        "track_shipment",
        "Read the latest scans of a shipment and its expected arrival.",
        shipment=_parameter("string", "Shipment code from the order."),
    ),
    _tool(
        "read_invoice",
        "Read the lines of one invoice with their amounts in euros, tax not included.",
        invoice=_parameter("string", "Invoice number, starts with INV."),
    ),
    _tool(
        "credit_line",
        "Credit one invoice line in full or in part. Fails when the line was already credited.",
        invoice=_parameter("string", "Invoice number."),
        line=_parameter("integer", "Line number on the invoice, counted from one."),
        amount=_parameter("number", "Amount in euros, at most the amount of the line."),
    ),
    _tool(
        "book_visit",
        "Reserve a window for a delivery, a collection or a repair at the site of an order.",
        order=_parameter("string", "Order number."),
        kind=_parameter("string", "What the crew comes for.", enum=["delivery", "collection", "repair"]),
        window=_parameter("string", "Weekday and half of the day, for example Tuesday morning."),
    ),
)


def _tool_call(rng: Random, name: str, **arguments: object) -> Message:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{phrases.hex_id(rng, 12)}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _steps(rng: Random, order: str, items: str) -> list[tuple[Message, Message | None]]:
    """The replies of one case, each with the result of its tool call; None behind a final answer."""
    invoice, amount = f"INV{phrases.pick_number(rng, 100000, 999999)}", phrases.pick_number(rng, 20, 290)
    shipment = f"SH{phrases.pick_number(rng, 1000000, 9999999)}"
    window = f"{rng.choice(phrases.WEEKDAYS)} {rng.choice(phrases.HALVES)}"
    scans = [
        {"place": place, "status": status}
        for place, status in zip(rng.sample(phrases.SITES, 3), ("accepted", "sorted", "delayed"), strict=True)
    ]
    found = {
        "order": order,
        "state": "partly delivered",
        "lines": [items],
        "shipment": shipment,
        "invoice": invoice,
    }
    lines = [{"line": 1, "text": f"rent, {items}", "amount": amount + 210}]
    lines.append({"line": 2, "text": "timed delivery", "amount": amount})
    look = (_tool_call(rng, "find_order", order=order), found)
    track = (_tool_call(rng, "track_shipment", shipment=shipment), {"shipment": shipment, "scans": scans})
    read = (_tool_call(rng, "read_invoice", invoice=invoice), {"invoice": invoice, "lines": lines})
    credit_call = _tool_call(rng, "credit_line", invoice=invoice, line=2, amount=amount)
    credit = (credit_call, {"status": "credited", "invoice": invoice, "left": 0})
    visit_call = _tool_call(rng, "book_visit", order=order, kind="delivery", window=window)
    visit = (visit_call, {"status": "booked", "window": window, "crew": rng.choice(phrases.SITES)})
    done = None
    plans = (
        [look, track, done, visit, done],
        [look, read, credit, done, track, done],
        [look, track, visit, done, read, credit, done],
        [look, read, track, credit, visit, done],
        [look, track, read, done, credit, visit, done, done],
        [read, look, track, done, visit, done, credit, done, done],
    )
    return [step or (assistant(phrases.answer(rng)), None) for step in rng.choice(plans)]


def agent(seed: str, sessions: int, *, model: str = QWEN) -> list[Call]:
    """An operations agent that calls tools; every history is the one before plus what was added."""
    rng = Random(seed)
    calls: list[Call] = []
    for number in range(sessions):
        at = number * 7_000 + rng.randrange(6_000)
        session, tenant = f"case-{phrases.hex_id(rng, 6)}", rng.choice(TENANTS)
        order, items = phrases.order_number(rng), phrases.goods(rng)
        messages = [system(handbook.AGENT_ROLE), user(phrases.opening_turn(rng, order, items))]
        for reply, result in _steps(rng, order, items):
            call = timed_call(
                rng,
                at=at,
                request_id=f"rq-{phrases.hex_id(rng, 10)}",
                app="ops-agent",
                tenant=tenant,
                session=session,
                model=model,
                messages=list(messages),
                reply=reply,
                tools=AGENT_TOOLS,
            )
            calls.append(call)
            messages.append(reply)
            at += call.latency
            if result is None:
                messages.append(user(phrases.next_turn(rng)))
                at += phrases.pick_number(rng, 8_000, 50_000)
            else:
                used = reply["tool_calls"][0]["id"]
                messages.append({"role": "tool", "tool_call_id": used, "content": json.dumps(result)})
                at += phrases.pick_number(rng, 120, 1_600)
    return calls
