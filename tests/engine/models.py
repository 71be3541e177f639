"""Small random models, each as transformers builds it and as the engine reads it."""

from __future__ import annotations

from array import array
from functools import lru_cache
from random import Random
from typing import Any

import torch
from radixengine.jobs import Job
from radixengine.model import Decoder
from radixengine.model_config import shape_of
from radixengine.weights import from_tensors

SIZES: dict[str, Any] = {
    "vocab_size": 320,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
}
SCALED = {
    "rope_type": "llama3",
    "rope_theta": 10_000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
ARCHITECTURES = ("llama", "llama-scaled-tied", "qwen2", "qwen3")


@lru_cache(maxsize=len(ARCHITECTURES))
def pair(name: str) -> tuple[Any, Decoder]:
    """(transformers' model, the same weights in a Decoder), float32.

    Weights are drawn wide enough that attention is peaked and every norm, bias and head matters.
    """
    model = reference_model(name)
    return model, from_tensors(shape_of(model.config.to_dict(), name), model.state_dict())


def reference_model(name: str) -> Any:
    """transformers' model with random weights."""
    from transformers import (
        LlamaConfig,
        LlamaForCausalLM,
        Qwen2Config,
        Qwen2ForCausalLM,
        Qwen3Config,
        Qwen3ForCausalLM,
    )

    torch.manual_seed(hash_free_seed(name))
    if name == "llama":
        model: Any = LlamaForCausalLM(LlamaConfig(**SIZES))
    elif name == "llama-scaled-tied":
        model = LlamaForCausalLM(LlamaConfig(**SIZES, rope_parameters=SCALED, tie_word_embeddings=True))
    elif name == "qwen2":
        model = Qwen2ForCausalLM(Qwen2Config(**SIZES))
    else:
        model = Qwen3ForCausalLM(Qwen3Config(**SIZES, head_dim=16))
    with torch.no_grad():
        for key, weight in model.named_parameters():
            if "norm" in key:
                weight.uniform_(0.5, 1.5)
            elif key.endswith("bias"):
                weight.normal_(0.0, 0.5)
            else:
                weight.normal_(0.0, 2.0 / weight.shape[1] ** 0.5)
    return model.eval()


def hash_free_seed(name: str) -> int:
    """A seed that does not depend on PYTHONHASHSEED."""
    return sum(name.encode())


def mixed_jobs(count: int, seed: int = 3, vocabulary: int = 320) -> list[Job]:
    """Prompts that share stems, repeat each other whole, are one token long, or have nothing in common."""
    rng = Random(seed)

    def some(size: int) -> list[int]:
        return [rng.randrange(vocabulary) for _ in range(size)]

    stems = [some(90), some(40)]
    stems.append(stems[0] + some(60))
    prompts = [some(1), some(7), stems[0], stems[0]]
    while len(prompts) < count:
        stem = rng.choice(stems)
        prompts.append(stem[: rng.choice([len(stem), len(stem) // 2])] + some(rng.randint(1, 40)))
    return [
        Job(rid, array("i", prompt).tobytes(), arrival=rid / 100, max_new=rng.choice([1, 2, 20, 32]))
        for rid, prompt in enumerate(prompts)
    ]


@lru_cache(maxsize=len(ARCHITECTURES))
def reference_outputs(name: str, count: int) -> dict[int, bytes]:
    """What transformers generates greedily for ``mixed_jobs(count)``."""
    model, _ = pair(name)
    outputs = {}
    with torch.inference_mode():
        for job in mixed_jobs(count):
            assert job.max_new is not None
            prompt = torch.tensor([array("i", job.prompt).tolist()])
            made = model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                do_sample=False,
                max_new_tokens=job.max_new,
                min_new_tokens=job.max_new,
                eos_token_id=None,
                pad_token_id=0,
            )
            outputs[job.rid] = array("i", made[0, prompt.shape[1] :].tolist()).tobytes()
    return outputs
