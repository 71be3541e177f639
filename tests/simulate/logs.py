"""Small logs for tests of the simulation."""

from __future__ import annotations

import random
from array import array

from radixadvisor.simulate.requests import Requests


def pack(*tokens: int) -> bytes:
    return array("i", tokens).tobytes()


def run_of(first: int, count: int) -> bytes:
    """``count`` tokens that nothing else in a test has."""
    return pack(*range(first * 100_000, first * 100_000 + count))


def conversations(seed: int, turns: int, *, users: int = 6, apart: float = 3.0, system: int = 60) -> Requests:
    """Chat sessions that share a system prompt per namespace, with known and unknown outputs."""
    rng = random.Random(seed)
    history = {user: run_of(90 + user % 2, system) for user in range(users)}
    prompts, outputs, lengths, arrivals, sessions, names = [], [], [], [], [], []
    clock = 0.0
    for _ in range(turns):
        user = rng.randrange(users)
        prompt = history[user] + pack(*(rng.randrange(50_000) for _ in range(rng.randint(1, 50))))
        output = pack(*(rng.randrange(50_000) for _ in range(rng.randint(0, 30))))
        known = rng.random() < 0.8
        if rng.random() < 0.9:
            history[user] = prompt + output
        else:
            history[user] = run_of(90 + user % 2, system)
        prompts.append(prompt)
        outputs.append(output if known else b"")
        lengths.append(len(output) // 4)
        arrivals.append(clock)
        sessions.append(user)
        names.append("tenant" if user == 0 else "")
        clock += rng.expovariate(1.0 / apart)
    return Requests(
        prompts,
        outputs,
        output_lengths=lengths,
        arrivals=arrivals,
        sessions=sessions,
        namespaces=names,
    )


def pressed(requests: int = 300, seed: int = 1) -> Requests:
    """Many applications with a long prompt of their own each, all at once: more than a small pool holds."""
    rng = random.Random(seed)
    prompts = [run_of(rng.randrange(20), 400) + run_of(100 + index, 40) for index in range(requests)]
    outputs = [run_of(1000 + index, 20) for index in range(requests)]
    return Requests(prompts, outputs, arrivals=[index * 0.005 for index in range(requests)])
