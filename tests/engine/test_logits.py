"""Logits against transformers, with prompts cut at random and KV scattered over the pool."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from radixengine.attention import BACKENDS, attention_named
from radixengine.attention.base import Extend, Layout
from radixengine.linear import Linear
from radixengine.memory import KVMemory
from radixengine.model_config import shape_of
from radixengine.shapes import ModelShape
from radixengine.weights import from_tensors

from tests.engine.models import ARCHITECTURES, pair

LENGTH = 300


def random_slots(rng: np.random.Generator, capacity: int) -> np.ndarray:
    """Slots of LENGTH positions: a run too short to be a view, a long one, scattered ones."""
    scattered = rng.permutation(np.arange(400, capacity))[: LENGTH - 190]
    return np.concatenate([np.arange(20, 60), np.arange(100, 250), scattered]).astype(np.int32)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_logits_equal_those_of_transformers_within_1e4(name: str, backend: str) -> None:
    model, decoder = pair(name)
    rng = np.random.default_rng(5)
    tokens = torch.from_numpy(rng.integers(0, decoder.shape.vocab, LENGTH))
    with torch.inference_mode():
        expected = model(tokens[None]).logits[0]
    memory = KVMemory(decoder.shape, 1000, decoder.device, decoder.dtype)
    # What lies in slots that are not the sequence's must not matter.
    memory.keys[:, :-1].fill_(50.0)
    memory.values[:, :-1].fill_(50.0)
    attention = attention_named(backend, memory)
    decoder.prepare(LENGTH)
    slots = random_slots(rng, 1000)
    cuts = [0, 1, *np.sort(rng.choice(np.arange(2, LENGTH - 3), 5, replace=False)).tolist(), LENGTH - 3]
    found = []
    with torch.inference_mode():
        for start, end in pairwise(cuts):
            layout = Layout((Extend(end - start, slots[:start]),), (), slots[start:end])
            where = memory.index(layout.slots)
            at = torch.arange(start, end)
            found.append(
                decoder.forward(tokens[start:end], at, where, memory, attention, attention.plan(layout))
            )
        for at in range(LENGTH - 3, LENGTH):
            layout = Layout((), (slots[: at + 1],), slots[at : at + 1])
            found.append(
                decoder.forward(
                    tokens[at : at + 1],
                    torch.tensor([at]),
                    memory.index(layout.slots),
                    memory,
                    attention,
                    attention.plan(layout),
                    torch.tensor([0]),
                )
            )
    torch.testing.assert_close(torch.cat(found), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("heads", "kv_heads", "head_dim", "layers", "vocab"),
    [(4, 4, 64, 1, 7), (6, 1, 96, 1, 50), (2, 2, 128, 3, 2), (5, 5, 2, 1, 7), (1, 1, 16, 1, 33)],
)
def test_logits_of_odd_shapes(
    backend: str, heads: int, kv_heads: int, head_dim: int, layers: int, vocab: int
) -> None:
    """A prompt behind a prefix, then one decoded token."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(heads)
    config = LlamaConfig(
        vocab_size=vocab,
        hidden_size=60,
        intermediate_size=33,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_dim,
        initializer_range=0.3,
    )
    model = LlamaForCausalLM(config).eval()
    decoder = from_tensors(shape_of(config.to_dict(), "odd"), model.state_dict())
    tokens = torch.randint(0, vocab, (90,))
    memory = KVMemory(decoder.shape, 100, decoder.device, decoder.dtype)
    attention = attention_named(backend, memory)
    decoder.prepare(90)
    slots = np.random.default_rng(3).permutation(100).astype(np.int32)[:90]
    found = []
    with torch.inference_mode():
        expected = model(tokens[None]).logits[0]
        for start, end in pairwise([0, 40, 89, 90]):
            extends = (Extend(end - start, slots[:start]),) if end < 90 else ()
            layout = Layout(extends, () if extends else (slots,), slots[start:end])
            where, at = memory.index(layout.slots), torch.arange(start, end)
            found.append(
                decoder.forward(tokens[start:end], at, where, memory, attention, attention.plan(layout))
            )
    torch.testing.assert_close(torch.cat(found), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("rows", [1, 3, 128, 500])
def test_weights_in_the_devices_layout_multiply_as_before(rows: int) -> None:
    torch.manual_seed(rows)
    weight, bias, x = torch.randn(70, 50), torch.randn(70), torch.randn(rows, 50)
    torch.testing.assert_close(Linear(weight, bias)(x), x @ weight.T + bias, atol=1e-4, rtol=1e-5)
    half = Linear(weight.bfloat16())(x.bfloat16())
    torch.testing.assert_close(half, x.bfloat16() @ weight.bfloat16().T)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_the_backends_agree_on_ragged_batches(dtype: torch.dtype) -> None:
    """Extends and decodes of several sequences at once, some of which share slots."""
    torch.manual_seed(1)
    shape = ModelShape("m", 1, 96, 6, 2, 16, 32, 50)
    memory = KVMemory(shape, 2000, torch.device("cpu"), dtype)
    memory.keys[:, :-1].normal_()
    memory.values[:, :-1].normal_()
    slots = random_slots(np.random.default_rng(2), 1000)
    new = np.arange(1000, 1100, dtype=np.int32)
    extends = (
        Extend(40, slots[:200]),
        Extend(1, slots[:0]),
        Extend(30, slots[:200]),
        Extend(25, slots[150:]),
    )
    decodes = tuple(
        np.append(slots[:length], slot) for length, slot in ((0, 1096), (3, 1097), (199, 1098), (299, 1099))
    )
    layout = Layout(extends, tuple(row.astype(np.int32) for row in decodes), new)
    q, k, v = (torch.randn(100, heads, 16, dtype=dtype) for heads in (6, 2, 2))
    memory.store(0, memory.index(new), k, v)
    one, two = (
        backend.attend(backend.plan(layout), 0, q, k, v)
        for backend in (attention_named(name, memory) for name in BACKENDS)
    )
    torch.testing.assert_close(one, two, **({} if dtype != torch.bfloat16 else {"atol": 2e-2, "rtol": 2e-2}))
