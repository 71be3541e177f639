"""What a CPU is given of a log: all of it where that is little, its shape where it is much."""

from __future__ import annotations

from array import array

from radixadvisor.replaying.sizing import distinct_tokens, size_of


def test_small_logs_and_gpus_take_everything() -> None:
    small = size_of([1, 0], [400, 300], device="cpu")
    assert (small.chosen, small.scale, small.notes) == ((1, 0), 1, ())
    large = size_of(range(1000), [4000] * 1000, device="cuda")
    assert (len(large.chosen), large.scale, large.notes) == (1000, 1, ())


def test_a_cpu_scales_first_then_takes_fewer() -> None:
    scaled = size_of(range(100), [1800] * 100, device="cpu")
    assert (len(scaled.chosen), scaled.scale) == (100, 4)
    assert len(scaled.notes) == 1
    fewer = size_of(range(10_000), [1800] * 10_000, device="cpu")
    assert fewer.scale == 4
    assert sum(-(-1800 // fewer.scale) for _ in fewer.chosen) <= 48_000 < 1800 // 4 * (len(fewer.chosen) + 1)
    assert len(fewer.notes) == 2


def test_what_the_user_chose_stays() -> None:
    chosen = size_of(range(10_000), [1800] * 10_000, device="cpu", limited=True, scale=2, max_new=3)
    assert (len(chosen.chosen), chosen.scale, chosen.max_new, chosen.notes) == (10_000, 2, 3, ())
    one = size_of([0], [900_000], device="cpu", scale=1)
    assert one.chosen == (0,)


def test_distinct_tokens_are_those_of_the_tree() -> None:
    prompts = [array("i", tokens).tobytes() for tokens in ([1, 2, 3], [1, 2, 4], [1, 2, 3])]
    assert distinct_tokens(prompts, ["", "", ""]) == 4
    assert distinct_tokens(prompts, ["", "", "lora"]) == 7
