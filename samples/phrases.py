"""Phrase tables and the sentences assembled from them: documents, questions, replies, notes.

Every function draws only integers and choices from the ``random.Random`` it is given, so the text is the same
on every platform.
"""

from __future__ import annotations

from random import Random

TOPICS = (
    "label printers",
    "meeting displays",
    "projectors",
    "water coolers",
    "air purifiers",
    "storage lockers",
    "card readers",
    "standing desks",
)
DOCUMENT_KINDS = (("ST", "service terms"), ("RC", "rate card"), ("CG", "care guide"))
SITES = (
    "north depot", "south depot", "river warehouse", "airport counter", "harbour site", "city office",
    "training centre", "repair workshop", "night dispatch", "call centre", "returns hall", "showroom",
    "spare parts store", "packing line", "regional office", "cross-dock hub",
)  # fmt: skip
TEAMS = (
    "accounts", "dispatch", "field service", "planning", "purchasing", "quality", "sales support",
    "training", "facilities", "customer care", "stock control", "payroll",
)  # fmt: skip
NAMES = (
    "Alex", "Robin", "Sam", "Kim", "Jo", "Chris", "Nicky", "Toni", "Lee", "Jamie", "Pat", "Andy",
    "Charlie", "Max", "Dana", "Sascha", "Noa", "Mika",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
HALVES = ("morning", "afternoon")
EVENTS = (
    "reported {n} missing cartons", "counted {n} units too many", "sent back {n} worn cables",
    "closed {n} old tickets", "found {n} mislabelled pallets", "postponed {n} collections",
    "trained {n} new starters", "replaced {n} filters", "reserved {n} loading slots",
    "cancelled {n} courier pickups", "tested {n} refurbished screens", "raised {n} credit notes",
    "merged {n} duplicate accounts", "inspected {n} forklift batteries", "logged {n} late arrivals",
    "repacked {n} damaged boxes", "called {n} customers back", "renewed {n} parking permits",
)  # fmt: skip
CIRCUMSTANCES = (
    "after the lift stopped working", "while the scanner was being updated",
    "because the carrier changed its route", "before the early shift left",
    "although the plan showed a free bay", "once the supplier had confirmed the recall",
    "since the second gate stayed closed", "when two drivers fell ill", "in spite of the heavy rain",
    "during the weekly stock count", "as the new rota came into force",
    "after a customer had complained twice", "with the help of a temporary crew",
    "without informing the planners", "while the heating was off", "on the advice of the insurer",
)  # fmt: skip
CONSEQUENCES = (
    "and asks {team} for a decision by {day}", "so {team} has to change the forecast",
    "which {team} noticed only on {day}", "and expects a visit from {team} on {day}",
    "but {team} disputes the figure", "and wants {team} to share the cost",
    "so the overtime goes to {team}", "which leaves {team} short of {m} trolleys",
    "and has told {team} about it", "while {team} still waits for {m} signatures",
    "and blames the handover with {team}", "so {team} will review it next {day}",
    "which cost {team} about {m} hours", "and thanks {team} for stepping in",
)  # fmt: skip
TASKS = (
    "Write a short summary of these notes for the site lead.",
    "List the three points that need a decision, most urgent first.",
    "Turn these notes into a polite mail to the teams named in them.",
    "Say which of these notes contradict each other, and why.",
    "Draft the agenda for a meeting of half an hour about these notes.",
    "Sort these notes by the team that has to act on them.",
)
CONCERNS = (
    "the set-up fee was charged twice", "the first device does not switch on",
    "the crew came a day early", "the rent rose without notice", "half of the units are the wrong class",
    "the display flickers since the update", "the invoice still shows the old address",
    "the contract should be paused for the summer", "one unit should move to another floor",
    "the care visit was cancelled twice", "the filter light never goes out",
    "two units should be returned before the term ends", "the buffer unit was never delivered",
    "a successor wants to take over the contract", "the packaging was thrown away",
    "the delivery has to arrive before noon",
)  # fmt: skip


def pick_number(rng: Random, low: int, high: int) -> int:
    """An integer in [low, high]."""
    return low + rng.randrange(high - low + 1)


def order_number(rng: Random) -> str:
    letters = "".join(rng.choice("ABCDEFGHKLMNPRSTUVWX") for _ in range(2))
    return f"{letters}{pick_number(rng, 100000, 999999)}"


def hex_id(rng: Random, digits: int) -> str:
    return f"{rng.getrandbits(4 * digits):0{digits}x}"


def documents(topic: str, rng: Random) -> str:
    """The retrieved documents about one topic, tagged as a retriever would tag them."""
    number = TOPICS.index(topic) * 3
    parts = []
    for offset, (code, kind) in enumerate(DOCUMENT_KINDS):
        fee, days, share = pick_number(rng, 20, 190), pick_number(rng, 2, 20), pick_number(rng, 10, 60)
        sentences = [
            f"These {kind} apply to {topic} of all classes.",
            f"Faults reported before {pick_number(rng, 9, 15)}:00 are handled within {days} working days.",
            f"A second visit for the same fault is free, a third one costs {fee} euros.",
            f"From {pick_number(rng, 8, 40)} {topic} on, the set-up fee falls by {share} percent.",
            f"After {pick_number(rng, 12, 36)} contract months the rent falls by {share // 5} percent.",
            f"Moves within a building are free; between buildings they cost {fee + 35} euros per unit.",
            f"Consumables are shipped every {pick_number(rng, 4, 12)} weeks and billed at delivery.",
        ]
        body = " ".join(sentences[:2] + rng.sample(sentences[2:], 4))
        parts.append(
            f'<document code="{code}-{number + offset:02d}" title="{topic}: {kind}">\n{body}\n</document>'
        )
    return "<context>\n" + "\n".join(parts) + "\n</context>"


def question(topic: str, rng: Random) -> str:
    """A question that an account manager asks about a topic; its reference makes it unique."""
    concern, quantity = rng.choice(CONCERNS), pick_number(rng, 2, 60)
    day = rng.choice(WEEKDAYS)
    reference = f"Case {pick_number(rng, 10000, 99999)}"
    forms = (
        f"{reference}: the customer has {quantity} {topic} and says {concern}. What do we owe them?",
        f"{quantity} {topic} on site, and {concern}. Which fee applies? {reference}.",
        f"How long may this take by our terms: {concern}? It is about {quantity} {topic}, {reference}.",
        f"{reference}. The site lead rents {quantity} {topic}; {concern}. Can I promise a swap by {day}?",
        f"Is there a discount left if {concern}? The account holds {quantity} {topic}. {reference}.",
    )
    return rng.choice(forms)


def answer(rng: Random) -> str:
    """A short reply in the tone of the handbook."""
    opening = rng.choice(
        (
            "Yes, the terms allow that.",
            "No, that is not covered.",
            "Partly: the fee stays, the rent does not.",
            "That depends on the day of delivery.",
            "We can arrange that.",
        )
    )
    middle = rng.choice(
        (
            f"The charge is {pick_number(rng, 15, 180)} euros, tax not included.",
            f"It takes {pick_number(rng, 2, 15)} working days from today.",
            f"The change shows on the invoice of week {pick_number(rng, 10, 50)}.",
            f"The crew needs access for about {pick_number(rng, 15, 90)} minutes.",
        )
    )
    closing = rng.choice(
        (
            f"A window on {rng.choice(WEEKDAYS)} {rng.choice(HALVES)} is free.",
            f"Please mention ticket {pick_number(rng, 20000, 99999)} when you reply.",
            "I have noted this on the account.",
            f"The {rng.choice(TEAMS)} team has the final word.",
        )
    )
    return f"{opening} {middle} {closing}"


def goods(rng: Random) -> str:
    return f"{pick_number(rng, 2, 40)} {rng.choice(TOPICS)}"


def opening_turn(rng: Random, order: str, items: str) -> str:
    """How a customer begins."""
    return f"Hello, about order {order} with {items}: {rng.choice(CONCERNS)}. What can we do?"


def next_turn(rng: Random) -> str:
    """How a customer goes on."""
    forms = (
        f"And what happens if {rng.choice(CONCERNS)}?",
        f"Fine. {rng.choice(WEEKDAYS)} {rng.choice(HALVES)} would suit us, ask for {rng.choice(TEAMS)}.",
        f"That is {pick_number(rng, 10, 90)} euros more than last year, can you explain the difference?",
        f"One more thing: {rng.choice(CONCERNS)}, this time for the {rng.choice(TOPICS)}.",
        f"Could you repeat that in one sentence for the {rng.choice(TEAMS)} team?",
    )
    return rng.choice(forms)


def utterance(rng: Random) -> str:
    """What a caller says, already transcribed: two things in one breath."""
    forms = [
        f"hi it's {rng.choice(NAMES).lower()} when does order {order_number(rng).lower()} arrive",
        f"the {rng.choice(TOPICS)[:-1]} shows error {pick_number(rng, 100, 999)} again",
        f"can you move my visit to {rng.choice(WEEKDAYS).lower()} {rng.choice(HALVES)} please",
        f"I got an invoice over {pick_number(rng, 40, 980)} euros and {rng.choice(CONCERNS)}",
        f"I am at {pick_number(rng, 10000, 99999)} and need {pick_number(rng, 2, 30)} {rng.choice(TOPICS)}",
        f"somebody from {rng.choice(TEAMS)} wanted to call me back on {rng.choice(WEEKDAYS).lower()}",
    ]
    return ", and ".join(rng.sample(forms, 2))


def note(rng: Random) -> str:
    """One sentence of a shift note; two alike are rare, two alike in a row rarer."""
    event = rng.choice(EVENTS).format(n=pick_number(rng, 2, 98))
    consequence = rng.choice(CONSEQUENCES).format(
        team=rng.choice(TEAMS), day=rng.choice(WEEKDAYS), m=pick_number(rng, 2, 40)
    )
    site = rng.choice(SITES)
    if rng.randrange(2):
        return f"The {site} {event} {rng.choice(CIRCUMSTANCES)}, {consequence}."
    circumstance = rng.choice(CIRCUMSTANCES)
    return f"{circumstance[0].upper()}{circumstance[1:]}, the {site} {event}, {consequence}."
