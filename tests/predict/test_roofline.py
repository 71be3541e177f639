"""The roofline against its formula counted token by token, and the figures it has to reproduce."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radixadvisor.catalog import Shape, gpu, model
from radixadvisor.errors import UnknownName, UsageError
from radixadvisor.predict.rates import Rates, default_rates
from radixadvisor.predict.roofline import Roofline

BARE = replace(default_rates(), step_overhead=0.0)
LLAMA = model("llama-3.1-8b")
H100 = gpu("h100-sxm")

SHAPES = {
    "dense": Shape(3, 64, 4, 2, 16, 128, 500),
    "tied": Shape(2, 64, 4, 4, 16, 128, 500, tied=True, gated=False),
    "windowed": Shape(5, 64, 4, 2, 16, 128, 500, window=7, local_layers=3),
    "experts": Shape(
        *(4, 64, 4, 2, 16, 128, 500),
        moe_layers=3,
        experts=8,
        experts_per_token=2,
        moe_intermediate=32,
        shared_intermediate=32,
    ),
    "latent": Shape(3, 64, 4, 4, 16, 128, 500, kv_rank=24, rope_dim=8, nope_dim=16, value_dim=12, q_rank=20),
}


def counted(shape: Shape, new: list[int], cached: list[int], contexts: list[int]) -> tuple[float, float]:
    """FLOPs and KV tokens (over all layers) of a pass, one query token and one layer at a time."""
    flops = held = 0.0
    for layer in range(shape.layers):
        window = shape.window if layer < shape.local_layers else 10**9
        for n, c in zip(new, cached, strict=True):
            for position in range(c + 1, c + n + 1):
                flops += shape.pair_flops * min(window, position)
            held += n + min(window, c)
        for context in contexts:
            flops += shape.decode_pair_flops * min(window, context)
            held += min(window, context)
    for n in new:
        flops += 2 * shape.linear_active * n + 2 * shape.head_params
    return flops + 2 * shape.active * len(contexts), held


chunks = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30)), max_size=4)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(SHAPES)), chunks, st.lists(st.integers(1, 40), max_size=5))
def test_work_is_the_formula_counted_out(
    kind: str, prompts: list[tuple[int, int]], contexts: list[int]
) -> None:
    shape = SHAPES[kind]
    roofline = Roofline.of(replace(LLAMA, shape=shape), H100, BARE)
    new, cached = [n for n, _ in prompts], [c for _, c in prompts]
    work = roofline.work(new, cached, len(new), contexts)
    flops, held = counted(shape, new, cached, contexts)
    assert work.flops == pytest.approx(flops)
    tokens = sum(new) + len(contexts)
    drawn = 0.0
    if shape.moe_layers:
        drawn = shape.all_experts_params * (1 - (1 - shape.experts_per_token / shape.experts) ** tokens)
    assert work.bytes == pytest.approx(2 * (shape.dense_params + drawn) + 2 * shape.kv_values * held)
    assert roofline.seconds(work) == pytest.approx(
        max(work.flops / (0.5 * 989e12), work.bytes / (0.8 * 3350e9))
    )


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(SHAPES)),
    st.lists(st.integers(1, 40), min_size=1, max_size=5),
    st.integers(1, 30),
    st.sampled_from([1, 2]),
)
def test_passes_in_a_row_are_passes_one_by_one(
    kind: str, contexts: list[int], passes: int, cards: int
) -> None:
    roofline = Roofline(replace(LLAMA, shape=SHAPES[kind]), H100, default_rates(), cards)
    together = roofline.decode_passes(contexts, passes)
    single = [roofline.pass_seconds((), (), 0, [size + i for size in contexts]) for i in range(passes)]
    assert together == pytest.approx(single, rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(SHAPES)), st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30)), min_size=1)
)
def test_prompts_together_are_prompts_one_by_one(kind: str, prompts: list[tuple[int, int]]) -> None:
    roofline = Roofline.of(replace(LLAMA, shape=SHAPES[kind]), H100)
    new, cached = np.array(prompts).T
    single = [roofline.prefill_seconds(n, c) for n, c in prompts]
    assert roofline.prefill_each(new, cached) == pytest.approx(single, rel=1e-12)
    pairs = [
        roofline.pass_seconds(new[at : at + 2].tolist(), cached[at : at + 2].tolist(), len(new[at : at + 2]))
        for at in range(0, len(new), 2)
    ]
    assert roofline.prefill_each(new, cached, 2) == pytest.approx(pairs, rel=1e-12)


@pytest.mark.parametrize(
    ("tokens", "speedup", "attention"),
    [(1_000, 4.8, 0.019), (8_000, 8.95, 0.13), (32_000, 7.5, 0.375), (128_000, 6.1, 0.71)],
)
def test_what_nine_tenths_of_a_prompt_save(tokens: int, speedup: float, attention: float) -> None:
    roofline = Roofline.of(LLAMA, H100, BARE)
    cached = tokens * 9 // 10
    gain = roofline.prefill_seconds(tokens) / roofline.prefill_seconds(tokens - cached, cached)
    assert gain == pytest.approx(speedup, rel=0.011)
    pairs = tokens * (tokens + 1) / 2
    share = LLAMA.shape.pair_flops * 32 * pairs / roofline.work((tokens,), (0,), 1).flops
    assert share == pytest.approx(attention, rel=0.03)


def test_what_a_prompt_pins_and_what_sequences_hold() -> None:
    kv = Roofline.of(LLAMA, H100).kv_bytes
    assert round(2_000 * kv / 1e6) == 262
    assert round(16 * 2_000 * kv / 1e9, 1) == 4.2


def test_cards_in_parallel_split_work_and_talk() -> None:
    one, four = Roofline.of(LLAMA, H100, BARE), Roofline(LLAMA, H100, BARE, 4)
    alone, shared = one.work((4096,), (0,), 1), four.work((4096,), (0,), 1)
    assert (alone.sent, shared.flops) == (0, alone.flops)
    assert shared.bytes == pytest.approx(alone.bytes / 4)
    assert shared.sent == 2 * 32 * 2 * 3 / 4 * 4096 * 4096 * 2
    talk = shared.sent / (0.8 * 450e9)
    assert four.seconds(shared) == pytest.approx(one.seconds(alone) / 4 + talk)
    assert Roofline(LLAMA, H100, BARE, 16).kv_bytes == one.kv_bytes / 8
    latent = model("deepseek-v3")
    assert Roofline(latent, H100, BARE, 8).kv_bytes == latent.kv_bytes("bf16")


def test_precisions_change_bytes_and_fp8_the_peak() -> None:
    full, half = Roofline.of(LLAMA, H100, BARE), Roofline(LLAMA, H100, BARE, 1, "fp8", "fp8")
    assert half.kv_bytes == full.kv_bytes / 2
    assert half.decode_passes([100], 1)[0] == pytest.approx(full.decode_passes([100], 1)[0] / 2)
    assert half.prefill_seconds(8000) == pytest.approx(full.prefill_seconds(8000) / 2)
    assert half.ridge == 2 * full.ridge
    with pytest.raises(UnknownName, match="weight precision"):
        Roofline(LLAMA, H100, BARE, 1, "fp7")
    with pytest.raises(UsageError, match="1 to 32 cards"):
        Roofline(LLAMA, H100, BARE, 33)


def test_the_host_pays_where_computing_a_token_takes_longer() -> None:
    card = Roofline.of(LLAMA, H100)
    assert card.load_seconds() == 131_072 / (0.8 * 64e9)
    compute = (card.prefill_seconds(2048, 8192) - card.rates.step_overhead) / 2048
    assert card.loading_pays(8192, 2048) is (card.load_seconds() < compute) is True
    slow = Roofline(LLAMA, gpu("h100-sxm"), replace(default_rates(), pcie_efficiency=0.01))
    assert not slow.loading_pays(8192, 2048)


def test_rates_that_cannot_be() -> None:
    with pytest.raises(UsageError, match="mfu is a share"):
        Rates(1.5, 0.8, 0.002, 0.8, 0.8)
    with pytest.raises(UsageError, match="0 to 10 seconds"):
        Rates(0.5, 0.8, -1, 0.8, 0.8)
    assert default_rates().step_overhead > 0
